// SPDX-License-Identifier: Apache-2.0
// npz archives: a member that is given has the CRC that the directory says; which is asked twice, is given twice alike. The bytes alone,
// too, as deflated data: the first says half the size.
#include "fuzz.h"
#include "npz.h"

static void ask(const uint8_t *data, size_t size, const char *name) {
    uint8_t *one = NULL, *two = NULL;
    int64_t one_size = 0, two_size = 0;
    sb_error err = {0};
    const sb_status status = sbi_npz_member(&fuzz_allocator, data, (int64_t)size, name, &one, &one_size, &err);
    MUST(status == sbi_npz_member(&fuzz_allocator, data, (int64_t)size, name, &two, &two_size, NULL));
    if (status == SB_OK)
        MUST(one && one_size == two_size && memcmp(one, two, (size_t)one_size) == 0);
    else {
        MUST(!one && !two);
        fuzz_error(status, &err);
    }
    sbi_release(&fuzz_allocator, one);
    sbi_release(&fuzz_allocator, two);
}

void fuzz_npz(const uint8_t *data, size_t size) {
    uint8_t one[600], two[600];
    ask(data, size, NULL);
    ask(data, size, "x");
    if (!size) return;
    const int64_t want = data[0] * 2;
    memset(one, 0, sizeof one);
    memset(two, 1, sizeof two);
    const bool taken = sbi_inflate(data + 1, (int64_t)size - 1, one, want);
    MUST(taken == sbi_inflate(data + 1, (int64_t)size - 1, two, want));
    if (taken) MUST(memcmp(one, two, (size_t)want) == 0);
    for (size_t i = (size_t)want; i < sizeof one; i++) MUST(one[i] == 0);
}
