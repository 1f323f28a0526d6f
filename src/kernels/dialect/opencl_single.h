// SPDX-License-Identifier: Apache-2.0
// The dialect in OpenCL C for a device without binary64: a text that names f64 without computing in it compiles.
#define SBI_NO_F64
#include "opencl.h"
