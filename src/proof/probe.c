// SPDX-License-Identifier: Apache-2.0
// Conformance probes. The expected values come from integer arithmetic that stands here alone: a finite float is
// m * 2^e with integers, an operation is carried out exactly (what falls off the right end is kept as one sticky last
// bit), and one rounding to nearest even ends it.
#include "probe.h"

#include <stdio.h>
#include <string.h>

#define NAN32 0x7fc00000u
#define INF32 0x7f800000u

typedef struct exact { // (-1)^sign * m * 2^e; the last bit of m may stand for anything smaller
    uint32_t sign;
    uint64_t m; // below 2^62
    int e;
} exact;

static bool is_nan(uint32_t x) { return (x & 0x7fffffffu) > INF32; }
static bool is_inf(uint32_t x) { return (x & 0x7fffffffu) == INF32; }
static bool is_zero(uint32_t x) { return (x & 0x7fffffffu) == 0; }

static exact unpack(uint32_t x) {
    uint32_t field = x >> 23 & 0xff, fraction = x & 0x7fffffu;
    return (exact){x >> 31, field ? fraction | 1u << 23 : fraction, (field ? (int)field : 1) - 150};
}

static exact normalised(exact x, int top) { // m's first bit at place `top`, where it was not above
    while (x.m && !(x.m >> top)) {
        x.m <<= 1;
        x.e--;
    }
    return x;
}

// The bits of the nearest number of `digits` digits whose smallest step is 2^lowest; without a sign.
static uint64_t rounded(exact x, int digits, int lowest, uint64_t infinity) {
    x = normalised(x, 61);
    if (x.m == 0) {
        return 0;
    }
    int last = x.e + 62 - digits < lowest ? lowest : x.e + 62 - digits, shift = last - x.e;
    if (shift > 62) {
        return 0; // below half of the smallest step
    }
    uint64_t q = x.m >> shift, rest = x.m & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
    q += rest > half || (rest == half && (q & 1));
    uint64_t bits = ((uint64_t)(last - lowest) << (digits - 1)) + q;
    return bits > infinity ? infinity : bits;
}

static uint32_t rounded32(exact x) { return x.sign << 31 | (uint32_t)rounded(x, 24, -149, INF32); }

static exact exact_sum(exact a, exact b) { // exactly zero: m = 0
    a = normalised(a, 60);
    b = normalised(b, 60);
    if (a.m == 0 || (b.m != 0 && b.e > a.e)) {
        exact held = a;
        a = b;
        b = held;
    }
    if (b.m == 0) {
        return a;
    }
    int shift = a.e - b.e;
    uint64_t low = shift > 61 ? 1 : (b.m >> shift) | ((b.m & (((uint64_t)1 << shift) - 1)) != 0);
    if (a.sign == b.sign) {
        return (exact){a.sign, a.m + low, a.e};
    }
    return a.m >= low ? (exact){a.sign, a.m - low, a.e} : (exact){b.sign, low - a.m, a.e};
}

static exact exact_product(exact a, exact b) { return (exact){a.sign ^ b.sign, a.m * b.m, a.e + b.e}; }

uint32_t sbi_soft_add(uint32_t a, uint32_t b) {
    if (is_nan(a) || is_nan(b) || (is_inf(a) && is_inf(b) && a != b)) {
        return NAN32;
    }
    if (is_inf(a) || is_inf(b)) {
        return is_inf(a) ? a : b;
    }
    if (is_zero(a) && is_zero(b)) {
        return a & b;
    }
    exact sum = exact_sum(unpack(a), unpack(b));
    return sum.m ? rounded32(sum) : 0;
}

uint32_t sbi_soft_mul(uint32_t a, uint32_t b) {
    uint32_t sign = (a ^ b) & 0x80000000u;
    if (is_nan(a) || is_nan(b) || (is_inf(a) && is_zero(b)) || (is_zero(a) && is_inf(b))) {
        return NAN32;
    }
    if (is_inf(a) || is_inf(b)) {
        return sign | INF32;
    }
    return sign | (rounded32(exact_product(unpack(a), unpack(b))) & 0x7fffffffu);
}

uint32_t sbi_soft_fma(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t sign = (a ^ b) & 0x80000000u;
    if (is_nan(a) || is_nan(b) || is_nan(c) || (is_inf(a) && is_zero(b)) || (is_zero(a) && is_inf(b))) {
        return NAN32;
    }
    if (is_inf(a) || is_inf(b)) {
        return is_inf(c) && c != (sign | INF32) ? NAN32 : sign | INF32;
    }
    if (is_inf(c)) {
        return c;
    }
    exact product = exact_product(unpack(a), unpack(b)), sum = exact_sum(product, unpack(c));
    if (product.m == 0 && is_zero(c)) {
        return sign & c;
    }
    return sum.m ? rounded32(sum) : 0;
}

uint32_t sbi_soft_div(uint32_t a, uint32_t b) {
    uint32_t sign = (a ^ b) & 0x80000000u;
    if (is_nan(a) || is_nan(b) || (is_inf(a) && is_inf(b)) || (is_zero(a) && is_zero(b))) {
        return NAN32;
    }
    if (is_inf(a) || is_zero(b)) {
        return sign | INF32;
    }
    if (is_inf(b) || is_zero(a)) {
        return sign;
    }
    exact x = normalised(unpack(a), 23), y = normalised(unpack(b), 23);
    uint64_t q = (x.m << 36) / y.m, rest = (x.m << 36) % y.m;
    return sign | (uint32_t)rounded((exact){0, q << 1 | (rest != 0), x.e - y.e - 37}, 24, -149, INF32);
}

uint32_t sbi_soft_sqrt(uint32_t a) {
    if (is_nan(a) || (a >> 31 && !is_zero(a))) {
        return NAN32;
    }
    if (is_zero(a) || is_inf(a)) {
        return a;
    }
    exact x = normalised(unpack(a), 60);
    if (x.e & 1) {
        x.m >>= 1; // (24 bits stand at the top: nothing falls off)
        x.e++;
    }
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 30; bit; bit >>= 1) {
        root = (root | bit) * (root | bit) <= x.m ? root | bit : root;
    }
    return rounded32((exact){0, root << 1 | (root * root != x.m), x.e / 2 - 1});
}

static uint64_t canonical64(exact x) { return (uint64_t)x.sign << 63 | rounded(x, 53, -1074, 0x7ff0000000000000u); }

uint64_t sbi_soft_widen(uint32_t a) { // as S of one term gives it: +0 for a zero
    if (is_nan(a)) {
        return 0x7ff8000000000000u;
    }
    if (is_inf(a)) {
        return (uint64_t)(a >> 31) << 63 | 0x7ff0000000000000u;
    }
    return is_zero(a) ? 0 : canonical64(unpack(a));
}

uint32_t sbi_soft_sum2(uint32_t a, uint32_t b) {
    if (is_nan(a) || is_nan(b) || is_inf(a) || is_inf(b)) {
        return sbi_soft_add(a, b);
    }
    exact sum = exact_sum(unpack(a), unpack(b));
    if (sum.m == 0) {
        return 0;
    }
    uint64_t wide = canonical64(sum), field = wide >> 52 & 0x7ff; // (never subnormal: a sum of floats is at least 2^-149)
    exact once = {(uint32_t)(wide >> 63), (wide & 0xfffffffffffffu) | (uint64_t)1 << 52, (int)field - 1075};
    uint32_t bits = rounded32(once);
    return is_zero(bits) ? 0 : bits;
}

static uint32_t soft_max(uint32_t a, uint32_t b, bool largest) {
    if (is_nan(a) || is_nan(b)) {
        return NAN32;
    }
    int64_t x = a >> 31 ? -(int64_t)(a & 0x7fffffffu) - 1 : (int64_t)a, y = b >> 31 ? -(int64_t)(b & 0x7fffffffu) - 1 : (int64_t)b;
    return (x > y) == largest ? a : b; // (-0 is -1 here, below +0)
}

// ---- operands

static const uint32_t hostile[64] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x00000002, 0x00000003, 0x003fffff, 0x00400000, 0x00400001, 0x007ffffe,
    0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x00800001, 0x00ffffff, 0x01000000, 0x01000001, 0x0d800000, 0x1f800000,
    0x20000000, 0x26901d7d, 0x33000000, 0x33800000, 0x33800001, 0x34000000, 0x34400000, 0x3a800000, 0x3eaaaaab, 0x3f000000,
    0x3f7fffff, 0x3f7ffffe, 0x3f800000, 0xbf800000, 0x3f800001, 0xbf800001, 0x3f800800, 0x3fb504f3, 0x3fb504f4, 0x3fc00000,
    0x3fffffff, 0x40000000, 0x40400000, 0x40490fdb, 0x40800001, 0x41200000, 0x4b000000, 0x4b7fffff, 0x4b800000, 0x4b800001,
    0x4bffffff, 0x5f000000, 0x5f7fffff, 0x5f800000, 0x7e7fffff, 0x7effffff, 0x7f000000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
    0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001,
};
enum { PAIRS = 8192, ROWS = 256, COLUMNS = 64, SINGLES = 4096 };

static uint64_t draw(uint64_t i) { // splitmix64's finaliser
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// Every hostile pair, then pairs with any exponents, close ones, and ones whose quotient is subnormal.
static void make_pair(int i, uint32_t *a, uint32_t *b) {
    uint64_t z = draw((uint64_t)i);
    if (i < 4096) {
        *a = hostile[i / 64];
        *b = hostile[i % 64];
        return;
    }
    *a = (uint32_t)z;
    *b = (uint32_t)(z >> 32);
    if (i % 4 == 1) { // the same exponent, or nearly
        *b = (*b & 0x807fffffu) | (((*a >> 23) + (*b >> 28 & 3) - 1) & 0xff) << 23;
    } else if (i % 4 == 2) {
        *a = (*a & 0x80ffffffu);
        *b = (*b & 0x807fffffu) | ((*b >> 26 & 7) | 0x7c) << 23;
    }
}

// ---- the probes

typedef struct probing {
    sb_context *ctx;
    sb_status status;
    sb_error *err;
} probing;

static sb_array *array_of(probing *p, sb_dtype dtype, int ndim, int64_t rows, int64_t columns, const void *values) {
    sb_array *array = NULL;
    if (p->status == SB_OK) {
        p->status = sb_array_new(p->ctx, dtype, ndim, (const int64_t[]){rows, columns}, &array, p->err);
    }
    if (p->status == SB_OK && values) {
        p->status = sb_array_write(array, values, (size_t)sb_array_size(array) * sb_dtype_size(dtype), p->err);
    }
    return array;
}

static void read_array(probing *p, const sb_array *a, void *to) {
    if (p->status == SB_OK) {
        p->status = sb_array_read(a, to, (size_t)sb_array_size(a) * sb_dtype_size(sb_array_dtype(a)), p->err);
    }
}

static void judge(sbi_probe *probe, uint32_t a, uint32_t b, uint32_t c, uint64_t found, uint64_t expected) {
    probe->cases++;
    if (found != expected && probe->wrong++ == 0) {
        snprintf(probe->first, sizeof probe->first, "%s of %08x %08x %08x: %llx, expected %llx", probe->name, a, b, c,
                 (unsigned long long)found, (unsigned long long)expected);
    }
}

static uint32_t soft_sub(uint32_t a, uint32_t b) { return sbi_soft_add(a, is_nan(b) ? b : b ^ 0x80000000u); }
static uint32_t soft_maximum(uint32_t a, uint32_t b) { return soft_max(a, b, true); }
static uint32_t soft_minimum(uint32_t a, uint32_t b) { return soft_max(a, b, false); }

typedef struct operands {
    uint32_t a[PAIRS], b[PAIRS], both[2 * PAIRS], found[PAIRS > ROWS * COLUMNS ? PAIRS : ROWS * COLUMNS];
} operands;

static void probe_pairs(probing *p, operands *o, sbi_probe *probe, sb_binary_kind kind, uint32_t (*soft)(uint32_t, uint32_t)) {
    sb_array *a = array_of(p, SB_F32, 1, PAIRS, 0, o->a), *b = array_of(p, SB_F32, 1, PAIRS, 0, o->b);
    sb_array *out = array_of(p, SB_F32, 1, PAIRS, 0, NULL);
    if (p->status == SB_OK) {
        p->status = sb_binary(p->ctx, kind, a, b, out, p->err);
    }
    read_array(p, out, o->found);
    for (int i = 0; i < PAIRS && p->status == SB_OK; i++) {
        judge(probe, o->a[i], o->b[i], 0, o->found[i], soft(o->a[i], o->b[i]));
    }
    sb_array_free(a), sb_array_free(b), sb_array_free(out);
}

static void probe_sqrt(probing *p, operands *o, sbi_probe *probe) {
    sb_array *x = array_of(p, SB_F32, 1, PAIRS, 0, o->a), *out = array_of(p, SB_F32, 1, PAIRS, 0, NULL);
    if (p->status == SB_OK) {
        p->status = sb_unary(p->ctx, SB_SQRT, x, out, p->err);
    }
    read_array(p, out, o->found);
    for (int i = 0; i < PAIRS && p->status == SB_OK; i++) {
        judge(probe, o->a[i], 0, 0, o->found[i], sbi_soft_sqrt(o->a[i]));
    }
    sb_array_free(x), sb_array_free(out);
}

// Rows (c, a) times columns (1, b): fma(a, b, c + 0), then totals from +0. A third of the c cancel a product.
static void probe_fma(probing *p, operands *o, sbi_probe *probe) {
    for (int i = 0; i < ROWS; i++) {
        uint32_t a = o->a[31 * i], b = o->b[4096 + 61 * (i % COLUMNS)], product = sbi_soft_mul(a, b);
        o->both[2 * i + 1] = a;
        o->both[2 * i] = i % 3 == 0 && !is_nan(product) ? product ^ 0x80000000u : o->a[4096 + 15 * i];
    }
    for (int j = 0; j < COLUMNS; j++) {
        o->found[j] = 0x3f800000;
        o->found[COLUMNS + j] = o->b[4096 + 61 * j];
    }
    sb_array *left = array_of(p, SB_F32, 2, ROWS, 2, o->both), *right = array_of(p, SB_F32, 2, 2, COLUMNS, o->found);
    sb_array *out = array_of(p, SB_F32, 2, ROWS, COLUMNS, NULL);
    if (p->status == SB_OK) {
        p->status = sb_gemm(p->ctx, NULL, left, right, NULL, out, p->err);
    }
    read_array(p, out, o->found);
    for (int i = 0; i < ROWS * COLUMNS && p->status == SB_OK; i++) {
        uint32_t c = o->both[2 * (i / COLUMNS)], a = o->both[2 * (i / COLUMNS) + 1], b = o->b[4096 + 61 * (i % COLUMNS)];
        judge(probe, a, b, c, o->found[i], sbi_soft_add(0, sbi_soft_fma(a, b, sbi_soft_add(0, c))));
    }
    sb_array_free(left), sb_array_free(right), sb_array_free(out);
}

static void probe_round(probing *p, operands *o, sbi_probe *probe) {
    for (int i = 0; i < PAIRS; i++) {
        o->both[2 * i] = o->a[i];
        o->both[2 * i + 1] = o->b[i];
    }
    sb_array *x = array_of(p, SB_F32, 2, PAIRS, 2, o->both), *out = array_of(p, SB_F32, 1, PAIRS, 0, NULL);
    if (p->status == SB_OK) {
        p->status = sb_reduce(p->ctx, SB_SUM, 1, x, out, p->err);
    }
    read_array(p, out, o->found);
    for (int i = 0; i < PAIRS && p->status == SB_OK; i++) {
        judge(probe, o->a[i], o->b[i], 0, o->found[i], sbi_soft_sum2(o->a[i], o->b[i]));
    }
    sb_array_free(x), sb_array_free(out);
}

static void probe_widen(probing *p, sbi_probe *probe) {
    for (int i = 0; i < 64 && p->status == SB_OK; i++) {
        sb_array *x = array_of(p, SB_F32, 1, 1, 0, &hostile[i]);
        double value = 0;
        uint64_t bits;
        if (p->status == SB_OK) {
            p->status = sb_total(p->ctx, x, &value, p->err);
        }
        memcpy(&bits, &value, sizeof bits);
        if (p->status == SB_OK) {
            judge(probe, hostile[i], 0, 0, bits, sbi_soft_widen(hostile[i]));
        }
        sb_array_free(x);
    }
}

// Sorted ascending: every neighbour in order by integers, ties by position, NaN last.
static int64_t sort_key(uint32_t x) {
    return is_nan(x) ? INT64_MAX : x >> 31 ? -(int64_t)(x & 0x7fffffffu) : (int64_t)x;
}

static void probe_order(probing *p, operands *o, sbi_probe *probe) {
    static const int64_t none = -1;
    int64_t indices[SINGLES];
    sb_array *x = array_of(p, SB_F32, 1, SINGLES, 0, o->b), *out = array_of(p, SB_I64, 1, SINGLES, 0, NULL);
    if (p->status == SB_OK) {
        p->status = sb_argsort(p->ctx, x, 0, out, p->err);
    }
    read_array(p, out, indices);
    for (int i = 1; i < SINGLES && p->status == SB_OK; i++) {
        int64_t before = indices[i - 1], after = indices[i];
        bool inside = before > none && before < SINGLES && after > none && after < SINGLES;
        int64_t one = inside ? sort_key(o->b[before]) : 0, other = inside ? sort_key(o->b[after]) : 0;
        judge(probe, inside ? o->b[before] : 0, inside ? o->b[after] : 0, 0, inside && (one < other || (one == other && before < after)), 1);
    }
    sb_array_free(x), sb_array_free(out);
}

sb_status sbi_probe_device(sb_context *ctx, sbi_probe out[SBI_PROBES], sb_error *err) {
    static const char *const names[SBI_PROBES] = {"add", "sub", "mul", "div", "maximum", "minimum", "sqrt", "fma", "round", "widen", "order"};
    probing p = {ctx, SB_OK, err};
    operands *o = sbi_allocate(&sbi_malloc_allocator, 1, sizeof *o, err);
    if (!o) {
        return SB_ERR_MEMORY;
    }
    memset(out, 0, SBI_PROBES * sizeof *out);
    for (int i = 0; i < SBI_PROBES; i++) {
        out[i].name = names[i];
    }
    for (int i = 0; i < PAIRS; i++) {
        make_pair(i, &o->a[i], &o->b[i]);
    }
    probe_pairs(&p, o, &out[0], SB_ADD, sbi_soft_add);
    probe_pairs(&p, o, &out[1], SB_SUB, soft_sub);
    probe_pairs(&p, o, &out[2], SB_MUL, sbi_soft_mul);
    probe_pairs(&p, o, &out[3], SB_DIV, sbi_soft_div);
    probe_pairs(&p, o, &out[4], SB_MAXIMUM, soft_maximum);
    probe_pairs(&p, o, &out[5], SB_MINIMUM, soft_minimum);
    probe_sqrt(&p, o, &out[6]);
    probe_fma(&p, o, &out[7]);
    probe_round(&p, o, &out[8]);
    probe_widen(&p, &out[9]);
    probe_order(&p, o, &out[10]);
    sbi_release(&sbi_malloc_allocator, o);
    return p.status;
}
