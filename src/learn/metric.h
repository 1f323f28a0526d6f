// SPDX-License-Identifier: Apache-2.0
// metrics: rows that describe metrics, and what a metric's function sees. Everything the rows say has been checked when it is
// called: shapes, types, finite numbers, numbers of classes, weights at least 0 whose sum is not 0.
#ifndef SBI_METRIC_H
#define SBI_METRIC_H

#include "learn.h"

struct sbi_metric_call;
enum { SBI_SETTINGS = 8 };
typedef struct sbi_metric_rows {
    const char *name, *inputs, *result, *about;
    sbi_parameter_row settings[SBI_SETTINGS]; // ends with a row without a name
    sb_status (*run)(struct sbi_metric_call *call, sb_error *err);
} sbi_metric_rows;

typedef struct sbi_metric_call {
    sb_context *ctx;
    sbi_arena *arena; // everything that a metric allocates
    const sbi_metric_rows *metric;
    sbi_value values[SBI_SETTINGS];
    int64_t n, columns;      // rows; targets, or classes that have a column of scores, or features
    int64_t classes;         // one more than the greatest number of truth and prediction, or what the caller said
    bool several, narrow;    // prediction has two dimensions; it is float32
    const sb_array *points;  // X
    const int64_t *truth, *guess; // numbers of classes
    const double *y, *p;     // [n, columns]
    const double *w;         // weights, 1 each where none were given
    double total;            // S(w)
    sb_array **out;
} sbi_metric_call;

int64_t sbi_metric_count(void);
bool sbi_metric_at(int64_t index, sbi_metric_rows *out);
sb_status sbi_metric_find(const char *name, sbi_metric_rows *out, sb_error *err);
sb_status sbi_metric_run(sb_context *ctx, const char *metric, const sb_metric_data *data, sb_array **out, sb_error *err);

// Settings by name.
const sbi_value *sbi_setting(const sbi_metric_call *call, const char *name);
bool sbi_setting_is(const sbi_metric_call *call, const char *name, const char *word); // 'word', or none by "none"
// Room for n numbers, zeros, which goes with the call; NULL and the error where there is none.
double *sbi_metric_room(const sbi_metric_call *call, int64_t n, sb_error *err);
sb_status sbi_metric_number(const sbi_metric_call *call, double value, sb_error *err); // the result is one number
sb_status sbi_metric_array(const sbi_metric_call *call, int ndim, int64_t rows, int64_t columns, const double *values, sb_error *err);
// RN64(log x) by the contract's sequence, in place.
sb_status sbi_metric_logs(const sbi_metric_call *call, int64_t n, double *x, bool back, sb_error *err); // back: exp
// The order of x, ascending or descending, stable.
sb_status sbi_metric_order(const sbi_metric_call *call, int64_t n, const double *x, bool descending, int64_t **order, sb_error *err);
// sums[k] = S of the weights of rows whose label it is, numbered by rank; label -1: of nobody.
sb_status sbi_metric_sums(const sbi_metric_call *call, const int64_t *label, int64_t k, double *sums, sb_error *err);
#endif
