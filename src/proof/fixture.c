// SPDX-License-Identifier: Apache-2.0
// Fixtures: the inputs of lanes, made with integers alone, and what a lane's run is given by proof.h.
//
// Draws (docs/verify.md). key = the first 8 bytes, little-endian, of SHA-256 over the seed (8 bytes, little-endian) and
// the names of lane, fixture and input, each followed by a zero byte. Draw i of an input is
// mix(key + (i + 1) * 0x9e3779b97f4a7c15) modulo 2^64, with mix the finaliser of splitmix64 (G. L. Steele, D. Lea,
// C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). Element i takes draw i and nothing else.
#include "proof.h"

#include <stdio.h>
#include <string.h>

const char *const sbi_fixture_names[SBI_FIX_COUNT] = {
    "plain", "ties", "wide", "subnormal", "zeros", "offset", "odd", "empty", "one", "nonfinite",
};

static uint64_t draw(uint64_t key, int64_t i) {
    uint64_t z = key + ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t draw_key(const sbi_lane_run *run, const char *name) {
    sbi_sha256 hash;
    uint8_t bytes[32];
    uint64_t key = 0;
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(run->seed >> 8 * i);
    }
    sbi_sha256_start(&hash);
    sbi_sha256_add(&hash, bytes, 8);
    sbi_sha256_add(&hash, run->lane->name, strlen(run->lane->name) + 1);
    sbi_sha256_add(&hash, sbi_fixture_names[run->fixture], strlen(sbi_fixture_names[run->fixture]) + 1);
    sbi_sha256_add(&hash, name, strlen(name) + 1);
    sbi_sha256_end(&hash, bytes);
    for (int i = 7; i >= 0; i--) {
        key = key << 8 | bytes[i];
    }
    return key;
}

// ---- values, as bits of float32

// magnitude * 2^exponent; magnitude < 2^24 and the value a normal number (or zero).
static uint32_t float_bits(uint32_t sign, uint32_t magnitude, int exponent) {
    if (magnitude == 0) {
        return sign << 31;
    }
    while (magnitude < 1u << 23) {
        magnitude <<= 1;
        exponent--;
    }
    return sign << 31 | (uint32_t)(exponent + 150) << 23 | (magnitude & 0x7fffffu);
}

// (2u + 1 - 2^24) * 2^-23 for u of 24 bits: in (-2, 2), the last of 24 bits set.
static uint32_t plain_bits(uint64_t z) {
    int32_t odd = (int32_t)(2 * (uint32_t)(z >> 40) + 1) - (1 << 24);
    return float_bits(odd < 0, (uint32_t)(odd < 0 ? -odd : odd), -23);
}

// Sums and products of these stand halfway between two floats: 1 + 2^-24, (1 + 2^-12)(1 - 2^-13), 3 * 2^-24 + 1 ...
static const uint32_t ties[16] = {
    0x3f800000, 0xbf800000, 0x3f800001, 0xbf800001, 0x33800000, 0xb3800000, 0x34400000, 0xb4400000, // 1 1+ulp 2^-24 3*2^-24
    0x3f800800, 0x3f7ff800, 0xbf800800, 0x3f000000, 0xbf000000, 0x3fc00000, 0xbfc00000, 0x3f7fffff, // 1+2^-12 1-2^-13 1/2 3/2
};

static uint32_t nonfinite_bits(uint64_t z) {
    static const uint32_t values[8] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7f800000,
                                       0xff800000, 0xffc00000, 0x7fc12345, 0x7fa00001};
    return values[z & 7];
}

// Infinities and NaN stand in half of the rows (of a vector: all along), one element in 32, so that finite results are
// left. Rows 0, 1, 2 modulo 6 hold +inf alone, -inf alone, NaN of any kind; 3 holds all.
static uint32_t with_nonfinite(uint64_t z, int64_t row, bool vector) {
    int64_t kind = vector ? 3 : row % 6;
    if (kind > 3 || (z & 31) != 7) {
        return plain_bits(z);
    }
    uint64_t pick = z >> 5 & 7;
    return nonfinite_bits(kind == 0 ? 0 : kind == 1 ? 1 : kind == 2 ? (pick & 1 ? 2 : 5 + pick % 3) : pick);
}

static uint32_t value_bits(sbi_fixture fixture, uint64_t z, int64_t row, bool vector) {
    uint32_t sign = z & 1, fraction = (uint32_t)(z >> 41);
    switch (fixture) {
    case SBI_FIX_TIES: return ties[z >> 60];
    case SBI_FIX_WIDE: // exponents -40 .. 40
        return sign << 31 | (uint32_t)(127 - 40 + (z >> 1 & 0xffff) % 81) << 23 | fraction;
    case SBI_FIX_SUBNORMAL: // three in four below 2^-122, half of these subnormal; the rest plain
        return (z >> 1 & 3) == 3 ? plain_bits(z) : sign << 31 | (uint32_t)((z >> 4 & 7) > 4 ? 0 : z >> 4 & 7) << 23 | fraction;
    case SBI_FIX_ZEROS: return (z >> 1 & 1) ? plain_bits(z) : sign << 31;
    case SBI_FIX_OFFSET: return float_bits(0, 10000u * 1024u - 2048u + (uint32_t)(z >> 52), -10);
    case SBI_FIX_NONFINITE: return with_nonfinite(z, row, vector);
    default: return plain_bits(z);
    }
}

// The same number in binary64, with 29 more bits drawn behind it where it is finite and not zero.
static uint64_t widen_bits(uint32_t bits, uint64_t z) {
    uint64_t sign = (uint64_t)(bits >> 31) << 63, more = z * 0xd1342543de82ef95u >> 35;
    uint32_t field = bits >> 23 & 0xff, fraction = bits & 0x7fffffu;
    if (field == 0xff) {
        return sign | 0x7ff0000000000000u | (uint64_t)fraction << 29;
    }
    if (field == 0 && fraction == 0) {
        return sign;
    }
    int exponent = (int)field + 896;
    if (field == 0) {
        for (exponent = 897; fraction < 1u << 23; exponent--) {
            fraction <<= 1;
        }
    }
    return sign | (uint64_t)exponent << 52 | (uint64_t)(fraction & 0x7fffffu) << 29 | more;
}

// ---- native values of binary64 (lanes whose data are float64), the same kinds with 53 bits

static uint64_t double_bits(uint64_t sign, uint64_t magnitude, int exponent) { // as float_bits; magnitude < 2^53
    if (magnitude == 0) {
        return sign << 63;
    }
    while (magnitude < (uint64_t)1 << 52) {
        magnitude <<= 1;
        exponent--;
    }
    return sign << 63 | (uint64_t)(exponent + 1075) << 52 | (magnitude & 0xfffffffffffffu);
}

// (2u + 1 - 2^53) * 2^-52 for u of 53 bits: in (-2, 2), 53 bits, the last of them set.
static uint64_t plain_double(uint64_t z) {
    int64_t odd = (int64_t)(2 * (z >> 11) + 1) - ((int64_t)1 << 53);
    return double_bits(odd < 0, (uint64_t)(odd < 0 ? -odd : odd), -52);
}

// As `ties`: 1, 1 + ulp, 2^-53, 3 * 2^-53, 1 + 2^-26, 1 - 2^-27, 1/2, 3/2, 1 - 2^-53.
static const uint64_t wide_ties[16] = {
    0x3ff0000000000000, 0xbff0000000000000, 0x3ff0000000000001, 0xbff0000000000001,
    0x3ca0000000000000, 0xbca0000000000000, 0x3cb8000000000000, 0xbcb8000000000000,
    0x3ff0000004000000, 0x3feffffffc000000, 0xbff0000004000000, 0x3fe0000000000000,
    0xbfe0000000000000, 0x3ff8000000000000, 0xbff8000000000000, 0x3fefffffffffffff,
};

static uint64_t value_bits64(sbi_fixture fixture, uint64_t z, int64_t row, bool vector) {
    uint64_t sign = z & 1, fraction = z * 0xd1342543de82ef95u >> 12;
    uint32_t narrow;
    switch (fixture) {
    case SBI_FIX_TIES: return wide_ties[z >> 60];
    case SBI_FIX_WIDE: // exponents -300 .. 300
        return sign << 63 | (uint64_t)(1023 - 300 + (z >> 1 & 0xffff) % 601) << 52 | fraction;
    case SBI_FIX_SUBNORMAL: // three in four below 2^-1018, half of these subnormal; the rest plain
        return (z >> 1 & 3) == 3 ? plain_double(z) : sign << 63 | ((z >> 4 & 7) > 4 ? 0 : z >> 4 & 7) << 52 | fraction;
    case SBI_FIX_ZEROS: return (z >> 1 & 1) ? plain_double(z) : sign << 63;
    case SBI_FIX_OFFSET: return double_bits(0, (uint64_t)(10000 * 1024 - 2048 + (z >> 52)) << 20 | (z >> 30 & 0xfffff), -30);
    case SBI_FIX_NONFINITE:
        narrow = with_nonfinite(z, row, vector);
        return (narrow >> 23 & 0xff) == 0xff ? widen_bits(narrow, z) : plain_double(z);
    default: return plain_double(z);
    }
}

// ---- arrays of a run

static void fail(sbi_lane_run *run, sb_status status) {
    if (run->status == SB_OK) {
        run->status = status;
    }
}

static sb_array *keep(sbi_lane_run *run, sb_array *array) {
    if (run->count == run->capacity) {
        int64_t capacity = run->capacity ? 2 * run->capacity : 64;
        sb_array **arrays = sbi_allocate(&sbi_malloc_allocator, capacity, sizeof(sb_array *), NULL);
        if (!arrays) {
            sb_array_free(array);
            fail(run, SB_ERR_MEMORY);
            return NULL;
        }
        for (int64_t i = 0; i < run->count; i++) {
            arrays[i] = run->arrays[i];
        }
        sbi_release(&sbi_malloc_allocator, run->arrays);
        run->arrays = arrays;
        run->capacity = capacity;
    }
    run->arrays[run->count++] = array;
    return array;
}

static sb_array *new_array(sbi_lane_run *run, sb_dtype dtype, int ndim, const int64_t *shape) {
    sb_array *array = NULL;
    if (run->status == SB_OK) {
        fail(run, sb_array_new(run->ctx, dtype, ndim, shape, &array, NULL));
    }
    return array ? keep(run, array) : NULL;
}

static size_t array_bytes(const sb_array *a) { return (size_t)sb_array_size(a) * sb_dtype_size(sb_array_dtype(a)); }

// Fills a new array with elements made by `make` (in host order).
typedef void (*element_maker)(const sbi_lane_run *run, uint64_t z, int64_t row, bool vector, int64_t bound, void *to);

static sb_array *fill(sbi_lane_run *run, const char *name, sb_dtype dtype, int ndim, const int64_t *shape, int64_t bound,
                      element_maker make, bool nudgeable, void (*change)(sb_dtype dtype, int64_t bound, void *element)) {
    sb_array *array = new_array(run, dtype, ndim, shape);
    if (!array) {
        return NULL;
    }
    int64_t size = sb_array_size(array), rows = ndim ? shape[0] : 1;
    size_t item = sb_dtype_size(dtype);
    uint8_t *bytes = sbi_allocate(&sbi_malloc_allocator, size + 1, item, NULL);
    if (!bytes) {
        fail(run, SB_ERR_MEMORY);
        return NULL;
    }
    uint64_t key = draw_key(run, name);
    for (int64_t i = 0; i < size; i++) {
        make(run, draw(key, i), i / (size / rows), ndim < 2, bound, bytes + (size_t)i * item);
    }
    if (nudgeable) {
        int64_t at = run->nudge - run->inputs_seen;
        if (run->nudge >= 0 && at >= 0 && at < size) {
            change(dtype, bound, bytes + (size_t)at * item);
            snprintf(run->nudged, sizeof run->nudged, "%.40s[%lld]", name, (long long)at);
        }
        run->inputs_seen += size;
    }
    fail(run, sb_array_write(array, bytes, array_bytes(array), NULL));
    sbi_release(&sbi_malloc_allocator, bytes);
    return array;
}

static void make_float(const sbi_lane_run *run, uint64_t z, int64_t row, bool vector, int64_t bound, void *to) {
    uint32_t bits = value_bits(run->fixture, z, row, vector);
    (void)bound;
    memcpy(to, &bits, sizeof bits);
}

static void make_double(const sbi_lane_run *run, uint64_t z, int64_t row, bool vector, int64_t bound, void *to) {
    uint64_t bits = run->lane->dtype == SB_F64 ? value_bits64(run->fixture, z, row, vector)
                                               : widen_bits(value_bits(run->fixture, z, row, vector), z);
    (void)bound;
    memcpy(to, &bits, sizeof bits);
}

// One ulp away from zero: the next bit pattern, unless that leaves the finite numbers.
static void add_ulp(sb_dtype dtype, int64_t bound, void *element) {
    (void)bound;
    if (dtype == SB_F32) {
        uint32_t bits;
        memcpy(&bits, element, sizeof bits);
        bits += (bits & 0x7fffffffu) < 0x7f7fffffu;
        memcpy(element, &bits, sizeof bits);
    } else {
        uint64_t bits;
        memcpy(&bits, element, sizeof bits);
        bits += (bits & 0x7fffffffffffffffu) < 0x7fefffffffffffffu;
        memcpy(element, &bits, sizeof bits);
    }
}

sb_array *sbi_lane_input(sbi_lane_run *run, const char *name, sb_dtype dtype, int ndim, const int64_t *shape) {
    if (run->real && dtype == SB_F32) {
        dtype = run->real;
    }
    if (dtype != SB_F32 && dtype != SB_F64) {
        fail(run, SB_ERR_DTYPE);
        return NULL;
    }
    return fill(run, name, dtype, ndim, shape, 0, dtype == SB_F32 ? make_float : make_double, run->lane->counts_inputs, add_ulp);
}

static uint64_t index_of(const sbi_lane_run *run, uint64_t z, int64_t bound) { // floor(z * bound / 2^64)
    uint64_t b = (uint64_t)bound, low = (z & 0xffffffffu) * (b & 0xffffffffu);
    uint64_t middle = (z >> 32) * (b & 0xffffffffu) + (low >> 32), other = (z & 0xffffffffu) * (b >> 32) + (middle & 0xffffffffu);
    uint64_t index = (z >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
    return run->fixture == SBI_FIX_TIES ? index % 4 : index; // few distinct ones
}

static void make_index32(const sbi_lane_run *run, uint64_t z, int64_t row, bool vector, int64_t bound, void *to) {
    int32_t index = (int32_t)index_of(run, z, bound);
    (void)row, (void)vector;
    memcpy(to, &index, sizeof index);
}

static void make_index64(const sbi_lane_run *run, uint64_t z, int64_t row, bool vector, int64_t bound, void *to) {
    int64_t index = (int64_t)index_of(run, z, bound);
    (void)row, (void)vector;
    memcpy(to, &index, sizeof index);
}

static void make_index8(const sbi_lane_run *run, uint64_t z, int64_t row, bool vector, int64_t bound, void *to) {
    (void)row, (void)vector;
    *(uint8_t *)to = (uint8_t)index_of(run, z, bound);
}

static void next_index(sb_dtype dtype, int64_t bound, void *element) {
    int64_t wide = 0;
    int32_t narrow = 0;
    if (dtype == SB_U8) {
        *(uint8_t *)element = (uint8_t)((*(uint8_t *)element + 1) % bound);
    } else if (dtype == SB_I32) {
        memcpy(&narrow, element, sizeof narrow);
        narrow = (int32_t)((narrow + 1) % bound);
        memcpy(element, &narrow, sizeof narrow);
    } else {
        memcpy(&wide, element, sizeof wide);
        wide = wide == bound - 1 ? 0 : wide + 1;
        memcpy(element, &wide, sizeof wide);
    }
}

sb_array *sbi_lane_indices(sbi_lane_run *run, const char *name, sb_dtype dtype, int ndim, const int64_t *shape, int64_t bound) {
    bool empty = false;
    for (int i = 0; i < ndim; i++) {
        empty = empty || shape[i] == 0;
    }
    element_maker make = dtype == SB_U8 ? make_index8 : dtype == SB_I32 ? make_index32 : make_index64;
    int64_t most = dtype == SB_U8 ? 256 : dtype == SB_I32 ? INT32_MAX : INT64_MAX;
    if ((dtype != SB_U8 && dtype != SB_I32 && dtype != SB_I64) || (bound < 1 && !empty) || bound > most) {
        fail(run, SB_ERR_ARGUMENT);
        return NULL;
    }
    return fill(run, name, dtype, ndim, shape, bound, make, !run->lane->counts_inputs, next_index);
}

uint64_t sbi_lane_word(sbi_lane_run *run, const char *name) {
    uint64_t word = draw(draw_key(run, name), 0);
    if (!run->lane->counts_inputs) {
        if (run->nudge == run->inputs_seen) {
            word++;
            snprintf(run->nudged, sizeof run->nudged, "%.60s", name);
        }
        run->inputs_seen++;
    }
    return word;
}

sb_array *sbi_lane_result(sbi_lane_run *run, sb_dtype dtype, int ndim, const int64_t *shape) {
    sb_array *array = new_array(run, run->real && dtype == SB_F32 ? run->real : dtype, ndim, shape);
    if (!array) {
        return NULL;
    }
    size_t bytes = array_bytes(array);
    uint8_t *poison = sbi_allocate(&sbi_malloc_allocator, (int64_t)bytes + 1, 1, NULL);
    if (!poison) {
        fail(run, SB_ERR_MEMORY);
        return NULL;
    }
    memset(poison, 0xa5 + run->poison, bytes);
    fail(run, sb_array_write(array, poison, bytes, NULL));
    sbi_release(&sbi_malloc_allocator, poison);
    return array;
}

// ---- sizes and parts

int64_t sbi_lane_size(const sbi_lane_run *run, int64_t standard, int64_t odd) {
    switch (run->fixture) {
    case SBI_FIX_ODD: return odd;
    case SBI_FIX_EMPTY: return 0;
    case SBI_FIX_ONE: return 1;
    default: return standard;
    }
}

static sbi_part part_from(const sbi_lane_run *run, int64_t first, int64_t rows) {
    int64_t step = run->split == SBI_WHOLE ? rows : run->split == SBI_HALVES ? (rows + 1) / 2 : 1;
    return (sbi_part){first, rows - first < step ? rows - first : step, rows};
}

sbi_part sbi_lane_first(const sbi_lane_run *run, int64_t rows) {
    return rows == 0 ? (sbi_part){0, -1, 0} : part_from(run, 0, rows);
}

sbi_part sbi_lane_next(const sbi_lane_run *run, sbi_part part) {
    return part.rows == 0 ? (sbi_part){0, 0, 0} : part_from(run, part.first + part.count, part.rows);
}

sb_array *sbi_lane_part(sbi_lane_run *run, sb_array *a, sbi_part part) {
    sb_array *slice = NULL;
    if (run->status == SB_OK && a) {
        fail(run, sb_array_slice(a, part.first, part.count < 0 ? 0 : part.count, &slice, NULL));
    }
    return slice ? keep(run, slice) : NULL;
}

void sbi_lane_do(sbi_lane_run *run, sb_status status) { fail(run, status); }

// ---- cells

static bool little_endian(void) {
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 1;
}

// SHA-256 over: u32 length of the dtype's name, the name, u32 ndim, i64 dimensions, the elements; all little-endian.
static void hash_number(sbi_sha256 *hash, uint64_t value, int bytes) {
    uint8_t little[8];
    for (int i = 0; i < bytes; i++) {
        little[i] = (uint8_t)(value >> 8 * i);
    }
    sbi_sha256_add(hash, little, (size_t)bytes);
}

static void hash_elements(sbi_sha256 *hash, uint8_t *bytes, size_t size, size_t item) {
    if (!little_endian()) {
        for (size_t at = 0; at < size; at += item) {
            for (size_t i = 0; i < item / 2; i++) {
                uint8_t held = bytes[at + i];
                bytes[at + i] = bytes[at + item - 1 - i];
                bytes[at + item - 1 - i] = held;
            }
        }
    }
    sbi_sha256_add(hash, bytes, size);
}

static void hash_start(sbi_sha256 *hash, sb_dtype dtype, int ndim, const int64_t *shape) {
    const char *name = sb_dtype_name(dtype);
    sbi_sha256_start(hash);
    hash_number(hash, strlen(name), 4);
    sbi_sha256_add(hash, name, strlen(name));
    hash_number(hash, (uint64_t)ndim, 4);
    for (int i = 0; i < ndim; i++) {
        hash_number(hash, (uint64_t)shape[i], 8);
    }
}

sb_status sbi_lane_cell(sbi_lane_run *run, const char *name, const sb_array *a, sb_error *err) {
    if (run->status != SB_OK || !a) {
        fail(run, SB_ERR_INTERNAL); // (a missing array without a status is a fault of the lane)
        return run->status;
    }
    sbi_sha256 hash;
    uint8_t digest[32];
    size_t size = array_bytes(a);
    uint8_t *bytes = sbi_allocate(&sbi_malloc_allocator, (int64_t)size + 1, 1, err);
    fail(run, bytes ? sb_array_read(a, bytes, size, err) : SB_ERR_MEMORY);
    if (run->status == SB_OK) {
        hash_start(&hash, sb_array_dtype(a), sb_array_ndim(a), sb_array_shape(a));
        hash_elements(&hash, bytes, size, sb_dtype_size(sb_array_dtype(a)));
        sbi_sha256_end(&hash, digest);
        run->report(run->user, name, digest, a);
    }
    sbi_release(&sbi_malloc_allocator, bytes);
    return run->status;
}

sb_status sbi_lane_cell_real(sbi_lane_run *run, const char *name, double value, sb_error *err) {
    sb_array *array = new_array(run, SB_F64, 0, NULL);
    if (array) {
        fail(run, sb_array_write(array, &value, sizeof value, err));
    }
    return sbi_lane_cell(run, name, array, err);
}

sb_status sbi_lane_carry_out(sbi_lane_run *run, sb_error *err) {
    run->status = SB_OK;
    run->inputs_seen = 0;
    run->nudged[0] = '\0';
    run->arrays = NULL;
    run->count = run->capacity = 0;
    sb_error unused;
    sb_error *filled = err ? err : &unused;
    *filled = (sb_error){.status = SB_OK};
    fail(run, run->lane->run(run, filled));
    for (int64_t i = run->count; i-- > 0;) {
        sb_array_free(run->arrays[i]);
    }
    sbi_release(&sbi_malloc_allocator, run->arrays);
    run->arrays = NULL;
    if (run->status != SB_OK && filled->status != run->status) { // a helper failed first: it has no sentence of its own
        sbi_fail(filled, run->status, run->lane->name, "the run ended with %s",
                 sb_status_name(run->status));
    }
    return run->status;
}
