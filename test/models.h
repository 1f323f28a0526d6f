// SPDX-License-Identifier: Apache-2.0
// For tests of estimators: models made, set, fitted, asked, each failure with its message.
#ifndef MODELS_H
#define MODELS_H

#include "contexts.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})
#define FITS(model, method, ...) (sb_model_fit(c.ctx, model, method, &(sb_data){.size = sizeof(sb_data), __VA_ARGS__}, &err) == SB_OK)

static sb_error err; // of the last call

static inline sb_model *made(sb_context *ctx, const char *name) {
    sb_model *model = NULL;
    CHECK(sb_model_new(ctx, name, &model, &err) == SB_OK, "%s", err.message);
    if (!model) exit(test_end());
    return model;
}

static inline void set(sb_model *model, const char *name, const char *text) {
    CHECK(sb_model_set(model, name, text, &err) == SB_OK, "%s", err.message);
}

// One number of a fitted array.
static inline double at(const sb_model *model, const char *name, int64_t index) {
    const sb_array *a = sb_model_array(model, name);
    unsigned char bytes[8192] = {0};
    double d = 0.0;
    CHECK(a && (size_t)sb_array_size(a) * sb_dtype_size(sb_array_dtype(a)) <= sizeof bytes, "%s", name);
    if (!a || sb_array_read(a, bytes, (size_t)sb_array_size(a) * sb_dtype_size(sb_array_dtype(a)), &err) != SB_OK) return 0.0;
    float f;
    int32_t i;
    int64_t l;
    switch (sb_array_dtype(a)) {
    case SB_F32: memcpy(&f, bytes + 4 * index, 4); return (double)f;
    case SB_I32: memcpy(&i, bytes + 4 * index, 4); return i;
    case SB_I64: memcpy(&l, bytes + 8 * index, 8); return (double)l;
    default: memcpy(&d, bytes + 8 * index, 8); return d;
    }
}

static inline sb_array *called(sb_context *ctx, const sb_model *model, const char *method, const sb_array *x) {
    sb_array *out = NULL;
    const sb_data data = {.size = sizeof data, .x = x};
    CHECK(sb_model_call(ctx, model, method, &data, &out, &err) == SB_OK, "%s: %s", method, err.message);
    if (!out) exit(test_end());
    return out;
}
#endif
