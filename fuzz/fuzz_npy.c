// SPDX-License-Identifier: Apache-2.0
// The npy reader: what it takes converts, whole and in two parts, to the same elements; as a file it reads the same.
#include "fuzz.h"
#include "npy.h"

void fuzz_npy(const uint8_t *data, size_t size) {
    sbi_npy npy, again;
    sb_error err = {0};
    sb_status status = sbi_npy_header(data, (int64_t)size, (int64_t)size, &npy, &err);
    const char *path = fuzz_file(0, data, size);
    MUST(status == sbi_npy_open(&fuzz_allocator, path, &again, NULL));
    if (status != SB_OK) {
        fuzz_error(status, &err);
        return;
    }
    MUST(memcmp(&npy, &again, sizeof npy) == 0 && npy.size * npy.item + npy.offset == (int64_t)size);
    for (int i = 0; i < 3; i++) {
        const sb_dtype dtype = i == 0 ? sbi_npy_dtype(&npy) : i == 1 ? SB_F32 : SB_F64;
        const size_t bytes = (size_t)npy.size * sb_dtype_size(dtype);
        unsigned char *to[3];
        for (int k = 0; k < 3; k++) MUST((to[k] = calloc(bytes + 1, 1)));
        const int64_t half = npy.size / 2;
        const uint8_t *elements = data + npy.offset;
        MUST(sbi_npy_convert(&npy, elements, 0, npy.size, dtype, to[0], &err) == SB_OK);
        MUST(sbi_npy_convert(&npy, elements, 0, half, dtype, to[1], &err) == SB_OK);
        MUST(sbi_npy_convert(&npy, elements + half * npy.item, half, npy.size - half, dtype, to[1], &err) == SB_OK);
        MUST(sbi_npy_read(&fuzz_allocator, path, &npy, dtype, to[2], &err) == SB_OK);
        MUST(memcmp(to[0], to[1], bytes) == 0 && memcmp(to[0], to[2], bytes) == 0);
        for (int k = 0; k < 3; k++) free(to[k]);
    }
}
