// SPDX-License-Identifier: Apache-2.0
// Language models: the exported functions.
#include "api.h"
#include "json.h"
#include "lm.h"

static sb_status take_run(const sb_lm_run *run, sb_lm_run *known, sb_error *err) {
    sb_status status = sbi_api_options(run, known, &sbi_run_struct, err);
    if (status != SB_OK) return status;
    NEED_FIELD(*known, folder);
    if (known->worker_count < 0 || known->worker_count > 4096 ||
        (known->worker_count && !known->workers))
        return sbi_fail(err, SB_ERR_ARGUMENT, "worker_count",
                        "worker_count is %d: expected 0 to 4096, and workers", known->worker_count);
    for (int i = 0; i < known->worker_count; i++)
        if (known->workers[i].threads < 0 || known->workers[i].threads > 1024)
            return sbi_fail(err, SB_ERR_ARGUMENT, "workers",
                            "worker %d has %d threads: expected 0 to 1024", i,
                            known->workers[i].threads);
    return SB_OK;
}

sb_status sb_lm_train(sb_context *ctx, const sb_lm_run *run, sb_error *err) {
    sb_lm_run known;
    NEED(ctx);
    NEED(run);
    sb_status status = take_run(run, &known, err);
    if (status != SB_OK) return status;
    NEED_FIELD(known, recipe);
    NEED_FIELD(known, data);
    RETURN_INSIDE(sbi_lm_train(ctx, &known, err));
}

sb_status sb_lm_resume(sb_context *ctx, const sb_lm_run *run, sb_error *err) {
    sb_lm_run known;
    NEED(ctx);
    NEED(run);
    sb_status status = take_run(run, &known, err);
    if (status != SB_OK) return status;
    RETURN_INSIDE(sbi_lm_resume(ctx, &known, err));
}

sb_status sb_lm_work(sb_context *ctx, sb_error *err) {
    NEED(ctx);
    RETURN_INSIDE(sbi_crew_work(ctx, SBI_PROCESS_SOCKET, err));
}

sb_status sb_lm_evaluate(sb_context *ctx, const char *checkpoint, const char *data, int whole,
                         sb_lm_evaluation *out, sb_error *err) {
    NEED(ctx);
    NEED(checkpoint);
    NEED(data);
    NEED(out);
    RETURN_INSIDE(sbi_lm_evaluate(ctx, checkpoint, data, whole, out, err));
}

sb_status sb_lm_generate(sb_context *ctx, const sb_lm_generation *options, uint8_t *out,
                         sb_error *err) {
    sb_lm_generation known;
    NEED(ctx);
    NEED(options);
    sb_status status = sbi_api_options(options, &known, &sbi_generation_struct, err);
    if (status != SB_OK) return status;
    NEED_FIELD(known, checkpoint);
    NEED_FIELD(known, prompt);
    NEED(out);
    RETURN_INSIDE(sbi_lm_generate(ctx, &known, out, err));
}

sb_status sb_lm_describe(sb_context *ctx, const char *recipe, sb_lm_description *out,
                         sb_error *err) {
    NEED(ctx);
    NEED(recipe);
    NEED(out);
    RETURN_INSIDE(sbi_lm_describe(ctx, recipe, out, err));
}

sb_status sb_lm_ledger_compare(const char *a, const char *b, sb_lm_difference *out, sb_error *err) {
    NEED(a);
    NEED(b);
    NEED(out);
    return sbi_ledger_compare(&sbi_malloc_allocator, a, b, out, err);
}

sb_status sb_parse_real(const char *text, double *out, sb_error *err) {
    char shown[80];
    NEED(text);
    NEED(out);
    if (!sbi_real_parse(text, (int64_t)strlen(text), out))
        return sbi_fail(err, SB_ERR_ARGUMENT, "text", "%s is not a decimal number",
                        sbi_escape(text, strlen(text), shown, sizeof shown));
    return SB_OK;
}
