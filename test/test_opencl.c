// SPDX-License-Identifier: Apache-2.0
// OpenCL devices: names that are none, probes and their refusals, arrays of two devices, views at odd places, memory that
// is not there, texts that do not compile, the cache of programs, a fork. Without a conforming device only the refusals
// are tried, and the program says so (77); SAMEBITS_REQUIRED=opencl makes that a failure.
#include "contexts.h"
#include "folder.h"

#include "array.h"
#include "lm.h"
#include "opencl_device.h"
#include "ops.h"

#include <sys/wait.h>
#include <unistd.h>

static sb_error err;

static sb_context *open_on(const char *device) {
    const sb_context_options options = {.size = sizeof options, .device = device, .threads = 2, .trace = ""};
    sb_context *ctx = NULL;
    err = (sb_error){.status = SB_OK};
    sb_context_new(&options, &ctx, &err);
    return ctx;
}

static void test_names(void) {
    static const char *const none[] = {"gpu", "opencl", "opencl:", "opencl:0", "opencl:0.", "opencl:.0", "opencl:0.0.0", "opencl:0.0 ", "opencl:-1.0",
                                       "opencl:00.0", "opencl:0.00001", "OpenCL:0.0", "cuda:x", "cpu:0", ""};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        sb_context *ctx = open_on(none[i]);
        CHECK(!ctx && err.status == SB_ERR_DEVICE && strcmp(err.argument, "device") == 0 && strstr(err.message, "no device of the name"),
              "\"%s\": %s", none[i], err.message);
        sb_context_free(ctx);
    }
    static const char *const absent[] = {"opencl:999.0", "opencl:0.999"};
    for (size_t i = 0; i < 2; i++) {
        sb_context *ctx = open_on(absent[i]);
        CHECK(!ctx && err.status == SB_ERR_DEVICE && (strstr(err.message, "there is no device") || strstr(err.message, "no loader")), "%s", err.message);
        sb_context_free(ctx);
    }
    setenv("SAMEBITS_DEVICE", "opencl:x", 1);
    sb_context *ctx = open_on(NULL);
    CHECK(!ctx && err.status == SB_ERR_DEVICE && strcmp(err.argument, "SAMEBITS_DEVICE") == 0, "%s", err.message);
    sb_context_free(ctx);
    unsetenv("SAMEBITS_DEVICE");
}

// ---- a device that is the CPU but for one fault

typedef enum fault { NO_FAULT, FLUSHES, FUSES, COUNTS_LESS, LOSES_A_BARRIER, LAST_BIT } fault;
static fault planted;

static void flush(uint32_t *x) {
    if ((*x & 0x7fffffffu) < 0x00800000u) *x &= 0x80000000u;
}

static sb_status faulty_launch(const sbi_device *device, const sbi_kernel_table *kernels, sbi_pool *pool, sbi_kernel_id kernel,
                               int64_t groups, const sbi_arg *args, sb_error *why) {
    sb_status status = sbi_cpu.launch(device, kernels, pool, kernel, groups, args, why);
    const int64_t n = args[4].i;
    if (kernel == SBI_ID_k_probe_f32 && planted == FLUSHES)
        for (int64_t i = 0; i < n; i++) flush((uint32_t *)args[3].out + 5 * n + i);
    if (kernel == SBI_ID_k_probe_f32 && planted == FUSES) memcpy((uint32_t *)args[3].out + 9 * n, (uint32_t *)args[3].out + 5 * n, (size_t)n * 4);
    if (kernel == SBI_ID_k_probe_atomic && planted == COUNTS_LESS) ((uint32_t *)args[1].out)[17]--;
    if (kernel == SBI_ID_k_probe_barrier && planted == LOSES_A_BARRIER) ((uint64_t *)args[1].out)[1234] ^= 1;
    if (kernel == SBI_ID_k_probe_convert && planted == LAST_BIT) ((uint64_t *)args[2].out)[5 * args[3].i + 9] += 1;
    return status;
}

static void test_probes(void) {
    static const struct { fault fault; const char *says; } faults[] = {
        {FLUSHES, "float32 fma of"}, {FUSES, "float32 contraction of"}, {COUNTS_LESS, "integer atomic add of gives"},
        {LOSES_A_BARRIER, "canary barrier of"}, {LAST_BIT, "conversion float32 of uint64 of"}};
    sbi_device faulty = sbi_cpu;
    sbi_conformance found;
    sb_context *ctx = open_on("cpu");
    faulty.name = "faulty";
    faulty.launch = faulty_launch;
    planted = NO_FAULT;
    CHECK(sbi_device_probe(&faulty, ctx->kernels, ctx->pool, &found, &err) == SB_OK && found.wrong == 0, "%s", found.first);
    CHECK(found.cases >= (int64_t)(12 + 17 + 1 + 1 + 12 + 13) << 20, "%lld cases", (long long)found.cases);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        planted = faults[i].fault;
        CHECK(sbi_device_probe(&faulty, ctx->kernels, ctx->pool, &found, &err) == SB_OK && found.wrong > 0 && strstr(found.first, faults[i].says) &&
              strstr(found.first, "should give"), "%zu: %lld, %s", i, (long long)found.wrong, found.first);
    }
    sb_context_free(ctx);
}

// ---- a conforming device

typedef struct chosen { char conforms[24], refused[24], why[456]; } chosen;

static sb_status choose(void *user, const sbi_device_facts *facts, sb_error *why) {
    (void)why;
    chosen *c = user;
    sb_context *ctx = open_on(facts->name);
    if (ctx && !c->conforms[0]) strcpy(c->conforms, facts->name);
    if (!ctx && !c->refused[0]) {
        strcpy(c->refused, facts->name);
        memcpy(c->why, err.message, sizeof c->why);
    }
    sb_context_free(ctx);
    return SB_OK;
}

static void test_arrays(sb_context *ctx, sb_context *cpu) {
    enum { N = 1000 };
    float values[N], back[N];
    sb_array *a = NULL, *b = NULL, *here = NULL, *view = NULL, *sum = NULL, *wrapped = NULL;
    uint64_t state = 5;
    for (int i = 0; i < N; i++) values[i] = next_float(&state, WIDE);
    const int64_t n = N, m = 100;
    CHECK(sb_array_new(ctx, SB_F32, 1, &n, &a, &err) == SB_OK && sb_array_new(ctx, SB_F32, 1, &n, &b, &err) == SB_OK &&
          sb_array_new(cpu, SB_F32, 1, &n, &here, &err) == SB_OK, "%s", err.message);
    CHECK(sb_array_read(a, back, sizeof back, &err) == SB_OK, "%s", err.message);
    for (int i = 0; i < N; i++) CHECK(bits_of_float(back[i]) == 0, "a new array is zeros");
    CHECK(sb_array_write(here, values, sizeof values, &err) == SB_OK && sb_array_copy(ctx, here, a, &err) == SB_OK && array_is(a, values), "there: %s", err.message);
    CHECK(sb_array_copy(ctx, a, b, &err) == SB_OK && array_is(b, values), "beside: %s", err.message);
    memset(back, 0, sizeof back);
    CHECK(sb_array_write(here, back, sizeof back, &err) == SB_OK && sb_array_copy(cpu, b, here, &err) == SB_OK && array_is(here, values), "back: %s", err.message);
    // Views at places that no driver's sub-buffers may start at.
    for (int64_t first = 1; first < 900; first += 233) {
        CHECK(sb_array_slice(a, first, m, &view, &err) == SB_OK && sb_array_new(ctx, SB_F32, 1, &m, &sum, &err) == SB_OK &&
              sb_binary(ctx, SB_ADD, view, view, sum, &err) == SB_OK && sb_array_read(sum, back, 400, &err) == SB_OK, "%s", err.message);
        for (int i = 0; i < m; i++) CHECK(bits_of_float(back[i]) == bits_of_float(values[first + i] + values[first + i]), "%d", i);
        CHECK(sb_binary(ctx, SB_ADD, view, view, view, &err) == SB_OK && sb_array_read(view, back, 400, &err) == SB_OK &&
              memcmp(back, (sb_array_read(sum, back + m, 400, &err), back + m), 400) == 0, "in place: %s", err.message);
        CHECK(sb_array_write(view, values + first, 400, &err) == SB_OK, "%s", err.message);
        sb_array_free(view), sb_array_free(sum);
    }
    CHECK(array_is(a, values), "what is beside a view stays");
    // Two devices.
    CHECK(sb_binary(ctx, SB_ADD, a, here, b, &err) == SB_ERR_DEVICE && strcmp(err.argument, "input") == 0 && strstr(err.message, "input 1 is an array on cpu"), "%s", err.message);
    CHECK(sb_binary(cpu, SB_ADD, here, here, a, &err) == SB_ERR_DEVICE && strcmp(err.argument, "output") == 0, "%s", err.message);
    CHECK(sb_array_wrap(ctx, SB_F32, 1, &n, values, &wrapped, &err) == SB_ERR_UNSUPPORTED && !wrapped, "%s", err.message);
    // Digests know no device.
    uint8_t one[32], other[32];
    const char *const name[] = {"x"};
    CHECK(sb_digest_arrays(ctx, 1, name, (const sb_array *const *)&a, one, &err) == SB_OK &&
          sb_digest_arrays(cpu, 1, name, (const sb_array *const *)&here, other, &err) == SB_OK && memcmp(one, other, 32) == 0, "%s", err.message);
    sb_array_free(a), sb_array_free(b), sb_array_free(here);
}

// The leaves of a digest, hashed by a kernel: every length of an end, several leaves, views at odd places, arrays of both devices.
static void test_digests(sb_context *ctx, sb_context *cpu) {
    enum { MOST = 3 * 65536 + 200 };
    static uint8_t bytes[MOST];
    static const int64_t sizes[] = {0, 1, 3, 55, 56, 57, 63, 64, 65, 119, 120, 128, 65535, 65536, 65537, 2 * 65536 + 60, 3 * 65536 + 64};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    const int64_t most = MOST;
    sb_array *whole[2] = {NULL, NULL}, *views[2][SIZES];
    const char *names[SIZES];
    static const char letters[] = "qwertyuiopasdfghjkl";
    char text[SIZES][2];
    uint8_t digest[3][32];
    uint64_t state = 12;
    for (int i = 0; i < MOST; i++) bytes[i] = (uint8_t)(bits_of_float(next_float(&state, WIDE)) >> 3);
    for (int side = 0; side < 2; side++)
        CHECK(sb_array_new(side ? cpu : ctx, SB_U8, 1, &most, &whole[side], &err) == SB_OK && sb_array_write(whole[side], bytes, MOST, &err) == SB_OK, "%s", err.message);
    for (int i = 0; i < SIZES; i++) {
        text[i][0] = letters[i], text[i][1] = '\0';
        names[i] = text[i];
        for (int side = 0; side < 2; side++) CHECK(sb_array_slice(whole[side], i * 7, sizes[i], &views[side][i], &err) == SB_OK, "%s", err.message);
    }
    for (int count = 1; count <= SIZES; count++) {
        for (int side = 0; side < 2; side++)
            CHECK(sb_digest_arrays(side ? cpu : ctx, count, names, (const sb_array *const *)views[side], digest[side], &err) == SB_OK, "%s", err.message);
        const sb_array *both[SIZES];
        for (int i = 0; i < count; i++) both[i] = views[i % 2][i];
        CHECK(sb_digest_arrays(ctx, count, names, both, digest[2], &err) == SB_OK && memcmp(digest[0], digest[2], 32) == 0, "both devices: %s", err.message);
        CHECK(memcmp(digest[0], digest[1], 32) == 0, "the first %d", count);
    }
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < SIZES; i++) sb_array_free(views[side][i]);
        sb_array_free(whole[side]);
    }
}

// ---- what a training step brings to the host

static struct { int64_t reads, read, largest, written; } copies;
static sbi_device counted; // the device as it was

static sb_status counting_read(const sbi_device *device, const void *from, void *to, int64_t bytes, sb_error *why) {
    copies.reads++;
    copies.read += bytes;
    if (bytes > copies.largest) copies.largest = bytes;
    return counted.read(device, from, to, bytes, why);
}

static sb_status counting_write(const sbi_device *device, const void *from, void *to, int64_t bytes, sb_error *why) {
    copies.written += bytes;
    return counted.write(device, from, to, bytes, why);
}

static void step_on(sb_context *ctx, const sbi_recipe *recipe, const sbi_corpus *corpus, sbi_trainer *t, uint8_t gradient[2][32], char state[2][65]) {
    CHECK(sbi_trainer_new(ctx, recipe, corpus, 0, recipe->shards, t, &err) == SB_OK && sbi_trainer_initialize(t, &err) == SB_OK, "%s", err.message);
    for (int step = 0; step < 2; step++) {
        double loss;
        memset(&copies, 0, sizeof copies);
        CHECK(sbi_trainer_compute(t, &err) == SB_OK, "%s", err.message);
        sbi_tensors *views = sbi_tree_root(t->tree)->views;
        CHECK(sbi_trainer_loss(t, &loss, &err) == SB_OK && sbi_trainer_check(t, views, &err) == SB_OK && sbi_tensors_digest(ctx, views, gradient[step], &err) == SB_OK &&
              sbi_trainer_apply(t, views, &err) == SB_OK && sbi_trainer_digest(t, state[step], &err) == SB_OK, "%s", err.message);
    }
}

// A step's reads are the ledger's: losses, norms, 32 bytes a leaf. A layer's activations here are 32 KiB a shard, a tensor of
// the weights 16 KiB or more (but for the norms); what is written are tokens and the places of their rows.
static void test_resident(sb_context *ctx, sb_context *cpu) {
    static const char given[] =
        "{\"recipe\": 1, \"model\": {\"hidden_size\": 64, \"layers\": 2, \"heads\": 4, \"kv_heads\": 2, \"intermediate_size\": 96}, \"training\": "
        "{\"steps\": 4, \"shards\": 3, \"shard_sequences\": 1, \"sequence_length\": 128, \"seed\": 5, \"learning_rate\": 0.01, \"clip\": 1}}";
    enum { TEXT = 4000 };
    static uint8_t text[TEXT];
    const sbi_corpus corpus = {.allocator = sbi_malloc_allocator, .bytes = text, .size = TEXT, .train = TEXT};
    sbi_device *device = &((sbi_opencl *)ctx->device->self)->device;
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, &err);
    sbi_recipe recipe;
    sbi_trainer t, here;
    uint8_t gradient[2][2][32];
    char state[2][2][65];
    for (int i = 0; i < TEXT; i++) text[i] = (uint8_t)(i * i % 251);
    CHECK(sbi_recipe_read(ctx, arena, given, (int64_t)sizeof given - 1, &recipe, &err) == SB_OK, "%s", err.message);
    step_on(cpu, &recipe, &corpus, &here, gradient[0], state[0]);
    counted = *device;
    device->read = counting_read;
    device->write = counting_write;
    step_on(ctx, &recipe, &corpus, &t, gradient[1], state[1]);
    device->read = counted.read;
    device->write = counted.write;
    CHECK(memcmp(gradient[0], gradient[1], sizeof gradient[0]) == 0 && memcmp(state[0], state[1], sizeof state[0]) == 0, "two steps have the CPU's bits");
    const int64_t leaves = 64 * t.state.count; // more than there are, each 32 bytes
    CHECK(copies.largest <= leaves && copies.read < 16384, "%lld reads of %lld bytes, the largest %lld", (long long)copies.reads, (long long)copies.read, (long long)copies.largest);
    CHECK(copies.read > 32 * t.state.count && copies.written > 3 * 2 * 128 * 4 && copies.written < 16384, "%lld bytes are written", (long long)copies.written);
    printf("a step: %lld reads of %lld bytes in all, %lld bytes written\n", (long long)copies.reads, (long long)copies.read, (long long)copies.written);
    sbi_trainer_free(&t), sbi_trainer_free(&here);
    sbi_arena_free(arena);
}

static void test_memory(sb_context *ctx) {
    sbi_opencl *d = ctx->device->self;
    const int64_t used = d->used, buffers = d->count;
    sb_array *a = NULL, *b = NULL;
    const int64_t much = d->facts.memory / 4 + 1024, small = 10;
    CHECK(sb_array_new(ctx, SB_F32, 1, &much, &a, &err) == SB_ERR_MEMORY && !a && strstr(err.message, "no memory for"), "%s", err.message);
    char asked[40];
    snprintf(asked, sizeof asked, "%lld bytes", (long long)(4 * much));
    CHECK(strstr(err.message, asked) != NULL, "%s", err.message);
    CHECK(d->used == used && d->count == buffers, "nothing is kept");
    CHECK(sb_array_new(ctx, SB_F32, 1, &small, &b, &err) == SB_OK && d->used == used + 40, "%s", err.message);
    sb_array_free(b);
    sb_array *held[7] = {NULL};
    for (int i = 0; i < 2000; i++) { // given back in another order than made
        const int64_t size = 1 + i * 37 % 5000;
        sb_array_free(held[i * i % 7]);
        held[i * i % 7] = NULL;
        CHECK(sb_array_new(ctx, SB_F32, 1, &size, &held[i * i % 7], &err) == SB_OK, "%s", err.message);
    }
    for (int i = 0; i < 7; i++) sb_array_free(held[i]);
    CHECK(d->used == used && d->count == buffers, "%lld bytes in %lld buffers are left", (long long)(d->used - used), (long long)(d->count - buffers));
}

// A device that promises no division and no root: both come from exact residuals (kernels/residual.h), and the probes hold.
static void test_residuals(sb_context *ctx, const char *name) {
    int platform = 0, number = 0;
    sbi_device *device = NULL;
    sbi_conformance found = {.wrong = -1};
    if (sscanf(name, "opencl:%d.%d", &platform, &number) != 2) return;
    CHECK(sbi_opencl_open(platform, number, "test", &device, &err) == SB_OK, "%s", err.message);
    if (!device) return;
    ((sbi_opencl *)device->self)->facts.division = false;
    CHECK(sbi_device_probe(device, ctx->kernels, ctx->pool, &found, &err) == SB_OK && found.wrong == 0, "%lld wrong: %s %s", (long long)found.wrong,
          found.first, err.message);
    device->close(device);
}

static void test_programs(sb_context *ctx) {
    static const char bad[] = "__kernel void k_bad(__global float *x) {\n    x[0] = unheard_of;\n}\n";
    static const char good[] = "__kernel void k_good(__global float *x) { x[0] = 1.0f; }\n";
    sbi_opencl *d = ctx->device->self;
    cl_program program = NULL;
    char command[300];
    CHECK(open_folder(NULL), "a folder");
    setenv("SAMEBITS_CACHE", folder, 1);
    const bool keeps = d->keeps_programs;
    d->keeps_programs = false; // (PoCL's programs are small enough here)
    CHECK(sbi_opencl_program(d, "bad", (const unsigned char *)bad, sizeof bad - 1, &program, &err) == SB_ERR_DEVICE && !program &&
          strstr(err.message, "do not compile") && strstr(err.message, "unheard_of"), "%s", err.message);
    snprintf(command, sizeof command, "test -z \"$(ls %s)\"", folder);
    CHECK(system(command) == 0, "nothing is kept of what does not compile");
    for (int i = 0; i < 4; i++) { // built, taken, rebuilt where it is corrupt, where it is cut off
        program = NULL;
        CHECK(sbi_opencl_program(d, "good", (const unsigned char *)good, sizeof good - 1, &program, &err) == SB_OK && program, "%s", err.message);
        cl_code code;
        cl_kernel kernel = program ? d->cl.CreateKernel(program, "k_good", &code) : NULL;
        CHECK(kernel != NULL, "round %d", i);
        if (kernel) d->cl.ReleaseKernel(kernel);
        if (program) d->cl.ReleaseProgram(program);
        snprintf(command, sizeof command, i == 1 ? "for f in %s/*.program; do printf x >>$f; done" : i == 2 ? "for f in %s/*.program; do truncate -s 40 $f; done"
                                                                                                         : "test \"$(ls %s | wc -l)\" = 1", folder);
        CHECK(system(command) == 0, "%s", command);
    }
    clear(folder);
    unsetenv("SAMEBITS_CACHE");
    d->keeps_programs = keeps;
}

static void test_fork(sb_context *ctx) {
    const int64_t n = 4;
    sb_array *a = NULL;
    float values[4] = {1, 2, 3, 4};
    CHECK(sb_array_new(ctx, SB_F32, 1, &n, &a, &err) == SB_OK, "%s", err.message);
    pid_t child = fork();
    if (child == 0) {
        bool refused = sb_array_write(a, values, sizeof values, &err) == SB_ERR_DEVICE && strstr(err.message, "fork");
        refused = refused && sb_binary(ctx, SB_ADD, a, a, a, &err) == SB_ERR_DEVICE;
        sb_array_free(a);
        sb_context_free(ctx);
        _exit(refused ? 0 : 1);
    }
    int status = 1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a child is told that the device is its parent's: %d", status);
    CHECK(sb_array_write(a, values, sizeof values, &err) == SB_OK && array_is(a, values), "%s", err.message);
    sb_array_free(a);
}

int main(void) {
    chosen c = {.why = ""};
    test_names();
    test_probes();
    sbi_opencl_list(choose, &c, &err);
    if (c.refused[0]) printf("refused: %s\n", c.why);
    if (c.conforms[0]) {
        sb_context *ctx = open_on(c.conforms), *again = open_on(c.conforms), *cpu = open_on("cpu");
        CHECK(ctx && again && ctx->device == again->device, "two contexts share a device");
        CHECK(strcmp(sb_context_device(ctx), c.conforms) == 0 && strcmp(sb_context_isa(ctx), "opencl") == 0, "%s", sb_context_isa(ctx));
        sb_context_free(again);
        test_arrays(ctx, cpu);
        test_digests(ctx, cpu);
        test_resident(ctx, cpu);
        test_memory(ctx);
        test_residuals(ctx, c.conforms);
        test_programs(ctx);
        test_fork(ctx);
        const int64_t n = 3;
        sb_array *left = NULL;
        CHECK(sb_array_new(ctx, SB_F32, 1, &n, &left, &err) == SB_OK, "%s", err.message);
        sb_context_free(ctx), sb_context_free(cpu);
        sb_array_free(left); // an array may outlive its context, and keeps its device open
        return test_end();
    }
    const char *required = getenv("SAMEBITS_REQUIRED");
    CHECK(!required || !strstr(required, "opencl"), "no OpenCL device here conforms, and one is required");
    int status = test_end();
    return status ? status : 77;
}
