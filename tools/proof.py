#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make proof: every function at all 2^32 inputs, at every level this machine runs.

Each run must end with 0 misrounded, and all levels with one SHA-256 per function. What one run proved is recorded by
tools/proofs.py (see CONTRIBUTING).
"""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINE = re.compile(r"^(\S+): (\d+) inputs, (\d+) checked with MPFR, (\d+) misrounded, ([0-9.]+) s, sha256 ([0-9a-f]{64})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--levels", default="plain v1 v3 v4", help="default: %(default)s")
    parser.add_argument("functions", nargs="*", help="default: all")
    options = parser.parse_args()
    command = os.path.join(os.path.abspath(options.build), "samebits")
    digests, passed, failed, skipped = {}, 0, 0, 0
    for level in options.levels.split():
        environment = dict(os.environ, SAMEBITS_ISA=level)
        if subprocess.run([command, "doctor"], env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode:
            print(f"{level}: this machine does not run it")
            skipped += 1
            continue
        run = subprocess.Popen([command, "prove", *(options.functions or ["--all"])], env=environment, text=True,
                               stdout=subprocess.PIPE)
        for line in run.stdout:
            print(f"{level:6} {line}", end="", flush=True)
            found = LINE.match(line)
            if found:
                same = digests.setdefault(found[1], found[6]) == found[6]
                if int(found[4]) == 0 and int(found[2]) == 2**32 and same:
                    passed += 1
                else:
                    failed += 1
        if run.wait():
            print(f"{level}: prove ended with exit {run.returncode}")
            failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
