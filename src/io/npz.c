// SPDX-License-Identifier: Apache-2.0
// The zip archive of an .npz file: at its end a record that says where the directory is, there an entry a member, and before each
// member's bytes a header of its own, of which only the length counts (NumPy leaves its sizes to the directory).
#include "npz.h"

#include <stdio.h>
#include <string.h>

enum { END_SIZE = 22, ENTRY_SIZE = 46, HEADER_SIZE = 30 };

static int64_t number(const uint8_t *at, int bytes) {
    int64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
    return value;
}

static sb_status bad(const char *what, sb_error *err) { return sbi_fail(err, SB_ERR_FORMAT, "path", "this is no npz file: %s", what); }

typedef struct entry {
    const uint8_t *name; // not NUL-terminated
    int64_t name_length, flags, method, crc, packed, size, header;
} entry;

// Where the directory begins, and how many entries it has.
static sb_status find_directory(const uint8_t *bytes, int64_t size, int64_t *first, int64_t *end, int64_t *count, sb_error *err) {
    const int64_t oldest = size - END_SIZE - 65535;
    for (int64_t at = size - END_SIZE; at >= 0 && at >= oldest; at--) { // (a comment may stand behind it)
        if (memcmp(bytes + at, "PK\5\6", 4) != 0 || number(bytes + at + 20, 2) != size - END_SIZE - at) continue;
        *count = number(bytes + at + 10, 2);
        *first = number(bytes + at + 16, 4);
        *end = at;
        if (*count == 0xffff || *first == 0xffffffff)
            return sbi_fail(err, SB_ERR_UNSUPPORTED, "path", "this npz file has more than 65,534 members, or 4 GiB");
        return *first + number(bytes + at + 12, 4) == at ? SB_OK : bad("its directory is not where it should be", err);
    }
    return bad("it has no directory", err);
}

static sb_status read_entry(const uint8_t *bytes, int64_t end, int64_t *at, entry *out, sb_error *err) {
    const uint8_t *p = bytes + *at;
    if (end - *at < ENTRY_SIZE || memcmp(p, "PK\1\2", 4) != 0) return bad("an entry of its directory", err);
    *out = (entry){.name = p + ENTRY_SIZE, .name_length = number(p + 28, 2), .flags = number(p + 8, 2), .method = number(p + 10, 2),
                   .crc = number(p + 16, 4), .packed = number(p + 20, 4), .size = number(p + 24, 4), .header = number(p + 42, 4)};
    const int64_t length = ENTRY_SIZE + out->name_length + number(p + 30, 2) + number(p + 32, 2);
    if (length > end - *at) return bad("an entry of its directory is cut", err);
    *at += length;
    return SB_OK;
}

static bool is_named(const entry *e, const char *name) { // NAME.npy
    const int64_t length = (int64_t)strlen(name);
    return e->name_length == length + 4 && memcmp(e->name, name, (size_t)length) == 0 && memcmp(e->name + length, ".npy", 4) == 0;
}

static sb_status unpack(const sbi_allocator *allocator, const uint8_t *bytes, int64_t directory, const entry *e, uint8_t **out, sb_error *err) {
    const uint8_t *p = bytes + e->header;
    if (e->flags & 1) return sbi_fail(err, SB_ERR_UNSUPPORTED, "path", "this member of the npz file is encrypted");
    if (e->method != 0 && e->method != 8) return sbi_fail(err, SB_ERR_UNSUPPORTED, "path", "a member of the npz file is packed by method %lld", (long long)e->method);
    if (e->size == 0xffffffff || e->packed == 0xffffffff || e->header == 0xffffffff)
        return sbi_fail(err, SB_ERR_UNSUPPORTED, "path", "a member of this npz file has 4 GiB or more");
    if (e->header > directory - HEADER_SIZE || memcmp(p, "PK\3\4", 4) != 0) return bad("a member is not where the directory says", err);
    const int64_t from = e->header + HEADER_SIZE + number(p + 26, 2) + number(p + 28, 2);
    if (from > directory || e->packed > directory - from || (e->method == 0 && e->packed != e->size)) return bad("a member has another size", err);
    if (e->size / 1032 > e->packed) return bad("a member is larger than its bytes can say", err); // (deflate's best is 1 : 1032)
    if (!(*out = sbi_allocate(allocator, e->size, 1, err))) return SB_ERR_MEMORY;
    bool good = true;
    if (e->method == 8)
        good = sbi_inflate(bytes + from, e->packed, *out, e->size);
    else if (e->size)
        memcpy(*out, bytes + from, (size_t)e->size);
    if (good && sbi_crc32(*out, e->size) == (uint32_t)e->crc) return SB_OK;
    sbi_release(allocator, *out);
    *out = NULL;
    return bad("a member is damaged", err);
}

sb_status sbi_npz_member(const sbi_allocator *allocator, const uint8_t *archive, int64_t archive_size, const char *name, uint8_t **bytes,
                         int64_t *size, sb_error *err) {
    int64_t at = 0, end = 0, count = 0, found = 0;
    char names[200] = "", shown[80];
    entry chosen = {0}, e;
    sb_status status = find_directory(archive, archive_size, &at, &end, &count, err);
    for (int64_t i = 0; i < count && status == SB_OK; i++) {
        const size_t used = strlen(names);
        if ((status = read_entry(archive, end, &at, &e, err)) != SB_OK) break;
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", sbi_escape((const char *)e.name, (size_t)e.name_length, shown, sizeof shown));
        if (name && !is_named(&e, name)) continue;
        chosen = e;
        found++;
    }
    if (status == SB_OK && at != end) status = bad("its directory has more than its entries", err);
    if (status != SB_OK) return status;
    if (found != 1)
        return sbi_fail(err, SB_ERR_ARGUMENT, "path", "%s of the %lld members is meant (FILE.npz:NAME): %s", found ? "which" : "none", (long long)count, names);
    *size = chosen.size;
    return unpack(allocator, archive, end, &chosen, bytes, err);
}

sb_status sbi_npz_read(const sbi_allocator *allocator, const char *path, const char *name, uint8_t **bytes, int64_t *size, sb_error *err) {
    uint8_t *archive = NULL;
    int64_t archive_size = 0;
    sb_status status = sbi_file_read(allocator, path, INT64_C(1) << 32, &archive, &archive_size, err);
    if (status == SB_OK) status = sbi_npz_member(allocator, archive, archive_size, name, bytes, size, err);
    sbi_release(allocator, archive);
    return status;
}
