#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_prove.py COMMAND: every function of contract T4 on 2^22 inputs and the recorded hard cases (the grid and
`make proof` take more): the hashes of all outputs are the recorded ones, exit status and lines agree, and a flag or a
name that `prove` does not know is an error.
"""
import argparse
import json
import subprocess
import sys

NAMES = ["exp", "log", "sin", "cos", "rsqrt", "sigmoid", "silu", "silu_grad", "normal", "tanh", "expm1", "log1p", "exp2",
         "log2", "log10", "erf", "erfc", "softplus", "log_sigmoid", "gelu", "gelu_tanh", "gelu_grad", "gelu_tanh_grad"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="+", help="the command, behind an emulator where one is needed")
    parser.add_argument("--count", type=int, default=2**22)
    options = parser.parse_args()
    command = options.command
    passed = failed = 0

    def check(holds, message):
        nonlocal passed, failed
        passed += bool(holds)
        failed += not holds
        if not holds:
            print(f"failed: {message}")

    for name in NAMES:
        run = subprocess.run([*command, "prove", name, "--count", str(options.count), "--json", "--quiet"], capture_output=True, text=True)
        check(run.returncode == 0, f"prove {name}: exit {run.returncode}: {run.stdout}{run.stderr}")
        for line in run.stdout.splitlines():
            found = json.loads(line)
            print(f"{name}: {found['inputs']} inputs, {found['checked_with_mpfr']} checked with MPFR, {found['misrounded']} "
                  f"misrounded, {found['seconds']} s, level {found['isa']}, hash {found['recorded']}", flush=True)
            check(found["function"] == name and found["inputs"] == options.count, f"{line}: not what was asked for")
            check(found["misrounded"] == 0, f"{name}: {found['misrounded']} misrounded")
            check(found["recorded"] == "equal", f"{name}: the hash of all outputs is {found['recorded']}")
            check(found["hard_cases"] > 0, f"{name}: no hard cases")
    for count, code in ((2**22, 0), (1024, 3)): # judged by none, and the smaller count has no recorded hash
        run = subprocess.run([*command, "prove", "tanh", "--count", str(count), "--hash-only"], capture_output=True, text=True)
        check(run.returncode == code and "not judged" in run.stdout and "misrounded" not in run.stdout,
              f"prove --hash-only of {count} inputs: exit {run.returncode}: {run.stdout}")
    for name, told in (("inverse_normal", "normal: 1024 inputs"), ("normal", "normal: 1024 inputs")):
        run = subprocess.run([*command, "prove", name, "--count", "1024"], capture_output=True, text=True)
        check(run.stdout.startswith(told), f"prove {name}: {run.stdout}{run.stderr}")
    for name in ("sqrt", "neg", "abs"):
        run = subprocess.run([*command, "prove", name], capture_output=True, text=True)
        check(run.returncode == 2 and not run.stdout and f"{name}: nothing to prove: IEEE 754" in run.stderr, f"prove {name}: {run.stderr}")
    for bad in (["tan"], ["exp", "--all"], [], ["exp", "--count", "3"], ["exp", "--count", "0"], ["exp", "--counts"],
                ["exp", "--quick", "--count", "4"], ["exp", "--threads", "0"], ["exp", "--count", "8589934592"],
                ["exp", "--isa", "v9", "--count", "2"], ["exp", "--device", "abacus", "--count", "2"]):
        run = subprocess.run([*command, "prove", *bad], capture_output=True, text=True)
        check(run.returncode in (2, 3) and run.stderr and not run.stdout, f"prove {' '.join(bad)}: exit {run.returncode}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
