// SPDX-License-Identifier: Apache-2.0
// Evaluation: the mean loss over windows of a text. Window w predicts bytes w*length + 1 .. (w +
// 1)*length of the part from the bytes before each in the window. Loss of a window: S(loss_i).
// Total: S over windows by number (T2), binary64. Mean: RN64(total / predicted bytes); bits per
// byte: RN64(mean * 0x1.71547652b82fep+0). Batches are schedule.
#include "lm.h"

#define BATCH_TOKENS 4096

sb_status sbi_evaluate(sb_context *ctx, const sbi_decoder *decoder, const sbi_corpus *corpus,
                       int64_t first, int64_t end, int64_t length, int64_t windows,
                       sb_lm_evaluation *out, sb_error *err) {
    int64_t all = (end - first - 1) / length;
    int64_t count = windows == 0 || windows > all ? all : windows;
    int64_t batch = BATCH_TOKENS / length < 1 ? 1 : BATCH_TOKENS / length;
    sbi_pass pass = {0};
    int64_t *starts = NULL;
    sb_array *losses = NULL;
    double total = 0.0;
    if (end - first <= length)
        return sbi_fail(err, SB_ERR_ARGUMENT, "data", "%lld bytes hold no window of %lld + 1",
                        (long long)(end - first), (long long)length);
    sb_status status = SB_OK;
    double *sums = sbi_allocate(&ctx->allocator, count, sizeof *sums, err);
    starts = sbi_allocate(&ctx->allocator, batch, sizeof *starts, err);
    if (!sums || !starts) status = SB_ERR_MEMORY;
    for (int64_t w = 0; w < count && status == SB_OK; w += batch) {
        int64_t n = count - w < batch ? count - w : batch;
        if (!pass.decoder || pass.batch != n) {
            sbi_pass_free(&pass);
            status = sbi_pass_new(ctx, decoder, n, length, false, &pass, err);
        }
        for (int64_t i = 0; i < n; i++) starts[i] = first + (w + i) * length;
        if (status == SB_OK)
            status = sbi_corpus_gather(corpus, starts, n, length, pass.ids, pass.targets, err);
        if (status == SB_OK) status = sbi_decoder_forward(ctx, decoder, &pass, NULL, err);
        if (status == SB_OK)
            status = sbi_cross_entropy(ctx, NULL, pass.logits, pass.targets, NULL, pass.loss, err);
        for (int64_t i = 0; i < n && status == SB_OK; i++) {
            sb_array *window = NULL;
            status = sbi_array_slice(pass.loss, i * length, length, &window, err);
            if (status == SB_OK) status = sbi_total(ctx, window, &sums[w + i], err);
            sbi_array_free(window);
        }
    }
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 1, &count, &losses, err);
    if (status == SB_OK) status = sbi_array_write(losses, sums, (size_t)count * sizeof *sums, err);
    if (status == SB_OK) status = sbi_total(ctx, losses, &total, err);
    if (status == SB_OK) {
        out->bytes = count * length;
        out->loss = total / (double)out->bytes;
        out->bits_per_byte = out->loss * 0x1.71547652b82fep+0;
    }
    sbi_array_free(losses);
    sbi_pass_free(&pass);
    sbi_release(&ctx->allocator, starts);
    sbi_release(&ctx->allocator, sums);
    return status;
}

sb_status sbi_lm_evaluate(sb_context *ctx, const char *path, const char *data, int whole,
                          sb_lm_evaluation *out, sb_error *err) {
    sbi_checkpoint checkpoint = {0};
    sbi_decoder decoder = {0};
    sbi_corpus corpus = {0};
    sb_status status = sbi_checkpoint_open(ctx, path, &checkpoint, err);
    const sbi_recipe *r = &checkpoint.recipe;
    if (status != SB_OK) return status;
    status = sbi_corpus_load(ctx, r, data, whole != 0, &corpus, err);
    if (status == SB_OK)
        status = sbi_decoder_new(ctx, &r->model, r->sequence_length, &decoder, err);
    if (status == SB_OK) status = sbi_checkpoint_weights(ctx, &checkpoint, &decoder, err);
    if (status == SB_OK)
        status = sbi_evaluate(ctx, &decoder, &corpus, corpus.train, corpus.size, r->sequence_length,
                              0, out, err);
    sbi_decoder_free(&decoder);
    if (corpus.bytes) sbi_corpus_free(&corpus);
    sbi_checkpoint_close(&checkpoint);
    return status;
}
