// SPDX-License-Identifier: Apache-2.0
// k-means.
//
// Problem. Centres c_1 .. c_k that make the inertia sum_i w_i min_j |x_i - c_j|^2 small.
//
// Method. Lloyd's rounds (S. P. Lloyd, Least squares quantization in PCM, IEEE Transactions on Information Theory 28, 1982):
// every row to its nearest centre, every centre to the mean of its rows. They start from k-means++ with greedy trials
// (D. Arthur, S. Vassilvitskii, k-means++: the advantages of careful seeding, SODA 2007), from rows drawn at random, or from
// given centres; n_init starts, the best is kept. Stopping and empty clusters are treated as scikit-learn does.
//
// Order of arithmetic. Distances are those of the contract (T12): S over features of RN64(t t), t = RN64(x - c); the nearest
// centre is the lowest of the nearest. A centre is RN(RN64(S(RN64(w x)) / S(w))) over its rows in their order, numbered by rank
// (T2, segments). Inertia: S over rows of RN64(w d). The move of a round: S over centres of their squared distances.
// It ends when no label changed, or when the move is at most RN64(tol v), v = RN64(S over features of the variances / d),
// variances as in standard_scaler.c, unweighted; then, and after max_iter rounds, labels are taken once more.
// A centre without weight takes the row farthest from its own centre (of all such centres, ascending, the rows by descending
// distance, the lower first on a tie), which leaves its old centre: sums and weights of that one lose the row's; where all
// distances are 0 it stands at the centre of greatest weight instead, the lowest on a tie.
// Draws (T11): uniform64 of the stream 4 2^32 + start. A draw u from terms with running sums R_i (T2, scan) picks the first i with
// R_i > RN64(u R_(n-1)), or, where there is none, the first whose R_i is R_(n-1) at least. k-means++: terms w for the first centre,
// draw 0; for centre j trials t = 0 .. T-1, T = 2 + floor(ln k), from terms RN64(w d), d the squared distance to the nearest centre
// so far, draw 1 + (j - 1) T + t; the trial with the least S(RN64(w min(d, distance to it))) is taken, the first on a tie.
// random: draw j picks from the weights of the rows not yet picked.
// Of the starts the first with the least inertia is kept.
//
// Cost: a round is a product n k d, a pass of sums n d; a centre of k-means++ T distances of every row.
//
// What can go wrong. Fewer distinct rows than clusters: some clusters stay empty, which a warning says. Every start ends in a
// local optimum of its own. n_clusters beyond the rows is refused.
#include "kmeans.h"

#include <string.h>

#define STREAM (UINT64_C(4) << 32)

typedef struct start { // one start, and the arrays that all share
    const sbi_call *call;
    sb_context *ctx;
    int64_t n, d, k;
    double *weights;    // of the rows; NULL: 1 each
    double tolerance;
    sb_array *centres;  // [k, d], of X's type
    sb_array *moved, *label, *distance, *sums, *totals; // after a round; distance squared, to the nearest centre
    double *term, *running, *sum, *total;               // [n], [n], [k d], [k]
    int32_t *labels, *labels_before;                    // [n]
    double inertia;
    int64_t rounds;
} start;

static double weight_of(const start *s, int64_t i) { return s->weights ? s->weights[i] : 1.0; }

// ---- draws

static sb_status running_sums(start *s, sb_error *err) { // of s->term into s->running
    sb_array *terms = NULL;
    sb_status status = sbi_array_new(s->ctx, SB_F64, 1, &s->n, &terms, err);
    if (status == SB_OK) status = sbi_array_write(terms, s->term, (size_t)s->n * sizeof(double), err);
    if (status == SB_OK) status = sbi_scan(s->ctx, terms, 0, 0, terms, err);
    if (status == SB_OK) status = sbi_array_read(terms, s->running, (size_t)s->n * sizeof(double), err);
    sbi_array_free(terms);
    return status;
}

static int64_t pick(const start *s, double u) {
    const double all = s->running[s->n - 1], aim = u * all;
    for (int64_t i = 0; i < s->n; i++)
        if (s->running[i] > aim) return i;
    for (int64_t i = 0; i < s->n; i++)
        if (s->running[i] >= all) return i;
    return s->n - 1;
}

static sb_status draws(const start *s, int64_t number, int64_t count, double **out, sb_error *err) {
    sb_array *array = NULL;
    sb_status status = sbi_array_new(s->ctx, SB_F64, 1, &count, &array, err);
    if (status == SB_OK)
        status = sbi_random_uniform(s->ctx, sbi_model_seed(s->call->model, "random_state"), STREAM + (uint64_t)number, 0, array, err);
    if (status == SB_OK) status = sbi_read_reals(s->ctx, array, out, err);
    sbi_array_free(array);
    return status;
}

// points[count, d] = these rows of x.
static sb_status take_rows(const start *s, const int64_t *rows, int64_t count, sb_array *points, sb_error *err) {
    sb_array *indices = NULL;
    sb_status status = sbi_array_new(s->ctx, SB_I64, 1, &count, &indices, err);
    if (status == SB_OK) status = sbi_array_write(indices, rows, (size_t)count * sizeof *rows, err);
    if (status == SB_OK) status = sbi_gather(s->ctx, s->call->x, indices, points, err);
    sbi_array_free(indices);
    return status;
}

static sb_status draw_random(start *s, const double *u, int64_t *rows, sb_error *err) {
    sb_status status = SB_OK;
    for (int64_t i = 0; i < s->n; i++) s->term[i] = weight_of(s, i);
    for (int64_t j = 0; j < s->k && status == SB_OK; j++) {
        status = running_sums(s, err);
        if (status != SB_OK) break;
        rows[j] = pick(s, u[j]);
        s->term[rows[j]] = 0.0;
    }
    return status;
}

static int64_t trials_of(int64_t k) { // 2 + floor(ln k)
    static const int64_t least[] = {3, 8, 21, 55, 149, 404, 1097, 2981, 8104, 22027, 59875, 162755, 442414, 1202605, 3269018};
    int64_t trials = 2;
    for (size_t i = 0; i < sizeof least / sizeof *least && k >= least[i]; i++) trials++;
    return trials;
}

// The trials of one centre: closest[n] becomes that of the best, whose row is returned.
static sb_status try_rows(start *s, const int64_t *trial, int64_t trials, double *closest, int64_t *row, sb_error *err) {
    const int64_t n = s->n, shape[2] = {trials, s->d}, all[2] = {n, trials};
    sb_array *points = NULL, *distances = NULL;
    double *apart = NULL, least = 0.0;
    int64_t best = 0;
    sb_status status;
    if ((status = sbi_array_new(s->ctx, s->call->x->dtype, 2, shape, &points, err)) ||
        (status = sbi_array_new(s->ctx, SB_F64, 2, all, &distances, err)) || (status = take_rows(s, trial, trials, points, err)) ||
        (status = sbi_distances(s->ctx, s->call->x, points, 0, distances, err)) ||
        (status = sbi_read_reals(s->ctx, distances, &apart, err)))
        goto done;
    for (int64_t t = 0; t < trials; t++) {
        for (int64_t i = 0; i < n; i++) {
            const double own = apart[i * trials + t], nearer = own < closest[i] ? own : closest[i];
            s->term[i] = s->weights ? s->weights[i] * nearer : nearer;
        }
        const double sum = sbi_host_sum(n, s->term);
        if (t == 0 || sum < least) {
            best = t;
            least = sum;
        }
    }
    for (int64_t i = 0; i < n; i++)
        if (apart[i * trials + best] < closest[i]) closest[i] = apart[i * trials + best];
    *row = trial[best];
done:
    sbi_array_free(points);
    sbi_array_free(distances);
    sbi_release(&s->ctx->allocator, apart);
    return status;
}

static sb_status draw_careful(start *s, const double *u, int64_t *rows, sb_error *err) {
    const int64_t trials = trials_of(s->k);
    int64_t *trial = sbi_allocate(&s->ctx->allocator, trials, sizeof *trial, err);
    double *closest = sbi_allocate(&s->ctx->allocator, s->n, sizeof *closest, err);
    sb_status status = trial && closest ? SB_OK : SB_ERR_MEMORY;
    for (int64_t j = 0; j < s->k && status == SB_OK; j++) {
        for (int64_t i = 0; i < s->n; i++) s->term[i] = j == 0 ? weight_of(s, i) : s->weights ? s->weights[i] * closest[i] : closest[i];
        if ((status = running_sums(s, err)) != SB_OK) break;
        const int64_t count = j == 0 ? 1 : trials;
        for (int64_t t = 0; t < count; t++) trial[t] = pick(s, u[j == 0 ? 0 : 1 + (j - 1) * trials + t]);
        for (int64_t i = 0; i < s->n && j == 0; i++) closest[i] = __builtin_inf();
        status = try_rows(s, trial, count, closest, &rows[j], err);
    }
    sbi_release(&s->ctx->allocator, trial);
    sbi_release(&s->ctx->allocator, closest);
    return status;
}

static sb_status begin(start *s, int64_t number, sb_error *err) {
    const sbi_value *init = sbi_model_value(s->call->model, "init");
    const bool random = sbi_model_is(s->call->model, "init", "random");
    double *u = NULL;
    int64_t *rows = NULL;
    sb_status status;
    if (init->array) {
        const sb_array *given = NULL;
        sb_array *made = NULL;
        status = sbi_array_as(s->ctx, s->centres->dtype, init->array, &given, &made, err);
        if (status == SB_OK) status = sbi_copy(s->ctx, given, s->centres, err);
        sbi_array_free(made);
        return status;
    }
    if (!(rows = sbi_allocate(&s->ctx->allocator, s->k, sizeof *rows, err))) return SB_ERR_MEMORY;
    status = draws(s, number, random ? s->k : 1 + (s->k - 1) * trials_of(s->k), &u, err);
    if (status == SB_OK) status = random ? draw_random(s, u, rows, err) : draw_careful(s, u, rows, err);
    if (status == SB_OK) status = take_rows(s, rows, s->k, s->centres, err);
    sbi_release(&s->ctx->allocator, u);
    sbi_release(&s->ctx->allocator, rows);
    return status;
}

sb_status sbi_kmeans_careful_rows(const sbi_call *call, int64_t k, int64_t number, int64_t *rows, sb_error *err) {
    start s = {.call = call, .ctx = call->ctx, .n = call->n, .d = call->d, .k = k};
    double *u = NULL;
    s.term = sbi_allocate(&s.ctx->allocator, s.n, sizeof *s.term, err);
    s.running = sbi_allocate(&s.ctx->allocator, s.n, sizeof *s.running, err);
    sb_status status = s.term && s.running ? draws(&s, number, 1 + (k - 1) * trials_of(k), &u, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = draw_careful(&s, u, rows, err);
    sbi_release(&s.ctx->allocator, u);
    sbi_release(&s.ctx->allocator, s.term);
    sbi_release(&s.ctx->allocator, s.running);
    return status;
}

// ---- rounds

// Centres without weight take the rows farthest from their own. (s->term: the squared distances.)
static sb_status relocate(start *s, sb_error *err) {
    double *row = NULL;
    sb_array *point = NULL;
    const int64_t shape[2] = {1, s->d};
    sb_status status = SB_OK;
    for (int64_t j = 0; j < s->k && status == SB_OK; j++) {
        if (s->total[j] > 0.0) continue;
        int64_t far = 0;
        if (!point) {
            if ((status = sbi_nearest(s->ctx, s->call->x, s->centres, s->label, s->distance, err)) ||
                (status = sbi_array_read(s->distance, s->term, (size_t)s->n * sizeof(double), err)) ||
                (status = sbi_array_new(s->ctx, s->call->x->dtype, 2, shape, &point, err)))
                break;
        }
        for (int64_t i = 1; i < s->n; i++)
            if (s->term[i] > s->term[far]) far = i;
        if (!(s->term[far] > 0.0)) break;
        s->term[far] = -1.0; // taken
        if ((status = take_rows(s, &far, 1, point, err)) || (status = sbi_read_reals(s->ctx, point, &row, err))) break;
        const int64_t old = s->labels[far];
        const double w = weight_of(s, far);
        for (int64_t c = 0; c < s->d; c++) {
            const double term = s->weights ? w * row[c] : row[c];
            s->sum[old * s->d + c] -= term;
            s->sum[j * s->d + c] = term;
        }
        s->total[old] -= w;
        s->total[j] = w;
        sbi_release(&s->ctx->allocator, row);
        row = NULL;
    }
    sbi_release(&s->ctx->allocator, row);
    sbi_array_free(point);
    return status;
}

// Labels by the centres, then the centres that these labels make, into s->moved.
static sb_status one_round(start *s, sb_error *err) {
    const int64_t k = s->k, d = s->d;
    int64_t heaviest = 0;
    bool empty = false;
    sb_status status;
    if ((status = sbi_nearest(s->ctx, s->call->x, s->centres, s->label, NULL, err)) ||
        (status = sbi_array_read(s->label, s->labels, (size_t)s->n * sizeof *s->labels, err)) ||
        (status = sbi_segments(s->ctx, s->call->x, s->label, s->call->weights, s->sums, s->totals, err)) ||
        (status = sbi_array_read(s->sums, s->sum, (size_t)(k * d) * sizeof(double), err)) ||
        (status = sbi_array_read(s->totals, s->total, (size_t)k * sizeof(double), err)))
        return status;
    for (int64_t j = 0; j < k; j++) empty = empty || !(s->total[j] > 0.0);
    if (empty && (status = relocate(s, err))) return status;
    for (int64_t j = 1; j < k; j++)
        if (s->total[j] > s->total[heaviest]) heaviest = j;
    for (int pass = 0; pass < 2; pass++) // (those without weight after the others)
        for (int64_t j = 0; j < k; j++) {
            const bool weighs = s->total[j] > 0.0;
            if (weighs != (pass == 0)) continue;
            for (int64_t c = 0; c < d; c++)
                s->sum[j * d + c] = weighs ? s->sum[j * d + c] / s->total[j] : s->sum[heaviest * d + c];
        }
    return sbi_write_reals(s->ctx, s->sum, s->moved, err);
}

// S over centres of their squared moves.
static sb_status move_of(start *s, double *out, sb_error *err) {
    double *old = NULL, *new = NULL, *each = sbi_allocate(&s->ctx->allocator, s->k, sizeof *each, err);
    double *term = sbi_allocate(&s->ctx->allocator, s->d, sizeof *term, err);
    sb_status status = each && term ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_read_reals(s->ctx, s->centres, &old, err);
    if (status == SB_OK) status = sbi_read_reals(s->ctx, s->moved, &new, err);
    for (int64_t j = 0; j < s->k && status == SB_OK; j++) {
        for (int64_t c = 0; c < s->d; c++) {
            const double t = new[j * s->d + c] - old[j * s->d + c];
            term[c] = t * t;
        }
        each[j] = sbi_host_sum(s->d, term);
    }
    if (status == SB_OK) *out = sbi_host_sum(s->k, each);
    sbi_release(&s->ctx->allocator, old);
    sbi_release(&s->ctx->allocator, new);
    sbi_release(&s->ctx->allocator, each);
    sbi_release(&s->ctx->allocator, term);
    return status;
}

static sb_status inertia_of(sb_context *ctx, const sb_array *distance, const double *weights, double *out, sb_error *err) {
    double *term = NULL;
    sb_status status = sbi_read_reals(ctx, distance, &term, err);
    for (int64_t i = 0; status == SB_OK && weights && i < distance->size; i++) term[i] = weights[i] * term[i];
    if (status == SB_OK) *out = sbi_host_sum(distance->size, term);
    sbi_release(&ctx->allocator, term);
    return status;
}

static sb_status run_start(start *s, int64_t number, int64_t starts, sb_error *err) {
    const int64_t most = sbi_model_integer(s->call->model, "max_iter");
    double moved = 0.0;
    sb_status status = begin(s, number, err);
    for (s->rounds = 0; s->rounds < most && status == SB_OK;) {
        if ((status = sbi_call_progress(s->call, number * most + s->rounds, starts * most, err)) || (status = one_round(s, err)) ||
            (status = move_of(s, &moved, err)))
            break;
        sb_array *old = s->centres;
        s->centres = s->moved;
        s->moved = old;
        const bool same = s->rounds > 0 && memcmp(s->labels, s->labels_before, (size_t)s->n * sizeof *s->labels) == 0;
        int32_t *labels = s->labels;
        s->labels = s->labels_before;
        s->labels_before = labels;
        s->rounds++;
        if (same || moved <= s->tolerance) break;
    }
    if (status == SB_OK) status = sbi_nearest(s->ctx, s->call->x, s->centres, s->label, s->distance, err);
    return status == SB_OK ? inertia_of(s->ctx, s->distance, s->weights, &s->inertia, err) : status;
}

// ---- the fit

static sb_status tolerance_of(start *s, sb_error *err) {
    const int64_t shape[2] = {5, s->d};
    sb_array *moments = NULL;
    double *values = NULL;
    sb_status status = sbi_array_new(s->ctx, SB_F64, 2, shape, &moments, err);
    if (status == SB_OK) status = sbi_moments(s->ctx, s->call->x, NULL, moments, err);
    if (status == SB_OK) status = sbi_read_reals(s->ctx, moments, &values, err);
    for (int64_t j = 0; j < s->d && status == SB_OK; j++) values[j] = values[2 * s->d + j] / values[j];
    if (status == SB_OK) {
        const double mean = sbi_host_sum(s->d, values) / (double)s->d;
        s->tolerance = sbi_model_real(s->call->model, "tol") * mean;
    }
    sbi_array_free(moments);
    sbi_release(&s->ctx->allocator, values);
    return status;
}

static sb_status prepare(start *s, sb_error *err) {
    const sbi_allocator *allocator = &s->ctx->allocator;
    const int64_t shape[2] = {s->k, s->d};
    const sb_dtype type = s->call->x->dtype;
    sb_status status;
    if ((status = sbi_array_new(s->ctx, type, 2, shape, &s->centres, err)) || (status = sbi_array_new(s->ctx, type, 2, shape, &s->moved, err)) ||
        (status = sbi_array_new(s->ctx, SB_I32, 1, &s->n, &s->label, err)) || (status = sbi_array_new(s->ctx, SB_F64, 1, &s->n, &s->distance, err)) ||
        (status = sbi_array_new(s->ctx, SB_F64, 2, shape, &s->sums, err)) || (status = sbi_array_new(s->ctx, SB_F64, 1, &s->k, &s->totals, err)) ||
        (s->call->weights && (status = sbi_read_reals(s->ctx, s->call->weights, &s->weights, err))))
        return status;
    s->term = sbi_allocate(allocator, s->n, sizeof *s->term, err);
    s->running = sbi_allocate(allocator, s->n, sizeof *s->running, err);
    s->sum = sbi_allocate(allocator, s->k * s->d, sizeof *s->sum, err);
    s->total = sbi_allocate(allocator, s->k, sizeof *s->total, err);
    s->labels = sbi_allocate(allocator, s->n, sizeof *s->labels, err);
    s->labels_before = sbi_allocate(allocator, s->n, sizeof *s->labels_before, err);
    if (!s->term || !s->running || !s->sum || !s->total || !s->labels || !s->labels_before) return SB_ERR_MEMORY;
    return tolerance_of(s, err);
}

static void free_start(start *s) {
    const sbi_allocator *allocator = &s->ctx->allocator;
    sb_array *const arrays[] = {s->centres, s->moved, s->label, s->distance, s->sums, s->totals};
    void *const blocks[] = {s->weights, s->term, s->running, s->sum, s->total, s->labels, s->labels_before};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sbi_array_free(arrays[i]);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sbi_release(allocator, blocks[i]);
}

static sb_status keep(start *s, sb_error *err) {
    sb_model *model = s->call->model;
    sb_array *centres = NULL, *labels = NULL;
    sb_status status;
    if ((status = sbi_model_make(s->ctx, model, "cluster_centers", &centres, err)) || (status = sbi_copy(s->ctx, s->centres, centres, err)) ||
        (status = sbi_model_make(s->ctx, model, "labels", &labels, err)) || (status = sbi_copy(s->ctx, s->label, labels, err)) ||
        (status = sbi_model_fill(s->ctx, model, "inertia", &s->inertia, err)))
        return status;
    return sbi_model_fill_integers(s->ctx, model, "n_iter", &s->rounds, err);
}

static sb_status count_clusters(start *s, sb_error *err) {
    int64_t found = 0;
    sb_status status = sbi_array_read(sbi_model_array(s->call->model, "labels"), s->labels, (size_t)s->n * sizeof *s->labels, err);
    if (status != SB_OK) return status;
    for (int64_t j = 0; j < s->k; j++) s->total[j] = 0.0;
    for (int64_t i = 0; i < s->n; i++) s->total[s->labels[i]] = 1.0;
    for (int64_t j = 0; j < s->k; j++) found += s->total[j] > 0.0;
    if (found == s->k) return SB_OK;
    return sbi_model_warn(s->call->model, "ConvergenceWarning",
                          "Number of distinct clusters (%lld) found smaller than n_clusters (%lld). Possibly due to duplicate points in X.",
                          (long long)found, (long long)s->k);
}

sb_status sbi_kmeans_fit(sbi_call *call, sb_error *err) {
    const sb_model *model = call->model;
    const sbi_value *asked = sbi_model_value(model, "n_init");
    start s = {.call = call, .ctx = call->ctx, .n = call->n, .d = call->d, .k = sbi_model_integer(model, "n_clusters")};
    int64_t starts = asked->kind == SBI_INTEGER ? asked->integer : sbi_model_is(model, "init", "random") ? 10 : 1;
    double least = 0.0;
    if (sbi_model_value(model, "init")->array) starts = 1;
    if (s.k > s.n)
        return sbi_fail(err, SB_ERR_ARGUMENT, "n_clusters", "n_samples=%lld should be >= n_clusters=%lld.", (long long)s.n, (long long)s.k);
    sb_status status = prepare(&s, err);
    for (int64_t i = 0; i < starts && status == SB_OK; i++) {
        status = run_start(&s, i, starts, err);
        if (status != SB_OK || (i > 0 && !(s.inertia < least))) continue;
        least = s.inertia;
        status = keep(&s, err);
    }
    if (status == SB_OK) status = count_clusters(&s, err);
    free_start(&s);
    return status;
}

// ---- the other methods

static sb_status centres_of(const sbi_call *call, const sb_array **out, sb_array **made, sb_error *err) {
    return sbi_array_as(call->ctx, call->x->dtype, sbi_model_array(call->model, "cluster_centers"), out, made, err);
}

sb_status sbi_kmeans_predict(sbi_call *call, sb_error *err) {
    const sb_array *centres = NULL;
    sb_array *made = NULL;
    sb_status status = centres_of(call, &centres, &made, err);
    if (status == SB_OK) status = sbi_nearest(call->ctx, call->x, centres, call->out, NULL, err);
    sbi_array_free(made);
    return status;
}

sb_status sbi_kmeans_transform(sbi_call *call, sb_error *err) {
    const sb_array *centres = NULL;
    sb_array *made = NULL;
    sb_status status = centres_of(call, &centres, &made, err);
    if (status == SB_OK) status = sbi_distances(call->ctx, call->x, centres, 1, call->out, err);
    sbi_array_free(made);
    return status;
}

sb_status sbi_kmeans_score(sbi_call *call, sb_error *err) {
    const sb_array *centres = NULL;
    sb_array *made = NULL, *label = NULL, *distance = NULL;
    double *weights = NULL, inertia = 0.0;
    sb_status status = centres_of(call, &centres, &made, err);
    if (status == SB_OK) status = sbi_array_new(call->ctx, SB_I32, 1, &call->n, &label, err);
    if (status == SB_OK) status = sbi_array_new(call->ctx, SB_F64, 1, &call->n, &distance, err);
    if (status == SB_OK) status = sbi_nearest(call->ctx, call->x, centres, label, distance, err);
    if (status == SB_OK && call->weights) status = sbi_read_reals(call->ctx, call->weights, &weights, err);
    if (status == SB_OK) status = inertia_of(call->ctx, distance, weights, &inertia, err);
    inertia = 0.0 - inertia;
    if (status == SB_OK) status = sbi_write_reals(call->ctx, &inertia, call->out, err);
    sbi_array_free(made);
    sbi_array_free(label);
    sbi_array_free(distance);
    sbi_release(&call->ctx->allocator, weights);
    return status;
}

sb_status sbi_kmeans_check(const sb_model *model, sb_error *err) {
    const sb_array *labels = sbi_model_array(model, "labels");
    int32_t *values = sbi_allocate(&model->allocator, labels->size, sizeof *values, err);
    sb_status status = values ? sbi_array_read(labels, values, (size_t)labels->size * sizeof *values, err) : SB_ERR_MEMORY;
    const int64_t k = sbi_model_integer(model, "n_clusters");
    for (int64_t i = 0; i < labels->size && status == SB_OK; i++)
        if (values[i] < 0 || values[i] >= k)
            status = sbi_fail(err, SB_ERR_FORMAT, "labels", "label %lld is %d: there are %lld clusters", (long long)i, (int)values[i], (long long)k);
    sbi_release(&model->allocator, values);
    return status;
}
