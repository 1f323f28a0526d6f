// SPDX-License-Identifier: Apache-2.0
// T8: optimizers. See ref_optimizer_typed.h.
#include "reference.h"

#define REF_TEXT "ref_optimizer_typed.h"
#include "ref_both.h"
