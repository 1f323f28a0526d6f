// SPDX-License-Identifier: Apache-2.0
// The messages of processes that share a step, from either end. Input: a byte that says which end and whether the rest is
// raw bytes; for a worker's end the range of shards, the step and a recipe up to a NUL; then messages of 6 bytes each: kind,
// a, b, size (two bytes), and how the size is meant.
#include "crew.c" // for a crew without processes
#include "fuzz.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STREAM_MAX = 150000 };
static const char small[] = "{\"recipe\":1,\"name\":\"m\",\"model\":{\"hidden_size\":2,\"layers\":1,\"heads\":1,\"kv_heads\":1,"
                            "\"intermediate_size\":2,\"tie\":true},\"training\":{\"steps\":4,\"shards\":3,\"shard_sequences\":1,"
                            "\"sequence_length\":4,\"seed\":1,\"learning_rate\":0.01},\"data\":{\"held_out\":16}}";
static const char corpus_text[] = "the same bits on every machine, at any number of threads, in any batch";

typedef struct stream {
    uint8_t *bytes;
    int64_t size;
} stream;

static void add(stream *s, const void *bytes, int64_t size) {
    if (size > STREAM_MAX - s->size) size = STREAM_MAX - s->size;
    if (bytes)
        memcpy(s->bytes + s->size, bytes, (size_t)size);
    else
        memset(s->bytes + s->size, 0x3c, (size_t)size);
    s->size += size;
}

static void add_messages(stream *s, const uint8_t *at, const uint8_t *end, int64_t gradient_bytes) {
    for (; end - at >= 6; at += 6) {
        const int64_t sizes[8] = {at[3] | at[4] << 8, gradient_bytes, 8 * (at[3] & 3), sizeof(sb_error), 65, 16, 0, INT64_MAX};
        sbi_message m = {.magic = 0x53424d31u, .kind = at[0], .a = (int8_t)at[1], .b = (int8_t)at[2], .bytes = sizes[at[5] & 7]};
        add(s, &m, sizeof m);
        if (m.bytes < STREAM_MAX && !(at[5] & 8)) add(s, NULL, m.bytes);
    }
}

// One end of a socket in which the stream waits and behind which nobody is; *other is to be closed.
static int filled(const stream *s, int *other) {
    int ends[2], room = 4 * STREAM_MAX;
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    for (int i = 0; i < 2; i++) MUST(fcntl(ends[i], F_SETFL, O_NONBLOCK) == 0);
    (void)!write(ends[1], s->bytes, (size_t)s->size);
    shutdown(ends[1], SHUT_WR);
    *other = ends[1];
    return ends[0];
}

static void be_worker(stream *s, const uint8_t *data, size_t size) {
    const uint8_t *end = data + size, *stop;
    const char *path = fuzz_file(2, corpus_text, sizeof corpus_text - 1);
    sbi_recipe recipe;
    sbi_trainer shape = {0};
    sb_error err = {0};
    if (size < 4 || !(stop = memchr(data + 3, 0, size - 3))) return;
    start head = {.first = (int8_t)data[0], .count = (int8_t)data[1], .step = (int8_t)data[2], .recipe_bytes = stop - data - 3,
                  .path_bytes = (int64_t)strlen(path)};
    sbi_arena *arena = sbi_arena_new(&fuzz_allocator, NULL);
    sbi_corpus corpus = {0};
    int64_t gradient_bytes = 64;
    if (sbi_recipe_read(fuzz_context(), arena, (const char *)data + 3, head.recipe_bytes, &recipe, NULL) == SB_OK &&
        sbi_trainer_new(fuzz_context(), &recipe, &corpus, 0, 0, &shape, NULL) == SB_OK) {
        head.state_bytes = sbi_trainer_bytes(&shape);
        gradient_bytes = shape.decoder.layout.extent * (int64_t)sizeof(float);
    }
    sbi_trainer_free(&shape);
    sbi_arena_free(arena);
    if (head.state_bytes > STREAM_MAX / 2) return;
    sbi_message m = {.magic = 0x53424d31u, .kind = SBI_MESSAGE_START,
                     .bytes = (int64_t)sizeof head + head.recipe_bytes + head.path_bytes + head.state_bytes};
    add(s, &m, sizeof m);
    add(s, &head, sizeof head);
    add(s, data + 3, head.recipe_bytes);
    add(s, path, head.path_bytes);
    add(s, NULL, head.state_bytes);
    add_messages(s, stop + 1, end, gradient_bytes);
    int other, socket = filled(s, &other);
    sb_status status = sbi_crew_work(fuzz_context(), socket, &err);
    if (status != SB_OK) fuzz_error(status, &err);
    close(socket);
    close(other);
}

static void be_starter(stream *s, const uint8_t *data, size_t size, bool raw) {
    static sbi_recipe recipe;
    static sbi_trainer trainer;
    sbi_corpus corpus = {0};
    sb_error err = {0};
    int other = -1;
    bool differs;
    char state[65];
    sbi_arena *arena = sbi_arena_new(&fuzz_allocator, NULL);
    MUST(sbi_recipe_read(fuzz_context(), arena, small, sizeof small - 1, &recipe, &err) == SB_OK);
    MUST(sbi_trainer_new(fuzz_context(), &recipe, &corpus, 0, 0, &trainer, &err) == SB_OK);
    worker one = {.first = 0, .count = 3};
    sbi_crew crew = {.allocator = fuzz_allocator, .workers = &one, .count = 1,
                     .gradient_bytes = trainer.decoder.layout.extent * (int64_t)sizeof(float)};
    crew.gradient = sbi_allocate(&fuzz_allocator, crew.gradient_bytes, 1, NULL);
    if (raw)
        add(s, data, (int64_t)size);
    else
        add_messages(s, data, data + size, crew.gradient_bytes);
    one.process.socket = filled(s, &other);
    sb_status status = receive_ready(&crew, 0, &err);
    if (status == SB_OK) status = sbi_crew_gather(&crew, &trainer, &err);
    if (status == SB_OK) status = sbi_trainer_digest(&trainer, state, &err);
    if (status == SB_OK) status = sbi_crew_agree(&crew, state, &differs, &err);
    if (status != SB_OK) fuzz_error(status, &err);
    if (one.process.socket >= 0) close(one.process.socket);
    close(other);
    sbi_release(&fuzz_allocator, crew.gradient);
    sbi_trainer_free(&trainer);
    sbi_arena_free(arena);
}

void fuzz_messages(const uint8_t *data, size_t size) {
    stream s = {malloc(STREAM_MAX), 0};
    MUST(s.bytes);
    if (size && data[0] & 1)
        be_worker(&s, data + 1, size - 1);
    else if (size)
        be_starter(&s, data + 1, size - 1, data[0] & 2);
    free(s.bytes);
}
