// SPDX-License-Identifier: Apache-2.0
// Some functions of one float32 for CPUs with AVX-512, 32 values at once: sbi_quick_F_f32(x, y) writes y[l] = F(x[l]) for each
// lane l that it is certain of, and gives the others as bits: their y is left alone, and the portable text (function.h) is
// to be asked. x and y may be the same array.
//
// Method: binary64 with fewer bits than there (tables of 16 that one shuffle reads, short polynomials, fma), the error
// below 2^-37 of the value. Where no tie of binary32 lies as near to a result as that, it rounds to the right value
// whatever its last bits are; where one does (a value in some thousands), and for NaN, subnormal results, arguments
// outside the domain, the lane stays open. So nothing here is contract, either; `samebits prove` has looked at every lane.
// Polynomials: interpolation at Chebyshev nodes in 300 bits, by us.
#ifndef SBI_TUNED_FUNCTIONS_H
#define SBI_TUNED_FUNCTIONS_H
#include <immintrin.h>

typedef __m256 quick_f32; // 8 lanes
typedef __m512d quick_f64;
typedef __m512i quick_u64;

#define QUICK_ALL(x) _mm512_set1_pd(x)
#define QUICK_FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define QUICK_REST(a, b, c) _mm512_fnmadd_pd(a, b, c) // c - a b
#define QUICK_BITS(x) _mm512_castpd_si512(x)
#define QUICK_NUMBER(x) _mm512_castsi512_pd(x)
#define QUICK_ROUNDER 0x1.8p+52 // see SBI_ROUNDER

// Entry i mod 16.
static inline quick_f64 quick_entry(const double *table, quick_u64 i) {
    return _mm512_permutex2var_pd(_mm512_loadu_pd(table), i, _mm512_loadu_pd(table + 8));
}

// The lanes of y that lie within 2^bits units of the last place of a tie of binary32 (no subnormals).
static inline __mmask8 quick_near_tie(quick_f64 y, int bits) {
    quick_u64 beyond = _mm512_add_epi64(QUICK_BITS(y), _mm512_set1_epi64(0x10000000 + (1 << bits)));
    return _mm512_testn_epi64_mask(beyond, _mm512_set1_epi64(0x1fffffff & ~((2 << bits) - 1)));
}

// The function `name` of 32 lanes, from value(x[8], &open), which adds the bits of the lanes it is not certain of.
#define QUICK_BLOCK(name, value) \
    static inline u32 name(const f32 *x, f32 *y) { \
        quick_f32 v[4]; \
        __mmask8 open[4] = {0}; \
        UNROLL for (int i = 0; i < 4; i++) v[i] = value(_mm256_loadu_ps(x + 8 * i), &open[i]); \
        return quick_store(y, v, open); \
    }
static inline u32 quick_store(f32 *y, const quick_f32 *v, const __mmask8 *open) {
    if (!(open[0] | open[1] | open[2] | open[3])) {
        UNROLL for (int i = 0; i < 4; i++) _mm256_storeu_ps(y + 8 * i, v[i]);
        return 0;
    }
    UNROLL for (int i = 0; i < 4; i++) _mm256_mask_storeu_ps(y + 8 * i, (__mmask8)~open[i], v[i]);
    return open[0] | (u32)open[1] << 8 | (u32)open[2] << 16 | (u32)open[3] << 24;
}

// ---------------------------------------------------------------- powers

// 2^(j/16) whose bits are less by j 2^48: added to them, n 2^48 of n = 16 i + j gives 2^(i + j/16).
static const double quick_sixteenths[16] = {
    0x1.0000000000000p+0, 0x1.fb5586cf9890fp-1, 0x1.f72b83c7d517bp-1, 0x1.f387a6e756238p-1, 0x1.f06fe0a31b715p-1, 0x1.edea64c123422p-1,
    0x1.ebfdad5362a27p-1, 0x1.eab07dd485429p-1, 0x1.ea09e667f3bcdp-1, 0x1.ea11473eb0187p-1, 0x1.eace5422aa0dbp-1, 0x1.ec49182a3f090p-1,
    0x1.ee89f995ad3adp-1, 0x1.f199bdd85529cp-1, 0x1.f5818dcfba487p-1, 0x1.fa4afa2a490dap-1,
};

// 2^(n/16), n in the low bits of t.
static inline quick_f64 quick_power(quick_f64 t) {
    quick_u64 n = QUICK_BITS(t);
    return QUICK_NUMBER(_mm512_add_epi64(QUICK_BITS(quick_entry(quick_sixteenths, n)), _mm512_slli_epi64(n, 48)));
}

// e^z to a relative 2^-37.5: z = n log(2)/16 + r, s + s r q(r).
static inline quick_f64 quick_exp_core(quick_f64 z) {
    quick_f64 t = QUICK_FMA(z, QUICK_ALL(0x1.71547652b82fep+4), QUICK_ALL(QUICK_ROUNDER));
    quick_f64 r = QUICK_REST(_mm512_sub_pd(t, QUICK_ALL(QUICK_ROUNDER)), QUICK_ALL(0x1.62e42fefa39efp-5), z);
    quick_f64 q = QUICK_FMA(r, QUICK_ALL(0x1.5556b332b6e7fp-5), QUICK_ALL(0x1.55576221bbbdap-3));
    q = QUICK_FMA(r, q, QUICK_ALL(0x1.ffffffff57e72p-2));
    q = QUICK_FMA(r, q, QUICK_ALL(0x1.fffffffe07b51p-1));
    quick_f64 s = quick_power(t);
    return QUICK_FMA(_mm512_mul_pd(s, r), q, s);
}

// ---------------------------------------------------------------- exp

static inline quick_f32 quick_exp(quick_f32 x, __mmask8 *open) {
    __mmask8 low = _mm256_cmp_ps_mask(x, _mm256_set1_ps(-87.0f), _CMP_NGT_UQ); // NaN, subnormal results; from -104 down it is 0
    *open |= _mm256_mask_cmp_ps_mask(low, x, _mm256_set1_ps(-104.0f), _CMP_NLT_UQ);
    quick_f64 y = quick_exp_core(_mm512_cvtps_pd(_mm256_max_ps(_mm256_min_ps(x, _mm256_set1_ps(100.0f)), _mm256_set1_ps(-120.0f))));
    *open |= quick_near_tie(y, 16);
    return _mm512_cvtpd_ps(y);
}
QUICK_BLOCK(sbi_quick_exp_f32, quick_exp)

// e[l] = exp(x[l] - m), -1 where x[l] is -inf: the entries of a row (row_exp.h).
static inline u32 sbi_quick_entry_exp_f32(const f32 *x, f32 m, f32 *e) {
    quick_f32 v[4];
    __mmask8 open[4] = {0};
    UNROLL for (int i = 0; i < 4; i++) {
        quick_f32 entry = _mm256_loadu_ps(x + 8 * i);
        __mmask8 absent = _mm256_cmp_ps_mask(entry, _mm256_castsi256_ps(_mm256_set1_epi32((int)0xff800000u)), _CMP_EQ_OQ);
        v[i] = quick_exp(_mm256_sub_ps(entry, _mm256_set1_ps(m)), &open[i]);
        v[i] = _mm256_mask_blend_ps(absent, v[i], _mm256_set1_ps(-1.0f));
        open[i] &= (__mmask8)~absent;
    }
    return quick_store(e, v, open);
}

// ---------------------------------------------------------------- exp2

// x = n/16 + r.
static inline quick_f32 quick_exp2(quick_f32 x, __mmask8 *open) {
    __mmask8 low = _mm256_cmp_ps_mask(x, _mm256_set1_ps(-126.0f), _CMP_NGE_UQ);
    *open |= _mm256_mask_cmp_ps_mask(low, x, _mm256_set1_ps(-151.0f), _CMP_NLT_UQ);
    quick_f64 z = _mm512_cvtps_pd(_mm256_max_ps(_mm256_min_ps(x, _mm256_set1_ps(200.0f)), _mm256_set1_ps(-200.0f)));
    quick_f64 t = _mm512_add_pd(z, QUICK_ALL(0x1.8p+48)), r = _mm512_sub_pd(z, _mm512_sub_pd(t, QUICK_ALL(0x1.8p+48)));
    quick_f64 q = QUICK_FMA(r, QUICK_ALL(0x1.3b2bfa06fa7efp-7), QUICK_ALL(0x1.c6b348859b1cap-5));
    q = QUICK_FMA(r, q, QUICK_ALL(0x1.ebfbdff78ad26p-3));
    q = QUICK_FMA(r, q, QUICK_ALL(0x1.62e42fee46126p-1));
    quick_f64 s = quick_power(t), y = QUICK_FMA(_mm512_mul_pd(s, r), q, s);
    *open |= quick_near_tie(y, 16);
    return _mm512_cvtpd_ps(y);
}
QUICK_BLOCK(sbi_quick_exp2_f32, quick_exp2)

// ---------------------------------------------------------------- expm1, tanh

// e^(k a) - 1 for k = 1 or 2, to a relative 2^-40: a = n log(2)/(16 k) + r, s - 1 + s r q(r).
static inline quick_f64 quick_expm1_core(quick_f64 a, double k) {
    quick_f64 t = QUICK_FMA(a, QUICK_ALL(k * 0x1.71547652b82fep+4), QUICK_ALL(QUICK_ROUNDER));
    quick_f64 r = QUICK_REST(_mm512_sub_pd(t, QUICK_ALL(QUICK_ROUNDER)), QUICK_ALL(0x1.62e42fefa39efp-5 / k), a);
    quick_f64 q = QUICK_FMA(r, QUICK_ALL(0x1.11120af8496bap-7 * (k * k * k * k * k)), QUICK_ALL(0x1.55570aaa2d510p-5 * (k * k * k * k)));
    q = QUICK_FMA(r, q, QUICK_ALL(0x1.55555554dd439p-3 * (k * k * k)));
    q = QUICK_FMA(r, q, QUICK_ALL(0x1.fffffffe5bc1ap-2 * (k * k)));
    q = QUICK_FMA(r, q, QUICK_ALL(k));
    quick_f64 s = quick_power(t);
    return QUICK_FMA(_mm512_mul_pd(s, r), q, _mm512_sub_pd(s, QUICK_ALL(1.0)));
}

// ---------------------------------------------------------------- expm1

static inline quick_f32 quick_expm1(quick_f32 x, __mmask8 *open) {
    quick_f32 sign = _mm256_and_ps(x, _mm256_set1_ps(-0.0f));
    *open |= _mm256_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    quick_f64 z = _mm512_cvtps_pd(_mm256_max_ps(_mm256_min_ps(x, _mm256_set1_ps(100.0f)), _mm256_set1_ps(-40.0f)));
    quick_f64 y = quick_expm1_core(z, 1.0);
    *open |= quick_near_tie(y, 14);
    return _mm256_or_ps(_mm512_cvtpd_ps(y), sign);
}
QUICK_BLOCK(sbi_quick_expm1_f32, quick_expm1)

// ---------------------------------------------------------------- tanh

// E / (E + 2), E = e^(2 a) - 1, a = |x|.
static inline quick_f32 quick_tanh(quick_f32 x, __mmask8 *open) {
    quick_f32 sign = _mm256_and_ps(x, _mm256_set1_ps(-0.0f));
    *open |= _mm256_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    quick_f64 a = _mm512_cvtps_pd(_mm256_min_ps(_mm256_xor_ps(x, sign), _mm256_set1_ps(10.0f)));
    quick_f64 e = quick_expm1_core(a, 2.0);
    quick_f64 y = _mm512_div_pd(e, _mm512_add_pd(e, QUICK_ALL(2.0)));
    *open |= quick_near_tie(y, 14);
    return _mm256_or_ps(_mm512_cvtpd_ps(y), sign);
}
QUICK_BLOCK(sbi_quick_tanh_f32, quick_tanh)

// ---------------------------------------------------------------- sigmoid, silu

// (x, or 1) / (1 + e^-x) as (x, or 1) e^x / (1 + e^x) below 0.
static inline quick_f64 quick_share(quick_f32 x, quick_f64 of, quick_f64 *whole) {
    quick_f32 a = _mm256_max_ps(_mm256_or_ps(x, _mm256_set1_ps(-0.0f)), _mm256_set1_ps(-120.0f)); // -|x|
    quick_f64 e = quick_exp_core(_mm512_cvtps_pd(a));
    __mmask8 negative = _mm256_movepi32_mask(_mm256_castps_si256(x));
    *whole = _mm512_add_pd(e, QUICK_ALL(1.0));
    return _mm512_mask_mul_pd(of, negative, of, e);
}

// ---------------------------------------------------------------- sigmoid

static inline quick_f32 quick_sigmoid(quick_f32 x, __mmask8 *open) {
    __mmask8 low = _mm256_cmp_ps_mask(x, _mm256_set1_ps(-87.0f), _CMP_NGT_UQ);
    *open |= _mm256_mask_cmp_ps_mask(low, x, _mm256_set1_ps(-104.0f), _CMP_NLT_UQ);
    quick_f64 whole, part = quick_share(x, QUICK_ALL(1.0), &whole), y = _mm512_div_pd(part, whole);
    *open |= quick_near_tie(y, 16);
    return _mm512_cvtpd_ps(y);
}
QUICK_BLOCK(sbi_quick_sigmoid_f32, quick_sigmoid)

// ---------------------------------------------------------------- silu

static inline quick_f32 quick_silu(quick_f32 x, __mmask8 *open) {
    __mmask8 low = _mm256_cmp_ps_mask(x, _mm256_set1_ps(-91.0f), _CMP_NGT_UQ); // NaN, subnormal results; from -110 down it is -0
    *open |= _mm256_mask_cmp_ps_mask(low, x, _mm256_set1_ps(-110.0f), _CMP_NLT_UQ);
    __mmask8 small = _mm256_cmp_ps_mask(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x), _mm256_set1_ps(0x1p-120f), _CMP_LT_OQ);
    *open |= _mm256_mask_cmp_ps_mask(small, x, _mm256_setzero_ps(), _CMP_NEQ_OQ);
    quick_f64 whole, part = quick_share(x, _mm512_cvtps_pd(_mm256_max_ps(x, _mm256_set1_ps(-120.0f))), &whole), y = _mm512_div_pd(part, whole);
    *open |= quick_near_tie(y, 16);
    return _mm512_cvtpd_ps(y);
}
QUICK_BLOCK(sbi_quick_silu_f32, quick_silu)

// ---------------------------------------------------------------- silu_grad

// e^z to a relative 2^-46.
static inline quick_f64 quick_exp_fine(quick_f64 z) {
    quick_f64 t = QUICK_FMA(z, QUICK_ALL(0x1.71547652b82fep+4), QUICK_ALL(QUICK_ROUNDER));
    quick_f64 r = QUICK_REST(_mm512_sub_pd(t, QUICK_ALL(QUICK_ROUNDER)), QUICK_ALL(0x1.62e42fefa39efp-5), z);
    quick_f64 q = QUICK_FMA(r, QUICK_ALL(0x1.11120af8496bap-7), QUICK_ALL(0x1.55570aaa2d510p-5));
    q = QUICK_FMA(r, q, QUICK_ALL(0x1.55555554dd439p-3));
    q = QUICK_FMA(r, q, QUICK_ALL(0x1.fffffffe5bc1ap-2));
    q = QUICK_FMA(r, q, QUICK_ALL(1.0));
    quick_f64 s = quick_power(t);
    return QUICK_FMA(_mm512_mul_pd(s, r), q, s);
}

// s (1 + x (1 - s)), s = 1 / (1 + e^-x), but beside its zero.
static inline quick_f32 quick_silu_grad(quick_f32 x, __mmask8 *open) {
    __mmask8 low = _mm256_cmp_ps_mask(x, _mm256_set1_ps(-91.0f), _CMP_NGT_UQ); // as for silu
    *open |= _mm256_mask_cmp_ps_mask(low, x, _mm256_set1_ps(-110.0f), _CMP_NLT_UQ);
    quick_f32 beside = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_add_ps(x, _mm256_set1_ps(0x1.474974p+0f)));
    *open |= _mm256_cmp_ps_mask(beside, _mm256_set1_ps(0x1p-8f), _CMP_LT_OQ);
    quick_f32 z = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(-120.0f)), _mm256_set1_ps(120.0f));
    quick_f64 e = quick_exp_fine(_mm512_cvtps_pd(_mm256_or_ps(z, _mm256_set1_ps(-0.0f))));
    quick_f64 inverse = _mm512_div_pd(QUICK_ALL(1.0), _mm512_add_pd(e, QUICK_ALL(1.0))), other = _mm512_mul_pd(e, inverse);
    __mmask8 negative = _mm256_movepi32_mask(_mm256_castps_si256(x));
    quick_f64 s = _mm512_mask_blend_pd(negative, inverse, other);
    quick_f64 y = QUICK_FMA(_mm512_mul_pd(other, inverse), _mm512_cvtps_pd(z), s); // s (1 - s), either way
    *open |= quick_near_tie(y, 16);
    return _mm512_cvtpd_ps(y);
}
QUICK_BLOCK(sbi_quick_silu_grad_f32, quick_silu_grad)

// ---------------------------------------------------------------- logarithms

// 1/c of 16 intervals of [2/3, 4/3), by the leading bits of what exceeds 2/3; c = 1 where 1 is.
static const double quick_inverse[16] = {
    0x1.7734c3c72262ap+0, 0x1.66c6130373678p+0, 0x1.57b8648d5d2dcp+0, 0x1.49e1132d13215p+0, 0x1.3d1c141338ff3p+0, 0x1.314abbdd46819p+0,
    0x1.2652c78071f84p+0, 0x1.1c1d989f18b62p+0, 0x1.129799383d6cfp+0, 0x1.09afbdc2057d9p+0, 0x1.0000000000000p+0, 0x1.e6a74a1b745e7p-1,
    0x1.cb5d4f7d6adbfp-1, 0x1.b2f934965d39fp-1, 0x1.9d0ac20c1cb54p-1, 0x1.89374c2b51bd8p-1,
};

// x = 2^e m, f = m/c - 1: e log 2 + log c + f q(f), by the table of log c, log 2 and q of the base.
static inline quick_f32 quick_log_by(quick_f32 x, const double *centre, double two, const double *q, __mmask8 *open) {
    __m256i bits = _mm256_castps_si256(x), over = _mm256_sub_epi32(bits, _mm256_set1_epi32(0x3f2aaaab));
    *open |= _mm256_cmpge_epu32_mask(_mm256_sub_epi32(bits, _mm256_set1_epi32(0x00800000)), _mm256_set1_epi32(0x7f000000));
    quick_f64 e = _mm512_cvtepi32_pd(_mm256_srai_epi32(over, 23));
    quick_u64 place = _mm512_cvtepu32_epi64(_mm256_srli_epi32(over, 19));
    __m256i m = _mm256_sub_epi32(bits, _mm256_and_si256(over, _mm256_set1_epi32((int)0xff800000u)));
    quick_f64 f = _mm512_fmsub_pd(_mm512_cvtps_pd(_mm256_castsi256_ps(m)), quick_entry(quick_inverse, place), QUICK_ALL(1.0));
    quick_f64 p = QUICK_FMA(f, QUICK_ALL(q[5]), QUICK_ALL(q[4]));
    UNROLL for (int i = 3; i >= 0; i--) p = QUICK_FMA(f, p, QUICK_ALL(q[i]));
    quick_f64 y = QUICK_FMA(f, p, QUICK_FMA(e, QUICK_ALL(two), quick_entry(centre, place)));
    *open |= quick_near_tie(y, 16);
    return _mm512_cvtpd_ps(y);
}

// ---------------------------------------------------------------- log

static const double quick_log_centre[16] = {
    -0x1.877924be4700bp-2, -0x1.599d64009a508p-2, -0x1.2db8ed73afffep-2, -0x1.03a25ea6f06b2p-2, -0x1.b66a78ecb6931p-3, -0x1.68a2687a05a01p-3,
    -0x1.1db2ffea980e2p-3, -0x1.aad1977f6aff2p-4, -0x1.1f2b383ace65fp-4, -0x1.303f4bfa26f3cp-5, 0x0.0p+0, 0x1.9fed3e7d2d90ap-5,
    0x1.bc562e1590ba2p-4, 0x1.4de7b613c5d6bp-3, 0x1.b7dc1adda9b2cp-3, 0x1.0e4cfae460111p-2,
};
static const double quick_log_series[6] = {0x1.0000000003606p+0, -0x1.0000000005e8bp-1, 0x1.555551214096fp-2, -0x1.fffff8a4ce09ep-3, 0x1.99fcd101121d3p-3, -0x1.55ac264d7144ap-3};
static inline quick_f32 quick_log(quick_f32 x, __mmask8 *open) {
    return quick_log_by(x, quick_log_centre, 0x1.62e42fefa39efp-1, quick_log_series, open);
}
QUICK_BLOCK(sbi_quick_log_f32, quick_log)

// ---------------------------------------------------------------- log2

static const double quick_log2_centre[16] = {
    -0x1.1a63635354168p-1, -0x1.f29de487e7ccdp-2, -0x1.b34b1a66666a5p-2, -0x1.7692b3b66bc1dp-2, -0x1.3c400eefcf0e2p-2, -0x1.04248a48c6e5cp-2,
    -0x1.9c2d45a9f1007p-3, -0x1.33e276b5728b5p-3, -0x1.9e4c0af5ed2c9p-4, -0x1.b6ef9de7fc6c3p-5, 0x0.0p+0, 0x1.2c07189457e64p-4,
    0x1.40856909c09ccp-3, 0x1.e1b927cef109cp-3, 0x1.3d4ab11ff3d8dp-2, 0x1.85f623d4542fap-2,
};
static const double quick_log2_series[6] = {0x1.71547652bd0eep+0, -0x1.71547652c0b63p-1, 0x1.ec7097b32b514p-2, -0x1.7154710448049p-2, 0x1.27be56db10e0fp-2, -0x1.eceddd9df24ccp-3};
static inline quick_f32 quick_log2(quick_f32 x, __mmask8 *open) {
    return quick_log_by(x, quick_log2_centre, 1.0, quick_log2_series, open);
}
QUICK_BLOCK(sbi_quick_log2_f32, quick_log2)

// ---------------------------------------------------------------- log10

static const double quick_log10_centre[16] = {
    -0x1.5407813e0b888p-3, -0x1.2c327c2c51c7ap-3, -0x1.06129e0233304p-3, -0x1.c307e9120fa52p-4, -0x1.7ccd9fc1e3402p-4, -0x1.393e398c5d52ap-4,
    -0x1.f04f74b491cf9p-5, -0x1.72bae31c513b4p-5, -0x1.f2dd0454897a6p-6, -0x1.08440be173252p-6, 0x0.0p+0, 0x1.6944f588ddf83p-6,
    0x1.81f226a780af3p-5, 0x1.2206bbdb1620ep-4, 0x1.7e0eaece3bb2ep-4, 0x1.d58f7765b2790p-4,
};
static const double quick_log10_series[6] = {0x1.bcb7b152742e7p-2, -0x1.bcb7b1527894bp-3, 0x1.287a72904826bp-3, -0x1.bcb7aaeeb558ep-4, 0x1.641c551989abbp-4, -0x1.28c5de93de556p-4};
static inline quick_f32 quick_log10(quick_f32 x, __mmask8 *open) {
    return quick_log_by(x, quick_log10_centre, 0x1.34413509f79ffp-2, quick_log10_series, open);
}
QUICK_BLOCK(sbi_quick_log10_f32, quick_log10)

// ---------------------------------------------------------------- log1p, softplus, log_sigmoid

// log(1 + z), -1 < z: as log of w = 1 + z, f = z itself beside 1.
static inline quick_f64 quick_log1p_core(quick_f64 z) {
    quick_u64 w = QUICK_BITS(_mm512_add_pd(z, QUICK_ALL(1.0))), over = _mm512_sub_epi64(w, _mm512_set1_epi64(0x3fe5555560000000));
    quick_f64 e = _mm512_cvtepi64_pd(_mm512_srai_epi64(over, 52));
    quick_u64 place = _mm512_srli_epi64(over, 48);
    quick_f64 m = QUICK_NUMBER(_mm512_sub_epi64(w, _mm512_and_si512(over, _mm512_set1_epi64((long long)0xfff0000000000000u))));
    quick_f64 f = _mm512_fmsub_pd(m, quick_entry(quick_inverse, place), QUICK_ALL(1.0));
    f = _mm512_mask_mov_pd(f, _mm512_cmp_pd_mask(_mm512_abs_pd(z), QUICK_ALL(0.0208), _CMP_LT_OQ), z);
    quick_f64 p = QUICK_FMA(f, QUICK_ALL(quick_log_series[5]), QUICK_ALL(quick_log_series[4]));
    UNROLL for (int i = 3; i >= 0; i--) p = QUICK_FMA(f, p, QUICK_ALL(quick_log_series[i]));
    return QUICK_FMA(f, p, QUICK_FMA(e, QUICK_ALL(0x1.62e42fefa39efp-1), quick_entry(quick_log_centre, place)));
}

// log(1 + e^z) = max(z, 0) + log(1 + e^-|z|).
static inline quick_f64 quick_softplus_core(quick_f32 x, __mmask8 *open) {
    __mmask8 low = _mm256_cmp_ps_mask(x, _mm256_set1_ps(-87.0f), _CMP_NGT_UQ); // as for exp
    *open |= _mm256_mask_cmp_ps_mask(low, x, _mm256_set1_ps(-104.0f), _CMP_NLT_UQ);
    quick_f32 a = _mm256_max_ps(_mm256_or_ps(x, _mm256_set1_ps(-0.0f)), _mm256_set1_ps(-120.0f)); // -|x|
    quick_f64 y = quick_log1p_core(quick_exp_core(_mm512_cvtps_pd(a)));
    y = _mm512_add_pd(_mm512_cvtps_pd(_mm256_max_ps(x, _mm256_setzero_ps())), y);
    *open |= quick_near_tie(y, 17);
    return y;
}

// ---------------------------------------------------------------- log1p

static inline quick_f32 quick_log1p(quick_f32 x, __mmask8 *open) {
    __mmask8 inside = _mm256_cmp_ps_mask(x, _mm256_set1_ps(-1.0f), _CMP_GT_OQ);
    *open |= (__mmask8)~_mm256_mask_cmp_ps_mask(inside, x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7f800000)), _CMP_LT_OQ);
    quick_f32 sign = _mm256_and_ps(x, _mm256_set1_ps(-0.0f));
    quick_f64 y = quick_log1p_core(_mm512_cvtps_pd(x));
    *open |= quick_near_tie(y, 16);
    return _mm256_or_ps(_mm512_cvtpd_ps(y), sign);
}
QUICK_BLOCK(sbi_quick_log1p_f32, quick_log1p)

// ---------------------------------------------------------------- softplus

static inline quick_f32 quick_softplus(quick_f32 x, __mmask8 *open) { return _mm512_cvtpd_ps(quick_softplus_core(x, open)); }
QUICK_BLOCK(sbi_quick_softplus_f32, quick_softplus)

// ---------------------------------------------------------------- log_sigmoid

static inline quick_f32 quick_log_sigmoid(quick_f32 x, __mmask8 *open) {
    return _mm256_xor_ps(_mm512_cvtpd_ps(quick_softplus_core(_mm256_xor_ps(x, _mm256_set1_ps(-0.0f)), open)), _mm256_set1_ps(-0.0f));
}
QUICK_BLOCK(sbi_quick_log_sigmoid_f32, quick_log_sigmoid)

// ---------------------------------------------------------------- sin, cos

// sin(j pi/16).
static const double quick_sines[24] = {
    0.0, 0x1.8f8b83c69a60bp-3, 0x1.87de2a6aea963p-2, 0x1.1c73b39ae68c8p-1, 0x1.6a09e667f3bcdp-1, 0x1.a9b66290ea1a3p-1,
    0x1.d906bcf328d46p-1, 0x1.f6297cff75cb0p-1, 1.0, 0x1.f6297cff75cb0p-1, 0x1.d906bcf328d46p-1, 0x1.a9b66290ea1a3p-1,
    0x1.6a09e667f3bcdp-1, 0x1.1c73b39ae68c8p-1, 0x1.87de2a6aea963p-2, 0x1.8f8b83c69a60bp-3, 0.0, -0x1.8f8b83c69a60bp-3,
    -0x1.87de2a6aea963p-2, -0x1.1c73b39ae68c8p-1, -0x1.6a09e667f3bcdp-1, -0x1.a9b66290ea1a3p-1, -0x1.d906bcf328d46p-1, -0x1.f6297cff75cb0p-1,
};

// a = n pi/16 + r, 0 <= a < 2^28: sin((n + places) pi/16 + r) = S cos r + C sin r, with their signs changed where n + places has
// bit 4. places: 0, or 8 for the cosine. (The rest of n pi/16 is exact in its first word: n is an integer.)
static inline quick_f32 quick_wave(quick_f32 a, double places, __mmask8 *open) {
    *open |= _mm256_cmp_ps_mask(a, _mm256_set1_ps(0x1p+28f), _CMP_NLT_UQ);
    quick_f64 z = _mm512_cvtps_pd(a), t = QUICK_FMA(z, QUICK_ALL(0x1.45f306dc9c883p+2), QUICK_ALL(QUICK_ROUNDER + places));
    quick_f64 n = _mm512_sub_pd(t, QUICK_ALL(QUICK_ROUNDER + places));
    quick_f64 r = QUICK_REST(n, QUICK_ALL(0x1.1a62633145c07p-57), QUICK_REST(n, QUICK_ALL(0x1.921fb54442d18p-3), z));
    quick_f64 w = _mm512_mul_pd(r, r);
    quick_f64 c = QUICK_FMA(w, QUICK_ALL(-0x1.6bfeb1e747601p-10), QUICK_ALL(0x1.555554a33bf5cp-5));
    quick_f64 s = QUICK_FMA(w, QUICK_ALL(-0x1.a0049e60ad935p-13), QUICK_ALL(0x1.111110c1e8c67p-7));
    c = QUICK_FMA(w, c, QUICK_ALL(-0x1.fffffffffcf2cp-2));
    s = QUICK_FMA(w, s, QUICK_ALL(-0x1.5555555554a7cp-3));
    s = QUICK_FMA(_mm512_mul_pd(w, r), s, r);
    quick_u64 turn = QUICK_BITS(t);
    quick_f64 high = quick_entry(quick_sines, turn);
    quick_f64 y = QUICK_FMA(quick_entry(quick_sines + 8, turn), s, QUICK_FMA(_mm512_mul_pd(w, c), high, high));
    *open |= quick_near_tie(y, 12);
    turn = _mm512_slli_epi64(turn, 59);
    return _mm512_cvtpd_ps(QUICK_NUMBER(_mm512_ternarylogic_epi64(QUICK_BITS(y), turn, QUICK_BITS(QUICK_ALL(-0.0)), 0x78))); // y ^ (turn & sign)
}
static inline quick_f32 quick_sin(quick_f32 x, __mmask8 *open) {
    quick_f32 sign = _mm256_and_ps(x, _mm256_set1_ps(-0.0f));
    return _mm256_xor_ps(quick_wave(_mm256_xor_ps(x, sign), 0.0, open), sign);
}
static inline quick_f32 quick_cos(quick_f32 x, __mmask8 *open) {
    return quick_wave(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x), 8.0, open);
}
QUICK_BLOCK(sbi_quick_sin_f32, quick_sin)
QUICK_BLOCK(sbi_quick_cos_f32, quick_cos)
#endif
