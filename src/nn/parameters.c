// SPDX-License-Identifier: Apache-2.0
// The layout of a model's parameters, sets of tensors over it, initial values.
#include "nn.h"

#include <stdio.h>
#include <string.h>

void sbi_layout_start(sbi_layout *layout, const sbi_allocator *allocator) {
    *layout = (sbi_layout){.allocator = *allocator};
}

void sbi_layout_free(sbi_layout *layout) {
    sbi_release(&layout->allocator, layout->items);
    layout->items = NULL;
    layout->count = layout->capacity = layout->extent = layout->elements = 0;
}

sb_status sbi_layout_add(sbi_layout *layout, const char *prefix, const char *name, int64_t rows,
                         int64_t columns, sbi_initial initial, float deviation, sb_error *err) {
    if (layout->count == layout->capacity) {
        int64_t capacity = layout->capacity ? 2 * layout->capacity : 32;
        sbi_parameter *grown = sbi_allocate(&layout->allocator, capacity, sizeof *grown, err);
        if (!grown) return SB_ERR_MEMORY;
        if (layout->count) memcpy(grown, layout->items, (size_t)layout->count * sizeof *grown);
        sbi_release(&layout->allocator, layout->items);
        layout->items = grown;
        layout->capacity = capacity;
    }
    sbi_parameter item = {.ndim = columns ? 2 : 1,
                          .shape = {rows, columns},
                          .offset = layout->extent,
                          .initial = initial,
                          .deviation = deviation};
    snprintf(item.name, sizeof item.name, "%s%s", prefix, name);
    int64_t end, padded;
    if (rows < 1 || columns < 0 || !sbi_multiply(rows, columns ? columns : 1, &item.size) ||
        !sbi_add(layout->extent, item.size, &end) || !sbi_add(end, 15, &padded) ||
        !sbi_multiply(padded, (int64_t)sizeof(float), &end))
        return sbi_fail(err, SB_ERR_SIZE, item.name, "the size of %s, %lld x %lld, overflows",
                        item.name, (long long)rows, (long long)columns);
    layout->extent = padded - padded % 16;
    layout->elements += item.size;
    layout->items[layout->count++] = item;
    return SB_OK;
}

void sbi_tensors_free(sbi_tensors *tensors) {
    if (tensors->items)
        for (int64_t i = 0; i < tensors->layout->count; i++) sbi_array_free(tensors->items[i]);
    if (tensors->layout) sbi_release(&tensors->layout->allocator, tensors->items);
    sbi_array_free(tensors->flat);
    *tensors = (sbi_tensors){0};
}

sb_status sbi_tensors_new(sb_context *ctx, const sbi_layout *layout, sbi_tensors *out,
                          sb_error *err) {
    *out = (sbi_tensors){.layout = layout};
    sb_status status = sbi_array_new(ctx, SB_F32, 1, &layout->extent, &out->flat, err);
    if (status == SB_OK &&
        !(out->items = sbi_allocate(&layout->allocator, layout->count, sizeof *out->items, err)))
        status = SB_ERR_MEMORY;
    for (int64_t i = 0; i < layout->count && status == SB_OK; i++) {
        const sbi_parameter *item = &layout->items[i];
        sb_array *row = NULL;
        status = sbi_array_slice(out->flat, item->offset, item->size, &row, err);
        if (status == SB_OK)
            status = sbi_array_reshape(row, item->ndim, item->shape, &out->items[i], err);
        sbi_array_free(row);
    }
    if (status != SB_OK) sbi_tensors_free(out);
    return status;
}

sb_status sbi_tensors_digest(sb_context *ctx, const sbi_tensors *tensors, uint8_t out[32],
                             sb_error *err) {
    const sbi_layout *layout = tensors->layout;
    const char **names = sbi_allocate(&layout->allocator, layout->count, sizeof *names, err);
    if (!names) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < layout->count; i++) names[i] = layout->items[i].name;
    sb_status status = sbi_digest_arrays(ctx, layout->count, names,
                                         (const sb_array *const *)tensors->items, out, err);
    sbi_release(&layout->allocator, names);
    return status;
}

static sb_status fill(sb_array *a, float value, const sbi_allocator *allocator, sb_error *err) {
    int64_t size = a->size;
    float *values = sbi_allocate(allocator, size, sizeof *values, err);
    if (!values) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < size; i++) values[i] = value;
    sb_status status = sbi_array_write(a, values, (size_t)size * sizeof *values, err);
    sbi_release(allocator, values);
    return status;
}

sb_status sbi_tensors_initialize(sb_context *ctx, sbi_tensors *weights, uint64_t seed,
                                 uint64_t stream, sb_error *err) {
    const sbi_layout *layout = weights->layout;
    sb_status status = SB_OK;
    for (int64_t i = 0; i < layout->count && status == SB_OK; i++) {
        const sbi_parameter *item = &layout->items[i];
        sb_array *w = weights->items[i];
        if (item->initial == SBI_INITIAL_NORMAL) {
            status = sbi_random_normal(ctx, seed, stream + (uint64_t)i, 0, w, err);
            if (status == SB_OK) status = sbi_scale(ctx, w, (double)item->deviation, w, err);
        } else {
            status =
                fill(w, item->initial == SBI_INITIAL_ONE ? 1.0f : 0.0f, &layout->allocator, err);
        }
    }
    return status;
}
