#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The record that binary64 over integers (src/kernels/soft64.h) equals the processor's, docs/soft64.tsv.

  soft64.py --check         the text is the one that was compared on 2^30 pairs
  soft64.py --record FILE   takes what `test_soft64 30` said, or several runs on blocks of their own: test_soft64 28, 28 4096 ...
"""
import os
import re
import sys

from proofs import digests, rows, sections_of, write

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join(ROOT, "docs/soft64.tsv")
HEAD = """# Binary64 over integers against the processor's (test_soft64 30): pairs drawn (with a third operand for fma; kinds in test/test_soft64.c),
# every special triple, operations and conversions each. `text` is the SHA-256 of src/kernels/soft64.h, comments and spaces aside;
# tools/soft64.py --check fails where it has changed.
# pairs\tspecial triples\toperations\twrong\ttext
"""
SAID = re.compile(r"^soft64: (\d+) special triples, (\d+) pairs, (\d+) operations, (\d+) wrong; fma compared", re.M)


def text():
    sections = sections_of(os.path.join(ROOT, "src/kernels/soft64.h"))
    return digests(sections, {"soft64": [title for title in sections if title]})["soft64"]


def main():
    if sys.argv[1:] == ["--check"]:
        table = rows(TABLE)
        fault = ("no comparison is recorded" if len(table) != 1 else
                 "its text is not the one that was compared; run test_soft64 30 and record it" if table[0][4] != text() else
                 "fewer than 2^30 pairs, or wrong ones" if int(table[0][0]) < 2**30 or table[0][3] != "0" else None)
        print(f"soft64: {fault}" if fault else "1 passed, 0 failed")
        return 1 if fault else 0
    if len(sys.argv) == 3 and sys.argv[1] == "--record":
        with open(sys.argv[2], encoding="utf-8") as file:
            said = [[int(number) for number in run] for run in SAID.findall(file.read())]
        pairs, wrong = sum(run[1] for run in said), sum(run[3] for run in said)
        if wrong or pairs < 2**30:
            sys.exit("not a comparison of 2^30 pairs without a wrong one")
        write(TABLE, HEAD, [[str(pairs), str(said[0][0]), str(said[0][2]), str(wrong), text()]])
        return 0
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
