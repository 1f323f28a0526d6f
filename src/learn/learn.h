// SPDX-License-Identifier: Apache-2.0
// learn: rows that describe algorithms, the model that every one of them is, and what an algorithm's file sees.
//
// An algorithm's file holds one function per METHOD row, of type sbi_method, named sbi_ALGORITHM_METHOD, and
// sbi_ALGORITHM_check. When a method is called everything its rows say has been checked: parameters, dtypes, shapes, the
// number of features, finite numbers. fit fills the model: sbi_model_set_size for the sizes its rows name (n, d, t, c are
// set), sbi_model_fill or sbi_model_give for every FITTED and KEPT row. Other methods write call->out, made of the row's
// dtype and shape. All memory goes through the context; small arithmetic is scalar binary64 without fma.
#ifndef SBI_LEARN_H
#define SBI_LEARN_H

#include "json.h"
#include "ops.h"

// ---- rows.c: algorithms.def
struct sbi_call;
typedef sb_status (*sbi_method)(struct sbi_call *call, sb_error *err);
typedef sb_status (*sbi_model_check)(const sb_model *model, sb_error *err);

typedef struct sbi_parameter_row { const char *name, *type, *value, *about; bool surface; } sbi_parameter_row;
typedef struct sbi_fitted_row { const char *name, *dtype, *shape, *about; bool kept; } sbi_fitted_row;
typedef struct sbi_method_row { const char *name, *dtype, *shape, *about; sbi_method run; } sbi_method_row;

enum { SBI_PARAMETERS = 40, SBI_FITTED = 32, SBI_METHODS = 16, SBI_PROOFS = 12, SBI_SIZES = 16, SBI_NAME = 32, SBI_RESULTS = 3 }; // the most of one algorithm, of a method
typedef struct sbi_algorithm {
    const char *name, *class_name, *module, *kind, *input, *about;
    sbi_model_check check;
    sbi_parameter_row parameters[SBI_PARAMETERS];
    sbi_fitted_row fitted[SBI_FITTED];
    sbi_method_row methods[SBI_METHODS]; // each list ends with a row without a name
    const char *proofs[SBI_PROOFS];      // settings of its lane, "a=1 b=x" each, NULL last
} sbi_algorithm;

int64_t sbi_algorithm_count(void);
// Number `index` of the rows, or by name. False where there is none.
bool sbi_algorithm_at(int64_t index, sbi_algorithm *out);
bool sbi_algorithm_find(const char *name, sbi_algorithm *out);
bool sbi_row_has(const char *words, const char *word); // one of the words between spaces
bool sbi_takes_no_x(const char *method);               // get_..., sample...
void sbi_describe_algorithms(sbi_text *json, sbi_text *text); // "[{...}, ...]", and lines

// A parameter's value. WORD points into the row; REAL and INTEGER stand for themselves.
typedef enum sbi_value_kind { SBI_NONE, SBI_BOOL, SBI_INTEGER, SBI_REAL, SBI_LIST, SBI_WORD, SBI_ARRAY } sbi_value_kind;
enum { SBI_NUMBERS = 8 }; // the most of a list
typedef struct sbi_value {
    sbi_value_kind kind;
    int64_t integer; // also of BOOL, and of a seed (as 64 bits)
    double real;     // also of INTEGER
    double numbers[SBI_NUMBERS]; // of a LIST
    int count;
    char word[SBI_NAME];
    sb_array *array; // float64, owned
} sbi_value;
// Reads a text by the row's type; SB_ERR_ARGUMENT names the parameter and says what was expected.
sb_status sbi_value_read(const sbi_algorithm *algorithm, const sbi_parameter_row *row, const char *text, sbi_value *out, sb_error *err);
void sbi_value_write(const sbi_value *value, sbi_text *out); // the text that reads back; an array: "array"
const char *sbi_row_array(const char *type); // the SHAPE of the alternative `array SHAPE`, NULL without one

// ---- model.c
typedef struct sbi_size { char name[SBI_NAME]; int64_t value; } sbi_size; // value -1: the axis does not exist
struct sb_model {
    sbi_allocator allocator;
    sbi_algorithm algorithm;
    sbi_value values[SBI_PARAMETERS];
    sb_dtype dtype; // of the data it was fitted on; 0: not fitted
    sbi_size sizes[SBI_SIZES];
    int size_count;
    sb_array *arrays[SBI_FITTED]; // by row; NULL: absent
    char *warnings; // "Category: sentence\n" each, "" if none
    char **notes;   // key, text, key, text ..., keys ascending
    int64_t note_count;
};

// A method call: inputs as checked, and its output. x is float32 or float64 [n, d].
typedef struct sbi_call {
    sb_context *ctx;
    sb_model *model;       // of fit; else only to be read
    const char *method;
    const sb_array *x, *y, *weights; // x: NULL where the method takes none; y: as x, [n] or [n, t], or int64 [n] of classes; weights float64 [n]; both may be NULL
    sb_array *dense; // what x is where CSR was given; owned by the call
    int64_t n, d, classes; // classes: one more than the greatest number in y (the model's own: its size c)
    sb_array *out, *more[SBI_RESULTS - 1]; // more: the results after the first; NULL where they are not asked for
    bool itself; // x is that of the fit, and no row its own neighbour
    int (*progress)(void *user, int64_t done, int64_t total); // may be NULL
    void *user;
} sbi_call;

sb_status sbi_model_new(sb_context *ctx, const char *algorithm, sb_model **out, sb_error *err);
void sbi_model_free(sb_model *model);
sb_status sbi_model_set(sb_model *model, const char *parameter, const char *text, sb_error *err);
sb_status sbi_model_set_array(sb_context *ctx, sb_model *model, const char *parameter, const sb_array *value, sb_error *err);
sb_status sbi_model_note(sb_model *model, const char *key, const char *text, sb_error *err); // text NULL: takes it away
const char *sbi_model_find_note(const sb_model *model, const char *key); // NULL if there is none
sb_status sbi_model_fit(sb_context *ctx, sb_model *model, const char *method, const sb_data *data, sb_error *err);
sb_status sbi_model_take(sb_context *ctx, sb_model *model, const sb_fitted *fitted, sb_error *err);
sb_status sbi_model_call(sb_context *ctx, const sb_model *model, const char *method, const sb_data *data, int count, sb_array **out, sb_error *err);
// Makes result number `which`, whose row says "*", of this length.
sb_status sbi_call_make(sbi_call *call, int which, int64_t length, sb_array **out, sb_error *err);

// Parameters, by name (which must be one of the row's).
const sbi_value *sbi_model_value(const sb_model *model, const char *parameter);
int64_t sbi_model_integer(const sb_model *model, const char *parameter);
double sbi_model_real(const sb_model *model, const char *parameter);
bool sbi_model_flag(const sb_model *model, const char *parameter);
bool sbi_model_is(const sb_model *model, const char *parameter, const char *word); // 'word', or none by "none"
uint64_t sbi_model_seed(const sb_model *model, const char *parameter);             // none: 0
// Sizes, by name: a parameter's value, or one of the model. -1 where it is not set or its axis does not exist.
int64_t sbi_model_size(const sb_model *model, const char *name);
sb_status sbi_model_set_size(sb_model *model, const char *name, int64_t value, sb_error *err);
// An array of the model by its row's name; NULL if absent. sbi_model_make makes it anew, zeros, of the row's dtype and shape
// (owned by the model); sbi_model_fill writes it from numbers of the host: doubles rounded to the row's dtype, or integers.
sb_array *sbi_model_array(const sb_model *model, const char *name);
sb_status sbi_model_make(sb_context *ctx, sb_model *model, const char *name, sb_array **out, sb_error *err);
sb_status sbi_model_fill(sb_context *ctx, sb_model *model, const char *name, const double *values, sb_error *err);
sb_status sbi_model_fill_integers(sb_context *ctx, sb_model *model, const char *name, const int64_t *values, sb_error *err);
// A line of the model's warnings: "ConvergenceWarning".
sb_status sbi_model_warn(sb_model *model, const char *category, const char *format, ...) SBI_PRINTF(3, 4);
// Every array by its row: there, of its dtype, its shape, or absent where it may be; then the row's own check.
sb_status sbi_model_check_arrays(const sb_model *model, sb_error *err);
// SB_ERR_INTERRUPTED where the caller wants no more.
sb_status sbi_call_progress(const sbi_call *call, int64_t done, int64_t total, sb_error *err);

// ---- the algorithms' files: sbi_NAME_check and sbi_NAME_METHOD of every row
#define ALGORITHM(name, class_name, module, kind, input, about) sb_status sbi_##name##_check(const sb_model *model, sb_error *err);
#define PARAMETER(algorithm, name, type, value, about)
#define SURFACE(algorithm, name, type, value, about)
#define FITTED(algorithm, name, dtype, shape, about)
#define KEPT(algorithm, name, dtype, shape, about)
#define PROOF(algorithm, settings)
#define METHOD(algorithm, name, dtype, shape, about) sb_status sbi_##algorithm##_##name(sbi_call *call, sb_error *err);
#include "algorithms.def"
#undef ALGORITHM
#undef PARAMETER
#undef SURFACE
#undef FITTED
#undef KEPT
#undef METHOD
#undef PROOF

// ---- host_numbers.c: arrays as numbers of the host
// All elements as doubles (float32, float64, integers below 2^53); to be released with the context's allocator.
sb_status sbi_read_reals(sb_context *ctx, const sb_array *a, double **out, sb_error *err);
// The same of an array that the model has; to be released with the model's allocator.
sb_status sbi_model_numbers(const sb_model *model, const char *name, double **out, sb_error *err);
sb_status sbi_write_reals(sb_context *ctx, const double *values, sb_array *to, sb_error *err); // rounded to to's dtype
// x, or where its dtype is another real one a new array *made (to be freed) of the same numbers, rounded once.
sb_status sbi_array_as(sb_context *ctx, sb_dtype dtype, const sb_array *x, const sb_array **out, sb_array **made, sb_error *err);
// An array of doubles of the host; the caller's.
sb_status sbi_array_of(sb_context *ctx, int ndim, const int64_t *shape, const double *values, sb_array **out, sb_error *err);
// Rows first .. first + count - 1 of a; a in other axes, as a vector where `columns` is 0. Without an owner: not to be freed, nor to
// outlive a.
static inline sb_array sbi_some_rows(const sb_array *a, int64_t first, int64_t count) {
    sb_array part = *a;
    const int64_t row = a->ndim > 1 ? a->shape[1] : 1;
    part.shape[0] = count;
    part.size = count * row;
    part.data = a->data + first * row * (int64_t)sbi_dtype_size(a->dtype);
    return part;
}
static inline sb_array sbi_shaped(sb_array a, int64_t rows, int64_t columns) {
    a.ndim = columns ? 2 : 1;
    a.shape[0] = rows;
    a.shape[1] = columns;
    a.size = rows * (columns ? columns : 1);
    return a;
}
// The dense matrix of a CSR one (samebits.h, sb_data), of x's dtype. A matrix that is none: SB_ERR_ARGUMENT or SB_ERR_SHAPE.
sb_status sbi_dense_of(sb_context *ctx, const sb_data *data, sb_array **out, sb_error *err);
// S (T2) of terms of the host.
double sbi_host_sum(int64_t n, const double *terms);
double sbi_host_dot(int64_t n, const double *a, const double *b); // S(RN64(a b))
// Every number of the model's array, where it is there, is finite and `least` at least, else SB_ERR_FORMAT (for a check).
sb_status sbi_model_check_numbers(const sb_model *model, const char *name, double least, sb_error *err);
// values[n] of the host become the function's (T4, binary64).
sb_status sbi_host_unary(sb_context *ctx, sb_unary_kind kind, int64_t n, double *values, sb_error *err);
// The score of a regressor whose predict is `predict`: R2, the mean over targets.
sb_status sbi_regressor_score(sbi_call *call, sbi_method predict, sb_error *err);
// The score of a classifier whose predict is `predict`: the weight of the rows that it gives their class, over that of all.
sb_status sbi_classifier_score(sbi_call *call, sbi_method predict, sb_error *err);

// ---- moments.c
enum { SBI_WEIGHT, SBI_MEAN, SBI_SQUARES, SBI_LOW, SBI_HIGH, SBI_MOMENTS }; // rows of sbi_moments' result
// The moments of d columns, a and b each [SBI_MOMENTS, d], of two batches of rows: their joint ones, into b.
void sbi_moments_join(int64_t d, const double *a, double *b);

// ---- classes.c: names of classes, sb_data's classes, in the note "classes"
// Sets the note and the size c from `given`; NULL: numbers from 0, `count` of them. count: one more than the greatest in y.
sb_status sbi_classes_set(sb_model *model, const char *given, int64_t count, bool goes_on, sb_error *err);
sb_status sbi_classes_check(const sb_model *model, sb_error *err);
sb_status sbi_labels_save(sb_context *ctx, const sb_array *numbers, const char *classes, const char *path, sb_error *err);

// ---- model_file.c
sb_status sbi_model_save(const sb_model *model, const char *path, sb_error *err);
sb_status sbi_model_load(sb_context *ctx, const char *path, sb_model **out, sb_error *err);
// The same bytes in memory: *size of them, written to `to` (NULL: not) of `capacity` bytes.
sb_status sbi_model_store(const sb_model *model, void *to, int64_t capacity, int64_t *size, sb_error *err);
sb_status sbi_model_restore(sb_context *ctx, const void *bytes, int64_t size, sb_model **out, sb_error *err);
sb_status sbi_model_digest(sb_context *ctx, const sb_model *model, uint8_t out[32], sb_error *err);

// ---- table.c: see sb_table of samebits.h
// column: where `words`, the column that may hold words, NULL: any.
sb_status sbi_table_read(sb_context *ctx, const char *path, sb_dtype dtype, bool words, const char *column, sb_table **out, sb_error *err);
const char *sbi_table_word(const sb_table *table, int64_t column, int64_t number);
sb_status sbi_table_labels(sb_context *ctx, sb_table *table, const char *column, const char *classes, sb_array **y, const char **names, sb_error *err);
void sbi_table_free(sb_table *table);
const char *sbi_table_member(const char *path); // the colon of FILE.npz:NAME, NULL where it is another path
sb_table *sbi_table_target(const sb_table *table);
sb_status sbi_table_widen(sb_context *ctx, sb_table *table, int64_t columns, sb_error *err);
const sb_array *sbi_table_array(const sb_table *table);
const char *sbi_table_name(const sb_table *table, int64_t column);
sb_status sbi_table_split(sb_context *ctx, const sb_table *table, const char *column, sb_array **rest, sb_array **picked, sb_error *err);
sb_status sbi_table_write(const sb_array *a, const char *path, sb_error *err);
void sbi_table_number(sbi_text *text, sb_dtype dtype, const void *at); // one element: a decimal that reads back the same, nan, -inf
#endif
