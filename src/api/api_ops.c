// SPDX-License-Identifier: Apache-2.0
// Exported: the operations. Each checks for NULL, then for buffers that overlap, then calls in; shapes and dtypes are
// the operation's own business.
#include "api.h"
#include "ops.h"

sb_status sb_array_copy(sb_context *ctx, const sb_array *from, sb_array *to, sb_error *err) {
    NEED(ctx); NEED(from); NEED(to);
    APART(to, from);
    RETURN_INSIDE(sbi_copy(ctx, from, to, err));
}

sb_status sb_gemm(sb_context *ctx, const sb_gemm_options *options, const sb_array *a, const sb_array *b,
                  const sb_array *bias, sb_array *c, sb_error *err) {
    NEED(ctx); NEED(a); NEED(b); NEED(c);
    APART(c, a); APART(c, b); APART(c, bias);
    sb_gemm_options known;
    sb_status status = sbi_api_options(options, &known, &sbi_gemm_struct, err);
    if (status != SB_OK) return status;
    RETURN_INSIDE(sbi_gemm(ctx, &known, a, b, bias, c, err));
}

sb_status sb_dot(sb_context *ctx, const sb_array *a, const sb_array *b, sb_array *out, sb_error *err) {
    NEED(ctx); NEED(a); NEED(b); NEED(out);
    APART(out, a); APART(out, b);
    RETURN_INSIDE(sbi_dot(ctx, a, b, out, err));
}

sb_status sb_reduce(sb_context *ctx, sb_reduction kind, int axis, const sb_array *x, sb_array *out, sb_error *err) {
    NEED(ctx); NEED(x); NEED(out);
    APART(out, x);
    RETURN_INSIDE(sbi_reduce(ctx, kind, axis, x, out, err));
}

sb_status sb_variance(sb_context *ctx, int axis, int64_t ddof, const sb_array *x, sb_array *mean, sb_array *out,
                      sb_error *err) {
    NEED(ctx); NEED(x); NEED(out);
    APART(out, x); APART(out, mean); APART(mean, x);
    RETURN_INSIDE(sbi_variance(ctx, axis, ddof, x, mean, out, err));
}

sb_status sb_deviation(sb_context *ctx, int axis, int64_t ddof, const sb_array *x, sb_array *mean, sb_array *out,
                       sb_error *err) {
    NEED(ctx); NEED(x); NEED(out);
    APART(out, x); APART(out, mean); APART(mean, x);
    RETURN_INSIDE(sbi_deviation(ctx, axis, ddof, x, mean, out, err));
}

sb_status sb_total(sb_context *ctx, const sb_array *x, double *out, sb_error *err) {
    NEED(ctx); NEED(x); NEED(out);
    RETURN_INSIDE(sbi_total(ctx, x, out, err));
}

sb_status sb_sum_squares(sb_context *ctx, const sb_array *x, double *out, sb_error *err) {
    NEED(ctx); NEED(x); NEED(out);
    RETURN_INSIDE(sbi_sum_squares(ctx, x, out, err));
}

sb_status sb_binary(sb_context *ctx, sb_binary_kind kind, const sb_array *a, const sb_array *b, sb_array *out,
                    sb_error *err) {
    NEED(ctx); NEED(a); NEED(b); NEED(out);
    APART_OR_SAME(out, a); APART_OR_SAME(out, b);
    RETURN_INSIDE(sbi_binary(ctx, kind, a, b, out, err));
}

sb_status sb_scale(sb_context *ctx, const sb_array *x, double factor, sb_array *out, sb_error *err) {
    NEED(ctx); NEED(x); NEED(out);
    APART_OR_SAME(out, x);
    RETURN_INSIDE(sbi_scale(ctx, x, factor, out, err));
}

sb_status sb_unary(sb_context *ctx, sb_unary_kind kind, const sb_array *x, sb_array *out, sb_error *err) {
    NEED(ctx); NEED(x); NEED(out);
    APART_OR_SAME(out, x);
    RETURN_INSIDE(sbi_unary(ctx, kind, x, out, err));
}

sb_status sb_swiglu(sb_context *ctx, const sb_array *gate, const sb_array *up, sb_array *y, sb_error *err) {
    NEED(ctx); NEED(gate); NEED(up); NEED(y);
    APART(y, gate); APART(y, up);
    RETURN_INSIDE(sbi_swiglu(ctx, gate, up, y, err));
}

sb_status sb_swiglu_backward(sb_context *ctx, const sb_array *gate, const sb_array *up, const sb_array *dy,
                             sb_array *dgate, sb_array *dup, sb_error *err) {
    NEED(ctx); NEED(gate); NEED(up); NEED(dy); NEED(dgate); NEED(dup);
    APART_OR_SAME(dgate, gate); APART(dgate, up); APART(dgate, dy);
    APART_OR_SAME(dup, up); APART(dup, gate); APART(dup, dy); APART(dup, dgate);
    RETURN_INSIDE(sbi_swiglu_backward(ctx, gate, up, dy, dgate, dup, err));
}

sb_status sb_softmax(sb_context *ctx, const sb_array *x, sb_array *y, sb_error *err) {
    NEED(ctx); NEED(x); NEED(y);
    APART(y, x);
    RETURN_INSIDE(sbi_softmax(ctx, x, y, err));
}

sb_status sb_log_softmax(sb_context *ctx, const sb_array *x, sb_array *y, sb_error *err) {
    NEED(ctx); NEED(x); NEED(y);
    APART(y, x);
    RETURN_INSIDE(sbi_log_softmax(ctx, x, y, err));
}

sb_status sb_softmax_backward(sb_context *ctx, const sb_array *y, const sb_array *dy, sb_array *dx, sb_error *err) {
    NEED(ctx); NEED(y); NEED(dy); NEED(dx);
    APART(dx, y); APART_OR_SAME(dx, dy);
    RETURN_INSIDE(sbi_softmax_backward(ctx, y, dy, dx, err));
}

sb_status sb_log_softmax_backward(sb_context *ctx, const sb_array *y, const sb_array *dy, sb_array *dx, sb_error *err) {
    NEED(ctx); NEED(y); NEED(dy); NEED(dx);
    APART(dx, y); APART_OR_SAME(dx, dy);
    RETURN_INSIDE(sbi_log_softmax_backward(ctx, y, dy, dx, err));
}

sb_status sb_cross_entropy(sb_context *ctx, const sb_cross_entropy_options *options, const sb_array *logits,
                           const sb_array *targets, const sb_array *weights, sb_array *loss, sb_error *err) {
    NEED(ctx); NEED(logits); NEED(targets); NEED(loss);
    APART(loss, logits); APART(loss, targets); APART(loss, weights);
    sb_cross_entropy_options known;
    sb_status status = sbi_api_options(options, &known, &sbi_cross_entropy_struct, err);
    if (status != SB_OK) return status;
    RETURN_INSIDE(sbi_cross_entropy(ctx, &known, logits, targets, weights, loss, err));
}

sb_status sb_cross_entropy_backward(sb_context *ctx, const sb_cross_entropy_options *options, const sb_array *logits,
                                    const sb_array *targets, const sb_array *weights, double scale, sb_array *dlogits,
                                    sb_error *err) {
    NEED(ctx); NEED(logits); NEED(targets); NEED(dlogits);
    APART_OR_SAME(dlogits, logits); APART(dlogits, targets); APART(dlogits, weights);
    sb_cross_entropy_options known;
    sb_status status = sbi_api_options(options, &known, &sbi_cross_entropy_struct, err);
    if (status != SB_OK) return status;
    RETURN_INSIDE(sbi_cross_entropy_backward(ctx, &known, logits, targets, weights, scale, dlogits, err));
}

sb_status sb_rms_norm(sb_context *ctx, const sb_array *x, const sb_array *weight, double eps, sb_array *y, sb_array *r,
                      sb_error *err) {
    NEED(ctx); NEED(x); NEED(y);
    APART(y, x); APART(y, weight); APART(y, r); APART(r, x); APART(r, weight);
    RETURN_INSIDE(sbi_rms_norm(ctx, x, weight, eps, y, r, err));
}

sb_status sb_layer_norm(sb_context *ctx, const sb_array *x, const sb_array *weight, const sb_array *bias, double eps,
                        sb_array *y, sb_array *mean, sb_array *r, sb_error *err) {
    NEED(ctx); NEED(x); NEED(y);
    APART(y, x); APART(y, weight); APART(y, bias); APART(y, mean); APART(y, r);
    APART(mean, x); APART(mean, weight); APART(mean, bias); APART(mean, r);
    APART(r, x); APART(r, weight); APART(r, bias);
    RETURN_INSIDE(sbi_layer_norm(ctx, x, weight, bias, eps, y, mean, r, err));
}

sb_status sb_rms_norm_backward(sb_context *ctx, const sb_array *x, const sb_array *weight, const sb_array *r,
                               const sb_array *dy, sb_array *dx, sb_array *dweight, sb_error *err) {
    NEED(ctx); NEED(x); NEED(r); NEED(dy); NEED(dx);
    APART(dx, x); APART(dx, weight); APART(dx, r); APART(dx, dy); APART(dx, dweight);
    APART(dweight, x); APART(dweight, weight); APART(dweight, r); APART(dweight, dy);
    RETURN_INSIDE(sbi_rms_norm_backward(ctx, x, weight, r, dy, dx, dweight, err));
}

sb_status sb_layer_norm_backward(sb_context *ctx, const sb_array *x, const sb_array *weight, const sb_array *mean,
                                 const sb_array *r, const sb_array *dy, sb_array *dx, sb_array *dweight, sb_array *dbias,
                                 sb_error *err) {
    NEED(ctx); NEED(x); NEED(mean); NEED(r); NEED(dy); NEED(dx);
    APART(dx, x); APART(dx, weight); APART(dx, mean); APART(dx, r); APART(dx, dy); APART(dx, dweight); APART(dx, dbias);
    APART(dweight, x); APART(dweight, weight); APART(dweight, mean); APART(dweight, r); APART(dweight, dy); APART(dweight, dbias);
    APART(dbias, x); APART(dbias, weight); APART(dbias, mean); APART(dbias, r); APART(dbias, dy);
    RETURN_INSIDE(sbi_layer_norm_backward(ctx, x, weight, mean, r, dy, dx, dweight, dbias, err));
}

sb_status sb_rotary_table(sb_context *ctx, double theta, sb_array *cos_table, sb_array *sin_table, sb_error *err) {
    NEED(ctx); NEED(cos_table); NEED(sin_table);
    APART(cos_table, sin_table);
    RETURN_INSIDE(sbi_rotary_table(ctx, theta, cos_table, sin_table, err));
}

sb_status sb_rotary(sb_context *ctx, const sb_array *x, const sb_array *cos_table, const sb_array *sin_table,
                    int64_t first, int inverse, sb_array *y, sb_error *err) {
    NEED(ctx); NEED(x); NEED(cos_table); NEED(sin_table); NEED(y);
    APART_OR_SAME(y, x); APART(y, cos_table); APART(y, sin_table);
    RETURN_INSIDE(sbi_rotary(ctx, x, cos_table, sin_table, first, inverse, y, err));
}

// No output overlaps an input or another output. Any may be NULL.
static sb_status check_apart(int outputs, const sb_array *const *out, const char *const *names, int inputs,
                             const sb_array *const *in, sb_error *err) {
    for (int i = 0; i < outputs; i++) {
        for (int j = 0; j < inputs; j++)
            if (out[i] && in[j] && sbi_arrays_overlap(out[i], in[j]))
                return sbi_fail(err, SB_ERR_OVERLAP, names[i], "%s overlaps an input", names[i]);
        for (int j = 0; j < i; j++)
            if (out[i] && out[j] && sbi_arrays_overlap(out[i], out[j]))
                return sbi_fail(err, SB_ERR_OVERLAP, names[i], "%s overlaps %s", names[i], names[j]);
    }
    return SB_OK;
}

sb_status sb_attention(sb_context *ctx, const sb_attention_options *options, const sb_array *q, const sb_array *k,
                       const sb_array *v, sb_array *y, sb_array *maximum, sb_array *total, sb_error *err) {
    NEED(ctx); NEED(q); NEED(k); NEED(v); NEED(y);
    sb_attention_options known;
    sb_status status = sbi_api_options(options, &known, &sbi_attention_struct, err);
    if (status != SB_OK) return status;
    const sb_array *const outputs[] = {y, maximum, total}, *const inputs[] = {q, k, v, known.mask};
    static const char *const names[] = {"y", "maximum", "total"};
    if ((status = check_apart(3, outputs, names, 4, inputs, err))) return status;
    RETURN_INSIDE(sbi_attention(ctx, &known, q, k, v, y, maximum, total, err));
}

sb_status sb_attention_backward(sb_context *ctx, const sb_attention_options *options, const sb_array *q,
                                const sb_array *k, const sb_array *v, const sb_array *y, const sb_array *maximum,
                                const sb_array *total, const sb_array *dy, sb_array *dq, sb_array *dk, sb_array *dv,
                                sb_error *err) {
    NEED(ctx); NEED(q); NEED(k); NEED(v); NEED(y); NEED(maximum); NEED(total); NEED(dy); NEED(dq); NEED(dk); NEED(dv);
    sb_attention_options known;
    sb_status status = sbi_api_options(options, &known, &sbi_attention_struct, err);
    if (status != SB_OK) return status;
    const sb_array *const outputs[] = {dq, dk, dv}, *const inputs[] = {q, k, v, y, maximum, total, dy, known.mask};
    static const char *const names[] = {"dq", "dk", "dv"};
    if ((status = check_apart(3, outputs, names, 8, inputs, err))) return status;
    RETURN_INSIDE(sbi_attention_backward(ctx, &known, q, k, v, y, maximum, total, dy, dq, dk, dv, err));
}

sb_status sb_gather(sb_context *ctx, const sb_array *x, const sb_array *indices, sb_array *out, sb_error *err) {
    NEED(ctx); NEED(x); NEED(indices); NEED(out);
    APART(out, x); APART(out, indices);
    RETURN_INSIDE(sbi_gather(ctx, x, indices, out, err));
}

sb_status sb_take_along(sb_context *ctx, const sb_array *x, const sb_array *indices, sb_array *out, sb_error *err) {
    NEED(ctx); NEED(x); NEED(indices); NEED(out);
    APART(out, x); APART(out, indices);
    RETURN_INSIDE(sbi_take_along(ctx, x, indices, out, err));
}

sb_status sb_scatter(sb_context *ctx, const sb_array *indices, const sb_array *source, sb_array *out, sb_error *err) {
    NEED(ctx); NEED(indices); NEED(source); NEED(out);
    APART(out, indices); APART(out, source);
    RETURN_INSIDE(sbi_scatter(ctx, indices, source, out, err));
}

sb_status sb_scatter_add(sb_context *ctx, const sb_array *indices, const sb_array *source, int accumulate, sb_array *out,
                         sb_error *err) {
    NEED(ctx); NEED(indices); NEED(source); NEED(out);
    APART(out, indices); APART(out, source);
    RETURN_INSIDE(sbi_scatter_add(ctx, indices, source, accumulate, out, err));
}

sb_status sb_scan(sb_context *ctx, const sb_array *x, int exclusive, int reverse, sb_array *y, sb_error *err) {
    NEED(ctx); NEED(x); NEED(y);
    APART_OR_SAME(y, x);
    RETURN_INSIDE(sbi_scan(ctx, x, exclusive, reverse, y, err));
}

sb_status sb_histogram(sb_context *ctx, const sb_array *codes, const sb_array *weights, sb_array *counts, sb_error *err) {
    NEED(ctx); NEED(codes); NEED(counts);
    APART(counts, codes); APART(counts, weights);
    RETURN_INSIDE(sbi_histogram(ctx, codes, weights, counts, err));
}

sb_status sb_embedding(sb_context *ctx, const sb_array *table, const sb_array *ids, sb_array *out, sb_error *err) {
    NEED(ctx); NEED(table); NEED(ids); NEED(out);
    APART(out, table); APART(out, ids);
    RETURN_INSIDE(sbi_embedding(ctx, table, ids, out, err));
}

sb_status sb_embedding_backward(sb_context *ctx, const sb_array *ids, const sb_array *dout, int accumulate,
                                sb_array *dtable, sb_error *err) {
    NEED(ctx); NEED(ids); NEED(dout); NEED(dtable);
    APART(dtable, ids); APART(dtable, dout);
    RETURN_INSIDE(sbi_embedding_backward(ctx, ids, dout, accumulate, dtable, err));
}

sb_status sb_argsort(sb_context *ctx, const sb_array *x, int descending, sb_array *indices, sb_error *err) {
    NEED(ctx); NEED(x); NEED(indices);
    APART(indices, x);
    RETURN_INSIDE(sbi_argsort(ctx, x, descending, indices, err));
}

sb_status sb_sort(sb_context *ctx, const sb_array *x, int descending, sb_array *values, sb_error *err) {
    NEED(ctx); NEED(x); NEED(values);
    APART(values, x);
    RETURN_INSIDE(sbi_sort(ctx, x, descending, values, err));
}

sb_status sb_top_k(sb_context *ctx, const sb_array *x, int64_t k, int largest, sb_array *values, sb_array *indices,
                   sb_error *err) {
    NEED(ctx); NEED(x);
    APART(values, x); APART(indices, x); APART(indices, values);
    RETURN_INSIDE(sbi_top_k(ctx, x, k, largest, values, indices, err));
}

sb_status sb_unique(sb_context *ctx, const sb_array *x, sb_array *values, sb_array *inverse, sb_array *counts,
                    int64_t *number, sb_error *err) {
    NEED(ctx); NEED(x); NEED(values); NEED(number);
    APART(values, x); APART(inverse, x); APART(counts, x);
    APART(inverse, values); APART(counts, values); APART(counts, inverse);
    RETURN_INSIDE(sbi_unique(ctx, x, values, inverse, counts, number, err));
}

sb_status sb_random_bits(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t start, sb_array *out, sb_error *err) {
    NEED(ctx); NEED(out);
    RETURN_INSIDE(sbi_random_bits(ctx, seed, stream, start, out, err));
}

sb_status sb_random_uniform(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t start, sb_array *out,
                            sb_error *err) {
    NEED(ctx); NEED(out);
    RETURN_INSIDE(sbi_random_uniform(ctx, seed, stream, start, out, err));
}

sb_status sb_random_normal(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t start, sb_array *out,
                           sb_error *err) {
    NEED(ctx); NEED(out);
    RETURN_INSIDE(sbi_random_normal(ctx, seed, stream, start, out, err));
}

sb_status sb_random_integers(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t start, int64_t n, sb_array *out,
                             sb_error *err) {
    NEED(ctx); NEED(out);
    RETURN_INSIDE(sbi_random_integers(ctx, seed, stream, start, n, out, err));
}

sb_status sb_random_permutation(sb_context *ctx, uint64_t seed, uint64_t stream, sb_array *out, sb_error *err) {
    NEED(ctx); NEED(out);
    RETURN_INSIDE(sbi_random_permutation(ctx, seed, stream, out, err));
}

sb_status sb_random_choice(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t n, sb_array *out, sb_error *err) {
    NEED(ctx); NEED(out);
    RETURN_INSIDE(sbi_random_choice(ctx, seed, stream, n, out, err));
}

sb_status sb_dropout(sb_context *ctx, const sb_array *x, double p, uint64_t seed, uint64_t stream, int64_t start,
                     sb_array *y, sb_error *err) {
    NEED(ctx); NEED(x); NEED(y);
    APART_OR_SAME(y, x);
    RETURN_INSIDE(sbi_dropout(ctx, x, p, seed, stream, start, y, err));
}

sb_status sb_clip_norm(sb_context *ctx, int64_t count, sb_array *const *grads, double max_norm, double *norm,
                       sb_error *err) {
    NEED(ctx); NEED(norm);
    if (count < 0) return sbi_fail(err, SB_ERR_ARGUMENT, "count", "%lld arrays", (long long)count);
    if (count > 0) NEED(grads);
    for (int64_t i = 0; i < count; i++)
        if (!grads[i]) return sbi_fail(err, SB_ERR_ARGUMENT, "grads", "grads[%lld] is NULL", (long long)i);
    for (int64_t i = 0; i < count; i++) // (a model has hundreds, not millions)
        for (int64_t j = 0; j < i; j++)
            if (sbi_arrays_overlap(grads[i], grads[j]))
                return sbi_fail(err, SB_ERR_OVERLAP, "grads", "grads[%lld] overlaps grads[%lld]", (long long)i,
                                (long long)j);
    RETURN_INSIDE(sbi_clip_norm(ctx, count, grads, max_norm, norm, err));
}

// sb_adamw and sb_adam check alike.
typedef sb_status adam_step(sb_context *ctx, const sb_adamw_options *options, const sb_array *g, sb_array *p, sb_array *m,
                            sb_array *v, sb_error *err);

static sb_status checked_adam(adam_step *step, sb_context *ctx, const sb_adamw_options *options, const sb_array *g,
                              sb_array *p, sb_array *m, sb_array *v, sb_error *err) {
    NEED(ctx); NEED(options); NEED(g); NEED(p); NEED(m); NEED(v);
    APART(p, g); APART(m, g); APART(v, g); APART(m, p); APART(v, p); APART(v, m);
    sb_adamw_options known;
    sb_status status = sbi_api_options(options, &known, &sbi_adamw_struct, err);
    if (status != SB_OK) return status;
    RETURN_INSIDE(step(ctx, &known, g, p, m, v, err));
}

sb_status sb_adamw(sb_context *ctx, const sb_adamw_options *options, const sb_array *g, sb_array *p, sb_array *m,
                   sb_array *v, sb_error *err) {
    return checked_adam(sbi_adamw, ctx, options, g, p, m, v, err);
}

sb_status sb_adam(sb_context *ctx, const sb_adamw_options *options, const sb_array *g, sb_array *p, sb_array *m,
                  sb_array *v, sb_error *err) {
    return checked_adam(sbi_adam, ctx, options, g, p, m, v, err);
}

sb_status sb_sgd(sb_context *ctx, const sb_sgd_options *options, const sb_array *g, sb_array *p, sb_array *m,
                 sb_error *err) {
    NEED(ctx); NEED(options); NEED(g); NEED(p);
    APART(p, g); APART(m, g); APART(m, p);
    sb_sgd_options known;
    sb_status status = sbi_api_options(options, &known, &sbi_sgd_struct, err);
    if (status != SB_OK) return status;
    RETURN_INSIDE(sbi_sgd(ctx, &known, g, p, m, err));
}
