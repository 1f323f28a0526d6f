// SPDX-License-Identifier: Apache-2.0
// What every exported function checks before it calls in.
#ifndef SBI_API_H
#define SBI_API_H

#include "array.h"

#include <string.h>

#define NEED(pointer) \
    do { \
        if (!(pointer)) return sbi_fail(err, SB_ERR_ARGUMENT, #pointer, #pointer " is NULL"); \
    } while (0)

// The same for a field of an options struct.
#define NEED_FIELD(options, field) \
    do { \
        if (!(options).field) return sbi_fail(err, SB_ERR_ARGUMENT, #field, #field " is NULL"); \
    } while (0)

// Two buffers, NULL allowed, that may not share a byte.
#define APART(one, other) \
    do { \
        if ((one) && (other) && sbi_arrays_overlap(one, other)) \
            return sbi_fail(err, SB_ERR_OVERLAP, #one, #one " overlaps " #other); \
    } while (0)

// An output that may be the input itself, element for element, but may not overlap it otherwise.
#define APART_OR_SAME(out, in) \
    do { \
        if ((out) && (in) && !sbi_api_same(out, in)) APART(out, in); \
    } while (0)

// The call, inside the contract's floating-point environment.
#define RETURN_INSIDE(call) \
    do { \
        const sbi_fpenv sbi_before = sbi_fpenv_enter(); \
        const sb_status sbi_status = (call); \
        sbi_fpenv_leave(sbi_before); \
        return sbi_status; \
    } while (0)

static inline bool sbi_api_same(const sb_array *a, const sb_array *b) {
    if (a->data != b->data || a->dtype != b->dtype || a->ndim != b->ndim) return false;
    return memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

// An options struct of the header: its size and its fields (api_options.c).
typedef struct sbi_api_field sbi_api_field;
typedef struct sbi_api_struct {
    size_t size, count;
    const sbi_api_field *fields;
} sbi_api_struct;
extern const sbi_api_struct sbi_context_struct, sbi_gemm_struct, sbi_attention_struct, sbi_cross_entropy_struct,
    sbi_adamw_struct, sbi_sgd_struct, sbi_solve_struct,
    sbi_verify_struct, sbi_run_struct, sbi_generation_struct, sbi_data_struct, sbi_record_struct, sbi_replay_struct,
    sbi_fitted_struct, sbi_metric_struct;

// Copies an options struct of the size its caller knew into one of ours: what the caller did not know is 0, all of it where
// `from` is NULL; a size that
// cuts a field in half is refused. A larger one comes from a newer header: what we do not know must be 0.
sb_status sbi_api_options(const void *from, void *to, const sbi_api_struct *known, sb_error *err);
#endif
