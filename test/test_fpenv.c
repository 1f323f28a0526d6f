// SPDX-License-Identifier: Apache-2.0
// The caller's floating-point environment neither reaches a bit nor changes: with flush-to-zero and denormals-are-zero
// set, FLT_MIN / 2 is 00400000; with rounding upward 1 + 2^-24 is 1; on the caller's thread and on the workers of the
// pool; and afterwards the mode is what it was, exception flags included.
#include "test.h"

#include "array.h"
#include "base.h"

#include <fenv.h>
#include <float.h>
#include <string.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
static uint64_t get_mode(void) { return _mm_getcsr(); }
static void set_mode(uint64_t mode) { _mm_setcsr((uint32_t)mode); }
static const uint64_t modes[] = {
    0x1f80,                   // the usual one
    0x1f80 | 0x8040,          // flush to zero, denormals are zero
    0x1f80 | 0x4000,          // upward
    0x1f80 | 0x2000 | 0x8040, // downward and flushing
    0x1f80 | 0x6000,          // towards zero
    0x1f80 | 0x003f,          // every exception flag raised
    0x0f80 | 0x4000,          // a trap on inexact results (bit 12 clear), upward
};
#elif defined(__aarch64__)
static uint64_t get_mode(void) {
    uint64_t control, flags;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(flags));
    return control | (flags & 0x9f) << 32;
}
static void set_mode(uint64_t mode) {
    __asm__ volatile("msr fpcr, %0" : : "r"(mode & 0xffffffffu));
    __asm__ volatile("msr fpsr, %0" : : "r"(mode >> 32));
}
static const uint64_t modes[] = {0, 1u << 24, 1u << 22, 2u << 22 | 1u << 24, 3u << 22, 1u << 25, (uint64_t)0x1f << 32};
#else
static uint64_t get_mode(void) { return (uint64_t)fegetround() | (uint64_t)fetestexcept(FE_ALL_EXCEPT) << 32; }
static void set_mode(uint64_t mode) {
    fesetround((int)(mode & 0xffffffffu));
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept((int)(mode >> 32));
}
static const uint64_t modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO,
                                 FE_TONEAREST | (uint64_t)FE_INEXACT << 32};
#endif
enum { MODES = sizeof modes / sizeof *modes };

static uint32_t bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

__attribute__((noinline)) static float add(float a, float b) { return a + b; }
__attribute__((noinline)) static float multiply(float a, float b) { return a * b; }

static bool environment_is_ours(void) {
    volatile float one = 1.0f, tiny = 0x1p-24f, third = -0x1p-24f;
    return bits(multiply(FLT_MIN, 0.5f * one)) == 0x00400000u && bits(multiply(0x1p-149f, one)) == 1 &&
           add(one, tiny) == 1.0f && add(-one, third) == -1.0f;
}

static void task(void *argument, int64_t i) {
    ((uint8_t *)argument)[i] = environment_is_ours();
}

static void test_pair(void) {
    uint64_t before = get_mode();
    for (int m = 0; m < MODES; m++) {
        set_mode(modes[m]);
        uint64_t preset = get_mode();
        sbi_fpenv outer = sbi_fpenv_enter();
        bool good = environment_is_ours();
        sbi_fpenv inner = sbi_fpenv_enter();
        good = good && environment_is_ours();
        sbi_fpenv_leave(inner);
        good = good && environment_is_ours();
        sbi_fpenv_leave(outer);
        uint64_t after = get_mode();
        set_mode(before);
        CHECK(good, "mode %d reaches inside", m);
        CHECK(after == preset, "mode %d: %llx became %llx", m, (unsigned long long)preset, (unsigned long long)after);
    }
}

static void test_pool(void) {
    uint64_t before = get_mode();
    for (int m = 0; m < MODES; m++)
        for (int threads = 1; threads <= 4; threads++) {
            static uint8_t good[500];
            memset(good, 0, sizeof good);
            sb_error err;
            set_mode(modes[m]); // workers start with the mode of who started them
            uint64_t preset = get_mode();
            sbi_pool *pool = sbi_pool_new(&sbi_malloc_allocator, threads, &err);
            sbi_pool_run(pool, 500, task, good);
            sbi_pool_run(pool, 500, task, good);
            sbi_pool_free(pool);
            uint64_t after = get_mode();
            set_mode(before);
            int wrong = 0;
            for (int i = 0; i < 500; i++) wrong += !good[i];
            CHECK(wrong == 0, "mode %d, %d threads: %d tasks saw it", m, threads, wrong);
            CHECK(after == preset, "mode %d, %d threads", m, threads);
        }
}

// Through the public interface: 40,000 elements, so that every worker has its share.
static void test_operations(void) {
    enum { N = 40000 };
    static float x[N], y[N];
    static const struct { float x, by; uint32_t scaled, sum; } rows[] = {
        {FLT_MIN, 0.5f, 0x00400000u, 0x3f000000u},           // subnormal result
        {0x1p-149f, 3.0f, 3, 0x40400000u},                   // subnormal operand
        {1.0f, 0x1p-24f, 0x33800000u, 0x3f800000u},          // a tie: to even, not up
        {0x1.000002p0f, 0x1p-24f, 0x33800001u, 0x3f800002u}, // a tie: to even, up
        {-1.0f, -0x1p-25f, 0x33000000u, 0xbf800000u},        // below a tie
        {0x1.fffffep127f, 0x1.000002p0f, 0x7f800000u, 0x7f7fffffu},
    };
    uint64_t before = get_mode();
    for (int threads = 1; threads <= 3; threads += 2)
        for (int m = 0; m < MODES; m++)
            for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
                for (int i = 0; i < N; i++) x[i] = rows[row].x;
                float by = rows[row].by;
                sb_context *ctx = NULL;
                sb_array *a = NULL, *b = NULL, *out = NULL;
                sb_context_options options = {.size = sizeof options, .threads = threads};
                int64_t n = N;
                sb_error err = {0};
                set_mode(modes[m]);
                uint64_t preset = get_mode();
                sb_status status = sb_context_new(&options, &ctx, &err);
                if (status == SB_OK) status = sb_array_wrap(ctx, SB_F32, 1, &n, x, &a, &err);
                if (status == SB_OK) status = sb_array_wrap(ctx, SB_F32, 0, NULL, &by, &b, &err);
                if (status == SB_OK) status = sb_array_wrap(ctx, SB_F32, 1, &n, y, &out, &err);
                if (status == SB_OK) status = sb_scale(ctx, a, by, out, &err);
                uint64_t between = get_mode();
                int scaled_wrong = 0, sum_wrong = 0;
                for (int i = 0; i < N; i++) scaled_wrong += bits(y[i]) != rows[row].scaled;
                if (status == SB_OK) status = sb_binary(ctx, SB_ADD, a, b, out, &err);
                for (int i = 0; i < N; i++) sum_wrong += bits(y[i]) != rows[row].sum;
                sb_array_free(a), sb_array_free(b), sb_array_free(out), sb_context_free(ctx);
                uint64_t after = get_mode();
                set_mode(before);
                CHECK(status == SB_OK, "%s", err.message);
                CHECK(scaled_wrong == 0, "scale, row %zu, mode %d, %d threads: %08x", row, m, threads, bits(y[0]));
                CHECK(sum_wrong == 0, "add, row %zu, mode %d, %d threads: %08x", row, m, threads, bits(y[0]));
                CHECK(between == preset && after == preset, "mode %d changed: %llx, %llx, %llx", m,
                      (unsigned long long)preset, (unsigned long long)between, (unsigned long long)after);
            }
}

int main(void) {
    test_pair();
    test_pool();
    test_operations();
    return test_end();
}
