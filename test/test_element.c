// SPDX-License-Identifier: Apache-2.0
// Binary arithmetic with broadcasting, scaling and SwiGLU against element-by-element definitions.
#include "grid.h"

#include <math.h>

static float binary(int kind, float a, float b) {
    switch (kind) {
    case SB_ADD: return grid_canon(a + b);
    case SB_SUB: return grid_canon(a - b);
    case SB_MUL: return grid_canon(a * b);
    case SB_DIV: return grid_canon(a / b);
    default: break;
    }
    if (a != a || b != b) return grid_float(0x7fc00000u);
    if (a == b) { // -0 < +0
        uint32_t both = grid_bits(a) & grid_bits(b), either = grid_bits(a) | grid_bits(b);
        return grid_float(kind == SB_MAXIMUM ? both : either);
    }
    return (kind == SB_MAXIMUM) == (a > b) ? a : b;
}

typedef struct shape {
    int ndim;
    int64_t d[SB_MAX_DIMS];
} shape;

static int64_t size_of(const shape *s) {
    int64_t n = 1;
    for (int i = 0; i < s->ndim; i++) n *= s->d[i];
    return n;
}

// The element of an operand that output element `flat` reads: axes aligned at the end, length 1 repeated.
static int64_t operand_of(const shape *out, const shape *x, int64_t flat) {
    int64_t at = 0, step = 1;
    for (int i = 1; i <= out->ndim; i++) {
        int64_t here = flat % out->d[out->ndim - i];
        flat /= out->d[out->ndim - i];
        if (i > x->ndim) continue;
        if (x->d[x->ndim - i] != 1) at += here * step;
        step *= x->d[x->ndim - i];
    }
    return at;
}

static void check(sb_context *ctx, int kind, int values, const shape *sa, const shape *sb, const shape *so) {
    float *a = grid_values(values, size_of(sa)), *b = grid_values(values, size_of(sb));
    float *want = grid_room(size_of(so), sizeof *want);
    for (int64_t i = 0; i < size_of(so); i++)
        want[i] = binary(kind, a[operand_of(so, sa, i)], b[operand_of(so, sb, i)]);
    sb_array *x = grid_array(ctx, SB_F32, a, sa->ndim, sa->d), *y = grid_array(ctx, SB_F32, b, sb->ndim, sb->d);
    sb_array *out = grid_array(ctx, SB_F32, NULL, so->ndim, so->d);
    DONE(sb_binary(ctx, (sb_binary_kind)kind, x, y, out, &err));
    EXPECT(out, want, "binary");
    // in place, where an operand has the output's shape
    if (sa->ndim == so->ndim && memcmp(sa->d, so->d, sizeof sa->d) == 0) {
        DONE(sb_binary(ctx, (sb_binary_kind)kind, x, y, x, &err));
        EXPECT(x, want, "binary into a");
    } else if (sb->ndim == so->ndim && memcmp(sb->d, so->d, sizeof sb->d) == 0) {
        DONE(sb_binary(ctx, (sb_binary_kind)kind, x, y, y, &err));
        EXPECT(y, want, "binary into b");
    }
    sb_array_free(x);
    sb_array_free(y);
    sb_array_free(out);
    free(a);
    free(b);
    free(want);
}

static void definitions(sb_context *ctx) {
    static const shape cases[][3] = {
        // a, b, out
        {{0, {0}}, {0, {0}}, {0, {0}}},
        {{1, {1}}, {1, {1}}, {1, {1}}},
        {{1, {1000}}, {1, {1000}}, {1, {1000}}},
        {{2, {3, 5000}}, {2, {3, 5000}}, {2, {3, 5000}}},
        {{2, {40, 300}}, {1, {300}}, {2, {40, 300}}},
        {{2, {40, 300}}, {2, {40, 1}}, {2, {40, 300}}},
        {{2, {7, 9000}}, {2, {7, 1}}, {2, {7, 9000}}},
        {{1, {9000}}, {2, {2, 9000}}, {2, {2, 9000}}},
        {{2, {40, 300}}, {0, {0}}, {2, {40, 300}}},
        {{1, {1}}, {3, {3, 4, 5}}, {3, {3, 4, 5}}},
        {{2, {5, 1}}, {2, {1, 7}}, {2, {5, 7}}},
        {{3, {4, 1, 3}}, {3, {1, 5, 3}}, {3, {4, 5, 3}}},
        {{4, {2, 3, 4, 5}}, {4, {2, 1, 4, 1}}, {4, {2, 3, 4, 5}}},
        {{4, {1, 3, 1, 5}}, {4, {2, 1, 4, 1}}, {4, {2, 3, 4, 5}}},
        {{8, {2, 1, 2, 1, 3, 1, 2, 1}}, {8, {1, 2, 1, 3, 1, 2, 1, 3}}, {8, {2, 2, 2, 3, 3, 2, 2, 3}}},
        {{3, {3, 1, 1}}, {2, {4, 1}}, {3, {3, 4, 1}}},
        {{2, {0, 3}}, {1, {3}}, {2, {0, 3}}},
        {{2, {1, 3}}, {2, {0, 3}}, {2, {0, 3}}},
        {{1, {1}}, {2, {2, 0}}, {2, {2, 0}}},
    };
    grid_state = 3;
    for (int kind = SB_ADD; kind <= SB_MINIMUM; kind++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (int values = 0; values < GRID_KINDS; values++)
                check(ctx, kind, values, &cases[i][0], &cases[i][1], &cases[i][2]);
}

// Every pair of hostile values in every operation.
static void pairs(sb_context *ctx) {
    static const uint32_t bits[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000,
                                    0x3f800000, 0xbf800000, 0x3f800001, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
                                    0x7fc00000, 0xffc00000, 0x7f812345, 0x33800000, 0x4b800001, 0x3eaaaaab};
    enum { N = sizeof bits / sizeof *bits };
    float want[N * N];
    sb_array *a = ARRAY(ctx, SB_F32, bits, N, 1), *b = ARRAY(ctx, SB_F32, bits, N), *out = ARRAY(ctx, SB_F32, NULL, N, N);
    for (int kind = SB_ADD; kind <= SB_MINIMUM; kind++) {
        for (int i = 0; i < N * N; i++) want[i] = binary(kind, grid_float(bits[i / N]), grid_float(bits[i % N]));
        DONE(sb_binary(ctx, (sb_binary_kind)kind, a, b, out, &err));
        EXPECT(out, want, "pairs");
    }
    sb_array_free(a);
    sb_array_free(b);
    sb_array_free(out);
}

static void scale(sb_context *ctx) {
    static const float factors[] = {0.0f, -0.0f, 0.1f, -3.3f, 0x1p-130f, 0x1p120f};
    static const int64_t sizes[] = {0, 1, 255, 256, 4096, 10001};
    for (int values = 0; values < GRID_KINDS; values++)
        for (size_t f = 0; f < sizeof factors / sizeof *factors; f++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                float *x = grid_values(values, sizes[s]), *want = grid_room(sizes[s], sizeof *want);
                for (int64_t i = 0; i < sizes[s]; i++) want[i] = grid_canon(x[i] * factors[f]);
                sb_array *a = ARRAY(ctx, SB_F32, x, sizes[s]), *out = ARRAY(ctx, SB_F32, NULL, sizes[s]);
                DONE(sb_scale(ctx, a, factors[f], out, &err));
                EXPECT(out, want, "scale");
                DONE(sb_scale(ctx, a, factors[f], a, &err));
                EXPECT(a, want, "scale in place");
                sb_array_free(a);
                sb_array_free(out);
                free(x);
                free(want);
            }
}

// Correctly rounded but for ties that 64-bit significands cannot see; the proof of functions looks at those.
static float silu(float x) {
    if (x == -INFINITY) return -0.0f;
    long double z = (long double)x;
    return grid_canon((float)(z / (1.0L + expl(-z))));
}
static float silu_slope(float x) {
    if (x == -INFINITY) return -0.0f;
    if (x == INFINITY) return 1.0f;
    long double z = (long double)x, e = expl(-fabsl(z)), s = z < 0 ? e / (1.0L + e) : 1.0L / (1.0L + e);
    return grid_canon((float)(s * (1.0L + z * (z < 0 ? 1.0L / (1.0L + e) : e / (1.0L + e)))));
}

static void swiglu(sb_context *ctx) {
    static const int64_t sizes[] = {0, 1, 300, 4097};
    if (sizeof(long double) == sizeof(double)) return; // (nothing wider to compare with on this machine)
    for (int values = 0; values < GRID_KINDS; values++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            int64_t n = sizes[s];
            float *g = grid_values(values, n), *u = grid_values(values, n), *d = grid_values(values, n);
            float *y = grid_room(n, sizeof *y), *dg = grid_room(n, sizeof *dg), *du = grid_room(n, sizeof *du);
            for (int64_t i = 0; i < n; i++) {
                if (values == 2) g[i] = grid_value(0), d[i] = grid_value(0); // subnormal silu: ties are its norm
                y[i] = grid_canon(silu(g[i]) * u[i]);
                du[i] = grid_canon(d[i] * silu(g[i]));
                float product = d[i] * u[i];
                dg[i] = grid_canon(product * silu_slope(g[i]));
            }
            sb_array *gate = ARRAY(ctx, SB_F32, g, n), *up = ARRAY(ctx, SB_F32, u, n), *dy = ARRAY(ctx, SB_F32, d, n);
            sb_array *out = ARRAY(ctx, SB_F32, NULL, n), *dgate = ARRAY(ctx, SB_F32, NULL, n), *dup = ARRAY(ctx, SB_F32, NULL, n);
            DONE(sb_swiglu(ctx, gate, up, out, &err));
            EXPECT(out, y, "swiglu");
            DONE(sb_swiglu_backward(ctx, gate, up, dy, dgate, dup, &err));
            EXPECT(dgate, dg, "dgate");
            EXPECT(dup, du, "dup");
            DONE(sb_swiglu_backward(ctx, gate, up, dy, gate, up, &err));
            EXPECT(gate, dg, "dgate in place");
            EXPECT(up, du, "dup in place");
            sb_array *all[] = {gate, up, dy, out, dgate, dup};
            for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
            float *rooms[] = {g, u, d, y, dg, du};
            for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) free(rooms[i]);
        }
}

static void refusals(sb_context *ctx) {
    sb_array *x = ARRAY(ctx, SB_F32, NULL, 2, 3), *y = ARRAY(ctx, SB_F32, NULL, 2, 3), *row = ARRAY(ctx, SB_F32, NULL, 3);
    sb_array *two = ARRAY(ctx, SB_F32, NULL, 2), *i32 = ARRAY(ctx, SB_I32, NULL, 2, 3), *big = ARRAY(ctx, SB_F32, NULL, 2, 2, 3);
    sb_array *none = ARRAY(ctx, SB_F32, NULL, 0, 3), *six = ARRAY(ctx, SB_F32, NULL, 6), *one = ARRAY(ctx, SB_F32, NULL, 1);
    REFUSED(sb_binary(ctx, (sb_binary_kind)0, x, row, y, &err), SB_ERR_ARGUMENT, "kind");
    REFUSED(sb_binary(ctx, (sb_binary_kind)8, x, row, y, &err), SB_ERR_ARGUMENT, "kind");
    REFUSED(sb_binary(ctx, SB_ADD, x, two, y, &err), SB_ERR_SHAPE, "b");
    REFUSED(sb_binary(ctx, SB_ADD, two, x, y, &err), SB_ERR_SHAPE, "a");
    REFUSED(sb_binary(ctx, SB_ADD, x, row, big, &err), SB_ERR_SHAPE, "out");
    REFUSED(sb_binary(ctx, SB_ADD, one, one, row, &err), SB_ERR_SHAPE, "out");
    REFUSED(sb_binary(ctx, SB_ADD, x, big, y, &err), SB_ERR_SHAPE, "b");
    REFUSED(sb_binary(ctx, SB_ADD, x, row, six, &err), SB_ERR_SHAPE, "a");
    REFUSED(sb_binary(ctx, SB_ADD, none, x, y, &err), SB_ERR_SHAPE, "a"); // a length of 0 is not repeated
    REFUSED(sb_binary(ctx, SB_ADD, i32, row, y, &err), SB_ERR_DTYPE, "a");
    REFUSED(sb_binary(ctx, SB_ADD, x, i32, y, &err), SB_ERR_DTYPE, "b");
    REFUSED(sb_binary(ctx, SB_ADD, x, row, i32, &err), SB_ERR_DTYPE, "out");
    REFUSED(sb_scale(ctx, x, 2.0f, six, &err), SB_ERR_SHAPE, "out");
    REFUSED(sb_scale(ctx, i32, 2.0f, x, &err), SB_ERR_DTYPE, "x");
    REFUSED(sb_swiglu(ctx, x, row, y, &err), SB_ERR_SHAPE, "up");
    REFUSED(sb_swiglu(ctx, x, y, six, &err), SB_ERR_SHAPE, "y");
    REFUSED(sb_swiglu_backward(ctx, row, row, row, x, y, &err), SB_ERR_SHAPE, "dgate");
    sb_array *part = NULL; // overlapping, but not the same
    DONE(sb_array_slice(six, 1, 5, &part, &err));
    sb_array *other = NULL;
    DONE(sb_array_slice(six, 0, 5, &other, &err));
    REFUSED(sb_scale(ctx, part, 2.0f, other, &err), SB_ERR_OVERLAP, "out");
    REFUSED(sb_binary(ctx, SB_ADD, part, one, other, &err), SB_ERR_OVERLAP, "out");
    sb_array *all[] = {x, y, row, two, i32, big, none, part, other, six, one};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
}

int main(void) {
    grid_run(definitions);
    grid_run(pairs);
    grid_run(scale);
    grid_run(swiglu);
    grid_run(refusals);
    return test_end();
}
