// SPDX-License-Identifier: Apache-2.0
// A test is a program: CHECKs, then `return test_end();`, which prints the counts. ctest runs them all.
#ifndef TEST_H
#define TEST_H

#include <stdio.h>

static int test_passed, test_failed;

#define CHECK(condition, ...) \
    do { \
        if (condition) { \
            test_passed++; \
        } else { \
            test_failed++; \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__); \
            fputc('\n', stderr); \
        } \
    } while (0)

static inline int test_end(void) {
    printf("%d passed, %d failed\n", test_passed, test_failed);
    return test_failed != 0 || test_passed == 0;
}
#endif
