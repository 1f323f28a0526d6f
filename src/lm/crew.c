// SPDX-License-Identifier: Apache-2.0
// Processes that share a step. Each worker holds the whole state and a range of shards; a step goes
//   down STEP; up LOSSES, then every node of the tree that the worker's shards leave unpaired; down
//   GRADIENT, the combined one; every process clips and applies it; up STATE, the digest that must
//   be ours.
// So the ledger and the checkpoints, which only the first process writes, are those of one process.
#include "lm.h"
#include "trace.h"

#include <stdio.h>
#include <string.h>

typedef struct worker {
    sbi_process process;
    int64_t first, count; // its shards
    char isa[16];         // asked for, "" if any; then what runs
    int threads;
} worker;

struct sbi_crew {
    sbi_allocator allocator;
    worker *workers;
    int count;
    uint8_t *gradient; // host copy of one set of gradients
    int64_t gradient_bytes;
};

// What a worker must know; the recipe's text, the data's path and the state follow.
typedef struct start {
    int64_t first, count, step, recipe_bytes, path_bytes, state_bytes;
} start;

// ---------------------------------------------------------------- the first process

static sb_status died(sbi_crew *crew, int number, sb_status status, sb_error *err) {
    worker *w = &crew->workers[number];
    char how[64], why[300];
    if (status != SB_ERR_WORKER) { // its own error, which it sent: a shard that is not finite, a
                                   // text it cannot read
        return status;
    }
    snprintf(why, sizeof why, "%.299s", err ? err->message : "");
    sbi_process_end(&w->process, how, sizeof how);
    return sbi_fail(err, SB_ERR_WORKER, "worker", "worker %d (%s, shards %lld to %lld) is lost: %s",
                    number, w->isa[0] ? w->isa : "any level", (long long)w->first,
                    (long long)(w->first + w->count - 1), how[0] ? how : why);
}

sb_status sbi_crew_check(const sb_lm_run *run, int64_t shards, sb_error *err) {
    int64_t asked = 0, open = 0;
    if (!run->worker_command)
        return sbi_fail(err, SB_ERR_ARGUMENT, "worker_command",
                        "workers need the program that they run");
    for (int i = 0; i < run->worker_count; i++) {
        if (run->workers[i].shards < 0 || run->workers[i].shards > shards - asked)
            return sbi_fail(err, SB_ERR_ARGUMENT, "workers",
                            "the workers ask for more than %lld shards", (long long)shards);
        asked += run->workers[i].shards;
        open += run->workers[i].shards == 0;
    }
    if (shards - asked < open || (open == 0 && asked < shards))
        return sbi_fail(err, SB_ERR_ARGUMENT, "workers",
                        "%lld shards do not divide among the workers as asked", (long long)shards);
    return SB_OK;
}

static void share_out(sbi_crew *crew, const sb_lm_run *run, int64_t shards) {
    int64_t rest = shards, open = 0, first = 0, taken = 0, number = 0;
    for (int i = 0; i < crew->count; i++) {
        rest -= run->workers[i].shards;
        open += run->workers[i].shards == 0;
    }
    for (int i = 0; i < crew->count; i++) {
        worker *w = &crew->workers[i];
        w->first = first;
        w->count = run->workers[i].shards;
        if (w->count == 0) {
            int64_t end = rest * ++number / open;
            w->count = end - taken;
            taken = end;
        }
        first += w->count;
    }
}

static sb_status send_start(sbi_crew *crew, int number, const sbi_trainer *t, const char *data,
                            uint8_t *payload, int64_t bytes, sb_error *err) {
    worker *w = &crew->workers[number];
    start head = {.first = w->first,
                  .count = w->count,
                  .step = t->step,
                  .recipe_bytes = t->recipe->text_length,
                  .path_bytes = (int64_t)strlen(data),
                  .state_bytes = sbi_trainer_bytes(t)};
    memcpy(payload, &head, sizeof head);
    return sbi_message_send(w->process.socket, SBI_MESSAGE_START, 0, 0, payload, bytes, err);
}

static sb_status start_worker(sbi_crew *crew, int number, const sb_lm_run *run,
                              const sbi_trace_branch *trace, sb_error *err) {
    worker *w = &crew->workers[number];
    const sb_lm_worker *asked = &run->workers[number];
    char threads[16], path[SBI_PATH];
    const char *command[12] = {run->worker_command, "lm", "worker", "--threads", threads};
    int words = 5;
    snprintf(threads, sizeof threads, "%d", asked->threads);
    if (asked->device) {
        command[words++] = "--device";
        command[words++] = asked->device;
        sbi_escape(asked->device, strlen(asked->device), w->isa, sizeof w->isa); // (an error may name it)
    }
    if (asked->isa) {
        command[words++] = "--isa";
        command[words++] = asked->isa;
        if (!asked->device) sbi_escape(asked->isa, strlen(asked->isa), w->isa, sizeof w->isa);
    }
    if (trace) { // its own, beside ours
        command[words++] = "--trace";
        command[words++] = path;
        if (snprintf(path, sizeof path, "%s.worker%d", sbi_trace_path(trace), number) >= SBI_PATH)
            return sbi_fail(err, SB_ERR_ARGUMENT, "trace", "the trace's path is too long");
    }
    return sbi_process_start(command, &w->process, err);
}

static sb_status receive_ready(sbi_crew *crew, int number, sb_error *err) {
    worker *w = &crew->workers[number];
    sbi_message message;
    sb_status status = sbi_message_receive(w->process.socket, SBI_MESSAGE_READY, &message, err);
    if (status != SB_OK) return status;
    if (message.bytes != (int64_t)sizeof w->isa)
        return sbi_fail(err, SB_ERR_WORKER, "worker", "worker %d is of another release", number);
    status = sbi_socket_receive(w->process.socket, w->isa, sizeof w->isa, err);
    w->isa[sizeof w->isa - 1] = 0;
    if (status == SB_OK && w->isa[strspn(w->isa, "abcdefghijklmnopqrstuvwxyz0123456789:.")])
        status = sbi_fail(err, SB_ERR_WORKER, "worker", "worker %d runs on a level without a name", number);
    return status;
}

sb_status sbi_crew_start(sbi_trainer *t, const sb_lm_run *run, const char *data, sbi_crew **out,
                         sb_error *err) {
    const sbi_allocator *allocator = &t->ctx->allocator;
    int64_t state = sbi_trainer_bytes(t), path = (int64_t)strlen(data),
            recipe = t->recipe->text_length;
    int64_t bytes = (int64_t)sizeof(start) + recipe + path + state;
    uint8_t *payload = NULL;
    *out = NULL;
    sb_status status = sbi_crew_check(run, t->recipe->shards, err);
    if (status != SB_OK) return status;
    sbi_crew *crew = sbi_allocate(allocator, 1, sizeof *crew, err);
    if (!crew) return SB_ERR_MEMORY;
    *out = crew;
    crew->allocator = *allocator;
    crew->gradient_bytes = t->decoder.layout.extent * (int64_t)sizeof(float);
    crew->gradient = sbi_allocate(allocator, crew->gradient_bytes, 1, err);
    crew->workers = sbi_allocate(allocator, run->worker_count, sizeof *crew->workers, err);
    payload = sbi_allocate(allocator, bytes, 1, err);
    if (!crew->gradient || !crew->workers || !payload) {
        sbi_release(allocator, payload);
        return SB_ERR_MEMORY;
    }
    crew->count = run->worker_count;
    for (int i = 0; i < crew->count; i++) crew->workers[i].process.socket = -1;
    share_out(crew, run, t->recipe->shards);
    memcpy(payload + sizeof(start), t->recipe->text, (size_t)recipe);
    memcpy(payload + sizeof(start) + recipe, data, (size_t)path);
    status = sbi_trainer_export(t, payload + sizeof(start) + recipe + path, err);
    for (int i = 0; i < crew->count && status == SB_OK; i++) {
        status = start_worker(crew, i, run, t->ctx->trace, err);
        if (status == SB_OK) {
            status = send_start(crew, i, t, data, payload, bytes, err);
            if (status != SB_OK) status = died(crew, i, status, err);
        }
    }
    for (int i = 0; i < crew->count && status == SB_OK; i++) {
        status = receive_ready(crew, i, err);
        if (status != SB_OK) status = died(crew, i, status, err);
    }
    sbi_release(allocator, payload);
    return status;
}

const char *sbi_crew_level(const sbi_crew *crew, int number) { return crew->workers[number].isa; }

static sb_status receive_nodes(sbi_crew *crew, int number, sbi_trainer *t, sb_error *err) {
    worker *w = &crew->workers[number];
    int socket = w->process.socket;
    sbi_message message;
    sb_status status = sbi_message_receive(socket, SBI_MESSAGE_LOSSES, &message, err);
    if (status != SB_OK) return status;
    if (message.a != t->step + 1 || message.bytes != w->count * (int64_t)sizeof(double))
        return sbi_fail(err, SB_ERR_WORKER, "worker", "worker %d answers for another step", number);
    status = sbi_socket_receive(socket, t->losses + w->first, message.bytes, err);
    int64_t nodes = message.b;
    for (int64_t i = 0; i < nodes && status == SB_OK; i++) {
        sbi_gradient *g = NULL;
        status = sbi_message_receive(socket, SBI_MESSAGE_NODE, &message, err);
        if (status == SB_OK &&
            (message.bytes != crew->gradient_bytes || message.a < 0 || message.a > 62))
            status = sbi_fail(err, SB_ERR_WORKER, "worker", "worker %d has another model", number);
        if (status == SB_OK)
            status = sbi_socket_receive(socket, crew->gradient, message.bytes, err);
        if (status == SB_OK) status = sbi_tree_spare(t->tree, &g, err);
        if (status == SB_OK) {
            status = sbi_array_write(g->flat, crew->gradient, (size_t)crew->gradient_bytes, err);
            if (status == SB_OK)
                status = sbi_tree_add(t->tree, g, (int)message.a, message.b, err);
            else
                sbi_tree_give(t->tree, g);
        }
    }
    return status;
}

sb_status sbi_crew_gather(sbi_crew *crew, sbi_trainer *t, sb_error *err) {
    sb_status status = SB_OK;
    sbi_tree_reset(t->tree);
    for (int i = 0; i < crew->count && status == SB_OK; i++) {
        status = sbi_message_send(crew->workers[i].process.socket, SBI_MESSAGE_STEP, t->step + 1, 0,
                                  NULL, 0, err);
        if (status != SB_OK) status = died(crew, i, status, err);
    }
    for (int i = 0; i < crew->count && status == SB_OK; i++) {
        status = receive_nodes(crew, i, t, err);
        if (status != SB_OK) status = died(crew, i, status, err);
    }
    return status;
}

sb_status sbi_crew_spread(sbi_crew *crew, sbi_trainer *t, const sbi_tensors *gradient,
                          sb_error *err) {
    sb_status status =
        sbi_array_read(gradient->flat, crew->gradient, (size_t)crew->gradient_bytes, err);
    for (int i = 0; i < crew->count && status == SB_OK; i++) {
        status = sbi_message_send(crew->workers[i].process.socket, SBI_MESSAGE_GRADIENT,
                                  t->step + 1, 0, crew->gradient, crew->gradient_bytes, err);
        if (status != SB_OK) status = died(crew, i, status, err);
    }
    return status;
}

sb_status sbi_crew_agree(sbi_crew *crew, const char *state, bool *differs, sb_error *err) {
    sb_status result = SB_OK;
    *differs = false;
    for (int i = 0; i < crew->count; i++) {
        char theirs[65] = {0};
        sbi_message message;
        sb_error failure = {0};
        sb_status status = sbi_message_receive(crew->workers[i].process.socket, SBI_MESSAGE_STATE,
                                               &message, &failure);
        if (status == SB_OK && message.bytes != (int64_t)sizeof theirs)
            status =
                sbi_fail(&failure, SB_ERR_WORKER, "worker", "worker %d is of another release", i);
        if (status == SB_OK)
            status = sbi_socket_receive(crew->workers[i].process.socket, theirs, sizeof theirs,
                                        &failure);
        theirs[64] = 0;
        char shown[24];
        if (status != SB_OK) {
            status = died(crew, i, status, &failure);
        } else if (strcmp(theirs, state) != 0) {
            *differs = true;
            status =
                sbi_fail(&failure, SB_ERR_WORKER, "worker",
                         "worker %d (%s) has another state after the step: %s..., not %.16s...",
                         i, crew->workers[i].isa,
                         sbi_escape(theirs, strlen(theirs) < 16 ? strlen(theirs) : 16, shown, sizeof shown), state);
        }
        if (status != SB_OK && (result == SB_OK || *differs)) {
            result = SB_ERR_WORKER;
            if (err) *err = failure;
            if (err) err->status = result;
        }
    }
    return result;
}

void sbi_crew_end(sbi_crew *crew) {
    if (!crew) return;
    if (crew->workers) {
        for (int i = 0; i < crew->count; i++)
            if (crew->workers[i].process.socket >= 0)
                (void)sbi_message_send(crew->workers[i].process.socket, SBI_MESSAGE_END, 0, 0, NULL,
                                       0, NULL);
        for (int i = 0; i < crew->count; i++) sbi_process_end(&crew->workers[i].process, NULL, 0);
    }
    sbi_release(&crew->allocator, crew->workers);
    sbi_release(&crew->allocator, crew->gradient);
    sbi_release(&crew->allocator, crew);
}

// ---------------------------------------------------------------- a worker

typedef struct duty {
    sb_context *ctx;
    int socket;
    sbi_arena *arena;
    sbi_recipe recipe;
    sbi_corpus corpus;
    sbi_trainer trainer;
    int64_t first, count;
    uint8_t *gradient;
    int64_t gradient_bytes;
} duty;

static sb_status begin(duty *d, sb_error *err) {
    sbi_message message;
    start head;
    sb_status status = sbi_message_receive(d->socket, SBI_MESSAGE_START, &message, err);
    if (status != SB_OK) return status;
    uint8_t *payload = message.bytes >= (int64_t)sizeof head
                           ? sbi_allocate(&d->ctx->allocator, message.bytes, 1, err)
                           : NULL;
    if (message.bytes < (int64_t)sizeof head)
        return sbi_fail(err, SB_ERR_WORKER, "worker", "the first message is malformed");
    if (!payload) return SB_ERR_MEMORY;
    status = sbi_socket_receive(d->socket, payload, message.bytes, err);
    memcpy(&head, payload, sizeof head);
    int64_t rest = message.bytes - (int64_t)sizeof head;
    if (status == SB_OK &&
        (head.recipe_bytes < 0 || head.path_bytes < 0 || head.recipe_bytes > rest ||
         head.path_bytes > rest - head.recipe_bytes ||
         head.state_bytes != rest - head.recipe_bytes - head.path_bytes))
        status = sbi_fail(err, SB_ERR_WORKER, "worker", "the first message is malformed");
    const uint8_t *at = payload + sizeof head;
    if (status == SB_OK)
        status =
            sbi_recipe_read(d->ctx, d->arena, (const char *)at, head.recipe_bytes, &d->recipe, err);
    at += head.recipe_bytes;
    const char *path =
        status == SB_OK ? sbi_arena_string(d->arena, (const char *)at, (size_t)head.path_bytes, err)
                        : NULL;
    if (status == SB_OK && !path) status = SB_ERR_MEMORY;
    at += head.path_bytes;
    d->first = head.first;
    d->count = head.count;
    if (status == SB_OK) status = sbi_corpus_load(d->ctx, &d->recipe, path, false, &d->corpus, err);
    if (status == SB_OK)
        status = sbi_trainer_new(d->ctx, &d->recipe, &d->corpus, head.first, head.count,
                                 &d->trainer, err);
    if (status == SB_OK && head.state_bytes != sbi_trainer_bytes(&d->trainer))
        status = sbi_fail(err, SB_ERR_WORKER, "worker", "the state is not the recipe's");
    if (status == SB_OK) status = sbi_trainer_import(&d->trainer, at, err);
    d->trainer.step = head.step;
    sbi_release(&d->ctx->allocator, payload);
    if (status == SB_OK) {
        d->gradient_bytes = d->trainer.decoder.layout.extent * (int64_t)sizeof(float);
        d->gradient = sbi_allocate(&d->ctx->allocator, d->gradient_bytes, 1, err);
        if (!d->gradient) status = SB_ERR_MEMORY;
    }
    char isa[16] = {0};
    snprintf(isa, sizeof isa, "%s",
             d->ctx->device->apart ? d->ctx->device->name : d->ctx->kernels->level);
    return status == SB_OK
               ? sbi_message_send(d->socket, SBI_MESSAGE_READY, 0, 0, isa, sizeof isa, err)
               : status;
}

static sb_status share_step(duty *d, sb_error *err) {
    sbi_trainer *t = &d->trainer;
    int64_t nodes = 0;
    sb_status status = sbi_trainer_compute(t, err);
    if (status != SB_OK) return status;
    sbi_gradient *root = sbi_tree_root(t->tree); // this worker may have all shards
    for (sbi_gradient *g = sbi_tree_waiting(t->tree, NULL); g; g = sbi_tree_waiting(t->tree, g))
        nodes++;
    status = sbi_message_send(d->socket, SBI_MESSAGE_LOSSES, t->step + 1, root ? 1 : nodes,
                              t->losses + d->first, d->count * (int64_t)sizeof(double), err);
    for (sbi_gradient *g = root ? root : sbi_tree_waiting(t->tree, NULL); g && status == SB_OK;
         g = root ? NULL : sbi_tree_waiting(t->tree, g)) {
        status = sbi_array_read(g->flat, d->gradient, (size_t)d->gradient_bytes, err);
        if (status == SB_OK)
            status = sbi_message_send(d->socket, SBI_MESSAGE_NODE, g->level, g->index, d->gradient,
                                      d->gradient_bytes, err);
    }
    return status;
}

static sb_status take_gradient(duty *d, const sbi_message *message, sb_error *err) {
    sbi_trainer *t = &d->trainer;
    sbi_gradient *g = NULL;
    char state[65];
    if (message->bytes != d->gradient_bytes || message->a != t->step + 1)
        return sbi_fail(err, SB_ERR_WORKER, "worker", "a gradient of another step or model came");
    sb_status status = sbi_socket_receive(d->socket, d->gradient, d->gradient_bytes, err);
    sbi_tree_reset(t->tree);
    if (status == SB_OK) status = sbi_tree_spare(t->tree, &g, err);
    if (status == SB_OK)
        status = sbi_array_write(g->flat, d->gradient, (size_t)d->gradient_bytes, err);
    if (status == SB_OK) status = sbi_trainer_apply(t, g->views, err);
    if (g) sbi_tree_give(t->tree, g);
    if (status == SB_OK) status = sbi_trainer_digest(t, state, err);
    return status == SB_OK ? sbi_message_send(d->socket, SBI_MESSAGE_STATE, t->step, 0, state,
                                              sizeof state, err)
                           : status;
}

sb_status sbi_crew_work(sb_context *ctx, int socket, sb_error *err) {
    duty d = {.ctx = ctx, .socket = socket};
    sb_error failure = {0};
    d.arena = sbi_arena_new(&ctx->allocator, &failure);
    sb_status status = d.arena ? begin(&d, &failure) : SB_ERR_MEMORY;
    while (status == SB_OK) {
        sbi_message message;
        status = sbi_message_receive_any(socket, &message, &failure);
        if (status != SB_OK || message.kind == SBI_MESSAGE_END) break;
        if (message.kind == SBI_MESSAGE_STEP && message.a == d.trainer.step + 1)
            status = share_step(&d, &failure);
        else if (message.kind == SBI_MESSAGE_GRADIENT)
            status = take_gradient(&d, &message, &failure);
        else
            status = sbi_fail(&failure, SB_ERR_WORKER, "worker",
                              "message %u came at the wrong time", message.kind);
    }
    if (status != SB_OK && status != SB_ERR_WORKER) { // the starter may still be there to be told
        failure.status = status;
        (void)sbi_message_send(socket, SBI_MESSAGE_ERROR, 0, 0, &failure, sizeof failure, NULL);
    }
    if (err) *err = failure;
    sbi_release(&ctx->allocator, d.gradient);
    sbi_trainer_free(&d.trainer);
    if (d.corpus.bytes) sbi_corpus_free(&d.corpus);
    sbi_arena_free(d.arena);
    return status;
}
