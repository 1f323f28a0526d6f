// SPDX-License-Identifier: Apache-2.0
// The tree of T10 against its definition, level by level on the host, for every way of computing
// it: any number of threads, any split of the shards among processes, nodes coming in any order;
// and the framed messages.
#include "shard.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SIZE = 37, SHARDS_MAX = 33 };

// Wide exponents: another order of additions has other bits.
static float element(int64_t shard, int64_t i) {
    uint32_t x = (uint32_t)(shard * 2654435761u + i * 40503u + 12345u);
    x ^= x >> 13;
    x *= 2246822519u;
    x ^= x >> 16;
    float scale = (float)(1u << (x >> 27 & 15u));
    return ((float)(x & 0xffffffu) / 8388608.0f - 1.0f) * scale;
}

typedef struct job_state {
    sb_context *ctx;
    int64_t fail_from; // shards that fail; -1: none
    int live, most;
} job_state;

static sb_status make(void *user, sbi_gradient *out, sb_error *err) {
    job_state *s = user;
    int64_t size = SIZE;
    __atomic_add_fetch(&s->live, 1, __ATOMIC_SEQ_CST);
    return sb_array_new(s->ctx, SB_F32, 1, &size, &out->flat, err);
}

static void drop(void *user, sbi_gradient *g) {
    job_state *s = user;
    s->live--;
    sb_array_free(g->flat);
}

static sb_status compute(void *user, sb_context *ctx, int slot, int64_t shard, sbi_gradient *out,
                         double *loss, sb_error *err) {
    job_state *s = user;
    float values[SIZE];
    (void)ctx;
    (void)slot;
    if (s->fail_from >= 0 && shard >= s->fail_from)
        return sbi_fail(err, SB_ERR_NONFINITE, "loss", "shard %lld", (long long)shard);
    for (int64_t i = 0; i < SIZE; i++) values[i] = element(shard, i);
    *loss = (double)shard;
    return sb_array_write(out->flat, values, sizeof values, err);
}

static void by_definition(int64_t shards, float *out) {
    static float level[SHARDS_MAX][SIZE];
    for (int64_t s = 0; s < shards; s++)
        for (int64_t i = 0; i < SIZE; i++) level[s][i] = element(s, i);
    for (int64_t n = shards; n > 1; n = (n + 1) / 2)
        for (int64_t node = 0; node < (n + 1) / 2; node++)
            for (int64_t i = 0; i < SIZE; i++)
                level[node][i] = 2 * node + 1 < n ? level[2 * node][i] + level[2 * node + 1][i]
                                                  : level[2 * node][i];
    memcpy(out, level[0], sizeof level[0]);
}

static sb_context *make_context(int threads) {
    sb_context *ctx = NULL;
    sb_context_options o = {.size = sizeof o, .threads = threads};
    return sb_context_new(&o, &ctx, NULL) == SB_OK ? ctx : NULL;
}

static sbi_shard_job job_of(job_state *s, int64_t shards) {
    return (sbi_shard_job){
        .shards = shards, .user = s, .make = make, .drop = drop, .compute = compute};
}

static void check_threads(void) {
    float wanted[SIZE], found[SIZE];
    static const int counts[] = {1, 2, 3, 7};
    for (int64_t shards = 1; shards <= SHARDS_MAX; shards++) {
        by_definition(shards, wanted);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            sb_context *ctx = make_context(counts[c]);
            job_state s = {.ctx = ctx, .fail_from = -1};
            const sbi_shard_job job = job_of(&s, shards);
            sbi_tree *tree;
            double losses[SHARDS_MAX] = {0};
            CHECK(sbi_tree_new(ctx, &job, 0, shards, &tree, NULL) == SB_OK, "tree");
            CHECK(sbi_tree_slots(tree) == (shards >= counts[c] ? counts[c] : 1), "%d slots",
                  sbi_tree_slots(tree));
            for (int again = 0; again < 2; again++) {
                sbi_tree_reset(tree);
                CHECK(sbi_tree_compute(tree, losses, NULL) == SB_OK, "compute");
                CHECK(sbi_tree_root(tree) != NULL && sbi_tree_waiting(tree, NULL) == NULL,
                      "%lld shards leave no root", (long long)shards);
                sb_array_read(sbi_tree_root(tree)->flat, found, sizeof found, NULL);
                CHECK(memcmp(found, wanted, sizeof found) == 0, "%lld shards, %d threads",
                      (long long)shards, counts[c]);
            }
            for (int64_t k = 0; k < shards; k++)
                CHECK(losses[k] == (double)k, "loss %lld", (long long)k);
            int sets = 1;
            for (int64_t n = 1; n < shards; n *= 2) sets++;
            if (counts[c] == 1)
                CHECK(s.live <= sets, "%lld shards: %d sets live, %d expected", (long long)shards,
                      s.live, sets);
            sbi_tree_free(tree);
            CHECK(s.live == 0, "%d sets are left", s.live);
            sb_context_free(ctx);
        }
    }
}

// Processes with ranges of shards, joined by a tree that computes nothing; nodes come in from the
// last process first.
static void check_ranges(void) {
    float wanted[SIZE], found[SIZE];
    sb_context *ctx = make_context(1);
    for (int64_t shards = 1; shards <= SHARDS_MAX; shards++) {
        by_definition(shards, wanted);
        for (int64_t parts = 1; parts <= 4 && parts <= shards; parts++) {
            job_state s = {.ctx = ctx, .fail_from = -1};
            const sbi_shard_job job = job_of(&s, shards);
            double losses[SHARDS_MAX];
            sbi_tree *all, *part;
            CHECK(sbi_tree_new(ctx, &job, 0, 0, &all, NULL) == SB_OK, "tree");
            for (int64_t p = parts - 1; p >= 0; p--) {
                int64_t first = shards * p * p / (parts * parts),
                        end = shards * (p + 1) * (p + 1) / (parts * parts), nodes = 0;
                CHECK(sbi_tree_new(ctx, &job, first, end - first, &part, NULL) == SB_OK, "tree");
                CHECK(sbi_tree_compute(part, losses, NULL) == SB_OK, "compute");
                sbi_gradient *root = sbi_tree_root(part);
                for (sbi_gradient *g = root ? root : sbi_tree_waiting(part, NULL); g;
                     g = root ? NULL : sbi_tree_waiting(part, g)) {
                    sbi_gradient *spare;
                    CHECK(sbi_tree_spare(all, &spare, NULL) == SB_OK, "spare");
                    CHECK(sb_array_copy(ctx, g->flat, spare->flat, NULL) == SB_OK, "copy");
                    CHECK(sbi_tree_add(all, spare, g->level, g->index, NULL) == SB_OK, "add");
                    nodes++;
                }
                CHECK(nodes == sbi_tree_loose(shards, first, end - first),
                      "%lld shards, %lld + %lld: %lld nodes, %lld told", (long long)shards,
                      (long long)first, (long long)(end - first), (long long)nodes,
                      (long long)sbi_tree_loose(shards, first, end - first));
                sbi_tree_free(part);
            }
            CHECK(sbi_tree_root(all) != NULL, "%lld shards in %lld parts have no root",
                  (long long)shards, (long long)parts);
            if (sbi_tree_root(all))
                sb_array_read(sbi_tree_root(all)->flat, found, sizeof found, NULL);
            CHECK(memcmp(found, wanted, sizeof found) == 0, "%lld shards in %lld parts",
                  (long long)shards, (long long)parts);
            sbi_tree_free(all);
        }
    }
    sb_context_free(ctx);
}

static void check_failures(void) {
    static const int counts[] = {1, 3};
    for (size_t c = 0; c < 2; c++) {
        sb_context *ctx = make_context(counts[c]);
        job_state s = {.ctx = ctx, .fail_from = 5};
        sbi_shard_job job = job_of(&s, 12);
        double losses[12];
        sb_error err = {0};
        sbi_tree *tree;
        CHECK(sbi_tree_new(ctx, &job, 0, 12, &tree, NULL) == SB_OK, "tree");
        CHECK(sbi_tree_compute(tree, losses, &err) == SB_ERR_NONFINITE &&
                  strcmp(err.message, "shard 5") == 0,
              "the lowest failing shard: %s", err.message);
        s.fail_from = -1;
        sbi_tree_reset(tree);
        CHECK(sbi_tree_compute(tree, losses, &err) == SB_OK && sbi_tree_root(tree),
              "after a failure");
        sbi_gradient *g;
        CHECK(sbi_tree_spare(tree, &g, NULL) == SB_OK, "spare");
        CHECK(sbi_tree_add(tree, g, 1, 6, &err) == SB_ERR_ARGUMENT,
              "a node that the tree does not have");
        sbi_tree_free(tree);
        CHECK(s.live == 0, "%d sets are left", s.live);
        CHECK(sbi_tree_new(ctx, &job, 7, 6, &tree, &err) == SB_ERR_ARGUMENT && !tree,
              "shards beyond the last");
        CHECK(sbi_tree_new(ctx, &job, INT64_MAX, 2, &tree, &err) == SB_ERR_ARGUMENT && !tree,
              "a range that overflows");
        job.shards = 0;
        CHECK(sbi_tree_new(ctx, &job, 0, 0, &tree, &err) == SB_ERR_ARGUMENT && !tree, "no shards");
        sb_context_free(ctx);
    }
}

static void check_messages(void) {
    int ends[2];
    char text[6];
    sbi_message m;
    sb_error err = {0},
             sent = {.status = SB_ERR_NONFINITE, .argument = "loss", .message = "step 3, shard 9"};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    CHECK(sbi_message_send(ends[0], SBI_MESSAGE_NODE, 4, 5, "hello", 6, &err) == SB_OK, "send");
    CHECK(sbi_message_receive(ends[1], SBI_MESSAGE_NODE, &m, &err) == SB_OK && m.a == 4 &&
              m.b == 5 && m.bytes == 6,
          "receive");
    CHECK(sbi_socket_receive(ends[1], text, 6, &err) == SB_OK && strcmp(text, "hello") == 0,
          "payload");
    CHECK(sbi_message_send(ends[0], SBI_MESSAGE_STEP, 1, 0, NULL, 0, &err) == SB_OK, "send");
    CHECK(sbi_message_receive(ends[1], SBI_MESSAGE_STATE, &m, &err) == SB_ERR_WORKER,
          "another kind");
    CHECK(sbi_message_send(ends[0], SBI_MESSAGE_ERROR, 0, 0, &sent, sizeof sent, &err) == SB_OK,
          "send");
    CHECK(sbi_message_receive(ends[1], SBI_MESSAGE_STATE, &m, &err) == SB_ERR_NONFINITE &&
              strcmp(err.message, "step 3, shard 9") == 0,
          "the sender's error");
    char noise[sizeof(sbi_message)];
    memset(noise, 0x5a, sizeof noise);
    CHECK(sbi_socket_send(ends[0], noise, sizeof noise, &err) == SB_OK, "send");
    CHECK(sbi_message_receive(ends[1], SBI_MESSAGE_STATE, &m, &err) == SB_ERR_WORKER,
          "bytes that are no message");
    CHECK(sbi_socket_send(ends[0], noise, 3, &err) == SB_OK, "send");
    close(ends[0]);
    CHECK(sbi_message_receive(ends[1], SBI_MESSAGE_STATE, &m, &err) == SB_ERR_WORKER,
          "an end in the middle of a message");
    CHECK(sbi_message_send(ends[1], SBI_MESSAGE_STEP, 1, 0, NULL, 0, &err) == SB_ERR_WORKER,
          "a partner that is gone");
    close(ends[1]);
}

static void check_processes(void) {
    sbi_process p;
    sb_error err = {0};
    char how[64], c = 0;
    const char *none[] = {"/nonexistent/program", NULL};
    CHECK(sbi_process_start(none, &p, &err) == SB_ERR_WORKER && p.socket == -1 &&
              strstr(err.message, ": no such file or folder"),
          "a program that is not there: %s", err.message);
    const char *echo[] = {"/bin/sh", "-c", "printf x >&3; kill -9 $$", NULL};
    CHECK(sbi_process_start(echo, &p, &err) == SB_OK, "%s", err.message);
    CHECK(sbi_socket_receive(p.socket, &c, 1, &err) == SB_OK && c == 'x',
          "the child's end of the socket: %s", err.message);
    CHECK(sbi_socket_receive(p.socket, &c, 1, &err) == SB_ERR_WORKER, "a dead child");
    sbi_process_end(&p, how, sizeof how);
    CHECK(strcmp(how, "killed by signal 9") == 0, "%s", how);
    const char *waits[] = {"/bin/sh", "-c", "read line <&3; exit 7", NULL};
    CHECK(sbi_process_start(waits, &p, &err) == SB_OK, "%s", err.message);
    sbi_process_end(&p, how, sizeof how);
    CHECK(strcmp(how, "ended with exit code 7") == 0, "%s", how);
}

int main(void) {
    check_threads();
    check_ranges();
    check_failures();
    check_messages();
    check_processes();
    return test_end();
}
