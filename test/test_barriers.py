#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/barriers.py: each fault planted is seen, what is right is not, and the kernel texts have none.

test_barriers.py ROOT BUILD"""
import pathlib
import sys

import checks
from checks import check

ROOT, BUILD = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(ROOT / "tools"))
import barriers  # noqa: E402

DEEP = "static inline void deep(__local float *x) {\n    barrier(1);\n}\n"
KERNEL = DEEP + "__kernel void k(__global float *x, int n) {\n    %s\n}\n"
WRONG = ["if (n) { barrier(1); }", "if (n) barrier(1);", "if (n) { x[0] = 1; } else { barrier(1); }", "if (n) x[0] = 1; else barrier(1);",
         "for (int i = 0; i < n; i++) { x[i] = 1; barrier(1); }", "while (n--) { deep(x); }", "if (n) { deep(x); }",
         "for (int i = 0; (barrier(1), (i < n)); i++) { if (i) { deep(x); } }", "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) deep(x);",
         "if (n) { x[0] = 1; } else if (n > 1) { barrier(1); }"]
RIGHT = ["barrier(1);", "deep(x); if (n) { x[0] = 1; } else { x[0] = 2; } barrier(1);", "for (int i = 0; (barrier(1), (i < n)); i++) { deep(x); }",
         "barrier(1); for (int i = 0; i < n; i++) { x[i] = 1; }", "for (int once = n; (barrier(1), (once)); once = 0) { if (n > 2) x[0] = 1; barrier(1); }"]
for text in WRONG:
    check(list(barriers.faults(KERNEL % text)), text)
for text in RIGHT:
    check(not list(barriers.faults(KERNEL % text)), text)
texts = sorted((BUILD / "kernels").glob("*.opencl"))
check(len(texts) > 15, texts)
for path in texts:
    for name, what in barriers.faults(path.read_text()):
        check(False, f"{path.stem}: {name}: {what} (WHEN and TOGETHER of dialect/c.h)")
check("barrier(" in "".join(path.read_text() for path in texts), "texts without a barrier")
sys.exit(checks.end())
