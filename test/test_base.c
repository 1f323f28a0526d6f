// SPDX-License-Identifier: Apache-2.0
// base: SHA-256 against known answers and against a plain loop of another form, escapes, checked sizes, memory and
// arenas under an allocator that runs out, context settings.
#include "test.h"

#include "array.h"
#include "base.h"
#include "square_root.h"

#include <stdlib.h>
#include <string.h>

// ---- SHA-256

static uint32_t turn(uint32_t x, unsigned n) {
    return x >> n | x << (32 - n);
}

// The constants from their definition: the first 32 bits of the fractional parts of the cube (square) roots of the
// first primes, by exact integers.
static uint32_t root_bits(uint64_t prime, int power) {
    uint64_t low = 0, high = (uint64_t)1 << 36; // floor(root * 2^32); the largest is the cube root of 311
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        // Compare middle^power with prime * 2^(32 power), as 160-bit numbers in 32-bit pieces.
        uint64_t pieces[6] = {1};
        for (int i = 0; i < power; i++) {
            uint64_t product[6] = {0};
            for (int a = 0; a < 6; a++)
                for (int b = 0; b < 2 && a + b < 6; b++) {
                    uint64_t p = (uint64_t)(uint32_t)pieces[a] * (b ? middle >> 32 : (uint32_t)middle);
                    for (int k = a + b; p && k < 6; k++) {
                        p += product[k];
                        product[k] = (uint32_t)p;
                        p >>= 32;
                    }
                }
            memcpy(pieces, product, sizeof pieces);
        }
        uint64_t top = 0;
        for (int k = 5; k >= power; k--) top = top << 32 | pieces[k];
        if (top < prime)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

// The padded message is made whole, the schedule is indexed by name, the state is rotated by index: nothing in common
// with the library's form but the definition.
static void plain_sha256(const uint8_t *data, size_t size, uint8_t out[32]) {
    static uint32_t k[64], initial[8];
    if (!k[0]) {
        int found = 0;
        for (uint64_t p = 2; found < 64; p++) {
            bool prime = true;
            for (uint64_t d = 2; d * d <= p; d++) prime = prime && p % d;
            if (!prime) continue;
            if (found < 8) initial[found] = root_bits(p, 2);
            k[found++] = root_bits(p, 3);
        }
    }
    size_t padded = (size + 9 + 63) / 64 * 64;
    uint8_t *message = calloc(padded, 1);
    if (size) memcpy(message, data, size);
    message[size] = 0x80;
    for (int i = 0; i < 8; i++) message[padded - 1 - (size_t)i] = (uint8_t)((uint64_t)size * 8 >> (8 * i));
    uint32_t h[8];
    memcpy(h, initial, sizeof h);
    for (size_t block = 0; block < padded; block += 64) {
        uint32_t w[64] = {0}, v[8];
        for (size_t i = 0; i < 64; i++) w[i / 4] = w[i / 4] << 8 | message[block + i];
        for (int t = 16; t < 64; t++)
            w[t] = (turn(w[t - 2], 17) ^ turn(w[t - 2], 19) ^ w[t - 2] >> 10) + w[t - 7] +
                   (turn(w[t - 15], 7) ^ turn(w[t - 15], 18) ^ w[t - 15] >> 3) + w[t - 16];
        memcpy(v, h, sizeof v);
#define V(letter) v[(letter - t + 64) & 7]
        for (int t = 0; t < 64; t++) {
            uint32_t one = V(7) + (turn(V(4), 6) ^ turn(V(4), 11) ^ turn(V(4), 25)) +
                           ((V(4) & V(5)) ^ (~V(4) & V(6))) + k[t] + w[t];
            uint32_t two = (turn(V(0), 2) ^ turn(V(0), 13) ^ turn(V(0), 22)) +
                           ((V(0) & V(1)) ^ (V(0) & V(2)) ^ (V(1) & V(2)));
            V(3) += one;
            V(7) = one + two;
        }
#undef V
        for (int i = 0; i < 8; i++) h[i] += v[i];
    }
    for (int i = 0; i < 32; i++) out[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
    free(message);
}

static void test_sha256(void) {
    static const struct { const char *text, *hex; } known[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopq"
         "rstu", "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    uint8_t digest[32], other[32];
    char hex[65];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sb_sha256(known[i].text, strlen(known[i].text), digest);
        sbi_hex(digest, 32, hex);
        CHECK(strcmp(hex, known[i].hex) == 0, "\"%.20s\" gave %s", known[i].text, hex);
    }
    size_t million = 1000000;
    uint8_t *data = malloc(million);
    memset(data, 'a', million);
    sb_sha256(data, million, digest);
    sbi_hex(digest, 32, hex);
    CHECK(strcmp(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") == 0, "%s", hex);

    uint32_t word = 12345;
    for (size_t i = 0; i < million; i++) data[i] = (uint8_t)((word = word * 1664525u + 1013904223u) >> 24);
    static const size_t around[] = {56, 64, 120, 128, 4096, 65536, 131072};
    for (size_t a = 0; a < sizeof around / sizeof *around; a++)
        for (size_t size = around[a] - 2; size <= around[a] + 2; size++) {
            plain_sha256(data, size, other);
            sb_sha256(data, size, digest);
            CHECK(memcmp(digest, other, 32) == 0, "whole, %zu bytes", size);
            sbi_sha256 hash; // in uneven pieces, from odd addresses
            sbi_sha256_start(&hash);
            for (size_t at = 0, step = 1; at < size; at += step, step = (step * 7 + 3) % 211) {
                if (step > size - at) step = size - at;
                sbi_sha256_add(&hash, data + at, step);
            }
            sbi_sha256_end(&hash, digest);
            CHECK(memcmp(digest, other, 32) == 0, "in pieces, %zu bytes", size);
        }
    uint32_t plain[8], fast[8];
    for (size_t i = 0; i < 8; i++) plain[i] = fast[i] = (uint32_t)i * 0x9e3779b9u;
    for (size_t size = 0; size < 4000; size += 61) { // two at once
        uint8_t want[2][32], two[2][32];
        sbi_sha256 hash[2];
        for (int i = 0; i < 2; i++) sb_sha256(data + 5 * i, size, want[i]), sbi_sha256_start(&hash[i]);
        sbi_sha256_add_two(&hash[0], data, &hash[1], data + 5, size / 3);
        sbi_sha256_add_two(&hash[0], data + size / 3, &hash[1], data + 5 + size / 3, size - size / 3);
        for (int i = 0; i < 2; i++) sbi_sha256_end(&hash[i], two[i]);
        CHECK(memcmp(want, two, sizeof two) == 0, "two at once, %zu bytes", size);
    }
    sbi_sha256_blocks_plain(plain, data + 1, 1024);
    if (sbi_sha256_instructions()) {
        sbi_sha256_blocks_fast(fast, data + 1, 1024);
        CHECK(memcmp(plain, fast, sizeof plain) == 0, "the processor's instructions give another digest");
    } else {
        printf("skipped: this processor has no SHA-256 instructions\n");
    }
    free(data);
}

// ---- text

static void test_escape(void) {
    char out[16];
    CHECK(strcmp(sbi_escape("plain", 5, out, sizeof out), "plain") == 0, "%s", out);
    CHECK(strcmp(sbi_escape("a\n\x1b\xff", 4, out, sizeof out), "a\\x0a\\x1b\\xff") == 0, "%s", out);
    CHECK(strcmp(sbi_escape("a\0b", 3, out, sizeof out), "a\\x00b") == 0, "%s", out);
    CHECK(strcmp(sbi_escape("back\\slash", 10, out, sizeof out), "back\\x5cslash") == 0, "%s", out);
    CHECK(strcmp(sbi_escape("123456789012345", 15, out, sizeof out), "123456789012345") == 0, "%s", out);
    CHECK(strcmp(sbi_escape("1234567890123456", 16, out, sizeof out), "123456789012...") == 0, "%s", out);
    CHECK(strcmp(sbi_escape("12345678901\n\n\n\n", 15, out, sizeof out), "12345678901...") == 0, "%s", out);
    for (size_t size = 0; size < 6; size++) { // never beyond the end
        memset(out, 'x', sizeof out);
        sbi_escape("\n\n\n", 3, out, size);
        CHECK(out[size] == 'x' && (size == 0 || strlen(out) < size), "out of %zu bytes", size);
    }
    sb_error err;
    char longer[2000];
    memset(longer, 'y', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    CHECK(sbi_fail(&err, SB_ERR_SHAPE, longer, "%s", longer) == SB_ERR_SHAPE && err.status == SB_ERR_SHAPE, "status");
    CHECK(strlen(err.argument) == sizeof err.argument - 1 && strlen(err.message) == sizeof err.message - 1, "cut");
    CHECK(sbi_fail(NULL, SB_ERR_IO, "a", "x") == SB_ERR_IO, "a NULL error is fine");
    char hex[9];
    sbi_hex((const uint8_t[]){0x00, 0x1f, 0xa0, 0xff}, 4, hex);
    CHECK(strcmp(hex, "001fa0ff") == 0, "%s", hex);
    for (int s = SB_OK; s <= SB_ERR_INTERNAL; s++)
        CHECK(strncmp(sb_status_name((sb_status)s), s == SB_OK ? "SB_OK" : "SB_ERR_", s == SB_OK ? 6 : 7) == 0, "%d", s);
    CHECK(strcmp(sb_status_name((sb_status)999), "unknown status") == 0, "999");
}

// ---- sizes and memory

typedef struct counter {
    int left, live, calls; // left: allocations until the first refusal
    size_t shift;          // misalign by this
} counter;

static void *count_allocate(void *user, size_t bytes) {
    counter *c = user;
    if (c->left-- <= 0) return NULL;
    char *memory = malloc(bytes + 64);
    memset(memory, 0xa5, bytes + 64);
    c->live++, c->calls++;
    memcpy(memory, &c->shift, sizeof c->shift);
    return memory + c->shift;
}

static void count_release(void *user, void *pointer) {
    counter *c = user;
    c->live--;
    free((char *)pointer - c->shift);
}

static void test_memory(void) {
    int64_t out = -1;
    CHECK(sbi_multiply(1ll << 31, 1ll << 31, &out) && out == 1ll << 62, "2^62");
    CHECK(!sbi_multiply(1ll << 32, 1ll << 31, &out), "2^63");
    CHECK(!sbi_multiply(-1, 5, &out) && !sbi_multiply(5, -1, &out) && !sbi_multiply(-1, -1, &out), "negative");
    CHECK(sbi_multiply(0, INT64_MAX, &out) && out == 0, "0");
    CHECK(sbi_add(INT64_MAX - 1, 1, &out) && out == INT64_MAX && !sbi_add(INT64_MAX, 1, &out) && !sbi_add(-1, 1, &out),
          "sums");
    sb_error err;
    CHECK(!sbi_allocate(&sbi_malloc_allocator, INT64_MAX / 4, 8, &err) && err.status == SB_ERR_SIZE, "overflow");
    CHECK(!sbi_allocate(&sbi_malloc_allocator, INT64_MAX - 10, 1, &err) && err.status == SB_ERR_SIZE, "beside the end");
    CHECK(!sbi_allocate(&sbi_malloc_allocator, -1, 8, &err) && err.status == SB_ERR_SIZE, "negative");
    CHECK(!sbi_allocate(&sbi_malloc_allocator, 1ll << 58, 8, &err) && err.status == SB_ERR_MEMORY, "exhausted");
    CHECK(!sbi_allocate(&sbi_malloc_allocator, 1ll << 58, 8, NULL), "a NULL error is fine");
    sbi_release(&sbi_malloc_allocator, NULL);
    for (size_t shift = 16; shift <= 48; shift += 16) { // an allocator that aligns to 16 and gives dirty memory
        counter c = {.left = 100, .shift = shift};
        sbi_allocator allocator = {count_allocate, count_release, &c};
        for (int64_t count = 0; count < 200; count += 37) {
            uint8_t *memory = sbi_allocate(&allocator, count, 3, &err);
            bool zero = true;
            for (int64_t i = 0; i < 3 * count; i++) zero = zero && memory[i] == 0;
            CHECK(memory && (uintptr_t)memory % 64 == 0 && zero, "%lld items at %zu", (long long)count, shift);
            sbi_release(&allocator, memory);
        }
        CHECK(c.live == 0, "%d blocks left", c.live);
    }
}

static bool fill_arena(sbi_arena *arena) {
    sb_error err;
    for (int i = 0; i < 200; i++) {
        int64_t count = (i * 7919) % 5000;
        char *item = sbi_arena_allocate(arena, count, 1, &err);
        if (!item) {
            CHECK(err.status == SB_ERR_MEMORY, "%s", err.message);
            return false;
        }
        bool zero = (uintptr_t)item % 16 == 0;
        for (int64_t k = 0; k < count; k++) zero = zero && item[k] == 0;
        CHECK(zero, "item %d is dirty or not aligned", i);
        memset(item, 0xff, (size_t)count);
    }
    char *text = sbi_arena_string(arena, "ab\0c", 4, &err);
    if (!text) return false;
    CHECK(memcmp(text, "ab\0c", 5) == 0, "text");
    return true;
}

static void test_arena(void) {
    bool done = false;
    for (int n = 0; !done; n++) {
        counter c = {.left = n, .shift = 16};
        sbi_allocator allocator = {count_allocate, count_release, &c};
        sb_error err = {0};
        sbi_arena *arena = sbi_arena_new(&allocator, &err);
        if (arena)
            done = fill_arena(arena);
        else
            CHECK(n == 0 && err.status == SB_ERR_MEMORY, "the first is refused only at 0");
        sbi_arena_free(arena);
        CHECK(c.live == 0, "%d blocks left", c.live);
        if (n > 100) break;
    }
    CHECK(done, "never succeeded");
    sb_error err;
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, &err);
    CHECK(!sbi_arena_allocate(arena, INT64_MAX / 2, 4, &err) && err.status == SB_ERR_SIZE, "overflow");
    CHECK(!sbi_arena_allocate(arena, INT64_MAX - 40, 1, &err) && err.status == SB_ERR_SIZE, "beside the end");
    CHECK(!sbi_arena_allocate(arena, -1, 1, &err) && err.status == SB_ERR_SIZE, "negative");
    sbi_arena_free(arena);
    sbi_arena_free(NULL);
}

// ---- the machine and the settings of a context

static void check_setting(const char *variable, const char *value, sb_status expected) {
    setenv(variable, value, 1);
    sb_context *ctx = NULL;
    sb_error err = {0};
    sb_status status = sb_context_new(NULL, &ctx, &err);
    CHECK(status == expected, "%s=%s: %s %s", variable, value, sb_status_name(status), err.message);
    CHECK((status == SB_OK) == (ctx != NULL), "%s=%s", variable, value);
    if (status != SB_OK) CHECK(strcmp(err.argument, variable) == 0 && err.message[0], "%s: %s", variable, err.argument);
    sb_context_free(ctx);
    unsetenv(variable);
}

static void test_settings(void) {
    unsetenv("SAMEBITS_ISA"), unsetenv("SAMEBITS_THREADS"), unsetenv("SAMEBITS_DEVICE");
    CHECK(sbi_cpu_cores() >= 1 && sbi_cpu_model()[0] && sbi_cpu_architecture()[0], "the machine has no name");
    sb_context *ctx = NULL;
    sb_error err = {0};
    CHECK(sb_context_new(NULL, &ctx, &err) == SB_OK, "%s", err.message);
    CHECK(strcmp(sb_context_device(ctx), "cpu") == 0 && sb_context_threads(ctx) == sbi_cpu_cores(), "defaults");
    CHECK(strcmp(sb_context_isa(ctx), "reverse") != 0, "reverse is never chosen by itself");
    for (const sbi_kernel_table *const *t = sbi_kernel_levels; *t; t++)
        if (sbi_cpu_level_usable((*t)->level)) {
            CHECK(strcmp(sb_context_isa(ctx), (*t)->level) == 0, "the best is %s", (*t)->level);
            break;
        }
    sb_context_free(ctx);
    static const char *const bad_threads[] = {"abc", "0", "-1", "1025", "4x", " 4", "4 ", "+4", "99999999999999999999", "1.5"};
    for (size_t i = 0; i < sizeof bad_threads / sizeof *bad_threads; i++)
        check_setting("SAMEBITS_THREADS", bad_threads[i], SB_ERR_ARGUMENT);
    check_setting("SAMEBITS_THREADS", "1024", SB_OK);
    check_setting("SAMEBITS_THREADS", "", SB_OK);
    check_setting("SAMEBITS_ISA", "v9", SB_ERR_ARGUMENT);
    check_setting("SAMEBITS_ISA", "V3", SB_ERR_ARGUMENT);
    check_setting("SAMEBITS_ISA", "v3 ", SB_ERR_ARGUMENT);
    check_setting("SAMEBITS_ISA", "v3\n\x1b", SB_ERR_ARGUMENT);
    check_setting("SAMEBITS_DEVICE", "cuda", SB_ERR_DEVICE);
    check_setting("SAMEBITS_DEVICE", "cpu", SB_OK);
    static const char *const levels[] = {"plain", "v1", "v3", "v4", "neon", "reverse"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        bool usable = sbi_cpu_level_usable(levels[i]);
        check_setting("SAMEBITS_ISA", levels[i], usable ? SB_OK : SB_ERR_DEVICE);
        sb_context_options options = {.size = sizeof options, .isa = levels[i], .threads = 3};
        setenv("SAMEBITS_ISA", "nonsense", 1), setenv("SAMEBITS_THREADS", "nonsense", 1); // an option wins
        sb_status status = sb_context_new(&options, &ctx, &err);
        CHECK(status == (usable ? SB_OK : SB_ERR_DEVICE), "%s: %s", levels[i], err.message);
        if (usable)
            CHECK(strcmp(sb_context_isa(ctx), levels[i]) == 0 && sb_context_threads(ctx) == 3, "%s", levels[i]);
        sb_context_free(ctx);
        unsetenv("SAMEBITS_ISA"), unsetenv("SAMEBITS_THREADS");
    }
    for (int threads = -1; threads <= 1025; threads += 1026) {
        sb_context_options options = {.size = sizeof options, .threads = threads};
        CHECK(sb_context_new(&options, &ctx, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "threads") == 0 && !ctx,
              "%d threads", threads);
    }
    CHECK(!sbi_cpu_level_usable("v5") && !sbi_cpu_level_usable(""), "levels that do not exist");
    CHECK(sbi_cpu_level_usable("plain") && sbi_cpu_level_usable("reverse"), "plain runs everywhere");
#if defined(__x86_64__)
    // An independent opinion; gcc's names of the levels check the same features.
    __builtin_cpu_init();
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
    CHECK(sbi_cpu_level_usable("v1") && sbi_cpu_level_usable("v3") == v3 && sbi_cpu_level_usable("v4") == v4, "levels");
#endif
    CHECK(strcmp(sb_version(), SB_VERSION) == 0 && strlen(sb_commit()) >= 7, "%s %s", sb_version(), sb_commit());
}

// ---- the square root by integers, against the instruction

static void check_square_root(void) {
    const double special[] = {0.0, -0.0, 1.0, 2.0, 4.0, 0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp+1023, 0x1.0000000000001p0, (double)__builtin_inf()};
    uint64_t state = 1, wrong = 0;
    for (int i = 0; i < 400000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t word = (state ^ state >> 29) & (i % 5 ? 0x7fffffffffffffffu : 0x000fffffffffffffu); // subnormals too
        double x, expected;
        memcpy(&x, &word, sizeof x);
        if (i < 10) x = special[i];
        if (x != x) continue;
        expected = __builtin_sqrt(x);
        const double root = sbi_square_root(x);
        wrong += memcmp(&root, &expected, sizeof root) != 0;
    }
    CHECK(wrong == 0, "%llu square roots are wrong", (unsigned long long)wrong);
    CHECK(sbi_square_root(-1.0) != sbi_square_root(-1.0) && sbi_square_root(-(double)__builtin_inf()) != 0.0, "of negative numbers");
}

int main(void) {
    check_square_root();
    test_sha256();
    test_escape();
    test_memory();
    test_arena();
    test_settings();
    return test_end();
}
