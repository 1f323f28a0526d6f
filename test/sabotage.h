// SPDX-License-Identifier: Apache-2.0
// A sabotage: a kernel text with one line changed, which lanes must notice. The rows are made by tools/sabotage.py.
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include "kernels.h"

#include <stddef.h>

typedef struct sabotage_row {
    const char *name, *file, *line, *changed, *lanes; // lanes: "a,b"
    void (*apply)(sbi_kernel_run *run); // puts the changed kernels into a table
} sabotage_row;

extern const sabotage_row sabotage_rows[]; // ended by a row without a name
#endif
