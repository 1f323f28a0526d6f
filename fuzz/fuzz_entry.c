// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry to one target: FUZZ_TARGET is its function.
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    FUZZ_TARGET(data, size);
    return 0;
}
