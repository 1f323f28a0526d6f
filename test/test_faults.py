#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The system refuses (test/fault_shim.c preloaded): every write, open, fsync, close, rename, mkdir, read of every command that
touches files fails once, with a full disk, a lost one, a folder without rights. Each must end in exit status 3 with a line
that names the error and the path, leave no temporary file and no half file; a run must then resume to the checkpoint and
the ledger of an undisturbed one, byte for byte.

test_faults.py BUILD: BUILD holds samebits and libfault_shim.so.
"""
import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import checks
from checks import check

BUILD = os.path.abspath(sys.argv[1])
COMMAND, SHIM = os.path.join(BUILD, "samebits"), os.path.join(BUILD, "libfault_shim.so")
TEXT = "the same bits on every machine, at any number of threads, in any batch"
RECIPE = {"recipe": 1, "name": "smallest",
          "model": {"hidden_size": 2, "layers": 1, "heads": 1, "kv_heads": 1, "intermediate_size": 2, "tie": True},
          "training": {"steps": 3, "shards": 2, "shard_sequences": 1, "sequence_length": 4, "seed": 1, "learning_rate": 0.01},
          "checkpoints": {"every": 1, "keep": 1}, "evaluation": {"windows": 1},
          "data": {"held_out": 16, "sha256": hashlib.sha256(TEXT.encode()).hexdigest()}}
# Kinds of calls and the errors they can give.
FAULTS = {"write": (errno.ENOSPC, errno.EIO), "half": (errno.ENOSPC,), "open": (errno.ENOSPC, errno.EACCES), "fsync": (errno.EIO,),
          "close": (errno.EIO,), "rename": (errno.EROFS,), "mkdir": (errno.EACCES,), "read": (errno.EIO,),
          "unlink": (errno.EACCES,)}
WORDS = {errno.ENOSPC: "no space left on the device", errno.EIO: "input/output error", errno.EACCES: "permission denied",
         errno.EROFS: "read-only file system"}


def run(arguments, **environment):
    return subprocess.run([COMMAND, *arguments], env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="surrogateescape")


def contents(folder):
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def each_fault(name, arguments, prepare, look):
    """Every call of every kind fails once; look(result, label) sees what is left."""
    for call, numbers in FAULTS.items():
        prepare()
        result = run(arguments, LD_PRELOAD=SHIM, FAULT_CALL=call, FAULT_COUNT=COUNT)
        check(result.returncode in (0, 1), f"{name} undisturbed: {result.stderr}")
        with open(COUNT) as file:
            calls = int(file.read())
        for at in range(1, calls + 1):
            for number in numbers:
                label = f"{name}, {call} {at} of {calls}: {errno.errorcode[number]}"
                prepare()
                result = run(arguments, LD_PRELOAD=SHIM, FAULT_CALL=call, FAULT_AT=str(at), FAULT_ERRNO=str(number))
                # A folder that is there already needs no making; what cannot be removed is in nobody's way.
                tolerated = call in ("unlink", "mkdir") and result.returncode == 0
                if not tolerated:
                    check(result.returncode == 3, f"{label}: exit {result.returncode} {result.stdout} {result.stderr}")
                    check("SB_ERR_IO (" in result.stderr and WORDS[number] in result.stderr and TOP in result.stderr,
                          f"{label}: says {result.stderr!r}")
                if call != "unlink":
                    left = [f for f in contents(WORK) if f.endswith(".tmp")]
                    check(not left, f"{label}: {left} left")
                look(result, label)


with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as TOP:
    WORK, COUNT = os.path.join(TOP, "work"), os.path.join(TOP, "count")
    recipe, text, folder = (os.path.join(TOP, n) for n in ("recipe.json", "text.txt", "work/run"))
    with open(recipe, "w") as file:
        json.dump(RECIPE, file)
    with open(text, "w") as file:
        file.write(TEXT)
    train = ["lm", "train", "--recipe", recipe, "--data", text, "--threads", "1", "--quiet", "--out"]
    clean = os.path.join(TOP, "clean")
    check(run(train + [clean]).returncode == 0, "an undisturbed run")
    wanted = contents(clean)
    half = os.path.join(TOP, "half")
    check(run(train + [half, "--until", "2"]).returncode == 0, "a run stopped after step 2")

    def empty():
        shutil.rmtree(WORK, ignore_errors=True)
        os.mkdir(WORK)

    def halfway():
        empty()
        shutil.copytree(half, folder)

    def goes_on(result, label):
        """What is there can be resumed, or nothing is there and the run begins again: the same bytes in the end."""
        again = run(["lm", "resume", folder, "--data", text, "--threads", "1", "--quiet"])
        if again.returncode:
            check(not any(n.endswith(".safetensors") for n in contents(WORK)), f"{label}: no resume: {again.stderr}")
            again = run(train + [folder])
        check(again.returncode == 0, f"{label}, then: {again.stderr}")
        found = contents(folder)
        differing = sorted(n for n in wanted.keys() | found.keys() if wanted.get(n) != found.get(n))
        check(not differing, f"{label}: differs in {differing}")

    each_fault("train", train + [folder], empty, goes_on)
    each_fault("resume", ["lm", "resume", folder, "--data", text, "--threads", "1", "--quiet"], halfway, goes_on)

    document, other = os.path.join(WORK, "document.json"), os.path.join(TOP, "other.json")
    verify = ["verify", "--lanes", "scale", "--threads", "1", "--json-out"]
    check(run(verify + [other]).returncode == 0, "a document")

    def whole_or_none(path):
        def look(result, label):
            check(not os.path.exists(path) or (result.returncode != 3 or "sync" in result.stderr), f"{label}: {path} is there")
            if os.path.exists(path):
                with open(path) as file:
                    json.load(file)
        return look

    each_fault("verify --json-out", verify + [document], empty, whole_or_none(document))
    compared = ["compare", other, os.path.join(TOP, "third.json"), "--json-out", document]
    check(run(["verify", "--lanes", "scale,add", "--threads", "1", "--json-out", os.path.join(TOP, "third.json")]).returncode == 0, "a document")
    each_fault("compare --json-out", compared, empty, whole_or_none(document))
    for name, arguments in {"digest": ["digest", text], "eval": ["lm", "eval", "--checkpoint", clean, "--data", text],
                            "generate": ["lm", "generate", "--checkpoint", clean, "--prompt", "the", "--tokens", "2"],
                            "ledger compare": ["lm", "ledger", "compare", clean + "/ledger.jsonl", half + "/ledger.jsonl"]}.items():
        each_fault(name, arguments, empty, lambda result, label: None)
sys.exit(checks.end())
