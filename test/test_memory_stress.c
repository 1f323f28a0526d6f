// SPDX-License-Identifier: Apache-2.0
// Arrays of a device made, filled, copied, looked at and freed in no order by two threads; memory
// is refused by name when there is no more, and everything comes back.
//
//     test_memory_stress [SECONDS [DEVICE]]     2 seconds, on the CPU; and on the first OpenCL
//     device that conforms, with 64 MiB
#include "contexts.h"

#include "array.h"
#include "opencl_device.h"

#include <pthread.h>
#include <time.h>

enum { SLOTS = 48, MOST = 1 << 21, ROOM = 64 << 20 };

typedef struct worker {
    sb_context *ctx;
    double until;
    uint64_t state;
    int64_t made, refused, looked;
    bool failed;
    sb_error err;
} worker;

typedef struct slot {
    sb_array *array;
    int64_t size;
    uint32_t tag;
} slot;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int64_t resident(void) { // bytes
    long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &all, &pages) != 2) pages = 0;
    if (file) fclose(file);
    return (int64_t)pages * 4096;
}

static void fill(int32_t *to, const slot *s) {
    for (int64_t i = 0; i < s->size; i++) to[i] = (int32_t)(s->tag + (uint32_t)i * 2654435761u);
}

// The array still holds what was put there.
static bool whole(worker *w, const slot *s, int32_t *a, int32_t *b) {
    fill(a, s);
    w->looked++;
    return sb_array_read(s->array, b, (size_t)s->size * 4, &w->err) == SB_OK &&
           memcmp(a, b, (size_t)s->size * 4) == 0;
}

static bool step(worker *w, slot *slots, int32_t *a, int32_t *b) {
    const uint64_t word = next_word(&w->state);
    slot *s = &slots[word % SLOTS], *other = &slots[(word >> 8) % SLOTS];
    sb_error *err = &w->err;
    if (s->array && (word >> 16) % 3 == 0) {
        if (!whole(w, s, a, b)) return false;
        sb_array_free(s->array);
        *s = (slot){0};
    } else if (s->array && other->array && s != other && s->size == other->size) {
        other->tag = s->tag;
        return sb_array_copy(w->ctx, s->array, other->array, err) == SB_OK;
    } else if (!s->array) {
        s->size = other->array && word >> 63
                      ? other->size
                      : 1 + (int64_t)(word >> 20) % (MOST >> (word >> 44) % 7);
        s->tag = (uint32_t)(word >> 32);
        sb_status status = sb_array_new(w->ctx, SB_I32, 1, &s->size, &s->array, err);
        if (status == SB_ERR_MEMORY) { // the other thread may have it all
            char asked[40];
            snprintf(asked, sizeof asked, "%lld bytes", (long long)s->size * 4);
            w->refused++;
            return s->array == NULL && strstr(err->message, asked) != NULL;
        }
        w->made++;
        fill(a, s);
        return status == SB_OK && sb_array_write(s->array, a, (size_t)s->size * 4, err) == SB_OK;
    }
    return true;
}

static void *work(void *argument) {
    worker *w = argument;
    slot slots[SLOTS] = {{0}};
    int32_t *a = malloc(MOST * sizeof *a), *b = malloc(MOST * sizeof *b);
    while (a && b && !w->failed && now() < w->until)
        for (int i = 0; i < 64 && !w->failed; i++) w->failed = !step(w, slots, a, b);
    for (int i = 0; i < SLOTS; i++) {
        w->failed = w->failed || (slots[i].array && !whole(w, &slots[i], a, b));
        sb_array_free(slots[i].array);
    }
    free(a), free(b);
    return NULL;
}

static void run(const char *name, double seconds) {
    const sb_context_options options = {
        .size = sizeof options, .device = name, .threads = 1, .trace = ""};
    sb_error err = {0};
    worker workers[2] = {{.state = 1}, {.state = 2}};
    pthread_t threads[2];
    int64_t used = 0, count = 0, early = 0;
    for (int i = 0; i < 2; i++)
        CHECK(sb_context_new(&options, &workers[i].ctx, &err) == SB_OK, "%s", err.message);
    if (err.status != SB_OK) return;
    sbi_opencl *d = strncmp(name, "opencl:", 7) == 0 ? workers[0].ctx->device->self : NULL;
    if (d) {
        used = d->used, count = d->count;
        d->facts.memory = used + ROOM;
    }
    for (int round = 0; round < 2;
         round++) { // a tenth of the time, which makes the heap what it will be; the rest
        for (int i = 0; i < 2; i++) {
            workers[i].until = now() + seconds * (round ? 0.9 : 0.1);
            CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "a thread");
        }
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        if (round == 0) early = resident();
    }
    const int64_t grown = resident() - early, refused = workers[0].refused + workers[1].refused;
    for (int i = 0; i < 2; i++) {
        CHECK(!workers[i].failed && workers[i].made > 5,
              "%s, thread %d: %s", name, i, workers[i].err.message);
        printf("%s: %lld arrays made, %lld refused, %lld looked at\n", name,
               (long long)workers[i].made, (long long)workers[i].refused,
               (long long)workers[i].looked);
    }
    CHECK(grown < ROOM, "%s: the process has grown by %lld bytes", name, (long long)grown);
    if (d)
        CHECK(d->used == used && d->count == count && refused > 0,
              "%s: %lld bytes in %lld buffers are left, %lld refused", name,
              (long long)(d->used - used), (long long)(d->count - count), (long long)refused);
    for (int i = 0; i < 2; i++) sb_context_free(workers[i].ctx);
}

typedef struct found {
    char name[24];
} found;

static sb_status take_first(void *user, const sbi_device_facts *facts, sb_error *err) {
    found *f = user;
    sb_context *ctx = NULL;
    const sb_context_options options = {
        .size = sizeof options, .device = facts->name, .threads = 1, .trace = ""};
    if (!f->name[0] && sb_context_new(&options, &ctx, err) == SB_OK) strcpy(f->name, facts->name);
    sb_context_free(ctx);
    return SB_OK;
}

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 2;
    found f = {""};
    if (argc > 2) {
        run(argv[2], seconds);
        return test_end();
    }
    run("cpu", seconds);
    sbi_opencl_list(take_first, &f, NULL);
    if (f.name[0])
        run(f.name, seconds);
    else
        printf("skipped: no OpenCL device conforms\n");
    const char *required = getenv("SAMEBITS_REQUIRED");
    CHECK(f.name[0] || !required || !strstr(required, "opencl"),
          "no OpenCL device here conforms, and one is required");
    return test_end();
}
