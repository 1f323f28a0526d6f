// SPDX-License-Identifier: Apache-2.0
// Every kernel's row, in the order of the identifiers. A new .cl file is added here and in CMakeLists.txt.
// (No include guard: included once for each meaning of SBI_KERNEL. SBI_KERNEL_FILE(name), where it is defined, stands
// before the rows of a file.)
#ifndef SBI_KERNEL_FILE
#define SBI_KERNEL_FILE(name)
#endif
SBI_KERNEL_FILE(attention)
#include "attention.def"
SBI_KERNEL_FILE(attention_tile)
#include "attention_tile.def"
SBI_KERNEL_FILE(columns)
#include "columns.def"
SBI_KERNEL_FILE(digest)
#include "digest.def"
SBI_KERNEL_FILE(distance)
#include "distance.def"
SBI_KERNEL_FILE(elementwise)
#include "elementwise.def"
SBI_KERNEL_FILE(function)
#include "function.def"
SBI_KERNEL_FILE(function64)
#include "function64.def"
SBI_KERNEL_FILE(gather)
#include "gather.def"
SBI_KERNEL_FILE(gemm)
#include "gemm.def"
SBI_KERNEL_FILE(histogram)
#include "histogram.def"
SBI_KERNEL_FILE(loss)
#include "loss.def"
SBI_KERNEL_FILE(neighbors)
#include "neighbors.def"
SBI_KERNEL_FILE(norm)
#include "norm.def"
SBI_KERNEL_FILE(optimizer)
#include "optimizer.def"
SBI_KERNEL_FILE(probe)
#include "probe.def"
SBI_KERNEL_FILE(probe_single)
#include "probe_single.def"
SBI_KERNEL_FILE(random)
#include "random.def"
SBI_KERNEL_FILE(reduce)
#include "reduce.def"
SBI_KERNEL_FILE(rotary)
#include "rotary.def"
SBI_KERNEL_FILE(scan)
#include "scan.def"
SBI_KERNEL_FILE(softmax)
#include "softmax.def"
SBI_KERNEL_FILE(sort)
#include "sort.def"
#undef SBI_KERNEL_FILE
