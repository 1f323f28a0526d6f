#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Devices through the command: doctor names every one with its verdict, one that conforms gives the golden bits, one that
does not is refused with the operation and an example, whatever is asked for; drivers and devices that are absent; many
processes with one cache of programs; a language model trains there, in part there, and in steps that two devices share;
PoCL's other orders of work.

test_devices.py BUILD

Without a conforming OpenCL device the rest is not tried (exit 77); SAMEBITS_REQUIRED=opencl makes that a failure."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import checks
from checks import check

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent
LANES = "gemm_nn,reduce_rows,softmax,sort,histogram"  # one kernel of each sort
# PoCL by its other compilers of groups, on one thread and on several.
SCHEDULES = [{"POCL_WORK_GROUP_METHOD": "workitemloops"}, {"POCL_WORK_GROUP_METHOD": "loopvec", "POCL_WILOOPS_MAX_UNROLL_COUNT": "1"},
             {"POCL_DEVICES": "basic"}, {"POCL_MAX_PTHREAD_COUNT": "1"}, {"POCL_MAX_PTHREAD_COUNT": "3"}]
ENVIRONMENT = dict(os.environ, RUSTICL_ENABLE="llvmpipe")


def run(*arguments, **environment):
    return subprocess.run([BUILD / "samebits", *arguments], env={**ENVIRONMENT, **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace")


def verify(device, lanes, **environment):
    return run("verify", "--device", device, "--lanes", lanes, "--quiet", **environment)


with tempfile.TemporaryDirectory() as folder:
    cache = pathlib.Path(folder, "cache")
    doctor = json.loads(run("doctor", "--json", SAMEBITS_CACHE=str(cache)).stdout)
    devices = doctor["devices"]
    check(doctor["conforms"], "a device that is refused takes nothing from the CPU")
    check(all(set(d) >= {"name", "product", "platform", "driver", "memory", "float64", "atomics64", "conforms"} for d in devices), devices)
    lines = run("doctor", SAMEBITS_CACHE=str(cache)).stdout
    check(all(f"{d['name']} {d['product']}" in lines and (d["conforms"] or d["refused"] in lines) for d in devices), lines)
    good = next((d["name"] for d in devices if d["conforms"]), None)
    flawed = [d for d in devices if d["product"].startswith("llvmpipe")]

    # What is absent is told by name.
    for device, words in (("opencl:77.0", "there is no device opencl:77.0"), ("opencl:1", 'no device of the name "opencl:1"'), ("tpu:0", 'no device of the name "tpu:0"')):
        told = verify(device, "exp")
        check(told.returncode == 2 and "SB_ERR_DEVICE" in told.stderr and words in told.stderr or "no loader" in told.stderr, told.stderr)
    told = run("verify", "--lanes", "exp", "--quiet", SAMEBITS_DEVICE="opencl:77.0")
    check(told.returncode == 2 and "SAMEBITS_DEVICE: " in told.stderr, told.stderr)
    told = verify("opencl:0.0", "exp", OCL_ICD_VENDORS=folder)
    check(told.returncode == 2 and ("OpenCL shows 0 platforms" in told.stderr or "no loader" in told.stderr), told.stderr)
    told = verify("opencl:0.0", "exp", LD_PRELOAD=str(BUILD / "libfault_shim.so"), FAULT_LIBRARY="libOpenCL")
    check(told.returncode == 2 and "needs an OpenCL driver, and this machine has no loader (libOpenCL.so.1)" in told.stderr, told.stderr)

    for d in flawed:
        for arguments in (("verify", "--quick"), ("verify", "--lanes", "exp"), ("verify", "--all"), ("prove", "exp", "--quick")):
            told = run(*arguments, "--device", d["name"])
            check(told.returncode == 2 and f"{d['name']} does not conform and is refused" in told.stderr and "float32 fma of" in told.stderr and
                  "should give" in told.stderr, told.stderr)

    if good:
        told = verify(good, LANES, SAMEBITS_CACHE=str(cache))
        check(told.returncode == 0 and f"on {good}, level opencl" in told.stdout and " 0 DIVERGENT, 0 REFUSED, 0 ABSENT" in told.stdout, told.stdout + told.stderr)

        def train(out, *arguments):  # a run, or the rest of one
            verb = ["resume", str(out)] if pathlib.Path(out).exists() else [
                "train", "--recipe", str(ROOT / "recipes/tiny.json"), "--data", str(ROOT / "data/kjv.txt"), "--out", str(out)]
            told = run("lm", *verb, "--quiet", *arguments)
            check(told.returncode == 0, f"{arguments}: {told.stderr}")

        def ends(out):  # the bytes of the ledger and of the last checkpoint
            return [pathlib.Path(folder, out, name).read_bytes() for name in ("ledger.jsonl", "step-000000002/model.safetensors")]

        train(f"{folder}/cpu", "--device", "cpu")
        for out, *parts in (("there", ("--device", good)), ("away and back", ("--device", "cpu", "--until", "1"), ("--device", good)),
                            ("back and away", ("--device", good, "--until", "1"), ("--device", "cpu")),
                            ("shared", ("--worker", "device=cpu,shards=2", "--worker", f"device={good},shards=1"))):
            for part in parts:
                train(f"{folder}/{out}", *part)
            check(ends(out) == ends("cpu"), f"{out}: another ledger or checkpoint than the CPU's")

        if doctor["devices"][0]["platform"] == "Portable Computing Language":
            for number, schedule in enumerate(SCHEDULES):  # (its programs are kept under names that do not know the compiler of groups)
                told = verify(good, LANES + ",rms_norm,attention_backward", POCL_CACHE_DIR=f"{folder}/pocl-{number if number < 2 else 'threads'}", **schedule)
                check(told.returncode == 0 and " 0 DIVERGENT, 0 REFUSED, 0 ABSENT" in told.stdout, f"{schedule}: {told.stdout}{told.stderr}")
        bench = subprocess.run([ROOT / "bench" / "gpu.sh", "--build", BUILD, "--device", good, "--smoke", "--peak", "100", "--out", folder],
                               env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        kernels = json.loads(pathlib.Path(folder, "kernels.json").read_text()) if bench.returncode == 0 else []
        check({k["operation"].split()[0] for k in kernels} == {"copy", "scale", "add", "sum", "gemm"} and all(k["seconds"] > 0 for k in kernels), bench.stdout)
        check(all(c["state"] == "IDENTICAL" for c in json.loads(pathlib.Path(folder, "evidence.json").read_text())["cells"]), "evidence")

    if flawed:  # its driver keeps no programs (PoCL's does): the probes come from the cache of the runs above
        name = flawed[0]["name"]
        probe = lambda **environment: verify(name, "exp", **environment).stderr
        says = probe(SAMEBITS_CACHE=str(cache))
        programs = sorted(cache.iterdir())
        check(len(programs) == 1 and programs[0].suffix == ".program", programs)
        whole = programs[0].read_bytes()
        for broken in (whole[:-1], whole[:40], b"", whole[:50] + b"?" + whole[51:]):  # one that is not whole is built anew
            programs[0].write_bytes(broken)
            check(probe(SAMEBITS_CACHE=str(cache)) == says and sorted(cache.iterdir()) == programs and len(programs[0].read_bytes()) > 32 + 40, len(broken))
        programs[0].unlink()
        many = [subprocess.Popen([BUILD / "samebits", "verify", "--device", name, "--lanes", "exp", "--quiet"],
                                 env={**ENVIRONMENT, "SAMEBITS_CACHE": str(cache)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
        for one in many:
            check(one.communicate()[1] == says, one.returncode)
        check(sorted(cache.iterdir()) == programs, list(cache.iterdir()))
        for where in ("/proc/none", ""):  # a cache that cannot be written, none
            check(probe(SAMEBITS_CACHE=where) == says, where)

required = "opencl" in os.environ.get("SAMEBITS_REQUIRED", "").split()
check(not required or (good and flawed), "opencl is required: a device that conforms and llvmpipe, which does not")
status = checks.end()
sys.exit(status or (0 if good else 77))
