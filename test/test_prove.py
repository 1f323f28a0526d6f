#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_prove.py COMMAND: the proofs of contract T4, the part of every day. All 2^32 inputs of exp and of three functions
drawn by the commit's hash; of the rest 2^26 and every recorded hard case. --quick: 2^26 of all; --count N: N of all.
The exit status and the lines of `prove` must agree, and a flag or a name it does not know is an error.
"""
import argparse
import hashlib
import json
import subprocess
import sys

NAMES = ["exp", "log", "sin", "cos", "rsqrt", "sigmoid", "silu", "silu_grad", "normal"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="+", help="the command, behind an emulator where one is needed")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--count", type=int)
    options = parser.parse_args()
    command = options.command
    passed = failed = 0

    def check(holds, message):
        nonlocal passed, failed
        passed += bool(holds)
        failed += not holds
        if not holds:
            print(f"failed: {message}")

    commit = subprocess.run([*command, "--version"], capture_output=True, text=True).stdout
    rest = NAMES[1:]
    drawn = ["exp"] + sorted(rest, key=lambda name: hashlib.sha256((commit + name).encode()).digest())[:3]
    for name in NAMES:
        if options.count:
            how, count = ["--count", str(options.count)], options.count
        elif options.quick or name not in drawn:
            how, count = ["--quick"], 2**26
        else:
            how, count = [], 2**32
        run = subprocess.run([*command, "prove", name, *how, "--json", "--quiet"], capture_output=True, text=True)
        check(run.returncode == 0, f"prove {name}: exit {run.returncode}: {run.stdout}{run.stderr}")
        for line in run.stdout.splitlines():
            found = json.loads(line)
            print(f"{name}: {found['inputs']} inputs, {found['checked_with_mpfr']} checked with MPFR, {found['misrounded']} "
                  f"misrounded, {found['seconds']} s, level {found['isa']}, hash {found['recorded']}", flush=True)
            check(found["function"] == name and found["inputs"] == count, f"{line}: not what was asked for")
            check(found["misrounded"] == 0, f"{name}: {found['misrounded']} misrounded")
            check(found["recorded"] == "equal", f"{name}: the hash of all outputs is {found['recorded']}")
            check(count == 2**32 or found["hard_cases"] > 0, f"{name}: no hard cases")
    for bad in (["tan"], ["exp", "--all"], [], ["exp", "--count", "3"], ["exp", "--count", "0"], ["exp", "--counts"],
                ["exp", "--quick", "--count", "4"], ["exp", "--threads", "0"], ["exp", "--count", "8589934592"],
                ["exp", "--isa", "v9", "--count", "2"], ["exp", "--device", "abacus", "--count", "2"]):
        run = subprocess.run([*command, "prove", *bad], capture_output=True, text=True)
        check(run.returncode in (2, 3) and run.stderr and not run.stdout, f"prove {' '.join(bad)}: exit {run.returncode}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
