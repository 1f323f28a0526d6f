// SPDX-License-Identifier: Apache-2.0
// The options structs of the header, field by field, and how one of another version's size is read.
#include "api.h"

// A field in the middle of a caller's struct would be half what the caller meant and half nothing: a size must end one.
struct sbi_api_field {
    size_t from, bytes;
};

#define FIELD(type, name) {offsetof(type, name), sizeof((type *)0)->name}
#define STRUCT(type, list) {sizeof(type), sizeof list / sizeof *list, list}

static const sbi_api_field context_fields[] = {
    FIELD(sb_context_options, device), FIELD(sb_context_options, isa), FIELD(sb_context_options, threads),
    FIELD(sb_context_options, allocate), FIELD(sb_context_options, release), FIELD(sb_context_options, user),
    FIELD(sb_context_options, trace)};
static const sbi_api_field gemm_fields[] = {
    FIELD(sb_gemm_options, transpose_a), FIELD(sb_gemm_options, transpose_b), FIELD(sb_gemm_options, scaled),
    FIELD(sb_gemm_options, alpha), FIELD(sb_gemm_options, accumulate)};
static const sbi_api_field attention_fields[] = {
    FIELD(sb_attention_options, causal), FIELD(sb_attention_options, first), FIELD(sb_attention_options, keys),
    FIELD(sb_attention_options, scale), FIELD(sb_attention_options, window), FIELD(sb_attention_options, prefix),
    FIELD(sb_attention_options, mask)};
static const sbi_api_field cross_entropy_fields[] = {
    FIELD(sb_cross_entropy_options, reduction), FIELD(sb_cross_entropy_options, ignores),
    FIELD(sb_cross_entropy_options, ignore_index), FIELD(sb_cross_entropy_options, label_smoothing)};
static const sbi_api_field adamw_fields[] = {
    FIELD(sb_adamw_options, learning_rate), FIELD(sb_adamw_options, beta1), FIELD(sb_adamw_options, beta2),
    FIELD(sb_adamw_options, eps), FIELD(sb_adamw_options, weight_decay), FIELD(sb_adamw_options, beta1_power),
    FIELD(sb_adamw_options, beta2_power)};
static const sbi_api_field sgd_fields[] = {
    FIELD(sb_sgd_options, learning_rate), FIELD(sb_sgd_options, momentum), FIELD(sb_sgd_options, dampening),
    FIELD(sb_sgd_options, weight_decay), FIELD(sb_sgd_options, nesterov), FIELD(sb_sgd_options, first)};
static const sbi_api_field solve_fields[] = {
    FIELD(sb_solve_options, kind), FIELD(sb_solve_options, transpose), FIELD(sb_solve_options, unit_diagonal)};
static const sbi_api_field verify_fields[] = {
    FIELD(sb_verify_options, tier), FIELD(sb_verify_options, lanes), FIELD(sb_verify_options, references),
    FIELD(sb_verify_options, references_size), FIELD(sb_verify_options, seed), FIELD(sb_verify_options, date),
    FIELD(sb_verify_options, progress), FIELD(sb_verify_options, user)};
static const sbi_api_field run_fields[] = {
    FIELD(sb_lm_run, recipe), FIELD(sb_lm_run, data), FIELD(sb_lm_run, folder), FIELD(sb_lm_run, until),
    FIELD(sb_lm_run, worker_count), FIELD(sb_lm_run, workers), FIELD(sb_lm_run, worker_command),
    FIELD(sb_lm_run, sabotage_step), FIELD(sb_lm_run, listener), FIELD(sb_lm_run, user)};
static const sbi_api_field generation_fields[] = {
    FIELD(sb_lm_generation, checkpoint), FIELD(sb_lm_generation, prompt), FIELD(sb_lm_generation, prompt_bytes),
    FIELD(sb_lm_generation, tokens), FIELD(sb_lm_generation, temperature), FIELD(sb_lm_generation, top_k),
    FIELD(sb_lm_generation, top_p), FIELD(sb_lm_generation, seed)};
static const sbi_api_field data_fields[] = {
    FIELD(sb_data, x), FIELD(sb_data, y), FIELD(sb_data, weights), FIELD(sb_data, progress), FIELD(sb_data, user),
    FIELD(sb_data, indptr), FIELD(sb_data, indices), FIELD(sb_data, columns), FIELD(sb_data, classes), FIELD(sb_data, rows),
    FIELD(sb_data, settings)};
static const sbi_api_field fitted_fields[] = {
    FIELD(sb_fitted, dtype), FIELD(sb_fitted, size_count), FIELD(sb_fitted, size_names), FIELD(sb_fitted, sizes),
    FIELD(sb_fitted, array_count), FIELD(sb_fitted, array_names), FIELD(sb_fitted, arrays), FIELD(sb_fitted, classes)};
static const sbi_api_field record_fields[] = {
    FIELD(sb_record_options, models), FIELD(sb_record_options, model_count), FIELD(sb_record_options, names),
    FIELD(sb_record_options, method), FIELD(sb_record_options, data), FIELD(sb_record_options, hashes_only),
    FIELD(sb_record_options, thresholded), FIELD(sb_record_options, threshold), FIELD(sb_record_options, note),
    FIELD(sb_record_options, date)};
static const sbi_api_field replay_fields[] = {FIELD(sb_replay_options, data), FIELD(sb_replay_options, date)};
static const sbi_api_field metric_fields[] = {
    FIELD(sb_metric_data, truth), FIELD(sb_metric_data, prediction), FIELD(sb_metric_data, weights), FIELD(sb_metric_data, classes),
    FIELD(sb_metric_data, settings), FIELD(sb_metric_data, setting_count)};

const sbi_api_struct sbi_context_struct = STRUCT(sb_context_options, context_fields);
const sbi_api_struct sbi_gemm_struct = STRUCT(sb_gemm_options, gemm_fields);
const sbi_api_struct sbi_attention_struct = STRUCT(sb_attention_options, attention_fields);
const sbi_api_struct sbi_cross_entropy_struct = STRUCT(sb_cross_entropy_options, cross_entropy_fields);
const sbi_api_struct sbi_adamw_struct = STRUCT(sb_adamw_options, adamw_fields);
const sbi_api_struct sbi_sgd_struct = STRUCT(sb_sgd_options, sgd_fields);
const sbi_api_struct sbi_solve_struct = STRUCT(sb_solve_options, solve_fields);
const sbi_api_struct sbi_verify_struct = STRUCT(sb_verify_options, verify_fields);
const sbi_api_struct sbi_run_struct = STRUCT(sb_lm_run, run_fields);
const sbi_api_struct sbi_generation_struct = STRUCT(sb_lm_generation, generation_fields);
const sbi_api_struct sbi_data_struct = STRUCT(sb_data, data_fields);
const sbi_api_struct sbi_fitted_struct = STRUCT(sb_fitted, fitted_fields);
const sbi_api_struct sbi_record_struct = STRUCT(sb_record_options, record_fields);
const sbi_api_struct sbi_replay_struct = STRUCT(sb_replay_options, replay_fields);
const sbi_api_struct sbi_metric_struct = STRUCT(sb_metric_data, metric_fields);

// An older caller's struct ends with a field, or with the padding up to the next one.
static bool ends_a_field(const sbi_api_struct *known, size_t given) {
    bool ends = given == sizeof given || given >= known->size;
    for (size_t i = 0; i < known->count && !ends; i++)
        ends = given == known->fields[i].from || given == known->fields[i].from + known->fields[i].bytes;
    return ends;
}

sb_status sbi_api_options(const void *from, void *to, const sbi_api_struct *known, sb_error *err) {
    size_t given, size = known->size;
    if (!from) {
        memset(to, 0, size);
        memcpy(to, &size, sizeof size);
        return SB_OK;
    }
    memcpy(&given, from, sizeof given);
    if (given > 4096 || !ends_a_field(known, given)) // 4096: no struct of a release to come, a size that was never set
        return sbi_fail(err, SB_ERR_ARGUMENT, "options", "options->size is %zu: expected sizeof the struct, %zu", given,
                        size);
    memset(to, 0, size);
    memcpy(to, from, given < size ? given : size);
    memcpy(to, &size, sizeof size);
    for (size_t i = size; i < given; i++)
        if (((const unsigned char *)from)[i])
            return sbi_fail(err, SB_ERR_UNSUPPORTED, "options", "options->size is %zu, and a field beyond the %zu bytes "
                            "that this version knows is set", given, size);
    return SB_OK;
}
