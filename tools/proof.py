#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make proof: every function at all 2^32 inputs, at every level this machine runs.

The last of the levels is judged, and must end with 0 misrounded; each other must end with its SHA-256 of all outputs. Every
level must tell of every function. What a run proved is recorded by tools/proofs.py (see CONTRIBUTING).
"""
import argparse
import os
import re
import subprocess
import sys

from proofs import USES  # the functions there are to prove

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINE = re.compile(r"^(\S+): (\d+) inputs, (?:not judged|(\d+) checked with MPFR, (\d+) misrounded), ([0-9.]+) s, sha256 ([0-9a-f]{64})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--levels", default="reverse plain v1 v3 v4 neon", help="default: %(default)s")
    parser.add_argument("functions", nargs="*", help="default: all")
    options = parser.parse_args()
    command = os.path.join(os.path.abspath(options.build), "samebits")
    digests, passed, failed, skipped, levels = {}, 0, 0, 0, []
    for level in options.levels.split():
        environment = dict(os.environ, SAMEBITS_ISA=level)
        if subprocess.run([command, "doctor"], env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode:
            print(f"{level}: this machine does not run it")
            skipped += 1
        else:
            levels.insert(0, level)
    expected = len(options.functions or USES)
    for level in levels:
        judged, lines = level == levels[0], 0
        run = subprocess.Popen([command, "prove", *(options.functions or ["--all"]), *([] if judged else ["--hash-only"])],
                               env=dict(os.environ, SAMEBITS_ISA=level), text=True, stdout=subprocess.PIPE)
        for line in run.stdout:
            print(f"{level:6} {line}", end="", flush=True)
            found = LINE.match(line)
            if found:
                lines += 1
                right = found[4] == "0" if judged else found[4] is None and found[1] in digests
                same = digests.setdefault(found[1], found[6]) == found[6]
                if right and int(found[2]) == 2**32 and same:
                    passed += 1
                else:
                    failed += 1
        if run.wait():
            print(f"{level}: prove ended with exit {run.returncode}")
            failed += 1
        if lines != expected:
            print(f"{level}: prove told of {lines} functions, there are {expected}")
            failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
