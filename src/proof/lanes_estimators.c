// SPDX-License-Identifier: Apache-2.0
// A lane an algorithm and type, made from learn/algorithms.def: for each of its PROOF rows the model is fitted whole, with
// weights where it takes them, and every array is a cell; then every other method, on the whole, in halves and row by row. An
// algorithm made of operations has no second text: on the reference this is the same file over the reference's operations.
#include "learn.h"
#include "proof.h"

#include <stdio.h>
#include <string.h>

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static void set_parameters(sbi_lane_run *run, sb_model *model, const char *settings, sb_error *err) {
    char name[SBI_NAME], text[SBI_NAME];
    while (*settings && run->status == SB_OK) {
        const size_t length = strcspn(settings, "="), rest = strcspn(settings + length + 1, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, settings);
        snprintf(text, sizeof text, "%.*s", (int)rest, settings + length + 1);
        sbi_lane_do(run, sb_model_set(model, name, text, err));
        settings += length + 1 + rest;
        settings += *settings == ' ';
    }
}

static void report_arrays(sbi_lane_run *run, const sb_model *model, int way, sb_error *err) {
    char cell[64];
    for (int64_t i = 0; sb_model_array_name(model, i) && run->status == SB_OK; i++) {
        const char *name = sb_model_array_name(model, i);
        snprintf(cell, sizeof cell, "%d.%s", way, name);
        sbi_lane_cell(run, cell, sb_model_array(model, name), err);
    }
}

// X; on the way back, where transform gives another width or numbers of categories, what transform gives.
static sb_array *input_of(sbi_lane_run *run, const sb_model *model, const sbi_method_row *row, const sb_data *data, sb_array **made, sb_error *err) {
    const sbi_method_row *m = model->algorithm.methods;
    sb_array *x;
    memcpy(&x, &data->x, sizeof x);
    while (m->name && strcmp(m->name, "transform") != 0) m++;
    if (strcmp(row->name, "inverse_transform") != 0 || !m->name || (strcmp(m->shape, "n d") == 0 && !sbi_row_has(model->algorithm.input, "categories"))) return x;
    sbi_lane_do(run, sb_model_call(run->ctx, model, "transform", data, made, err));
    return *made;
}

// The result number `which` of a method, alone.
static sb_array *call_for(sbi_lane_run *run, const sb_model *model, const char *method, const sb_data *data, int which, sb_error *err) {
    sb_array *all[SBI_RESULTS] = {NULL};
    sbi_lane_do(run, sb_model_call_many(run->ctx, model, method, data, which + 1, all, err));
    for (int i = 0; i < which; i++) sb_array_free(all[i]);
    return all[which];
}

static void report_result(sbi_lane_run *run, const sb_model *model, const sbi_method_row *row, int which, const char *cell, sb_data data, sb_error *err) {
    const int64_t n = data.x ? data.x->shape[0] : 0;
    const bool takes_x = !sbi_takes_no_x(row->name), rows = takes_x && *row->shape == 'n' && strchr(" ,", row->shape[1]);
    sb_array *made = NULL, *x = input_of(run, model, row, &data, &made, err), *all = NULL;
    data.rows = 5;
    for (sbi_part p = rows ? sbi_lane_first(run, n) : (sbi_part){0, n, n}; p.count && run->status == SB_OK; p = rows ? sbi_lane_next(run, p) : (sbi_part){0}) {
        data.x = takes_x ? sbi_lane_part(run, x, p) : NULL;
        sb_array *part = call_for(run, model, row->name, &data, which, err);
        if (run->status == SB_OK && rows) {
            int64_t shape[SB_MAX_DIMS];
            memcpy(shape, part->shape, sizeof shape);
            shape[0] = n;
            if (!all) all = sbi_lane_result(run, part->dtype, part->ndim, shape);
            sbi_lane_do(run, sb_array_copy(run->ctx, part, sbi_lane_part(run, all, p), err));
        } else if (run->status == SB_OK) {
            sbi_lane_cell(run, cell, part, err);
        }
        sb_array_free(part);
    }
    if (rows && run->status == SB_OK) sbi_lane_cell(run, cell, all, err);
    sb_array_free(made);
}

static void report_method(sbi_lane_run *run, const sb_model *model, const sbi_method_row *row, int way, sb_data data, sb_error *err) {
    char cell[64];
    const char *rest = row->dtype;
    for (int which = 0; rest && run->status == SB_OK; which++) {
        if (which)
            snprintf(cell, sizeof cell, "%d.%s.%d", way, row->name, which);
        else
            snprintf(cell, sizeof cell, "%d.%s", way, row->name);
        report_result(run, model, row, which, cell, data, err);
        rest = strchr(rest, ',');
        rest = rest ? rest + 1 : NULL;
    }
}

static sb_status run_estimator(sbi_lane_run *run, sb_error *err) {
    static const double weights_of[] = {1.0, 0.5, 2.0, 0.0, 1.25};
    const sb_dtype real = sbi_lane_real(run);
    const int64_t n = sbi_lane_size(run, 300, 67), d = 7, columns = 2;
    char name[SBI_NAME];
    sbi_algorithm algorithm;
    snprintf(name, sizeof name, "%s", run->lane->name);
    if (real == SB_F64 && strstr(name, "_f64")) *strstr(name, "_f64") = 0;
    if (!sbi_algorithm_find(name, &algorithm)) return sbi_fail(err, SB_ERR_INTERNAL, "", "no algorithm of the lane %s", name);
    sb_array *x = sbi_lane_input(run, "x", real, 2, SHAPE(n, d)), *y = NULL, *weights = NULL;
    if (sbi_row_has(algorithm.input, "targets")) y = sbi_lane_input(run, "y", real, 2, SHAPE(n, columns));
    else if (sbi_row_has(algorithm.input, "target")) y = sbi_lane_input(run, "y", real, 1, SHAPE(n));
    if (sbi_row_has(algorithm.input, "classes")) y = sbi_lane_indices(run, "y", SB_I64, 1, SHAPE(n), 3);
    if (sbi_row_has(algorithm.input, "positive")) sbi_lane_do(run, sb_unary(run->ctx, SB_ABS, x, x, err));
    if (sbi_row_has(algorithm.input, "weights")) {
        weights = sbi_lane_result(run, SB_F64, 1, SHAPE(n));
        for (int64_t i = 0; i < n && run->status == SB_OK; i++) {
            sb_array *one = sbi_lane_part(run, weights, (sbi_part){i, 1, n});
            sbi_lane_do(run, sb_array_write(one, &weights_of[i % 5], sizeof(double), err));
        }
    }
    for (int way = 0; run->status == SB_OK && (way == 0 || algorithm.proofs[way]); way++) {
        sb_model *model = NULL;
        sb_data data = {.size = sizeof data, .x = x, .y = y, .weights = way % 2 ? NULL : weights};
        sbi_lane_do(run, sb_model_new(run->ctx, name, &model, err));
        if (run->status == SB_OK && algorithm.proofs[way]) set_parameters(run, model, algorithm.proofs[way], err);
        if (run->status == SB_OK) sbi_lane_do(run, sb_model_fit(run->ctx, model, "fit", &data, err));
        if (run->status == SB_OK) report_arrays(run, model, way, err);
        for (const sbi_method_row *m = algorithm.methods; m->name && run->status == SB_OK; m++)
            if (*m->dtype) report_method(run, model, m, way, data, err);
        sb_model_free(model);
    }
    return run->status;
}

#define FIXTURES (SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_TIES) | SBI_FIX(SBI_FIX_ZEROS) | SBI_FIX(SBI_FIX_OFFSET) | SBI_FIX(SBI_FIX_ODD))
#define ALGORITHM(name_of, class_name, module, kind_of, input, about) \
    {.name = #name_of, .kind = "estimator", .fixtures = FIXTURES, .rows = true, .counts_inputs = true, .run = run_estimator}, \
    {.name = #name_of "_f64", .kind = "estimator", .fixtures = FIXTURES, .rows = true, .counts_inputs = true, .run = run_estimator, .dtype = SB_F64},
#define PARAMETER(...)
#define SURFACE(...)
#define FITTED(...)
#define KEPT(...)
#define METHOD(...)
#define PROOF(...)
const sbi_lane sbi_lanes_estimators[] = {
#include "algorithms.def"
    {.name = NULL},
};
