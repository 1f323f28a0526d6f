// SPDX-License-Identifier: Apache-2.0
// Block columns of a matrix, and rows of arrays on the host. Only moves and the one rounding out: the arithmetic is in the
// files of the factorizations.
#include "linalg.h"

#include "check.h"

#include <string.h>

enum { STRIP = 256 }; // rows that are on the host at once, while a matrix is cut into panels

sb_status sbi_check_square(const sb_array *a, const char *name, sb_error *err) {
    sb_status status = sbi_check_real(a, name, err);
    if (status == SB_OK) status = sbi_check_ndim(a, name, 2, err);
    if (status != SB_OK || a->shape[0] == a->shape[1]) return status;
    return sbi_fail(err, SB_ERR_SHAPE, name, "%s has %lld rows and %lld columns; it must be square", name,
                    (long long)a->shape[0], (long long)a->shape[1]);
}

sb_status sbi_check_matrix(const sb_array *a, const char *name, sb_dtype dtype, int64_t rows, int64_t columns, sb_error *err) {
    sb_status status = sbi_check_dtype(a, name, dtype, err);
    if (status == SB_OK) status = sbi_check_ndim(a, name, 2, err);
    if (status == SB_OK) status = sbi_check_length(a, name, 0, rows, err);
    return status == SB_OK ? sbi_check_length(a, name, 1, columns, err) : status;
}

sb_status sbi_check_vector(const sb_array *a, const char *name, sb_dtype dtype, int64_t length, sb_error *err) {
    sb_status status = sbi_check_dtype(a, name, dtype, err);
    if (status == SB_OK) status = sbi_check_ndim(a, name, 1, err);
    return status == SB_OK ? sbi_check_length(a, name, 0, length, err) : status;
}

static int64_t row_length(const sb_array *a) { return a->ndim && a->shape[0] ? a->size / a->shape[0] : 0; }

// The bytes of rows, read or written by way of a view.
static sb_status move(sbi_rows rows, void *to, const void *from, size_t bytes, sb_error *err) {
    sb_array *view = NULL;
    sb_status status = sbi_array_slice(rows.of, rows.first, rows.count, &view, err);
    if (status == SB_OK) status = to ? sbi_array_read(view, to, bytes, err) : sbi_array_write(view, from, bytes, err);
    sbi_array_free(view);
    return status;
}

sb_status sbi_rows_read(sb_context *ctx, sbi_rows rows, double *to, sb_error *err) {
    const int64_t size = rows.count * row_length(rows.of);
    if (rows.of->dtype == SB_F64) return move(rows, to, NULL, (size_t)size * sizeof *to, err);
    float *narrow = sbi_allocate(&ctx->allocator, size + 1, sizeof *narrow, err);
    if (!narrow) return SB_ERR_MEMORY;
    sb_status status = move(rows, narrow, NULL, (size_t)size * sizeof *narrow, err);
    for (int64_t i = 0; i < size && status == SB_OK; i++) to[i] = (double)narrow[i];
    sbi_release(&ctx->allocator, narrow);
    return status;
}

sb_status sbi_rows_write(sb_context *ctx, sbi_rows rows, double *from, sb_error *err) {
    const int64_t size = rows.count * row_length(rows.of);
    const uint64_t canonical = 0x7ff8000000000000;
    for (int64_t i = 0; i < size; i++)
        if (from[i] != from[i]) memcpy(&from[i], &canonical, sizeof canonical);
    if (rows.of->dtype == SB_F64) return move(rows, NULL, from, (size_t)size * sizeof *from, err);
    float *narrow = sbi_allocate(&ctx->allocator, size + 1, sizeof *narrow, err);
    if (!narrow) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < size; i++) narrow[i] = (float)from[i];
    sb_status status = move(rows, NULL, narrow, (size_t)size * sizeof *narrow, err);
    sbi_release(&ctx->allocator, narrow);
    return status;
}

sb_status sbi_rows_subtract(sb_context *ctx, sbi_rows a, int transpose_a, sbi_rows b, int transpose_b, sbi_rows c, sb_error *err) {
    const sb_gemm_options options = {.size = sizeof options, .transpose_a = transpose_a, .transpose_b = transpose_b,
                                     .scaled = 1, .alpha = -1.0, .accumulate = 1};
    const sbi_rows rows[3] = {a, b, c};
    sb_array *view[3] = {NULL, NULL, NULL};
    sb_status status = SB_OK;
    for (int i = 0; i < 3 && status == SB_OK; i++)
        status = sbi_array_slice(rows[i].of, rows[i].first, rows[i].count, &view[i], err);
    if (status == SB_OK) status = sbi_gemm(ctx, &options, view[0], view[1], NULL, view[2], err);
    for (int i = 0; i < 3; i++) sbi_array_free(view[i]);
    return status;
}

sb_status sbi_panels_new(sb_context *ctx, sb_dtype dtype, int64_t rows, int64_t columns, sbi_panels *out, sb_error *err) {
    *out = (sbi_panels){.ctx = ctx, .dtype = dtype, .rows = rows, .columns = columns};
    const int64_t count = rows ? (columns + SBI_PANEL - 1) / SBI_PANEL : 0; // (no rows: nothing to factor)
    out->panel = sbi_allocate(&ctx->allocator, count + 1, sizeof *out->panel, err);
    if (!out->panel) return SB_ERR_MEMORY;
    sb_status status = SB_OK;
    for (int64_t i = 0; i < count && status == SB_OK; i++) {
        status = sbi_array_new(ctx, dtype, 2, (int64_t[]){rows, sbi_panel_width(out, i)}, &out->panel[i], err);
        if (status == SB_OK) out->count++;
    }
    return status;
}

void sbi_panels_free(sbi_panels *p) {
    for (int64_t i = 0; i < p->count; i++) sbi_array_free(p->panel[i]);
    if (p->ctx) sbi_release(&p->ctx->allocator, p->panel);
    *p = (sbi_panels){0};
}

// Not finite: the exponent's bits are all set.
static bool all_finite(const double *x, int64_t size, int64_t *at) {
    for (int64_t i = 0; i < size; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        if ((bits >> 52 & 0x7ff) == 0x7ff) {
            *at = i;
            return false;
        }
    }
    return true;
}

static sb_status not_finite(const char *name, int64_t row, int64_t column, sb_error *err) {
    return sbi_fail(err, SB_ERR_NONFINITE, name, "%s holds an infinity or NaN at [%lld, %lld]", name, (long long)row,
                    (long long)column);
}

sb_status sbi_check_finite(sb_context *ctx, const sb_array *a, const char *name, sb_error *err) {
    const int64_t row = row_length(a), strip = row > 0 && row < 65536 ? 65536 / row : 1;
    if (a->size == 0) return SB_OK;
    double *x = sbi_allocate(&ctx->allocator, strip * row, sizeof *x, err);
    sb_status status = x ? SB_OK : SB_ERR_MEMORY;
    for (int64_t i = 0, at; i < a->shape[0] && status == SB_OK; i += strip) {
        const int64_t count = a->shape[0] - i < strip ? a->shape[0] - i : strip;
        status = sbi_rows_read(ctx, (sbi_rows){(sb_array *)a, i, count}, x, err); // (a view that is only read)
        if (status == SB_OK && !all_finite(x, count * row, &at)) status = not_finite(name, i + at / row, at % row, err);
    }
    sbi_release(&ctx->allocator, x);
    return status;
}

// What is not read is zero.
static void keep_part(sbi_part_read part, double *x, int64_t row, int64_t columns) {
    for (int64_t j = 0; j < columns; j++)
        if (part == SBI_READ_LOWER ? j > row : part == SBI_READ_UPPER && j < row) x[j] = 0.0;
}

sb_status sbi_lower_read(sb_context *ctx, const sb_array *a, double *to, sb_error *err) {
    const int64_t n = a->shape[0];
    sb_status status = sbi_rows_read(ctx, (sbi_rows){(sb_array *)a, 0, n}, to, err); // (only read)
    for (int64_t i = 0, at; i < n && status == SB_OK; i++) {
        keep_part(SBI_READ_LOWER, to + i * n, i, n);
        if (!all_finite(to + i * n, n, &at)) status = not_finite("a", i, at, err);
    }
    return status;
}

// Strips of rows between a matrix (row-major) and the panels: `whole` is a strip, `part` its piece in a panel.
static sb_status move_strips(const sbi_panels *p, sb_array *a, bool load, sbi_part_read part, const char *name, sb_error *err) {
    const int64_t height = a->shape[0], strip = height < STRIP ? height : STRIP, columns = p->columns;
    if (height == 0 || columns == 0) return SB_OK;
    double *whole = sbi_allocate(&p->ctx->allocator, strip * columns, sizeof *whole, err);
    double *piece = whole ? sbi_allocate(&p->ctx->allocator, strip * SBI_PANEL, sizeof *piece, err) : NULL;
    sb_status status = piece ? SB_OK : SB_ERR_MEMORY;
    for (int64_t i = 0, at; i < height && status == SB_OK; i += strip) {
        const int64_t count = height - i < strip ? height - i : strip;
        const sbi_rows rows = {a, i, count};
        if (load) {
            status = sbi_rows_read(p->ctx, rows, whole, err);
            for (int64_t r = 0; r < count && status == SB_OK; r++) {
                keep_part(part, whole + r * columns, i + r, columns);
                if (!all_finite(whole + r * columns, columns, &at)) status = not_finite(name, i + r, at, err);
            }
        }
        for (int64_t k = 0; k < p->count && status == SB_OK; k++) {
            const int64_t width = sbi_panel_width(p, k);
            const sbi_rows own = {p->panel[k], i, count};
            if (!load) status = sbi_rows_read(p->ctx, own, piece, err);
            for (int64_t r = 0; r < count && status == SB_OK; r++) {
                double *of_panel = piece + r * width, *of_matrix = whole + r * columns + k * SBI_PANEL;
                memcpy(load ? of_panel : of_matrix, load ? of_matrix : of_panel, (size_t)width * sizeof *piece);
            }
            if (load && status == SB_OK) status = sbi_rows_write(p->ctx, own, piece, err);
        }
        if (!load && status == SB_OK) status = sbi_rows_write(p->ctx, rows, whole, err);
    }
    sbi_release(&p->ctx->allocator, piece);
    sbi_release(&p->ctx->allocator, whole);
    return status;
}

sb_status sbi_panels_load(sbi_panels *p, sbi_part_read part, const sb_array *a, const char *name, sb_error *err) {
    return move_strips(p, (sb_array *)a, true, part, name, err); // (only read)
}

sb_status sbi_panels_store(const sbi_panels *p, sb_array *a, sb_error *err) {
    return move_strips(p, a, false, SBI_READ_ALL, NULL, err);
}
