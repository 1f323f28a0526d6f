// SPDX-License-Identifier: Apache-2.0
// The reference: every operation of the contract (docs/contract.md, sections T1 to T12) again, in the plainest C and in
// the order in which the contract says it. It is slow, serial and the oracle of every test; it alone writes golden
// values. It shares nothing with src/, uses no libm and no fused instruction, and gives the same bits on any machine
// with IEEE 754 binary32 and binary64, compiled with -ffp-contract=off at any level of optimisation.
//
// Every float operation below stands in a statement of its own, so that a compiler that keeps excess precision inside
// expressions still rounds once per operation. Shapes are written x[n, d], row-major. Nothing is checked: records
// that reach the reference are checked already.
#ifndef SBI_REFERENCE_H
#define SBI_REFERENCE_H

#include "samebits.h"

typedef unsigned __int128 ref_u128;

// ---- ref_number.c: T1
uint32_t ref_bits32(float x);
float ref_float32(uint32_t bits);
uint64_t ref_bits64(double x);
double ref_float64(uint64_t bits);
float ref_canon32(float x);   // the value with a NaN made canonical
double ref_canon64(double x);
float ref_max32(float a, float b); // IEEE 754-2019 maximum, minimum
float ref_min32(float a, float b);
double ref_max64(double a, double b);
double ref_min64(double a, double b);
float ref_round32(int negative, ref_u128 m, int64_t e); // RN32 of (-1)^negative m 2^e, exactly
double ref_round64(int negative, ref_u128 m, int64_t e); // RN64 likewise
float ref_fma32(float a, float b, float c);             // RN32(a b + c), one rounding, by integers
double ref_fma64(double a, double b, double c);         // RN64 likewise
float ref_sqrt32(float x);                              // correctly rounded, by integers
double ref_sqrt64(double x);
void *ref_memory(int64_t count, size_t item); // zeroed; ends the program when there is none

// ---- ref_sum.c: T2
double ref_sum(int64_t n, const double *x, const uint8_t *present); // S; present NULL: every term is there
double ref_mean(int64_t n, const double *x); // the binary64 mean
double ref_spread(int wide, int64_t n, const double *x, double mean, double divisor, int root); // variance; wide: float64 data
void ref_dot_f32(int64_t n, const float *a, const float *b, float *out);
void ref_dot_f64(int64_t n, const double *a, const double *b, double *out);
double ref_total_f32(int64_t n, const float *x, int squared);  // S(x), S(x x)
double ref_total_f64(int64_t n, const double *x, int squared);
// x[outer, count, inner]; out[outer, inner], of x's type or int64 (SB_ARGMAX, SB_ARGMIN).
void ref_reduce_f32(sb_reduction kind, int64_t outer, int64_t count, int64_t inner, const float *x, void *out);
void ref_reduce_f64(sb_reduction kind, int64_t outer, int64_t count, int64_t inner, const double *x, void *out);
// The variance, or its root (NULL is fine); mean (NULL is fine) in binary64.
void ref_variance_f32(int64_t outer, int64_t count, int64_t inner, int64_t ddof, int root, const float *x, float *out,
                      double *mean);
void ref_variance_f64(int64_t outer, int64_t count, int64_t inner, int64_t ddof, int root, const double *x, double *out,
                      double *mean);

// ---- ref_product.c: T3
// The product over k = first .. first+count-1; a[(k - first) * step_a] and so on; pairs that are not present are skipped.
float ref_product_f32(int64_t first, int64_t count, const float *a, int64_t step_a, const float *b, int64_t step_b,
                      const uint8_t *present);
double ref_product_f64(int64_t first, int64_t count, const double *a, int64_t step_a, const double *b, int64_t step_b,
                       const uint8_t *present);
#define ref_product ref_product_f32 // where there is no other type
void ref_gemm_f32(int ta, int tb, int64_t m, int64_t n, int64_t k, const float *a, const float *b, const float *bias,
                  int scaled, float alpha, int accumulate, float *c);
void ref_gemm_f64(int ta, int tb, int64_t m, int64_t n, int64_t k, const double *a, const double *b, const double *bias,
                  int scaled, double alpha, int accumulate, double *c);
// The float64 product of widened data.
void ref_gemm_wide(int ta, int tb, int64_t m, int64_t n, int64_t k, const float *a, const float *b, const double *bias,
                   int scaled, double alpha, int accumulate, double *c);

// ---- ref_ball.c: real numbers, with a proved bound of their error
enum { REF_LIMBS = 14 }; // 12, and 2 more for the reduction of sin and cos
typedef struct ref_ball {
    int n;                    // limbs in use
    int sign;                 // of the midpoint: -1, 0, 1
    int64_t exponent;         // midpoint = sign 2^exponent M / 2^(64 n), M / 2^(64 n) in [1/2, 1)
    uint64_t limb[REF_LIMBS]; // M, least limb first
    double radius;            // the real number meant differs from the midpoint by at most this
} ref_ball;
ref_ball ref_ball_integer(int n, int64_t x);
ref_ball ref_ball_float(int n, float x);   // finite
ref_ball ref_ball_double(int n, double x); // finite, not subnormal
ref_ball ref_ball_fit(int n, const ref_ball *x); // another number of limbs
ref_ball ref_ball_negate(const ref_ball *x);
ref_ball ref_ball_scale(const ref_ball *x, int64_t k); // x 2^k
ref_ball ref_ball_add(const ref_ball *a, const ref_ball *b);
ref_ball ref_ball_subtract(const ref_ball *a, const ref_ball *b);
ref_ball ref_ball_multiply(const ref_ball *a, const ref_ball *b);
ref_ball ref_ball_divide(const ref_ball *a, const ref_ball *b);
ref_ball ref_ball_divide_by(const ref_ball *a, uint32_t d);
int ref_ball_sign(const ref_ball *x); // of the real number; 2: the ball holds zero
int ref_ball_round32(const ref_ball *x, float *out); // 0: not decided at this precision
int ref_ball_round64(const ref_ball *x, double *out);
const ref_ball *ref_ball_log_two(int n);
const ref_ball *ref_ball_pi(int n);
const ref_ball *ref_ball_root_pi(int n, int times); // sqrt(times pi), times 1 or 2
ref_ball ref_ball_normal_series(const ref_ball *q);  // sum of q^j / (1 3 ... (2j+1)), q >= 0
ref_ball ref_ball_exp(const ref_ball *x);
ref_ball ref_ball_log(const ref_ball *x); // x > 0
ref_ball ref_ball_sin(int n, float x, int cosine);

// ---- ref_function.c: T4, correctly rounded; T11, the inverse normal; and the binary64 logarithm of the appendix
float ref_unary(sb_unary_kind kind, float x); // all but SB_INVERSE_NORMAL
void ref_unary_f32(sb_unary_kind kind, int64_t n, const void *x, float *out); // x: uint32 for SB_INVERSE_NORMAL
float ref_normal(uint32_t u);                            // inverse normal of (u + 1/2) / 2^32
float ref_power_f32(float theta, int64_t p, int64_t q);   // RN32(theta^(-p/q)), 1 <= theta < 2^128, 0 <= p, 0 < q
double ref_power_f64(double theta, int64_t p, int64_t q); // RN64 likewise
double ref_log64(double x);                              // the written sequence

// ---- ref_element.c
void ref_binary_f32(sb_binary_kind kind, int ndim, const int64_t *shape, const int64_t *step_a, const int64_t *step_b,
                    const float *a, const float *b, float *out);
void ref_binary_f64(sb_binary_kind kind, int ndim, const int64_t *shape, const int64_t *step_a, const int64_t *step_b,
                    const double *a, const double *b, double *out);
void ref_scale_f32(int64_t n, const float *x, float factor, float *out);
void ref_scale_f64(int64_t n, const double *x, double factor, double *out);
void ref_swiglu_f32(int64_t n, const float *gate, const float *up, float *y);
void ref_swiglu_f64(int64_t n, const double *gate, const double *up, double *y);
void ref_swiglu_backward_f32(int64_t n, const float *gate, const float *up, const float *dy, float *dgate, float *dup);
void ref_swiglu_backward_f64(int64_t n, const double *gate, const double *up, const double *dy, double *dgate, double *dup);

// ---- ref_softmax.c: T5. targets: -1 where not counted; weights may be NULL.
void ref_softmax_f32(int64_t rows, int64_t count, int log, const float *x, float *y);
void ref_softmax_f64(int64_t rows, int64_t count, int log, const double *x, double *y);
void ref_softmax_backward_f32(int64_t rows, int64_t count, int log, const float *y, const float *dy, float *dx);
void ref_softmax_backward_f64(int64_t rows, int64_t count, int log, const double *y, const double *dy, double *dx);
void ref_cross_entropy_f32(int64_t rows, int64_t v, sb_loss_reduction reduction, double smoothing, const float *logits,
                           const int64_t *targets, const float *weights, double *loss);
void ref_cross_entropy_f64(int64_t rows, int64_t v, sb_loss_reduction reduction, double smoothing, const double *logits,
                           const int64_t *targets, const double *weights, double *loss);
void ref_cross_entropy_backward_f32(int64_t rows, int64_t v, sb_loss_reduction reduction, double smoothing, double scale,
                                    const float *logits, const int64_t *targets, const float *weights, float *dlogits);
void ref_cross_entropy_backward_f64(int64_t rows, int64_t v, sb_loss_reduction reduction, double smoothing, double scale,
                                    const double *logits, const int64_t *targets, const double *weights, double *dlogits);

// ---- ref_function64.c: T4, the written sequences of binary64 (docs/functions.md); ref_log64 stands in ref_log.c
double ref_unary64(sb_unary_kind kind, double x); // by kind
void ref_unary_f64(sb_unary_kind kind, int64_t n, const void *x, double *out); // x: uint64 for SB_INVERSE_NORMAL
double ref_exp64(double x);
double ref_exp2_64(double x);
double ref_expm1_64(double x);
double ref_log2_64(double x);
double ref_log10_64(double x);
double ref_log1p_64(double x);
double ref_rsqrt64(double x);
double ref_sin64(double x);
double ref_cos64(double x);
double ref_tanh64(double x);
double ref_sigmoid64(double x);
double ref_silu64(double x);
double ref_silu_grad64(double x);
double ref_softplus64(double x);
double ref_log_sigmoid64(double x);
double ref_gelu_tanh64(double x);
double ref_gelu_tanh_grad64(double x);
double ref_erf64(double x);
double ref_erfc64(double x);
double ref_gelu64(double x);
double ref_gelu_grad64(double x);
double ref_pow64(double x, double y); // IEEE 754's pow
float ref_pow32(float x, float y);    // RN32 of it
double ref_normal64(uint64_t u);      // inverse normal of ((u >> 11) + 1/2) / 2^53

// ---- ref_norm.c: T7, RMSNorm and LayerNorm (centred). weight, bias, mean, r, dweight, dbias may be NULL; backward of RMSNorm: mean NULL.
void ref_norm_f32(int centred, int64_t rows, int64_t d, const float *x, const float *weight, const float *bias, double eps,
                  float *y, double *mean, double *r);
void ref_norm_f64(int centred, int64_t rows, int64_t d, const double *x, const double *weight, const double *bias, double eps,
                  double *y, double *mean, double *r);
void ref_norm_backward_f32(int64_t rows, int64_t d, const float *x, const float *weight, const double *mean, const double *r,
                           const float *dy, float *dx, float *dweight, float *dbias);
void ref_norm_backward_f64(int64_t rows, int64_t d, const double *x, const double *weight, const double *mean, const double *r,
                           const double *dy, double *dx, double *dweight, double *dbias);

// ---- ref_rotary.c
void ref_rotary_table_f32(int64_t positions, int64_t half, float theta, float *cosine, float *sine);
void ref_rotary_table_f64(int64_t positions, int64_t half, double theta, double *cosine, double *sine);
void ref_rotary_f32(int64_t b, int64_t t, int64_t h, int64_t d, int64_t first, int inverse, const float *x,
                    const float *cosine, const float *sine, float *y);
void ref_rotary_f64(int64_t b, int64_t t, int64_t h, int64_t d, int64_t first, int inverse, const double *x,
                    const double *cosine, const double *sine, double *y);

// ---- ref_attention.c: T6. maximum, total may be NULL forward.
typedef struct ref_attention {
    int64_t b, t, h, d, s, g; // q, y[b, t, h, d]; k, v[b, s, g, d]
    int causal;
    int64_t first, keys;
    double scale;           // rounded to the type of the data
    int64_t window, prefix; // window 0: none
    const uint8_t *mask;    // [b, s] or NULL
} ref_attention;
void ref_attention_f32(const ref_attention *o, const float *q, const float *k, const float *v, float *y, float *maximum,
                       double *total);
void ref_attention_backward_f32(const ref_attention *o, const float *q, const float *k, const float *v, const float *y,
                                const float *maximum, const double *total, const float *dy, float *dq, float *dk,
                                float *dv);
void ref_attention_f64(const ref_attention *o, const double *q, const double *k, const double *v, double *y, double *maximum,
                       double *total);
void ref_attention_backward_f64(const ref_attention *o, const double *q, const double *k, const double *v, const double *y,
                                const double *maximum, const double *total, const double *dy, double *dq, double *dk,
                                double *dv);

// ---- ref_gather.c: rows of `bytes`; dtype is that of the indices
void ref_gather(int64_t bytes, int64_t count, const void *x, sb_dtype dtype, const void *indices, void *out);
void ref_take_along(int64_t item, int64_t rows, int64_t n, int64_t k, const void *x, sb_dtype dtype, const void *indices,
                    void *out);
void ref_scatter(int64_t bytes, int64_t count, sb_dtype dtype, const void *indices, const void *source, void *out);
// source[count, width], out[v, width]
void ref_scatter_add_f32(int64_t v, int64_t width, int64_t count, sb_dtype dtype, const void *indices,
                         const float *source, int accumulate, float *out);
void ref_scatter_add_f64(int64_t v, int64_t width, int64_t count, sb_dtype dtype, const void *indices,
                         const double *source, int accumulate, double *out);
void ref_scatter_add_i64(int64_t v, int64_t width, int64_t count, sb_dtype dtype, const void *indices,
                         const int64_t *source, int accumulate, int64_t *out);

// ---- ref_scan.c: T2
void ref_scan(sb_dtype dtype, int64_t rows, int64_t n, int exclusive, int reverse, const void *x, void *y);

// ---- ref_histogram.c: T9; codes uint8 or int32, weights NULL, int32 or int64
void ref_histogram(sb_dtype codes_dtype, int64_t n, int64_t features, int64_t bins, const void *codes,
                   sb_dtype weights_dtype, const void *weights, int64_t *counts);

// ---- ref_sort.c: T1
void ref_argsort(sb_dtype dtype, int64_t rows, int64_t count, int descending, const void *x, int64_t *indices);
void ref_sort(sb_dtype dtype, int64_t rows, int64_t count, int descending, const void *x, void *values);
// values, indices, inverse, counts may be NULL. unique returns how many; what lies beyond is 0.
void ref_top_k(sb_dtype dtype, int64_t rows, int64_t count, int largest, int64_t k, const void *x, void *values,
               int64_t *indices);
int64_t ref_unique(sb_dtype dtype, int64_t n, const void *x, void *values, int64_t *inverse, int64_t *counts);

// ---- ref_random.c: T11
void ref_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
uint32_t ref_draw32(uint64_t seed, uint64_t stream, uint64_t i);
uint64_t ref_draw64(uint64_t seed, uint64_t stream, uint64_t i);
void ref_random_bits(uint64_t seed, uint64_t stream, int64_t start, int64_t n, sb_dtype dtype, void *out);
void ref_random_uniform(uint64_t seed, uint64_t stream, int64_t start, int64_t n, sb_dtype dtype, void *out);
void ref_random_normal(uint64_t seed, uint64_t stream, int64_t start, int64_t n, sb_dtype dtype, void *out);
void ref_random_integers(uint64_t seed, uint64_t stream, int64_t start, int64_t bound, int64_t n, sb_dtype dtype, void *out);
void ref_random_choice(uint64_t seed, uint64_t stream, int64_t n, int64_t k, int64_t *out); // k = n: a permutation
void ref_dropout_f32(uint64_t seed, uint64_t stream, int64_t start, int64_t n, float p, const float *x, float *y);
void ref_dropout_f64(uint64_t seed, uint64_t stream, int64_t start, int64_t n, double p, const double *x, double *y);

// ---- ref_optimizer.c: T8
#define REF_ADAM(name, real) \
    void name(int64_t n, real learning_rate, real beta1, real beta2, real eps, real weight_decay, double beta1_power, \
              double beta2_power, const real *g, real *p, real *m, real *v)
REF_ADAM(ref_adamw_f32, float);
REF_ADAM(ref_adamw_f64, double);
REF_ADAM(ref_adam_f32, float);
REF_ADAM(ref_adam_f64, double);
// m may be NULL where the momentum is 0.
void ref_sgd_f32(int64_t n, int first, int nesterov, float learning_rate, float momentum, float dampening,
                 float weight_decay, const float *g, float *p, float *m);
void ref_sgd_f64(int64_t n, int first, int nesterov, double learning_rate, double momentum, double dampening,
                 double weight_decay, const double *g, double *p, double *m);

// ---- ref_table.c: tables x[n, d] (T2, T12); the arguments are those of the records COLUMNS, MOMENTS, SEGMENTS, DISTANCE, NEAREST
void ref_columns_f32(int64_t n, int64_t d, int back, const float *x, const double *a, const double *b, int wide,
                     void *y);
void ref_moments_f32(int64_t n, int64_t d, const float *x, const double *w, double *out);
void ref_segments_f32(int64_t n, int64_t d, int64_t k, const float *x, const int32_t *label, const double *w, double *sums,
                      double *totals);
void ref_distances_f32(int64_t n, int64_t m, int64_t d, int root, const float *x, const float *c, void *out);
void ref_gaussians_f32(int64_t n, int64_t m, int64_t d, const float *x, const double *mean, const double *scale, const double *start, double *out);
void ref_nearest_f32(int64_t n, int64_t m, int64_t d, const float *x, const float *c, int32_t *label, double *distance);
void ref_neighbors_f32(int64_t n, int64_t m, int64_t d, int64_t k, int kind, int64_t self, double p, const float *x, const float *c, double *far,
                       int64_t *index);
void ref_within_f32(int64_t n, int64_t m, int64_t d, int kind, double radius, double p, const float *x, const float *c, uint8_t *inside);
void ref_apart_f32(int64_t pairs, int64_t d, int kind, double p, const float *x, const float *c, const int64_t *rows, const int64_t *places, double *far);
void ref_columns_f64(int64_t n, int64_t d, int back, const double *x, const double *a, const double *b, int wide,
                     void *y);
void ref_moments_f64(int64_t n, int64_t d, const double *x, const double *w, double *out);
void ref_segments_f64(int64_t n, int64_t d, int64_t k, const double *x, const int32_t *label, const double *w, double *sums,
                      double *totals);
void ref_distances_f64(int64_t n, int64_t m, int64_t d, int root, const double *x, const double *c, void *out);
void ref_gaussians_f64(int64_t n, int64_t m, int64_t d, const double *x, const double *mean, const double *scale, const double *start, double *out);
void ref_nearest_f64(int64_t n, int64_t m, int64_t d, const double *x, const double *c, int32_t *label, double *distance);
void ref_neighbors_f64(int64_t n, int64_t m, int64_t d, int64_t k, int kind, int64_t self, double p, const double *x, const double *c, double *far,
                       int64_t *index);
void ref_within_f64(int64_t n, int64_t m, int64_t d, int kind, double radius, double p, const double *x, const double *c, uint8_t *inside);
void ref_apart_f64(int64_t pairs, int64_t d, int kind, double p, const double *x, const double *c, const int64_t *rows, const int64_t *places, double *far);
#endif
