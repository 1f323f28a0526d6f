// SPDX-License-Identifier: Apache-2.0
// Rotary embedding: see ref_rotary_typed.h.
#include "reference.h"

#define REF_TEXT "ref_rotary_typed.h"
#include "ref_both.h"
