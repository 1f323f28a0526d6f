// SPDX-License-Identifier: Apache-2.0
// A run: steps, ledger, checkpoints, evaluations, events. What is on the disk at any moment can be
// resumed:
//   recipe.json, run.json (where the data was), ledger.jsonl with its first line, the checkpoint of
//   step 0; then, a step: the ledger's line (synced); and at every `every`-th step, at the end and
//   when the run stops: the checkpoint (whole, by a rename), best.json, the removal of old ones.
//   The ledger is never behind the newest checkpoint; what it is ahead is cut on resuming.
#include "lm.h"

#include <stdio.h>
#include <string.h>

typedef struct work {
    sb_context *ctx;
    const sb_lm_run *run;
    sbi_arena *arena;
    sbi_recipe recipe;
    sbi_corpus corpus;
    sbi_trainer trainer;
    sbi_ledger ledger;
    sbi_crew *crew;
    char state[65]; // digest of the trainer's state
    char ledger_path[SBI_PATH];
    int64_t saved; // step of the last checkpoint, -1: none
    bool whole;    // trainer, state and ledger are of the same step: they can be saved
    bool stop;     // the listener asked for it
    int lock;      // on the run's folder, -1: none
} work;

static void tell(work *w, sb_lm_event event) {
    event.steps = w->recipe.steps;
    if (w->run->listener && w->run->listener(w->run->user, &event) != 0) w->stop = true;
}

static sb_status path_in(const work *w, const char *name, char path[SBI_PATH], sb_error *err) {
    int length = snprintf(path, SBI_PATH, "%s/%s", w->run->folder, name);
    return length > 0 && length < SBI_PATH
               ? SB_OK
               : sbi_fail(err, SB_ERR_IO, "folder", "the folder's name is too long");
}

static sb_status write_file(work *w, const char *name, const char *bytes, int64_t size,
                            sb_error *err) {
    char path[SBI_PATH];
    sbi_file *file = NULL;
    sb_status status = path_in(w, name, path, err);
    if (status == SB_OK) status = sbi_file_create(&w->ctx->allocator, path, &file, err);
    if (status == SB_OK) status = sbi_file_write(file, bytes, size, err);
    if (status == SB_OK) status = sbi_file_commit(file, err);
    if (status != SB_OK) sbi_file_abandon(file);
    return status;
}

static sb_status write_text(work *w, const char *name, sbi_text *text, sb_error *err) {
    sb_status status = text->failed ? sbi_fail(err, SB_ERR_MEMORY, "", "out of memory for %s", name)
                                    : write_file(w, name, text->bytes, text->length, err);
    sbi_text_free(text);
    return status;
}

// ---------------------------------------------------------------- checkpoints

static sb_status evaluate(work *w, sb_error *err) {
    sb_lm_evaluation result;
    const sbi_recipe *r = &w->recipe;
    if (w->corpus.size - w->corpus.train <= r->sequence_length) return SB_OK; // nothing held out
    sb_status status = sbi_evaluate(w->ctx, &w->trainer.decoder, &w->corpus, w->corpus.train,
                                    w->corpus.size, r->sequence_length, r->windows, &result, err);
    if (status != SB_OK) return status;
    if (w->trainer.best_step < 0 || result.loss < w->trainer.best_loss) {
        w->trainer.best_step = w->trainer.step;
        w->trainer.best_loss = result.loss;
    }
    tell(w, (sb_lm_event){.kind = SB_LM_EVALUATED,
                          .step = w->trainer.step,
                          .loss = result.loss,
                          .bits_per_byte = result.bits_per_byte});
    return SB_OK;
}

// What follows from the newest checkpoint: best.json, which others are kept. After a kill it is
// done again.
static sb_status tidy(work *w, sb_error *err) {
    sbi_text text;
    sb_status status = SB_OK;
    if (w->trainer.best_step >= 0) {
        sbi_text_start(&text, &w->ctx->allocator);
        sbi_text_add(&text, "{\"step\": %lld, \"loss\": ", (long long)w->trainer.best_step);
        sbi_text_add_real(&text, w->trainer.best_loss);
        sbi_text_add(&text, "}\n");
        status = write_text(w, "best.json", &text, err);
    }
    return status == SB_OK ? sbi_checkpoint_prune(&w->trainer, w->run->folder, err) : status;
}

static sb_status save(work *w, sb_error *err) {
    char path[SBI_PATH];
    if (w->saved == w->trainer.step) return SB_OK;
    sb_status status = sbi_checkpoint_save(&w->trainer, &w->ledger, w->state, w->run->folder, err);
    if (status == SB_OK) status = tidy(w, err);
    if (status == SB_OK)
        status =
            sbi_checkpoint_path(w->run->folder, w->trainer.step, SBI_CHECKPOINT_FILE, path, err);
    if (status == SB_OK) {
        w->saved = w->trainer.step;
        tell(w, (sb_lm_event){.kind = SB_LM_SAVED, .step = w->trainer.step, .text = path});
    }
    return status;
}

// ---------------------------------------------------------------- one step

// A fault put in on purpose, to see where it is caught: one ulp more in the middle element of the
// gradient.
static sb_status sabotage(work *w, sbi_tensors *gradient, sb_error *err) {
    int64_t tensor = gradient->layout->count / 2, at = gradient->layout->items[tensor].size / 2;
    float *host =
        sbi_allocate(&w->ctx->allocator, gradient->layout->items[tensor].size, sizeof *host, err);
    size_t bytes = (size_t)gradient->layout->items[tensor].size * sizeof *host;
    uint32_t word;
    if (!host) return SB_ERR_MEMORY;
    sb_status status = sbi_array_read(gradient->items[tensor], host, bytes, err);
    memcpy(&word, &host[at], sizeof word);
    word++;
    memcpy(&host[at], &word, sizeof word);
    if (status == SB_OK) status = sbi_array_write(gradient->items[tensor], host, bytes, err);
    sbi_release(&w->ctx->allocator, host);
    if (status == SB_OK)
        tell(w, (sb_lm_event){.kind = SB_LM_SABOTAGED,
                              .step = w->trainer.step + 1,
                              .text = gradient->layout->items[tensor].name});
    return status;
}

// *lost: SB_OK, or SB_ERR_WORKER (and err) when another process died after its part of this step,
// which stands.
static sb_status one_step(work *w, double *loss, sb_status *lost, sb_error *err) {
    sbi_trainer *t = &w->trainer;
    uint8_t digest[32];
    char gradient_digest[65];
    bool differs = false;
    *lost = SB_OK;
    sb_status status = w->crew ? sbi_crew_gather(w->crew, t, err) : sbi_trainer_compute(t, err);
    if (status != SB_OK) return status;
    sbi_gradient *root = sbi_tree_root(t->tree);
    if (!root)
        return sbi_fail(err, SB_ERR_INTERNAL, "", "the tree of step %lld has no root",
                        (long long)t->step + 1);
    sbi_tensors *gradient = root->views;
    if (w->run->sabotage_step == t->step + 1) status = sabotage(w, gradient, err);
    if (status == SB_OK) status = sbi_trainer_loss(t, loss, err);
    if (status == SB_OK) status = sbi_trainer_check(t, gradient, err);
    if (status == SB_OK) status = sbi_tensors_digest(w->ctx, gradient, digest, err);
    if (status == SB_OK && w->crew) status = sbi_crew_spread(w->crew, t, gradient, err);
    if (status != SB_OK) return status;
    sbi_hex(digest, 32, gradient_digest);
    float rate = w->recipe.rates[t->step];
    w->whole = false;
    status = sbi_trainer_apply(t, gradient, err);
    if (status == SB_OK) status = sbi_trainer_digest(t, w->state, err);
    if (status == SB_OK && w->crew) *lost = sbi_crew_agree(w->crew, w->state, &differs, err);
    if (status == SB_OK && differs)
        return *lost; // who is right is unknown: nothing of this step is kept
    if (status == SB_OK)
        status = sbi_ledger_append(&w->ctx->allocator, w->ledger_path, &w->ledger, rate, t->losses,
                                   w->recipe.shards, gradient_digest, w->state,
                                   *lost == SB_OK ? err : NULL);
    w->whole = status == SB_OK;
    return status;
}

static sb_status steps(work *w, int64_t until, sb_error *err) {
    sbi_trainer *t = &w->trainer;
    const sbi_recipe *r = &w->recipe;
    double start = sbi_seconds(),
           tokens = (double)(r->shards * r->shard_sequences * r->sequence_length);
    int64_t first = t->step;
    while (t->step < until && !w->stop) {
        double loss;
        sb_status lost, status = one_step(w, &loss, &lost, err);
        if (status == SB_OK) status = lost;
        if (status !=
            SB_OK) { // the last good state is kept; should that fail, an older checkpoint is there
            if (w->whole) (void)save(w, NULL);
            return status;
        }
        double taken = sbi_seconds() - start;
        tell(w, (sb_lm_event){.kind = SB_LM_STEP,
                              .step = t->step,
                              .loss = loss,
                              .tokens_per_second = tokens * (double)(t->step - first) /
                                                   (taken > 1e-9 ? taken : 1e-9),
                              .seconds_left =
                                  taken / (double)(t->step - first) * (double)(until - t->step)});
        bool scheduled = t->step == r->steps || (r->every > 0 && t->step % r->every == 0);
        if (scheduled) status = evaluate(w, err);
        if (status == SB_OK && scheduled) status = save(w, err);
        if (status != SB_OK) return status;
    }
    sb_status status = save(w, err);
    if (status == SB_OK && t->step < until)
        return sbi_fail(err, SB_ERR_INTERRUPTED, "",
                        "stopped on request after step %lld, which is saved", (long long)t->step);
    return status;
}

static sb_status go(work *w, const char *data, sb_error *err) {
    int64_t until = w->run->until ? w->run->until : w->recipe.steps;
    tell(w, (sb_lm_event){.kind = SB_LM_STARTED,
                          .step = w->trainer.step,
                          .text = w->run->worker_count ? "workers"
                                  : w->ctx->device->apart ? w->ctx->device->name
                                                          : w->ctx->kernels->level});
    sb_status status = SB_OK;
    w->whole = true;
    if (w->run->worker_count && w->trainer.step < until) {
        status = sbi_crew_start(&w->trainer, w->run, data, &w->crew, err);
        for (int i = 0; i < w->run->worker_count && status == SB_OK; i++)
            tell(w, (sb_lm_event){.kind = SB_LM_WORKER,
                                  .worker = i,
                                  .step = w->trainer.step,
                                  .text = sbi_crew_level(w->crew, i)});
    }
    if (status == SB_OK) status = steps(w, until, err);
    sbi_crew_end(w->crew);
    w->crew = NULL;
    char path[SBI_PATH];
    if (status == SB_OK)
        status =
            sbi_checkpoint_path(w->run->folder, w->trainer.step, SBI_CHECKPOINT_FILE, path, err);
    if (status == SB_OK)
        tell(w, (sb_lm_event){.kind = SB_LM_FINISHED, .step = w->trainer.step, .text = path});
    return status;
}

static void finish(work *w) {
    sbi_trainer_free(&w->trainer);
    if (w->corpus.bytes) sbi_corpus_free(&w->corpus);
    sbi_arena_free(w->arena);
    sbi_folder_unlock(w->lock);
}

// What a run asks for must fit its recipe, and that is seen before anything is written.
static sb_status check_request(const work *w, sb_error *err) {
    const sb_lm_run *run = w->run;
    if (run->until < 0 || run->until > w->recipe.steps)
        return sbi_fail(err, SB_ERR_ARGUMENT, "until", "the recipe has %lld steps, not %lld",
                        (long long)w->recipe.steps, (long long)run->until);
    return run->worker_count ? sbi_crew_check(run, w->recipe.shards, err) : SB_OK;
}

static sb_status make_trainer(work *w, const char *data, sb_error *err) {
    bool alone = w->run->worker_count == 0;
    sb_status status = sbi_corpus_load(w->ctx, &w->recipe, data, false, &w->corpus, err);
    return status == SB_OK ? sbi_trainer_new(w->ctx, &w->recipe, &w->corpus, 0,
                                             alone ? w->recipe.shards : 0, &w->trainer, err)
                           : status;
}

// The folder must hold no checkpoint. One that cannot be looked through may hold some: its ledger must
// not be written over.
static sb_status check_fresh(const work *w, sb_error *err) {
    const char *folder = w->run->folder;
    char path[SBI_PATH], shown[160];
    sb_error why = {0};
    sb_status status = sbi_checkpoint_newest(&w->ctx->allocator, folder, path, &why);
    if (status == SB_ERR_STATE) return SB_OK;
    if (status == SB_OK)
        return sbi_fail(err, SB_ERR_STATE, "folder",
                        "%s already holds a run: resume it, or train into another folder",
                        sbi_escape(folder, strlen(folder), shown, sizeof shown));
    if (err) *err = why;
    return status;
}

sb_status sbi_lm_train(sb_context *ctx, const sb_lm_run *run, sb_error *err) {
    work w = {.ctx = ctx, .run = run, .saved = -1, .lock = -1};
    sbi_text text;
    w.arena = sbi_arena_new(&ctx->allocator, err);
    sb_status status =
        w.arena ? sbi_recipe_load(ctx, w.arena, run->recipe, &w.recipe, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = make_trainer(&w, run->data, err);
    if (status == SB_OK) status = check_request(&w, err);
    if (status == SB_OK) status = sbi_folder_make(run->folder, err);
    if (status == SB_OK) status = sbi_folder_lock(run->folder, &w.lock, err);
    if (status == SB_OK) status = path_in(&w, "ledger.jsonl", w.ledger_path, err);
    if (status == SB_OK) status = check_fresh(&w, err);
    if (status == SB_OK) status = sbi_trainer_initialize(&w.trainer, err);
    if (status == SB_OK) status = sbi_trainer_digest(&w.trainer, w.state, err);
    if (status == SB_OK)
        status = write_file(&w, "recipe.json", w.recipe.text, w.recipe.text_length, err);
    if (status == SB_OK) {
        sbi_text_start(&text, &ctx->allocator);
        sbi_text_add(&text, "{\"data\": ");
        sbi_text_add_json_string(&text, run->data, (int64_t)strlen(run->data));
        sbi_text_add(&text, "}\n");
        status = write_text(&w, "run.json", &text, err);
    }
    if (status == SB_OK)
        status =
            sbi_ledger_start(&ctx->allocator, w.ledger_path, &w.recipe, w.state, &w.ledger, err);
    if (status == SB_OK) status = save(&w, err);
    if (status == SB_OK) status = go(&w, run->data, err);
    finish(&w);
    return sbi_named(status, "folder", err);
}

// Where the data was when the run started.
static sb_status recall_data(work *w, const char **data, sb_error *err) {
    char path[SBI_PATH];
    uint8_t *bytes = NULL;
    int64_t size = 0;
    const sbi_json *root;
    sb_status status = path_in(w, "run.json", path, err);
    if (status == SB_OK)
        status = sbi_file_read(&w->ctx->allocator, path, 1 << 20, &bytes, &size, err);
    if (status == SB_OK) status = sbi_json_read(w->arena, (const char *)bytes, size, &root, err);
    if (status == SB_OK) {
        const sbi_json *member = sbi_json_member(root, "data");
        if (member && member->kind == SBI_JSON_STRING &&
            strlen(member->text) == (size_t)member->length)
            *data = member->text;
        else
            status =
                sbi_fail(err, SB_ERR_FORMAT, "folder", "run.json does not say where the data is");
    }
    sbi_release(&w->ctx->allocator, bytes);
    return status;
}

sb_status sbi_lm_resume(sb_context *ctx, const sb_lm_run *run, sb_error *err) {
    work w = {.ctx = ctx, .run = run, .saved = -1, .lock = -1};
    sbi_checkpoint checkpoint = {0};
    char path[SBI_PATH];
    const char *data = run->data;
    w.arena = sbi_arena_new(&ctx->allocator, err);
    sb_status status = w.arena ? sbi_folder_lock(run->folder, &w.lock, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_checkpoint_newest(&ctx->allocator, run->folder, path, err);
    if (status == SB_OK) status = sbi_checkpoint_open(ctx, path, &checkpoint, err);
    if (status == SB_OK) // again, so that the recipe outlives the file
        status = sbi_recipe_read(ctx, w.arena, checkpoint.recipe.text,
                                 checkpoint.recipe.text_length, &w.recipe, err);
    if (status == SB_OK && run->until && run->until < checkpoint.step)
        status = sbi_fail(err, SB_ERR_ARGUMENT, "until",
                          "the newest checkpoint is of step %lld, beyond %lld",
                          (long long)checkpoint.step, (long long)run->until);
    if (status == SB_OK) status = check_request(&w, err);
    if (status == SB_OK && !data) status = recall_data(&w, &data, err);
    if (status == SB_OK) status = make_trainer(&w, data, err);
    if (status == SB_OK) status = sbi_checkpoint_restore(&checkpoint, &w.trainer, err);
    if (status == SB_OK) status = path_in(&w, "ledger.jsonl", w.ledger_path, err);
    if (status == SB_OK)
        status = sbi_ledger_cut(&ctx->allocator, w.ledger_path, w.recipe.sha256, checkpoint.ledger,
                                checkpoint.step, err);
    if (status == SB_OK) {
        memcpy(w.state, checkpoint.state, sizeof w.state);
        memcpy(w.ledger.previous, checkpoint.ledger, sizeof w.ledger.previous);
        w.ledger.step = w.saved = checkpoint.step;
    }
    if (status == SB_OK) status = tidy(&w, err);
    sbi_checkpoint_close(&checkpoint);
    if (status == SB_OK) status = go(&w, data, err);
    finish(&w);
    return sbi_named(status, "folder", err);
}
