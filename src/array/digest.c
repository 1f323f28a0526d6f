// SPDX-License-Identifier: Apache-2.0
// The tree digest of a set of named arrays (contract T10). One SHA-256 over, for each array in bytewise order of the
// names: u32 length of the name, name, u32 length of the dtype's name, dtype's name, u32 ndim, i64 sizes, then the
// SHA-256 of each 64 KiB leaf of its bytes, in order. All integers and elements little-endian. Leaves are hashed in
// parallel, those of a device with memory of its own by a kernel there, so that 32 bytes a leaf come back; the order in
// which they are folded is fixed, so the digest knows neither threads nor devices.
#include "array.h"

#include <stdatomic.h>
#include <string.h>

enum { LEAF = 64 << 10, DIGEST = 32 };
static const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

static bool copied(const sb_array *a) { return big || a->storage->device != &sbi_cpu; }

static bool hashed_there(const sb_array *a) { return !big && a->storage->device->apart; }

typedef struct entry {
    const char *name;
    const sb_array *array;
    int64_t bytes, first_leaf, leaves;
    bool done; // hashed on its device
} entry;

typedef struct digest_job {
    entry *entries;
    int64_t count, leaves;
    uint8_t *digests; // of all leaves
    uint8_t *copies;  // two leaves a member; NULL where no leaf is copied
    atomic_int status;
    atomic_int_least64_t next; // pair of leaves
} digest_job;

static void add_u32(sbi_sha256 *hash, uint32_t x) {
    uint8_t bytes[4];
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(x >> (8 * i));
    sbi_sha256_add(hash, bytes, sizeof bytes);
}

static void add_i64(sbi_sha256 *hash, int64_t x) {
    add_u32(hash, (uint32_t)((uint64_t)x & 0xffffffffu));
    add_u32(hash, (uint32_t)((uint64_t)x >> 32));
}

static void reverse_items(uint8_t *bytes, int64_t size, size_t item) {
    for (uint8_t *at = bytes; at < bytes + size; at += item)
        for (size_t i = 0; i < item / 2; i++) {
            uint8_t low = at[i];
            at[i] = at[item - 1 - i];
            at[item - 1 - i] = low;
        }
}

static const entry *entry_of(const digest_job *job, int64_t leaf) { // the last that begins at or before it and is not empty
    int64_t low = 0, high = job->count;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (job->entries[middle].first_leaf <= leaf)
            low = middle;
        else
            high = middle;
    }
    return &job->entries[low];
}

// A leaf's bytes, where they stand or (if they have to be fetched or turned) in copy[LEAF]; NULL: hashed elsewhere, or its device failed.
static const uint8_t *leaf_bytes(digest_job *job, int64_t leaf, uint8_t *copy, size_t *size) {
    const entry *e = entry_of(job, leaf);
    int64_t from = (leaf - e->first_leaf) * LEAF, rest = e->bytes - from;
    const sbi_device *device = e->array->storage->device;
    if (hashed_there(e->array)) return NULL;
    *size = (size_t)(rest < LEAF ? rest : LEAF);
    if (!copied(e->array)) return (const uint8_t *)e->array->data + from;
    if (device->read(device, (const uint8_t *)e->array->data + from, copy, (int64_t)*size, NULL) != SB_OK) {
        atomic_store(&job->status, SB_ERR_DEVICE);
        return NULL;
    }
    if (big) reverse_items(copy, (int64_t)*size, sbi_dtype_size(e->array->dtype));
    return copy;
}

// Two leaves, side by side as far as both go.
static void hash_pair(digest_job *job, int64_t pair, uint8_t *copies) {
    sbi_sha256 hash[2];
    size_t size[2] = {0, 0};
    const uint8_t *bytes[2] = {NULL, NULL};
    for (int i = 0; i < 2 && 2 * pair + i < job->leaves; i++) {
        bytes[i] = leaf_bytes(job, 2 * pair + i, copies ? copies + i * LEAF : NULL, &size[i]);
        sbi_sha256_start(&hash[i]);
    }
    size_t both = !bytes[0] || !bytes[1] ? 0 : size[0] < size[1] ? size[0] / 64 * 64 : size[1] / 64 * 64;
    if (both) sbi_sha256_add_two(&hash[0], bytes[0], &hash[1], bytes[1], both);
    for (int i = 0; i < 2; i++) {
        if (!bytes[i]) continue;
        sbi_sha256_add(&hash[i], bytes[i] + both, size[i] - both);
        sbi_sha256_end(&hash[i], job->digests + (2 * pair + i) * DIGEST);
    }
}

// The leaves of a device with memory of its own, by kernels there, which are waited for once.
static sb_status hash_there(sb_context *ctx, const sbi_device *device, const digest_job *job, sb_error *err) {
    sb_status status = SB_OK;
    uint32_t *words = sbi_allocate(&ctx->allocator, job->leaves, DIGEST, err);
    char *there = words ? device->allocate(device, &ctx->allocator, job->leaves * DIGEST, err) : NULL;
    if (!there) status = SB_ERR_MEMORY;
    for (const entry *e = job->entries; e < job->entries + job->count && status == SB_OK; e++) {
        const sbi_arg args[] = {{.in = e->array->data}, {.out = there + e->first_leaf * DIGEST}, {.i = e->bytes}, {.i = e->leaves}};
        if (e->leaves > 0 && e->array->storage->device == device)
            status = device->launch(device, ctx->kernels, ctx->pool, SBI_ID_k_leaf_digests, (e->leaves + 15) / 16, args, err);
    }
    if (status == SB_OK) status = device->read(device, there, words, job->leaves * DIGEST, err);
    for (entry *e = job->entries; e < job->entries + job->count && status == SB_OK; e++) {
        if (e->array->storage->device != device) continue;
        for (int64_t i = 8 * e->first_leaf; i < 8 * (e->first_leaf + e->leaves); i++)
            for (int byte = 0; byte < 4; byte++) job->digests[4 * i + byte] = (uint8_t)(words[i] >> (24 - 8 * byte));
        e->done = true;
    }
    if (there) device->release(device, &ctx->allocator, there);
    sbi_release(&ctx->allocator, words);
    return status;
}

// A member has copies of its own and takes pairs until none is left.
static void hash_leaves(void *argument, int64_t member) {
    digest_job *job = argument;
    uint8_t *copies = job->copies ? job->copies + member * 2 * LEAF : NULL;
    for (int64_t pair; 2 * (pair = atomic_fetch_add(&job->next, 1)) < job->leaves;) hash_pair(job, pair, copies);
}

// Heapsort: a model's names come from a file, so no order of them may cost a square.
static void sift(entry *e, int64_t root, int64_t count) {
    for (int64_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && strcmp(e[child].name, e[child + 1].name) < 0) child++;
        if (strcmp(e[root].name, e[child].name) >= 0) return;
        entry other = e[root];
        e[root] = e[child];
        e[child] = other;
    }
}

static void sort_by_name(entry *e, int64_t count) {
    for (int64_t root = count / 2; root-- > 0;) sift(e, root, count);
    for (int64_t end = count; end-- > 1;) {
        entry other = e[0];
        e[0] = e[end];
        e[end] = other;
        sift(e, 0, end);
    }
}

sb_status sbi_digest_arrays(sb_context *ctx, int64_t count, const char *const *names, const sb_array *const *arrays,
                            uint8_t out[32], sb_error *err) {
    uint8_t *digests = NULL;
    void *copies = NULL;
    bool copy = false, here = false; // a leaf is copied, is hashed by the host
    sb_status status = SB_OK;
    int64_t leaves = 0;
    entry *entries = sbi_allocate(&ctx->allocator, count, sizeof *entries, err);
    if (!entries) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) entries[i] = (entry){.name = names[i], .array = arrays[i]};
    sort_by_name(entries, count);
    for (int64_t i = 0; i < count; i++) {
        entry *e = &entries[i];
        if (i > 0 && strcmp(e[-1].name, e->name) == 0) {
            char text[80];
            sbi_escape(e->name, strlen(e->name), text, sizeof text);
            status = sbi_fail(err, SB_ERR_ARGUMENT, "names", "two arrays are named \"%s\"", text);
            goto done;
        }
        if (strlen(e->name) > UINT32_MAX) {
            status = sbi_fail(err, SB_ERR_SIZE, "names", "a name of more than 2^32 bytes");
            goto done;
        }
        e->bytes = e->array->size * (int64_t)sbi_dtype_size(e->array->dtype);
        e->first_leaf = leaves;
        e->leaves = e->bytes / LEAF + (e->bytes % LEAF != 0);
        leaves += e->leaves;
        here = here || !hashed_there(e->array);
        copy = copy || (copied(e->array) && !hashed_there(e->array));
    }
    digests = sbi_allocate(&ctx->allocator, leaves, DIGEST, err);
    if (!digests) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    const int64_t threads = sbi_pool_threads(ctx->pool), pairs = leaves / 2 + leaves % 2, members = pairs < threads ? pairs : threads;
    if (copy && !(copies = sbi_pool_scratch(ctx->pool, members * 2 * LEAF, err))) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    digest_job job = {.entries = entries, .count = count, .leaves = leaves, .digests = digests, .copies = copies};
    if (here) sbi_pool_run(ctx->pool, members, hash_leaves, &job);
    if (atomic_load(&job.status) != SB_OK) {
        status = sbi_fail(err, SB_ERR_DEVICE, "arrays", "an array could not be read from its device");
        goto done;
    }
    for (entry *e = entries; e < entries + count; e++)
        if (hashed_there(e->array) && !e->done && (status = hash_there(ctx, e->array->storage->device, &job, err)) != SB_OK) goto done;
    sbi_sha256 hash;
    sbi_sha256_start(&hash);
    for (int64_t i = 0; i < count; i++) {
        const entry *e = &entries[i];
        const char *dtype = sbi_dtype_name(e->array->dtype);
        add_u32(&hash, (uint32_t)strlen(e->name));
        sbi_sha256_add(&hash, e->name, strlen(e->name));
        add_u32(&hash, (uint32_t)strlen(dtype));
        sbi_sha256_add(&hash, dtype, strlen(dtype));
        add_u32(&hash, (uint32_t)e->array->ndim);
        for (int axis = 0; axis < e->array->ndim; axis++) add_i64(&hash, e->array->shape[axis]);
        sbi_sha256_add(&hash, digests + e->first_leaf * DIGEST, (size_t)(e->leaves * DIGEST));
    }
    sbi_sha256_end(&hash, out);
done:
    sbi_pool_scratch_done(ctx->pool, copies);
    sbi_release(&ctx->allocator, digests);
    sbi_release(&ctx->allocator, entries);
    return status;
}
