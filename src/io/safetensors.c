// SPDX-License-Identifier: Apache-2.0
// safetensors: eight bytes of header length (little-endian), a JSON header, the data. Everything the header claims is
// checked against the bytes that are really there before anything uses it.
#include "safetensors.h"

#include "json.h"

#include <string.h>

static const struct {
    const char *name;
    sb_dtype dtype; // 0: a dtype of the format that samebits does not have
} dtypes[] = {
    {"F32", SB_F32}, {"F64", SB_F64}, {"I32", SB_I32}, {"I64", SB_I64}, {"U8", SB_U8}, {"U32", SB_U32}, {"U64", SB_U64},
    {"BOOL", 0}, {"I8", 0}, {"I16", 0}, {"U16", 0}, {"F16", 0}, {"BF16", 0}, {"F8_E4M3", 0}, {"F8_E5M2", 0},
};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

static int64_t dtype_bytes(sb_dtype dtype) {
    return dtype == SB_U8 ? 1 : dtype == SB_F32 || dtype == SB_I32 || dtype == SB_U32 ? 4 : 8;
}

static bool little_endian(void) {
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 1;
}

static void copy_swapped(uint8_t *to, const uint8_t *from, int64_t bytes, int64_t item) {
    if (item == 1 || little_endian()) {
        if (bytes) {
            memcpy(to, from, (size_t)bytes);
        }
        return;
    }
    for (int64_t i = 0; i < bytes; i += item) {
        for (int64_t j = 0; j < item; j++) {
            to[i + j] = from[i + item - 1 - j];
        }
    }
}

void sbi_tensor_copy(const sbi_tensor_view *view, void *to) {
    copy_swapped(to, view->bytes, view->size, dtype_bytes(view->dtype));
}

// The product of the shape in bytes; false on overflow or a negative dimension.
static bool shape_bytes(sb_dtype dtype, int ndim, const int64_t *shape, int64_t *out) {
    int64_t bytes = dtype_bytes(dtype);
    bool empty = false;
    for (int i = 0; i < ndim; i++) { // (sizes around a zero may not overflow either: who reads it multiplies in any order)
        empty = empty || shape[i] == 0;
        if (!sbi_multiply(bytes, shape[i] == 0 ? 1 : shape[i], &bytes)) {
            return false;
        }
    }
    *out = empty ? 0 : bytes;
    return true;
}

// ---- reading

typedef struct escaped { char text[96]; } escaped;
static const char *show(const sbi_json *member, escaped *out) { // a tensor's name, for a message
    return sbi_escape(member->key, (size_t)member->key_length, out->text, sizeof out->text);
}

static bool holds_nul(const char *text, int64_t length) { return memchr(text, 0, (size_t)length) != NULL; }

static sb_status read_dtype(const sbi_json *entry, sb_dtype *out, sb_error *err) {
    escaped name, found;
    const sbi_json *dtype = sbi_json_member(entry, "dtype");
    if (!dtype || dtype->kind != SBI_JSON_STRING) {
        return sbi_fail(err, SB_ERR_FORMAT, "dtype", "tensor \"%s\" has no dtype", show(entry, &name));
    }
    sbi_escape(dtype->text, (size_t)dtype->length, found.text, 32);
    for (int i = 0; i < DTYPES; i++) {
        if ((size_t)dtype->length == strlen(dtypes[i].name) && memcmp(dtype->text, dtypes[i].name, (size_t)dtype->length) == 0) {
            *out = dtypes[i].dtype;
            return *out ? SB_OK
                        : sbi_fail(err, SB_ERR_UNSUPPORTED, "dtype", "tensor \"%s\" is %s, which samebits does not have",
                                   show(entry, &name), dtypes[i].name);
        }
    }
    return sbi_fail(err, SB_ERR_FORMAT, "dtype", "tensor \"%s\" has the unknown dtype \"%s\"", show(entry, &name), found.text);
}

static sb_status read_tensor(sbi_arena *arena, const sbi_json *entry, const uint8_t *data, int64_t data_size,
                             sbi_tensor_view *out, sb_error *err) {
    escaped name;
    if (holds_nul(entry->key, entry->key_length)) {
        return sbi_fail(err, SB_ERR_FORMAT, "name", "the tensor name \"%s\" holds a NUL", show(entry, &name));
    }
    if (entry->kind != SBI_JSON_OBJECT) {
        return sbi_fail(err, SB_ERR_FORMAT, "header", "the entry of tensor \"%s\" is no object", show(entry, &name));
    }
    sb_status status = read_dtype(entry, &out->dtype, err);
    if (status != SB_OK) {
        return status;
    }
    const sbi_json *shape = sbi_json_member(entry, "shape"), *span = sbi_json_member(entry, "data_offsets");
    if (!shape || shape->kind != SBI_JSON_ARRAY || !span || span->kind != SBI_JSON_ARRAY || span->length != 2) {
        return sbi_fail(err, SB_ERR_FORMAT, "header", "tensor \"%s\" needs a list \"shape\" and two \"data_offsets\"",
                        show(entry, &name));
    }
    if (entry->length != 3) {
        return sbi_fail(err, SB_ERR_FORMAT, "header",
                        "tensor \"%s\" has members other than dtype, shape and data_offsets", show(entry, &name));
    }
    if (shape->length > SB_MAX_DIMS) {
        return sbi_fail(err, SB_ERR_UNSUPPORTED, "shape", "tensor \"%s\" has %lld dimensions; at most %d are read",
                        show(entry, &name), (long long)shape->length, SB_MAX_DIMS);
    }
    for (const sbi_json *size = shape->first; size; size = size->next) {
        if (!sbi_json_integer(size, &out->shape[out->ndim]) || out->shape[out->ndim] < 0) {
            return sbi_fail(err, SB_ERR_FORMAT, "shape", "dimension %d of tensor \"%s\" is no size", out->ndim, show(entry, &name));
        }
        out->ndim++;
    }
    int64_t begin, end;
    if (!sbi_json_integer(span->first, &begin) || !sbi_json_integer(span->first->next, &end) || begin < 0 || end < begin ||
        end > data_size) {
        return sbi_fail(err, SB_ERR_FORMAT, "data_offsets",
                        "the span of tensor \"%s\" does not lie within the %lld bytes of data", show(entry, &name),
                        (long long)data_size);
    }
    if (!shape_bytes(out->dtype, out->ndim, out->shape, &out->size)) {
        return sbi_fail(err, SB_ERR_SIZE, "shape", "the size of tensor \"%s\" overflows 64 bits", show(entry, &name));
    }
    if (out->size != end - begin) {
        return sbi_fail(err, SB_ERR_FORMAT, "shape", "tensor \"%s\" needs %lld bytes by its shape and has %lld",
                        show(entry, &name), (long long)out->size, (long long)(end - begin));
    }
    out->bytes = data + begin;
    out->name = sbi_arena_string(arena, entry->key, (size_t)entry->key_length, err);
    return out->name ? SB_OK : SB_ERR_MEMORY;
}

static sb_status read_metadata(sbi_arena *arena, const sbi_json *object, sbi_safetensors *out, sb_error *err) {
    escaped name;
    if (object->kind != SBI_JSON_OBJECT) {
        return sbi_fail(err, SB_ERR_FORMAT, "__metadata__", "__metadata__ is no object");
    }
    out->keys = sbi_arena_allocate(arena, object->length + 1, sizeof *out->keys, err);
    out->values = sbi_arena_allocate(arena, object->length + 1, sizeof *out->values, err);
    if (!out->keys || !out->values) {
        return SB_ERR_MEMORY;
    }
    for (const sbi_json *member = object->first; member; member = member->next) {
        if (member->kind != SBI_JSON_STRING || holds_nul(member->key, member->key_length) ||
            holds_nul(member->text, member->length)) {
            return sbi_fail(err, SB_ERR_FORMAT, "__metadata__", "\"%s\" in __metadata__ is no text without NULs",
                            show(member, &name));
        }
        const char *key = sbi_arena_string(arena, member->key, (size_t)member->key_length, err);
        const char *value = sbi_arena_string(arena, member->text, (size_t)member->length, err);
        if (!key || !value) {
            return SB_ERR_MEMORY;
        }
        out->keys[out->metadata_count] = key;
        out->values[out->metadata_count++] = value;
    }
    return SB_OK;
}

// In the order of their bytes; an empty tensor before the one that starts where it stands; then by name.
static int view_order(const sbi_tensor_view *a, const sbi_tensor_view *b) {
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? -1 : 1;
    }
    return a->size != b->size ? (a->size < b->size ? -1 : 1) : strcmp(a->name, b->name);
}

static void sift(sbi_tensor_view *heap, int64_t root, int64_t count) {
    for (int64_t child; (child = 2 * root + 1) < count; root = child) {
        child += child + 1 < count && view_order(&heap[child], &heap[child + 1]) < 0;
        if (view_order(&heap[root], &heap[child]) >= 0) {
            return;
        }
        sbi_tensor_view held = heap[root];
        heap[root] = heap[child];
        heap[child] = held;
    }
}

static void sort_views(sbi_tensor_view *views, int64_t count) {
    for (int64_t i = count / 2; i-- > 0;) {
        sift(views, i, count);
    }
    for (int64_t end = count; end-- > 1;) {
        sbi_tensor_view held = views[0];
        views[0] = views[end];
        views[end] = held;
        sift(views, 0, end);
    }
}

sb_status sbi_safetensors_read(sbi_arena *arena, const uint8_t *bytes, int64_t size, sbi_safetensors *out, sb_error *err) {
    memset(out, 0, sizeof *out);
    if (size < 8) {
        return sbi_fail(err, SB_ERR_FORMAT, "header", "%lld bytes are no safetensors file: its header length takes 8",
                        (long long)size);
    }
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--) {
        length = length << 8 | bytes[i];
    }
    if (length > (uint64_t)(size - 8)) {
        return sbi_fail(err, SB_ERR_FORMAT, "header", "the header claims %llu bytes, %lld are left in the file",
                        (unsigned long long)length, (long long)(size - 8));
    }
    if (length == 0 || bytes[8] != '{') {
        return sbi_fail(err, SB_ERR_FORMAT, "header", "the header does not start with {");
    }
    const sbi_json *header;
    sb_status status = sbi_json_read(arena, (const char *)bytes + 8, (int64_t)length, &header, err);
    if (status != SB_OK) {
        return status;
    }
    const uint8_t *data = bytes + 8 + length;
    int64_t data_size = size - 8 - (int64_t)length;
    out->tensors = sbi_arena_allocate(arena, header->length + 1, sizeof *out->tensors, err);
    if (!out->tensors) {
        return SB_ERR_MEMORY;
    }
    for (const sbi_json *entry = header->first; entry && status == SB_OK; entry = entry->next) {
        if (entry->key_length == 12 && memcmp(entry->key, "__metadata__", 12) == 0) {
            status = read_metadata(arena, entry, out, err);
        } else {
            status = read_tensor(arena, entry, data, data_size, &out->tensors[out->count], err);
            out->count++;
        }
    }
    if (status != SB_OK) {
        return status;
    }
    sort_views(out->tensors, out->count);
    const uint8_t *at = data;
    for (int64_t i = 0; i < out->count; i++) {
        const sbi_tensor_view *view = &out->tensors[i];
        if (view->bytes != at) {
            char name[96];
            return sbi_fail(err, SB_ERR_FORMAT, "data_offsets", "%s before tensor \"%s\"",
                            view->bytes > at ? "a gap" : "an overlap",
                            sbi_escape(view->name, strlen(view->name), name, sizeof name));
        }
        at += view->size;
    }
    if (at != data + data_size) {
        return sbi_fail(err, SB_ERR_FORMAT, "data_offsets", "%lld bytes of data belong to no tensor",
                        (long long)(data + data_size - at));
    }
    return SB_OK;
}

const sbi_tensor_view *sbi_safetensors_find(const sbi_safetensors *file, const char *name) {
    for (int64_t i = 0; i < file->count; i++) {
        if (strcmp(file->tensors[i].name, name) == 0) {
            return &file->tensors[i];
        }
    }
    return NULL;
}

const char *sbi_safetensors_metadata(const sbi_safetensors *file, const char *key) {
    for (int64_t i = 0; i < file->metadata_count; i++) {
        if (strcmp(file->keys[i], key) == 0) {
            return file->values[i];
        }
    }
    return NULL;
}

// ---- writing

static sb_status check_text(const char *argument, const char *text, sb_error *err) {
    char shown[96];
    const size_t length = strlen(text);
    if (sbi_utf8_whole(text, (int64_t)length)) return SB_OK;
    return sbi_fail(err, SB_ERR_ARGUMENT, argument, "\"%s\" is not UTF-8", sbi_escape(text, length, shown, sizeof shown));
}

static sb_status add_string(sbi_text *header, const char *argument, const char *text, sb_error *err) {
    sbi_text_add_json_string(header, text, (int64_t)strlen(text));
    return check_text(argument, text, err);
}

static sb_status add_entry(sbi_text *header, const sbi_tensor_view *view, int64_t *offset, sb_error *err) {
    int64_t bytes = 0, end = 0;
    const char *dtype = NULL;
    for (int i = 0; i < DTYPES; i++) {
        dtype = view->dtype && dtypes[i].dtype == view->dtype ? dtypes[i].name : dtype;
    }
    if (!dtype || view->ndim < 0 || view->ndim > SB_MAX_DIMS || !shape_bytes(view->dtype, view->ndim, view->shape, &bytes) ||
        bytes != view->size || !sbi_add(*offset, bytes, &end) || strcmp(view->name, "__metadata__") == 0) {
        char name[96];
        return sbi_fail(err, SB_ERR_ARGUMENT, "tensors", "tensor \"%s\": name, dtype, shape and size do not fit each other",
                        sbi_escape(view->name, strlen(view->name), name, sizeof name));
    }
    sb_status status = add_string(header, "tensors", view->name, err);
    sbi_text_add(header, ":{\"dtype\":\"%s\",\"shape\":[", dtype);
    for (int i = 0; i < view->ndim; i++) {
        sbi_text_add(header, "%s%lld", i ? "," : "", (long long)view->shape[i]);
    }
    sbi_text_add(header, "],\"data_offsets\":[%lld,%lld]}", (long long)*offset, (long long)end);
    *offset = end;
    return status;
}

static sb_status make_header(sbi_text *header, const sbi_tensor_view *tensors, int64_t count, const char *const *keys,
                             const char *const *values, int64_t metadata_count, sb_error *err) {
    sb_status status = SB_OK;
    int64_t offset = 0;
    sbi_text_add(header, "{");
    if (metadata_count) {
        sbi_text_add(header, "\"__metadata__\":{");
        for (int64_t i = 0; i < metadata_count && status == SB_OK; i++) {
            sbi_text_add(header, i ? "," : "");
            status = add_string(header, "keys", keys[i], err);
            sbi_text_add(header, ":");
            status = status == SB_OK ? add_string(header, "values", values[i], err) : status;
        }
        sbi_text_add(header, "}");
    }
    for (int64_t i = 0; i < count && status == SB_OK; i++) {
        sbi_text_add(header, i || metadata_count ? "," : "");
        status = add_entry(header, &tensors[i], &offset, err);
    }
    sbi_text_add(header, "}");
    while (header->length % 8 && !header->failed) {
        sbi_text_add(header, " ");
    }
    return status == SB_OK && header->failed ? sbi_fail(err, SB_ERR_MEMORY, "", "out of memory for the header") : status;
}

typedef sb_status put_bytes(void *to, const void *bytes, int64_t size, sb_error *err);

static sb_status put_data(put_bytes *put, void *to, const sbi_tensor_view *view, sb_error *err) {
    if (little_endian()) {
        return put(to, view->bytes, view->size, err);
    }
    sb_status status = SB_OK;
    uint8_t swapped[8192];
    for (int64_t at = 0; at < view->size && status == SB_OK; at += (int64_t)sizeof swapped) {
        int64_t part = view->size - at < (int64_t)sizeof swapped ? view->size - at : (int64_t)sizeof swapped;
        copy_swapped(swapped, view->bytes + at, part, dtype_bytes(view->dtype));
        status = put(to, swapped, part, err);
    }
    return status;
}

static sb_status put_all(put_bytes *put, void *to, const sbi_text *header, const sbi_tensor_view *tensors, int64_t count,
                         sb_error *err) {
    uint8_t length[8];
    for (int i = 0; i < 8; i++) {
        length[i] = (uint8_t)((uint64_t)header->length >> 8 * i);
    }
    sb_status status = put(to, length, 8, err);
    if (status == SB_OK) {
        status = put(to, header->bytes, header->length, err);
    }
    for (int64_t i = 0; i < count && status == SB_OK; i++) {
        status = put_data(put, to, &tensors[i], err);
    }
    return status;
}

// The header, made and read back: a name or key given twice is found before anything is written.
static sb_status checked_header(sbi_text *header, const sbi_allocator *allocator, const sbi_tensor_view *tensors, int64_t count,
                                const char *const *keys, const char *const *values, int64_t metadata_count, sb_error *err) {
    const sbi_json *parsed;
    sbi_text_start(header, allocator);
    sb_status status = make_header(header, tensors, count, keys, values, metadata_count, err);
    if (status != SB_OK) {
        return status;
    }
    sbi_arena *arena = sbi_arena_new(allocator, err);
    status = arena ? sbi_json_read(arena, header->bytes, header->length, &parsed, err) : SB_ERR_MEMORY;
    sbi_arena_free(arena);
    if (status == SB_ERR_FORMAT) {
        status = SB_ERR_ARGUMENT;
        if (err) {
            err->status = status;
        }
    }
    return status;
}

static sb_status put_file(void *to, const void *bytes, int64_t size, sb_error *err) { return sbi_file_write(to, bytes, size, err); }

sb_status sbi_safetensors_write(const sbi_allocator *allocator, const char *path, const sbi_tensor_view *tensors, int64_t count,
                                const char *const *keys, const char *const *values, int64_t metadata_count, sb_error *err) {
    sbi_file *file = NULL;
    sbi_text header;
    sb_status status = checked_header(&header, allocator, tensors, count, keys, values, metadata_count, err);
    if (status == SB_OK) {
        status = sbi_file_create(allocator, path, &file, err);
    }
    if (status == SB_OK) {
        status = put_all(put_file, file, &header, tensors, count, err);
    }
    if (status == SB_OK) {
        status = sbi_file_commit(file, err);
        file = status == SB_OK ? NULL : file;
    }
    sbi_file_abandon(file);
    sbi_text_free(&header);
    return status;
}

static sb_status put_memory(void *to, const void *bytes, int64_t size, sb_error *err) {
    uint8_t **at = to;
    (void)err; // (sbi_safetensors_store has seen that it fits)
    if (size) {
        memcpy(*at, bytes, (size_t)size);
    }
    *at += size;
    return SB_OK;
}

sb_status sbi_safetensors_store(const sbi_allocator *allocator, const sbi_tensor_view *tensors, int64_t count,
                                const char *const *keys, const char *const *values, int64_t metadata_count, void *to,
                                int64_t capacity, int64_t *size, sb_error *err) {
    sbi_text header;
    sb_status status = checked_header(&header, allocator, tensors, count, keys, values, metadata_count, err);
    *size = 8 + header.length;
    for (int64_t i = 0; i < count && status == SB_OK; i++) {
        if (!sbi_add(*size, tensors[i].size, size)) {
            status = sbi_fail(err, SB_ERR_SIZE, "tensors", "the size of the file overflows");
        }
    }
    if (status == SB_OK && to && capacity < *size) {
        status = sbi_fail(err, SB_ERR_SIZE, "capacity", "%lld bytes where %lld are needed", (long long)capacity, (long long)*size);
    } else if (status == SB_OK && to) {
        uint8_t *at = to;
        status = put_all(put_memory, &at, &header, tensors, count, err);
    }
    sbi_text_free(&header);
    return status;
}
