// SPDX-License-Identifier: Apache-2.0
// Every kernel's row, in the order of the identifiers. A new .cl file is added here and in CMakeLists.txt.
// (No include guard: included once for each meaning of SBI_KERNEL.)
#include "attention.def"
#include "elementwise.def"
#include "function.def"
#include "function64.def"
#include "gather.def"
#include "gemm.def"
#include "histogram.def"
#include "loss.def"
#include "norm.def"
#include "optimizer.def"
#include "random.def"
#include "reduce.def"
#include "rotary.def"
#include "scan.def"
#include "softmax.def"
#include "sort.def"
