// SPDX-License-Identifier: Apache-2.0
// k_gemv for CPUs with vectors and fma (contract T3; product.h is the portable text with the same bits), in the types IN
// of the data and T of the product; SBI_TUNED_NAME names the function.
//
// The chain of an output is ascending, so lanes are outputs. Where an output's terms are contiguous, a square of LANES
// outputs by LANES steps is turned over in registers, then goes step by step, for all of k before the next outputs, so
// that memory is read in long rows. Where the outputs are contiguous instead, lanes are outputs as they stand, and many
// groups of them go together, again for long rows. What comes is fetched into the second cache: rows a power of two apart
// would throw each other out of the first.
#include "kernels.h"
#include "tuned/vector.h"

enum { CHUNK = 256, CHUNKS_A_RUN = 64, GROUP = 256, TOGETHER = 8 * GROUP, AHEAD = 1024 / sizeof(IN), ROWS_AHEAD = 8, FAR = (8 << 20) / sizeof(IN),
       SCALED = 1, BIAS = 2, ACCUMULATE = 4 };

typedef struct matrix {
    const IN *w, *x; // output j and step s of w at w[j * column + s * step]
    int64_t k, column, step;
} matrix;

// Adds a chunk to the run's total, and a full run, of which `chunks` were, to the sum.
static inline void add_chunk(vec chunk, int64_t chunks, vec *run, vec *sum) {
    *run = *run + chunk;
    if (chunks % CHUNKS_A_RUN == 0) {
        *sum = *sum + *run;
        *run = vec_all((T)0);
    }
}

// A number that a compiler does not see through: it has no pointer of its own for every row, kept on the stack.
static inline int64_t opaque(int64_t x) {
    __asm__("" : "+r"(x));
    return x;
}

// A chunk of LANES outputs whose terms are contiguous. A line of each row is read in one go: rows may collide in a cache.
static inline vec turned_chunk(const matrix *g, const IN *w, const IN *x, int64_t steps) {
    vec r = vec_all((T)0);
    int64_t s = 0;
    for (; s + LANES <= steps; s += LANES) {
        T square[LANES * LANES];
        vec column[LANES];
        const int64_t row = opaque(g->column);
        UNROLL for (int q = 0; q < QUARTER; q++) {
            const int64_t apart = opaque(q * row);
            UNROLL for (int u = q; u < LANES; u += QUARTER) __builtin_prefetch(w + s + (u - q) * row + apart + AHEAD, 0, 2);
            if (WIDENS)
                UNROLL for (int u = q; u < LANES; u += QUARTER) vec_store(square + u * LANES, vec_in(w + s + (u - q) * row + apart));
            else
                UNROLL for (int u = 0; u < LANES; u += QUARTER) column[u + q] = vec_quarters((const void *)(w + s + apart + u), row);
        }
        if (WIDENS)
            UNROLL for (int q = 0; q < QUARTER; q++)
                UNROLL for (int u = 0; u < LANES; u += QUARTER) column[u + q] = vec_quarters(square + q * LANES + u, LANES);
        UNROLL for (int u = 0; u < LANES; u += QUARTER) {
            vec_turn_quarters(column + u);
            UNROLL for (int q = 0; q < QUARTER; q++) r = vec_fma(vec_all((T)x[s + u + q]), column[u + q], r);
        }
    }
    for (; s < steps; s++) {
        T y[LANES];
        for (int j = 0; j < LANES; j++) y[j] = (T)w[j * g->column + s];
        r = vec_fma(vec_all((T)x[s]), vec_load(y), r);
    }
    return r;
}

// LANES outputs whose terms are contiguous.
static vec turned(const matrix *g, const IN *w) {
    vec run = vec_all((T)0), sum = run;
    for (int64_t p = 0; p < g->k; p += CHUNK)
        add_chunk(turned_chunk(g, w + p, g->x + p, g->k - p < CHUNK ? g->k - p : CHUNK), p / CHUNK + 1, &run, &sum);
    return sum + run;
}

static T single(const matrix *g, const IN *w) {
    vec run = vec_all((T)0), sum = run;
    for (int64_t p = 0; p < g->k; p += CHUNK) {
        const int64_t end = g->k - p < CHUNK ? g->k : p + CHUNK;
        vec r = vec_all((T)0);
        for (int64_t s = p; s < end; s++) r = vec_fma(vec_all((T)g->x[s]), vec_all((T)w[s * g->step]), r);
        add_chunk(r, p / CHUNK + 1, &run, &sum);
    }
    T total[LANES];
    vec_store(total, sum + run);
    return total[0];
}

// `count` outputs, whole vectors, that stand beside each other. far: the matrix comes from memory, not from a cache.
static inline __attribute__((always_inline)) void beside(const int far, const matrix *g, const IN *w, int64_t count, T *total) {
    _Alignas(64) T run[TOGETHER] = {0}, sum[TOGETHER] = {0}, chunk[TOGETHER];
    for (int64_t p = 0; p < g->k; p += CHUNK) {
        const int64_t end = g->k - p < CHUNK ? g->k : p + CHUNK, step = g->step;
        __builtin_memset(chunk, 0, (size_t)count * sizeof *chunk);
        int64_t s = p;
        for (; s + 4 <= end; s += 4) {
            const IN *row = w + s * step, *x = g->x + s;
            const vec x0 = vec_all((T)x[0]), x1 = vec_all((T)x[1]), x2 = vec_all((T)x[2]), x3 = vec_all((T)x[3]);
            for (int64_t j = 0; j < count; j += LANES) {
                vec r = vec_fma(x0, vec_in(row + j), vec_load(chunk + j));
                if (far) UNROLL for (int i = 0; i < 4; i++) __builtin_prefetch(row + (ROWS_AHEAD + i) * step + j, 0, 2);
                r = vec_fma(x1, vec_in(row + step + j), r);
                r = vec_fma(x2, vec_in(row + 2 * step + j), r);
                vec_store(chunk + j, vec_fma(x3, vec_in(row + 3 * step + j), r));
            }
        }
        for (; s < end; s++)
            for (int64_t j = 0; j < count; j += LANES)
                vec_store(chunk + j, vec_fma(vec_all((T)g->x[s]), vec_in(w + s * step + j), vec_load(chunk + j)));
        for (int64_t j = 0; j < count; j += LANES) {
            vec t = vec_load(run + j), u = vec_load(sum + j);
            add_chunk(vec_load(chunk + j), p / CHUNK + 1, &t, &u);
            vec_store(run + j, t);
            vec_store(sum + j, u);
        }
    }
    for (int64_t j = 0; j < count; j += LANES) vec_store(total + j, vec_load(sum + j) + vec_load(run + j));
}

#define SBI_TUNED_LEVEL SBI_VECTOR_JOIN(SBI_TUNED_NAME, SBI_LEVEL)
void SBI_TUNED_LEVEL(const sbi_arg *args, int64_t first, int64_t last, void *scratch);
void SBI_TUNED_LEVEL(const sbi_arg *args, int64_t first, int64_t last, void *scratch) {
    (void)scratch;
    const matrix g = {.w = args[0].in, .x = args[1].in, .k = args[5].i, .column = args[6].i, .step = args[7].i};
    const T *bias = args[2].in;
    const int64_t n = args[4].i, bias_step = args[8].i, flags = args[9].i, end = last * GROUP < n ? last * GROUP : n;
    const T alpha = (T)args[10].f;
    const int far = n * g.k > FAR;
    T *out = args[3].out;
    for (int64_t j0 = first * GROUP; j0 < end; j0 += TOGETHER) {
        const int64_t count = end - j0 < TOGETHER ? end - j0 : TOGETHER;
        const int64_t whole = g.step == 1 || g.column == 1 ? count / LANES * LANES : 0;
        _Alignas(64) T total[TOGETHER];
        if (g.step != 1 && far) beside(1, &g, g.w + j0, whole, total);
        else if (g.step != 1) beside(0, &g, g.w + j0, whole, total);
        for (int64_t j = 0; j < whole && g.step == 1; j += LANES) vec_store(total + j, turned(&g, g.w + (j0 + j) * g.column));
        for (int64_t j = whole; j < count; j++) total[j] = single(&g, g.w + (j0 + j) * g.column);
        for (int64_t j = 0; j < count; j++) {
            T y = total[j];
            y = (flags & SCALED) ? y * alpha : y;
            y = (flags & BIAS) ? y + bias[(j0 + j) * bias_step] : y;
            y = (flags & ACCUMULATE) ? out[j0 + j] + y : y;
            total[j] = y;
        }
        for (int64_t j = 0; j < count; j += LANES) {
            const int64_t left = count - j;
            if (left < LANES) vec_store_some(out + j0 + j, vec_canon(vec_load_some(total + j, left)), left);
            else vec_store(out + j0 + j, vec_canon(vec_load(total + j)));
        }
    }
}
