// SPDX-License-Identifier: Apache-2.0
// T2 and T12 of tables: lines through columns, moments of columns, sums of segments of rows, distances, the nearest point.
#include "reference.h"

#include <stdlib.h>
#include <string.h>

#define REF_TEXT "ref_table_typed.h"
#include "ref_both.h"
