// SPDX-License-Identifier: Apache-2.0
// k_nearest_few for CPUs with vectors and fma (distance.cl has the portable text and the bound by which labels are certain), for
// data of type T; SBI_TUNED_NAME names the function.
//
// Lanes are rows: some vectors of them are turned over, less the origin, into the first cache; then the scores of several points are
// summed in registers at a time. What is not certain, and the distances asked for, are the definition's.
#include "kernels.h"
#include "tuned/vector.h"

enum { FEW = 256, GROUP = 64, POINTS = 8, VECTORS = VECTOR_BYTES == 32 ? 1 : 2, ROWS = VECTORS * LANES };

typedef struct nearest {
    const T *x, *c, *origin, *apart, *halves;
    int64_t n, m, d;
    T largest, slope, least, limit;
} nearest;

typedef struct choice { // of ROWS rows
    vec best[VECTORS], second[VECTORS], where[VECTORS];
} choice;

// S of T2, of one block.
static double square_of(const T *row, const T *point, int64_t d) {
    double part[32] = {0};
    for (int64_t j = 0; j < d; j += 32) {
        const int lanes = d - j < 32 ? (int)(d - j) : 32;
        for (int l = 0; l < lanes; l++) {
            const double t = (double)row[j + l] - (double)point[j + l];
            part[l] = part[l] + t * t;
        }
    }
    for (int s = 16; s > 0; s /= 2)
        for (int i = 0; i < s; i++) part[i] = part[i] + part[i + s];
    return part[0] == part[0] ? part[0] : __builtin_nan("");
}

// y[d][ROWS] = the columns of rows first .. (the last of `rows` for those beyond), as they stand. Whole squares are turned over; one
// that reaches beyond a row reads the next, beyond the array it does not.
static inline void turn(const nearest *g, int64_t first, int64_t rows, T *y) {
    for (int v = 0; v < VECTORS; v++) {
        const int64_t at = first + (v * LANES < rows ? v * LANES : rows - 1), here = rows - v * LANES < 1 ? 1 : rows - v * LANES;
        const int64_t last = at + (here < LANES ? here : LANES) - 1;
        for (int64_t j = 0; j < g->d; j += LANES) {
            const int64_t from = j + LANES > g->d && g->d >= LANES ? g->d - LANES : j;
            if (last * g->d + from + LANES <= g->n * g->d) {
                vec_transpose(g->x + at * g->d + from, g->d, here, y + from * ROWS + v * LANES, ROWS);
                continue;
            }
            for (int64_t i = from; i < g->d; i++)
                for (int64_t l = 0; l < LANES; l++) y[i * ROWS + v * LANES + l] = g->x[(at + (l < here ? l : here - 1)) * g->d + i];
        }
    }
}

static inline __attribute__((always_inline)) void score(const int points, const nearest *g, int64_t p, const T *y, choice *chosen) {
    vec s[POINTS][VECTORS];
    UNROLL for (int q = 0; q < points; q++)
        UNROLL for (int v = 0; v < VECTORS; v++) s[q][v] = vec_all(g->halves[p + q]);
    for (int64_t j = 0; j < g->d; j++)
        UNROLL for (int v = 0; v < VECTORS; v++) {
            const vec t = vec_load(y + j * ROWS + v * LANES);
            UNROLL for (int q = 0; q < points; q++) s[q][v] = vec_fma(vec_all(g->apart[(p + q) * g->d + j]), t, s[q][v]);
        }
    UNROLL for (int q = 0; q < points; q++)
        UNROLL for (int v = 0; v < VECTORS; v++) {
            const vec b = chosen->best[v], t = chosen->second[v];
            chosen->second[v] = vec_pick_less(s[q][v], b, b, vec_pick_less(s[q][v], t, s[q][v], t));
            chosen->where[v] = vec_pick_less(s[q][v], b, vec_all((T)(p + q)), chosen->where[v]);
            chosen->best[v] = vec_pick_less(s[q][v], b, s[q][v], b);
        }
}

// where[ROWS]: the nearest of rows first .., or -1 where it is not certain.
static void choose(const nearest *g, int64_t first, int64_t rows, int32_t *where) {
    _Alignas(64) T y[(FEW + LANES) * ROWS];
    vec size[VECTORS];
    choice chosen;
    int64_t p = 0;
    turn(g, first, rows, y);
    UNROLL for (int v = 0; v < VECTORS; v++) {
        size[v] = vec_all((T)0);
        chosen.best[v] = chosen.second[v] = vec_all((T)__builtin_inf());
        chosen.where[v] = vec_all((T)0);
    }
    for (int64_t j = 0; j < g->d; j++)
        UNROLL for (int v = 0; v < VECTORS; v++) {
            const vec t = vec_load(y + j * ROWS + v * LANES) - vec_all(g->origin[j]);
            vec_store(y + j * ROWS + v * LANES, t);
            size[v] = vec_fma(t, t, size[v]);
        }
    for (; p + POINTS <= g->m; p += POINTS) score(POINTS, g, p, y, &chosen);
    for (; p + 2 <= g->m; p += 2) score(2, g, p, y, &chosen);
    for (; p < g->m; p++) score(1, g, p, y, &chosen);
    UNROLL for (int v = 0; v < VECTORS; v++) {
        T label[LANES];
        const vec sizes = size[v] + vec_all(g->largest), none = vec_all((T)-1);
        const vec most = chosen.best[v] + (sizes * vec_all(g->slope) + vec_all(g->least));
        const vec certain = vec_pick_less(most, chosen.second[v], chosen.where[v], none);
        vec_store(label, vec_pick_less(sizes, vec_all(g->limit), certain, none));
        for (int l = 0; l < LANES; l++) where[v * LANES + l] = (int32_t)label[l];
    }
}

static double search(const nearest *g, const T *row, int32_t *label) {
    double least = square_of(row, g->c, g->d);
    *label = 0;
    for (int64_t j = 1; j < g->m; j++) {
        const double other = square_of(row, g->c + j * g->d, g->d);
        if (other < least || (least != least && other == other)) {
            *label = (int32_t)j;
            least = other;
        }
    }
    return least;
}

#define SBI_TUNED_LEVEL SBI_VECTOR_JOIN(SBI_TUNED_NAME, SBI_LEVEL)
void SBI_TUNED_LEVEL(const sbi_arg *args, int64_t first, int64_t last, void *scratch);
void SBI_TUNED_LEVEL(const sbi_arg *args, int64_t first, int64_t last, void *scratch) {
    (void)scratch;
    const nearest g = {.x = args[0].in, .c = args[1].in, .origin = args[2].in, .apart = args[3].in, .halves = args[4].in,
                       .n = args[7].i, .m = args[8].i, .d = args[9].i, .largest = (T)args[11].f, .slope = (T)args[12].f,
                       .least = (T)args[13].f, .limit = (T)args[14].f};
    int32_t *label = args[5].out;
    double *distance = args[10].i ? args[6].out : NULL;
    const int64_t end = last * GROUP < g.n ? last * GROUP : g.n;
    for (int64_t i = first * GROUP; i < end; i += ROWS) {
        const int64_t rows = end - i < ROWS ? end - i : ROWS;
        int32_t where[ROWS];
        choose(&g, i, rows, where);
        for (int64_t r = 0; r < rows; r++) {
            const T *row = g.x + (i + r) * g.d;
            double square = 0.0;
            if (where[r] < 0) square = search(&g, row, &where[r]);
            else if (distance) square = square_of(row, g.c + where[r] * g.d, g.d);
            if (distance) distance[i + r] = square;
        }
        __builtin_memcpy(label + i, where, (size_t)rows * sizeof *where);
    }
}
