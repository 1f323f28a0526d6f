// SPDX-License-Identifier: Apache-2.0
// QR: A = Q R, A m by n, k = min(m, n), Q m by k with orthonormal columns, R k by n upper triangular with a diagonal that is not
// negative.
//
// Method: reflectors by block columns of SBI_PANEL (G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 5.2.3).
// Order of arithmetic. For the block columns in order, from row `first` of the diagonal on, as doubles: for the columns j of
// the block, while there are rows: the reflector (reflector.c) of rows j and on; it is applied to the later columns of the block.
// R's part is rounded once, and so are V and T. Every later block column C, in the same rows, loses V (T^T (V^T C)), three
// products of T3 in the type of the data. Q: the blocks, last to first, are applied to the columns of the identity from
// the block's on: C loses V (T (V^T C)). Where R's diagonal is negative (as rounded), the row of R and the column of Q become 0 - x.
// Cost: 2 n^2 (m - n / 3) operations for R, as many for Q; m n SBI_PANEL of them on the host.
// What can go wrong: nothing for finite data below the overflow threshold; of dependent columns R's diagonal is as small as
// rounding makes it, and Q's columns there are any that fit.
#include "linalg.h"

#include "check.h"

#include <string.h>

typedef struct panel { // under work: columns of `rows` doubles
    int64_t rows, width, done; // reflector `done` is being applied
    double *c, *v, tau[SBI_PANEL];
} panel;

static void reflect_column(void *argument, int64_t index) {
    const panel *p = argument;
    const int64_t j = p->done;
    sbi_reflect(p->rows - j, p->v + j * p->rows + j, p->tau[j], p->c + (j + 1 + index) * p->rows + j);
}

// The columns become R's (with what is below the diagonal left to be ignored), v the reflectors'.
static int64_t factor_panel(sbi_pool *pool, panel *p) {
    int64_t j = 0;
    for (; j < p->width && j < p->rows; j++) {
        double *v = p->v + j * p->rows, *c = p->c + j * p->rows;
        memset(v, 0, (size_t)p->rows * sizeof *v);
        memcpy(v + j, c + j, (size_t)(p->rows - j) * sizeof *v);
        c[j] = sbi_reflector(p->rows - j, v + j, &p->tau[j]);
        p->done = j;
        const int64_t later = p->width - j - 1, work = later * (p->rows - j);
        if (work > 1 << 14)
            sbi_pool_run(pool, later, reflect_column, p);
        else
            for (int64_t i = 0; i < later; i++) reflect_column(p, i);
    }
    return j;
}

static sb_status factor(sbi_qr_factors *qr, int64_t k, panel *p, double *rows, sb_error *err) {
    sbi_panels *a = &qr->a;
    const int64_t first = k * SBI_PANEL, count = a->rows - first, width = sbi_panel_width(a, k);
    const sbi_rows own = {a->panel[k], first, count};
    sb_status status = sbi_rows_read(a->ctx, own, rows, err);
    if (status != SB_OK) return status;
    p->rows = count;
    p->width = width;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < width; j++) p->c[j * count + i] = rows[i * width + j];
    const int64_t made = factor_panel(a->ctx->pool, p);
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < width; j++) rows[i * width + j] = i <= j ? p->c[j * count + i] : 0.0;
    status = sbi_rows_write(a->ctx, own, rows, err);
    if (status == SB_OK) status = sbi_block_arrays(a->ctx, a->dtype, count, made, p->v, p->tau, &qr->v[k], &qr->t[k], err);
    return status;
}

sb_status sbi_qr_factor(sb_context *ctx, const sb_array *a, const char *name, sbi_qr_factors *out, sb_error *err) {
    const int64_t m = a->shape[0], n = a->shape[1], k = m < n ? m : n;
    *out = (sbi_qr_factors){0};
    sb_status status = sbi_panels_new(ctx, a->dtype, m, n, &out->a, err);
    if (status == SB_OK) status = sbi_panels_load(&out->a, SBI_READ_ALL, a, name, err);
    if (status != SB_OK || k == 0) return status;
    const int64_t blocks = (k + SBI_PANEL - 1) / SBI_PANEL;
    panel p = {0};
    double *rows = NULL;
    out->v = sbi_allocate(&ctx->allocator, 2 * blocks, sizeof *out->v, err);
    if (out->v) p.c = sbi_allocate(&ctx->allocator, m * SBI_PANEL, sizeof *p.c, err);
    if (p.c) p.v = sbi_allocate(&ctx->allocator, m * SBI_PANEL, sizeof *p.v, err);
    if (p.v) rows = sbi_allocate(&ctx->allocator, m * SBI_PANEL, sizeof *rows, err);
    if (!rows) status = SB_ERR_MEMORY;
    if (out->v) {
        out->t = out->v + blocks;
        out->blocks = blocks;
    }
    for (int64_t i = 0; i < blocks && status == SB_OK; i++) {
        status = factor(out, i, &p, rows, err);
        for (int64_t j = i + 1; j < out->a.count && status == SB_OK; j++)
            status = sbi_reflect_rows(ctx, out->v[i], out->t[i], 1, (sbi_rows){out->a.panel[j], i * SBI_PANEL, m - i * SBI_PANEL}, err);
    }
    sbi_release(&ctx->allocator, rows);
    sbi_release(&ctx->allocator, p.v);
    sbi_release(&ctx->allocator, p.c);
    return status;
}

void sbi_qr_free(sbi_qr_factors *qr) {
    sb_context *ctx = qr->a.ctx;
    for (int64_t i = 0; i < qr->blocks; i++) {
        sbi_array_free(qr->v[i]);
        sbi_array_free(qr->t[i]);
    }
    if (ctx) sbi_release(&ctx->allocator, qr->v);
    sbi_panels_free(&qr->a);
    *qr = (sbi_qr_factors){0};
}

sb_status sbi_qr_apply(const sbi_qr_factors *qr, int transpose, sb_array *c, sb_error *err) {
    sb_status status = SB_OK;
    for (int64_t step = 0; step < qr->blocks && status == SB_OK && c->size; step++) {
        const int64_t i = transpose ? step : qr->blocks - 1 - step, first = i * SBI_PANEL;
        status = sbi_reflect_rows(qr->a.ctx, qr->v[i], qr->t[i], transpose, (sbi_rows){c, first, qr->a.rows - first}, err);
    }
    return status;
}

// The columns of Q in panels, from those of the identity.
static sb_status make_q(const sbi_qr_factors *qr, sbi_panels *q, double *rows, sb_error *err) {
    sb_status status = SB_OK;
    for (int64_t k = 0; k < q->count && status == SB_OK; k++) {
        const int64_t width = sbi_panel_width(q, k);
        memset(rows, 0, (size_t)(width * width) * sizeof *rows);
        for (int64_t i = 0; i < width; i++) rows[i * width + i] = 1.0;
        status = sbi_rows_write(q->ctx, (sbi_rows){q->panel[k], k * SBI_PANEL, width}, rows, err);
    }
    for (int64_t i = qr->blocks; i-- > 0 && status == SB_OK;)
        for (int64_t k = i; k < q->count && status == SB_OK; k++)
            status = sbi_reflect_rows(q->ctx, qr->v[i], qr->t[i], 0, (sbi_rows){q->panel[k], i * SBI_PANEL, q->rows - i * SBI_PANEL}, err);
    return status;
}

// Rows of r, and then columns of q, whose diagonal entry is negative.
static sb_status fix_rows(sb_context *ctx, sb_array *r, bool *negative, double *row, sb_error *err) {
    const int64_t k = r->shape[0], n = r->shape[1];
    sb_status status = SB_OK;
    for (int64_t i = 0; i < k && status == SB_OK; i++) {
        status = sbi_rows_read(ctx, (sbi_rows){r, i, 1}, row, err);
        negative[i] = row[i] < 0.0;
        for (int64_t j = i; j < n && negative[i]; j++) row[j] = 0.0 - row[j];
        if (status == SB_OK && negative[i]) status = sbi_rows_write(ctx, (sbi_rows){r, i, 1}, row, err);
    }
    return status;
}

static sb_status fix_columns(sbi_panels *q, const bool *negative, double *rows, sb_error *err) {
    sb_status status = SB_OK;
    for (int64_t k = 0; k < q->count && status == SB_OK; k++) {
        const int64_t width = sbi_panel_width(q, k);
        const sbi_rows all = {q->panel[k], 0, q->rows};
        status = sbi_rows_read(q->ctx, all, rows, err);
        for (int64_t i = 0; i < q->rows; i++)
            for (int64_t j = 0; j < width; j++)
                if (negative[k * SBI_PANEL + j]) rows[i * width + j] = 0.0 - rows[i * width + j];
        if (status == SB_OK) status = sbi_rows_write(q->ctx, all, rows, err);
    }
    return status;
}

sb_status sbi_qr(sb_context *ctx, const sb_array *a, sb_array *q, sb_array *r, sb_error *err) {
    sb_status status = sbi_check_real(a, "a", err);
    if (status == SB_OK) status = sbi_check_ndim(a, "a", 2, err);
    if (status != SB_OK) return status;
    const int64_t m = a->shape[0], n = a->shape[1], k = m < n ? m : n;
    status = sbi_check_matrix(r, "r", a->dtype, k, n, err);
    if (status == SB_OK && q) status = sbi_check_matrix(q, "q", a->dtype, m, k, err);
    if (status != SB_OK) return status;
    sbi_qr_factors qr = {0};
    sbi_panels columns = {0};
    bool *negative = sbi_allocate(&ctx->allocator, k + 1, sizeof *negative, err);
    const int64_t room = m * SBI_PANEL > n ? m * SBI_PANEL : n;
    double *rows = negative ? sbi_allocate(&ctx->allocator, k ? room : 1, sizeof *rows, err) : NULL;
    status = rows ? sbi_qr_factor(ctx, a, "a", &qr, err) : SB_ERR_MEMORY;
    if (status == SB_OK && k) status = sbi_panels_store(&qr.a, r, err);
    if (status == SB_OK) status = fix_rows(ctx, r, negative, rows, err);
    if (status == SB_OK && q && k) status = sbi_panels_new(ctx, a->dtype, m, k, &columns, err);
    if (status == SB_OK && q && k) status = make_q(&qr, &columns, rows, err);
    if (status == SB_OK && q && k) status = fix_columns(&columns, negative, rows, err);
    if (status == SB_OK && q && k) status = sbi_panels_store(&columns, q, err);
    sbi_release(&ctx->allocator, rows);
    sbi_release(&ctx->allocator, negative);
    sbi_panels_free(&columns);
    sbi_qr_free(&qr);
    return status;
}
