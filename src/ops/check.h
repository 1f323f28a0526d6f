// SPDX-License-Identifier: Apache-2.0
// The checks that operations share: dtype, shape, the same shape as another array.
// Each returns SB_OK or fills err with the argument's name and what was found.
#ifndef SBI_CHECK_H
#define SBI_CHECK_H

#include "array.h"

static inline sb_status sbi_check_dtype(const sb_array *a, const char *name, sb_dtype dtype, sb_error *err) {
    if (a->dtype == dtype)
        return SB_OK;
    return sbi_fail(err, SB_ERR_DTYPE, name, "%s is %s, it must be %s", name, sbi_dtype_name(a->dtype),
                    sbi_dtype_name(dtype));
}

// float32 or float64: the type of the data, which the other arrays then share.
static inline sb_status sbi_check_real(const sb_array *a, const char *name, sb_error *err) {
    if (a->dtype == SB_F32 || a->dtype == SB_F64)
        return SB_OK;
    return sbi_fail(err, SB_ERR_DTYPE, name, "%s is %s, it must be float32 or float64", name, sbi_dtype_name(a->dtype));
}

// Rows that a group folds: no longer than the totals it keeps can hold (kernels/sum.h).
static inline sb_status sbi_check_row(const char *name, int64_t length, sb_error *err) {
    if (length <= (int64_t)1 << 36)
        return SB_OK;
    return sbi_fail(err, SB_ERR_SIZE, name, "rows of %lld: at most 2^36 are possible", (long long)length);
}

// A number of the options, rounded once to the type of the data.
static inline double sbi_rounded(sb_dtype dtype, double x) { return dtype == SB_F32 ? (double)(float)x : x; }

static inline sb_status sbi_check_ndim(const sb_array *a, const char *name, int ndim, sb_error *err) {
    if (a->ndim == ndim)
        return SB_OK;
    return sbi_fail(err, SB_ERR_SHAPE, name, "%s has %d dimensions, it must have %d", name, a->ndim, ndim);
}

static inline sb_status sbi_check_length(const sb_array *a, const char *name, int axis, int64_t length, sb_error *err) {
    if (a->shape[axis] == length)
        return SB_OK;
    return sbi_fail(err, SB_ERR_SHAPE, name, "%s has length %lld on axis %d, it must have %lld", name,
                    (long long)a->shape[axis], axis, (long long)length);
}

// a has the shape of b.
static inline sb_status sbi_check_like(const sb_array *a, const char *name, const sb_array *b, const char *other,
                                       sb_error *err) {
    bool same = a->ndim == b->ndim;
    for (int i = 0; same && i < a->ndim; i++)
        same = a->shape[i] == b->shape[i];
    if (same)
        return SB_OK;
    return sbi_fail(err, SB_ERR_SHAPE, name, "%s does not have the shape of %s", name, other);
}
#endif
