// SPDX-License-Identifier: Apache-2.0
// Models: what is taken writes a file that reads as the same model, and answers every method twice alike. Labels of rows far
// apart are what is being asked, not numbers: so data are a few plain rows.
#include "fuzz.h"
#include "learn.h"

enum { ROWS = 3, MOST = 64 };

static void ask(sb_context *ctx, const sb_model *model) {
    const int64_t d = sbi_model_size(model, "d"), t = sbi_model_size(model, "t"), shape[2] = {ROWS, d}, targets[2] = {ROWS, t};
    sb_array *x = NULL, *y = NULL;
    double values[ROWS * MOST];
    if (d < 1 || d > MOST || t > MOST) return;
    for (int i = 0; i < ROWS * MOST; i++) values[i] = (double)(i * 7 % 11) / 4.0;
    for (int type = 0; type < 2; type++) {
        const bool classes = sbi_row_has(model->algorithm.input, "classes");
        MUST(sb_array_new(ctx, type ? SB_F64 : SB_F32, 2, shape, &x, NULL) == SB_OK && sbi_write_reals(ctx, values, x, NULL) == SB_OK);
        MUST(sb_array_new(ctx, classes ? SB_I64 : SB_F64, t < 0 ? 1 : 2, targets, &y, NULL) == SB_OK);
        const sb_data data = {.size = sizeof data, .x = x, .y = y, .rows = ROWS};
        for (const sbi_method_row *m = model->algorithm.methods; m->name; m++) {
            sb_array *one = NULL, *two = NULL;
            sb_error err = {0};
            if (!*m->dtype) continue;
            sb_status status = sb_model_call(ctx, model, m->name, &data, &one, &err);
            MUST(status == sb_model_call(ctx, model, m->name, &data, &two, NULL));
            if (status == SB_OK) {
                const size_t bytes = (size_t)one->size * sb_dtype_size(one->dtype);
                MUST(one->size == two->size && memcmp(one->data, two->data, bytes) == 0);
            } else {
                fuzz_error(status, &err);
            }
            sb_array_free(one);
            sb_array_free(two);
        }
        sb_array_free(x);
        sb_array_free(y);
    }
}

void fuzz_model(const uint8_t *data, size_t size) {
    sb_context *ctx = fuzz_context();
    sb_model *model = NULL, *again = NULL;
    sb_error err = {0};
    uint8_t one[32], two[32];
    int64_t written = 0;
    sb_status status = sb_model_restore(ctx, data, (int64_t)size, &model, &err);
    if (status != SB_OK) {
        MUST(!model);
        fuzz_error(status, &err);
        return;
    }
    MUST(sb_model_store(model, NULL, 0, &written, &err) == SB_OK);
    uint8_t *bytes = malloc((size_t)written);
    MUST(bytes && sb_model_store(model, bytes, written, &written, &err) == SB_OK);
    MUST(sb_model_restore(ctx, bytes, written, &again, &err) == SB_OK);
    MUST(sb_model_digest(ctx, model, one, NULL) == SB_OK && sb_model_digest(ctx, again, two, NULL) == SB_OK && memcmp(one, two, 32) == 0);
    free(bytes);
    ask(ctx, model);
    sb_model_free(model);
    sb_model_free(again);
}
