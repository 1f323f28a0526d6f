#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The configure-time canary (cmake/canary.c) passes under the library's flags and refuses those that fuse, reassociate,
flush or divide by reciprocals, with gcc and with clang. test_canary.py SOURCE_DIR"""
import os
import subprocess
import sys
import tempfile

import checks
from checks import check

CANARY = os.path.join(sys.argv[1], "cmake", "canary.c")
GOOD = ["-std=c17", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
BAD = {
    "-ffast-math": "",
    "-ffp-contract=fast -march=x86-64-v3": "contraction",
    "-fassociative-math -fno-signed-zeros -fno-trapping-math": "reassociation",
    "-freciprocal-math": "reciprocal",
    "-ffinite-math-only": "NaN",
}


def run(compiler, flags):
    """What the canary says under these flags: "" if it passes."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "canary")
        subprocess.run([compiler, *flags, CANARY, "-o", program], check=True)
        result = subprocess.run([program], stdout=subprocess.PIPE, text=True)
        return result.stdout.strip() if result.returncode else ""


x86 = os.uname().machine == "x86_64"
for compiler in ("gcc", "clang"):
    for level in ("-O0", "-O3"):
        says = run(compiler, [level, *GOOD])
        check(says == "", f"{compiler} {level} with the library's flags: {says}")
    for flags, word in BAD.items():
        if "-march=x86" in flags and not x86:
            continue
        says = run(compiler, ["-O3", *GOOD[:1], *flags.split()])
        check(says != "" and word in says, f"{compiler} {flags}: expected {word or 'a refusal'}, got {says or 'none'}")
sys.exit(checks.end())
