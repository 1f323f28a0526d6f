// SPDX-License-Identifier: Apache-2.0
// A library to preload: sets flush-to-zero, denormals-are-zero and round-up before main, as a library built with
// fast-math does to every program that loads it. samebits must give the same bits all the same.
#include <xmmintrin.h>

__attribute__((constructor)) static void preset(void) {
    _mm_setcsr((_mm_getcsr() & ~0x6000u) | 0x8040u | 0x4000u); // FTZ | DAZ, rounding upward
}
