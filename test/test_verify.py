#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verify --all at every level that this machine runs, at several thread counts, and selftest. test_verify.py COMMAND"""
import json
import subprocess
import sys

COMMAND = sys.argv[1]
failed = False


def run(*arguments):
    global failed
    result = subprocess.run([COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    failed = failed or result.returncode != 0
    lines = result.stdout.strip().splitlines()
    print(" ".join(arguments), "->", result.returncode)
    print("\n".join(lines if result.returncode else lines[-1:]), flush=True)


doctor = json.loads(subprocess.run([COMMAND, "doctor", "--json"], stdout=subprocess.PIPE).stdout)
for number, level in enumerate(doctor["levels"]):
    if level["usable"]:
        run("verify", "--all", "--isa", level["level"], "--threads", str((2, 1, 3, 7, 16)[number % 5]))
    else:
        print(f"verify at {level['level']}: skipped, this machine does not run it")
run("selftest", "--all")
sys.exit(failed)
