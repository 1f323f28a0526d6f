#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/support.md is what tools/support.py makes of the repository, and the tool sees what is no longer so. test_support.py SOURCE_DIR"""
import os
import subprocess
import sys

import checks
from checks import check

ROOT = sys.argv[1]
sys.path.insert(0, os.path.join(ROOT, "tools"))
import support  # noqa: E402

told = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "support.py"), "--check"], capture_output=True, text=True)
check(told.returncode == 0, told.stderr)
text, read = support.page(), support.read
check(all(words in text for words in ("Intel GPUs", "Apple GPUs", "sm_90", "gfx942", "must be refused by its probes: float32 fma", "not run")), text)


def planted(what, file, old, new):
    """The tool refuses, or writes another page, where a file says something else."""
    def other(*path):
        found = read(*path)
        if path[-1] == file:
            check(old in found, f"{file} has no {old}")
            return found.replace(old, new)
        return found
    support.read = other
    try:
        changed = support.page() != text
    except SystemExit:
        changed = True
    finally:
        support.read = read
    check(changed, f"{what}: nothing noticed")


digest = read("references", "evidence", "x86_64-v4.json").split('"sha256": "')[3][:64]
planted("a digest that is not golden", "x86_64-v4.json", digest, digest[::-1])
planted("a cell that diverged", "x86_64-v4.json", "IDENTICAL", "DIVERGENT")
planted("no date", "x86_64-v4.json", '"date": "', '"date": null, "day": "')
planted("a level that is not built", "sources.cmake", "set(SBI_LEVEL_FLAGS_v3 ", "sbi_add_level(v5 ")
planted("a target CI leaves out", "run", " riscv64", "")
planted("an audit CI leaves out", "run", " gfx942", "")
planted("a refusal that nobody wants", "test_devices.py", 'startswith("llvmpipe")', 'startswith("other")')
planted("a target that the audit lacks", "support.tsv", "ptx-clang", "ptx-other")
sys.exit(checks.end())
