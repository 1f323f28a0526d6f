// SPDX-License-Identifier: Apache-2.0
// lm: recipe, corpus, decoder, trainer, ledger, checkpoint, shared steps, evaluation, generation.
#ifndef SBI_LM_H
#define SBI_LM_H

#include "json.h"
#include "nn.h"
#include "safetensors.h"
#include "shard.h"

// The streams of T11 in use here; each serves one kind of draw.
#define SBI_STREAM_WEIGHTS                                                                         \
    (UINT64_C(1) << 32) // + number of the tensor: normal32, draw e for element e
#define SBI_STREAM_DATA                                                                            \
    (UINT64_C(2) << 32) // integers: draw ((step - 1) K + shard) B + row is where a sample starts
#define SBI_STREAM_GENERATE (UINT64_C(3) << 32) // uniform32: draw p for the token at position p

// ---- recipe.c
typedef struct sbi_model {
    int64_t hidden_size, layers, heads, kv_heads, intermediate_size, vocabulary;
    int64_t tie, final_norm, bias; // 0 or 1
    double rope_theta, norm_eps, initial_deviation;
} sbi_model;

#define SBI_GROUPS_MAX 16
typedef struct sbi_recipe {
    char name[64];
    sbi_model model;
    int64_t steps, shards, shard_sequences, sequence_length, seed, warm_up;
    double learning_rate, minimum_ratio, beta1, beta2, eps, weight_decay, clip; // clip 0: none
    sbi_group groups[SBI_GROUPS_MAX + 1]; // the last: "*", weight_decay
    int64_t group_count;
    int64_t every, keep;  // checkpoints; every 0: only at the end
    char data_sha256[65]; // "": the recipe names no data
    int64_t held_out;     // bytes at the end of the data
    int64_t windows;      // of the held-out part an evaluation reads; 0: all
    float *rates;         // [steps], in the arena
    const char *text;     // the recipe in full: every field, and the table of rates
    int64_t text_length;
    char sha256[65]; // of that text
} sbi_recipe;

// Reads and checks a recipe; strings and rates live in the arena. ctx computes the table of rates.
sb_status sbi_recipe_read(sb_context *ctx, sbi_arena *arena, const char *bytes, int64_t size,
                          sbi_recipe *out, sb_error *err);
sb_status sbi_recipe_load(sb_context *ctx, sbi_arena *arena, const char *path, sbi_recipe *out,
                          sb_error *err);

void sbi_sha256_hex(const void *bytes, int64_t size, char out[65]);

// ---- corpus.c (tokens are bytes: token = byte value)
typedef struct sbi_corpus {
    sbi_allocator allocator;
    uint8_t *bytes;
    int64_t size, train; // the held-out part is train .. size - 1
} sbi_corpus;
// Reads the text. The recipe's SHA-256 must be its own, unless `any` is set; the parts must hold a
// sample each.
sb_status sbi_corpus_load(sb_context *ctx, const sbi_recipe *recipe, const char *path, bool any,
                          sbi_corpus *out, sb_error *err);
void sbi_corpus_free(sbi_corpus *corpus);
// ids and targets[batch * length] (int32) of the samples that start at `starts`.
sb_status sbi_corpus_gather(const sbi_corpus *corpus, const int64_t *starts, int64_t batch,
                            int64_t length, sb_array *ids, sb_array *targets, sb_error *err);

// ---- decoder.c
typedef struct sbi_decoder_layer { // numbers of parameters in the layout; -1: absent
    int64_t norm1, q, q_bias, k, k_bias, v, v_bias, o, o_bias, norm2, gate, gate_bias, up, up_bias,
        down, down_bias;
} sbi_decoder_layer;

typedef struct sbi_decoder {
    sbi_allocator allocator;
    sbi_model model;
    int64_t head_size;
    sbi_layout layout;
    sbi_decoder_layer *layers;
    int64_t embed, norm, head; // norm -1: none; head = embed when tied
    sb_array *cosine, *sine;   // rotary tables for `positions`
    int64_t positions;
    sbi_tensors weights;
} sbi_decoder;

// The layout alone: what describe and the loader need.
sb_status sbi_decoder_layout(const sbi_allocator *allocator, const sbi_model *model,
                             sbi_decoder *out, sb_error *err);
// With weights (zeros) and rotary tables.
sb_status sbi_decoder_new(sb_context *ctx, const sbi_model *model, int64_t positions,
                          sbi_decoder *out, sb_error *err);
void sbi_decoder_free(sbi_decoder *decoder);

// What one pass over ids[batch, length] writes; made once and used again. Each thread has its own.
typedef struct sbi_pass_layer {
    sb_array *input, *normed1, *r1, *q, *k, *v, *q4, *k4, *v4, *mixed, *mixed4, *maximum, *total,
        *middle, *normed2, *r2, *gate, *up, *gated;
} sbi_pass_layer;

typedef struct sbi_pass {
    const sbi_decoder *decoder;
    int64_t batch, length, layer_count;
    bool training;
    sbi_pass_layer *layers; // training: one a layer; else one for all
    sb_array *ids, *targets, *output, *normed, *r, *logits, *loss;
    sb_array *dx, *dnormed, *dnorm, *dgated, *dmixed, *dmixed4, *dq, *dk, *dv, *dq4, *dk4,
        *dv4;         // training only
    sb_array **owned; // every array above, to free
    int64_t owned_count;
} sbi_pass;
sb_status sbi_pass_new(sb_context *ctx, const sbi_decoder *decoder, int64_t batch, int64_t length,
                       bool training, sbi_pass *out, sb_error *err);
void sbi_pass_free(sbi_pass *pass);
int64_t sbi_pass_bytes(const sbi_model *model, int64_t batch,
                       int64_t length); // of a training pass; -1: overflow

// Keys and values of the positions so far, for generation: [1, positions, kv_heads, head_size] a
// layer.
typedef struct sbi_cache {
    const sbi_decoder *decoder;
    sb_array **keys, **values;
    int64_t positions, used;
} sbi_cache;
sb_status sbi_cache_new(sb_context *ctx, const sbi_decoder *decoder, int64_t positions,
                        sbi_cache *out, sb_error *err);
void sbi_cache_free(sbi_cache *cache);

// pass->ids -> pass->logits[batch * length, vocabulary]. With a cache (batch 1, no training) the
// rows are the next positions after those in it; without one they are positions 0 .. length - 1 of
// each sequence.
sb_status sbi_decoder_forward(sb_context *ctx, const sbi_decoder *decoder, sbi_pass *pass,
                              sbi_cache *cache, sb_error *err);
// pass->logits, pass->targets -> S(loss_i), undivided.
sb_status sbi_decoder_loss(sb_context *ctx, sbi_pass *pass, double *loss, sb_error *err);
// After a training forward: every element of the gradients; scale = 1/N (T5). Overwrites
// activations.
sb_status sbi_decoder_backward(sb_context *ctx, const sbi_decoder *decoder, sbi_pass *pass,
                               double scale, sbi_tensors *gradients, sb_error *err);

// ---- ledger.c
typedef struct sbi_ledger {
    char previous[65]; // SHA-256 of the last line, without its newline
    int64_t step;      // of the last line; 0: the first line, which names the recipe
} sbi_ledger;
// The first line; replaces what is there.
sb_status sbi_ledger_start(const sbi_allocator *allocator, const char *path,
                           const sbi_recipe *recipe, const char *state, sbi_ledger *out,
                           sb_error *err);
sb_status sbi_ledger_append(const sbi_allocator *allocator, const char *path, sbi_ledger *ledger,
                            float rate, const double *losses, int64_t shards, const char *gradient,
                            const char *state, sb_error *err);
// Checks the recipe's digest and the chain up to the line whose hash is `last`, and cuts what
// follows it.
sb_status sbi_ledger_cut(const sbi_allocator *allocator, const char *path, const char *recipe,
                         const char *last, int64_t step, sb_error *err);
sb_status sbi_ledger_compare(const sbi_allocator *allocator, const char *a, const char *b,
                             sb_lm_difference *out, sb_error *err);

// ---- trainer.c
// The arrays of a state under their names in a checkpoint: weights, "optimizer.first.NAME",
// "optimizer.second.NAME" (the trainer's own arrays) and "optimizer.power" (binary64: beta1^t,
// beta2^t; a copy).
typedef struct sbi_state {
    sbi_arena *arena;
    int64_t count;
    const char **names;
    sb_array **arrays;
    sb_array *power;
} sbi_state;

typedef struct sbi_trainer {
    sb_context *ctx;
    const sbi_recipe *recipe;
    const sbi_corpus *corpus;
    sbi_decoder decoder;
    sbi_optimizer optimizer;
    sbi_state state;
    sbi_tree *tree;
    sbi_pass *passes;  // one a slot of the tree, made at its first shard
    sb_array **starts; // int64[shard_sequences] a slot
    int64_t slots;
    double *losses;    // [shards], of the last step computed
    int64_t step;      // completed
    double best_loss;  // mean held-out loss at the best scheduled checkpoint
    int64_t best_step; // -1: none yet
} sbi_trainer;

// For shards first .. first + count - 1. Weights are zero until initialized or restored.
sb_status sbi_trainer_new(sb_context *ctx, const sbi_recipe *recipe, const sbi_corpus *corpus,
                          int64_t first, int64_t count, sbi_trainer *out, sb_error *err);
void sbi_trainer_free(sbi_trainer *trainer);
sb_status sbi_trainer_initialize(sbi_trainer *trainer, sb_error *err); // the weights of step 0
// Computes the trainer's own shards of step `step` + 1 into its (reset) tree.
sb_status sbi_trainer_compute(sbi_trainer *trainer, sb_error *err);
// SB_ERR_NONFINITE naming step, tensor and (found by computing shards again) shard of a gradient
// that is not finite.
sb_status sbi_trainer_check(sbi_trainer *trainer, const sbi_tensors *gradient, sb_error *err);
// Clips and applies the combined gradient: the step is done. Every process of a step calls it.
sb_status sbi_trainer_apply(sbi_trainer *trainer, sbi_tensors *gradient, sb_error *err);
// Of the step (T10): S over the shards' losses, divided by N.
sb_status sbi_trainer_loss(sbi_trainer *trainer, double *loss, sb_error *err);
sb_status sbi_trainer_digest(sbi_trainer *trainer, char state[65], sb_error *err);
// The arrays in one buffer, tensor after tensor in the order of `state`, in host order (and back).
// bytes: all of it.
int64_t sbi_trainer_bytes(const sbi_trainer *trainer);
sb_status sbi_trainer_export(sbi_trainer *trainer, uint8_t *to, sb_error *err);
sb_status sbi_trainer_import(sbi_trainer *trainer, const uint8_t *from, sb_error *err);

// ---- checkpoint.c
typedef struct sbi_checkpoint {
    sbi_arena *arena;
    uint8_t *bytes; // the file
    sbi_allocator allocator;
    sbi_safetensors file;
    sbi_recipe recipe;
    int64_t step, best_step;
    double best_loss;
    char ledger[65], state[65];
} sbi_checkpoint;
#define SBI_CHECKPOINT_FILE "model.safetensors"
// FOLDER/step-000000060/model.safetensors, with config.json beside it.
sb_status sbi_checkpoint_save(sbi_trainer *trainer, const sbi_ledger *ledger, const char *state,
                              const char *folder, sb_error *err);
#define SBI_PATH 4096
// folder/step-000000060/FILE
sb_status sbi_checkpoint_path(const char *folder, int64_t step, const char *file,
                              char path[SBI_PATH], sb_error *err);
// Drops checkpoints beyond the newest `keep`, the best excepted, and what interrupted writes left
// behind.
sb_status sbi_checkpoint_prune(const sbi_trainer *trainer, const char *folder, sb_error *err);
// A file, a folder that holds one, or a run's folder (its newest). Checks everything but the
// state's digest.
sb_status sbi_checkpoint_open(sb_context *ctx, const char *path, sbi_checkpoint *out,
                              sb_error *err);
// The newest checkpoint of a run's folder. SB_ERR_STATE if there is none.
sb_status sbi_checkpoint_newest(const sbi_allocator *allocator, const char *folder,
                                char path[SBI_PATH], sb_error *err);
// Both check the digest too.
sb_status sbi_checkpoint_weights(sb_context *ctx, const sbi_checkpoint *checkpoint,
                                 sbi_decoder *decoder, sb_error *err);
sb_status sbi_checkpoint_restore(const sbi_checkpoint *checkpoint, sbi_trainer *trainer,
                                 sb_error *err);
void sbi_checkpoint_close(sbi_checkpoint *checkpoint);

// ---- crew.c: processes that share a step
typedef struct sbi_crew sbi_crew;
sb_status sbi_crew_check(const sb_lm_run *run, int64_t shards,
                         sb_error *err); // do the shards divide as asked?
sb_status sbi_crew_start(sbi_trainer *trainer, const sb_lm_run *run, const char *data,
                         sbi_crew **out, sb_error *err); // *out also on failure
// The step's losses and tree nodes from all workers into the trainer's tree.
sb_status sbi_crew_gather(sbi_crew *crew, sbi_trainer *trainer, sb_error *err);
sb_status sbi_crew_spread(sbi_crew *crew, sbi_trainer *trainer, const sbi_tensors *gradient,
                          sb_error *err);
// Every worker's digest of its state is ours; else SB_ERR_WORKER, and *differs unless one merely
// died.
sb_status sbi_crew_agree(sbi_crew *crew, const char *state, bool *differs, sb_error *err);
const char *sbi_crew_level(const sbi_crew *crew, int worker); // the CPU level that it runs
void sbi_crew_end(sbi_crew *crew);
sb_status sbi_crew_work(sb_context *ctx, int socket, sb_error *err); // the worker's side

// ---- training_run.c, evaluate.c, generate.c, describe.c
sb_status sbi_lm_train(sb_context *ctx, const sb_lm_run *run, sb_error *err);
sb_status sbi_lm_resume(sb_context *ctx, const sb_lm_run *run, sb_error *err);
// Mean loss (nats, binary64) over windows of `length` + 1 bytes, each starting `length` after the
// one before.
sb_status sbi_evaluate(sb_context *ctx, const sbi_decoder *decoder, const sbi_corpus *corpus,
                       int64_t first, int64_t end, int64_t length, int64_t windows,
                       sb_lm_evaluation *out, sb_error *err);
sb_status sbi_lm_evaluate(sb_context *ctx, const char *checkpoint, const char *data, int whole,
                          sb_lm_evaluation *out, sb_error *err);
sb_status sbi_lm_generate(sb_context *ctx, const sb_lm_generation *options, uint8_t *out,
                          sb_error *err);
// One token from a row of logits (which become the probabilities): see generate.c for the arithmetic.
sb_status sbi_sample(sb_context *ctx, sb_array *logits, double temperature, int64_t top_k,
                     double top_p, uint64_t seed, int64_t position, int64_t *token, sb_error *err);
sb_status sbi_lm_describe(sb_context *ctx, const char *recipe, sb_lm_description *out,
                          sb_error *err);
#endif
