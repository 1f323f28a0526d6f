// SPDX-License-Identifier: Apache-2.0
// Nearest neighbours.
//
// Problem. Of the rows of a table, the k nearest to a given row, or all that are at most a radius away, by one of five metrics.
//
// Method. In up to 8 dimensions (12 where the metric is not the Euclidean one; none for cosine), of 512 rows and more, a k-d tree leaves
// out what cannot be nearer (near_tree.c). Else all rows are looked at; of Euclidean distances most are then ruled out by a product
// with a proved bound, so that a product's speed is that of the search. What is left is decided by the definition (op_neighbors.c).
//
// Order of arithmetic. How far two rows are apart stands in kernels/neighbors.cl, in binary64: S of the squared differences, of the
// differences, of their powers; the largest; one less the cosine. Neighbours are ordered by that number, then by their place in the
// table. A distance is RN(RN64(root)), or of 'minkowski' RN(RN64(far^(1/p))); a row is within the radius if RN64(root) is at most it. With
// p = 1, 2, inf 'minkowski' is 'manhattan', 'euclidean', 'chebyshev'. No result depends on which other rows are asked for.
//
// Cost: a product 2 n m d and one reading of it for the Euclidean metric; n m sums of d terms for the others; with a tree
// (n + m) log m where dimensions are few.
//
// What can go wrong. A row of zeros has cosine 0 with every row, so distance 1 from itself. A distance beyond the largest number is
// infinite; ties among such are decided by place. A tree is built in each call: a model keeps none.
#include "near_tree.h"
#include "search.h"

#include <string.h>

sb_status sbi_nearest_neighbors_fit(sbi_call *call, sb_error *err) { return sbi_search_keep(call, err); }
sb_status sbi_nearest_neighbors_kneighbors(sbi_call *call, sb_error *err) { return sbi_search_kneighbors(call, err); }

// ---- within a radius

// What is found so far: one query after another.
typedef struct found {
    sbi_call *call;
    const sb_array *points;
    sbi_metric metric;
    double p;
    int64_t count, room, *index, *start;
    double *distance;
} found;

static sb_status make_room(found *f, int64_t more, sb_error *err) {
    const sbi_allocator *allocator = &f->call->ctx->allocator;
    int64_t room = f->room ? f->room : 1024;
    while (room < f->count + more) room *= 2;
    if (room == f->room) return SB_OK;
    int64_t *index = sbi_allocate(allocator, room, sizeof *index, err);
    double *distance = index ? sbi_allocate(allocator, room, sizeof *distance, err) : NULL;
    if (!distance) {
        sbi_release(allocator, index);
        return SB_ERR_MEMORY;
    }
    if (f->count) {
        memcpy(index, f->index, (size_t)f->count * sizeof *index);
        memcpy(distance, f->distance, (size_t)f->count * sizeof *distance);
    }
    sbi_release(allocator, f->index);
    sbi_release(allocator, f->distance);
    f->index = index;
    f->distance = distance;
    f->room = room;
    return SB_OK;
}

// A query's neighbours in the order of their distances, by merging: what comes first stays first on a tie.
static sb_status sort_query(found *f, int64_t first, sb_error *err) {
    const sbi_allocator *allocator = &f->call->ctx->allocator;
    const int64_t n = f->count - first;
    double *distance = f->distance + first, *other = sbi_allocate(allocator, n, sizeof *other, err);
    int64_t *index = f->index + first, *places = other ? sbi_allocate(allocator, n, sizeof *places, err) : NULL;
    for (int64_t width = 1; places && width < n; width *= 2) {
        for (int64_t low = 0; low < n; low += 2 * width) {
            const int64_t middle = low + width < n ? low + width : n, end = low + 2 * width < n ? low + 2 * width : n;
            for (int64_t a = low, b = middle, to = low; to < end; to++) {
                const int64_t from = a < middle && (b == end || distance[a] <= distance[b]) ? a++ : b++;
                other[to] = distance[from];
                places[to] = index[from];
            }
        }
        memcpy(distance, other, (size_t)n * sizeof *other);
        memcpy(index, places, (size_t)n * sizeof *places);
    }
    sbi_release(allocator, other);
    sbi_release(allocator, places);
    return places ? SB_OK : SB_ERR_MEMORY;
}

// The distances of what was found from `first` on, in rows of x.
static sb_status measure(found *f, const sb_array *x, const int64_t *rows, int64_t first, sb_error *err) {
    sb_context *ctx = f->call->ctx;
    const int64_t pairs = f->count - first;
    sb_array *row = NULL, *place = NULL, *far = NULL;
    sb_status status;
    if (pairs == 0) return SB_OK;
    if ((status = sbi_array_new(ctx, SB_I64, 1, &pairs, &row, err)) || (status = sbi_array_write(row, rows, (size_t)pairs * sizeof *rows, err)) ||
        (status = sbi_array_new(ctx, SB_I64, 1, &pairs, &place, err)) || (status = sbi_array_write(place, f->index + first, (size_t)pairs * sizeof *rows, err)) ||
        (status = sbi_array_new(ctx, SB_F64, 1, &pairs, &far, err)) || (status = sbi_apart(ctx, x, f->points, row, place, f->metric, f->p, far, err)) ||
        (status = sbi_reach(ctx, f->metric, f->p, far, err)))
        goto done;
    status = sbi_array_read(far, f->distance + first, (size_t)pairs * sizeof *f->distance, err);
done:
    sbi_array_free(row);
    sbi_array_free(place);
    sbi_array_free(far);
    return status;
}

// Queries first .. first + n - 1, of which x[n, d] are the rows.
static sb_status find_within(found *f, const sb_array *x, int64_t first, sb_array *inside, uint8_t *seen, sb_error *err) {
    const int64_t n = x->shape[0], m = f->points->shape[0], before = f->count;
    sb_status status = sbi_within(f->call->ctx, x, f->points, f->metric, f->p, sbi_model_real(f->call->model, "radius"), inside, err);
    int64_t *rows = NULL, hits = 0;
    if (status == SB_OK) status = sbi_array_read(inside, seen, (size_t)(n * m), err);
    for (int64_t i = 0; i < n && f->call->itself && status == SB_OK; i++) seen[i * m + first + i] = 0;
    for (int64_t i = 0; i < n * m && status == SB_OK; i++) hits += seen[i];
    if (status == SB_OK) status = make_room(f, hits, err);
    if (status == SB_OK && !(rows = sbi_allocate(&f->call->ctx->allocator, hits, sizeof *rows, err))) status = SB_ERR_MEMORY;
    for (int64_t i = 0; i < n && status == SB_OK; i++) {
        const uint8_t *row = seen + i * m;
        for (const uint8_t *at = row; (at = memchr(at, 1, (size_t)(row + m - at))) != NULL; at++) {
            rows[f->count - before] = i;
            f->index[f->count++] = at - row;
        }
        f->start[first + i + 1] = f->count;
    }
    if (status == SB_OK) status = measure(f, x, rows, before, err);
    const int64_t end = f->count;
    for (int64_t i = 0; i < n && status == SB_OK; i++) {
        f->count = f->start[first + i + 1];
        status = sort_query(f, f->start[first + i], err);
    }
    f->count = end;
    sbi_release(&f->call->ctx->allocator, rows);
    return status;
}

// Of all queries by a tree: counted, then listed. (A row is within any radius of itself.)
static sb_status list_all(found *f, const sbi_near_tree *tree, sb_error *err) {
    const double radius = sbi_model_real(f->call->model, "radius");
    const int64_t n = f->call->n;
    sb_status status;
    f->start[0] = 0;
    sbi_near_count(tree, f->call->x, radius, INT64_MAX, f->start + 1);
    for (int64_t i = 0; i < n; i++) f->start[i + 1] += f->start[i] - f->call->itself;
    if ((status = make_room(f, f->start[n], err))) return status;
    f->count = f->start[n];
    sbi_near_list(tree, f->call->x, radius, f->call->itself ? 0 : -1, true, f->start, f->distance, f->index);
    return SB_OK;
}

static sb_status give_integers(sbi_call *call, int which, int64_t length, const int64_t *values, sb_error *err) {
    sb_array *out = NULL;
    sb_status status = sbi_call_make(call, which, length, &out, err);
    return status ? status : sbi_array_write(out, values, (size_t)length * sizeof *values, err);
}

// The same by a look at all rows, for some queries at a time.
static sb_status find_all(found *f, sb_error *err) {
    sb_context *ctx = f->call->ctx;
    const int64_t n = f->call->n, m = f->points->shape[0], most = (INT64_C(1) << 26) / m, together = most < 1 ? 1 : most < n ? most : n, shape[2] = {together, m};
    sb_array *inside = NULL;
    uint8_t *seen = sbi_allocate(&ctx->allocator, together * m, 1, err);
    sb_status status = seen ? sbi_array_new(ctx, SB_U8, 2, shape, &inside, err) : SB_ERR_MEMORY;
    for (int64_t first = 0; first < n && status == SB_OK; first += together) {
        const int64_t rows = n - first < together ? n - first : together;
        sb_array x = sbi_some_rows(f->call->x, first, rows), part = sbi_some_rows(inside, 0, rows);
        status = find_within(f, &x, first, &part, seen, err);
    }
    sbi_array_free(inside);
    sbi_release(&ctx->allocator, seen);
    return status;
}

sb_status sbi_nearest_neighbors_radius_neighbors(sbi_call *call, sb_error *err) {
    sb_context *ctx = call->ctx;
    const int64_t n = call->n;
    sb_array *made = NULL, *out = NULL;
    sbi_near_tree *tree = NULL;
    found f = {.call = call, .start = sbi_allocate(&ctx->allocator, n + 1, sizeof *f.start, err)};
    sb_status status = f.start ? SB_OK : SB_ERR_MEMORY;
    f.metric = sbi_search_metric(call->model, &f.p);
    if (status == SB_OK) status = sbi_array_as(ctx, call->x->dtype, sbi_model_array(call->model, "fit_x"), &f.points, &made, err);
    if (status == SB_OK && !ctx->trace) status = sbi_near_tree_new(ctx, call->x, f.points, f.metric, f.p, sbi_near_few(f.metric), &tree, err); // (a trace has the operations that all devices share)
    if (status == SB_OK) status = tree ? list_all(&f, tree, err) : find_all(&f, err);
    if (status == SB_OK) status = sbi_call_make(call, 0, f.count, &out, err);
    if (status == SB_OK && f.count) status = sbi_write_reals(ctx, f.distance, out, err);
    if (status == SB_OK) status = give_integers(call, 1, f.count, f.index, err);
    if (status == SB_OK) status = give_integers(call, 2, n + 1, f.start, err);
    sbi_array_free(made);
    sbi_near_tree_free(tree);
    sbi_release(&ctx->allocator, f.start);
    sbi_release(&ctx->allocator, f.index);
    sbi_release(&ctx->allocator, f.distance);
    return status;
}

sb_status sbi_nearest_neighbors_check(const sb_model *model, sb_error *err) {
    (void)model, (void)err; // shapes are all there is
    return SB_OK;
}
