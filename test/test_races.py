#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels under oclgrind, which watches every access of every lane: data races, reads of what was never written; and their cells are
the golden values there, too. test_races.py BUILD [--all]

Without --all: the kernels of a training step. With it (make proof, hours): every lane of an operation on its odd sizes, and every
kernel but the probes must have run. A planted race and a planted read must be reported first. Without oclgrind nothing is tried (77);
SAMEBITS_REQUIRED=oclgrind makes that a failure."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import checks
from checks import check

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent
STEP = [("odd", lane) for lane in ("attention_causal", "rms_norm", "embedding_backward", "gemm_nt", "cross_entropy", "gemm_tn", "clip_norm", "swiglu",
                                   "embedding", "adamw", "rotary")] + [("one", "attention_backward")]
STEP_KERNELS = set("gemm norm norm_backward swiglu swiglu_backward rotary attention_tile attention_tile_backward cross_entropy cross_entropy_backward adamw".split())
MADE_OF_OPERATIONS = ("estimator", "factorization", "model")
PLANTED = {"clean": "", "race": "Read-write data race", "uninitialised": "Controlflow depends on uninitialized value"}
program = shutil.which("oclgrind")
driver = program and pathlib.Path(program).parent.parent / "lib" / "oclgrind" / "liboclgrind-rt-icd.so"
if not program or not driver.exists():
    required = "oclgrind" in os.environ.get("SAMEBITS_REQUIRED", "").split()
    print("oclgrind is required, and not here" if required else "skipped: no oclgrind")
    sys.exit(1 if required else 77)


def watch(folder, *arguments):
    """What a run of test_races said, and what oclgrind did. (Optimized, the text holds instructions that it does not know.)"""
    log = os.path.join(folder, "-".join(arguments) + ".log")
    run = subprocess.run([program, "--build-options", "-cl-opt-disable", "--data-races", "--uninitialized", "--max-errors", "20", "--local-mem-size", "49152", "--log", log,
                          BUILD / "test_races", *arguments], env={**os.environ, "OCL_ICD_VENDORS": folder, "SAMEBITS_CACHE": ""},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    with open(log, encoding="utf-8", errors="replace") as file:
        said = file.read().strip()
    check(run.returncode == 0 and "on Oclgrind" in run.stdout, f"{arguments}: {run.stdout[-600:]} {said[:600]}")
    return said, set(re.findall(r"^ran (\w+)$", run.stdout, re.M))


def lanes():
    told = subprocess.run([BUILD / "samebits", "verify", "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = [line.split() for line in told.splitlines() if line.strip()]
    return [("odd", name) for name, kind, *_ in rows if kind not in MADE_OF_OPERATIONS]


with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "oclgrind.icd").write_text(f"{driver}\n")
    for kind, words in PLANTED.items():
        said, _ = watch(folder, kind)
        check(words in said if words else not said, f"{kind} planted: oclgrind says: {said[:400] or 'nothing'}")
    chosen, ran = lanes() if "--all" in sys.argv else STEP, set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for (fixture, lane), (said, some) in zip(chosen, pool.map(lambda one: watch(folder, "lanes", *one), chosen)):
            check(not said, f"{lane} on {fixture}: {said[:1500]}")
            ran |= some
            if "--all" in sys.argv:
                print(lane, "ok" if not said else "FAILED", flush=True)
    if "--all" in sys.argv:
        rows = "".join(file.read_text(encoding="utf-8") for file in ROOT.glob("src/kernels/*.def"))
        wanted = {name for name in re.findall(r"SBI_KERNEL\((\w+)", rows) if not name.startswith("k_probe_")}
    else:
        wanted = {f"k_{name}_f32" for name in STEP_KERNELS}
    check(not wanted - ran, f"these kernels were not run: {' '.join(sorted(wanted - ran))}")
    print(f"{len(ran)} kernels ran, in {len(chosen)} lanes")
sys.exit(checks.end())
