// SPDX-License-Identifier: Apache-2.0
// Conformance probes: what a device computes on hostile operands against exact integer arithmetic.
#ifndef SBI_PROBE_H
#define SBI_PROBE_H

#include "base.h"

typedef struct sbi_probe {
    const char *name;
    int64_t cases, wrong;
    char first[120]; // the first wrong case: operands, result, expected
} sbi_probe;

enum { SBI_PROBES = 11 };
sb_status sbi_probe_device(sb_context *ctx, sbi_probe out[SBI_PROBES], sb_error *err);

// The exact arithmetic itself, for tests: bits in, bits out, canonical NaN.
uint32_t sbi_soft_add(uint32_t a, uint32_t b);
uint32_t sbi_soft_mul(uint32_t a, uint32_t b);
uint32_t sbi_soft_fma(uint32_t a, uint32_t b, uint32_t c);
uint32_t sbi_soft_div(uint32_t a, uint32_t b);
uint32_t sbi_soft_sqrt(uint32_t a);
uint64_t sbi_soft_widen(uint32_t a);
uint32_t sbi_soft_sum2(uint32_t a, uint32_t b); // RN32(RN64(a + b)), never -0
#endif
