// SPDX-License-Identifier: Apache-2.0
// samebits: the same bits everywhere. The one public header.
//
// Conventions
//   Every fallible function returns sb_status and takes a nullable sb_error last. On failure outputs are unspecified
//   but valid to free; nothing else has changed. Nothing here aborts, exits or prints.
//   An sb_context owns threads and memory; use it from one thread at a time, and as many contexts as you like. The calling
//   thread works, too; a stack of 128 KiB is enough for it. A context keeps scratch from its products and attention for
//   the next ones, at most 2 MiB a thread.
//   Arrays are dense, row-major, at most SB_MAX_DIMS dimensions; shapes are written x[n, d], sizes are 64-bit.
//   Inputs and outputs of an operation may not overlap unless its comment says "in place".
//   Every function that takes arrays refuses, naming the argument and before anything is written: NULL where its comment
//   does not allow it (SB_ERR_ARGUMENT), another dtype (SB_ERR_DTYPE) or shape (SB_ERR_SHAPE) than stands here, overlap
//   (SB_ERR_OVERLAP); any may run out of memory (SB_ERR_MEMORY). Comments name what is refused beyond that. A size of 0
//   is legal everywhere else.
//   A struct of options begins with its size: fields that an older caller does not know are 0; a size that cuts a field in
//   half is SB_ERR_ARGUMENT; a field that this version does not know and that is set is SB_ERR_UNSUPPORTED.
//   Values follow the numerical contract, version SB_CONTRACT (docs/contract.md; T1 to T12 are its sections).
#ifndef SAMEBITS_H
#define SAMEBITS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SB_API __attribute__((visibility("default")))
#else
#define SB_API
#endif

#define SB_VERSION "0.1.0"
#define SB_CONTRACT 1
#define SB_MAX_DIMS 8

// ---------------------------------------------------------------- status and error

typedef enum sb_status {
    SB_OK = 0,
    SB_ERR_ARGUMENT,    // a value outside its range, or NULL
    SB_ERR_SHAPE,       // shapes that do not fit each other
    SB_ERR_DTYPE,       // a dtype the operation does not take
    SB_ERR_SIZE,        // a size that overflows, found before anything is allocated
    SB_ERR_EMPTY,       // max, min, mean, argmax of nothing
    SB_ERR_NONFINITE,   // infinity or NaN where it is refused
    SB_ERR_OVERLAP,     // buffers that may not overlap do
    SB_ERR_MEMORY,      // out of memory
    SB_ERR_IO,          // the operating system refused a file operation
    SB_ERR_FORMAT,      // malformed bytes in a file
    SB_ERR_DEVICE,      // a device or level that is absent, refused or lost
    SB_ERR_UNSUPPORTED, // known, and refused by name
    SB_ERR_STATE,       // called at the wrong time
    SB_ERR_INTERRUPTED, // stopped on request; what was done is saved
    SB_ERR_WORKER,      // another process of this step died or disagreed
    SB_ERR_SINGULAR,    // a matrix that is singular, or not positive definite, where it may not be
    SB_ERR_INTERNAL     // a fault of samebits: please report it
} sb_status;

typedef struct sb_error {
    sb_status status;
    char argument[56];  // the offending argument, "" if none
    char message[456];  // one sentence: what was found and what was expected
} sb_error;

SB_API const char *sb_status_name(sb_status status); // "SB_ERR_SHAPE"
SB_API const char *sb_version(void);                 // "0.1.0"
SB_API const char *sb_commit(void);                  // the commit this was built from, or "unknown"

// ---------------------------------------------------------------- context

typedef struct sb_context sb_context;

typedef struct sb_context_options {
    size_t size;        // sizeof(sb_context_options); fields beyond it take their defaults
    const char *device; // NULL: SAMEBITS_DEVICE or "cpu". "opencl:P.D": device D of OpenCL platform P; "cuda:N",
                        // "hip:N": device N; counted from 0
    const char *isa;    // NULL: SAMEBITS_ISA or the best: "plain" "v1" "v3" "v4" "neon" "reverse" (of the CPU)
    int threads;        // 0: SAMEBITS_THREADS or the number of usable cores; at most 1024
    void *(*allocate)(void *user, size_t bytes);  // NULL: malloc. Need not align beyond 16 bytes
    void (*release)(void *user, void *pointer);   // NULL: free
    void *user;
    const char *trace;  // a file for one line an operation (docs/trace.md); NULL: SAMEBITS_TRACE or none; "": none
} sb_context_options;

// options may be NULL. A device that is not there, a level that this machine lacks: SB_ERR_DEVICE; a level that does not
// exist, threads outside their range, one of allocate and release alone: SB_ERR_ARGUMENT; a trace that cannot be written:
// SB_ERR_IO, here and from every operation. A bad environment variable is refused likewise, by its name.
//
// A device other than the CPU is opened when the first context asks for it, and probed: some thirty operations on 2^20
// hostile operands each, and two canaries of its compiler, must give the CPU's bits. One that fails is refused by name
// (SB_ERR_DEVICE), with the operation and an example; nothing makes it usable. It is closed with the last context and
// array on it; contexts of one process that name the same device share it. Its kernels are compiled when they are first
// used, and kept in a folder for the next time (SAMEBITS_CACHE; empty: none). After a fork it is the parent's alone.
SB_API sb_status sb_context_new(const sb_context_options *options, sb_context **out, sb_error *err);
SB_API void sb_context_free(sb_context *ctx); // NULL is fine. Its arrays may be freed before or after it
SB_API const char *sb_context_device(const sb_context *ctx); // "cpu", "opencl:0.0"
SB_API const char *sb_context_isa(const sb_context *ctx);    // the level that really runs; "opencl" "cuda" "hip" on such a device
SB_API int sb_context_threads(const sb_context *ctx);

// ---------------------------------------------------------------- arrays

typedef enum sb_dtype { SB_F32 = 1, SB_F64, SB_I32, SB_I64, SB_U8, SB_U32, SB_U64 } sb_dtype;
typedef struct sb_array sb_array;

SB_API size_t sb_dtype_size(sb_dtype dtype);        // bytes, 0 if unknown
SB_API const char *sb_dtype_name(sb_dtype dtype);   // "float32"

// A new array of zeros, on the context's device; an operation takes arrays of its context's device alone (SB_ERR_DEVICE),
// sb_array_copy also from one to another. shape[ndim]; ndim 0 is one element. Sizes whose bytes overflow 63 bits: SB_ERR_SIZE;
// more than the device has: SB_ERR_MEMORY, with the bytes asked for.
SB_API sb_status sb_array_new(sb_context *ctx, sb_dtype dtype, int ndim, const int64_t *shape, sb_array **out, sb_error *err);
// A view of memory the caller keeps alive (on the CPU; elsewhere SB_ERR_UNSUPPORTED), aligned to its element (else SB_ERR_ARGUMENT).
SB_API sb_status sb_array_wrap(sb_context *ctx, sb_dtype dtype, int ndim, const int64_t *shape, void *data, sb_array **out, sb_error *err);
// Rows first .. first+count-1 of the leading axis; shares and keeps alive the memory of `a`. Rows that `a` does not have:
// SB_ERR_ARGUMENT.
SB_API sb_status sb_array_slice(sb_array *a, int64_t first, int64_t count, sb_array **out, sb_error *err);
// Another shape over the same elements; shares and keeps alive the memory of `a`.
SB_API sb_status sb_array_reshape(sb_array *a, int ndim, const int64_t *shape, sb_array **out, sb_error *err);
SB_API void sb_array_free(sb_array *a); // NULL is fine
SB_API sb_dtype sb_array_dtype(const sb_array *a);
SB_API int sb_array_ndim(const sb_array *a);
SB_API const int64_t *sb_array_shape(const sb_array *a);
SB_API int64_t sb_array_size(const sb_array *a); // elements
// Its elements where they are, row-major, until the last array that shares them is freed; NULL where they are not in host memory.
SB_API void *sb_array_data(sb_array *a);
SB_API sb_status sb_array_read(const sb_array *a, void *to, size_t bytes, sb_error *err);    // bytes: exactly the array's
SB_API sb_status sb_array_write(sb_array *a, const void *from, size_t bytes, sb_error *err); // likewise
SB_API sb_status sb_array_copy(sb_context *ctx, const sb_array *from, sb_array *to, sb_error *err); // one dtype and shape; keeps bits

// ---------------------------------------------------------------- operations (float32 unless said)
//
// "real" is float32 or float64: the type of the data, which all arrays of the call share unless their comment gives
// another. Numbers among the options (double) are rounded once to that type. RN(x) is one rounding to it.

// Products, T3. c = op(a) op(b), then in this order: * alpha (if scaled), + bias[n], accumulate (old c + ...).
// a[m,k] (or [k,m] transposed), b[k,n] (or [n,k] transposed), c[m,n], all float32 or all float64. A 1-D a[k] gives c[n]; a
// 1-D b[k] gives c[m] (not both: that is sb_dot); transposing a vector changes nothing. A batch has one more axis in front:
// a[b,m,k], b[b,k,n] (or b[k,n], the same for all), c[b,m,n]; each matrix has the bits it has alone. c (and bias) may be
// float64 where a and b are float32: the float64 product of the widened data (gemm_wide). Where b is a itself and one of
// the two is transposed, half the work is saved. c must hold the old value when accumulate is set.
typedef struct sb_gemm_options {
    size_t size;
    int transpose_a, transpose_b;
    int scaled;     // 0: no scaling, alpha unused
    double alpha;   // rounded to the type of c first
    int accumulate;
} sb_gemm_options;
SB_API sb_status sb_gemm(sb_context *ctx, const sb_gemm_options *options, const sb_array *a, const sb_array *b,
                         const sb_array *bias, sb_array *c, sb_error *err); // options, bias may be NULL
SB_API sb_status sb_dot(sb_context *ctx, const sb_array *a, const sb_array *b, sb_array *out, sb_error *err); // T2; real a[n] b[n] out[]

// Reductions, T2, of real x over one axis (0 .. ndim-1, negative from the end) or over all (SB_ALL).
// out: the shape without that axis ([] for SB_ALL); x's dtype, int64 for SB_ARGMAX and SB_ARGMIN (position within the axis;
// over SB_ALL the row-major position). SB_NORM1 is S(|x|), SB_NORM2 the root of S(x x), SB_NORM_MAX the greatest |x|. An axis
// that x does not have: SB_ERR_ARGUMENT; nothing to reduce where there is an output: SB_ERR_EMPTY, but for SB_SUM, SB_NORM1
// and SB_NORM2, which are +0.
#define SB_ALL (-1000)
typedef enum sb_reduction {
    SB_SUM = 1, SB_MEAN, SB_MAX, SB_ARGMAX, SB_MIN, SB_ARGMIN, SB_NORM1, SB_NORM2, SB_NORM_MAX
} sb_reduction;
SB_API sb_status sb_reduce(sb_context *ctx, sb_reduction kind, int axis, const sb_array *x, sb_array *out, sb_error *err);
// Variance, and the standard deviation (its root), of the terms along an axis: S(d d) / (n - ddof) with d = RN64(x - mean).
// out as for sb_reduce; mean (float64, of out's shape, may be NULL): the binary64 mean. ddof in 0 .. n-1 (else
// SB_ERR_ARGUMENT); nothing: SB_ERR_EMPTY.
SB_API sb_status sb_variance(sb_context *ctx, int axis, int64_t ddof, const sb_array *x, sb_array *mean, sb_array *out, sb_error *err);
SB_API sb_status sb_deviation(sb_context *ctx, int axis, int64_t ddof, const sb_array *x, sb_array *mean, sb_array *out, sb_error *err);
SB_API sb_status sb_total(sb_context *ctx, const sb_array *x, double *out, sb_error *err);        // S(x) in binary64, x float32 or float64
SB_API sb_status sb_sum_squares(sb_context *ctx, const sb_array *x, double *out, sb_error *err);  // S(x*x) in binary64

// Real. Element by element, one rounding each; shapes broadcast as in numpy; out has the broadcast shape; out may be a or b
// (in place) if it has out's shape.
typedef enum sb_binary_kind { SB_ADD = 1, SB_SUB, SB_MUL, SB_DIV, SB_MAXIMUM, SB_MINIMUM, SB_POW } sb_binary_kind; // SB_POW: a^b, T4
SB_API sb_status sb_binary(sb_context *ctx, sb_binary_kind kind, const sb_array *a, const sb_array *b, sb_array *out, sb_error *err);
SB_API sb_status sb_scale(sb_context *ctx, const sb_array *x, double factor, sb_array *out, sb_error *err); // RN(x * factor); in place allowed

// Functions, T4: of float32 correctly rounded, of float64 written sequences (docs/functions.md); out has x's shape and
// type; in place allowed. SB_SILU_GRAD is the derivative of silu itself.
// SB_INVERSE_NORMAL takes words (not in place), T11: the z for which the normal distribution is (x + 1/2) / 2^32, x uint32
// and z float32, or ((x >> 11) + 1/2) / 2^53, x uint64 and z float64.
typedef enum sb_unary_kind {
    SB_EXP = 1, SB_LOG, SB_SIN, SB_COS, SB_RSQRT, SB_SIGMOID, SB_SILU, SB_SILU_GRAD, SB_SQRT, SB_NEG, SB_ABS,
    SB_INVERSE_NORMAL, SB_TANH, SB_EXPM1, SB_LOG1P, SB_EXP2, SB_LOG2, SB_LOG10, SB_ERF, SB_ERFC,
    SB_SOFTPLUS, SB_LOG_SIGMOID, SB_GELU, SB_GELU_TANH, SB_GELU_GRAD, SB_GELU_TANH_GRAD
} sb_unary_kind;
SB_API sb_status sb_unary(sb_context *ctx, sb_unary_kind kind, const sb_array *x, sb_array *out, sb_error *err);

// Real. y = RN(silu(gate) * up). Backward: dup = RN(dy * silu(gate)); dgate = RN(RN(dy * up) * silu'(gate)).
// dgate, dup may be gate, up (in place).
SB_API sb_status sb_swiglu(sb_context *ctx, const sb_array *gate, const sb_array *up, sb_array *y, sb_error *err);
SB_API sb_status sb_swiglu_backward(sb_context *ctx, const sb_array *gate, const sb_array *up, const sb_array *dy,
                                    sb_array *dgate, sb_array *dup, sb_error *err);

// Real, T5, over the last axis. x, y[..., n]. Backward: y as the forward wrote it, dy and dx of its shape; dx may be dy.
SB_API sb_status sb_softmax(sb_context *ctx, const sb_array *x, sb_array *y, sb_error *err);
SB_API sb_status sb_log_softmax(sb_context *ctx, const sb_array *x, sb_array *y, sb_error *err);
SB_API sb_status sb_softmax_backward(sb_context *ctx, const sb_array *y, const sb_array *dy, sb_array *dx, sb_error *err);
SB_API sb_status sb_log_softmax_backward(sb_context *ctx, const sb_array *y, const sb_array *dy, sb_array *dx, sb_error *err);

// Cross-entropy, T5. Real logits[n, v]; targets[n] int32 or int64 in 0..v-1, or the ignored one: not counted (loss 0,
// gradient 0), else SB_ERR_ARGUMENT; weights[v] of the classes (of the logits' dtype) or NULL; options may be NULL.
// loss float64: [n], or [] if it is summed; the mean divides by the sum of the weights of the targets counted.
typedef enum sb_loss_reduction { SB_LOSS_EACH, SB_LOSS_SUM, SB_LOSS_MEAN } sb_loss_reduction;
typedef struct sb_cross_entropy_options {
    size_t size;
    sb_loss_reduction reduction;
    int ignores;            // 0: the target -1 is not counted; 1: ignore_index instead
    int64_t ignore_index;
    double label_smoothing; // in [0, 1], else SB_ERR_ARGUMENT
} sb_cross_entropy_options;
SB_API sb_status sb_cross_entropy(sb_context *ctx, const sb_cross_entropy_options *options, const sb_array *logits,
                                  const sb_array *targets, const sb_array *weights, sb_array *loss, sb_error *err);
// dlogits[n, v]: the gradient of scale times the loss (scale times each loss, where they are not summed). dlogits may be
// logits (in place). Plain: RN(RN64(RN64(RN64(e r) - [j = t]) * scale)).
SB_API sb_status sb_cross_entropy_backward(sb_context *ctx, const sb_cross_entropy_options *options, const sb_array *logits,
                                           const sb_array *targets, const sb_array *weights, double scale,
                                           sb_array *dlogits, sb_error *err);

// Real, T7. x, y[n, d], weight[d] and bias[d] or NULL; mean[n] and r[n] float64 (kept for backward) or NULL; eps > 0 and
// finite (else SB_ERR_ARGUMENT). d = 0 with n > 0: SB_ERR_EMPTY.
SB_API sb_status sb_rms_norm(sb_context *ctx, const sb_array *x, const sb_array *weight, double eps, sb_array *y, sb_array *r, sb_error *err);
SB_API sb_status sb_layer_norm(sb_context *ctx, const sb_array *x, const sb_array *weight, const sb_array *bias, double eps,
                               sb_array *y, sb_array *mean, sb_array *r, sb_error *err);
// dx[n, d]; dweight[d] (or NULL) = RN(S(dy t over rows)), dbias[d] (or NULL) = RN(S(dy over rows)).
SB_API sb_status sb_rms_norm_backward(sb_context *ctx, const sb_array *x, const sb_array *weight, const sb_array *r,
                                      const sb_array *dy, sb_array *dx, sb_array *dweight, sb_error *err);
SB_API sb_status sb_layer_norm_backward(sb_context *ctx, const sb_array *x, const sb_array *weight, const sb_array *mean,
                                        const sb_array *r, const sb_array *dy, sb_array *dx, sb_array *dweight,
                                        sb_array *dbias, sb_error *err);

// Rotary embedding (pairs i, i + d/2, as Hugging Face's Llama). Tables cos, sin[p, d/2] for positions 0 .. p-1:
// frequency_i = RN of the real theta^(-2i/d); angle = RN(position * frequency); cos, sin of T4. Real, tables and x alike.
// theta at least 1 and below 2^128 (else SB_ERR_ARGUMENT); p at most 2^29, d/2 at most 2^20 (else SB_ERR_SIZE).
SB_API sb_status sb_rotary_table(sb_context *ctx, double theta, sb_array *cos_table, sb_array *sin_table, sb_error *err);
// x, y[b, t, h, d], d even; row t has position first + t, first >= 0, which the tables must cover. y may be x (in place).
//   y_i = RN(RN(x_i c) - RN(x_j s)), y_j = RN(RN(x_j c) + RN(x_i s)), j = i + d/2; inverse: s negated.
SB_API sb_status sb_rotary(sb_context *ctx, const sb_array *x, const sb_array *cos_table, const sb_array *sin_table,
                           int64_t first, int inverse, sb_array *y, sb_error *err);

// Attention, T6. q, y[b, t, h, d]; k, v[b, s, g, d] with h a multiple of g (head i reads group i / (h/g)).
// Query row i has position first + i; keys 0 .. keys-1 are present (keys <= s: the rest of a cache is not read);
// causal: key <= query position; window: key > query position - window; the first `prefix` keys are seen whatever the
// two say. A key whose mask is 0 is absent for every query of its batch, and so is its value. A query that sees no key
// gives zeros. Heads have 1 to 256 channels (more: SB_ERR_UNSUPPORTED).
typedef struct sb_attention_options {
    size_t size;
    int causal;
    int64_t first; // 0 .. 2^62, else SB_ERR_ARGUMENT
    int64_t keys;  // 0: s; beyond s: SB_ERR_ARGUMENT
    double scale;  // 0: RN(RN64(1/sqrt(d))); not finite: SB_ERR_NONFINITE
    int64_t window; // 0: none; below 0: SB_ERR_ARGUMENT
    int64_t prefix; // below 0: SB_ERR_ARGUMENT
    const sb_array *mask; // uint8[b, s], 0: absent; NULL: all are there
} sb_attention_options;
// maximum[b, t, h] of the type of q and total[b, t, h] float64 (M and L of T6), kept for backward; both may be NULL.
SB_API sb_status sb_attention(sb_context *ctx, const sb_attention_options *options, const sb_array *q, const sb_array *k,
                              const sb_array *v, sb_array *y, sb_array *maximum, sb_array *total, sb_error *err);
// From y, maximum and total as sb_attention wrote them: dq of q's shape, dk and dv of k's.
SB_API sb_status sb_attention_backward(sb_context *ctx, const sb_attention_options *options, const sb_array *q,
                                       const sb_array *k, const sb_array *v, const sb_array *y, const sb_array *maximum,
                                       const sb_array *total, const sb_array *dy, sb_array *dq, sb_array *dk,
                                       sb_array *dv, sb_error *err);

// Rows by their number. Indices are int32 or int64; one out of range is SB_ERR_ARGUMENT, before anything is written.
// gather: x[v, ...] of any dtype, indices[...], out[indices' shape, ...]: out[j, :] = x[indices[j], :], bits kept.
// take_along: x[..., n], indices[..., k], out[..., k]: out[..., j] = x[..., indices[..., j]].
// scatter: source[indices' shape, ...] into out[v, ...]: out[indices[j], :] = source[j, :], of equal indices the last j; other
// rows stay.
// scatter_add: float32, float64 or int64: row r of out = the sum of the rows of source whose index is r, RN(S) in
// ascending order (T2 segments; rows never named are +0), int64 modulo 2^64; with `accumulate` added to the old value.
SB_API sb_status sb_gather(sb_context *ctx, const sb_array *x, const sb_array *indices, sb_array *out, sb_error *err);
SB_API sb_status sb_take_along(sb_context *ctx, const sb_array *x, const sb_array *indices, sb_array *out, sb_error *err);
SB_API sb_status sb_scatter(sb_context *ctx, const sb_array *indices, const sb_array *source, sb_array *out, sb_error *err);
SB_API sb_status sb_scatter_add(sb_context *ctx, const sb_array *indices, const sb_array *source, int accumulate,
                                sb_array *out, sb_error *err);
// The same by other names: a gather from table[v, d] by ids[n], out[n, d]; a scatter_add of real dout[n, d] into dtable[v, d].
SB_API sb_status sb_embedding(sb_context *ctx, const sb_array *table, const sb_array *ids, sb_array *out, sb_error *err);
SB_API sb_status sb_embedding_backward(sb_context *ctx, const sb_array *ids, const sb_array *dout, int accumulate,
                                       sb_array *dtable, sb_error *err);

// Running sums over the last axis, T2: x, y[..., n] float32, float64 (one rounding of a binary64 value), int32 or int64
// (modulo 2^32, 2^64). exclusive: without the element itself; reverse: from the end. y may be x (in place).
SB_API sb_status sb_scan(sb_context *ctx, const sb_array *x, int exclusive, int reverse, sb_array *y, sb_error *err);

// Histogram, T9: codes[n] or codes[n, features], uint8 or int32, in 0 .. bins-1 (else SB_ERR_ARGUMENT, before anything is
// written); weights[n] int32 or int64, or NULL: 1 each; counts[bins] or counts[features, bins] int64: the sums of the weights
// of the rows that hold a code, modulo 2^64.
SB_API sb_status sb_histogram(sb_context *ctx, const sb_array *codes, const sb_array *weights, sb_array *counts, sb_error *err);

// Stable sort over the last axis (T1): NaN last in either direction, -0 = +0. x of any dtype;
// indices int64 of x's shape, or values of x's shape and dtype (bits kept).
SB_API sb_status sb_argsort(sb_context *ctx, const sb_array *x, int descending, sb_array *indices, sb_error *err);
SB_API sb_status sb_sort(sb_context *ctx, const sb_array *x, int descending, sb_array *values, sb_error *err);
// The first k in that order, descending if `largest`: x[..., n], values[..., k] of x's dtype, indices[..., k] int64; either
// may be NULL. So a NaN comes only where no number is left, the lowest index first on a tie. k outside 0 .. n:
// SB_ERR_ARGUMENT.
SB_API sb_status sb_top_k(sb_context *ctx, const sb_array *x, int64_t k, int largest, sb_array *values, sb_array *indices, sb_error *err);
// The distinct values of x[n], ascending, in values[0 .. *number - 1] (the rest is 0): -0 = +0, all NaN are one, the last;
// each with the bits of its first element in x. inverse[n] int64: values[inverse[i]] is x[i]; counts[n] int64: how often
// (the rest is 0). inverse, counts may be NULL.
SB_API sb_status sb_unique(sb_context *ctx, const sb_array *x, sb_array *values, sb_array *inverse, sb_array *counts,
                           int64_t *number, sb_error *err);

// Random numbers, T11: draws start .. start + size(out) - 1 of a stream. start < 0: SB_ERR_ARGUMENT; draws beyond 2^63 - 1:
// SB_ERR_SIZE.
SB_API sb_status sb_random_bits(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t start, sb_array *out, sb_error *err);   // uint32 or uint64
SB_API sb_status sb_random_uniform(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t start, sb_array *out, sb_error *err); // float32 or float64
SB_API sb_status sb_random_normal(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t start, sb_array *out, sb_error *err);  // float32 or float64
SB_API sb_status sb_random_integers(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t start, int64_t n, sb_array *out, sb_error *err); // int64 or int32 in [0, n), n at least 1 (int32: at most 2^31)
SB_API sb_status sb_random_permutation(sb_context *ctx, uint64_t seed, uint64_t stream, sb_array *out, sb_error *err);           // int64[n]
SB_API sb_status sb_random_choice(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t n, sb_array *out, sb_error *err); // int64[k]: the first k of the permutation of n; n below k: SB_ERR_ARGUMENT
// Dropout, T11: real x, y of one shape. Element i takes 32-bit draw start + i of the stream: it becomes RN(x RN(1/(1 - p))), or +0
// with probability p in [0, 1) (else SB_ERR_ARGUMENT). A part of a batch, from the number of its first element on, has the bits
// of the whole; the backward pass is the same call on dy. y may be x (in place).
SB_API sb_status sb_dropout(sb_context *ctx, const sb_array *x, double p, uint64_t seed, uint64_t stream, int64_t start,
                            sb_array *y, sb_error *err);

// Global-norm clip, T8: norm = sqrt(S over the arrays of S(g g)); each g = RN(g * factor). Real, all alike. In place.
// max_norm > 0 (else SB_ERR_ARGUMENT). A norm that is not finite (an infinity or NaN in an array): SB_ERR_NONFINITE, nothing
// changed.
SB_API sb_status sb_clip_norm(sb_context *ctx, int64_t count, sb_array *const *grads, double max_norm, double *norm, sb_error *err);

// AdamW, T8, one array: real g, p, m, v of one shape; p, m, v in place. beta1_power, beta2_power: b1t, b2t, already
// multiplied for this step (by the betas as they are rounded to the type of the data). Rounded betas and their powers are in
// [0, 1), the others at least 0 and finite (else SB_ERR_ARGUMENT).
typedef struct sb_adamw_options {
    size_t size;
    double learning_rate, beta1, beta2, eps, weight_decay;
    double beta1_power, beta2_power;
} sb_adamw_options;
SB_API sb_status sb_adamw(sb_context *ctx, const sb_adamw_options *options, const sb_array *g, sb_array *p, sb_array *m,
                          sb_array *v, sb_error *err);
// Adam, T8: the options of AdamW; weight_decay * p is added to the gradient instead.
SB_API sb_status sb_adam(sb_context *ctx, const sb_adamw_options *options, const sb_array *g, sb_array *p, sb_array *m,
                         sb_array *v, sb_error *err);

// SGD with momentum, T8 (PyTorch's rule), one array: real g, p, m of one shape; p, m in place. m is not read or written
// without momentum and may then be NULL (else SB_ERR_ARGUMENT). Numbers are at least 0 and finite; nesterov needs momentum and
// no dampening (else SB_ERR_ARGUMENT).
typedef struct sb_sgd_options {
    size_t size;
    double learning_rate, momentum, dampening, weight_decay;
    int nesterov;
    int first; // the first step: m becomes the gradient, undampened; its old content is not read
} sb_sgd_options;
SB_API sb_status sb_sgd(sb_context *ctx, const sb_sgd_options *options, const sb_array *g, sb_array *p, sb_array *m,
                        sb_error *err);

// ---------------------------------------------------------------- linear algebra (T12)
//
// Real, the type of the data inside products, binary64 in panels. An infinity or NaN in what is read: SB_ERR_NONFINITE, naming
// the place. The same bits for any number of threads.

// l[n, n] = the lower triangular factor of a[n, n] = l l^T, with a positive diagonal and zeros above it. The lower triangle
// of a is read. l may be a (in place). Not positive definite: SB_ERR_SINGULAR, naming the row of the first pivot that is not
// positive.
SB_API sb_status sb_cholesky(sb_context *ctx, const sb_array *a, sb_array *l, sb_error *err);

// w[n] ascending and v[n, n] (NULL: eigenvalues alone, the same bits): a[n, n] v = v diag(w), a symmetric; its lower triangle is
// read. Column i of v is of length 1; its entry of largest magnitude, the first on a tie, is positive. In binary64, rounded once.
SB_API sb_status sb_eigh(sb_context *ctx, const sb_array *a, sb_array *w, sb_array *v, sb_error *err);

// a[m, n] = q r with k = min(m, n): q[m, k] (NULL: r alone, the same bits) of orthonormal columns, r[k, n] upper triangular with a
// diagonal that is not negative.
SB_API sb_status sb_qr(sb_context *ctx, const sb_array *a, sb_array *q, sb_array *r, sb_error *err);
// Row i of l u is row rows[i] of a[n, n]; lu[n, n] holds u, and below its diagonal the unit triangle l; rows int64[n]. Partial
// pivoting; a singular matrix has a 0 on u's diagonal.
SB_API sb_status sb_lu(sb_context *ctx, const sb_array *a, sb_array *lu, sb_array *rows, sb_error *err);
// a[m, n] = u diag(s) vt with k = min(m, n): u[m, k], s[k] descending, vt[k, n]; u and vt may each be NULL (the same bits for the
// others). A row of vt has its entry of largest magnitude, the first on a tie, positive.
SB_API sb_status sb_svd(sb_context *ctx, const sb_array *a, sb_array *u, sb_array *s, sb_array *vt, sb_error *err);
// The x[n, r] (or [n]) of least length among those that make |a x - b| least, a[m, n] of any rank, b[m, r] (or [m]). Singular values
// that are not above rcond times the largest count as 0; rcond in [0, 1) (else SB_ERR_ARGUMENT), 0: the type's epsilon times
// max(m, n). s[min(m, n)], the singular values, and rank may be NULL.
SB_API sb_status sb_lstsq(sb_context *ctx, const sb_array *a, const sb_array *b, double rcond, sb_array *x, sb_array *s, int64_t *rank, sb_error *err);

// x[n, r] or x[n], of b's shape, with op(a) x = b. x may be b (in place). options may be NULL: a general matrix.
typedef enum sb_matrix_kind {
    SB_GENERAL,           // by sb_lu. A pivot of 0: SB_ERR_SINGULAR
    SB_POSITIVE_DEFINITE, // by sb_cholesky; the lower triangle is read
    SB_LOWER, SB_UPPER    // triangular: the other triangle is not read. A zero on the diagonal: SB_ERR_SINGULAR
} sb_matrix_kind;
typedef struct sb_solve_options {
    size_t size;
    sb_matrix_kind kind;
    int transpose;     // op(a) is the transpose
    int unit_diagonal; // triangular: the diagonal is taken as 1 and not read
} sb_solve_options;
SB_API sb_status sb_solve(sb_context *ctx, const sb_solve_options *options, const sb_array *a, const sb_array *b, sb_array *x,
                          sb_error *err);

// ---------------------------------------------------------------- digests (T10)

// SHA-256 of bytes, and the tree digest of a set of named arrays, each 32 bytes.
SB_API void sb_sha256(const void *data, size_t bytes, uint8_t out[32]);
SB_API sb_status sb_digest_arrays(sb_context *ctx, int64_t count, const char *const *names, const sb_array *const *arrays,
                                  uint8_t out[32], sb_error *err); // sorted by name here; a name twice: SB_ERR_ARGUMENT

// ---------------------------------------------------------------- proof: verify, compare, selftest, doctor

// What each of the four gives: lines for people, one JSON document for machines, a verdict. Freed by the caller.
typedef struct sb_report sb_report;
SB_API const char *sb_report_text(const sb_report *report); // lines, each ended by a newline
SB_API const char *sb_report_json(const sb_report *report); // verify: the evidence document (docs/evidence.md)
SB_API int sb_report_verdict(const sb_report *report);      // see each; 0 is the good one
SB_API sb_status sb_report_write(const sb_report *report, const char *path, sb_error *err); // the JSON, at once or not at all (SB_ERR_IO)
SB_API sb_status sb_report_write_page(const sb_report *report, const char *path, sb_error *err); // a page of HTML, of a replay alone (else SB_ERR_STATE)
SB_API void sb_report_free(sb_report *report); // NULL is fine

// Runs lanes (one operation or model each) over hostile fixtures, whole, in halves and row by row, and compares the
// SHA-256 of every output, a cell, with golden values. A cell is
//   IDENTICAL  equal to its reference, and equal in every split
//   DIVERGENT  different from its reference, or between two splits
//   REFUSED    not computed: the device or the operation refused by a named error
//   ABSENT     computed without a reference, or referenced and not computed
//   COMPUTED   with a seed of one's own there are no references: compare two documents
// Verdict: 0 everything asked for ran and was IDENTICAL (with a seed: COMPUTED); 1 something DIVERGENT; 3 something
// REFUSED or ABSENT, or nothing ran. A tier that does not exist, no references, an empty list of lanes or a name in it that
// no lane has: SB_ERR_ARGUMENT; references that are no table of golden values: SB_ERR_FORMAT.
typedef enum sb_tier { SB_TIER_DEFAULT, SB_TIER_QUICK, SB_TIER_TRAINING, SB_TIER_ALL } sb_tier;
typedef struct sb_verify_options {
    size_t size;
    sb_tier tier;           // default: all but training; quick: a lane of each kind; training: only these
    const char *lanes;      // "gemm_nn,softmax": these, whatever the tier; NULL: by the tier
    const char *references; // the text of references/contract-1.tsv
    size_t references_size;
    uint64_t seed;          // 0: the golden fixtures; else fixtures drawn from this number
    const char *date;       // written into the document; NULL: none
    void (*progress)(void *user, const char *lane, int64_t done, int64_t total); // before each lane; may be NULL
    void *user;
} sb_verify_options;
SB_API int64_t sb_lane_count(void);
SB_API const char *sb_lane_name(int64_t index);   // NULL beyond the last
SB_API const char *sb_lane_kind(int64_t index);   // "product" "sum" "function" ...
SB_API int sb_lane_in_tier(int64_t index, sb_tier tier);
SB_API sb_status sb_verify(sb_context *ctx, const sb_verify_options *options, sb_report **out, sb_error *err);

// Compares evidence documents, needing nothing else. Verdict: 0 AGREE, 1 DIFFER, 3 INCOMPARABLE, 4 SAME FILE.
// Nothing in common is INCOMPARABLE, one document given twice is SAME FILE; neither is agreement. A NULL among the paths or
// fewer than two: SB_ERR_ARGUMENT; a path that is no file or cannot be read: SB_ERR_IO; one that is no evidence document,
// or holds a cell twice: SB_ERR_FORMAT.
SB_API sb_status sb_compare(int count, const char *const *paths, sb_report **out, sb_error *err); // count at least 2

// Compares two traces (docs/trace.md) and names the first operation that differs, with the hashes of its inputs. Verdict:
// 0 SAME; 1 DIFFERENT; 3 INCOMPARABLE: one ends before the other and all before is the same, no operation in
// either, or another contract. A file that cannot be read: SB_ERR_IO; one that is no trace: SB_ERR_FORMAT.
SB_API sb_status sb_trace_compare(const char *a, const char *b, sb_report **out, sb_error *err);

// Proves that verify can fail: each lane, untouched, must read IDENTICAL, and DIVERGENT once one input is moved by one
// ulp (a lane without a float input: an index or a seed by one). Uses lanes, references, progress of the options, and refuses
// what sb_verify refuses. Verdict: 0 both in every lane, 1 not, 3 a lane without references, or none at all.
SB_API sb_status sb_selftest(sb_context *ctx, const sb_verify_options *options, sb_report **out, sb_error *err);

// Looks at this machine: levels, threads, the compiler's work at run time, the caller's floating-point environment, and
// what each level computes on hostile operands against exact integer arithmetic. Verdict: 0 all conforms, 1 not.
SB_API sb_status sb_doctor(sb_report **out, sb_error *err);

// What this library is and can do, found by asking it: every lane runs once on its smallest fixture, and what is seen is
// written down: the operations with the dtypes they take and the lanes that prove them, what is refused and by which error,
// the functions, and of those that stand in `proofs` (the text of docs/proofs.tsv; NULL: none) the proof. Another text than
// rows of that table, comments and empty lines is SB_ERR_FORMAT. Verdict: 0.
SB_API sb_status sb_describe(sb_context *ctx, const char *proofs, size_t proofs_size, sb_report **out, sb_error *err);

// ---------------------------------------------------------------- digests of files

// SHA-256 of the bytes of a file, and for a safetensors file the tree digest (T10) of its arrays (*arrays: how many, -1
// if it is none). A file that cannot be read: SB_ERR_IO.
SB_API sb_status sb_digest_file(const char *path, uint8_t bytes[32], uint8_t tree[32], int64_t *arrays, sb_error *err);

// ---------------------------------------------------------------- estimators

// An estimator is a model: the name of an algorithm, its parameters, and once fitted named arrays. `samebits describe --json`
// lists the algorithms with all of their parameters, arrays and methods; names are scikit-learn's, docs/estimators.md has a
// page each. Values depend on the data, the parameters and the seed alone. A model that is fitted may be used from several
// threads at once, each with a context of its own.
typedef struct sb_model sb_model;

// What a method is given. x is real [n, d] with n and d at least 1 (else SB_ERR_EMPTY), finite unless the algorithm takes NaN
// (else SB_ERR_NONFINITE); its type is the type of the data. A call on another number of features than the fit: SB_ERR_SHAPE.
typedef struct sb_data {
    size_t size;
    const sb_array *x;       // or, with indptr, the values [count] of a CSR matrix (else SB_ERR_UNSUPPORTED where none is taken)
    const sb_array *y;       // fit and score: real [n] or [n, t]; of a classifier int64 [n], numbers of classes from 0
    const sb_array *weights; // fit and score: float64 [n], or NULL: 1 each
    int (*progress)(void *user, int64_t done, int64_t total); // of a long fit; not 0: stop, SB_ERR_INTERRUPTED; may be NULL
    void *user;
    // CSR: the values of row i are x[indptr[i]] .. x[indptr[i + 1] - 1], in the columns that indices[...] name, each once; both
    // int32 or int64. Results have the bits of the dense matrix. Else SB_ERR_ARGUMENT.
    const sb_array *indptr, *indices; // [n + 1], [count]; NULL: x is dense
    int64_t columns;                  // d
    // fit of a classifier: the names of its classes, a JSON array of words ("[\"no\", \"yes\"]", ascending by their bytes), of whole numbers,
    // or of false and true; they become the model's note "classes". NULL: numbers from 0, as many as y has; of a partial_fit that goes
    // on those that are there. Names that are not in order or other ones than before, a y beyond them: SB_ERR_ARGUMENT.
    const char *classes;
    int64_t rows; // of the result of a method that takes no x (sample), at least 1, else SB_ERR_ARGUMENT
    const char *settings; // not fit: "n_neighbors=3 radius=0.5", parameters that have another value in this call alone; may be NULL
} sb_data;

SB_API int64_t sb_algorithm_count(void);
SB_API const char *sb_algorithm_name(int64_t index); // "kmeans"; NULL beyond the last
SB_API int sb_algorithm_takes(const char *algorithm, const char *word); // 1 where `input` in its row has the word: "classes" "weights" ...

// A model with default parameters. No such algorithm: SB_ERR_ARGUMENT.
SB_API sb_status sb_model_new(sb_context *ctx, const char *algorithm, sb_model **out, sb_error *err);
SB_API void sb_model_free(sb_model *model); // NULL is fine
SB_API const char *sb_model_algorithm(const sb_model *model);
// A parameter from text: "8" "0.5" "true" "none" "k-means++". One the algorithm does not have, or a value it does not take:
// SB_ERR_ARGUMENT, and the message says what is expected. A model that is fitted keeps its parameters: SB_ERR_STATE.
SB_API sb_status sb_model_set(sb_model *model, const char *parameter, const char *text, sb_error *err);
// One that is an array of numbers (centres to start from); a copy in float64 is kept.
SB_API sb_status sb_model_set_array(sb_context *ctx, sb_model *model, const char *parameter, const sb_array *value, sb_error *err);
// Words of the caller's own that the model carries in its file: names of features, of classes. text NULL takes a note away.
// Both in UTF-8, else SB_ERR_ARGUMENT.
SB_API sb_status sb_model_set_note(sb_model *model, const char *key, const char *text, sb_error *err);
SB_API const char *sb_model_note(const sb_model *model, const char *key); // NULL if there is none

// method: "fit", or "partial_fit" where the algorithm has it, which goes on from what is there. After an error the model is
// not fitted, unless the data were refused at once.
SB_API sb_status sb_model_fit(sb_context *ctx, sb_model *model, const char *method, const sb_data *data, sb_error *err);
// A fit that was made elsewhere: arrays by the names of the algorithm's rows, numbers rounded to the row's type, and the sizes that
// their shapes are written in. What the rows or the algorithm's own check refuse (a missing array, another shape, no finite number
// where one must be): SB_ERR_ARGUMENT. What partial_fit goes on from may be left out where the row says so. A fitted model: SB_ERR_STATE.
typedef struct sb_fitted {
    size_t size;
    sb_dtype dtype;   // of the data it was fitted on: float32 or float64
    int size_count;
    const char *const *size_names; // "n" (rows; 1 if it is not known), "d" (features), and what else the rows name; -1: no such axis
    const int64_t *sizes;
    int array_count;
    const char *const *array_names;
    const sb_array *const *arrays;
    const char *classes; // of a classifier: the names of its classes, as in sb_data; they give the size "c"
} sb_fitted;
SB_API sb_status sb_model_take(sb_context *ctx, sb_model *model, const sb_fitted *fitted, sb_error *err);
// The other methods: "predict" "transform" "score" ...; a new array, of the type of x where the algorithm's row says "data". Each
// row of a result has the bits it has alone. A model that is not fitted: SB_ERR_STATE.
SB_API sb_status sb_model_call(sb_context *ctx, const sb_model *model, const char *method, const sb_data *data, sb_array **out, sb_error *err);
// A method that has several results ("kneighbors": distances, indices; docs/estimators.md): the first `count` of them, at most as
// many as it has, into out[count]. Where the algorithm's row says "itself", x may be NULL: the rows of the fit, each without itself.
SB_API sb_status sb_model_call_many(sb_context *ctx, const sb_model *model, const char *method, const sb_data *data, int count, sb_array **out, sb_error *err);
SB_API int sb_model_fitted(const sb_model *model);             // 1 or 0
SB_API int64_t sb_model_features(const sb_model *model);       // d of the fit; -1: not fitted
SB_API const char *sb_model_warnings(const sb_model *model);   // "ConvergenceWarning: ...\n" a line each, "" if none
SB_API int64_t sb_model_array_count(const sb_model *model);    // of those that are there
SB_API const char *sb_model_array_name(const sb_model *model, int64_t index); // NULL beyond the last
SB_API const sb_array *sb_model_array(const sb_model *model, const char *name); // the model's own; NULL if absent

// A model's file is a safetensors file: the same model gives the same bytes on any machine. Loading checks everything: what is
// not right is SB_ERR_FORMAT, an algorithm this release does not have SB_ERR_UNSUPPORTED.
SB_API sb_status sb_model_save(const sb_model *model, const char *path, sb_error *err);
SB_API sb_status sb_model_load(sb_context *ctx, const char *path, sb_model **out, sb_error *err);
// The same bytes in memory: *size of them, written to `to` unless it is NULL; a capacity below that: SB_ERR_SIZE.
SB_API sb_status sb_model_store(const sb_model *model, void *to, int64_t capacity, int64_t *size, sb_error *err);
SB_API sb_status sb_model_restore(sb_context *ctx, const void *bytes, int64_t size, sb_model **out, sb_error *err);
// The digest of algorithm, parameters, arrays and notes (docs/estimators.md); the release is not in it.
SB_API sb_status sb_model_digest(sb_context *ctx, const sb_model *model, uint8_t out[32], sb_error *err);

// A table from a file: npy by its first bytes (booleans, integers, floats); npz likewise, FILE.npz:NAME where it holds more than one
// array; .svmlight, .libsvm and .svm by their ending (rows of a target and INDEX:VALUE, indices from 1, or from 0 where one is 0; the table
// is dense); else csv (RFC 4180; a first line of names is a header; nothing, NA, nan ... is NaN). The array is float32 where `dtype` is
// SB_F32 or, with dtype 0, where an npy file's is; else float64: npy of any shape, others [rows, columns]. A field that is no number:
// SB_ERR_FORMAT naming line and column.
typedef struct sb_table sb_table;
SB_API sb_status sb_table_read(sb_context *ctx, const char *path, sb_dtype dtype, sb_table **out, sb_error *err);
SB_API void sb_table_free(sb_table *table); // NULL is fine
SB_API const sb_array *sb_table_array(const sb_table *table);                // the table's own
SB_API sb_table *sb_table_target(const sb_table *table); // of svmlight the targets, a table of one column that is the table's own; else NULL
// Columns of zeros at the end of a table of svmlight, whose rows name only what is not 0, up to `columns`; another table: SB_ERR_ARGUMENT.
SB_API sb_status sb_table_widen(sb_context *ctx, sb_table *table, int64_t columns, sb_error *err);
SB_API const char *sb_table_name(const sb_table *table, int64_t column);     // of the header; NULL where there is none
// The same, where a csv column (by its name or its number from 0; NULL: any of them) may hold words. One that does holds the place
// of each word among its words, ascending by their bytes, or NaN where nothing stands; sb_table_word says which: NULL beyond the
// last, and for a column of numbers. Words are UTF-8 without NULs, else SB_ERR_FORMAT; a table of nothing but words begins with a header.
SB_API sb_status sb_table_read_words(sb_context *ctx, const char *path, sb_dtype dtype, const char *column, sb_table **out, sb_error *err);
SB_API const char *sb_table_word(const sb_table *table, int64_t column, int64_t number);
// The labels that stand in a column (NULL: the only one) as numbers of classes, y[n] int64. With `classes`, as in sb_data: the place
// of each among them, and as many as there are for one that is not among them. With NULL the classes are the column's distinct
// labels, and names (the table's own; may be NULL) says them. One that is missing: SB_ERR_NONFINITE; no whole number: SB_ERR_ARGUMENT.
SB_API sb_status sb_table_labels(sb_context *ctx, sb_table *table, const char *column, const char *classes, sb_array **y, const char **names, sb_error *err);
// Numbers of classes into a file by their names: words into csv under a header (else SB_ERR_UNSUPPORTED), numbers as sb_array_save does. A number
// that is no class: SB_ERR_ARGUMENT.
SB_API sb_status sb_labels_save(sb_context *ctx, const sb_array *numbers, const char *classes, const char *path, sb_error *err);
// One column, by its name or its number from 0, as picked[n], and the others. No such column: SB_ERR_ARGUMENT; words among the
// others: SB_ERR_FORMAT.
SB_API sb_status sb_table_split(sb_context *ctx, const sb_table *table, const char *column, sb_array **rest, sb_array **picked, sb_error *err);
// An array into a file, at once or not at all: csv where the path ends in .csv (decimals that read back the same), else npy.
SB_API sb_status sb_array_save(const sb_array *a, const char *path, sb_error *err);

// ---------------------------------------------------------------- recordings of what models gave

// A recording is one file (docs/replay.md) of models in their order, the input they were given and what they made of it, with the
// hashes of all three: whoever has it can compute it again, on any device, and say whether the same came out.
typedef struct sb_record_options {
    size_t size;
    const sb_model *const *models; // fitted; each but the last transforms what the next is given
    int model_count;               // 1 to 32
    const char *const *names;      // what the steps are called, at most 63 bytes each; NULL, or one of them: the algorithm's name
    const char *method;            // of the last model, which gives a row for each row of x: "predict" "predict_proba" "transform" ...
    const sb_data *data;           // x, or CSR, which is recorded as the dense matrix; y and weights are not looked at
    int hashes_only;               // 1: neither x nor the output is in the file; who replays it brings x
    int thresholded;               // 1: a row's decision is whether its last column is at least the threshold (real outputs)
    double threshold;
    const char *note;              // words of the caller's own; NULL: none
    const char *date;              // of the report, not of the file; NULL: none
} sb_record_options;
// Runs the models over data->x and writes the file, at once or not at all. The report says what was recorded; its JSON is an
// evidence document (docs/evidence.md) of COMPUTED cells. Verdict: 0. Refused as sb_model_call refuses.
SB_API sb_status sb_record(sb_context *ctx, const sb_record_options *options, const char *path, sb_report **out, sb_error *err);

typedef struct sb_replay_options {
    size_t size;
    const sb_data *data; // the input, needed where the file holds hashes only; another than was recorded: SB_ERR_ARGUMENT
    const char *date;    // of the report; NULL: none
} sb_replay_options;
// Computes a recording again. The report's text names each step, and the rows that differ, by how many units in the last place,
// and whether a decision flips; its JSON is an evidence document with a member "replay", so that sb_compare groups those of a fleet;
// it has a page. Verdict: 0 IDENTICAL; 1 DIFFERENT; 3 REFUSED, a step could not be computed here. options may be NULL. A file
// that is no recording or was changed: SB_ERR_FORMAT; one of another contract: SB_ERR_UNSUPPORTED.
SB_API sb_status sb_replay(sb_context *ctx, const char *path, const sb_replay_options *options, sb_report **out, sb_error *err);

// ---------------------------------------------------------------- metrics

// How good predictions are: scikit-learn's metrics by their names (docs/metrics.md has each with its settings and what it takes).
// Values depend on the data and the settings alone.
typedef struct sb_metric_data {
    size_t size;
    const sb_array *truth;      // [n]: whole numbers of classes or clusters from 0; of values real [n] or [n, t]; of silhouettes X, real [n, d]
    const sb_array *prediction; // the same; of values as truth; of scores real [n], of the class 1, or [n, c], of each class
    const sb_array *weights;    // float64 [n], not negative, not all 0; NULL: 1 each
    int64_t classes;            // how many classes there are; 0: one more than the greatest number
    const char *const *settings; // "average=macro" ...; what is not named has its default
    int64_t setting_count;
} sb_metric_data;

SB_API int64_t sb_metric_count(void);
SB_API const char *sb_metric_name(int64_t index); // "accuracy_score"; NULL beyond the last
SB_API int sb_metric_takes(const char *metric, const char *word); // 1 where its inputs in docs/metrics.md have the word: "classes" "scores" "values" "clusters" "points" "weights"
// *out is a new array, float64: one number, or [k] (a class each), [t] (a target each), [n], [k, k], as settings say. No such metric or
// setting, numbers that are no classes: SB_ERR_ARGUMENT; other shapes: SB_ERR_SHAPE; no rows: SB_ERR_EMPTY; NaN or infinity: SB_ERR_NONFINITE.
// What is not defined (a ROC curve of one class) is NaN.
SB_API sb_status sb_metric(sb_context *ctx, const char *metric, const sb_metric_data *data, sb_array **out, sb_error *err);

// ---------------------------------------------------------------- language models

// Training, evaluation and generation of Llama-shaped decoders on byte tokens, as `samebits lm` does them. docs/lm.md
// fixes the values: recipe, ledger, checkpoint, sampling. Whole runs depend on the recipe and the data alone: the ledger
// and every checkpoint are the same bytes for any device, level, thread count, number of processes and interruptions.

// What a run reports while it works. Return 0 from the listener to go on; anything else ends the run after the step
// under way, saves it and gives SB_ERR_INTERRUPTED.
typedef enum sb_lm_event_kind {
    SB_LM_STARTED = 1,  // step: the one the run starts after; text: the level that runs
    SB_LM_WORKER,       // worker, and text: its level
    SB_LM_STEP,         // step, loss, tokens_per_second, seconds_left
    SB_LM_EVALUATED,    // step, loss (nats), bits_per_byte of the held-out part
    SB_LM_SAVED,        // step; text: the file
    SB_LM_SABOTAGED,    // step; text: the tensor
    SB_LM_FINISHED      // step; text: the last checkpoint
} sb_lm_event_kind;
typedef struct sb_lm_event {
    sb_lm_event_kind kind;
    int worker;
    int64_t step, steps;
    double loss, bits_per_byte, tokens_per_second, seconds_left;
    const char *text; // valid during the call
} sb_lm_event;

// Another process that takes a range of a step's shards.
typedef struct sb_lm_worker {
    const char *isa; // NULL: the best there
    int threads;     // 0: the number of cores
    int64_t shards;  // 0: an even part of what the others leave
    const char *device; // NULL: SAMEBITS_DEVICE or "cpu"
} sb_lm_worker;

typedef struct sb_lm_run {
    size_t size;
    const char *recipe;  // a file; train only
    const char *data;    // the text; resume: NULL is the path that train was given
    const char *folder;  // made if absent: recipe.json, ledger.jsonl, step-NNNNNNNNN/model.safetensors (and config.json)
    int64_t until;       // save and stop after this step; 0: the recipe's last
    int worker_count;    // 0: this process does all shards, on its threads
    const sb_lm_worker *workers;
    const char *worker_command; // a program that `PROGRAM lm worker [--device D] [--isa L] --threads N [--trace F]` calls sb_lm_work with
    int64_t sabotage_step;      // test: one ulp added to one gradient element at this step; 0: never
    int (*listener)(void *user, const sb_lm_event *event); // may be NULL
    void *user;
} sb_lm_run;

// Starts a run in a folder that holds no checkpoint. A loss or gradient that is not finite: SB_ERR_NONFINITE naming step,
// shard and tensor; a worker that died, disagrees or cannot be started: SB_ERR_WORKER; either way the last good state is saved.
// Before anything is written: a recipe that is no JSON object: SB_ERR_FORMAT; a field of it that is missing, unknown or
// outside its range ("training.steps"), a text that is not the one it names by SHA-256 or too short for it ("data"), until
// outside 0 .. steps, more than 4,096 workers or 1,024 threads of one, shards that do not divide among them as asked:
// SB_ERR_ARGUMENT; a model or step whose size overflows: SB_ERR_SIZE; a file that cannot be read or
// a folder that cannot be made: SB_ERR_IO; one that holds a checkpoint, or in which another process works: SB_ERR_STATE.
// Later, a file that cannot be written: SB_ERR_IO.
SB_API sb_status sb_lm_train(sb_context *ctx, const sb_lm_run *run, sb_error *err);
// Goes on from the folder's newest checkpoint; ledger lines after it are cut and come again, the same. Refuses what
// sb_lm_train refuses, but the recipe is the checkpoint's; until before its step: SB_ERR_ARGUMENT. A folder that is not there:
// SB_ERR_IO; one without a checkpoint: SB_ERR_STATE; a damaged checkpoint ("checkpoint"), or a ledger whose chain of hashes
// does not hold or does not reach it ("ledger"): SB_ERR_FORMAT; a checkpoint of another contract: SB_ERR_UNSUPPORTED.
SB_API sb_status sb_lm_resume(sb_context *ctx, const sb_lm_run *run, sb_error *err);
// The worker's side of a shared step, over the socket that its starter left at descriptor 3. No starter there, one of
// another release, or one that went away: SB_ERR_WORKER.
SB_API sb_status sb_lm_work(sb_context *ctx, sb_error *err);

typedef struct sb_lm_evaluation {
    double loss;          // nats a byte
    double bits_per_byte; // RN64(loss * 0x1.71547652b82fep+0)
    int64_t bytes;        // predicted
} sb_lm_evaluation;
// A checkpoint (its file, its folder, or a run's folder: the newest in it) on the held-out part of its data, or, if whole is
// set, on all of any text. A file that is not there, or a folder without one: SB_ERR_IO; a damaged one, or none:
// SB_ERR_FORMAT; one of another contract: SB_ERR_UNSUPPORTED; another text than its own without whole, or one that holds no
// window of the recipe's length: SB_ERR_ARGUMENT.
SB_API sb_status sb_lm_evaluate(sb_context *ctx, const char *checkpoint, const char *data, int whole, sb_lm_evaluation *out, sb_error *err);

typedef struct sb_lm_generation {
    size_t size;
    const char *checkpoint; // as for sb_lm_evaluate
    const uint8_t *prompt; // at least one byte
    int64_t prompt_bytes;
    int64_t tokens;      // bytes to make; with the prompt at most 2^20
    double temperature;  // 0: greedy; else 1e-6 to 1e6
    int64_t top_k;       // 0: all
    double top_p;        // in (0, 1]; 0: 1
    uint64_t seed;
} sb_lm_generation;
// A number outside what stands above: SB_ERR_ARGUMENT, by its name; checkpoints are refused as by sb_lm_evaluate; logits
// that leave no byte to draw: SB_ERR_NONFINITE.
SB_API sb_status sb_lm_generate(sb_context *ctx, const sb_lm_generation *options, uint8_t *out, sb_error *err); // out[tokens]

typedef struct sb_lm_description {
    char name[64];
    int64_t parameters;
    int64_t steps;
    int64_t tokens_per_step;     // targets: shards * shard_sequences * sequence_length
    int64_t state_bytes;         // weights and two moments
    int64_t gradient_bytes;      // one set of gradients
    int64_t gradient_sets;       // of them that live at once on one thread
    int64_t activation_bytes;    // of one shard in flight: one a thread
    int64_t step_read_bytes;     // text read a step
    int64_t step_exchange_bytes; // a step shared by two processes: gradients up and down, each worker
    int64_t ledger_line_bytes, checkpoint_bytes;
} sb_lm_description;
// What a recipe asks of a machine, without a text and before anything is allocated for it. Recipes are refused as by
// sb_lm_train; sizes that overflow: SB_ERR_SIZE.
SB_API sb_status sb_lm_describe(sb_context *ctx, const char *recipe, sb_lm_description *out, sb_error *err);

// The nearest double of a decimal number, the whole text, in any locale: for options that reach bits. What is no number as
// JSON writes them, or has no finite double: SB_ERR_ARGUMENT.
SB_API sb_status sb_parse_real(const char *text, double *out, sb_error *err);

typedef struct sb_lm_difference {
    int64_t steps_a, steps_b; // in each ledger
    int equal;                // every line the same
    int64_t step;             // of the first difference
    char field[32];           // "rate" "losses[3]" "gradient" "state" "recipe" "end" (one ledger stops) ...
} sb_lm_difference;
// Both files must be ledgers whose chains of hashes hold and whose last lines end, else SB_ERR_FORMAT; one that cannot be
// read: SB_ERR_IO.
SB_API sb_status sb_lm_ledger_compare(const char *a, const char *b, sb_lm_difference *out, sb_error *err);

#ifdef __cplusplus
}
#endif
#endif
