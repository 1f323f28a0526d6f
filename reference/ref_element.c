// SPDX-License-Identifier: Apache-2.0
// Element by element: one rounding for each operation that is written.
#include "reference.h"

#define REF_TEXT "ref_element_typed.h"
#include "ref_both.h"
