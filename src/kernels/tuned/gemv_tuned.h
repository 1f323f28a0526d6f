// SPDX-License-Identifier: Apache-2.0
// k_gemv for CPUs with vectors and fma (contract T3; product.h is the portable text with the same bits), in the types IN
// of the data and T of the product; SBI_TUNED_NAME names the function.
//
// The chain of an output is ascending, so lanes are outputs. Where an output's terms are contiguous, a square of LANES
// outputs by LANES steps is turned over in registers, then goes step by step, for all of k before the next outputs, so
// that memory is read in long rows. Where the outputs are contiguous instead, lanes are outputs as they stand, and many
// groups of them go together, again for long rows.
#include "kernels.h"
#include "tuned/vector.h"

enum { CHUNK = 256, CHUNKS_A_RUN = 64, GROUP = 256, TOGETHER = 8 * GROUP, AHEAD = 512 / sizeof(IN),
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

// LANES outputs whose terms are contiguous.
static vec turned(const matrix *g, const IN *w) {
    vec run = vec_all((T)0), sum = run;
    for (int64_t p = 0; p < g->k; p += CHUNK) {
        const int64_t end = g->k - p < CHUNK ? g->k : p + CHUNK;
        vec r = vec_all((T)0);
        int64_t s = p;
        for (; s + LANES <= end; s += LANES) {
            T square[LANES * LANES];
            const T *at = (const void *)(w + s);
            int64_t row = g->column;
            UNROLL for (int u = 0; u < LANES; u++) {
                __builtin_prefetch(w + u * g->column + s + AHEAD);
                if (WIDENS) vec_store(square + u * LANES, vec_in(w + u * g->column + s));
            }
            if (WIDENS) at = square, row = LANES;
            UNROLL for (int u = 0; u < LANES; u += QUARTER) {
                vec column[QUARTER];
                UNROLL for (int q = 0; q < QUARTER; q++) column[q] = vec_quarters(at + q * row + u, row);
                vec_turn_quarters(column);
                UNROLL for (int q = 0; q < QUARTER; q++) r = vec_fma(vec_all((T)g->x[s + u + q]), column[q], r);
            }
        }
        for (; s < end; s++) {
            T y[LANES];
            for (int j = 0; j < LANES; j++) y[j] = (T)w[j * g->column + s];
            r = vec_fma(vec_all((T)g->x[s]), vec_load(y), r);
        }
        add_chunk(r, p / CHUNK + 1, &run, &sum);
    }
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

// `count` outputs, whole vectors, that stand beside each other.
static void beside(const matrix *g, const IN *w, int64_t count, T *total) {
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
void SBI_TUNED_LEVEL(const sbi_arg *args, int64_t first, int64_t last);
void SBI_TUNED_LEVEL(const sbi_arg *args, int64_t first, int64_t last) {
    const matrix g = {.w = args[0].in, .x = args[1].in, .k = args[5].i, .column = args[6].i, .step = args[7].i};
    const T *bias = args[2].in;
    const int64_t n = args[4].i, bias_step = args[8].i, flags = args[9].i, end = last * GROUP < n ? last * GROUP : n;
    const T alpha = (T)args[10].f;
    T *out = args[3].out;
    for (int64_t j0 = first * GROUP; j0 < end; j0 += TOGETHER) {
        const int64_t count = end - j0 < TOGETHER ? end - j0 : TOGETHER;
        const int64_t whole = g.step == 1 || g.column == 1 ? count / LANES * LANES : 0;
        _Alignas(64) T total[TOGETHER];
        if (g.step != 1) beside(&g, g.w + j0, whole, total);
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
