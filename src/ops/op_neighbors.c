// SPDX-License-Identifier: Apache-2.0
// Neighbours by a metric: the nearest k, those within a radius, how far pairs are apart (contract T12).
//
// Of Euclidean distances most points are ruled out by s_j = |c_j|^2 - 2 x.c_j, which differs from the squared distance less |x|^2 by
// at most the bound of distance.cl. A point whose s passes D + slack, D the k-th squared distance so far and slack = two bounds - |x|^2,
// is not among the k: its squared distance is above D. (The second bound is for the rounding of D - |x|^2 and of this sum.) Where
// products may overflow slack is infinite, and all points are looked at. Within a radius it is the same with its square, a little more,
// in place of D; and where s is below that square, a little less, by two bounds and |x|^2, the point is surely inside. So no result depends on how rows and points are cut.
//
// In few dimensions the nearest are found by a tree instead (near_tree.c): the same bits.
#include "check.h"
#include "fold.h"
#include "near_tree.h"

enum { N, M, D, K, KIND, SELF };                 // numbers of NEIGHBORS
enum { W_KIND = 3 };                             // of WITHIN, behind N, M, D
enum { A_PAIRS, A_D, A_KIND };                   // of APART
enum { TOGETHER = 256, PRODUCTS = 1 << 18 };     // rows at a time, products at a time

// Part of a matrix that is only passed on.
static sb_array some_rows(const sb_array *x, int64_t first, int64_t count) {
    sb_array part = *x;
    part.shape[0] = count;
    part.size = count * x->shape[1];
    part.data = x->data + first * x->shape[1] * (int64_t)sbi_dtype_size(x->dtype);
    return part;
}

typedef struct search {
    sb_context *ctx;
    const sb_array *x, *c;
    int64_t n, m, d, rows, points; // rows and points at a time
    sb_array *norms, *squares, *slack, *sure, *product;
    bool filters;
} search;

static void end_search(search *s) {
    sb_array *const all[] = {s->norms, s->squares, s->slack, s->sure, s->product};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sbi_array_free(all[i]);
}

// slack[n] = more + two bounds - |x|^2, sure[n] = more - two bounds - |x|^2, each `more` a little farther.
static sb_status fill_slack(search *s, double more, sb_error *err) {
    const bool narrow = s->x->dtype == SB_F32;
    const double u = narrow ? 0x1p-24 : 0x1p-53, eta = narrow ? 0x1p-149 : 0x1p-1074, limit = narrow ? 0x1p120 : 0x1p1000;
    const int64_t d = s->d, chunks = (d - 1) / 256 + 1, roundings = (d < 256 ? d : 256) + (chunks < 64 ? chunks : 64) + (chunks - 1) / 64 + 1;
    const double k = (double)roundings, slope = 2.0 * 1.01 * k * u / (1.0 - k * u), curve = 1.01 * 0x1p-53 * (double)(4 * d + 200);
    const double least = 4.0 * (k + (double)d) * eta;
    double *below = sbi_allocate(&s->ctx->allocator, s->n, sizeof *below, err);
    double *norm = sbi_allocate(&s->ctx->allocator, s->n, sizeof *norm, err), *square = sbi_allocate(&s->ctx->allocator, s->m, sizeof *square, err);
    double largest = 0.0;
    sb_status status = norm && square && below ? sbi_array_read(s->norms, norm, (size_t)s->n * sizeof *norm, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_array_read(s->squares, square, (size_t)s->m * sizeof *square, err);
    for (int64_t j = 0; j < s->m && status == SB_OK; j++) largest = largest != largest || square[j] <= largest ? largest : square[j]; // (NaN stays)
    for (int64_t i = 0; i < s->n && status == SB_OK; i++) {
        const double size = __builtin_sqrt(norm[i]) * __builtin_sqrt(largest), bound = slope * size + curve * (norm[i] + largest) + least;
        below[i] = size <= limit && more < __builtin_inf() ? more * (1.0 - 0x1p-48) - 2.0 * bound - norm[i] : __builtin_nan(""); // (none is: a product may be -inf)
        norm[i] = size <= limit ? more * (1.0 + 0x1p-48) + 2.0 * bound - norm[i] : __builtin_inf();
    }
    if (status == SB_OK) status = sbi_array_write(s->sure, below, (size_t)s->n * sizeof *below, err);
    if (status == SB_OK) status = sbi_array_write(s->slack, norm, (size_t)s->n * sizeof *norm, err);
    sbi_release(&s->ctx->allocator, below);
    sbi_release(&s->ctx->allocator, norm);
    sbi_release(&s->ctx->allocator, square);
    return status;
}

static sb_status begin_search(search *s, sb_context *ctx, const sb_array *x, const sb_array *c, sbi_metric metric, double more, sb_error *err) {
    sb_status status;
    *s = (search){.ctx = ctx, .x = x, .c = c, .n = x->shape[0], .m = c->shape[0], .d = x->shape[1], .filters = metric == SBI_EUCLIDEAN};
    s->rows = s->n < TOGETHER ? s->n : TOGETHER;
    s->points = PRODUCTS / s->rows / 256 * 256;
    if (s->points > s->m) s->points = s->m;
    if ((status = sbi_scratch(ctx, SB_F64, s->n, &s->norms, err)) || (status = sbi_scratch(ctx, SB_F64, s->m, &s->squares, err)) ||
        (status = sbi_fold_squares(ctx, x, s->norms, err)) || (status = sbi_fold_squares(ctx, c, s->squares, err)) || !s->filters)
        return status;
    if ((status = sbi_scratch(ctx, SB_F64, s->n, &s->slack, err)) || (status = sbi_scratch(ctx, SB_F64, s->n, &s->sure, err)) ||
        (status = sbi_scratch(ctx, x->dtype, s->rows * s->points, &s->product, err))) return status;
    return fill_slack(s, more, err);
}

// The products of some rows with some points, where they are wanted.
static sb_status multiply(search *s, const sb_array *rows, const sb_array *points, sb_error *err) {
    const sb_gemm_options turned = {.size = sizeof turned, .transpose_b = 1};
    if (!s->filters) return SB_OK;
    sb_array product = *s->product;
    product.ndim = 2;
    product.shape[0] = rows->shape[0];
    product.shape[1] = points->shape[0];
    product.size = product.shape[0] * product.shape[1];
    return sbi_gemm(s->ctx, &turned, rows, points, NULL, &product, err);
}

#define FROM(a, first) {.in = (a)->data + (first) * (int64_t)sbi_dtype_size((a)->dtype)}
#define TO(a, first) {.out = (a)->data + (first) * (int64_t)sbi_dtype_size((a)->dtype)}

static sb_status neighbors_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const int64_t n = op->n[N], m = op->n[M], d = op->n[D], k = op->n[K];
    search s;
    sb_array *have = NULL;
    int64_t *none = NULL;
    sbi_near_tree *tree = NULL;
    sb_status status;
    if (n == 0) return SB_OK;
    if ((status = sbi_near_tree_new(ctx, op->in[0], op->in[1], (sbi_metric)op->n[KIND], op->r[0], sbi_near_few((sbi_metric)op->n[KIND]), &tree, err))) return status;
    if (tree) {
        sbi_near_nearest(tree, op->in[0], k, op->n[SELF], (double *)(void *)op->out[0]->data, (int64_t *)(void *)op->out[1]->data);
        sbi_near_tree_free(tree);
        return SB_OK;
    }
    status = begin_search(&s, ctx, op->in[0], op->in[1], (sbi_metric)op->n[KIND], 0.0, err);
    if (status == SB_OK) status = sbi_scratch(ctx, SB_I64, n, &have, err);
    if (status == SB_OK && !(none = sbi_allocate(&ctx->allocator, n, sizeof *none, err))) status = SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_array_write(have, none, (size_t)n * sizeof *none, err);
    for (int64_t row = 0; row < n && status == SB_OK; row += s.rows) {
        const sb_array rows = some_rows(op->in[0], row, n - row < s.rows ? n - row : s.rows);
        for (int64_t first = 0; first < m && status == SB_OK; first += s.points) {
            const sb_array points = some_rows(op->in[1], first, m - first < s.points ? m - first : s.points);
            const sb_array *product = s.filters ? s.product : op->in[1], *slack = s.filters ? s.slack : s.norms; // (else not read)
            const int64_t self = op->n[SELF];
            const sbi_arg args[] = {{.in = rows.data}, {.in = points.data}, {.in = product->data}, FROM(s.squares, first), FROM(s.norms, row),
                                    FROM(slack, row), TO(op->out[0], row * k), TO(op->out[1], row * k), TO(have, row), SBI_INT(points.shape[0]),
                                    SBI_INT(first), SBI_INT(d), SBI_INT(k), SBI_INT(op->n[KIND]), SBI_INT(s.filters),
                                    SBI_INT(self < 0 ? -1 : self + row), SBI_REAL(op->r[0])};
            status = multiply(&s, &rows, &points, err);
            if (status == SB_OK) status = sbi_launch(ctx, SBI_TYPED(op->in[0]->dtype, k_neighbors), rows.shape[0], args, err);
        }
    }
    end_search(&s);
    sbi_array_free(have);
    sbi_release(&ctx->allocator, none);
    return status;
}

static sb_status check_points(const sb_array *x, const sb_array *c, sbi_metric metric, double p, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_dtype(c, "c", x->dtype, err)) || (status = sbi_check_ndim(x, "x", 2, err)) ||
        (status = sbi_check_ndim(c, "c", 2, err)) || (status = sbi_check_length(c, "c", 1, x->shape[1], err)))
        return status;
    if (c->shape[0] < 1) return sbi_fail(err, SB_ERR_EMPTY, "c", "there are no points");
    if (metric == SBI_MINKOWSKI && !(p > 0.0 && p - p == 0.0)) return sbi_fail(err, SB_ERR_ARGUMENT, "p", "p is %g: expected a number above 0", p);
    return sbi_check_row("x", x->shape[1], err);
}

sb_status sbi_neighbors(sb_context *ctx, const sb_array *x, const sb_array *c, int64_t k, sbi_metric metric, double p, int64_t self,
                        sb_array *far, sb_array *index, sb_error *err) {
    sb_status status = check_points(x, c, metric, p, err);
    if (status) return status;
    if (k < 1 || k > c->shape[0] - (self >= 0))
        return sbi_fail(err, SB_ERR_ARGUMENT, "k", "k is %lld, of %lld points", (long long)k, (long long)c->shape[0] - (self >= 0));
    if ((status = sbi_check_dtype(far, "far", SB_F64, err)) || (status = sbi_check_ndim(far, "far", 2, err)) ||
        (status = sbi_check_length(far, "far", 0, x->shape[0], err)) || (status = sbi_check_length(far, "far", 1, k, err)) ||
        (status = sbi_check_dtype(index, "index", SB_I64, err)) || (status = sbi_check_like(index, "index", far, "far", err)))
        return status;
    const sbi_op op = {.id = SBI_OP_NEIGHBORS, .kernels = neighbors_kernels, .in = {x, c}, .out = {far, index},
                       .n = {x->shape[0], c->shape[0], x->shape[1], k, (int64_t)metric, self < 0 ? -1 : self}, .r = {p}};
    return sbi_run(ctx, &op, err);
}

static sb_status within_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const int64_t n = op->n[N], m = op->n[M], d = op->n[D];
    const double radius = op->r[0], square = radius * radius;
    search s;
    sb_status status;
    if (n == 0) return SB_OK;
    status = begin_search(&s, ctx, op->in[0], op->in[1], (sbi_metric)op->n[W_KIND], square, err);
    for (int64_t row = 0; row < n && status == SB_OK; row += s.rows) {
        const sb_array rows = some_rows(op->in[0], row, n - row < s.rows ? n - row : s.rows);
        const sb_array *product = s.filters ? s.product : op->in[1], *top = s.filters ? s.slack : s.norms;
        const sb_array *sure = s.filters ? s.sure : s.norms; // (else not read)
        for (int64_t first = 0; first < m && status == SB_OK; first += s.points) {
            const sb_array points = some_rows(op->in[1], first, m - first < s.points ? m - first : s.points);
            const sbi_arg args[] = {{.in = rows.data}, {.in = points.data}, {.in = product->data}, FROM(s.squares, first), FROM(s.norms, row),
                                    FROM(top, row), FROM(sure, row), TO(op->out[0], row * m + first), SBI_INT(points.shape[0]), SBI_INT(m), SBI_INT(d),
                                    SBI_INT(op->n[W_KIND]), SBI_INT(s.filters), SBI_REAL(radius), SBI_REAL(op->r[1])};
            status = multiply(&s, &rows, &points, err);
            if (status == SB_OK) status = sbi_launch(ctx, SBI_TYPED(op->in[0]->dtype, k_within), rows.shape[0], args, err);
        }
    }
    end_search(&s);
    return status;
}

sb_status sbi_within(sb_context *ctx, const sb_array *x, const sb_array *c, sbi_metric metric, double p, double radius, sb_array *inside, sb_error *err) {
    sb_status status = check_points(x, c, metric, p, err);
    if (status) return status;
    if (!(radius >= 0.0)) return sbi_fail(err, SB_ERR_ARGUMENT, "radius", "radius is %g: expected a number of at least 0", radius);
    if ((status = sbi_check_dtype(inside, "inside", SB_U8, err)) || (status = sbi_check_ndim(inside, "inside", 2, err)) ||
        (status = sbi_check_length(inside, "inside", 0, x->shape[0], err)) || (status = sbi_check_length(inside, "inside", 1, c->shape[0], err)))
        return status;
    const sbi_op op = {.id = SBI_OP_WITHIN, .kernels = within_kernels, .in = {x, c}, .out = {inside},
                       .n = {x->shape[0], c->shape[0], x->shape[1], (int64_t)metric}, .r = {radius, p}};
    return sbi_run(ctx, &op, err);
}

static sb_status apart_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const int64_t pairs = op->n[A_PAIRS];
    sb_array *norms = NULL, *squares = NULL;
    sb_status status;
    if (pairs == 0) return SB_OK;
    if ((status = sbi_scratch(ctx, SB_F64, op->in[0]->shape[0], &norms, err)) || (status = sbi_scratch(ctx, SB_F64, op->in[1]->shape[0], &squares, err)) ||
        (status = sbi_fold_squares(ctx, op->in[0], norms, err)) || (status = sbi_fold_squares(ctx, op->in[1], squares, err)))
        goto done;
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_IN(op->in[2]), SBI_IN(op->in[3]), SBI_IN(norms), SBI_IN(squares), SBI_OUT(op->out[0]),
                            SBI_INT(pairs), SBI_INT(op->n[A_D]), SBI_INT(op->n[A_KIND]), SBI_REAL(op->r[0])};
    status = sbi_launch(ctx, SBI_TYPED(op->in[0]->dtype, k_apart), sbi_groups(pairs, 16), args, err);
done:
    sbi_array_free(norms);
    sbi_array_free(squares);
    return status;
}

sb_status sbi_apart(sb_context *ctx, const sb_array *x, const sb_array *c, const sb_array *rows, const sb_array *places, sbi_metric metric, double p,
                    sb_array *far, sb_error *err) {
    sb_status status = check_points(x, c, metric, p, err);
    if (status) return status;
    if ((status = sbi_check_dtype(rows, "rows", SB_I64, err)) || (status = sbi_check_ndim(rows, "rows", 1, err)) ||
        (status = sbi_check_dtype(places, "places", SB_I64, err)) || (status = sbi_check_like(places, "places", rows, "rows", err)) ||
        (status = sbi_check_dtype(far, "far", SB_F64, err)) || (status = sbi_check_like(far, "far", rows, "rows", err)))
        return status;
    const sbi_op op = {.id = SBI_OP_APART, .kernels = apart_kernels, .in = {x, c, rows, places}, .out = {far},
                       .n = {rows->size, x->shape[1], (int64_t)metric, x->shape[0], c->shape[0]}, .r = {p}};
    return sbi_run(ctx, &op, err);
}

sb_status sbi_reach(sb_context *ctx, sbi_metric metric, double p, sb_array *far, sb_error *err) {
    const int64_t one = 1;
    const double power = 1.0 / p;
    sb_array *exponent = NULL;
    if (metric == SBI_EUCLIDEAN) return sbi_unary(ctx, SB_SQRT, far, far, err);
    if (metric != SBI_MINKOWSKI) return SB_OK;
    sb_status status = sbi_array_new(ctx, SB_F64, 1, &one, &exponent, err);
    if (status == SB_OK) status = sbi_array_write(exponent, &power, sizeof power, err);
    if (status == SB_OK) status = sbi_binary(ctx, SB_POW, far, exponent, far, err);
    sbi_array_free(exponent);
    return status;
}
