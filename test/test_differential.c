// SPDX-License-Identifier: Apache-2.0
// Every operation on drawn shapes, options, types and hostile numbers (any bit pattern among them), on a drawn CPU level
// and thread count, against the reference: the same status, and the same bits in every output.
//
//     test_differential [--seed N] [--rounds N] [--only OPERATION]
//
// A failure prints the round; the same seed and round give the same case again.
#include "contexts.h"
#include "reference_device.h"
#include "test.h"

#include <stdio.h>

enum { MOST = 20 };
static int calls, refusals; // refused alike by both: few, or nothing is tested

// One case: the same arrays on the reference (0) and on the target (1).
typedef struct trial {
    sb_context *ctx[2];
    sb_array *array[MOST][2];
    bool checked[MOST]; // compared afterwards
    int count, side;
    sb_dtype real; // the type of the data
    uint64_t state;
    char what[240];
} trial;

static int64_t below(trial *t, int64_t n) { return (int64_t)(next_word(&t->state) % (uint64_t)n); }

// A size: mostly small, often beside a boundary of the contract's blocks.
static int64_t size_of(trial *t, int64_t most) {
    static const int64_t near[] = {0, 1, 2, 31, 32, 33, 63, 64, 127, 128, 129, 255, 256, 257, 511, 513, 4095, 4096, 4097, 8193};
    int64_t n = below(t, 3) == 0 ? near[below(t, sizeof near / sizeof *near)] : 1 + below(t, 40);
    return n > most ? 1 + n % most : n;
}

enum { MASKED = NUMBER_KINDS, KINDS };
static float number(trial *t, int kind) {
    if (kind == MASKED) return below(t, 3) == 0 ? float_of(0xff800000u) : next_float(&t->state, PLAIN);
    return next_float(&t->state, kind);
}

// The same kinds in binary64: WIDE over 640 binades.
static double wide_number(trial *t, int kind) {
    if (kind == MASKED) return below(t, 3) == 0 ? (double)float_of(0xff800000u) : wide_number(t, PLAIN);
    uint64_t w = next_word(&t->state), sign = w >> 63 << 63, fraction = w & 0xfffffffffffffu, spread = next_word(&t->state), bits = w;
    double x;
    if (kind == PLAIN) return (double)((int64_t)w >> 10) * 0x1p-52;
    if (kind == FEW) return (double[]){-0.0, 0.0, 1.0, -1.0, 0.5, 3.0, 0x1.0000000000001p0}[w % 7];
    if (kind == WIDE) bits = sign | (700 + spread % 640) << 52 | fraction;
    if (kind == SUBNORMAL) bits = sign | spread % 4 << 52 | fraction;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static int kind_of(trial *t) { return below(t, 2) ? PLAIN : (int)below(t, KINDS); }

static int add(trial *t, sb_dtype dtype, int ndim, const int64_t *shape, const void *values) {
    for (int side = 0; side < 2; side++)
        t->array[t->count][side] = array_of(t->ctx[side], dtype, ndim, shape, values);
    return t->count++;
}

static int64_t product(int ndim, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < ndim; i++) n *= shape[i];
    return n;
}

#define SHAPE(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}

static int reals_of(trial *t, sb_dtype type, int kind, int ndim, const int64_t *shape) {
    int64_t n = product(ndim, shape);
    float *x = malloc((size_t)(n + 1) * sizeof *x);
    double *wide = malloc((size_t)(n + 1) * sizeof *wide);
    if (!x || !wide) exit(1);
    for (int64_t i = 0; i < n; i++) {
        if (type == SB_F64) wide[i] = wide_number(t, kind);
        else x[i] = number(t, kind);
    }
    int at = add(t, type, ndim, shape, type == SB_F64 ? (const void *)wide : x);
    free(x);
    free(wide);
    return at;
}

static int reals(trial *t, int kind, int ndim, const int64_t *shape) { return reals_of(t, t->real, kind, ndim, shape); }

static int integers(trial *t, sb_dtype dtype, int64_t low, int64_t high, int ndim, const int64_t *shape) {
    int64_t n = product(ndim, shape);
    char *x = malloc((size_t)(n + 1) * 8);
    if (!x) exit(1);
    for (int64_t i = 0; i < n; i++) {
        int64_t wide = low + below(t, high - low);
        int32_t narrow = (int32_t)wide;
        if (sb_dtype_size(dtype) == 4) memcpy(x + 4 * i, &narrow, 4);
        else if (sb_dtype_size(dtype) == 1) x[i] = (char)wide;
        else memcpy(x + 8 * i, &wide, 8);
    }
    int at = add(t, dtype, ndim, shape, x);
    free(x);
    return at;
}

// Of any dtype: numbers of a kind, or integers, few or of all bits.
static sb_dtype any_dtype(trial *t) { return (sb_dtype)(SB_F32 + below(t, SB_U64)); }
static int any_of(trial *t, sb_dtype dtype, int ndim, const int64_t *shape) {
    if (dtype == SB_F32 || dtype == SB_F64) return reals_of(t, dtype, below(t, 2) ? FEW : kind_of(t), ndim, shape);
    if (dtype == SB_U8 || below(t, 2)) return integers(t, dtype, 0, below(t, 2) ? 5 : 256, ndim, shape);
    return integers(t, dtype, -(INT64_MAX / 2), INT64_MAX / 2, ndim, shape); // (narrow ones keep the low bits)
}
static sb_dtype index_dtype(trial *t) { return below(t, 2) ? SB_I32 : SB_I64; }

// An output, poisoned alike.
static int output(trial *t, sb_dtype dtype, int ndim, const int64_t *shape) {
    size_t bytes = (size_t)product(ndim, shape) * sb_dtype_size(dtype);
    char *poison = malloc(bytes + 1);
    if (!poison) exit(1);
    memset(poison, 0xa5, bytes);
    int at = add(t, dtype, ndim, shape, poison);
    free(poison);
    t->checked[at] = true;
    return at;
}

static sb_array *get(const trial *t, int at) { return at < 0 ? NULL : t->array[at][t->side]; }
#define A(i) get(t, i)
// Runs a call on both sides; both must say the same.
#define BOTH(call) \
    do { \
        sb_status status[2]; \
        sb_error err = {0}; \
        for (t->side = 0; t->side < 2; t->side++) status[t->side] = (call); \
        CHECK(status[0] == status[1], "%s: %s, the reference says %s", t->what, sb_status_name(status[1]), sb_status_name(status[0])); \
        t->side = 0; \
        calls++; \
        if (status[0] != SB_OK) { \
            refusals++; \
            memset(t->checked, 0, sizeof t->checked); \
        } \
        (void)err; \
    } while (0)
#define WHAT(...) snprintf(t->what + strlen(t->what), sizeof t->what - strlen(t->what), " " __VA_ARGS__)
#define ERR &err

static void try_gemm(trial *t) {
    int64_t m = size_of(t, 40), n = size_of(t, 70), k = below(t, 8) == 0 ? size_of(t, 20000) : size_of(t, 700);
    if (below(t, 30) == 0) k = 16384 + below(t, 600), m = 1 + below(t, 3), n = 1 + below(t, 5);
    if (below(t, 30) == 0) k = 300 + below(t, 300), m = 30 + below(t, 100), n = 30 + below(t, 200); // several tiles and panels
    if (below(t, 60) == 0) k = 1 + below(t, 20), m = 100 + below(t, 300), n = 400 + below(t, 700);
    const sb_gemm_options o = {.size = sizeof o, .transpose_a = (int)below(t, 2), .transpose_b = (int)below(t, 2),
                               .scaled = (int)below(t, 2), .alpha = number(t, PLAIN), .accumulate = (int)below(t, 2)};
    int kind = kind_of(t), form = (int)below(t, 9);
    bool wide = t->real == SB_F32 && below(t, 4) == 0;
    sb_dtype type = wide ? SB_F64 : t->real; // of c
    WHAT("%dx%dx%d, ta %d tb %d scaled %d accumulate %d kind %d form %d wide %d", (int)m, (int)n, (int)k, o.transpose_a,
         o.transpose_b, o.scaled, o.accumulate, kind, form, wide);
    int a, b, c;
    if (form == 0) { // 1-D a
        a = reals(t, kind, SHAPE(k));
        b = o.transpose_b ? reals(t, kind, SHAPE(n, k)) : reals(t, kind, SHAPE(k, n));
        c = reals_of(t, type, kind, SHAPE(n));
    } else if (form == 1) {
        a = o.transpose_a ? reals(t, kind, SHAPE(k, m)) : reals(t, kind, SHAPE(m, k));
        b = reals(t, kind, SHAPE(k));
        c = reals_of(t, type, kind, SHAPE(m));
        n = 1;
    } else if (form == 2) { // a batch, of b, too, or of a alone
        int64_t count = below(t, 4);
        m = 1 + m % 20, n = 1 + n % 30, k = 1 + k % 600;
        a = o.transpose_a ? reals(t, kind, SHAPE(count, k, m)) : reals(t, kind, SHAPE(count, m, k));
        if (below(t, 2)) b = o.transpose_b ? reals(t, kind, SHAPE(n, k)) : reals(t, kind, SHAPE(k, n));
        else b = o.transpose_b ? reals(t, kind, SHAPE(count, n, k)) : reals(t, kind, SHAPE(count, k, n));
        c = reals_of(t, type, kind, SHAPE(count, m, n));
    } else if (form == 3 && m * m * k < 4000000) { // b is a: half the work where one of them is transposed, square or refused else
        n = m;
        a = b = o.transpose_a ? reals(t, kind, SHAPE(k, m)) : reals(t, kind, SHAPE(m, o.transpose_b ? k : m));
        c = reals_of(t, type, kind, SHAPE(m, m));
    } else {
        a = o.transpose_a ? reals(t, kind, SHAPE(k, m)) : reals(t, kind, SHAPE(m, k));
        b = o.transpose_b ? reals(t, kind, SHAPE(n, k)) : reals(t, kind, SHAPE(k, n));
        c = reals_of(t, type, kind, SHAPE(m, n));
    }
    int bias = below(t, 2) ? reals_of(t, type, kind, SHAPE(n)) : -1;
    t->checked[c] = true;
    BOTH(sb_gemm(t->ctx[t->side], &o, A(a), A(b), A(bias), A(c), ERR));
}

static void try_dot(trial *t) {
    int64_t n = size_of(t, 9000);
    int kind = kind_of(t), a = reals(t, kind, SHAPE(n)), b = reals(t, kind, SHAPE(n)), y = output(t, t->real, 0, NULL);
    WHAT("%d, kind %d", (int)n, kind);
    BOTH(sb_dot(t->ctx[t->side], A(a), A(b), A(y), ERR));
}

static void try_reduce(trial *t) {
    int64_t shape[3] = {size_of(t, 40), size_of(t, 9000), size_of(t, 40)};
    if (shape[1] > 600) shape[0] = 1 + shape[0] % 4, shape[2] = 1 + shape[2] % 6;
    int ndim = 1 + (int)below(t, 3), from = 3 - ndim, kind = kind_of(t), axis = (int)below(t, ndim + 1), rest = 0;
    sb_reduction what = (sb_reduction)(SB_SUM + below(t, SB_NORM_MAX));
    int64_t out[2] = {0};
    for (int i = 0; i < ndim && axis < ndim; i++)
        if (i != axis) out[rest++] = shape[from + i];
    int x = reals(t, kind, ndim, shape + from), y = output(t, what == SB_ARGMAX || what == SB_ARGMIN ? SB_I64 : t->real, rest, out);
    WHAT("kind %d axis %d of %d (%d %d %d), numbers %d", (int)what, axis, ndim, (int)shape[0], (int)shape[1], (int)shape[2], kind);
    if (axis == ndim) axis = SB_ALL;
    BOTH(sb_reduce(t->ctx[t->side], what, axis, A(x), A(y), ERR));
    int64_t ddof = below(t, 3);
    int mean = below(t, 2) ? output(t, SB_F64, rest, out) : -1, v = output(t, t->real, rest, out), root = output(t, t->real, rest, out);
    if (shape[0] * shape[1] * shape[2] == 0) return; // (refused, or written by none)
    BOTH(sb_variance(t->ctx[t->side], axis, ddof, A(x), A(mean), A(v), ERR));
    BOTH(sb_deviation(t->ctx[t->side], axis, ddof, A(x), NULL, A(root), ERR));
}

static void try_total(trial *t) {
    int64_t n = size_of(t, 9000);
    int kind = kind_of(t), x = reals(t, kind, SHAPE(n));
    double total[2] = {0, 0}, squares[2] = {0, 0};
    WHAT("%d, kind %d", (int)n, kind);
    BOTH(sb_total(t->ctx[t->side], A(x), &total[t->side], ERR));
    BOTH(sb_sum_squares(t->ctx[t->side], A(x), &squares[t->side], ERR));
    CHECK(memcmp(&total[0], &total[1], 8) == 0 && memcmp(&squares[0], &squares[1], 8) == 0, "%s: %a %a, the reference says %a %a", t->what,
          total[1], squares[1], total[0], squares[0]);
}

static void try_binary(trial *t) {
    int64_t out[3], a_shape[3], b_shape[3];
    int ndim = (int)below(t, 4), kind = kind_of(t), inplace = 0;
    int64_t a_is = 1, b_is = 1;
    for (int i = 0; i < ndim; i++) {
        int64_t n = size_of(t, i == ndim - 1 ? 300 : 12);
        a_shape[i] = below(t, 3) == 0 ? 1 : n;
        b_shape[i] = below(t, 3) == 0 ? 1 : n;
        out[i] = a_shape[i] == 1 ? b_shape[i] : a_shape[i];
        a_is = a_is && a_shape[i] == out[i];
        b_is = b_is && b_shape[i] == out[i];
    }
    int skip = ndim > 0 && b_shape[0] == 1 ? (int)below(t, 2) : 0; // a missing leading axis
    sb_binary_kind what = (sb_binary_kind)(SB_ADD + below(t, SB_POW));
    int a = reals(t, kind, ndim, a_shape), b = reals(t, kind_of(t), ndim - skip, b_shape + skip), y;
    if (a_is && below(t, 3) == 0) inplace = 1;
    else if (b_is && !skip && below(t, 3) == 0) inplace = 2;
    y = inplace == 1 ? a : inplace == 2 ? b : output(t, t->real, ndim, out);
    t->checked[y] = true;
    WHAT("kind %d, %d axes, in place %d, numbers %d", (int)what, ndim, inplace, kind);
    BOTH(sb_binary(t->ctx[t->side], what, A(a), A(b), A(y), ERR));
}

static void try_element(trial *t) {
    int64_t n = size_of(t, 5000);
    int kind = kind_of(t), x = reals(t, kind, SHAPE(n)), up = reals(t, kind, SHAPE(n)), dy = reals(t, kind, SHAPE(n));
    int y = output(t, t->real, SHAPE(n)), inplace = (int)below(t, 2);
    double factor = t->real == SB_F64 ? wide_number(t, kind) : (double)number(t, kind);
    WHAT("%d, kind %d in place %d", (int)n, kind, inplace);
    BOTH(sb_scale(t->ctx[t->side], A(x), factor, A(y), ERR));
    int z = output(t, t->real, SHAPE(n)), dgate = inplace ? x : output(t, t->real, SHAPE(n)), dup = inplace ? up : output(t, t->real, SHAPE(n));
    BOTH(sb_swiglu(t->ctx[t->side], A(x), A(up), A(z), ERR));
    BOTH(sb_swiglu_backward(t->ctx[t->side], A(x), A(up), A(dy), A(dgate), A(dup), ERR));
    t->checked[dgate] = t->checked[dup] = true;
}

static void try_unary(trial *t) {
    int64_t n = size_of(t, 1500);
    sb_unary_kind what = (sb_unary_kind)(1 + below(t, SB_GELU_TANH_GRAD));
    int kind = below(t, 2) ? ALL_BITS : kind_of(t), x, y = output(t, t->real, SHAPE(n));
    if (what == SB_INVERSE_NORMAL) {
        uint64_t wide[1500];
        uint32_t words[1500];
        for (int64_t i = 0; i < n; i++) {
            wide[i] = next_word(&t->state) >> (below(t, 4) == 0 ? below(t, 64) : 0);
            words[i] = (uint32_t)(below(t, 4) == 0 ? wide[i] >> 32 >> below(t, 32) : wide[i] >> 32);
        }
        x = t->real == SB_F64 ? add(t, SB_U64, SHAPE(n), wide) : add(t, SB_U32, SHAPE(n), words);
    } else {
        x = reals(t, kind, SHAPE(n));
    }
    WHAT("kind %d, %d, numbers %d", (int)what, (int)n, kind);
    BOTH(sb_unary(t->ctx[t->side], what, A(x), A(y), ERR));
}

static void try_softmax(trial *t) {
    int64_t rows = size_of(t, 9), v = size_of(t, 5000);
    if (v > 600) rows = rows > 2 ? 2 : rows;
    int kind = below(t, 3) == 0 ? MASKED : kind_of(t);
    if (v == 0) v = 1;
    int x = reals(t, kind, SHAPE(rows, v)), targets = integers(t, SB_I32, -1, v, SHAPE(rows));
    int y = output(t, t->real, SHAPE(rows, v)), z = output(t, t->real, SHAPE(rows, v)), loss = output(t, SB_F64, SHAPE(rows));
    int inplace = (int)below(t, 2), dx = inplace ? x : output(t, t->real, SHAPE(rows, v));
    double scale = (double)number(t, PLAIN) / 7;
    WHAT("%d x %d, kind %d, in place %d", (int)rows, (int)v, kind, inplace);
    BOTH(sb_softmax(t->ctx[t->side], A(x), A(y), ERR));
    BOTH(sb_log_softmax(t->ctx[t->side], A(x), A(z), ERR));
    int dy = reals(t, kind_of(t), SHAPE(rows, v)), back = output(t, t->real, SHAPE(rows, v));
    BOTH(sb_softmax_backward(t->ctx[t->side], A(y), A(dy), A(back), ERR));
    BOTH(sb_log_softmax_backward(t->ctx[t->side], A(z), A(dy), A(dy), ERR));
    BOTH(sb_cross_entropy(t->ctx[t->side], NULL, A(x), A(targets), NULL, A(loss), ERR));
    BOTH(sb_cross_entropy_backward(t->ctx[t->side], NULL, A(x), A(targets), NULL, scale, A(dx), ERR));
    t->checked[dx] = t->checked[dy] = true;
}

// Weights, label smoothing, an ignored class, sums and means; masked rows among them, some of them whole.
static void try_loss(trial *t) {
    int64_t rows = size_of(t, 40), v = size_of(t, 5000);
    if (v > 600) rows = rows > 2 ? 2 : rows;
    if (below(t, 3) == 0) v = 1 + below(t, 3); // (rows without a present entry)
    if (v == 0) v = 1;
    int kind = below(t, 2) ? MASKED : kind_of(t), w = below(t, 2) ? reals(t, below(t, 3) ? PLAIN : kind_of(t), SHAPE(v)) : -1;
    const sb_cross_entropy_options o = {.size = sizeof o, .reduction = (sb_loss_reduction)below(t, 3), .ignores = (int)below(t, 2),
                                        .ignore_index = below(t, v + 1), .label_smoothing = below(t, 2) ? (double)(1 + below(t, 10)) / 10 : 0.0};
    int x = reals(t, kind, SHAPE(rows, v)), targets = integers(t, index_dtype(t), o.ignores ? 0 : -1, v, SHAPE(rows));
    int loss = output(t, SB_F64, o.reduction == SB_LOSS_EACH, (int64_t[]){rows}), dx = output(t, t->real, SHAPE(rows, v));
    WHAT("%d x %d, kind %d, reduction %d, smoothing %g, weights %d, ignores %d: %d", (int)rows, (int)v, kind, (int)o.reduction,
         o.label_smoothing, w >= 0, o.ignores, (int)o.ignore_index);
    BOTH(sb_cross_entropy(t->ctx[t->side], &o, A(x), A(targets), A(w), A(loss), ERR));
    BOTH(sb_cross_entropy_backward(t->ctx[t->side], &o, A(x), A(targets), A(w), 1.1, A(dx), ERR));
}

static void try_norm(trial *t) {
    int64_t rows = size_of(t, 9000), d = rows > 100 ? 1 + below(t, 9) : size_of(t, 5000);
    int kind = kind_of(t), x = reals(t, kind, SHAPE(rows, d)), w = below(t, 2) ? reals(t, kind, SHAPE(d)) : -1;
    int dy = reals(t, kind, SHAPE(rows, d)), y = output(t, t->real, SHAPE(rows, d)), r = output(t, SB_F64, SHAPE(rows));
    int dx = output(t, t->real, SHAPE(rows, d)), dw = w >= 0 && below(t, 3) ? output(t, t->real, SHAPE(d)) : -1;
    double eps = below(t, 3) ? 1e-5 : 1e-12;
    WHAT("%d x %d, kind %d, weight %d dweight %d", (int)rows, (int)d, kind, w >= 0, dw >= 0);
    BOTH(sb_rms_norm(t->ctx[t->side], A(x), A(w), eps, A(y), A(r), ERR));
    BOTH(sb_rms_norm_backward(t->ctx[t->side], A(x), A(w), A(r), A(dy), A(dx), A(dw), ERR));
    int b = below(t, 2) ? reals(t, kind, SHAPE(d)) : -1, z = output(t, t->real, SHAPE(rows, d)), m = output(t, SB_F64, SHAPE(rows));
    int s = output(t, SB_F64, SHAPE(rows)), dz = output(t, t->real, SHAPE(rows, d)), dv = w >= 0 && below(t, 3) ? output(t, t->real, SHAPE(d)) : -1;
    int db = b >= 0 && below(t, 3) ? output(t, t->real, SHAPE(d)) : -1;
    BOTH(sb_layer_norm(t->ctx[t->side], A(x), A(w), A(b), eps, A(z), A(m), A(s), ERR));
    BOTH(sb_layer_norm_backward(t->ctx[t->side], A(x), A(w), A(m), A(s), A(dy), A(dz), A(dv), A(db), ERR));
}

static void try_rotary(trial *t) {
    int64_t b = 1 + below(t, 3), n = size_of(t, 40), h = 1 + below(t, 4), half = 1 + below(t, 40), first = below(t, 30);
    int64_t d = 2 * half, positions = first + n + below(t, 3);
    const float thetas[] = {10000, 500000, 1, 0.5f, 2, 1e6f, 123.456f};
    int kind = kind_of(t), c = output(t, t->real, SHAPE(positions, half)), s = output(t, t->real, SHAPE(positions, half));
    int x = reals(t, kind, SHAPE(b, n, h, d)), inplace = (int)below(t, 2), y = inplace ? x : output(t, t->real, SHAPE(b, n, h, d));
    float theta = thetas[below(t, 7)];
    int inverse = (int)below(t, 2);
    WHAT("%d %d %d %d from %d, theta %g, kind %d", (int)b, (int)n, (int)h, (int)d, (int)first, (double)theta, kind);
    BOTH(sb_rotary_table(t->ctx[t->side], (double)theta, A(c), A(s), ERR));
    BOTH(sb_rotary(t->ctx[t->side], A(x), A(c), A(s), first, inverse, A(y), ERR));
    t->checked[y] = true;
}

static void try_attention(trial *t) {
    int64_t b = 1 + below(t, 2), n = size_of(t, 20), g = 1 + below(t, 3), h = g * (1 + below(t, 3)), d = 1 + below(t, 40);
    int64_t keys = 1 + below(t, 3) * 128 + below(t, 40), first = below(t, 2) ? below(t, 300) : keys > n ? keys - n : 0;
    if (below(t, 12) == 0) d = 250 + below(t, 20); // more than a chunk of T3
    if (below(t, 4) == 0) n = 1;
    int64_t s = keys + below(t, 5);
    sb_attention_options o = {.size = sizeof o, .causal = (int)below(t, 2), .first = first, .keys = s == keys && below(t, 2) ? 0 : keys,
                                    .scale = below(t, 2) ? 0.0 : (double)(number(t, PLAIN) * 0.3f), .window = below(t, 2) ? 1 + below(t, keys) : 0,
                              .prefix = below(t, 3) ? 0 : below(t, keys + 2)};
    int kind = kind_of(t);
    WHAT("b %d t %d h %d g %d d %d keys %d of %d first %d causal %d window %d prefix %d kind %d", (int)b, (int)n, (int)h, (int)g, (int)d, (int)keys, (int)s,
         (int)first, o.causal, (int)o.window, (int)o.prefix, kind);
    int q = reals(t, kind, SHAPE(b, n, h, d)), k = reals(t, kind, SHAPE(b, s, g, d)), v = reals(t, kind, SHAPE(b, s, g, d));
    int y = output(t, t->real, SHAPE(b, n, h, d)), m = output(t, t->real, SHAPE(b, n, h)), l = output(t, SB_F64, SHAPE(b, n, h));
    int dy = reals(t, kind, SHAPE(b, n, h, d)), dq = output(t, t->real, SHAPE(b, n, h, d));
    int dk = output(t, t->real, SHAPE(b, s, g, d)), dv = output(t, t->real, SHAPE(b, s, g, d));
    int mask = integers(t, SB_U8, 0, 3, SHAPE(b, s));
    bool with_mask = below(t, 2);
    BOTH((o.mask = with_mask ? A(mask) : NULL, sb_attention(t->ctx[t->side], &o, A(q), A(k), A(v), A(y), A(m), A(l), ERR)));
    BOTH((o.mask = with_mask ? A(mask) : NULL, sb_attention_backward(t->ctx[t->side], &o, A(q), A(k), A(v), A(y), A(m), A(l), A(dy), A(dq), A(dk), A(dv), ERR)));
}

static void try_embedding(trial *t) {
    int64_t v = 1 + below(t, 40), d = size_of(t, 80), count = below(t, 10) == 0 ? 4097 + below(t, 5000) : size_of(t, 600);
    int kind = kind_of(t), accumulate = (int)below(t, 2);
    if (count > 4096) v = 1 + below(t, 3), d = 1 + d % 5;
    WHAT("v %d d %d count %d accumulate %d kind %d", (int)v, (int)d, (int)count, accumulate, kind);
    int table = reals(t, kind, SHAPE(v, d)), ids = integers(t, index_dtype(t), 0, v, SHAPE(count)), y = output(t, t->real, SHAPE(count, d));
    int dy = reals(t, kind, SHAPE(count, d)), dtable = reals(t, kind, SHAPE(v, d));
    t->checked[dtable] = true;
    BOTH(sb_embedding(t->ctx[t->side], A(table), A(ids), A(y), ERR));
    BOTH(sb_embedding_backward(t->ctx[t->side], A(ids), A(dy), accumulate, A(dtable), ERR));
}

// Rows of any tensor by their number, columns by theirs, and back.
static void try_gather(trial *t) {
    int64_t v = below(t, 10) == 0 ? 0 : 1 + below(t, 40), d = size_of(t, 80), count = v ? size_of(t, 600) : 0, k = size_of(t, 300);
    sb_dtype dtype = any_dtype(t);
    WHAT("v %d d %d count %d k %d of %s", (int)v, (int)d, (int)count, (int)k, sb_dtype_name(dtype));
    int x = any_of(t, dtype, SHAPE(v, d)), ids = integers(t, index_dtype(t), 0, v ? v : 1, SHAPE(count)), y = output(t, dtype, SHAPE(count, d));
    int across = integers(t, index_dtype(t), 0, d ? d : 1, SHAPE(v, d ? k : 0)), z = output(t, dtype, SHAPE(v, d ? k : 0));
    int source = any_of(t, dtype, SHAPE(count, d)), to = any_of(t, dtype, SHAPE(v, d)), copy = output(t, dtype, SHAPE(v, d));
    t->checked[to] = true;
    BOTH(sb_gather(t->ctx[t->side], A(x), A(ids), A(y), ERR));
    BOTH(sb_take_along(t->ctx[t->side], A(x), A(across), A(z), ERR));
    BOTH(sb_scatter(t->ctx[t->side], A(ids), A(source), A(to), ERR));
    BOTH(sb_array_copy(t->ctx[t->side], A(x), A(copy), ERR));
    int two = integers(t, index_dtype(t), 0, v ? v : 1, SHAPE(v ? 3 : 0, 2)), cube = output(t, dtype, SHAPE(v ? 3 : 0, 2, d));
    BOTH(sb_gather(t->ctx[t->side], A(x), A(two), A(cube), ERR));
}

static void try_scatter_add(trial *t) {
    int64_t v = 1 + below(t, 40), d = size_of(t, 80), count = below(t, 6) == 0 ? 4097 + below(t, 9000) : size_of(t, 600);
    if (count > 4096) v = 1 + below(t, 3), d = 1 + d % 5; // segments of more than a block
    sb_dtype dtype = below(t, 3) ? t->real : SB_I64;
    int accumulate = (int)below(t, 2);
    WHAT("v %d d %d count %d of %s, accumulate %d", (int)v, (int)d, (int)count, sb_dtype_name(dtype), accumulate);
    int ids = integers(t, index_dtype(t), 0, v, SHAPE(count)), source = any_of(t, dtype, SHAPE(count, d)), to = any_of(t, dtype, SHAPE(v, d));
    t->checked[to] = true;
    BOTH(sb_scatter_add(t->ctx[t->side], A(ids), A(source), accumulate, A(to), ERR));
}

static void try_scan(trial *t) {
    static const sb_dtype dtypes[] = {SB_F32, SB_F64, SB_I32, SB_I64};
    int64_t rows = 1 + below(t, 4), n = below(t, 4) == 0 ? 16384 + below(t, 20000) : size_of(t, 9000);
    sb_dtype dtype = dtypes[below(t, 4)];
    int exclusive = (int)below(t, 2), reverse = (int)below(t, 2), x = any_of(t, dtype, SHAPE(rows, n));
    int y = below(t, 2) ? x : output(t, dtype, SHAPE(rows, n));
    t->checked[y] = true;
    WHAT("%d x %d of %s, exclusive %d reverse %d in place %d", (int)rows, (int)n, sb_dtype_name(dtype), exclusive, reverse, x == y);
    BOTH(sb_scan(t->ctx[t->side], A(x), exclusive, reverse, A(y), ERR));
}

static void try_histogram(trial *t) {
    int64_t n = below(t, 4) == 0 ? 1 + below(t, 40000) : size_of(t, 9000), features = below(t, 2) ? 0 : 1 + below(t, 12);
    int64_t bins = below(t, 3) ? 1 + below(t, 256) : 256 + below(t, 3000);
    sb_dtype dtype = bins <= 256 && below(t, 2) ? SB_U8 : SB_I32, weight = index_dtype(t);
    int ndim = features ? 2 : 1;
    WHAT("%d x %d of %s in %d bins", (int)n, (int)features, sb_dtype_name(dtype), (int)bins);
    int codes = integers(t, dtype, 0, below(t, 4) ? bins : 1, ndim, (int64_t[]){n, features});
    int w = below(t, 3) ? any_of(t, weight, SHAPE(n)) : -1, counts = output(t, SB_I64, ndim, features ? (int64_t[]){features, bins} : (int64_t[]){bins});
    BOTH(sb_histogram(t->ctx[t->side], A(codes), A(w), A(counts), ERR));
}

static void try_sort(trial *t) {
    int64_t rows = 1 + below(t, 4), n = size_of(t, 9000);
    int descending = (int)below(t, 2);
    sb_dtype dtype = any_dtype(t);
    int x = any_of(t, dtype, SHAPE(rows, n)), at = output(t, SB_I64, SHAPE(rows, n)), y = output(t, dtype, SHAPE(rows, n));
    WHAT("%d x %d of %s, descending %d", (int)rows, (int)n, sb_dtype_name(dtype), descending);
    BOTH(sb_argsort(t->ctx[t->side], A(x), descending, A(at), ERR));
    BOTH(sb_sort(t->ctx[t->side], A(x), descending, A(y), ERR));
}

static void try_top_k(trial *t) {
    int64_t rows = size_of(t, 5), n = size_of(t, 9000), k = below(t, 3) ? below(t, n < 70 ? n + 1 : 70) : below(t, n + 1);
    int largest = (int)below(t, 2), wanted = (int)below(t, 3);
    sb_dtype dtype = any_dtype(t);
    WHAT("%d of %d x %d of %s, largest %d", (int)k, (int)rows, (int)n, sb_dtype_name(dtype), largest);
    int x = any_of(t, dtype, SHAPE(rows, n)), y = wanted != 1 ? output(t, dtype, SHAPE(rows, k)) : -1;
    int at = wanted != 2 ? output(t, SB_I64, SHAPE(rows, k)) : -1;
    BOTH(sb_top_k(t->ctx[t->side], A(x), k, largest, A(y), A(at), ERR));
}

static void try_unique(trial *t) {
    int64_t n = size_of(t, 9000), number[2] = {-1, -1};
    sb_dtype dtype = any_dtype(t);
    WHAT("%d of %s", (int)n, sb_dtype_name(dtype));
    int x = any_of(t, dtype, SHAPE(n)), y = output(t, dtype, SHAPE(n)), inverse = below(t, 3) ? output(t, SB_I64, SHAPE(n)) : -1;
    int counts = below(t, 3) ? output(t, SB_I64, SHAPE(n)) : -1;
    BOTH(sb_unique(t->ctx[t->side], A(x), A(y), A(inverse), A(counts), &number[t->side], ERR));
    CHECK(number[0] == number[1], "%s: %lld, the reference says %lld", t->what, (long long)number[1], (long long)number[0]);
}

static void try_random(trial *t) {
    int64_t n = size_of(t, 9000), start = below(t, 2) ? below(t, 9) : below(t, INT64_MAX / 4), bound = below(t, 2) ? 1 + below(t, 100) : 1 + below(t, INT64_MAX / 4);
    uint64_t seed = next_word(&t->state), stream = next_word(&t->state);
    WHAT("%d from %lld", (int)n, (long long)start);
    int u32 = output(t, SB_U32, SHAPE(n)), u64 = output(t, SB_U64, SHAPE(n)), f32 = output(t, SB_F32, SHAPE(n)), f64 = output(t, SB_F64, SHAPE(n));
    int z = output(t, t->real, SHAPE(n % 500)), i64 = output(t, SB_I64, SHAPE(n)), i32 = output(t, SB_I32, SHAPE(n)), p = output(t, SB_I64, SHAPE(n));
    int chosen = output(t, SB_I64, SHAPE(below(t, n + 1)));
    BOTH(sb_random_bits(t->ctx[t->side], seed, stream, start, A(u32), ERR));
    BOTH(sb_random_bits(t->ctx[t->side], seed, stream, start, A(u64), ERR));
    BOTH(sb_random_uniform(t->ctx[t->side], seed, stream, start, A(f32), ERR));
    BOTH(sb_random_uniform(t->ctx[t->side], seed, stream, start, A(f64), ERR));
    BOTH(sb_random_normal(t->ctx[t->side], seed, stream, start, A(z), ERR));
    BOTH(sb_random_integers(t->ctx[t->side], seed, stream, start, bound, A(i64), ERR));
    BOTH(sb_random_integers(t->ctx[t->side], seed, stream, start, 1 + bound % (INT64_C(1) << 31), A(i32), ERR));
    BOTH(sb_random_permutation(t->ctx[t->side], seed, stream, A(p), ERR));
    BOTH(sb_random_choice(t->ctx[t->side], seed, stream, n, A(chosen), ERR));
    BOTH(sb_dropout(t->ctx[t->side], A(f64), 0.37, seed, stream + 1, start, A(f64), ERR));
    BOTH(sb_dropout(t->ctx[t->side], A(f32), 0.37, seed, stream + 1, start, A(f32), ERR));
}

static void try_optimizer(trial *t) {
    int64_t n = size_of(t, 5000);
    int kind = kind_of(t), g = reals(t, kind, SHAPE(n)), p = reals(t, kind, SHAPE(n)), m = reals(t, kind, SHAPE(n)), v = reals(t, kind, SHAPE(n));
    int other = reals(t, kind, SHAPE(7));
    double power = (double)(1 + below(t, 1000)) / 1001, norm[2] = {0, 0};
    double root = (double)number(t, PLAIN);
    const sb_adamw_options o = {.size = sizeof o, .learning_rate = root * root * 0.01, .beta1 = 0.9, .beta2 = below(t, 2) ? 0.999 : 0.95,
                                .eps = 1e-8, .weight_decay = below(t, 2) ? 0.1 : 0.0, .beta1_power = power, .beta2_power = 1 - (1 - power) / 3};
    WHAT("%d, kind %d", (int)n, kind);
    t->checked[p] = t->checked[m] = t->checked[v] = t->checked[g] = t->checked[other] = true;
    BOTH(sb_adamw(t->ctx[t->side], &o, A(g), A(p), A(m), A(v), ERR));
    BOTH(sb_adam(t->ctx[t->side], &o, A(g), A(p), A(m), A(v), ERR));
    int rule = (int)below(t, 4); // plain, momentum, dampened, Nesterov's
    const sb_sgd_options s = {.size = sizeof s, .learning_rate = 0.1, .momentum = rule ? 0.9 : 0.0, .dampening = rule == 2 ? 0.3 : 0.0,
                              .weight_decay = below(t, 2) ? 0.1 : 0.0, .nesterov = rule == 3, .first = below(t, 2) == 0};
    BOTH(sb_sgd(t->ctx[t->side], &s, A(g), A(p), A(m), ERR));
    BOTH(sb_clip_norm(t->ctx[t->side], 2, (sb_array *const[]){A(g), A(other)}, 0.7, &norm[t->side], ERR));
    CHECK(norm[0] == norm[1] || (norm[0] != norm[0] && norm[1] != norm[1]), "%s: norm %a, the reference says %a", t->what, norm[1], norm[0]);
}

static const struct { const char *name; void (*run)(trial *t); } rows[] = {
    {"gemm", try_gemm}, {"dot", try_dot}, {"reduce", try_reduce}, {"total", try_total}, {"binary", try_binary}, {"element", try_element},
    {"unary", try_unary}, {"softmax", try_softmax}, {"loss", try_loss}, {"norm", try_norm}, {"rotary", try_rotary},
    {"attention", try_attention}, {"embedding", try_embedding}, {"gather", try_gather}, {"scatter_add", try_scatter_add}, {"scan", try_scan},
    {"histogram", try_histogram}, {"sort", try_sort}, {"top_k", try_top_k}, {"unique", try_unique}, {"random", try_random},
    {"optimizer", try_optimizer},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void compare(trial *t, int at) {
    const sb_array *want = t->array[at][0], *got = t->array[at][1];
    size_t item = sb_dtype_size(sb_array_dtype(want)), bytes = (size_t)sb_array_size(want) * item;
    unsigned char *w = malloc(bytes + 1), *g = malloc(bytes + 1);
    if (!w || !g || sb_array_read(want, w, bytes, NULL) != SB_OK || sb_array_read(got, g, bytes, NULL) != SB_OK) exit(1);
    size_t i = 0;
    while (i < bytes && memcmp(w + i, g + i, item) == 0) i += item;
    uint64_t w_bits = 0, g_bits = 0;
    if (i < bytes && item == 1) {
        w_bits = w[i], g_bits = g[i];
    } else if (i < bytes && item == 4) {
        uint32_t word;
        memcpy(&word, w + i, 4), w_bits = word;
        memcpy(&word, g + i, 4), g_bits = word;
    } else if (i < bytes) {
        memcpy(&w_bits, w + i, 8), memcpy(&g_bits, g + i, 8);
    }
    CHECK(i >= bytes, "%s: array %d, element %zu of %zu is %llx, the reference says %llx", t->what, at, i / item, bytes / item,
          (unsigned long long)g_bits, (unsigned long long)w_bits);
    free(w);
    free(g);
}

int main(int argc, char **argv) {
    uint64_t seed = 1, rounds = 60 * ROWS;
    const char *only = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0) seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--rounds") == 0) rounds = strtoull(argv[i + 1], NULL, 10) * ROWS;
        else if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    }
    sb_context *reference = NULL, *targets[16];
    char names[16][32];
    int count = 0;
    CHECK(reference_context(&reference, NULL) == SB_OK, "no reference");
    static const char *const levels[] = {"plain", "reverse", "v1", "v3", "v4", "neon"};
    for (int i = 0; i < 12; i++) {
        const sb_context_options options = {.size = sizeof options, .device = "cpu", .isa = levels[i / 2], .threads = i % 2 ? 3 : 1};
        if (sb_context_new(&options, &targets[count], NULL) != SB_OK) continue;
        snprintf(names[count++], sizeof names[0], "%s, threads %d", levels[i / 2], options.threads);
    }
    CHECK(count > 0, "no target");
    for (uint64_t round = 0; round < rounds && reference && count > 0; round++) {
        size_t row = round % ROWS;
        if (only && strcmp(only, rows[row].name) != 0) continue;
        trial t = {.state = seed << 32 ^ round};
        int target = (int)below(&t, count);
        t.real = below(&t, 5) < 2 ? SB_F64 : SB_F32;
        t.ctx[0] = reference;
        t.ctx[1] = targets[target];
        snprintf(t.what, sizeof t.what, "round %llu %s (%s, %s)", (unsigned long long)round, rows[row].name, names[target],
                 sb_dtype_name(t.real));
        rows[row].run(&t);
        for (int i = 0; i < t.count; i++) {
            if (t.checked[i]) compare(&t, i);
            sb_array_free(t.array[i][0]);
            sb_array_free(t.array[i][1]);
        }
    }
    for (int i = 0; i < count; i++) sb_context_free(targets[i]);
    sb_context_free(reference);
    printf("%d calls, %d refused alike\n", calls, refusals);
    CHECK(refusals * 10 < calls, "most calls should be legal");
    return test_end();
}
