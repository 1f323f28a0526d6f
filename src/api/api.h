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

// Copies an options struct of the size its caller knew into one of ours: what the caller did not know is 0. A larger
// one comes from a newer header: what we do not know must be 0.
static inline sb_status sbi_api_options(const void *from, void *to, size_t size, sb_error *err) {
    size_t given;
    memcpy(&given, from, sizeof given);
    if (given < sizeof given)
        return sbi_fail(err, SB_ERR_ARGUMENT, "options", "options->size is %zu: expected sizeof the struct, %zu", given,
                        size);
    if (given > 4096) // no struct of a release to come: a size that was never set
        return sbi_fail(err, SB_ERR_ARGUMENT, "options", "options->size is %zu: expected sizeof the struct, %zu", given,
                        size);
    memset(to, 0, size);
    memcpy(to, from, given < size ? given : size);
    memcpy(to, &size, sizeof size);
    for (size_t i = size; i < given; i++)
        if (((const unsigned char *)from)[i])
            return sbi_fail(err, SB_ERR_UNSUPPORTED, "options", "options->size is %zu, and a field beyond the %zu bytes "
                            "that this version knows is set", given, size);
    return SB_OK;
}
#endif
