// SPDX-License-Identifier: Apache-2.0
// k_gemm for CPUs with vectors and fma (contract T3; product.h is the portable text with the same bits), in the types IN
// of the data and T of the product; SBI_TUNED_NAME names the function.
//
// A strip of up to ROWS rows of A goes against a panel of WIDE columns of B, k innermost and ascending, one accumulator
// an entry of C: the chain of the contract, as it stands, in registers. After 256 steps the chunk is added to the run's
// total, which waits in C itself. Panels of B are packed, k outermost (turned over where B is transposed), unless few
// strips would use them; strips of A are read where they stand if their rows or columns are contiguous and do not collide
// in the cache, else packed, once. Rows are shared out evenly among strips, so that 64 rows are 5 strips of 13, not 4
// and a rest.
// The scheme of panels: K. Goto, R. van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.
#include "kernels.h"
#include "tuned/panels.h"
#include "tuned/vector.h"

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
    RUN = 64 * CHUNK,
    PANELS = SBI_PANEL_BYTES / sizeof(T), // values of B packed at once: a part of the second cache
    STRIPS = SBI_STRIP_BYTES / sizeof(T), // values of A packed at once
    FEW = 2,                        // strips for which packing B does not pay
    AHEAD = 12,                     // steps: what they need is fetched from the second cache
    LINE = 64 / sizeof(T),
    SCALED = 1, BIAS = 2, ACCUMULATE = 4, UPPER = 8, PART = 16 // as in product.h
};

typedef struct product {
    const IN *a, *b;
    const T *bias;
    T *c;
    int64_t m, n, k, left; // left: values of A from `a` on
    int64_t a_row, a_step, b_column, b_step; // strides of op(A)[i][s], op(B)[s][j]
    int64_t flags;
    T alpha;
} product;

// A strip against a panel: the `steps` steps of a chunk, of which a[0], b[0] are the first.
typedef struct piece {
    const T *a, *b, *bias;
    int64_t a_row, a_step, b_step, steps;
    int first, last; // chunk of the run
    T *c; // the strip's corner in C, c_step apart
    int64_t c_step, columns, flags;
    T alpha;
} piece;

// Where the registers do not simply go to C: columns are missing, or the end has more to do.
static void settle(const piece *p, const T *chunk, int64_t rows) {
    const vec zero = vec_all((T)0), alpha = vec_all(p->alpha);
    const int first = p->first, last = p->last;
    const int64_t flags = last ? p->flags : 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < p->columns; j += LANES) {
            const int64_t left = p->columns - j;
            T *c = p->c + i * p->c_step + j;
            vec old = zero, bias = zero;
            if (!first || flags & ACCUMULATE) old = left < LANES ? vec_load_some(c, left) : vec_load(c);
            if (flags & BIAS) bias = left < LANES ? vec_load_some(p->bias + j, left) : vec_load(p->bias + j);
            vec x = (first ? zero : old) + vec_load(chunk + i * WIDE + j);
            if (flags & SCALED) x = x * alpha;
            if (flags & BIAS) x = x + bias;
            if (flags & ACCUMULATE) x = old + x;
            if (last) x = vec_canon(x);
            if (left < LANES) vec_store_some(c, x, left);
            else vec_store(c, x);
        }
    }
}

// One chunk. (No loop around it: what a compiler would hoist out of one takes registers from the accumulators.)
static inline __attribute__((always_inline)) void multiply(const int rows, const int along, const piece *p) {
    const T *a = p->a, *b = p->b;
    const int64_t b_step = p->b_step, a_row = along ? p->a_row : 1, a_step = along ? 1 : p->a_step;
    vec r[ROWS][ACROSS];
    UNROLL for (int i = 0; i < rows; i++) {
        __builtin_prefetch(p->c + i * p->c_step, 1);
        __builtin_prefetch(p->c + i * p->c_step + WIDE - 1, 1);
        UNROLL for (int j = 0; j < ACROSS; j++) r[i][j] = vec_all((T)0);
    }
    for (int64_t t = p->steps; t > 0; t--) {
        vec y[ACROSS];
        UNROLL for (int j = 0; j < ACROSS; j++) y[j] = vec_load(b + j * LANES);
        UNROLL for (int i = 0; i < rows; i++) {
            vec x = vec_all(a[i * a_row]);
            UNROLL for (int j = 0; j < ACROSS; j++) r[i][j] = vec_fma(x, y[j], r[i][j]);
        }
        UNROLL for (int j = 0; j < WIDE; j += LINE) __builtin_prefetch(b + AHEAD * b_step + j);
        if (!along) UNROLL for (int i = 0; i < rows; i += LINE) __builtin_prefetch(a + AHEAD * a_step + i);
        a += a_step;
        b += b_step;
    }
    if (p->columns < WIDE || (p->last && p->flags & (SCALED | BIAS | ACCUMULATE))) {
        T chunk[ROWS * WIDE];
        UNROLL for (int i = 0; i < rows; i++)
            UNROLL for (int j = 0; j < ACROSS; j++) vec_store(chunk + i * WIDE + j * LANES, r[i][j]);
        settle(p, chunk, rows);
        return;
    }
    const vec zero = vec_all((T)0);
    UNROLL for (int i = 0; i < rows; i++)
        UNROLL for (int j = 0; j < ACROSS; j++) {
            T *c = p->c + i * p->c_step + j * LANES;
            vec x = (p->first ? zero : vec_load(c)) + r[i][j];
            vec_store(c, p->last ? vec_canon(x) : x);
        }
}

// One function a height, so that the accumulators are registers: rows of A contiguous (along), or its columns (down).
typedef void (*strip)(const piece *p);
#define HEIGHT(n) \
    static void down_##n(const piece *p) { multiply(n, 0, p); } \
    static void along_##n(const piece *p) { multiply(n, 1, p); }
HEIGHT(1) HEIGHT(2) HEIGHT(3) HEIGHT(4) HEIGHT(5) HEIGHT(6)
#if !defined(__AVX2__)
HEIGHT(7)
#elif defined(__AVX512F__)
HEIGHT(7) HEIGHT(8) HEIGHT(9) HEIGHT(10) HEIGHT(11) HEIGHT(12) HEIGHT(13) HEIGHT(14)
#endif
static const strip strips[2][ROWS + 1] = {
#if defined(__AVX512F__)
    {0, down_1, down_2, down_3, down_4, down_5, down_6, down_7, down_8, down_9, down_10, down_11, down_12, down_13, down_14},
    {0, along_1, along_2, along_3, along_4, along_5, along_6, along_7, along_8, along_9, along_10, along_11, along_12,
     along_13, along_14},
#elif defined(__AVX2__)
    {0, down_1, down_2, down_3, down_4, down_5, down_6},
    {0, along_1, along_2, along_3, along_4, along_5, along_6},
#else
    {0, down_1, down_2, down_3, down_4, down_5, down_6, down_7},
    {0, along_1, along_2, along_3, along_4, along_5, along_6, along_7},
#endif
};

// Panel to[depth][WIDE] of `columns` columns of op(B), padded with zeros.
static void pack_panel(const IN *b, int64_t b_column, int64_t b_step, int64_t columns, int64_t depth, T *to) {
    if (columns == WIDE && b_column == 1) {
        for (int64_t s = 0; s < depth; s++)
            for (int j = 0; j < ACROSS; j++) vec_store(to + s * WIDE + j * LANES, vec_in(b + s * b_step + j * LANES));
        return;
    }
    if (b_column == 1) {
        for (int64_t s = 0; s < depth; s++, b += b_step, to += WIDE)
            for (int64_t j = 0; j < WIDE; j += LANES) {
                const int64_t left = columns - j;
                vec_store(to + j, left >= LANES ? vec_in(b + j) : left > 0 ? vec_in_some(b + j, left) : vec_all((T)0));
            }
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
            to[s * WIDE + j] = j < columns ? (T)b[s * b_step + j * b_column] : (T)0;
    }
}

static int64_t strip_start(int64_t in, int64_t count, int64_t q) { return in * q / count; }

// Strip to[depth][STRIP] of `rows` rows of op(A). `left` values and `rows_left` rows from `a` on may be read.
static void pack_strip(const IN *a, int64_t a_row, int64_t a_step, int64_t left, int64_t rows_left, int64_t rows, int64_t depth, T *to) {
    int64_t s = 0;
    if (a_row == 1) {
        for (; s < depth && s * a_step + STRIP <= left; s++)
            for (int i = 0; i < STRIP; i += LANES) vec_store(to + s * STRIP + i, vec_in(a + s * a_step + i));
    } else if (a_step == 1) {
        for (; s + LANES <= depth; s += LANES)
            for (int64_t i = 0; i < rows; i += LANES) vec_transpose(a + i * a_row + s, a_row, rows_left - i, to + s * STRIP + i, STRIP);
    }
    for (; s < depth; s++)
        for (int64_t i = 0; i < rows; i++) to[s * STRIP + i] = (T)a[i * a_row + s * a_step];
}

typedef struct buffers { // a thread's scratch
    T panels[PANELS], strips[STRIPS];
} buffers;

// rows x columns of C from c on, a strip of A at a time.
static void tile(const product *g, buffers *w, int64_t i0, int64_t j0, int64_t rows, int64_t columns) {
    const int64_t k = g->k, deep = k < CHUNK ? k : CHUNK;
    const int along = g->a_row != 1; // A by rows
    // Where strips of A collide in the first cache they are packed; so are those that must be widened.
    const int64_t apart = (along ? g->a_row : g->a_step) * (int64_t)sizeof(T);
    const int pack_a = WIDENS || (rows > 4 && columns > WIDE && apart % 4096 == 0);
    const int64_t space = pack_a ? STRIPS / (deep * STRIP) * ROWS : rows; // for so many rows at a time,
    const int64_t parts = (rows + space - 1) / space, most = (rows + parts - 1) / parts;
    for (int64_t ib = 0; ib < rows; ib += most) {
        const int64_t in = rows - ib < most ? rows - ib : most, count = (in + ROWS - 1) / ROWS;
        const int use_b = !WIDENS && g->b_column == 1 && count <= FEW;
        const int64_t block = count == 1 ? WIDE : PANELS / (deep * WIDE) * WIDE; // columns at a time
        for (int64_t s = 0; s < k; s += deep) {
            const int64_t depth = k - s < deep ? k - s : deep;
            const IN *a = g->a + (i0 + ib) * g->a_row + s * g->a_step;
            for (int64_t q = 0; q < count && pack_a; q++) {
                const int64_t i = strip_start(in, count, q), high = strip_start(in, count, q + 1) - i;
                pack_strip(a + i * g->a_row, g->a_row, g->a_step, g->left - (a + i * g->a_row - g->a), g->m - i0 - ib - i, high, depth,
                           w->strips + q * depth * STRIP);
            }
            for (int64_t jb = 0; jb < columns; jb += block) {
                const int64_t jn = columns - jb < block ? columns - jb : block;
                if (g->flags & UPPER && i0 + ib >= j0 + jb + jn) continue;
                const IN *b = g->b + (j0 + jb) * g->b_column + s * g->b_step;
                for (int64_t j = 0; j < jn; j += WIDE)
                    if (!use_b || jn - j < WIDE)
                        pack_panel(b + j * g->b_column, g->b_column, g->b_step, jn - j < WIDE ? jn - j : WIDE, depth, w->panels + j * depth);
                for (int64_t q = 0; q < count; q++) {
                    const int64_t i = strip_start(in, count, q), high = strip_start(in, count, q + 1) - i;
                    for (int64_t j = 0; j < jn; j += WIDE) {
                        const int64_t wide = jn - j < WIDE ? jn - j : WIDE;
                        const int there = use_b && wide == WIDE;
                        if (g->flags & UPPER && i0 + ib + i >= j0 + jb + j + wide) continue;
                        const piece p = {
                            .a = pack_a ? w->strips + q * depth * STRIP : (const void *)(a + i * g->a_row),
                            .b = there ? (const void *)(b + j) : w->panels + j * depth,
                            .bias = g->bias ? g->bias + j0 + jb + j : NULL,
                            .a_row = g->a_row,
                            .a_step = pack_a ? STRIP : g->a_step,
                            .b_step = there ? g->b_step : WIDE,
                            .steps = depth,
                            .first = s == 0,
                            .last = s + depth == k,
                            .c = g->c + (i0 + ib + i) * g->n + j0 + jb + j,
                            .c_step = g->n,
                            .columns = wide,
                            .flags = g->flags,
                            .alpha = g->alpha,
                        };
                        strips[along && !pack_a][high](&p);
                    }
                }
            }
        }
    }
}

// A product of no steps: +0, and the end.
static void tile_of_nothing(const product *g, int64_t i0, int64_t j0, int64_t rows, int64_t columns) {
    static const T nothing[ROWS * WIDE];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j += WIDE) {
            const piece p = {.bias = g->bias ? g->bias + j0 + j : NULL, .first = 1, .last = 1,
                             .c = g->c + (i0 + i) * g->n + j0 + j, .c_step = g->n,
                             .columns = columns - j < WIDE ? columns - j : WIDE, .flags = g->flags, .alpha = g->alpha};
            settle(&p, nothing, 1);
        }
}

#define SBI_TUNED_LEVEL SBI_VECTOR_JOIN(SBI_TUNED_NAME, SBI_LEVEL)
void SBI_TUNED_LEVEL(const sbi_arg *args, int64_t first, int64_t last, void *scratch);
void SBI_TUNED_LEVEL(const sbi_arg *args, int64_t first, int64_t last, void *scratch) {
    const int64_t m = args[4].i, n = args[5].i, k = args[6].i, ta = args[7].i, tb = args[8].i, flags = args[9].i;
    const int64_t tile_rows = args[11].i, tile_columns = args[12].i, a_batch = args[13].i, b_batch = args[14].i;
    const int64_t first_batch = args[15].i, runs = args[16].i, first_run = args[17].i;
    const int64_t across = (n + tile_columns - 1) / tile_columns, tiles = (m + tile_rows - 1) / tile_rows * across;
    buffers *w = scratch;
    for (int64_t group = first; group < last; group++) {
        const int64_t slice = group / tiles, batch = first_batch + slice / runs, from = (first_run + slice % runs) * RUN;
        const int64_t i0 = group % tiles / across * tile_rows, j0 = group % across * tile_columns;
        const int64_t rows = m - i0 < tile_rows ? m - i0 : tile_rows, columns = n - j0 < tile_columns ? n - j0 : tile_columns;
        const product g = {
            .a = (const IN *)args[0].in + batch * a_batch + from * (ta ? m : 1),
            .b = (const IN *)args[1].in + batch * b_batch + from * (tb ? 1 : n),
            .bias = args[2].in,
            .c = (T *)args[3].out + slice * m * n,
            .m = m, .n = n, .k = k - from < RUN ? k - from : RUN,
            .left = m * k - from * (ta ? m : 1),
            .a_row = ta ? 1 : k, .a_step = ta ? m : 1, .b_column = tb ? k : 1, .b_step = tb ? 1 : n,
            .flags = flags, .alpha = (T)args[10].f,
        };
        if (k == 0) tile_of_nothing(&g, i0, j0, rows, columns);
        else tile(&g, w, i0, j0, rows, columns);
    }
}
