// SPDX-License-Identifier: Apache-2.0
// DBSCAN.
//
// Problem. Two rows are near if their distance is at most eps. A row is a core if the rows near it, itself among them, weigh at least
// min_samples. Cores that are near each other are of one cluster; other rows near a core belong to a core's cluster; the rest are noise.
//
// Method. M. Ester, H.-P. Kriegel, J. Sander, X. Xu, A density-based algorithm for discovering clusters in large spatial databases with
// noise, KDD 1996; clusters by union and find over pairs of cores, so that no list of neighbours is kept. In few dimensions a tree
// (near_tree.c) rules out far rows; a row without a weight is counted no further than min_samples.
//
// Order of arithmetic. Distances: nearest_neighbors.c, in RN64. The weight near a row is the S of the weights of the rows near it,
// numbered by rank. Clusters are numbered by their first core. A row that is no core goes to its nearest core (contract T12): of several
// as near to the one whose values come first, compared one after another. So labels do not depend on the order of the rows, but for
// their numbers.
//
// Cost: distances of all pairs, then once more of half the pairs of cores, then of the other rows to cores; memory for 2^24 of
// them at a time, a byte each. With a tree about n log n, and n lists where there are weights.
//
// What can go wrong. scikit-learn gives a row between two clusters to the one it comes upon first; such labels may differ.
#include "../neighbors/search.h"
#include "near_tree.h"

#include <string.h>

typedef struct clustering {
    sbi_call *call;
    sb_context *ctx;
    int64_t n, d, cores;
    sbi_metric metric;
    double p, eps, *weights;
    int64_t *core, *label;  // numbers of the cores, ascending; of each row
    int64_t *root;          // of each core, another of its cluster, at most its own place
    sb_array *core_x;
    uint8_t *seen;
} clustering;

static sb_array rows_of(const sb_array *x, int64_t first, int64_t count) { // a view that is only passed on
    sb_array part = *x;
    part.shape[0] = count;
    part.size = count * x->shape[1];
    part.data = x->data + first * x->shape[1] * (int64_t)sbi_dtype_size(x->dtype);
    return part;
}

// Hands rows of x with what is near them among the first rows of itself to `take`, some rows at a time; where `below`, no row with later ones.
typedef void (*take_row)(clustering *c, int64_t row, int64_t count, const uint8_t *near);

static sb_status each_row(clustering *c, const sb_array *x, bool below, take_row take, sb_error *err) {
    const int64_t n = x->shape[0], most = (INT64_C(1) << 24) / n, together = most < 1 ? 1 : most < n ? most : n;
    sb_status status = SB_OK;
    if (!(c->seen = sbi_allocate(&c->ctx->allocator, together * n, 1, err))) return SB_ERR_MEMORY;
    for (int64_t first = 0; first < n && status == SB_OK; first += together) {
        const int64_t count = n - first < together ? n - first : together, points = below ? first + count : n, shape[2] = {count, points};
        const sb_array rows = rows_of(x, first, count), others = rows_of(x, 0, points);
        sb_array *inside = NULL;
        if ((status = sbi_call_progress(c->call, first, n, err)) || (status = sbi_array_new(c->ctx, SB_U8, 2, shape, &inside, err)) ||
            (status = sbi_within(c->ctx, &rows, &others, c->metric, c->p, c->eps, inside, err)) ||
            (status = sbi_array_read(inside, c->seen, (size_t)(count * points), err))) {
            sbi_array_free(inside);
            break;
        }
        for (int64_t i = 0; i < count; i++) take(c, first + i, points, c->seen + i * points);
        sbi_array_free(inside);
    }
    sbi_release(&c->ctx->allocator, c->seen);
    c->seen = NULL;
    return status;
}

static void take_core(clustering *c, int64_t row, double weight) {
    if (weight >= sbi_model_real(c->call->model, "min_samples")) c->core[c->cores++] = row;
}

static void count_near(clustering *c, int64_t row, int64_t count, const uint8_t *near) {
    int64_t hits = 0;
    if (c->weights) {
        double *terms = c->weights + c->n; // (room behind the weights)
        for (int64_t j = 0; j < count; j++)
            if (near[j]) terms[hits++] = c->weights[j];
        take_core(c, row, sbi_host_sum(hits, terms));
    } else {
        for (int64_t j = 0; j < count; j++) hits += near[j];
        take_core(c, row, (double)hits);
    }
}

static void join_near(clustering *c, int64_t row, int64_t count, const uint8_t *near) {
    (void)count;
    for (const uint8_t *at = near; (at = memchr(at, 1, (size_t)(near + row - at))) != NULL; at++)
        sbi_join_roots(c->root, sbi_find_root(c->root, row), sbi_find_root(c->root, at - near));
}

// ---- the same by a tree, where it serves (and no trace is written: it has the operations that all devices share)

// The weights near rows, listed some rows at a time.
static sb_status weigh_rows(clustering *c, const sbi_near_tree *tree, const int64_t *count, sb_error *err) {
    const sbi_allocator *allocator = &c->ctx->allocator;
    int64_t room = 1 << 20, *start = sbi_allocate(allocator, c->n + 1, sizeof *start, err), *near = NULL;
    double *terms = NULL;
    for (int64_t i = 0; i < c->n; i++) room = count[i] > room ? count[i] : room;
    sb_status status = start && (near = sbi_allocate(allocator, room, sizeof *near, err)) && (terms = sbi_allocate(allocator, room, sizeof *terms, err)) ? SB_OK : SB_ERR_MEMORY;
    for (int64_t first = 0, end; first < c->n && status == SB_OK; first = end) {
        for (end = first; end < c->n && start[end - first] + count[end] <= room; end++) start[end - first + 1] = start[end - first] + count[end];
        const sb_array rows = rows_of(c->call->x, first, end - first);
        if ((status = sbi_call_progress(c->call, first, c->n, err))) break;
        sbi_near_list(tree, &rows, c->eps, -1, false, start, terms, near);
        for (int64_t i = first; i < end; i++) {
            const int64_t from = start[i - first];
            for (int64_t j = 0; j < count[i]; j++) terms[from + j] = c->weights[near[from + j]];
            take_core(c, i, sbi_host_sum(count[i], terms + from));
        }
    }
    sbi_release(allocator, start);
    sbi_release(allocator, near);
    sbi_release(allocator, terms);
    return status;
}

static sb_status plant(clustering *c, const sb_array *x, sbi_near_tree **tree, sb_error *err) {
    *tree = NULL;
    return c->ctx->trace ? SB_OK : sbi_near_tree_new(c->ctx, x, x, c->metric, c->p, SBI_NEAR_FEW_OF_CLUSTERS, tree, err);
}

static sb_status find_cores(clustering *c, sb_error *err) {
    sbi_near_tree *tree = NULL;
    sb_status status = plant(c, c->call->x, &tree, err);
    if (status || !tree) return status ? status : each_row(c, c->call->x, false, count_near, err);
    int64_t *count = sbi_allocate(&c->ctx->allocator, c->n, sizeof *count, err);
    if (count)
        sbi_near_count(tree, c->call->x, c->eps, c->weights ? INT64_MAX : sbi_model_integer(c->call->model, "min_samples"), count);
    else
        status = SB_ERR_MEMORY;
    for (int64_t i = 0; i < c->n && !c->weights && status == SB_OK; i++) take_core(c, i, (double)count[i]);
    if (c->weights && status == SB_OK) status = weigh_rows(c, tree, count, err);
    sbi_release(&c->ctx->allocator, count);
    sbi_near_tree_free(tree);
    return status;
}

static sb_status join_cores(clustering *c, sb_error *err) {
    sbi_near_tree *tree = NULL;
    sb_status status = plant(c, c->core_x, &tree, err);
    if (status || !tree) return status ? status : each_row(c, c->core_x, true, join_near, err);
    status = sbi_near_groups(tree, c->eps, c->root, err);
    sbi_near_tree_free(tree);
    return status;
}

// ---- rows that are no cores

// Places of the cores in the order of their values, by merging.
static sb_status sort_cores(clustering *c, const double *values, int64_t *places, sb_error *err) {
    const int64_t d = c->d;
    int64_t *other = sbi_allocate(&c->ctx->allocator, c->cores, sizeof *other, err);
    if (!other) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < c->cores; i++) places[i] = i;
    for (int64_t width = 1; width < c->cores; width *= 2) {
        for (int64_t low = 0; low < c->cores; low += 2 * width) {
            const int64_t middle = low + width < c->cores ? low + width : c->cores, end = low + 2 * width < c->cores ? low + 2 * width : c->cores;
            for (int64_t a = low, b = middle, to = low; to < end; to++) {
                int64_t j = 0;
                const double *left = values + (a < middle ? places[a] : 0) * d, *right = values + (b < end ? places[b] : 0) * d;
                while (j < d && left[j] == right[j]) j++;
                other[to] = a < middle && (b == end || j == d || left[j] < right[j]) ? places[a++] : places[b++];
            }
        }
        memcpy(places, other, (size_t)c->cores * sizeof *places);
    }
    sbi_release(&c->ctx->allocator, other);
    return SB_OK;
}

static sb_status take_rows(sb_context *ctx, const sb_array *x, const int64_t *rows, int64_t count, sb_array **out, sb_error *err) {
    const int64_t shape[2] = {count, x->shape[1]};
    sb_array *places = NULL;
    sb_status status;
    if ((status = sbi_array_new(ctx, SB_I64, 1, &count, &places, err)) || (status = sbi_array_write(places, rows, (size_t)count * sizeof *rows, err)) ||
        (status = sbi_array_new(ctx, x->dtype, 2, shape, out, err)))
        goto done;
    status = sbi_gather(ctx, x, places, *out, err);
done:
    sbi_array_free(places);
    return status;
}

// The labels of rest[count], by their nearest cores.
static sb_status label_rest(clustering *c, const int64_t *rest, int64_t count, sb_error *err) {
    const int64_t shape[2] = {count, 1};
    sb_context *ctx = c->ctx;
    sb_array *x = NULL, *sorted = NULL, *far = NULL, *nearest = NULL;
    double *values = NULL, *distance = NULL;
    int64_t *places = sbi_allocate(&ctx->allocator, c->cores, sizeof *places, err), *found = sbi_allocate(&ctx->allocator, count, sizeof *found, err);
    sb_status status = places && found ? sbi_read_reals(ctx, c->core_x, &values, err) : SB_ERR_MEMORY;
    if (status || (status = sort_cores(c, values, places, err)) || (status = take_rows(ctx, c->core_x, places, c->cores, &sorted, err)) ||
        (status = take_rows(ctx, c->call->x, rest, count, &x, err)) || (status = sbi_array_new(ctx, SB_F64, 2, shape, &far, err)) ||
        (status = sbi_array_new(ctx, SB_I64, 2, shape, &nearest, err)) ||
        (status = sbi_neighbors(ctx, x, sorted, 1, c->metric, c->p, -1, far, nearest, err)) || (status = sbi_reach(ctx, c->metric, c->p, far, err)) ||
        (status = sbi_read_reals(ctx, far, &distance, err)) || (status = sbi_array_read(nearest, found, (size_t)count * sizeof *found, err)))
        goto done;
    for (int64_t i = 0; i < count; i++)
        if (distance[i] <= c->eps) c->label[rest[i]] = c->label[c->core[places[found[i]]]];
done:
    sbi_array_free(x);
    sbi_array_free(sorted);
    sbi_array_free(far);
    sbi_array_free(nearest);
    sbi_release(&ctx->allocator, values);
    sbi_release(&ctx->allocator, distance);
    sbi_release(&ctx->allocator, places);
    sbi_release(&ctx->allocator, found);
    return status;
}

// ---- the fit

static sb_status label_rows(clustering *c, sb_error *err) {
    int64_t clusters = 0, count = 0, *rest = sbi_allocate(&c->ctx->allocator, c->n, sizeof *rest, err);
    sb_status status = rest ? SB_OK : SB_ERR_MEMORY;
    for (int64_t i = 0; i < c->n && status == SB_OK; i++) c->label[i] = -1;
    for (int64_t i = 0; i < c->cores && status == SB_OK; i++) { // (a root comes before what hangs on it)
        const int64_t root = sbi_find_root(c->root, i);
        c->label[c->core[i]] = root == i ? clusters++ : c->label[c->core[root]];
    }
    for (int64_t i = 0; i < c->n && status == SB_OK; i++)
        if (c->label[i] < 0) rest[count++] = i;
    if (status == SB_OK && count && c->cores) status = label_rest(c, rest, count, err);
    sbi_release(&c->ctx->allocator, rest);
    return status;
}

static sb_status keep(clustering *c, sb_error *err) {
    sb_model *model = c->call->model;
    sb_array *components = NULL;
    sb_status status = sbi_model_set_size(model, "core", c->cores, err);
    if (status == SB_OK) status = sbi_model_fill_integers(c->ctx, model, "core_sample_indices", c->core, err);
    if (status == SB_OK) status = sbi_model_make(c->ctx, model, "components", &components, err);
    if (status == SB_OK && c->cores) status = sbi_copy(c->ctx, c->core_x, components, err);
    return status ? status : sbi_model_fill_integers(c->ctx, model, "labels", c->label, err);
}

static sb_status prepare(clustering *c, sb_error *err) {
    const sbi_allocator *allocator = &c->ctx->allocator;
    c->core = sbi_allocate(allocator, c->n, sizeof *c->core, err);
    c->label = sbi_allocate(allocator, c->n, sizeof *c->label, err);
    c->root = sbi_allocate(allocator, c->n, sizeof *c->root, err);
    if (!c->core || !c->label || !c->root) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < c->n; i++) c->root[i] = i;
    if (!c->call->weights) return SB_OK;
    if (!(c->weights = sbi_allocate(allocator, 2 * c->n, sizeof *c->weights, err))) return SB_ERR_MEMORY;
    return sbi_array_read(c->call->weights, c->weights, (size_t)c->n * sizeof *c->weights, err);
}

sb_status sbi_dbscan_fit(sbi_call *call, sb_error *err) {
    clustering c = {.call = call, .ctx = call->ctx, .n = call->n, .d = call->d, .eps = sbi_model_real(call->model, "eps")};
    c.metric = sbi_search_metric(call->model, &c.p);
    sb_status status = prepare(&c, err);
    if (status == SB_OK) status = find_cores(&c, err);
    if (status == SB_OK && c.cores) status = take_rows(c.ctx, call->x, c.core, c.cores, &c.core_x, err);
    if (status == SB_OK && c.cores) status = join_cores(&c, err);
    if (status == SB_OK) status = label_rows(&c, err);
    if (status == SB_OK) status = keep(&c, err);
    sbi_array_free(c.core_x);
    void *const all[] = {c.core, c.label, c.root, c.weights};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sbi_release(&c.ctx->allocator, all[i]);
    return status;
}

static sb_status read_integers(const sb_model *model, const char *name, int64_t **out, int64_t *count, sb_error *err) {
    const sb_array *a = sbi_model_array(model, name);
    *count = a->size;
    if (!(*out = sbi_allocate(&model->allocator, a->size, sizeof **out, err))) return SB_ERR_MEMORY;
    return sbi_array_read(a, *out, (size_t)a->size * sizeof **out, err);
}

sb_status sbi_dbscan_check(const sb_model *model, sb_error *err) {
    const int64_t n = sbi_model_size(model, "n");
    int64_t *core = NULL, *label = NULL, cores = 0, rows = 0;
    sb_status status = read_integers(model, "core_sample_indices", &core, &cores, err);
    if (status == SB_OK) status = read_integers(model, "labels", &label, &rows, err);
    for (int64_t i = 0; i < cores && status == SB_OK; i++)
        if (core[i] < (i ? core[i - 1] + 1 : 0) || core[i] >= n)
            status = sbi_fail(err, SB_ERR_FORMAT, "core_sample_indices", "numbers of rows do not ascend within 0 .. %lld", (long long)n - 1);
    for (int64_t i = 0; i < rows && status == SB_OK; i++)
        if (label[i] < -1 || label[i] >= cores) status = sbi_fail(err, SB_ERR_FORMAT, "labels", "label %lld is %lld", (long long)i, (long long)label[i]);
    sbi_release(&model->allocator, core);
    sbi_release(&model->allocator, label);
    return status;
}
