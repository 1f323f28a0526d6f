#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 before and after every open, write, fsync and rename of a training run (test/kill_shim.c preloaded).

After each kill the run is resumed (or begun again where nothing was saved yet) and must end in the checkpoint and the
ledger of an undisturbed run, byte for byte; no file in the folder may load wrongly.

test_kill.py BUILD: BUILD holds samebits and libkill_shim.so.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import checks
from checks import check

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(sys.argv[1])
COMMAND = os.path.join(BUILD, "samebits")
SHIM = os.path.join(BUILD, "libkill_shim.so")
START = ["lm", "train", "--recipe", os.path.join(ROOT, "recipes", "tiny.json"), "--data", os.path.join(ROOT, "data", "kjv.txt"),
         "--quiet", "--threads", "1"]


def run(arguments, **environment):
    return subprocess.run([COMMAND, *arguments], env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def contents(folder):
    """Name to bytes of all that a run leaves, temporary files excepted (they may stay after a kill; nothing reads them)."""
    kept = {}
    for where, _, names in os.walk(folder):
        for name in names:
            if name.endswith((".safetensors", ".json", ".jsonl")):
                path = os.path.join(where, name)
                with open(path, "rb") as file:
                    kept[os.path.relpath(path, folder)] = file.read()
    return kept


with tempfile.TemporaryDirectory() as top:
    clean, count = os.path.join(top, "clean"), os.path.join(top, "count")
    result = run(START + ["--out", clean], LD_PRELOAD=SHIM, KILL_COUNT=count)
    check(result.returncode == 0, "the undisturbed run: " + result.stdout)
    wanted = contents(clean)
    with open(count) as file:
        calls = int(file.read())
    check(calls >= 12, f"only {calls} calls seen: the shim does not see the run")
    for when in ("before", "after"):
        for at in range(1, calls + 1):
            folder = os.path.join(top, "run")
            shutil.rmtree(folder, ignore_errors=True)
            result = run(START + ["--out", folder], LD_PRELOAD=SHIM, KILL_AT=str(at), KILL_WHEN=when)
            check(result.returncode == -9, f"{when} call {at}: exit {result.returncode}, not killed")
            resumed = run(["lm", "resume", folder, "--quiet", "--threads", "1"])
            if resumed.returncode:  # nothing saved yet: the run begins again
                check(not any(n.endswith(".safetensors") for n in contents(folder)),
                      f"{when} call {at}: a checkpoint is there, yet resume says: {resumed.stdout}")
                shutil.rmtree(folder, ignore_errors=True)
                resumed = run(START + ["--out", folder])
            check(resumed.returncode == 0, f"{when} call {at}: {resumed.stdout}")
            found = contents(folder)
            differing = sorted(n for n in wanted.keys() | found.keys() if wanted.get(n) != found.get(n))
            check(not differing, f"{when} call {at}: differs in {differing}")
print(f"{calls} calls")
sys.exit(checks.end())
