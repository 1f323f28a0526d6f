// SPDX-License-Identifier: Apache-2.0
// Tables from files: npy and npz by their first bytes, svmlight by its name, else csv, read row by row into memory that grows; and
// arrays into files.
#include "npy.h"
#include "npz.h"
#include "svmlight.h"
#include "words.h"

#include <stdio.h>
#include <string.h>

struct sb_table {
    sbi_allocator allocator;
    sb_array *array; // [rows, columns], or what an npy file holds
    sb_table *target; // of svmlight: one column
    char **names;    // of columns, NULL without a header
    int64_t name_count;
    sbi_words *words; // the columns that were looked at for words
    int64_t words_count;
    char *label_names; // what sbi_table_labels said last
};

void sbi_table_free(sb_table *table) {
    if (!table) return;
    for (int64_t i = 0; i < table->name_count; i++) sbi_release(&table->allocator, table->names[i]);
    sbi_release(&table->allocator, table->names);
    for (int64_t i = 0; i < table->words_count; i++) sbi_words_free(&table->words[i]);
    sbi_release(&table->allocator, table->words);
    sbi_release(&table->allocator, table->label_names);
    sbi_array_free(table->array);
    sbi_table_free(table->target);
    sbi_allocator allocator = table->allocator;
    sbi_release(&allocator, table);
}

static sb_status read_npy(sb_context *ctx, const char *path, sb_dtype dtype, sb_table *table, sb_error *err) {
    sbi_npy npy;
    void *data = NULL;
    sb_status status = sbi_npy_open(&ctx->allocator, path, &npy, err);
    if (status != SB_OK) return status;
    if (!dtype) dtype = sbi_npy_dtype(&npy) == SB_F32 ? SB_F32 : SB_F64; // integers are numbers here
    if (!(data = sbi_allocate(&ctx->allocator, npy.size, sbi_dtype_size(dtype), err))) return SB_ERR_MEMORY;
    status = sbi_npy_read(&ctx->allocator, path, &npy, dtype, data, err);
    if (status == SB_OK) status = sbi_array_new(ctx, dtype, npy.ndim, npy.shape, &table->array, err);
    if (status == SB_OK) status = sbi_array_write(table->array, data, (size_t)npy.size * sbi_dtype_size(dtype), err);
    sbi_release(&ctx->allocator, data);
    return status;
}

// An array in an archive: the file PATH, or with a name behind a colon PATH:NAME.
static sb_status read_npz(sb_context *ctx, const char *path, sb_dtype dtype, sb_table *table, sb_error *err) {
    const sbi_allocator *allocator = &ctx->allocator;
    const char *colon = sbi_table_member(path);
    char *own = NULL;
    uint8_t *bytes = NULL;
    void *data = NULL;
    int64_t size = 0;
    sbi_npy npy;
    if (!(own = sbi_allocate(allocator, (int64_t)strlen(path) + 1, 1, err))) return SB_ERR_MEMORY;
    memcpy(own, path, colon ? (size_t)(colon - path) : strlen(path));
    sb_status status = sbi_npz_read(allocator, own, colon ? colon + 1 : NULL, &bytes, &size, err);
    if (status == SB_OK) status = sbi_npy_header(bytes, size, size, &npy, err);
    if (status == SB_OK && !dtype) dtype = sbi_npy_dtype(&npy) == SB_F32 ? SB_F32 : SB_F64;
    if (status == SB_OK && !(data = sbi_allocate(allocator, npy.size, sbi_dtype_size(dtype), err))) status = SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_npy_convert(&npy, bytes + npy.offset, 0, npy.size, dtype, data, err);
    if (status == SB_OK) status = sbi_array_new(ctx, dtype, npy.ndim, npy.shape, &table->array, err);
    if (status == SB_OK) status = sbi_array_write(table->array, data, (size_t)npy.size * sbi_dtype_size(dtype), err);
    sbi_release(allocator, own);
    sbi_release(allocator, bytes);
    sbi_release(allocator, data);
    return status;
}

// ---- svmlight

// One reading of the file: how large it is, then (to: [rows, columns] of zeros, target[rows]) what stands in it. Indices begin with
// 1, or with 0 where one is 0.
typedef struct sparse_size { int64_t rows, most, least; } sparse_size;
static sb_status read_rows(const sbi_allocator *allocator, const char *path, int64_t columns, sparse_size *size, double *to, double *target, sb_error *err) {
    sbi_svmlight *file = NULL;
    sbi_svmlight_row row;
    bool end = false;
    const int64_t first = size->least;
    int64_t i = 0;
    sb_status status = sbi_svmlight_open(allocator, path, &file, err);
    for (; status == SB_OK && (status = sbi_svmlight_next(file, &row, &end, err)) == SB_OK && !end; i++) {
        if (row.value != row.value) {
            char shown[80];
            status = sbi_fail(err, SB_ERR_FORMAT, "path", "line %lld: the target %s is no number", (long long)sbi_svmlight_line(file),
                              sbi_escape(row.target, (size_t)row.target_length, shown, sizeof shown));
        } else if (!to) {
            if (row.count && row.indices[0] < size->least) size->least = row.indices[0];
            if (row.count && row.indices[row.count - 1] > size->most) size->most = row.indices[row.count - 1];
        } else {
            if (i >= size->rows || (row.count && (row.indices[0] < first || row.indices[row.count - 1] - first >= columns))) {
                status = sbi_fail(err, SB_ERR_IO, "path", "the file changed while it was read");
                break;
            }
            target[i] = row.value;
            for (int64_t k = 0; k < row.count; k++) to[i * columns + row.indices[k] - first] = row.values[k];
        }
    }
    size->rows = i;
    sbi_svmlight_close(file);
    return status;
}

static sb_status give_reals(sb_context *ctx, sb_dtype dtype, int64_t rows, int64_t columns, const double *values, sb_array **out, sb_error *err) {
    const int64_t shape[2] = {rows, columns};
    sb_status status = sbi_array_new(ctx, dtype, 2, shape, out, err);
    return status == SB_OK ? sbi_write_reals(ctx, values, *out, err) : status;
}

static sb_status read_svmlight(sb_context *ctx, const char *path, sb_dtype dtype, sb_table *table, sb_error *err) {
    const sbi_allocator *allocator = &ctx->allocator;
    sparse_size size = {.most = 0, .least = 1};
    double *values = NULL, *target = NULL;
    int64_t cells = 0;
    sb_status status = read_rows(allocator, path, 0, &size, NULL, NULL, err);
    const int64_t columns = size.most - size.least + 1;
    if (status != SB_OK) return status;
    if (columns < 1 || !sbi_multiply(size.rows, columns, &cells))
        return sbi_fail(err, SB_ERR_FORMAT, "path", "no row of the file has a feature, or the dense table would have 2^63 numbers");
    if (!(values = sbi_allocate(allocator, cells, sizeof *values, err)) || !(target = sbi_allocate(allocator, size.rows, sizeof *target, err)) ||
        !(table->target = sbi_allocate(allocator, 1, sizeof *table->target, err))) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    table->target->allocator = *allocator;
    status = read_rows(allocator, path, columns, &size, values, target, err);
    const sb_dtype real = dtype == SB_F32 ? SB_F32 : SB_F64;
    if (status == SB_OK) status = give_reals(ctx, real, size.rows, columns, values, &table->array, err);
    if (status == SB_OK) status = give_reals(ctx, real, size.rows, 1, target, &table->target->array, err);
done:
    sbi_release(allocator, values);
    sbi_release(allocator, target);
    return status;
}

sb_table *sbi_table_target(const sb_table *table) { return table->target; }

sb_status sbi_table_widen(sb_context *ctx, sb_table *table, int64_t columns, sb_error *err) {
    const sb_array *a = table->array;
    if (!table->target) return sbi_fail(err, SB_ERR_ARGUMENT, "table", "only a table of svmlight rows, which name what is not 0, can be widened");
    if (a->shape[1] >= columns) return SB_OK;
    const size_t item = sbi_dtype_size(a->dtype), width = (size_t)a->shape[1] * item;
    const int64_t shape[2] = {a->shape[0], columns};
    int64_t cells = 0;
    sb_array *wide = NULL;
    char *from = sbi_allocate(&ctx->allocator, a->size, item, err);
    char *to = from && sbi_multiply(shape[0], columns, &cells) ? sbi_allocate(&ctx->allocator, cells, item, err) : NULL;
    sb_status status = to ? sbi_array_read(a, from, (size_t)a->size * item, err) : sbi_fail(err, SB_ERR_MEMORY, "columns", "out of memory for a wider table");
    for (int64_t i = 0; i < shape[0] && status == SB_OK; i++) memcpy(to + (size_t)(i * columns) * item, from + (size_t)i * width, width);
    if (status == SB_OK) status = sbi_array_new(ctx, a->dtype, 2, shape, &wide, err);
    if (status == SB_OK) status = sbi_array_write(wide, to, (size_t)cells * item, err);
    sbi_release(&ctx->allocator, from);
    sbi_release(&ctx->allocator, to);
    if (status != SB_OK) {
        sbi_array_free(wide);
        return status;
    }
    sbi_array_free(table->array);
    table->array = wide;
    return SB_OK;
}

// ---- csv

static sb_status take_names(sb_table *table, const sbi_csv_field *fields, int64_t count, sb_error *err) {
    if (!(table->names = sbi_allocate(&table->allocator, count, sizeof *table->names, err))) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) {
        if (memchr(fields[i].text, 0, (size_t)fields[i].length))
            return sbi_fail(err, SB_ERR_FORMAT, "header", "the name of column %lld holds a NUL", (long long)i);
        if (!(table->names[i] = sbi_allocate(&table->allocator, fields[i].length + 1, 1, err))) return SB_ERR_MEMORY;
        if (fields[i].length) memcpy(table->names[i], fields[i].text, (size_t)fields[i].length);
        table->name_count++;
    }
    return SB_OK;
}

// The column that a name or a number means.
static sb_status find_column(const sb_table *table, const char *column, int64_t columns, int64_t *out, sb_error *err) {
    char shown[80];
    sbi_value number = {0};
    const sbi_algorithm nobody = {.name = "the table"};
    const sbi_parameter_row row = {.name = "column", .type = "int [0, inf)"};
    for (*out = 0; *out < table->name_count; ++*out)
        if (strcmp(table->names[*out], column) == 0) return SB_OK;
    if (sbi_value_read(&nobody, &row, column, &number, NULL) == SB_OK && number.integer < columns) {
        *out = number.integer;
        return SB_OK;
    }
    return sbi_fail(err, SB_ERR_ARGUMENT, "column", "there is no column \"%s\" among the %lld of this table",
                    sbi_escape(column, strlen(column), shown, sizeof shown), (long long)columns);
}

// The column that may hold words, or where that is NULL all of them.
static sb_status expect_words(sb_table *table, const char *column, int64_t columns, sb_error *err) {
    int64_t first = 0;
    sb_status status = column ? find_column(table, column, columns, &first, err) : SB_OK;
    if (status != SB_OK) return status;
    const int64_t count = column ? 1 : columns;
    if (!(table->words = sbi_allocate(&table->allocator, count, sizeof *table->words, err))) return SB_ERR_MEMORY;
    for (; table->words_count < count; table->words_count++) sbi_words_start(&table->words[table->words_count], first + table->words_count, &table->allocator);
    return SB_OK;
}

// One row's numbers; of columns that may hold words what they hold for the time being.
static sb_status take_row(sb_table *table, const sbi_csv *csv, const sbi_csv_field *fields, int64_t count, double *to, sb_error *err) {
    sb_status status = SB_OK;
    int64_t done = 0;
    for (int64_t i = 0; i <= table->words_count && status == SB_OK; i++) {
        const int64_t next = i < table->words_count ? table->words[i].column : count;
        status = sbi_csv_reals(csv, fields + done, next - done, to + done, err);
        if (status == SB_OK && next < count) status = sbi_words_take(&table->words[i], csv, &fields[next], err);
        done = next + 1;
    }
    return status;
}

// Rows as they come, in blocks of which each is given back as soon as the array has it: a table is in memory little more than once (a
// file of 1.0 GB, 51 million numbers: 410 MB).
typedef struct blocks {
    const sbi_allocator *allocator;
    double **list;
    int64_t count, room, each, columns; // rows of a block
} blocks;

enum { BLOCK_NUMBERS = 1 << 19 };

static double *next_row(blocks *b, int64_t row, sb_error *err) {
    if (b->each == 0) b->each = b->columns < BLOCK_NUMBERS ? BLOCK_NUMBERS / b->columns : 1;
    if (row < b->count * b->each) return b->list[row / b->each] + row % b->each * b->columns;
    if (b->count == b->room) {
        const int64_t room = b->room ? 2 * b->room : 64;
        double **grown = sbi_allocate(b->allocator, room, sizeof *grown, err);
        if (!grown) return NULL;
        if (b->count) memcpy(grown, b->list, (size_t)b->count * sizeof *grown);
        sbi_release(b->allocator, b->list);
        b->list = grown;
        b->room = room;
    }
    if (!(b->list[b->count] = sbi_allocate(b->allocator, b->each * b->columns, sizeof **b->list, NULL))) {
        (void)sbi_fail(err, SB_ERR_MEMORY, "path", "out of memory after %lld rows", (long long)row);
        return NULL;
    }
    return b->list[b->count++];
}

static void free_blocks(blocks *b) {
    for (int64_t i = 0; i < b->count; i++) sbi_release(b->allocator, b->list[i]);
    sbi_release(b->allocator, b->list);
}

static sb_status give_blocks(sb_context *ctx, blocks *b, int64_t rows, sb_dtype dtype, sb_array **out, sb_error *err) {
    const int64_t shape[2] = {rows, b->columns};
    sb_status status = sbi_array_new(ctx, dtype, 2, shape, out, err);
    for (int64_t i = 0; i < b->count && status == SB_OK; i++) {
        const int64_t first = i * b->each, count = rows - first < b->each ? rows - first : b->each;
        sb_array *part = NULL;
        status = sbi_array_slice(*out, first, count, &part, err);
        if (status == SB_OK) status = sbi_write_reals(ctx, b->list[i], part, err);
        sbi_array_free(part);
        sbi_release(b->allocator, b->list[i]);
        b->list[i] = NULL;
    }
    return status;
}

static sb_status read_csv(sb_context *ctx, const char *path, sb_dtype dtype, bool words, const char *column, sb_table *table, sb_error *err) {
    sbi_csv *csv = NULL;
    const sbi_csv_field *fields;
    blocks b = {.allocator = &ctx->allocator};
    int64_t rows = 0, count;
    sb_status status = sbi_csv_open(&ctx->allocator, path, ',', &csv, err);
    while (status == SB_OK && (status = sbi_csv_row(csv, &fields, &count, err)) == SB_OK && count > 0) {
        if (b.columns == 0) {
            b.columns = count;
            const bool named = sbi_csv_names(fields, count);
            if (named) status = take_names(table, fields, count, err);
            if (status == SB_OK && words) status = expect_words(table, column, count, err);
            if (named || status != SB_OK) continue;
        }
        double *to = next_row(&b, rows, err);
        status = to ? take_row(table, csv, fields, count, to, err) : SB_ERR_MEMORY;
        rows++;
    }
    for (int64_t i = 0; i < table->words_count && status == SB_OK; i++) {
        const sbi_words *w = &table->words[i];
        status = sbi_words_end(&table->words[i], err);
        for (int64_t row = 0; row < rows && status == SB_OK; row++) *(next_row(&b, row, NULL) + w->column) = w->numbers[row];
    }
    if (status == SB_OK) status = give_blocks(ctx, &b, rows, dtype == SB_F32 ? SB_F32 : SB_F64, &table->array, err);
    free_blocks(&b);
    sbi_csv_close(csv);
    return status;
}

static bool ends_in(const char *path, const char *end) {
    const size_t length = strlen(path), own = strlen(end);
    return length > own && strcmp(path + length - own, end) == 0;
}

static bool is_svmlight(const char *path) { return ends_in(path, ".svmlight") || ends_in(path, ".libsvm") || ends_in(path, ".svm"); }

const char *sbi_table_member(const char *path) { // the colon of FILE.npz:NAME
    const char *at = NULL, *next = path;
    while ((next = strstr(next, ".npz:")) != NULL) at = next += 4;
    return at && !sbi_file_present(path) ? at : NULL;
}

typedef enum kind { OTHER, NPY, NPZ } kind;
static sb_status look(sb_context *ctx, const char *path, kind *out, sb_error *err) {
    uint8_t start[6] = {0};
    int64_t got = 0, size = 0;
    sbi_source *source = NULL;
    sb_status status = sbi_source_open(&ctx->allocator, path, &source, &size, err);
    if (status == SB_OK) status = sbi_source_read(source, start, (int64_t)sizeof start, &got, err);
    sbi_source_close(source);
    *out = got == 6 && memcmp(start, "\x93NUMPY", 6) == 0 ? NPY : got >= 4 && (memcmp(start, "PK\3\4", 4) == 0 || memcmp(start, "PK\5\6", 4) == 0) ? NPZ : OTHER;
    return status;
}

sb_status sbi_table_read(sb_context *ctx, const char *path, sb_dtype dtype, bool words, const char *column, sb_table **out, sb_error *err) {
    kind found = NPZ;
    sb_table *table = sbi_allocate(&ctx->allocator, 1, sizeof *table, err);
    if (!table) return SB_ERR_MEMORY;
    table->allocator = ctx->allocator;
    sb_status status = sbi_table_member(path) ? SB_OK : look(ctx, path, &found, err);
    if (status == SB_OK)
        status = found == NPY        ? read_npy(ctx, path, dtype, table, err)
                 : found == NPZ      ? read_npz(ctx, path, dtype, table, err)
                 : is_svmlight(path) ? read_svmlight(ctx, path, dtype, table, err)
                                     : read_csv(ctx, path, dtype, words, column, table, err);
    if (status == SB_OK)
        *out = table;
    else
        sbi_table_free(table);
    return status;
}

const sb_array *sbi_table_array(const sb_table *table) { return table->array; }

const char *sbi_table_name(const sb_table *table, int64_t column) {
    return column >= 0 && column < table->name_count ? table->names[column] : NULL;
}

static const sbi_words *words_of(const sb_table *table, int64_t column) { // NULL: the array has what there is to know
    for (int64_t i = 0; i < table->words_count; i++)
        if (table->words[i].column == column) return &table->words[i];
    return NULL;
}

const char *sbi_table_word(const sb_table *table, int64_t column, int64_t number) {
    const sbi_words *words = words_of(table, column);
    return words && number >= 0 && number < words->count ? words->list[number] : NULL;
}

// Column `at` of `columns`, as numbers of the host.
static sb_status read_column(sb_context *ctx, const sb_table *table, int64_t at, int64_t columns, double **out, sb_error *err) {
    const int64_t n = table->array->size / columns;
    sb_status status = sbi_read_reals(ctx, table->array, out, err);
    for (int64_t i = 0; i < n && status == SB_OK; i++) (*out)[i] = (*out)[i * columns + at];
    return status;
}

sb_status sbi_table_labels(sb_context *ctx, sb_table *table, const char *column, const char *classes, sb_array **y, const char **names, sb_error *err) {
    const sb_array *a = table->array;
    const int64_t columns = a->ndim == 2 ? a->shape[1] : 1;
    int64_t at = 0;
    double *numbers = NULL;
    sbi_text text;
    if (a->ndim < 1 || a->ndim > 2 || columns < 1)
        return sbi_fail(err, SB_ERR_SHAPE, "table", "a table of %d dimensions and %lld columns has no labels", a->ndim, (long long)columns);
    if (!column && columns > 1) return sbi_fail(err, SB_ERR_ARGUMENT, "column", "which of the %lld columns holds the labels?", (long long)columns);
    sb_status status = column ? find_column(table, column, columns, &at, err) : SB_OK;
    if (status != SB_OK) return status;
    const sbi_words *words = words_of(table, at);
    if (!words && (status = read_column(ctx, table, at, columns, &numbers, err))) return status;
    const sbi_labels labels = {.n = a->shape[0], .numbers = words ? words->numbers : numbers,
                               .words = words && words->any ? words->list : NULL, .word_count = words ? words->count : 0};
    sbi_text_start(&text, &table->allocator);
    status = sbi_labels_number(ctx, &labels, classes, &text, y, err);
    sbi_release(&ctx->allocator, numbers);
    if (status == SB_OK && !classes) {
        sbi_release(&table->allocator, table->label_names);
        table->label_names = text.bytes;
        if (names) *names = text.bytes;
    } else {
        sbi_text_free(&text);
    }
    return status;
}

sb_status sbi_table_split(sb_context *ctx, const sb_table *table, const char *column, sb_array **rest, sb_array **picked, sb_error *err) {
    const sb_array *a = table->array;
    const size_t item = sbi_dtype_size(a->dtype);
    char *all = NULL, *left = NULL, *one = NULL;
    int64_t at = 0;
    if (a->ndim != 2) return sbi_fail(err, SB_ERR_SHAPE, "table", "a table of %d dimensions has no columns to pick from", a->ndim);
    const int64_t n = a->shape[0], d = a->shape[1];
    sb_status status = find_column(table, column, d, &at, err);
    if (status != SB_OK) return status;
    for (int64_t i = 0; i < table->words_count; i++)
        if (table->words[i].any && table->words[i].column != at)
            return sbi_fail(err, SB_ERR_FORMAT, "table", "column %lld holds words", (long long)table->words[i].column);
    const int64_t shape[2] = {n, d - 1};
    all = sbi_allocate(&ctx->allocator, n * d, item, err);
    left = sbi_allocate(&ctx->allocator, n * (d - 1), item, err);
    one = sbi_allocate(&ctx->allocator, n, item, err);
    if (!all || !left || !one) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    if ((status = sbi_array_read(a, all, (size_t)(n * d) * item, err)) || (status = sbi_array_new(ctx, a->dtype, 2, shape, rest, err)) ||
        (status = sbi_array_new(ctx, a->dtype, 1, &n, picked, err)))
        goto done;
    for (int64_t i = 0; i < n; i++) {
        const char *row = all + (size_t)(i * d) * item;
        memcpy(one + (size_t)i * item, row + (size_t)at * item, item);
        memcpy(left + (size_t)(i * (d - 1)) * item, row, (size_t)at * item);
        memcpy(left + (size_t)(i * (d - 1) + at) * item, row + (size_t)(at + 1) * item, (size_t)(d - 1 - at) * item);
    }
    status = sbi_array_write(*rest, left, (size_t)(n * (d - 1)) * item, err);
    if (status == SB_OK) status = sbi_array_write(*picked, one, (size_t)n * item, err);
done:
    sbi_release(&ctx->allocator, all);
    sbi_release(&ctx->allocator, left);
    sbi_release(&ctx->allocator, one);
    if (status != SB_OK) {
        sbi_array_free(*rest);
        sbi_array_free(*picked);
        *rest = *picked = NULL;
    }
    return status;
}

// ---- writing

static const char *npy_type(sb_dtype dtype) {
    switch (dtype) {
    case SB_F32: return "<f4";
    case SB_F64: return "<f8";
    case SB_I32: return "<i4";
    case SB_I64: return "<i8";
    case SB_U8: return "|u1";
    case SB_U32: return "<u4";
    case SB_U64: return "<u8";
    }
    return "";
}

static sb_status write_npy(const sb_array *a, uint8_t *bytes, sbi_file *file, sb_error *err) {
    const size_t item = sbi_dtype_size(a->dtype);
    const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    char head[320];
    int length = snprintf(head, sizeof head, "%cNUMPY%c%c..{'descr': '%s', 'fortran_order': False, 'shape': (", 0x93, 1, 0, npy_type(a->dtype));
    for (int i = 0; i < a->ndim; i++)
        length += snprintf(head + length, sizeof head - (size_t)length, "%lld%s", (long long)a->shape[i], i + 1 < a->ndim ? ", " : a->ndim == 1 ? "," : "");
    length += snprintf(head + length, sizeof head - (size_t)length, "), }");
    while ((length + 1) % 64) head[length++] = ' ';
    head[length++] = '\n';
    head[8] = (char)((length - 10) & 0xff);
    head[9] = (char)((length - 10) >> 8);
    for (int64_t at = 0; big && item > 1 && at < a->size * (int64_t)item; at += (int64_t)item)
        for (size_t i = 0; i < item / 2; i++) {
            const uint8_t held = bytes[at + (int64_t)i];
            bytes[at + (int64_t)i] = bytes[at + (int64_t)(item - 1 - i)];
            bytes[at + (int64_t)(item - 1 - i)] = held;
        }
    sb_status status = sbi_file_write(file, head, length, err);
    return status == SB_OK ? sbi_file_write(file, bytes, a->size * (int64_t)item, err) : status;
}

void sbi_table_number(sbi_text *text, sb_dtype dtype, const void *at) {
    float f;
    double d;
    int32_t i;
    int64_t l;
    uint32_t u;
    uint64_t w;
    switch (dtype) {
    case SB_F32:
        memcpy(&f, at, sizeof f);
        if (f - f == 0.0f) sbi_text_add_real32(text, f);
        else sbi_text_add(text, "%s", f != f ? "nan" : f < 0.0f ? "-inf" : "inf");
        break;
    case SB_F64:
        memcpy(&d, at, sizeof d);
        if (d - d == 0.0) sbi_text_add_real(text, d);
        else sbi_text_add(text, "%s", d != d ? "nan" : d < 0.0 ? "-inf" : "inf");
        break;
    case SB_I32: memcpy(&i, at, sizeof i); sbi_text_add(text, "%ld", (long)i); break;
    case SB_I64: memcpy(&l, at, sizeof l); sbi_text_add(text, "%lld", (long long)l); break;
    case SB_U8: sbi_text_add(text, "%u", (unsigned)*(const uint8_t *)at); break;
    case SB_U32: memcpy(&u, at, sizeof u); sbi_text_add(text, "%lu", (unsigned long)u); break;
    case SB_U64: memcpy(&w, at, sizeof w); sbi_text_add(text, "%llu", (unsigned long long)w); break;
    }
}

static sb_status write_csv(const sbi_allocator *allocator, const sb_array *a, const uint8_t *bytes, sbi_file *file, sb_error *err) {
    const int64_t columns = a->ndim == 2 ? a->shape[1] : 1, item = (int64_t)sbi_dtype_size(a->dtype);
    sbi_text text;
    sb_status status = SB_OK;
    sbi_text_start(&text, allocator);
    for (int64_t i = 0; i < a->size && status == SB_OK; i++) {
        sbi_table_number(&text, a->dtype, bytes + i * item);
        sbi_text_add(&text, (i + 1) % columns ? "," : "\n");
        if (text.length > 1 << 20 || i + 1 == a->size) {
            status = text.failed ? sbi_fail(err, SB_ERR_MEMORY, "", "out of memory for a table") : sbi_file_write(file, text.bytes, text.length, err);
            sbi_text_free(&text);
            sbi_text_start(&text, allocator);
        }
    }
    sbi_text_free(&text);
    return status;
}

sb_status sbi_table_write(const sb_array *a, const char *path, sb_error *err) {
    const sbi_allocator *allocator = &a->storage->allocator;
    const size_t bytes = (size_t)a->size * sbi_dtype_size(a->dtype), length = strlen(path);
    const bool csv = length > 4 && strcmp(path + length - 4, ".csv") == 0;
    sbi_file *file = NULL;
    if (csv && a->ndim > 2) return sbi_fail(err, SB_ERR_SHAPE, "a", "an array of %d dimensions is no table: write it as .npy", a->ndim);
    uint8_t *copy = sbi_allocate(allocator, (int64_t)bytes, 1, err);
    sb_status status = copy ? sbi_array_read(a, copy, bytes, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_file_create(allocator, path, &file, err);
    if (status == SB_OK) status = csv ? write_csv(allocator, a, copy, file, err) : write_npy(a, copy, file, err);
    if (status == SB_OK) {
        status = sbi_file_commit(file, err);
        if (status == SB_OK) file = NULL;
    }
    sbi_file_abandon(file);
    sbi_release(allocator, copy);
    return status;
}
