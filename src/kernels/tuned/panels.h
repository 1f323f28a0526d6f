// SPDX-License-Identifier: Apache-2.0
// How much of B and of A a thread packs at once, in the scratch that it is given for a product (scratch.def).
#ifndef SBI_PANELS_H
#define SBI_PANELS_H

enum { SBI_PANEL_BYTES = 512 << 10, SBI_STRIP_BYTES = 1280 << 10 };
#endif
