// SPDX-License-Identifier: Apache-2.0
// Operations on arrays. Every public sb_OP of samebits.h from sb_gemm to sb_adamw has its sbi_OP here with the same
// arguments (sbi_gemm, sbi_reduce, ...): it checks shapes and dtypes, makes one sbi_op record and hands it to sbi_run,
// which carries it out on the context's device and traces it. api/ adds NULL checks, overlap checks and the FP
// environment, and calls in; nn/ and lm/ call sbi_OP directly.
//
// The record is all that the reference, a trace or a bisection needs to know. Its slots, per operation
// (in / out are arrays, n integers, r reals; a missing nullable array is NULL):
//   GEMM        in a b bias; out c; n m n k ta tb scaled accumulate batch b_shared (1-D operands are seen as m = 1 or
//               n = 1); r alpha. float64 c of float32 a, b: the widened product
//   DOT         in a b; out out; n size
//   REDUCE      in x; out out; n kind outer count inner (x seen as [outer, count, inner])
//   VARIANCE    in x; out out mean; n 0 outer count inner ddof root (1: its root); without out the mean alone
//   TOTAL       in x; n size squares (0: S(x), 1: S(x x)); result: *real_out
//   BINARY      in a b; out out; n kind ndim shape[8] stride_a[8] stride_b[8] (elements; 0 where broadcast)
//   SCALE       in x; out out; n size; r factor
//   UNARY       in x; out out; n kind size
//   SWIGLU      in gate up; out y; n size            SWIGLU_BACKWARD in gate up dy; out dgate dup; n size
//   SOFTMAX     in x; out y; n rows count log       SOFTMAX_BACKWARD in y dy; out dx; n rows count log
//   CROSS_ENTROPY in logits targets weights; out loss; n rows v reduction; r smoothing (targets: int64, -1 where not counted)
//   CROSS_ENTROPY_BACKWARD in logits targets weights; out dlogits; n rows v reduction; r smoothing scale
//   RMS_NORM, LAYER_NORM in x weight bias; out y mean r; n rows d; r eps (RMS_NORM: no bias, no mean)
//   RMS_NORM_BACKWARD, LAYER_NORM_BACKWARD in x weight mean r dy; out dx dweight dbias; n rows d (likewise)
//   ROTARY_TABLE out cos sin; n positions half; r theta
//   ROTARY      in x cos sin; out y; n b t h d first inverse
//   ATTENTION   in q k v mask; out y maximum total; n b t h d s g causal first keys window prefix; r scale
//   ATTENTION_BACKWARD in q k v mask y maximum total dy; out dq dk dv; n as ATTENTION; r scale
//   GATHER      in x indices; out out; n rows width count (an embedding, too)
//   TAKE_ALONG  in x indices; out out; n rows n k
//   SCATTER     in indices source; out out; n rows width count
//   SCATTER_ADD in indices source; out out; n rows width count accumulate (the backward of an embedding, too)
//   HISTOGRAM   in codes weights; out counts; n rows features bins
//   SCAN        in x; out y; n rows count exclusive reverse
//   ARGSORT     in x; out indices; n rows count descending   (SORT is ARGSORT and a gather: out values)
//   TOP_K       in x; out values indices; n rows count largest k
//   UNIQUE      in x; out values inverse counts; n size; result: *real_out, how many
//   RANDOM      out out; n kind start bound; u seed stream   (kind: SBI_RANDOM_...)
//   DROPOUT     in x; out y; n size start; u seed stream; r p
//   CLIP        is TOTAL per array, scalar binary64 arithmetic and SCALE: no record of its own
//   ADAMW       in g; out p m v; n size; r learning_rate beta1 beta2 eps weight_decay beta1_power beta2_power
//   ADAM        as ADAMW
//   SGD         in g; out p m; n size first nesterov; r learning_rate momentum dampening weight_decay
//   COLUMNS     in x a b; out y; n rows d back (RN((x - a) / b), or RN(x b + a))
//   MOMENTS     in x weights; out moments[5, d]; n rows d
//   SEGMENTS    in x labels weights; out sums[k, d] totals[k]; n rows d k
//   DISTANCE    in x c; out distances[rows, m]; n rows m d root
//   GAUSSIAN    in x mean scale start; out out[rows, m]; n rows m d
//   NEAREST     in x c; out label distance; n rows m d
//   NEIGHBORS   in x c; out far[rows, k] index[rows, k]; n rows m d k kind self; r p
//   WITHIN      in x c; out inside[rows, m]; n rows m d kind; r radius p
//   APART       in x c rows places; out far[pairs]; n pairs d kind rows m; r p
//   COPY        in from; out to; n bytes
#ifndef SBI_OPS_H
#define SBI_OPS_H

#include "array.h"

typedef enum sbi_op_id {
    SBI_OP_GEMM, SBI_OP_DOT, SBI_OP_REDUCE, SBI_OP_VARIANCE, SBI_OP_TOTAL, SBI_OP_BINARY, SBI_OP_SCALE, SBI_OP_UNARY, SBI_OP_SWIGLU,
    SBI_OP_SWIGLU_BACKWARD, SBI_OP_SOFTMAX, SBI_OP_SOFTMAX_BACKWARD, SBI_OP_CROSS_ENTROPY, SBI_OP_CROSS_ENTROPY_BACKWARD,
    SBI_OP_RMS_NORM, SBI_OP_RMS_NORM_BACKWARD, SBI_OP_LAYER_NORM, SBI_OP_LAYER_NORM_BACKWARD, SBI_OP_ROTARY_TABLE,
    SBI_OP_ROTARY, SBI_OP_ATTENTION, SBI_OP_ATTENTION_BACKWARD,
    SBI_OP_GATHER, SBI_OP_TAKE_ALONG, SBI_OP_SCATTER, SBI_OP_SCATTER_ADD, SBI_OP_SCAN, SBI_OP_HISTOGRAM, SBI_OP_ARGSORT, SBI_OP_SORT, SBI_OP_TOP_K, SBI_OP_UNIQUE, SBI_OP_RANDOM, SBI_OP_DROPOUT, SBI_OP_ADAMW, SBI_OP_ADAM, SBI_OP_SGD, SBI_OP_COLUMNS, SBI_OP_MOMENTS, SBI_OP_SEGMENTS,
    SBI_OP_DISTANCE, SBI_OP_GAUSSIAN, SBI_OP_NEAREST, SBI_OP_NEIGHBORS, SBI_OP_WITHIN, SBI_OP_APART, SBI_OP_COPY,
    SBI_OP_COUNT
} sbi_op_id;

enum { SBI_RANDOM_BITS = 1, SBI_RANDOM_UNIFORM, SBI_RANDOM_NORMAL, SBI_RANDOM_INTEGERS, SBI_RANDOM_CHOICE };

typedef struct sbi_op {
    sbi_op_id id;
    // How this operation's kernels carry out the record: a static function of its op_*.c, called by sbi_run.
    sb_status (*kernels)(sb_context *ctx, const struct sbi_op *op, sb_error *err);
    const sb_array *in[8];
    sb_array *out[3];
    int64_t n[32];
    uint64_t u[2];
    double r[8];
    double *real_out;
    unsigned keeps; // bit i: out[i] holds, before, what its result depends on (accumulate, a state in place)
} sbi_op;

extern const char *const sbi_op_names[SBI_OP_COUNT]; // "gemm", "dot", ...

// Carries out a checked record: on the reference device by its definition, elsewhere by op->kernels.
sb_status sbi_run(sb_context *ctx, const sbi_op *op, sb_error *err);

// The only way a kernel is started. One argument of a launch: SBI_IN(array), SBI_OUT(array), SBI_INT(i), SBI_REAL(f).
sb_status sbi_launch(sb_context *ctx, sbi_kernel_id kernel, int64_t groups, const sbi_arg *args, sb_error *err);
static inline int64_t sbi_groups(int64_t count, int64_t each) { return count / each + (count % each != 0); } // that hold all
#define SBI_TYPED(dtype, kernel) ((dtype) == SB_F64 ? SBI_ID_##kernel##_f64 : SBI_ID_##kernel##_f32) // of a template
#define SBI_IN(a) {.in = (a) ? (a)->data : NULL}
#define SBI_OUT(a) {.out = (a) ? (a)->data : NULL}
#define SBI_INT(x) {.i = (x)}
#define SBI_WORD(x) {.u = (x)}
#define SBI_REAL(x) {.f = (x)}

// The operations, as in samebits.h.
#define SBI_CTX sb_context *ctx
sb_status sbi_gemm(SBI_CTX, const sb_gemm_options *options, const sb_array *a, const sb_array *b, const sb_array *bias, sb_array *c, sb_error *err);
sb_status sbi_dot(SBI_CTX, const sb_array *a, const sb_array *b, sb_array *out, sb_error *err);
sb_status sbi_reduce(SBI_CTX, sb_reduction kind, int axis, const sb_array *x, sb_array *out, sb_error *err);
sb_status sbi_variance(SBI_CTX, int axis, int64_t ddof, const sb_array *x, sb_array *mean, sb_array *out, sb_error *err);
sb_status sbi_deviation(SBI_CTX, int axis, int64_t ddof, const sb_array *x, sb_array *mean, sb_array *out, sb_error *err);
sb_status sbi_total(SBI_CTX, const sb_array *x, double *out, sb_error *err);
sb_status sbi_sum_squares(SBI_CTX, const sb_array *x, double *out, sb_error *err);
sb_status sbi_binary(SBI_CTX, sb_binary_kind kind, const sb_array *a, const sb_array *b, sb_array *out, sb_error *err);
sb_status sbi_scale(SBI_CTX, const sb_array *x, double factor, sb_array *out, sb_error *err);
sb_status sbi_unary(SBI_CTX, sb_unary_kind kind, const sb_array *x, sb_array *out, sb_error *err);
sb_status sbi_swiglu(SBI_CTX, const sb_array *gate, const sb_array *up, sb_array *y, sb_error *err);
sb_status sbi_swiglu_backward(SBI_CTX, const sb_array *gate, const sb_array *up, const sb_array *dy, sb_array *dgate, sb_array *dup, sb_error *err);
sb_status sbi_softmax(SBI_CTX, const sb_array *x, sb_array *y, sb_error *err);
sb_status sbi_log_softmax(SBI_CTX, const sb_array *x, sb_array *y, sb_error *err);
sb_status sbi_softmax_backward(SBI_CTX, const sb_array *y, const sb_array *dy, sb_array *dx, sb_error *err);
sb_status sbi_log_softmax_backward(SBI_CTX, const sb_array *y, const sb_array *dy, sb_array *dx, sb_error *err);
sb_status sbi_cross_entropy(SBI_CTX, const sb_cross_entropy_options *options, const sb_array *logits, const sb_array *targets, const sb_array *weights, sb_array *loss, sb_error *err);
sb_status sbi_cross_entropy_backward(SBI_CTX, const sb_cross_entropy_options *options, const sb_array *logits, const sb_array *targets, const sb_array *weights, double scale, sb_array *dlogits, sb_error *err);
sb_status sbi_rms_norm(SBI_CTX, const sb_array *x, const sb_array *weight, double eps, sb_array *y, sb_array *r, sb_error *err);
sb_status sbi_rms_norm_backward(SBI_CTX, const sb_array *x, const sb_array *weight, const sb_array *r, const sb_array *dy, sb_array *dx, sb_array *dweight, sb_error *err);
sb_status sbi_layer_norm(SBI_CTX, const sb_array *x, const sb_array *weight, const sb_array *bias, double eps, sb_array *y, sb_array *mean, sb_array *r, sb_error *err);
sb_status sbi_layer_norm_backward(SBI_CTX, const sb_array *x, const sb_array *weight, const sb_array *mean, const sb_array *r, const sb_array *dy, sb_array *dx, sb_array *dweight, sb_array *dbias, sb_error *err);
sb_status sbi_rotary_table(SBI_CTX, double theta, sb_array *cos_table, sb_array *sin_table, sb_error *err);
sb_status sbi_rotary(SBI_CTX, const sb_array *x, const sb_array *cos_table, const sb_array *sin_table, int64_t first, int inverse, sb_array *y, sb_error *err);
sb_status sbi_attention(SBI_CTX, const sb_attention_options *options, const sb_array *q, const sb_array *k, const sb_array *v, sb_array *y, sb_array *maximum, sb_array *total, sb_error *err);
sb_status sbi_attention_backward(SBI_CTX, const sb_attention_options *options, const sb_array *q, const sb_array *k, const sb_array *v, const sb_array *y, const sb_array *maximum, const sb_array *total, const sb_array *dy, sb_array *dq, sb_array *dk, sb_array *dv, sb_error *err);
sb_status sbi_embedding(SBI_CTX, const sb_array *table, const sb_array *ids, sb_array *out, sb_error *err);
sb_status sbi_embedding_backward(SBI_CTX, const sb_array *ids, const sb_array *dout, int accumulate, sb_array *dtable, sb_error *err);
sb_status sbi_gather(SBI_CTX, const sb_array *x, const sb_array *indices, sb_array *out, sb_error *err);
sb_status sbi_take_along(SBI_CTX, const sb_array *x, const sb_array *indices, sb_array *out, sb_error *err);
sb_status sbi_scatter(SBI_CTX, const sb_array *indices, const sb_array *source, sb_array *out, sb_error *err);
sb_status sbi_scatter_add(SBI_CTX, const sb_array *indices, const sb_array *source, int accumulate, sb_array *out, sb_error *err);
sb_status sbi_scan(SBI_CTX, const sb_array *x, int exclusive, int reverse, sb_array *y, sb_error *err);
sb_status sbi_histogram(SBI_CTX, const sb_array *codes, const sb_array *weights, sb_array *counts, sb_error *err);
sb_status sbi_argsort(SBI_CTX, const sb_array *x, int descending, sb_array *indices, sb_error *err);
sb_status sbi_sort(SBI_CTX, const sb_array *x, int descending, sb_array *values, sb_error *err);
sb_status sbi_top_k(SBI_CTX, const sb_array *x, int64_t k, int largest, sb_array *values, sb_array *indices, sb_error *err);
sb_status sbi_unique(SBI_CTX, const sb_array *x, sb_array *values, sb_array *inverse, sb_array *counts, int64_t *number, sb_error *err);
sb_status sbi_random_bits(SBI_CTX, uint64_t seed, uint64_t stream, int64_t start, sb_array *out, sb_error *err);
sb_status sbi_random_uniform(SBI_CTX, uint64_t seed, uint64_t stream, int64_t start, sb_array *out, sb_error *err);
sb_status sbi_random_normal(SBI_CTX, uint64_t seed, uint64_t stream, int64_t start, sb_array *out, sb_error *err);
sb_status sbi_random_integers(SBI_CTX, uint64_t seed, uint64_t stream, int64_t start, int64_t n, sb_array *out, sb_error *err);
sb_status sbi_random_permutation(SBI_CTX, uint64_t seed, uint64_t stream, sb_array *out, sb_error *err);
sb_status sbi_random_choice(SBI_CTX, uint64_t seed, uint64_t stream, int64_t n, sb_array *out, sb_error *err);
sb_status sbi_dropout(SBI_CTX, const sb_array *x, double p, uint64_t seed, uint64_t stream, int64_t start, sb_array *y, sb_error *err);
sb_status sbi_clip_norm(SBI_CTX, int64_t count, sb_array *const *grads, double max_norm, double *norm, sb_error *err);
sb_status sbi_adamw(SBI_CTX, const sb_adamw_options *options, const sb_array *g, sb_array *p, sb_array *m, sb_array *v, sb_error *err);
sb_status sbi_adam(SBI_CTX, const sb_adamw_options *options, const sb_array *g, sb_array *p, sb_array *m, sb_array *v, sb_error *err);
sb_status sbi_sgd(SBI_CTX, const sb_sgd_options *options, const sb_array *g, sb_array *p, sb_array *m, sb_error *err);
sb_status sbi_copy(SBI_CTX, const sb_array *from, sb_array *to, sb_error *err);

// What estimators need beyond that, without an exported form.
// y = RN((x - a) / b), with `back` RN(x b + a): x, y real [n, d], a, b float64 [d] or NULL. y may be float64 where x is not.
sb_status sbi_columns(SBI_CTX, const sb_array *x, const sb_array *a, const sb_array *b, int back, sb_array *y, sb_error *err);
// mean float64: the binary64 mean (T2) along an axis, as sbi_variance has it.
sb_status sbi_mean(SBI_CTX, int axis, const sb_array *x, sb_array *mean, sb_error *err);
// Moments of the columns of x[n, d], out[5, d] float64: W = S(w); the mean S(w x) / W; S(w (x - mean)^2); the least and the greatest
// number. NaN is absent. weights float64 [n] at least 0, 0: absent; NULL: 1 each. Where least is greatest, that is the mean.
sb_status sbi_moments(SBI_CTX, const sb_array *x, const sb_array *weights, sb_array *out, sb_error *err);
// sums[k, d] = S(w x) over the rows with label k, numbered by rank, totals[k] = S(w); all float64. labels int32 in 0 .. k-1
// (not checked).
sb_status sbi_segments(SBI_CTX, const sb_array *x, const sb_array *labels, const sb_array *weights, sb_array *sums, sb_array *totals, sb_error *err);
// out[n, m]: squared distances of rows x[n, d] from points c[m, d], float64; with `root` RN of their roots, of x's type.
sb_status sbi_distances(SBI_CTX, const sb_array *x, const sb_array *c, int root, sb_array *out, sb_error *err);
// out[n, m] float64: start_j - S((x - mean_j)^2 scale_j) / 2, the logarithm of a density: mean, scale[m, d], start[m] float64.
sb_status sbi_gaussians(SBI_CTX, const sb_array *x, const sb_array *mean, const sb_array *scale, const sb_array *start, sb_array *out, sb_error *err);
// label[n] int32: the lowest of the points whose squared distance is least; distance[n] float64 (or NULL): that squared distance.
sb_status sbi_nearest(SBI_CTX, const sb_array *x, const sb_array *c, sb_array *label, sb_array *distance, sb_error *err);
// Distances by a metric, those of kernels/neighbors.cl: how far before the last step, and the distance itself.
typedef enum sbi_metric { SBI_EUCLIDEAN, SBI_MANHATTAN, SBI_CHEBYSHEV, SBI_MINKOWSKI, SBI_COSINE } sbi_metric;
// The k nearest of c[m, d] to each row of x[n, d], nearest first, the lowest index first on a tie: far[n, k] float64 before the last
// step, index[n, k] int64. self not negative: row i's own point, self + i, is left out. 1 <= k <= m (m - 1 with self).
sb_status sbi_neighbors(SBI_CTX, const sb_array *x, const sb_array *c, int64_t k, sbi_metric metric, double p, int64_t self, sb_array *far, sb_array *index, sb_error *err);
// inside[n, m] uint8: 1 where the distance is at most radius, else 0. (n m bytes: to be called for some rows at a time.)
sb_status sbi_within(SBI_CTX, const sb_array *x, const sb_array *c, sbi_metric metric, double p, double radius, sb_array *inside, sb_error *err);
// far[pairs] float64: how far x[rows[i]] is from c[places[i]], before the last step; rows, places int64 (not checked).
sb_status sbi_apart(SBI_CTX, const sb_array *x, const sb_array *c, const sb_array *rows, const sb_array *places, sbi_metric metric, double p, sb_array *far, sb_error *err);
// The last step, in place: the root, or the power 1/p. RN64.
sb_status sbi_reach(SBI_CTX, sbi_metric metric, double p, sb_array *far, sb_error *err);
#undef SBI_CTX
#endif
