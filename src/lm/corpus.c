// SPDX-License-Identifier: Apache-2.0
// The corpus: a text as bytes, each its own token; the last `held_out` bytes are for evaluation
// only. It is held whole, read and never mapped, and must be the text whose SHA-256 the recipe
// names.
#include "lm.h"

#include <string.h>

#define CORPUS_LIMIT (INT64_C(1) << 40)

void sbi_corpus_free(sbi_corpus *corpus) {
    sbi_release(&corpus->allocator, corpus->bytes);
    corpus->bytes = NULL;
}

sb_status sbi_corpus_load(sb_context *ctx, const sbi_recipe *recipe, const char *path, bool any,
                          sbi_corpus *out, sb_error *err) {
    *out = (sbi_corpus){.allocator = ctx->allocator};
    if (!any && !recipe->data_sha256[0])
        return sbi_fail(err, SB_ERR_ARGUMENT, "data.sha256",
                        "the recipe names no data: give data.sha256");
    sb_status status = sbi_named(
        sbi_file_read(&ctx->allocator, path, CORPUS_LIMIT, &out->bytes, &out->size, err), "data", err);
    if (status != SB_OK) return status;
    out->train = any ? 0 : out->size - recipe->held_out;
    if (!any) {
        char hex[65];
        sbi_sha256_hex(out->bytes, out->size, hex);
        if (strcmp(hex, recipe->data_sha256) != 0)
            status =
                sbi_fail(err, SB_ERR_ARGUMENT, "data",
                         "the recipe names another text: SHA-256 %.16s..., this one has %.16s...",
                         recipe->data_sha256, hex);
        else if (out->train <= recipe->sequence_length)
            status = sbi_fail(err, SB_ERR_ARGUMENT, "data",
                              "%lld bytes with %lld held out leave no sample of %lld + 1",
                              (long long)out->size, (long long)recipe->held_out,
                              (long long)recipe->sequence_length);
    }
    if (status != SB_OK) sbi_corpus_free(out);
    return status;
}

sb_status sbi_corpus_gather(const sbi_corpus *corpus, const int64_t *starts, int64_t batch,
                            int64_t length, sb_array *ids, sb_array *targets, sb_error *err) {
    int64_t count = batch * length;
    int32_t *tokens = sbi_allocate(&corpus->allocator, 2 * count, sizeof *tokens, err);
    if (!tokens) return SB_ERR_MEMORY;
    for (int64_t b = 0; b < batch; b++) {
        const uint8_t *sample = corpus->bytes + starts[b];
        for (int64_t t = 0; t < length; t++) {
            tokens[b * length + t] = sample[t];
            tokens[count + b * length + t] = sample[t + 1];
        }
    }
    sb_status status = sbi_array_write(ids, tokens, (size_t)count * sizeof *tokens, err);
    if (status == SB_OK)
        status = sbi_array_write(targets, tokens + count, (size_t)count * sizeof *tokens, err);
    sbi_release(&corpus->allocator, tokens);
    return status;
}
