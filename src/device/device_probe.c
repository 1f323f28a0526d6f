// SPDX-License-Identifier: Apache-2.0
// Conformance of a device: the kernels of probe_single.cl and probe.cl on it and on the CPU, bit for bit. The CPU's own arithmetic is held to
// exact integers by src/proof/probe.c. Nothing that fails here may be used; there is no way round it.
//
// Operands: all triples of 64 hostile numbers (2^18), then drawn ones: any bits, numbers that cancel, products and
// quotients that are subnormal, halfway cases, sums that a product cancels but for its rounding.
#include "device.h"

#include <stdio.h>
#include <string.h>

enum { ROUND = 1 << 18, ROUNDS = 4, COUNTS = 1024 }; // 2^20 operands an operation

static const char *const arithmetic[] = {"add", "sub", "mul", "div", "sqrt", "fma", "max", "min", "compare", "contraction",
                                         "reassociation", "division by a constant"};
static const char *const conversions[] = {"float64 of float32", "float32 of float64", "float32 of int32", "float32 of uint32", "float32 of int64",
                                          "float32 of uint64", "float64 of int32", "float64 of int64", "float64 of uint64", "int32 of float32",
                                          "int32 of float64", "int64 of float64", "uint64 of float64"};
static const char *const integers[] = {"add", "sub", "mul", "mul high", "shift left", "shift right", "arithmetic shift", "div", "remainder",
                                       "signed div", "signed remainder", "compare", "mul 32", "mul 32 to 64", "div 32", "shifts 32", "narrow"};
static const char *const atomics[] = {"atomic add"};
static const char *const barriers[] = {"barrier"};

// ---- operands

typedef struct kind_of_float { int digits, exponents; } kind_of_float; // bits of the fraction, of the exponent
static const kind_of_float narrow = {23, 8}, wide = {52, 11};

static uint64_t draw(uint64_t i) { // splitmix64's finaliser
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t number(kind_of_float f, uint64_t sign, int64_t exponent, uint64_t fraction) {
    const int64_t most = ((int64_t)1 << f.exponents) - 1;
    exponent = exponent < 0 ? 0 : exponent > most ? most : exponent;
    return (sign & 1) << (f.digits + f.exponents) | (uint64_t)exponent << f.digits | (fraction & (((uint64_t)1 << f.digits) - 1));
}

static uint64_t hostile(kind_of_float f, uint64_t i) {
    const int64_t bias = ((int64_t)1 << (f.exponents - 1)) - 1, d = f.digits + 1;
    const int64_t exponents[16] = {0, 1, 2, d, bias / 2, bias / 2 + 1, bias - d - 1, bias - d, bias - 1, bias, bias + 1, bias + d - 1,
                                   bias + d, bias / 2 * 3, 2 * bias, 2 * bias + 1};
    const uint64_t one = 1, fractions[4] = {0, 1, (one << f.digits) - 1, one << (f.digits - 1)};
    return number(f, i ^ i >> 2 ^ i >> 4, exponents[i >> 2 & 15], fractions[i & 3]);
}

static void make_operands(kind_of_float f, uint64_t i, uint64_t *a, uint64_t *b, uint64_t *c) {
    const uint64_t x = draw(3 * i), y = draw(3 * i + 1), z = draw(3 * i + 2), sign = (uint64_t)1 << (f.digits + f.exponents);
    const int64_t bias = ((int64_t)1 << (f.exponents - 1)) - 1, spread = (int64_t)(z >> 8 & 31) - 16;
    const int64_t exponent = (int64_t)(x >> 1 & (((uint64_t)1 << f.exponents) - 1));
    if (i < ROUND) {
        *a = hostile(f, i & 63);
        *b = hostile(f, i >> 6 & 63);
        *c = hostile(f, i >> 12 & 63);
        return;
    }
    *a = number(f, x, exponent, y);
    *b = number(f, y >> 60, (int64_t)(y >> 1 & (((uint64_t)1 << f.exponents) - 1)), z);
    *c = number(f, z >> 60, (int64_t)(z >> 1 & (((uint64_t)1 << f.exponents) - 1)), x);
    switch (i & 7) {
    case 0: break;
    case 1: *b = (*a ^ sign) + (z & 7) - 3; break; // sums that cancel
    case 2: // products around the least number, and sums with one of that size
        *a = number(f, x, exponent, y);
        *b = number(f, z, bias - exponent - (int64_t)(z >> 8 & 63), x);
        *c = number(f, y, (int64_t)(y >> 8 & 1), z);
        break;
    case 3: // quotients around it
        *a = number(f, x, (int64_t)(z >> 8 & 63), y);
        *b = number(f, z, bias + (int64_t)(y >> 8 & 63), x);
        break;
    case 4: // half of a's last digit, and beside it
        *b = number(f, z, exponent - f.digits - 1, z & 1 ? 0 : (z >> 1 & 1 ? 1 : ~(uint64_t)0));
        break;
    case 5: // a product of few digits and its neighbour: what is cancelled is beyond its rounding
        *a = number(f, x, bias + spread, y & ~(uint64_t)0 << f.digits / 2);
        *b = number(f, z, bias - spread, y >> 7 & ~(uint64_t)0 << f.digits / 2);
        *c = number(f, z >> 1, bias - f.digits + spread, z >> 3);
        break;
    case 6: // near squares
        *a = number(f, 0, bias + 2 * spread, ((y >> 40) * (y >> 40) << (f.digits > 30 ? 4 : 0)) + (z & 3) - 1);
        break;
    default: // close exponents
        *b = number(f, y, exponent + (int64_t)(z >> 8 & 3) - 1, x);
        *c = number(f, z, 2 * exponent - bias + spread / 4, y);
        break;
    }
}

// ---- one kernel, on the device and on the CPU

typedef struct probing {
    const sbi_device *device;
    const sbi_kernel_table *kernels;
    sbi_pool *pool;
    sbi_conformance *out;
    void *in[3], *expected, *found; // on the host
    void *device_in[3], *device_out;
} probing;

static void tell(sbi_conformance *out, const char *kind, const char *name, const uint64_t operands[3], int count, uint64_t found,
                 uint64_t expected) {
    int length = snprintf(out->first, sizeof out->first, "%s %s of", kind, name);
    for (int i = 0; i < count; i++)
        length += snprintf(out->first + length, sizeof out->first - (size_t)length, " %llx", (unsigned long long)operands[i]);
    snprintf(out->first + length, sizeof out->first - (size_t)length, " gives %llx, and should give %llx", (unsigned long long)found,
             (unsigned long long)expected);
}

static uint64_t word(const void *words, int bytes, int64_t i) {
    return bytes == 4 ? ((const uint32_t *)words)[i] : ((const uint64_t *)words)[i];
}

// The kernel on the first `inputs` operand arrays, of `bytes[i]` each an element, to `results` a result of `wide_out`
// bytes each for n operands; names[results]. one: the n results are of no operand (counts).
static sb_status compare(probing *p, const char *kind, sbi_kernel_id kernel, int inputs, const int bytes[3], int wide_out,
                         const char *const *names, int results, int64_t n, sb_error *err) {
    const sbi_device *d = p->device;
    const bool counts = kernel == SBI_ID_k_probe_atomic;
    const int64_t each = counts ? COUNTS : n, size = each * results * wide_out;
    sbi_arg here[6] = {{0}}, there[6] = {{0}};
    sb_status status = SB_OK;
    memset(p->expected, 0, (size_t)size);
    for (int i = 0; i < inputs && status == SB_OK; i++) {
        here[i].in = p->in[i];
        there[i].in = p->device_in[i];
        status = d->write(d, p->in[i], p->device_in[i], n * bytes[i], err);
    }
    if (status == SB_OK) status = d->write(d, p->expected, p->device_out, size, err); // zeros
    here[inputs].out = p->expected;
    there[inputs].out = p->device_out;
    here[inputs + 1].i = there[inputs + 1].i = n;
    if (status == SB_OK) status = d->launch(d, p->kernels, p->pool, kernel, (n + 255) / 256, there, err);
    if (status == SB_OK) status = d->read(d, p->device_out, p->found, size, err);
    if (status == SB_OK) status = sbi_cpu.launch(&sbi_cpu, p->kernels, p->pool, kernel, (n + 255) / 256, here, err);
    if (status != SB_OK) return status;
    p->out->cases += n * results;
    for (int r = 0; r < results; r++) {
        const char *found = (const char *)p->found + r * each * wide_out, *expected = (const char *)p->expected + r * each * wide_out;
        if (memcmp(found, expected, (size_t)(each * wide_out)) == 0) continue;
        for (int64_t i = 0; i < each; i++) {
            if (word(found, wide_out, i) == word(expected, wide_out, i)) continue;
            const uint64_t operands[3] = {word(p->in[0], bytes[0], i), inputs > 1 ? word(p->in[1], bytes[1], i) : 0,
                                          inputs > 2 ? word(p->in[2], bytes[2], i) : 0};
            if (p->out->wrong++ == 0)
                tell(p->out, kind, names[r], operands, counts ? 0 : inputs, word(found, wide_out, i), word(expected, wide_out, i));
        }
    }
    return SB_OK;
}

static void fill_floats(probing *p, int64_t round, kind_of_float f) {
    for (int64_t i = 0; i < ROUND; i++) {
        uint64_t x[3];
        make_operands(f, (uint64_t)(round * ROUND + i), &x[0], &x[1], &x[2]);
        for (int j = 0; j < 3; j++) {
            if (f.digits == 23)
                ((uint32_t *)p->in[j])[i] = (uint32_t)x[j];
            else
                ((uint64_t *)p->in[j])[i] = x[j];
        }
    }
}

// Integers: words drawn, and words of few bits, which are where they carry and divide oddly.
static void fill_integers(probing *p, int64_t round) {
    for (int64_t i = 0; i < ROUND; i++)
        for (int j = 0; j < 2; j++) {
            const uint64_t x = draw((uint64_t)(2 * (round * ROUND + i) + j) + 0x10000000), power = (uint64_t)1 << (x & 63);
            ((uint64_t *)p->in[j])[i] = x >> 62 == 0 ? power - (x >> 8 & 1) : x >> 62 == 1 ? x >> (x & 63) : x;
        }
}

// A float32, and a float64 whose size is that of integers more often than not.
static void fill_mixed(probing *p, int64_t round) {
    for (int64_t i = 0; i < ROUND; i++) {
        uint64_t x[3], y[3];
        make_operands(narrow, (uint64_t)(round * ROUND + i), &x[0], &x[1], &x[2]);
        make_operands(wide, (uint64_t)(round * ROUND + i), &y[0], &y[1], &y[2]);
        const uint64_t z = draw((uint64_t)i);
        const bool middle = i & 1;
        ((uint32_t *)p->in[0])[i] = (uint32_t)(middle ? number(narrow, z, 127 + (int64_t)(z >> 8) % 36, x[0]) : x[0]);
        ((uint64_t *)p->in[1])[i] = middle ? number(wide, z >> 1, 1023 + (int64_t)(z >> 9) % 68, y[0] & ~(uint64_t)0 << (z & 31)) : i & 2 ? y[0] : number(wide, z, 1023 - 150 + (int64_t)(z >> 9) % 300, (y[0] & ~(uint64_t)0 << 29) + ((z & 3) << 28) - (z >> 2 & 1));
    }
}

#define COUNT(names) (int)(sizeof(names) / sizeof *(names))

static sb_status probe_round(probing *p, int64_t round, sb_error *err) {
    const int fours[3] = {4, 4, 4}, eights[3] = {8, 8, 8}, mixed[3] = {4, 8, 8};
    sb_status status;
    fill_floats(p, round, narrow);
    if ((status = compare(p, "float32", SBI_ID_k_probe_f32, 3, fours, 4, arithmetic, COUNT(arithmetic), ROUND, err))) return status;
    fill_integers(p, round);
    if ((status = compare(p, "integer", SBI_ID_k_probe_integer, 2, eights, 8, integers, COUNT(integers), ROUND, err)) ||
        (status = compare(p, "integer", SBI_ID_k_probe_atomic, 1, eights, 4, atomics, COUNT(atomics), ROUND, err)))
        return status;
    if ((status = compare(p, "canary", SBI_ID_k_probe_barrier, 1, eights, 8, barriers, COUNT(barriers), ROUND, err)) || p->device->single)
        return status;
    fill_floats(p, round, wide);
    if ((status = compare(p, "float64", SBI_ID_k_probe_f64, 3, eights, 8, arithmetic, COUNT(arithmetic), ROUND, err))) return status;
    fill_mixed(p, round);
    return compare(p, "conversion", SBI_ID_k_probe_convert, 2, mixed, 8, conversions, COUNT(conversions), ROUND, err);
}

sb_status sbi_device_probe(const sbi_device *device, const sbi_kernel_table *kernels, sbi_pool *pool, sbi_conformance *out,
                           sb_error *err) {
    const int64_t in_bytes = ROUND * 8, out_bytes = (int64_t)ROUND * 8 * COUNT(integers); // the most results
    const sbi_fpenv before = sbi_fpenv_enter();
    probing p = {.device = device, .kernels = kernels, .pool = pool, .out = out};
    sb_error why = {.status = SB_ERR_MEMORY};
    sb_status status = SB_OK;
    *out = (sbi_conformance){0};
    bool all = (p.expected = sbi_allocate(&sbi_malloc_allocator, out_bytes, 1, &why)) && (p.found = sbi_allocate(&sbi_malloc_allocator, out_bytes, 1, &why)) &&
               (p.device_out = device->allocate(device, &sbi_malloc_allocator, out_bytes, &why));
    for (int i = 0; i < 3 && all; i++)
        all = (p.in[i] = sbi_allocate(&sbi_malloc_allocator, in_bytes, 1, &why)) && (p.device_in[i] = device->allocate(device, &sbi_malloc_allocator, in_bytes, &why));
    if (!all) {
        status = why.status;
        if (err) *err = why;
    }
    for (int64_t round = 0; round < ROUNDS && status == SB_OK; round++) status = probe_round(&p, round, err);
    for (int i = 0; i < 3; i++) {
        sbi_release(&sbi_malloc_allocator, p.in[i]);
        device->release(device, &sbi_malloc_allocator, p.device_in[i]);
    }
    device->release(device, &sbi_malloc_allocator, p.device_out);
    sbi_release(&sbi_malloc_allocator, p.expected);
    sbi_release(&sbi_malloc_allocator, p.found);
    sbi_fpenv_leave(before);
    return status;
}
