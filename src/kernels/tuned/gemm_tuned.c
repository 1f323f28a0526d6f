// SPDX-License-Identifier: Apache-2.0
// k_gemm_f32 for CPUs with vectors and fma (contract T3; gemm.cl is the portable text with the same bits).
//
// A strip of up to ROWS rows of A goes against a panel of WIDE columns of B, k innermost and ascending, one accumulator
// an entry of C: the chain of the contract, as it stands, in registers. After 256 steps the chunk is added to the run's
// total, a small buffer in the first cache. Panels of B are packed, k outermost (turned over where B is transposed),
// unless few rows would use them; a strip of A is read where it stands if its rows are contiguous and do not collide
// in the cache, else packed too. Rows are shared out evenly among strips, so that 64 rows are 5 strips of 13, not 4
// and a rest.
// The scheme of panels: K. Goto, R. van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.
#include "kernels.h"
#include "tuned/vector.h"

#include <stddef.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

#if defined(__AVX512F__)
enum { ROWS = 14, ACROSS = 2, STRIP = 16 };
#elif defined(__AVX2__)
enum { ROWS = 6, ACROSS = 2, STRIP = 8 };
#else
enum { ROWS = 7, ACROSS = 3, STRIP = 8 };
#endif
enum {
    WIDE = ACROSS * LANES,
    CHUNK = 256,
    CHUNKS_A_RUN = 64,
    RUN = CHUNK * CHUNKS_A_RUN,
    SHALLOW = 512,        // steps of k at once where totals stay in C
    TOGETHER = 64 * 1024, // floats of A packed at once: neighbouring strips share lines of memory
    DEEPEST = 2048,       // steps of k packed at once, a divisor of a run
    PACKED = 128 * 1024,  // floats of B packed at once: a good part of the second cache
    TALL = 256,           // rows whose totals are kept while k goes on beyond DEEPEST
    SHORT = 128,          // rows that leave k as it is up to 2 * SHALLOW
    FEW = 8,              // rows for which packing B does not pay
    SCALED = 1, BIAS = 2, ACCUMULATE = 4
};

typedef struct product {
    const float *a, *b, *bias;
    float *c;
    int64_t m, n, k, tile_rows, tile_columns;
    int64_t a_row, a_step, b_column, b_step; // strides of op(A)[i][s], op(B)[s][j]
    int64_t flags;
    float alpha;
} product;

// A strip against a panel: steps from .. from + depth - 1 of k, of which a[0], b[0] are the first.
typedef struct piece {
    const float *a, *b;
    int64_t a_row, b_step; // a: rows apart (direct); b: steps apart
    int64_t depth, from, k;
    float *run, *sum; // totals: run[rows][run_step] and, where k has more than one run, sum[rows][WIDE]
    float *c;         // the strip's corner in C, c_step apart
    int64_t run_step, c_step;
    int direct; // the last total goes to C from registers: full width, one run, nothing to do at the end
} piece;

static inline __attribute__((always_inline)) void multiply(const int rows, const int packed, const piece *p) {
    const float *a = p->a, *b = p->b;
    const int64_t b_step = p->b_step, a_row = packed ? 1 : p->a_row, a_step = packed ? STRIP : 1;
    for (int64_t s = 0; s < p->depth; s += CHUNK) {
        vec r[ROWS][ACROSS];
        UNROLL for (int i = 0; i < rows; i++)
            UNROLL for (int j = 0; j < ACROSS; j++) r[i][j] = vec_all(0.0f);
        int64_t steps = p->depth - s < CHUNK ? p->depth - s : CHUNK;
        for (int64_t t = 0; t < steps; t++) {
            vec y[ACROSS];
            UNROLL for (int j = 0; j < ACROSS; j++) y[j] = vec_load(b + j * LANES);
            UNROLL for (int i = 0; i < rows; i++) {
                vec x = vec_all(a[i * a_row]);
                UNROLL for (int j = 0; j < ACROSS; j++) r[i][j] = vec_fma(x, y[j], r[i][j]);
            }
            a += a_step;
            b += b_step;
        }
        const int64_t at = p->from + s; // of k
        const vec zero = vec_all(0.0f);
        const int first = at / CHUNK % CHUNKS_A_RUN == 0, last = at + steps == p->k;
        if (last && p->direct) {
            UNROLL for (int i = 0; i < rows; i++)
                UNROLL for (int j = 0; j < ACROSS; j++) {
                    const vec t = first ? zero : vec_load(p->run + i * p->run_step + j * LANES);
                    vec_store(p->c + i * p->c_step + j * LANES, vec_canon(t + r[i][j]));
                }
            return;
        }
        UNROLL for (int i = 0; i < rows; i++)
            UNROLL for (int j = 0; j < ACROSS; j++) {
                float *t = p->run + i * p->run_step + j * LANES;
                vec_store(t, (first ? zero : vec_load(t)) + r[i][j]);
            }
        if (p->k > RUN && ((at + CHUNK) % RUN == 0 || last)) {
            for (int i = 0; i < rows * ACROSS; i++) {
                float *t = p->sum + i * LANES;
                vec_store(t, (at < RUN ? zero : vec_load(t)) + vec_load(p->run + i * LANES));
            }
        }
    }
}

// One function a height, so that the accumulators are registers.
typedef void (*strip)(const piece *p);
#define HEIGHT(n) \
    static void direct_##n(const piece *p) { multiply(n, 0, p); } \
    static void packed_##n(const piece *p) { multiply(n, 1, p); }
HEIGHT(1) HEIGHT(2) HEIGHT(3) HEIGHT(4) HEIGHT(5) HEIGHT(6)
#if !defined(__AVX2__)
HEIGHT(7)
#elif defined(__AVX512F__)
HEIGHT(7) HEIGHT(8) HEIGHT(9) HEIGHT(10) HEIGHT(11) HEIGHT(12) HEIGHT(13) HEIGHT(14)
#endif
static const strip strips[2][ROWS + 1] = {
#if defined(__AVX512F__)
    {0, direct_1, direct_2, direct_3, direct_4, direct_5, direct_6, direct_7, direct_8, direct_9, direct_10, direct_11,
     direct_12, direct_13, direct_14},
    {0, packed_1, packed_2, packed_3, packed_4, packed_5, packed_6, packed_7, packed_8, packed_9, packed_10, packed_11,
     packed_12, packed_13, packed_14},
#elif defined(__AVX2__)
    {0, direct_1, direct_2, direct_3, direct_4, direct_5, direct_6},
    {0, packed_1, packed_2, packed_3, packed_4, packed_5, packed_6},
#else
    {0, direct_1, direct_2, direct_3, direct_4, direct_5, direct_6, direct_7},
    {0, packed_1, packed_2, packed_3, packed_4, packed_5, packed_6, packed_7},
#endif
};

// Panel to[depth][WIDE] of `columns` columns of op(B), padded with zeros.
static void pack_panel(const float *b, int64_t b_column, int64_t b_step, int64_t columns, int64_t depth, float *to) {
    if (columns == WIDE && b_column == 1) {
        for (int64_t s = 0; s < depth; s++)
            for (int j = 0; j < ACROSS; j++) vec_store(to + s * WIDE + j * LANES, vec_load(b + s * b_step + j * LANES));
        return;
    }
    int64_t whole = 0; // columns already packed for all of the first `steps` steps
    int64_t steps = depth / LANES * LANES;
    if (b_step == 1) {
        for (; whole + LANES <= columns; whole += LANES)
            for (int64_t s = 0; s < steps; s += LANES)
                vec_transpose(b + whole * b_column + s, b_column, LANES, to + s * WIDE + whole, WIDE);
    }
    for (int64_t s = 0; s < depth; s++) {
        for (int64_t j = s < steps ? whole : 0; j < WIDE; j++)
            to[s * WIDE + j] = j < columns ? b[s * b_step + j * b_column] : 0.0f;
    }
}

// The strips first .. first+count-1 of those that `in` rows are shared among, each to[depth][STRIP]; `left` floats from
// `a` (the first row) on may be read.
static int64_t strip_start(int64_t in, int64_t strips_in, int64_t q) { return in * q / strips_in; }
static void pack_strips(const float *a, int64_t a_row, int64_t a_step, int64_t left, int64_t in, int64_t strips_in,
                        int64_t first, int64_t count, int64_t depth, float *to) {
    int64_t s = 0;
    if (a_row == 1) {
        const int64_t end = strip_start(in, strips_in, first + count - 1) + STRIP;
        for (; s < depth && s * a_step + end <= left; s++)
            for (int64_t q = 0; q < count; q++)
                for (int i = 0; i < STRIP; i += LANES)
                    vec_store(to + (q * depth + s) * STRIP + i, vec_load(a + strip_start(in, strips_in, first + q) + s * a_step + i));
    }
    for (int64_t q = 0; q < count; q++) {
        const int64_t start = strip_start(in, strips_in, first + q), rows = strip_start(in, strips_in, first + q + 1) - start;
        const float *from = a + start * a_row;
        float *into = to + q * depth * STRIP;
        int64_t t = s;
        for (; a_row != 1 && t + LANES <= depth; t += LANES)
            for (int64_t i = 0; i < rows; i += LANES)
                vec_transpose(from + i * a_row + t, a_row, rows - i, into + t * STRIP + i, STRIP);
        for (; t < depth; t++)
            for (int64_t i = 0; i < rows; i++) into[t * STRIP + i] = from[i * a_row + t * a_step];
    }
}

// Writes rows x columns of C from the totals: scale, bias, accumulate.
static void finish(const product *g, const float *total, int64_t total_step, int64_t i0, int64_t j0, int64_t rows, int64_t columns) {
    const vec alpha = vec_all(g->alpha);
    const int64_t flags = g->flags;
    for (int64_t i = 0; i < rows; i++) {
        float *c = g->c + (i0 + i) * g->n + j0;
        for (int64_t j = 0; j < columns; j += LANES) {
            float edge[LANES] = {0}, old[LANES] = {0};
            int64_t left = columns - j;
            vec x = vec_load(total + i * total_step + j);
            if (flags & SCALED) x = x * alpha;
            if (left >= LANES) {
                if (flags & BIAS) x = x + vec_load(g->bias + j0 + j);
                if (flags & ACCUMULATE) x = vec_load(c + j) + x;
                vec_store(c + j, vec_canon(x));
                continue;
            }
            if (flags & BIAS) __builtin_memcpy(edge, g->bias + j0 + j, (size_t)left * sizeof *edge);
            if (flags & ACCUMULATE) __builtin_memcpy(old, c + j, (size_t)left * sizeof *old);
            if (flags & BIAS) x = x + vec_load(edge);
            if (flags & ACCUMULATE) x = vec_load(old) + x;
            vec_store(edge, vec_canon(x));
            __builtin_memcpy(c + j, edge, (size_t)left * sizeof *edge);
        }
    }
}

typedef struct buffers {
    _Alignas(64) float panels[PACKED];
    _Alignas(64) float strips[TOGETHER];
    _Alignas(64) float run[(TALL + ROWS) * WIDE];
    _Alignas(64) float sum[(TALL + ROWS) * WIDE];
} buffers;

// Rows i0 .. i0+rows-1 and columns j0 .. j0+columns-1 of C.
static void tile(const product *g, buffers *w, int64_t i0, int64_t j0, int64_t rows, int64_t columns) {
    const int64_t k = g->k, flags = g->flags;
    if (k == 0) {
        __builtin_memset(w->sum, 0, ROWS * WIDE * sizeof(float));
        for (int64_t i = 0; i < rows; i += ROWS)
            for (int64_t j = 0; j < columns; j += WIDE)
                finish(g, w->sum, WIDE, i0 + i, j0 + j, rows - i < ROWS ? rows - i : ROWS, columns - j < WIDE ? columns - j : WIDE);
        return;
    }
    // Where k is long, totals wait for the next steps of k: in C, if it has no old value to keep, else in buffers.
    const int in_c = (k > 2 * SHALLOW || (k > SHALLOW && rows > SHORT)) && k <= RUN && !(flags & ACCUMULATE);
    if (in_c && columns % WIDE != 0 && columns > WIDE) { // (whole panels only)
        tile(g, w, i0, j0, rows, columns / WIDE * WIDE);
        tile(g, w, i0, j0 + columns / WIDE * WIDE, rows, columns % WIDE);
        return;
    }
    const int waits_in_c = in_c && columns % WIDE == 0;
    const int64_t most = waits_in_c ? SHALLOW : DEEPEST, deep = k < most ? k : most;
    const int waits = k > deep && !waits_in_c;
    const int64_t kept = waits ? TALL : rows; // rows at a time
    const int64_t block = waits ? WIDE : PACKED / (deep * WIDE) * WIDE; // columns at a time
    const int far = g->a_row > 1 && g->a_row % 512 == 0; // rows of A collide in the first cache
    for (int64_t jb = 0; jb < columns; jb += block) {
        const int64_t jn = columns - jb < block ? columns - jb : block;
        for (int64_t ib = 0; ib < rows; ib += kept) {
            const int64_t in = rows - ib < kept ? rows - ib : kept, count = (in + ROWS - 1) / ROWS;
            const int use_b = g->b_column == 1 && in <= FEW; // where it stands
            const int pack = g->a_step != 1 || (far && in > 4 && jn > WIDE);
            for (int64_t s = 0; s < k; s += deep) {
                const int64_t depth = k - s < deep ? k - s : deep;
                const int64_t together = TOGETHER / (depth * STRIP) < 4 ? TOGETHER / (depth * STRIP) : 4;
                for (int64_t j = 0; j < jn; j += WIDE) {
                    const int64_t wide = jn - j < WIDE ? jn - j : WIDE;
                    if (!use_b || wide < WIDE)
                        pack_panel(g->b + (j0 + jb + j) * g->b_column + s * g->b_step, g->b_column, g->b_step, wide, depth,
                                   w->panels + j * depth);
                }
                for (int64_t q = 0; q < count; q++) {
                    const int64_t i = strip_start(in, count, q), high = strip_start(in, count, q + 1) - i; // of this block
                    const float *a = g->a + (i0 + ib) * g->a_row + s * g->a_step;
                    if (pack && q % together == 0)
                        pack_strips(a, g->a_row, g->a_step, g->m * k - (a - g->a), in, count, q, count - q < together ? count - q : together,
                                    depth, w->strips);
                    for (int64_t j = 0; j < jn; j += WIDE) {
                        const int64_t wide = jn - j < WIDE ? jn - j : WIDE, state = waits ? i * WIDE : 0;
                        const int there = use_b && wide == WIDE;
                        float *c = g->c + (i0 + ib + i) * g->n + j0 + jb + j;
                        const piece p = {
                            .a = pack ? w->strips + q % together * depth * STRIP : a + i * g->a_row,
                            .b = there ? g->b + (j0 + jb + j) + s * g->b_step : w->panels + j * depth,
                            .a_row = g->a_row,
                            .b_step = there ? g->b_step : WIDE,
                            .depth = depth,
                            .from = s,
                            .k = k,
                            .run = waits_in_c ? c : w->run + state,
                            .sum = w->sum + state,
                            .c = c,
                            .run_step = waits_in_c ? g->n : WIDE,
                            .c_step = g->n,
                            .direct = wide == WIDE && flags == 0 && k <= RUN,
                        };
                        strips[pack][high](&p);
                        if (s + depth == k && !p.direct)
                            finish(g, k > RUN ? p.sum : p.run, k > RUN ? WIDE : p.run_step, i0 + ib + i, j0 + jb + j, high, wide);
                    }
                }
            }
        }
    }
}

void JOIN(k_gemm_f32_tuned, SBI_LEVEL)(const sbi_arg *args, int64_t first, int64_t last);
void JOIN(k_gemm_f32_tuned, SBI_LEVEL)(const sbi_arg *args, int64_t first, int64_t last) {
    const int64_t m = args[4].i, n = args[5].i, k = args[6].i, ta = args[7].i, tb = args[8].i;
    const product g = {
        .a = args[0].in, .b = args[1].in, .bias = args[2].in, .c = args[3].out,
        .m = m, .n = n, .k = k,
        .a_row = ta ? 1 : k, .a_step = ta ? m : 1, .b_column = tb ? k : 1, .b_step = tb ? 1 : n,
        .flags = args[9].i, .alpha = (float)args[10].f,
        .tile_rows = args[11].i, .tile_columns = args[12].i,
    };
    buffers w;
    const int64_t across = (n + g.tile_columns - 1) / g.tile_columns;
    for (int64_t group = first; group < last; group++) {
        const int64_t i0 = group / across * g.tile_rows, j0 = group % across * g.tile_columns;
        tile(&g, &w, i0, j0, m - i0 < g.tile_rows ? m - i0 : g.tile_rows, n - j0 < g.tile_columns ? n - j0 : g.tile_columns);
    }
}
