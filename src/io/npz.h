// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz files: a zip archive of .npy files, stored (savez) or deflated (savez_compressed). The directory at its end is
// read, and checked against the bytes that are there; a member is checked by its CRC. Below 4 GiB; larger ones, encrypted members
// and other methods are SB_ERR_UNSUPPORTED by name.
#ifndef SBI_NPZ_H
#define SBI_NPZ_H

#include "base.h"

// The bytes of the member NAME.npy, to be released; name NULL: of the only one. Where there is no such, or which one is not said,
// SB_ERR_ARGUMENT lists them.
sb_status sbi_npz_read(const sbi_allocator *allocator, const char *path, const char *name, uint8_t **bytes, int64_t *size, sb_error *err);
// The same of an archive in memory.
sb_status sbi_npz_member(const sbi_allocator *allocator, const uint8_t *archive, int64_t archive_size, const char *name, uint8_t **bytes,
                         int64_t *size, sb_error *err);

// Deflated data (RFC 1951), from[size], which must give exactly to[want]. False where it does not.
bool sbi_inflate(const uint8_t *from, int64_t size, uint8_t *to, int64_t want);
uint32_t sbi_crc32(const uint8_t *bytes, int64_t size); // of zip (ISO 3309)
#endif
