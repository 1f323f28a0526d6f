// SPDX-License-Identifier: Apache-2.0
// SBI_QUICK is defined at the levels that have some functions of one float32 in a tuned form, the same values in less time.
#ifndef SBI_QUICK_H
#define SBI_QUICK_H
#if defined(SBI_TUNED) && defined(__AVX512F__)
#define SBI_QUICK
#include "tuned/functions.h"
#endif
#endif
