// SPDX-License-Identifier: Apache-2.0
// The reference as a device: every operation of the library carried out by its definition in reference/.
#ifndef REFERENCE_DEVICE_H
#define REFERENCE_DEVICE_H

#include "samebits.h"

sb_status reference_context(sb_context **out, sb_error *err);
#endif
