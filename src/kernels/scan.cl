// SPDX-License-Identifier: Apache-2.0
// Running sums over the last axis (contract T2): floats in binary64, in chunks and runs of chunks, one rounding out;
// integers modulo 2^32 or 2^64, where every order gives the same.
#define SCAN_TOTALS NAME(k_scan_totals)
#define SCAN_BASES NAME(k_scan_bases)
#define SCAN_SUMS NAME(k_scan_sums)
#define SCAN_TYPE T
#define SCAN_SUM f64
#define SCAN_ZERO K(0.0)
#define SCAN_TERM(x) ((f64)(x))
#define SCAN_OUT(s) NAME(sbi_canon)((T)(s))
#include "scan_chunks.h"

#if T_BITS == 32
#define SCAN_TOTALS k_scan_totals_i32
#define SCAN_BASES k_scan_bases_i32
#define SCAN_SUMS k_scan_sums_i32
#define SCAN_TYPE i32
#define SCAN_SUM u32
#define SCAN_ZERO 0u
#define SCAN_TERM(x) ((u32)(x))
#define SCAN_OUT(s) ((i32)(s))
#include "scan_chunks.h"

#define SCAN_TOTALS k_scan_totals_i64
#define SCAN_BASES k_scan_bases_i64
#define SCAN_SUMS k_scan_sums_i64
#define SCAN_TYPE i64
#define SCAN_SUM u64
#define SCAN_ZERO ((u64)0)
#define SCAN_TERM(x) ((u64)(x))
#define SCAN_OUT(s) ((i64)(s))
#include "scan_chunks.h"
#endif
