// SPDX-License-Identifier: Apache-2.0
// Products (contract T3).
#include "check.h"
#include "ops.h"

#include <string.h>

enum { FLAG_SCALED = 1, FLAG_BIAS = 2, FLAG_ACCUMULATE = 4, FLAG_UPPER = 8, FLAG_PART = 16 }; // as in gemm.cl
enum { CHUNK = 256, RUN = 64 * CHUNK };
enum { M, N, K, TRANSPOSED_A, TRANSPOSED_B, SCALED, ACCUMULATE, BATCH, B_SHARED }; // a record's numbers

// The tiles of C that groups take (schedule, no bit depends on it): one a thread, so that operands are packed few times,
// and more where one is long and a thread may be late; all of C where there is little to do. Rows are cut first: threads
// that write beside each other in the same rows take the lines of C from each other, which costs more than packing B once
// more (a sixth of the time with two threads on Zen 4); not so in wide tiles, which have few edges.
static void tile_size(int64_t tiles, int64_t m, int64_t n, int64_t k, int64_t *rows, int64_t *columns) {
    const double small = 1 << 17, large = 1 << 30; // multiplications worth another thread; worth two tiles a thread
    const double work = (double)m * (double)n * (double)k;
    const int64_t least = 32, wide = 1536;
    if (tiles > 1 && work > large) tiles *= 2;
    int64_t down = 1, over = 1;
    while (down * over < tiles && work > small * (double)(down * over)) {
        const int64_t lower = m / (down + 1), narrower = n / (over + 1);
        if (lower >= least && !(n > m && narrower >= wide)) down++;
        else if (narrower >= least) over++;
        else break;
    }
    *rows = (m + down - 1) / down;
    *columns = over == 1 ? n : ((n + over - 1) / over + 31) / 32 * 32; // whole vectors
}

// On a device whose groups are not threads of ours a tile is what its kernel's lanes share. The larger it is the fewer times
// operands are read: the first of these that is not half empty and gives each of the device's units as many groups as it
// should have, or the last.
typedef struct group_tile {
    int64_t side, each; // groups a unit
    sbi_kernel_id f32, f64, wide;
} group_tile;
static const group_tile group_tiles[] = {{128, 1, SBI_ID_k_gemm_tile128_f32, SBI_ID_k_gemm_tile128_f64, SBI_ID_k_gemm_tile128_wide},
                                         {64, 0, SBI_ID_k_gemm_tile64_f32, SBI_ID_k_gemm_tile64_f64, SBI_ID_k_gemm_tile64_wide},
                                         {32, 0, SBI_ID_k_gemm_f32, SBI_ID_k_gemm_f64, SBI_ID_k_gemm_wide}};

static const group_tile *choose_tile(const sb_context *ctx, int64_t m, int64_t n, int64_t slices) {
    const group_tile *tile = group_tiles, *last = tile + sizeof group_tiles / sizeof *group_tiles - 1;
    for (; tile < last; tile++) {
        const int64_t side = tile->side, groups = sbi_groups(m, side) * sbi_groups(n, side);
        const bool filled = 2 * m > side && 2 * n > side;
        if (ctx->tile ? ctx->tile == side : filled && groups * slices >= tile->each * ctx->device->units) break;
    }
    return tile;
}

// What the kernels of products are launched with.
typedef struct product {
    const sbi_op *op;
    sbi_kernel_id kernel;
    int64_t m, n, k, flags, rows, columns;
} product;

static sb_status launch(sb_context *ctx, const product *p, int64_t slices, int64_t flags, int64_t first, int64_t runs,
                        int64_t first_run, sb_array *to, sb_error *err) {
    const sbi_op *op = p->op;
    const int64_t *n = op->n;
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_IN(flags & FLAG_BIAS ? op->in[2] : NULL), SBI_OUT(to),
                            SBI_INT(p->m), SBI_INT(p->n), SBI_INT(p->k), SBI_INT(n[TRANSPOSED_A]), SBI_INT(n[TRANSPOSED_B]),
                            SBI_INT(flags), SBI_REAL(op->r[0]), SBI_INT(p->rows), SBI_INT(p->columns),
                            SBI_INT(p->m * p->k), SBI_INT(n[B_SHARED] ? 0 : p->k * p->n),
                            SBI_INT(first), SBI_INT(runs), SBI_INT(first_run)};
    const int64_t tiles = ((p->m + p->rows - 1) / p->rows) * ((p->n + p->columns - 1) / p->columns);
    return sbi_launch(ctx, p->kernel, slices * tiles, args, err);
}

// One product whose runs' totals go to scratch, many runs at once, and are folded from there.
static sb_status fold_runs(sb_context *ctx, const product *p, int64_t index, sb_error *err) {
    const int64_t most = 32 << 20; // bytes of totals, if one run does not need more
    sb_array *c = p->op->out[0], *totals = NULL, *sums[2] = {NULL, NULL};
    const int64_t size = p->m * p->n, item = (int64_t)sbi_dtype_size(c->dtype), runs = (p->k + RUN - 1) / RUN;
    const int64_t fit = most / (size * item), together = fit < 1 ? 1 : fit < runs ? fit : runs;
    sb_status status = sbi_scratch(ctx, c->dtype, together * size, &totals, err);
    for (int i = 0; i < 2 && status == SB_OK && i * together < runs - together; i++)
        status = sbi_scratch(ctx, c->dtype, size, &sums[i], err);
    for (int64_t from = 0, fold = 0; from < runs && status == SB_OK; from += together, fold++) {
        const int64_t count = runs - from < together ? runs - from : together;
        const bool last = from + count == runs;
        status = launch(ctx, p, count, (p->flags & FLAG_UPPER) | FLAG_PART, index, count, from, totals, err);
        const sbi_arg args[] = {SBI_IN(totals), SBI_IN(from ? sums[(fold + 1) % 2] : NULL),
                                SBI_IN(last && p->flags & FLAG_BIAS ? p->op->in[2] : NULL),
                                {.out = last ? c->data + index * size * item : sums[fold % 2]->data}, SBI_INT(p->m), SBI_INT(p->n),
                                SBI_INT(count), SBI_INT(last ? p->flags : p->flags & FLAG_UPPER), SBI_REAL(p->op->r[0])};
        if (status == SB_OK) status = sbi_launch(ctx, SBI_TYPED(c->dtype, k_gemm_fold), (p->m + 31) / 32, args, err);
    }
    sb_array_free(totals);
    sb_array_free(sums[0]);
    sb_array_free(sums[1]);
    return status;
}

static sb_status gemm_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *a = op->in[0], *b = op->in[1], *bias = op->in[2];
    sb_array *c = op->out[0];
    const int64_t *n = op->n;
    const bool wide = a->dtype != c->dtype;
    product p = {.op = op, .kernel = wide ? SBI_ID_k_gemm_wide : SBI_TYPED(c->dtype, k_gemm), .m = n[M], .n = n[N], .k = n[K]};
    int64_t batch = n[BATCH];
    if (n[B_SHARED] && !n[TRANSPOSED_A]) { // one matrix with the rows of all
        p.m *= batch;
        batch = 1;
    }
    p.flags = (n[SCALED] ? FLAG_SCALED : 0) | (bias ? FLAG_BIAS : 0) | (n[ACCUMULATE] ? FLAG_ACCUMULATE : 0);
    if (batch * p.m * p.n == 0) return SB_OK;
    if (batch == 1 && (p.m == 1 || p.n == 1)) {
        // One row: the columns of b with the only row of a. One column: the rows of a with the only column of b.
        const bool row = p.m == 1;
        const int64_t outputs = row ? p.n : p.m, column = row ? (n[TRANSPOSED_B] ? p.k : 1) : (n[TRANSPOSED_A] ? 1 : p.k);
        const int64_t step = row ? (n[TRANSPOSED_B] ? 1 : p.n) : (n[TRANSPOSED_A] ? p.m : 1);
        const sbi_arg args[] = {SBI_IN(row ? b : a), SBI_IN(row ? a : b), SBI_IN(bias), SBI_OUT(c), SBI_INT(outputs), SBI_INT(p.k),
                                SBI_INT(column), SBI_INT(step), SBI_INT(row), SBI_INT(p.flags), SBI_REAL(op->r[0])};
        return sbi_launch(ctx, wide ? SBI_ID_k_gemv_wide : SBI_TYPED(c->dtype, k_gemv), (outputs + 255) / 256, args, err);
    }
    // A product of an array with itself, once turned over, is symmetric: half of it is computed. (Where m is not n it is
    // of the same memory in two shapes, as some rows with all.)
    const int64_t worth = 64;
    if (batch == 1 && a->data == b->data && p.m == p.n && n[TRANSPOSED_A] != n[TRANSPOSED_B] && p.m >= worth && p.k > 0)
        p.flags |= FLAG_UPPER;
    // Where the end cannot be made in one go, totals go to scratch: then runs are tiles, too.
    const bool apart = p.flags & FLAG_UPPER || p.k > RUN || (p.flags & FLAG_ACCUMULATE && p.k > CHUNK);
    const int64_t threads = sbi_pool_threads(ctx->pool), slices = apart ? (p.k + RUN - 1) / RUN : batch;
    tile_size(slices >= 4 * threads ? 1 : p.flags & FLAG_UPPER && threads > 1 ? 4 * threads : threads, p.m, p.n,
              p.k < RUN ? p.k : RUN, &p.rows, &p.columns);
    if (ctx->device->apart) {
        const group_tile *tile = choose_tile(ctx, p.m, p.n, slices);
        p.kernel = wide ? tile->wide : c->dtype == SB_F64 ? tile->f64 : tile->f32;
        p.rows = p.columns = tile->side;
    }
    if (!apart) return launch(ctx, &p, batch, p.flags, 0, 1, 0, c, err);
    sb_status status = SB_OK;
    for (int64_t i = 0; i < batch && status == SB_OK; i++) status = fold_runs(ctx, &p, i, err);
    return status;
}

// An operand as a matrix: rows and columns after the transposition; a vector is a row (a) or a column (b).
static sb_status operand(const sb_array *x, const char *name, int transpose, bool row, int64_t *rows, int64_t *columns,
                         int64_t *transposed, sb_error *err) {
    if (x->ndim == 1) {
        *rows = row ? 1 : x->shape[0];
        *columns = row ? x->shape[0] : 1;
        *transposed = 0;
        return SB_OK;
    }
    if (x->ndim != 2 && x->ndim != 3)
        return sbi_fail(err, SB_ERR_SHAPE, name, "%s has %d dimensions; products take one to three", name, x->ndim);
    *rows = x->shape[x->ndim - (transpose ? 1 : 2)];
    *columns = x->shape[x->ndim - (transpose ? 2 : 1)];
    *transposed = transpose != 0;
    return SB_OK;
}

static sb_status check_result(const sb_array *a, const sb_array *b, const sb_array *bias, const sb_array *c, int64_t m, int64_t n,
                              sb_error *err) {
    const bool vector = a->ndim == 1 || b->ndim == 1, batched = a->ndim == 3;
    const int64_t length = a->ndim == 1 ? n : m;
    const bool matrix = c->ndim == (batched ? 3 : 2) && c->shape[c->ndim - 2] == m && c->shape[c->ndim - 1] == n;
    if (c->dtype != a->dtype && c->dtype != SB_F64)
        return sbi_fail(err, SB_ERR_DTYPE, "c", "c is %s; a product of %s is %s", sbi_dtype_name(c->dtype), sbi_dtype_name(a->dtype),
                        a->dtype == SB_F32 ? "float32, or float64 of the widened data" : "float64");
    if (vector ? c->ndim != 1 || c->shape[0] != length : !matrix || (batched && c->shape[0] != a->shape[0]))
        return sbi_fail(err, SB_ERR_SHAPE, "c", "c does not have the product's shape, %lld by %lld%s%s", (long long)m,
                        (long long)n, vector ? ", as a vector" : "", batched ? ", for each of the batch" : "");
    if (bias && bias->dtype != c->dtype)
        return sbi_fail(err, SB_ERR_DTYPE, "bias", "bias is %s; c is %s", sbi_dtype_name(bias->dtype), sbi_dtype_name(c->dtype));
    if (bias && (bias->ndim != 1 || bias->shape[0] != n))
        return sbi_fail(err, SB_ERR_SHAPE, "bias", "bias must be a vector of %lld, a value for each column of c",
                        (long long)n);
    return SB_OK;
}

sb_status sbi_gemm(sb_context *ctx, const sb_gemm_options *options, const sb_array *a, const sb_array *b,
                   const sb_array *bias, sb_array *c, sb_error *err) {
    sb_gemm_options o = {0};
    if (options) {
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    }
    int64_t m = 0, n = 0, k = 0, depth = 0, ta = 0, tb = 0;
    sb_status status;
    if ((status = sbi_check_real(a, "a", err)) || (status = sbi_check_dtype(b, "b", a->dtype, err)) ||
        (status = operand(a, "a", o.transpose_a, true, &m, &k, &ta, err)) ||
        (status = operand(b, "b", o.transpose_b, false, &depth, &n, &tb, err)))
        return status;
    if (a->ndim == 1 && b->ndim == 1)
        return sbi_fail(err, SB_ERR_SHAPE, "b", "a and b are both vectors; their product is sb_dot");
    const bool batched = a->ndim == 3, shared = b->ndim == 2;
    if (batched ? !shared && b->ndim != 3 : b->ndim == 3)
        return sbi_fail(err, SB_ERR_SHAPE, "b", "a has %d dimensions and b %d; in a batch a has three, b three or two", a->ndim,
                        b->ndim);
    if (batched && !shared && a->shape[0] != b->shape[0])
        return sbi_fail(err, SB_ERR_SHAPE, "b", "a is a batch of %lld, b of %lld", (long long)a->shape[0], (long long)b->shape[0]);
    if (k != depth)
        return sbi_fail(err, SB_ERR_SHAPE, "b", "op(a) has %lld columns, op(b) %lld rows; they must be equal",
                        (long long)k, (long long)depth);
    if ((status = check_result(a, b, bias, c, m, n, err))) return status;
    const double alpha = o.scaled ? sbi_rounded(c->dtype, o.alpha) : 1.0;
    const sbi_op op = {.id = SBI_OP_GEMM, .kernels = gemm_kernels, .in = {a, b, bias}, .out = {c},
                       .n = {m, n, k, ta, tb, o.scaled != 0, o.accumulate != 0, batched ? a->shape[0] : 1, batched && shared},
                       .r = {alpha}, .keeps = o.accumulate != 0};
    return sbi_run(ctx, &op, err);
}
