// SPDX-License-Identifier: Apache-2.0
// Every public function under hostile arguments: NULL, another dtype, other shapes, zero and overflowing sizes, buffers
// that overlap, options of another size, an allocator that fails at its n-th call for every n; each a named error with
// the argument, no crash, no leak, inputs untouched; and the right result where the call is right. The operations are
// rows of api_rows.def. (Under valgrind and the address sanitizer this is also where a stray read shows.)
#include "test.h"

#include "array.h"
#include "base.h"
#include "meter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { MOST_ARRAYS = 11, MOST_DIMS = 9 };

typedef enum role { ABSENT, ROLE_IN, ROLE_OUT, ROLE_IN_OUT } role;

typedef struct argument {
    const char *name, *dtypes, *shape;
    role role;
    bool nullable, free;
} argument;

typedef struct row {
    const char *name, *in_place;
    sb_status (*call)(sb_context *ctx, sb_array **a, sb_error *err);
    sb_status expected; // of a bad row
    const char *refused;
    argument arguments[MOST_ARRAYS];
} row;

// ---- what the rows use

static double real_out;
static int64_t count_out;
static uint8_t digest_out[32];
static const char *const array_names[] = {"b", "a", "c"};
static const sb_adamw_options step = {sizeof step, 0.01f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.9, 0.95};

static const sb_cross_entropy_options mean_loss = {.size = sizeof mean_loss, .reduction = SB_LOSS_MEAN, .label_smoothing = 0.1};

static sb_status digest(sb_context *ctx, sb_array **a, int64_t count, sb_error *err) {
    return sb_digest_arrays(ctx, count, array_names, (const sb_array *const *)a, digest_out, err);
}

static sb_status clip(sb_context *ctx, sb_array **a, int64_t count, double most, double *norm, sb_error *err) {
    return sb_clip_norm(ctx, count, a, most, norm, err);
}

static sb_array *put_infinity(sb_array *a) {
    ((float *)(void *)a->data)[a->size - 1] = INFINITY;
    return a;
}

#define ROW(name, in_place, code, ...) \
    static sb_status call_##name(sb_context *ctx, sb_array **a, sb_error *err) { (void)a; return code; }
#define BAD(name, status, refused, code, ...) \
    static sb_status call_##name(sb_context *ctx, sb_array **a, sb_error *err) { (void)a; return code; }
#include "api_rows.def"
#undef ROW
#undef BAD


#define IN(...) {__VA_ARGS__, ROLE_IN, false, false}
#define OUT(...) {__VA_ARGS__, ROLE_OUT, false, false}
#define IN_OUT(...) {__VA_ARGS__, ROLE_IN_OUT, false, false}
#define MAYBE_IN(...) {__VA_ARGS__, ROLE_IN, true, false}
#define MAYBE_OUT(...) {__VA_ARGS__, ROLE_OUT, true, false}
#define FREE_IN(...) {__VA_ARGS__, ROLE_IN, false, true}
#define FREE_OUT(...) {__VA_ARGS__, ROLE_OUT, false, true}
#define FREE_IN_OUT(...) {__VA_ARGS__, ROLE_IN_OUT, false, true}
#define ROW(name, in_place, code, ...) {#name, in_place, call_##name, SB_OK, "", {__VA_ARGS__}},
#define BAD(name, status, refused, code, ...)
static const row rows[] = {
#include "api_rows.def"
};
#undef ROW
#undef BAD
#define ROW(name, in_place, code, ...)
#define BAD(name, status, refused, code, ...) {#name, "", call_##name, status, refused, {__VA_ARGS__}},
static const row bad_rows[] = {
#include "api_rows.def"
};

// ---- making arrays

static int64_t sizes[128];

static void usual_sizes(void) {
    static const struct { char letter; int64_t size; } all[] = {
        {'0', 0}, {'1', 1}, {'3', 3}, {'7', 7}, {'b', 2}, {'t', 3}, {'h', 4}, {'d', 8}, {'e', 4}, {'s', 6}, {'g', 2},
        {'n', 5}, {'k', 9}, {'m', 3}, {'v', 11}, {'p', 16}, {'z', 9001}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sizes[(unsigned char)all[i].letter] = all[i].size;
}

static sb_dtype real_type = SB_F32; // what r stands for

static sb_dtype dtype_of(char letter) {
    switch (letter) {
    case 'r': return real_type;
    case 'f': return SB_F32;
    case 'd': return SB_F64;
    case 'i': return SB_I32;
    case 'l': return SB_I64;
    case 'u': return SB_U32;
    case 'q': return SB_U64;
    default: return SB_U8;
    }
}

static int shape_of(const argument *arg, int64_t *shape) {
    int ndim = (int)strlen(arg->shape);
    for (int i = 0; i < ndim; i++) shape[i] = sizes[(unsigned char)arg->shape[i]];
    return ndim;
}

// Inputs are plain values with more than 12 bits; integers small enough to be an index. Outputs are poisoned.
static void fill(sb_array *a, role what, unsigned seed) {
    size_t bytes = (size_t)a->size * sb_dtype_size(a->dtype);
    if (what == ROLE_OUT) {
        if (bytes) memset(a->data, 0xa5, bytes);
        return;
    }
    uint32_t word = seed * 2654435761u + 1;
    const bool square = a->ndim == 2 && a->shape[0] == a->shape[1]; // with a heavy diagonal: what factors a matrix can do so
    for (int64_t i = 0; i < a->size; i++) {
        word = word * 1664525u + 1013904223u;
        float real = (float)(int32_t)(word >> 4) * 0x1p-27f + (square && i % (a->shape[0] + 1) == 0 ? 40.0f : 0.0f);
        int small = (int)(i % 11);
        switch (a->dtype) {
        case SB_F32: ((float *)(void *)a->data)[i] = real; break;
        case SB_F64: ((double *)(void *)a->data)[i] = (double)real + 0.5; break;
        case SB_I32: ((int32_t *)(void *)a->data)[i] = small; break;
        case SB_I64: ((int64_t *)(void *)a->data)[i] = (int64_t)word << 20 ^ small; break;
        case SB_U32: ((uint32_t *)(void *)a->data)[i] = word; break;
        case SB_U64: ((uint64_t *)(void *)a->data)[i] = (uint64_t)word << 32 | word; break;
        case SB_U8: ((uint8_t *)(void *)a->data)[i] = (uint8_t)(word >> 24); break;
        }
    }
}

static int count_arguments(const row *r) {
    int count = 0;
    while (count < MOST_ARRAYS && r->arguments[count].role != ABSENT) count++;
    return count;
}

static sb_context *plain; // owns the arrays; none of its allocations fail

static sb_array *make(const argument *arg, unsigned seed) {
    int64_t shape[MOST_DIMS];
    int ndim = shape_of(arg, shape);
    sb_array *a = NULL;
    if (sb_array_new(plain, dtype_of(arg->dtypes[0]), ndim, shape, &a, NULL) != SB_OK) return NULL;
    fill(a, arg->role, seed);
    return a;
}

// A set of arrays for a row; false where the sizes do not fit in memory.
static bool make_all(const row *r, sb_array **a) {
    for (int i = 0; i < MOST_ARRAYS; i++) a[i] = NULL;
    for (int i = 0; i < count_arguments(r); i++)
        if (!(a[i] = make(&r->arguments[i], (unsigned)i + 1))) return false;
    return true;
}

static void free_all(sb_array **a) {
    for (int i = 0; i < MOST_ARRAYS; i++) sb_array_free(a[i]);
}

// SHA-256 of what the arrays of a kind hold (and of the scalar results).
static void hash_role(const row *r, sb_array *const *a, bool outputs, uint8_t out[32]) {
    sbi_sha256 hash;
    sbi_sha256_start(&hash);
    for (int i = 0; i < count_arguments(r); i++)
        if (a[i] && a[i]->size && (r->arguments[i].role != ROLE_IN) == outputs)
            sbi_sha256_add(&hash, a[i]->data, (size_t)a[i]->size * sb_dtype_size(a[i]->dtype));
    if (outputs) {
        sbi_sha256_add(&hash, &real_out, sizeof real_out);
        sbi_sha256_add(&hash, digest_out, sizeof digest_out);
    }
    sbi_sha256_end(&hash, out);
}

static sb_status call(const row *r, sb_context *ctx, sb_array **a, sb_error *err) {
    real_out = 0.0;
    memset(digest_out, 0, sizeof digest_out);
    if (err) memset(err, 0, sizeof *err);
    uint8_t before[32], after[32];
    bool hashed = r->call != call_clip_infinite; // (puts its own value into an input)
    if (hashed) hash_role(r, a, false, before);
    sb_status status = r->call(ctx, a, err);
    hash_role(r, a, false, after);
    if (hashed) CHECK(memcmp(before, after, 32) == 0, "%s: an input was changed", r->name);
    if (err && status != SB_OK)
        CHECK(err->status == status && err->message[0] && memchr(err->message, 0, sizeof err->message), "%s: %d without words",
              r->name, (int)status);
    return status;
}

// A call that must be refused; again without an error to fill in.
static void refused(const row *r, sb_context *ctx, sb_array **a, sb_status expected, const char *name, const char *what) {
    sb_error err;
    sb_status status = call(r, ctx, a, &err);
    CHECK(status == expected, "%s, %s: %s, not %s (%s)", r->name, what, sb_status_name(status), sb_status_name(expected),
          err.message);
    if (status == expected && name)
        CHECK(strcmp(err.argument, name) == 0, "%s, %s: the argument \"%s\" is named, not \"%s\"", r->name, what, err.argument,
              name);
    CHECK(call(r, ctx, a, NULL) == status, "%s, %s: another status without an error", r->name, what);
}

// ---- the tests of a row

static void test_null(const row *r, sb_array **a) {
    refused(r, NULL, a, SB_ERR_ARGUMENT, "ctx", "no context");
    for (int i = 0; i < count_arguments(r); i++) {
        sb_array *kept = a[i];
        a[i] = NULL;
        if (r->arguments[i].nullable)
            CHECK(call(r, plain, a, NULL) == SB_OK, "%s without %s", r->name, r->arguments[i].name);
        else
            refused(r, plain, a, SB_ERR_ARGUMENT, r->arguments[i].name, "NULL");
        a[i] = kept;
    }
}

static void replace(const row *r, sb_array **a, int i, sb_dtype dtype, int ndim, const int64_t *shape, sb_status expected,
                    const char *what) {
    sb_array *kept = a[i];
    a[i] = NULL;
    CHECK(sb_array_new(plain, dtype, ndim, shape, &a[i], NULL) == SB_OK, "%s", r->name);
    if (expected == SB_OK) {
        sb_status status = call(r, plain, a, NULL);
        CHECK(status == SB_OK || status == SB_ERR_SHAPE, "%s, %s of %s: %s", r->name, what, r->arguments[i].name,
              sb_status_name(status));
    } else {
        refused(r, plain, a, expected, NULL, what);
    }
    sb_array_free(a[i]);
    a[i] = kept;
}

static void test_dtypes(const row *r, sb_array **a) {
    for (int i = 0; i < count_arguments(r); i++)
        for (const char *letter = "fdiluqb"; *letter; letter++)
            if (!strchr(r->arguments[i].dtypes, *letter) && dtype_of(*letter) != dtype_of(r->arguments[i].dtypes[0]))
                replace(r, a, i, dtype_of(*letter), a[i]->ndim, a[i]->shape, SB_ERR_DTYPE, "another dtype");
}

static void test_shapes(const row *r, sb_array **a) {
    for (int i = 0; i < count_arguments(r); i++) {
        sb_status expected = r->arguments[i].free ? SB_OK : SB_ERR_SHAPE;
        int64_t shape[SB_MAX_DIMS + 1];
        int ndim = a[i]->ndim;
        memcpy(shape, a[i]->shape, sizeof a[i]->shape);
        if (ndim > 0) {
            shape[ndim - 1]++;
            replace(r, a, i, a[i]->dtype, ndim, shape, expected, "one more on the last axis");
            shape[ndim - 1]--;
            if (!(ndim > 1 && shape[0] == 1))
                replace(r, a, i, a[i]->dtype, ndim - 1, shape + 1, expected, "one dimension less");
        }
        memmove(shape + 1, shape, sizeof shape - sizeof *shape);
        shape[0] = 2;
        if (ndim < SB_MAX_DIMS) replace(r, a, i, a[i]->dtype, ndim + 1, shape, expected, "one dimension more");
    }
}

static bool may_be_in_place(const row *r, const char *out, const char *in) {
    char pair[80];
    snprintf(pair, sizeof pair, "%s:%s", out, in);
    const char *found = strstr(r->in_place, pair);
    return found && (found[strlen(pair)] == ' ' || !found[strlen(pair)]);
}

static void test_overlap(const row *r, sb_array **a) {
    for (int o = 0; o < count_arguments(r); o++) {
        if (r->arguments[o].role == ROLE_IN) continue;
        for (int i = 0; i < count_arguments(r); i++) {
            if (i == o || !a[i]->size || !a[o]->size) continue;
            sb_array *kept_in = a[i], *kept_out = a[o];
            size_t bytes_in = (size_t)kept_in->size * sb_dtype_size(kept_in->dtype);
            size_t bytes_out = (size_t)kept_out->size * sb_dtype_size(kept_out->dtype);
            size_t last = (bytes_in - 1) / 8 * 8; // the last place at which the output still meets the input
            char *memory = calloc(1, bytes_in + bytes_out + 16);
            for (int place = 0; place < 2; place++) {
                size_t offset = place && last ? last : 0;
                bool same = offset == 0 && kept_in->dtype == kept_out->dtype && kept_in->ndim == kept_out->ndim &&
                            memcmp(kept_in->shape, kept_out->shape, (size_t)kept_in->ndim * sizeof(int64_t)) == 0;
                memcpy(memory, kept_in->data, bytes_in);
                bool wrapped = sb_array_wrap(plain, kept_in->dtype, kept_in->ndim, kept_in->shape, memory, &a[i], NULL) == SB_OK &&
                               sb_array_wrap(plain, kept_out->dtype, kept_out->ndim, kept_out->shape, memory + offset, &a[o],
                                             NULL) == SB_OK;
                CHECK(wrapped, "%s", r->name);
                bool legal = same && may_be_in_place(r, r->arguments[o].name, r->arguments[i].name);
                if (wrapped && !legal)
                    refused(r, plain, a, SB_ERR_OVERLAP, NULL, offset ? "the last element shared" : "the first element shared");
                sb_array_free(a[i]), sb_array_free(a[o]);
            }
            free(memory);
            a[i] = kept_in, a[o] = kept_out;
        }
    }
}

static void test_in_place(const row *r, const uint8_t expected[32]) {
    for (int o = 0; o < count_arguments(r); o++)
        for (int i = 0; i < count_arguments(r); i++) {
            if (i == o || !may_be_in_place(r, r->arguments[o].name, r->arguments[i].name)) continue;
            sb_array *a[MOST_ARRAYS];
            CHECK(make_all(r, a), "%s", r->name);
            sb_array_free(a[o]);
            a[o] = a[i];
            sb_error err = {0};
            sb_status status = r->call(plain, a, &err);
            CHECK(status == SB_OK, "%s, %s in place of %s: %s", r->name, r->arguments[o].name, r->arguments[i].name,
                  err.message);
            uint8_t hash[32];
            hash_role(r, a, true, hash);
            CHECK(memcmp(hash, expected, 32) == 0, "%s, %s in place of %s: other bits", r->name, r->arguments[o].name,
                  r->arguments[i].name);
            a[o] = NULL;
            free_all(a);
        }
}

// Every size that occurs becomes 0, alone and with another that is huge. A huge array without elements is legal.
static void test_zero_sizes(const row *r) {
    char letters[32] = "";
    for (int i = 0; i < count_arguments(r); i++)
        for (const char *c = r->arguments[i].shape; *c; c++)
            if (!strchr(letters, *c) && *c > '9') strncat(letters, c, 1);
    for (const char *zero = letters; *zero; zero++)
        for (const char *huge = letters; *huge; huge++) {
            static const int64_t large[] = {1ll << 40, 1ll << 61};
            for (int l = 0; l < 2; l++) {
                usual_sizes();
                if (huge != zero) sizes[(unsigned char)*huge] = large[l];
                sizes[(unsigned char)*zero] = 0;
                sb_array *a[MOST_ARRAYS];
                sb_error err = {0};
                if (make_all(r, a)) {
                    sb_status status = call(r, plain, a, &err);
                    bool named = status == SB_ERR_EMPTY || status == SB_ERR_SHAPE || status == SB_ERR_ARGUMENT ||
                                 status == SB_ERR_SIZE || status == SB_ERR_UNSUPPORTED || status == SB_ERR_MEMORY;
                    CHECK(status == SB_OK || named, "%s, %c = 0, %c huge: %s %s", r->name, *zero, *huge,
                          sb_status_name(status), err.message);
                }
                free_all(a);
            }
        }
    usual_sizes();
}

// ---- allocations

static sb_context *metered(meter *m, int threads, sb_error *err) {
    sb_context_options options = {.size = sizeof options, .threads = threads, .allocate = meter_allocate,
                                  .release = meter_release, .user = m};
    sb_context *ctx = NULL;
    sb_context_new(&options, &ctx, err);
    return ctx;
}

static void test_allocations(const row *r, const uint8_t expected[32]) {
    meter m = {.left = INT64_MAX, .live = 0};
    sb_context *ctx = metered(&m, 2, NULL);
    int64_t own = m.live;
    sb_array *a[MOST_ARRAYS];
    CHECK(make_all(r, a) && ctx, "%s", r->name);
    sb_status status = SB_ERR_MEMORY;
    for (int n = 0; status == SB_ERR_MEMORY && n < 1000; n++) {
        for (int i = 0; i < count_arguments(r); i++) fill(a[i], r->arguments[i].role, (unsigned)i + 1);
        sb_error err;
        m.left = n;
        status = call(r, ctx, a, &err);
        CHECK(status == SB_OK || status == SB_ERR_MEMORY, "%s, allocation %d: %s %s", r->name, n, sb_status_name(status),
              err.message);
        CHECK(m.live <= own + 1, "%s, allocation %d: %lld blocks leaked", r->name, n, (long long)(m.live - own)); // (one is kept)
    }
    uint8_t hash[32];
    hash_role(r, a, true, hash);
    CHECK(status == SB_OK && memcmp(hash, expected, 32) == 0, "%s after failures: %s", r->name, sb_status_name(status));
    free_all(a);
    sb_context_free(ctx);
    CHECK(m.live == 0, "%s: the context leaks %lld blocks", r->name, (long long)m.live);
}

// A loop over a size that nothing stands behind ends in a signal (of processor time: the machine may be busy).
static void limit_time(int seconds) {
    struct itimerval timer = {.it_value.tv_sec = seconds};
    setitimer(ITIMER_PROF, &timer, NULL);
}

static bool is_typed(const row *r) {
    for (int i = 0; i < count_arguments(r); i++)
        if (r->arguments[i].dtypes[0] == 'r') return true;
    return false;
}

static void test_rows(void) {
    size_t count = sizeof rows / sizeof *rows;
    for (size_t k = 0; k < 2 * count; k++) { // all in float32, then the typed ones in float64
        const row *r = &rows[k % count];
        real_type = k < count ? SB_F32 : SB_F64;
        if (k >= count && !is_typed(r)) continue;
        usual_sizes();
        limit_time(60);
        sb_array *a[MOST_ARRAYS];
        sb_error err;
        CHECK(make_all(r, a), "%s", r->name);
        sb_status status = call(r, plain, a, &err);
        CHECK(status == SB_OK, "%s: %s %s", r->name, sb_status_name(status), err.message);
        uint8_t expected[32];
        hash_role(r, a, true, expected);
        test_null(r, a);
        test_dtypes(r, a);
        test_shapes(r, a);
        test_overlap(r, a);
        free_all(a);
        test_in_place(r, expected);
        test_zero_sizes(r);
        test_allocations(r, expected);
    }
    real_type = SB_F32;
    for (size_t k = 0; k < sizeof bad_rows / sizeof *bad_rows; k++) {
        const row *r = &bad_rows[k];
        sb_array *a[MOST_ARRAYS];
        CHECK(make_all(r, a), "%s", r->name);
        refused(r, plain, a, r->expected, r->refused, "hostile");
        free_all(a);
    }
    limit_time(0);
}

// ---- what is no operation: contexts, arrays, options

static void test_contexts(void) {
    sb_error err;
    CHECK(sb_context_new(NULL, NULL, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "out") == 0, "out NULL");
    sb_context *ctx = plain;
    sb_context_options options = {.size = 2};
    CHECK(sb_context_new(&options, &ctx, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "options") == 0 && !ctx, "size 2");
    options.size = SIZE_MAX / 3; // never set: what lies behind must not be read
    CHECK(sb_context_new(&options, &ctx, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "options") == 0 && !ctx, "a size never set");
    struct { sb_context_options known; long later; } newer = {.known = {.size = sizeof newer, .threads = 1}, .later = 0};
    CHECK(sb_context_new(&newer.known, &ctx, &err) == SB_OK, "a larger struct whose news are 0: %s", err.message);
    sb_context_free(ctx);
    newer.later = 1;
    CHECK(sb_context_new(&newer.known, &ctx, &err) == SB_ERR_UNSUPPORTED && strcmp(err.argument, "options") == 0, "news");
    sb_context_options older = {.size = offsetof(sb_context_options, threads), .threads = -5}; // knew no threads
    CHECK(sb_context_new(&older, &ctx, &err) == SB_OK, "%s", err.message);
    sb_context_free(ctx);
    for (size_t size = 0; size < sizeof older; size++) { // words and, after threads, an int: what cuts one in half is refused
        bool whole = size >= sizeof size && (size % sizeof(void *) == 0 || size == offsetof(sb_context_options, threads) + sizeof(int));
        older = (sb_context_options){.size = size};
        sb_status status = sb_context_new(&older, &ctx, &err);
        CHECK(whole ? status == SB_OK : status == SB_ERR_ARGUMENT && strcmp(err.argument, "options") == 0 && !ctx, "size %zu: %s", size,
              err.message);
        if (status == SB_OK) sb_context_free(ctx);
    }
    sb_context_options half = {.size = sizeof half, .allocate = meter_allocate};
    CHECK(sb_context_new(&half, &ctx, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "release") == 0, "%s", err.argument);
    half = (sb_context_options){.size = sizeof half, .release = meter_release};
    CHECK(sb_context_new(&half, &ctx, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "allocate") == 0, "%s", err.argument);
    CHECK(strcmp(sb_context_device(NULL), "") == 0 && strcmp(sb_context_isa(NULL), "") == 0 && sb_context_threads(NULL) == 0,
          "of no context");
    for (int n = 0;; n++) {
        meter m = {.left = n, .live = 0};
        ctx = metered(&m, 4, &err);
        if (ctx) {
            sb_context_free(ctx);
            CHECK(m.live == 0 && n > 0, "context");
            break;
        }
        CHECK(err.status == SB_ERR_MEMORY && m.live == 0, "allocation %d of a context: %s", n, err.message);
        if (n > 10) break;
    }
}

static void test_arrays(void) {
    sb_error err;
    meter m = {.left = INT64_MAX, .live = 0};
    sb_context *ctx = metered(&m, 2, &err);
    int64_t own = m.live, shape[] = {4, 3}, flat[] = {12};
    float memory[12] = {0};
    for (int kind = 0; kind < 4; kind++) { // new, wrap, slice, reshape
        sb_array *base = NULL, *a = NULL;
        m.left = INT64_MAX;
        CHECK(sb_array_new(ctx, SB_F32, 2, shape, &base, &err) == SB_OK, "%s", err.message);
        int64_t before = m.live;
        sb_status status = SB_ERR_MEMORY;
        for (int n = 0; status == SB_ERR_MEMORY && n < 10; n++) {
            m.left = n;
            a = base; // must be overwritten, by NULL or the array
            switch (kind) {
            case 0: status = sb_array_new(ctx, SB_F32, 2, shape, &a, &err); break;
            case 1: status = sb_array_wrap(ctx, SB_F32, 2, shape, memory, &a, &err); break;
            case 2: status = sb_array_slice(base, 1, 2, &a, &err); break;
            default: status = sb_array_reshape(base, 1, flat, &a, &err); break;
            }
            CHECK(status == SB_OK || (status == SB_ERR_MEMORY && !a && m.live == before && err.status == status),
                  "kind %d, allocation %d", kind, n);
        }
        CHECK(status == SB_OK && a && a != base, "kind %d: %s", kind, sb_status_name(status));
        sb_array_free(base), sb_array_free(a);
        CHECK(m.live == own, "kind %d leaks", kind);
    }
    m.left = INT64_MAX;
    sb_array *a = NULL, *view = NULL;
    CHECK(sb_array_new(NULL, SB_F32, 2, shape, &a, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "ctx") == 0, "ctx");
    CHECK(sb_array_new(ctx, SB_F32, 2, NULL, &a, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "shape") == 0, "shape");
    CHECK(sb_array_new(ctx, SB_F32, 2, shape, NULL, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "out") == 0, "out");
    CHECK(sb_array_wrap(NULL, SB_F32, 2, shape, memory, &a, &err) == SB_ERR_ARGUMENT, "ctx");
    CHECK(sb_array_wrap(ctx, SB_F32, 2, NULL, memory, &a, &err) == SB_ERR_ARGUMENT, "shape");
    CHECK(sb_array_wrap(ctx, SB_F32, 2, shape, NULL, &a, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "data") == 0, "data");
    CHECK(sb_array_wrap(ctx, SB_F32, 2, shape, memory, NULL, &err) == SB_ERR_ARGUMENT, "out");
    CHECK(sb_array_slice(NULL, 0, 1, &a, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "a") == 0, "a");
    CHECK(sb_array_reshape(NULL, 2, shape, &a, &err) == SB_ERR_ARGUMENT, "a");
    CHECK(sb_array_new(ctx, SB_F32, 2, shape, &a, NULL) == SB_OK, "without an error");
    CHECK(sb_array_slice(a, 0, 1, NULL, &err) == SB_ERR_ARGUMENT && sb_array_reshape(a, 1, flat, NULL, &err) ==
          SB_ERR_ARGUMENT && sb_array_reshape(a, 1, NULL, &view, &err) == SB_ERR_ARGUMENT, "out");
    CHECK(sb_array_slice(a, 9, 1, &view, NULL) == SB_ERR_ARGUMENT && !view, "without an error");
    CHECK(sb_array_read(NULL, memory, 48, &err) == SB_ERR_ARGUMENT && sb_array_read(a, NULL, 48, &err) == SB_ERR_ARGUMENT &&
          strcmp(err.argument, "to") == 0, "read");
    CHECK(sb_array_write(NULL, memory, 48, &err) == SB_ERR_ARGUMENT && sb_array_write(a, NULL, 48, &err) == SB_ERR_ARGUMENT &&
          strcmp(err.argument, "from") == 0, "write");
    CHECK(sb_array_read(a, memory, 47, NULL) == SB_ERR_ARGUMENT && sb_array_write(a, memory, 49, NULL) == SB_ERR_ARGUMENT,
          "without an error");
    CHECK(sb_array_ndim(NULL) == 0 && !sb_array_shape(NULL) && sb_array_size(NULL) == 0 && sb_array_dtype(NULL) == 0, "NULL");
    sb_array_free(a);
    sb_context_free(ctx);
    CHECK(m.live == 0, "%lld blocks", (long long)m.live);
    uint8_t out[32];
    sb_sha256(NULL, 0, out); // nothing, at NULL
    CHECK(out[0] == 0xe3 && out[31] == 0x55, "the digest of nothing");
}

int main(void) {
    sb_context_options options = {.size = sizeof options, .threads = 1};
    CHECK(sb_context_new(&options, &plain, NULL) == SB_OK, "a context");
    test_contexts();
    test_arrays();
    test_rows();
    sb_context_free(plain);
    return test_end();
}
