// SPDX-License-Identifier: Apache-2.0
// Which samebits this is. Alone in its file: the only one that a new commit compiles again.
#include "samebits.h"
#include "samebits_commit.h" // made at every build by cmake/commit.cmake

const char *sb_version(void) {
    return SB_VERSION;
}

const char *sb_commit(void) {
    return SBI_COMMIT;
}
