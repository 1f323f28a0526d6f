// SPDX-License-Identifier: Apache-2.0
// samebits digest.
#include "cli.h"

static const char *hex(const uint8_t digest[32], char out[65]) {
    for (int i = 0; i < 32; i++) {
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
    }
    return out;
}

int cli_digest(int argc, char **argv) {
    static const char usage[] = "samebits digest FILE ...";
    static const char about[] =
        "Prints the SHA-256 of a file's bytes, and for a safetensors file the tree digest of its arrays (contract T10), which\n"
        "does not depend on how the file is laid out.";
    const cli_flag flags[] = {{0}};
    int operands = 0, status = cli_flags(argc, argv, usage, about, flags, &operands);
    if (status >= 0) {
        return status;
    }
    if (operands == 0) {
        return cli_usage_error(usage, "expected a file");
    }
    status = CLI_GOOD;
    for (int i = 1; i <= operands; i++) {
        sb_error err = {.status = SB_OK};
        uint8_t bytes[32], tree[32];
        char text[65];
        int64_t arrays = 0;
        if (sb_digest_file(argv[i], bytes, tree, &arrays, &err) != SB_OK) {
            int failed = cli_failed("digest", &err);
            status = status == CLI_GOOD ? failed : status;
            continue;
        }
        printf("sha256 %s  %s\n", hex(bytes, text), cli_show(argv[i]));
        if (arrays >= 0) {
            printf("arrays %s  %lld arrays\n", hex(tree, text), (long long)arrays);
        }
    }
    return status;
}
