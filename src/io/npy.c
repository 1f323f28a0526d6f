// SPDX-License-Identifier: Apache-2.0
// .npy: six bytes of magic, two of version, the length of the header (2 bytes, from version 2 on 4, little-endian), a Python
// literal {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), } padded with spaces and ended by a newline, the elements.
#include "npy.h"

#include <string.h>

enum { LONGEST_HEADER = 65536, CHUNK_ELEMENTS = 1 << 16 };

// ---- the literal

typedef struct reader {
    const uint8_t *bytes;
    int64_t at, end;
    sb_error *err;
} reader;

static sb_status fail(reader *r, const char *expected) {
    return sbi_fail(r->err, SB_ERR_FORMAT, "header", "byte %lld of the npy header: expected %s", (long long)r->at, expected);
}

static void skip_spaces(reader *r) {
    while (r->at < r->end && (r->bytes[r->at] == ' ' || r->bytes[r->at] == '\n' || r->bytes[r->at] == '\t')) r->at++;
}

static bool take(reader *r, char c) {
    skip_spaces(r);
    if (r->at == r->end || r->bytes[r->at] != (uint8_t)c) return false;
    r->at++;
    return true;
}

static bool take_word(reader *r, const char *word) {
    const int64_t length = (int64_t)strlen(word);
    skip_spaces(r);
    if (r->end - r->at < length || memcmp(r->bytes + r->at, word, (size_t)length) != 0) return false;
    r->at += length;
    return true;
}

// A quoted word without escapes, at most size - 1 bytes.
static sb_status take_string(reader *r, char *out, int64_t size) {
    skip_spaces(r);
    const char quote = r->at < r->end ? (char)r->bytes[r->at] : 0;
    if (quote != '\'' && quote != '"') return fail(r, "a quoted word");
    int64_t length = 0;
    for (r->at++; r->at < r->end && (char)r->bytes[r->at] != quote; r->at++) {
        if (length == size - 1 || r->bytes[r->at] == '\\' || r->bytes[r->at] < ' ') return fail(r, "a short word in quotes");
        out[length++] = (char)r->bytes[r->at];
    }
    if (r->at == r->end) return fail(r, "a closing quote");
    r->at++;
    out[length] = '\0';
    return SB_OK;
}

static sb_status take_descr(reader *r, sbi_npy *out) {
    static const char *const kinds[] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"};
    char word[64], shown[100];
    skip_spaces(r);
    if (r->at < r->end && r->bytes[r->at] == '[')
        return sbi_fail(r->err, SB_ERR_UNSUPPORTED, "descr", "the npy file holds structures: its dtype is a list of fields");
    sb_status status = take_string(r, word, sizeof word);
    if (status != SB_OK) return status;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strchr("<>|=", word[0]) && word[0] && strcmp(word + 1, kinds[i]) == 0) {
            out->kind = kinds[i][0];
            out->item = kinds[i][1] - '0';
            out->big = word[0] == '>';
            // '=' is the writer's order, which the file does not tell; '|' is for what has none.
            if (out->item == 1 || word[0] == '<' || word[0] == '>') return SB_OK;
        }
    return sbi_fail(r->err, SB_ERR_UNSUPPORTED, "descr", "the npy file holds the dtype \"%s\"; expected bool, integers or floats "
                    "of 16 to 64 bits", sbi_escape(word, strlen(word), shown, sizeof shown));
}

static sb_status take_shape(reader *r, sbi_npy *out) {
    if (!take(r, '(')) return fail(r, "( of the shape");
    while (!take(r, ')')) {
        int64_t value = 0;
        skip_spaces(r);
        const int64_t start = r->at;
        for (; r->at < r->end && r->bytes[r->at] >= '0' && r->bytes[r->at] <= '9'; r->at++)
            if (!sbi_multiply(value, 10, &value) || !sbi_add(value, r->bytes[r->at] - '0', &value))
                return sbi_fail(r->err, SB_ERR_SIZE, "shape", "a size in the npy header overflows 63 bits");
        if (r->at == start) return fail(r, "a size or ) of the shape");
        if (out->ndim == SB_MAX_DIMS)
            return sbi_fail(r->err, SB_ERR_UNSUPPORTED, "shape", "the npy file has more than %d dimensions", SB_MAX_DIMS);
        out->shape[out->ndim++] = value;
        if (!take(r, ',') && !(r->at < r->end && r->bytes[r->at] == ')')) return fail(r, ", or ) in the shape");
    }
    return SB_OK;
}

static sb_status take_literal(reader *r, sbi_npy *out) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    bool seen[3] = {false, false, false};
    char key[32];
    if (!take(r, '{')) return fail(r, "{");
    while (!take(r, '}')) {
        sb_status status = take_string(r, key, sizeof key);
        if (status != SB_OK) return status;
        int index = 0;
        while (index < 3 && strcmp(key, keys[index]) != 0) index++;
        if (index == 3 || seen[index]) return fail(r, "descr, fortran_order and shape, once each, before this");
        seen[index] = true;
        if (!take(r, ':')) return fail(r, ":");
        if (index == 0) {
            status = take_descr(r, out);
        } else if (index == 1) {
            out->fortran = take_word(r, "True");
            if (!out->fortran && !take_word(r, "False")) return fail(r, "True or False");
        } else {
            status = take_shape(r, out);
        }
        if (status != SB_OK) return status;
        skip_spaces(r);
        if (!take(r, ',') && !(r->at < r->end && r->bytes[r->at] == '}')) return fail(r, ", or }");
    }
    if (!seen[0] || !seen[1] || !seen[2]) return fail(r, "descr, fortran_order and shape, all three, before this");
    skip_spaces(r);
    return r->at == r->end ? SB_OK : fail(r, "nothing after }");
}

sb_status sbi_npy_header(const uint8_t *bytes, int64_t available, int64_t total, sbi_npy *out, sb_error *err) {
    memset(out, 0, sizeof *out);
    if (available < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return sbi_fail(err, SB_ERR_FORMAT, "header", "this is no npy file: it does not begin with \\x93NUMPY");
    const int major = bytes[6], wide = major >= 2 ? 4 : 2;
    if (major < 1 || major > 3 || bytes[7] != 0)
        return sbi_fail(err, SB_ERR_UNSUPPORTED, "header", "npy format %d.%d: expected 1.0, 2.0 or 3.0", major, bytes[7]);
    int64_t length = 0;
    for (int i = wide - 1; i >= 0; i--) length = length << 8 | (8 + i < available ? bytes[8 + i] : 0);
    out->offset = 8 + wide + length;
    if (out->offset > total)
        return sbi_fail(err, SB_ERR_FORMAT, "header", "the npy header claims %lld bytes, the file has %lld", (long long)length,
                        (long long)total);
    if (out->offset > available)
        return sbi_fail(err, SB_ERR_UNSUPPORTED, "header", "the npy header has %lld bytes: at most %d are read", (long long)length,
                        LONGEST_HEADER);
    reader r = {bytes, 8 + wide, out->offset, err};
    sb_status status = take_literal(&r, out);
    if (status != SB_OK) return status;
    int64_t size = 1, data;
    bool empty = false, fits = true;
    for (int i = 0; i < out->ndim; i++) {
        empty = empty || out->shape[i] == 0;
        fits = fits && (out->shape[i] == 0 || sbi_multiply(size, out->shape[i], &size));
    }
    if (!fits || !sbi_multiply(size, 8, &data)) // (8: whatever it is converted to)
        return sbi_fail(err, SB_ERR_SIZE, "shape", "the shape of the npy file overflows 63 bits");
    out->size = empty ? 0 : size;
    if (total - out->offset != out->size * out->item)
        return sbi_fail(err, SB_ERR_FORMAT, "shape", "by its shape the npy file has %lld bytes of elements, and %lld are there",
                        (long long)(out->size * out->item), (long long)(total - out->offset));
    return SB_OK;
}

sb_dtype sbi_npy_dtype(const sbi_npy *npy) {
    if (npy->kind == 'f') return npy->item == 8 ? SB_F64 : SB_F32;
    return npy->kind == 'u' && npy->item == 8 ? SB_U64 : SB_I64;
}

// ---- elements

static uint64_t word_of(const uint8_t *at, int item, bool big) {
    uint64_t word = 0;
    for (int i = 0; i < item; i++) word = word << 8 | at[big ? i : item - 1 - i];
    return word;
}

static bool big_endian(void) {
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 0;
}

static float half_of(uint32_t half) {
    const uint32_t sign = (half & 0x8000u) << 16, field = half >> 10 & 31;
    uint32_t fraction = half & 0x3ffu, exponent = field + 112, bits;
    float value;
    if (field == 0 && fraction) // subnormal: made normal
        for (exponent = 113; !(fraction & 0x400u); exponent--) fraction <<= 1;
    if (field == 31)
        bits = sign | 0x7f800000u | fraction << 13;
    else
        bits = field == 0 && fraction == 0 ? sign : sign | exponent << 23 | (fraction & 0x3ffu) << 13;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The place of element i of the file in the row-major array.
static int64_t place_of(const sbi_npy *npy, int64_t i) {
    int64_t place = 0, index[SB_MAX_DIMS];
    for (int k = 0; k < npy->ndim; k++) {
        index[k] = i % npy->shape[k];
        i /= npy->shape[k];
    }
    for (int k = 0; k < npy->ndim; k++) place = place * npy->shape[k] + index[k];
    return place;
}

static void put_float(const sbi_npy *npy, uint64_t word, sb_dtype dtype, void *to, int64_t place) {
    double wide;
    float narrow = 0.0f;
    uint32_t bits = (uint32_t)word;
    if (npy->item == 8) memcpy(&wide, &word, sizeof wide);
    if (npy->item == 4) memcpy(&narrow, &bits, sizeof narrow);
    if (npy->item == 2) narrow = half_of(bits);
    if (dtype == SB_F32)
        ((float *)to)[place] = npy->item == 8 ? (float)wide : narrow;
    else
        ((double *)to)[place] = npy->item == 8 ? wide : (double)narrow;
}

static void put_integer(uint64_t word, bool is_signed, sb_dtype dtype, void *to, int64_t place) {
    const int64_t value = (int64_t)word; // (an unsigned one that fits, or the signed one)
    switch (dtype) {
    case SB_F32: ((float *)to)[place] = is_signed ? (float)value : (float)word; break;
    case SB_F64: ((double *)to)[place] = is_signed ? (double)value : (double)word; break;
    case SB_I64: ((int64_t *)to)[place] = value; break;
    default: ((uint64_t *)to)[place] = word; break;
    }
}

sb_status sbi_npy_convert(const sbi_npy *npy, const uint8_t *bytes, int64_t first, int64_t count, sb_dtype dtype, void *to, sb_error *err) {
    const bool is_float = npy->kind == 'f', is_signed = npy->kind == 'i';
    const bool integers = dtype == SB_I64 || dtype == SB_U64;
    if ((!integers && dtype != SB_F32 && dtype != SB_F64) || (integers && is_float) || (dtype == SB_U64 && is_signed) ||
        (dtype == SB_I64 && npy->kind == 'u' && npy->item == 8))
        return sbi_fail(err, SB_ERR_DTYPE, "dtype", "elements of the npy file (%c%d) do not all fit the asked dtype", npy->kind, npy->item);
    const bool turned = npy->fortran && npy->ndim > 1;
    if (is_float && !turned && npy->big == big_endian() && npy->item == (dtype == SB_F64 ? 8 : 4)) { // as it stands
        memcpy((char *)to + first * npy->item, bytes, (size_t)(count * npy->item));
        return SB_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        uint64_t word = word_of(bytes + i * npy->item, npy->item, npy->big);
        const int64_t place = turned ? place_of(npy, first + i) : first + i;
        if (is_float) {
            put_float(npy, word, dtype, to, place);
            continue;
        }
        if (npy->kind == 'b') word = word != 0;
        if (is_signed && npy->item < 8) word |= word >> (8 * npy->item - 1) ? ~(uint64_t)0 << 8 * npy->item : 0;
        put_integer(word, is_signed, dtype, to, place);
    }
    return SB_OK;
}

// ---- files

static sb_status read_header(const sbi_allocator *allocator, sbi_source *source, int64_t total, sbi_npy *out, sb_error *err) {
    const int64_t most = total < LONGEST_HEADER ? total : LONGEST_HEADER;
    int64_t got = 0;
    uint8_t *bytes = sbi_allocate(allocator, most + 1, 1, err);
    sb_status status = bytes ? sbi_source_read(source, bytes, most, &got, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_npy_header(bytes, got, total, out, err);
    sbi_release(allocator, bytes);
    return status;
}

sb_status sbi_npy_open(const sbi_allocator *allocator, const char *path, sbi_npy *out, sb_error *err) {
    sbi_source *source = NULL;
    int64_t total = 0;
    sb_status status = sbi_source_open(allocator, path, &source, &total, err);
    if (status == SB_OK) status = read_header(allocator, source, total, out, err);
    sbi_source_close(source);
    return status;
}

sb_status sbi_npy_read(const sbi_allocator *allocator, const char *path, const sbi_npy *npy, sb_dtype dtype, void *to, sb_error *err) {
    sbi_source *source = NULL;
    int64_t total = 0, got = 0;
    const int64_t room = npy->offset > CHUNK_ELEMENTS * 8 ? npy->offset : CHUNK_ELEMENTS * 8;
    uint8_t *bytes = sbi_allocate(allocator, room, 1, err);
    sb_status status = bytes ? sbi_source_open(allocator, path, &source, &total, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_source_read(source, bytes, npy->offset, &got, err);
    for (int64_t first = 0; first < npy->size && status == SB_OK; first += CHUNK_ELEMENTS) {
        const int64_t count = npy->size - first < CHUNK_ELEMENTS ? npy->size - first : CHUNK_ELEMENTS;
        status = sbi_source_read(source, bytes, count * npy->item, &got, err);
        if (status == SB_OK && got < count * npy->item)
            status = sbi_fail(err, SB_ERR_IO, "path", "the npy file became shorter while it was read");
        if (status == SB_OK) status = sbi_npy_convert(npy, bytes, first, count, dtype, to, err);
    }
    sbi_source_close(source);
    sbi_release(allocator, bytes);
    return status;
}
