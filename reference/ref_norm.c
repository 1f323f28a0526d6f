// SPDX-License-Identifier: Apache-2.0
// T7: LayerNorm, m and v the mean and variance of T2, and RMSNorm, m = +0 and v = RN64(S(RN64(x x))/d).
// r = RN64(1/RN64(sqrt(RN64(v + eps)))); t = RN64(RN64(x - m) r); y = RN(RN64(RN64(t w) + b)), without w or b without that step.
#include "reference.h"

#include <stdlib.h>

#define REF_TEXT "ref_norm_typed.h"
#include "ref_both.h"
