#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA and HIP devices with a driver that stands in for the vendor's (fake_cuda.c): the calls, their order, what fails and how
it is told. Nothing here says what a real device computes.

test_cuda.py BUILD [--codes]      --codes: the build has SAMEBITS_GPU_CODE, and the driver alone is enough"""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

import checks
from checks import check

BUILD = pathlib.Path(sys.argv[1]).resolve()
PRODUCTS = "gemm_nn,gemm_nt_f64,gemm_tn,gemm_tt_f64,gemm_end,gemm_deep_end,gemm_chunks,gemm_runs,gemm_no_k,gemm_batch,gemm_self,gemm_wide"
KINDS = {"cuda": ("NVIDIA", "libcuda.so.1", "libnvrtc.so"), "hip": ("AMD", "libamdhip64.so", "libhiprtc.so")}


if "--codes" in sys.argv:
    with tempfile.TemporaryDirectory() as folder:
        for kind, (vendor, driver, compiler) in KINDS.items():
            place = pathlib.Path(folder, kind)
            place.mkdir()
            (place / driver).symlink_to(BUILD / f"libfake_{kind}.so")
            counts = pathlib.Path(folder, "counts")
            has = lambda chip: f'"{chip}"' in (BUILD / "generated/codes.c").read_text()  # noqa: E731
            newer = {"": "0", "sm_75": "0", "sm_86": "80", "sm_89": "89", "sm_90": "90", "sm_121": "120"} if has("sm_120") else {"": "0"}
            for chip in ("gfx90a", "gfx942", "gfx1100", "gfx1201") if kind == "hip" else newer:
                told = subprocess.run([BUILD / "samebits", "verify", "--quick", "--device", f"{kind}:0", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      env={**os.environ, "LD_LIBRARY_PATH": str(place), "FAKE_COUNT": str(counts), "FAKE_CHIP": chip, "SAMEBITS_CACHE": ""})
                check(told.returncode == 0 and " 0 DIVERGENT, 0 REFUSED, 0 ABSENT" in told.stdout, f"{kind} {chip}: {told.stdout[-400:]}")
                lines = dict(line.split(" ", 1) for line in counts.read_text().splitlines())
                check(lines["Compile"] == "0" and lines["left"] == "0 0 0" and int(lines["Load"]) > 10, f"{kind} {chip}: {lines}")
                taken, of = lines["cubins"].split(" of ")
                check(of == newer.get(chip, "0") and (int(taken) > 10) == (of != "0"), f"{kind} {chip}: {taken} cubins of {of}")
        # AMD's driver on a chip that the library has no code for, and no compiler (libamdhip64 holds one: it fails).
        told = subprocess.run([BUILD / "samebits", "verify", "--device", "hip:0", "--lanes", "exp", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "LD_LIBRARY_PATH": str(pathlib.Path(folder, "hip")), "FAKE_CHIP": "gfx803", "FAKE_FAIL": "Create:1", "SAMEBITS_CACHE": ""})
        check(told.returncode == 2 and "taking a program failed" in told.stdout, told.stdout)
    sys.exit(checks.end())


def run(*arguments, **environment):
    return subprocess.run([BUILD / "samebits", *arguments], env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", timeout=600)


def verify(device, lanes, **environment):
    return run("verify", "--device", device, "--lanes", lanes, "--quiet", **environment)


with tempfile.TemporaryDirectory() as folder:
    for kind, (vendor, driver, compiler) in KINDS.items():
        place = pathlib.Path(folder, kind)
        place.mkdir()
        fake = BUILD / f"libfake_{kind}.so"
        # No driver; a driver without a compiler; both.
        told = verify(f"{kind}:0", "exp", LD_PRELOAD=str(BUILD / "libfault_shim.so"), FAULT_LIBRARY=driver.split(".")[0])
        check(told.returncode == 2 and f"{kind}:0 needs {vendor}'s driver, and this machine has none that works ({driver})" in told.stderr, told.stderr)
        (place / driver).symlink_to(fake)
        paths = {"LD_LIBRARY_PATH": str(place), "SAMEBITS_CACHE": ""}
        told = verify(f"{kind}:0", "exp", LD_PRELOAD=str(BUILD / "libfault_shim.so"), FAULT_LIBRARY=compiler.split(".")[0], **paths)
        check(told.returncode == 2 and f"needs {vendor}'s compiler at run time" in told.stderr or kind == "hip", told.stderr)
        (place / compiler).symlink_to(fake)
        counts = pathlib.Path(folder, "counts")

        told = run("verify", "--quick", "--device", f"{kind}:1", FAKE_COUNT=str(counts), **paths)
        check(told.returncode == 0 and f"on {kind}:1, level {kind}" in told.stdout and " 0 DIVERGENT, 0 REFUSED, 0 ABSENT" in told.stdout, told.stdout[-400:] + told.stderr)
        lines = dict(line.split(" ", 1) for line in counts.read_text().splitlines())
        check(lines["left"] == "0 0 0", f"arrays, modules, contexts left: {lines['left']}")
        check(int(lines["Push"]) == int(lines["Pop"]) and int(lines["Compile"]) <= 22 and int(lines["Launch"]) > 100, lines)
        # Each shape of a product's tile, whatever the table says; another is refused.
        for tile in ("32", "64", "128"):
            told = verify(f"{kind}:0", PRODUCTS, SAMEBITS_TILE=tile, **paths)
            check(told.returncode == 0 and " 0 DIVERGENT, 0 REFUSED, 0 ABSENT" in told.stdout, f"tiles of {tile}: {told.stdout[-400:]}{told.stderr}")
        told = verify(f"{kind}:0", "exp", SAMEBITS_TILE="96", **paths)
        check(told.returncode == 2 and 'SAMEBITS_TILE: "96" is not 32, 64 or 128' in told.stderr, told.stderr)
        # What was compiled is kept: a second process compiles nothing, one whose cache is not whole, or not taken, compiles anew.
        cache = pathlib.Path(folder, f"cache-{kind}")
        def compiled(**environment):
            told = verify(f"{kind}:0", "exp", **{**paths, "SAMEBITS_CACHE": str(cache), "FAKE_COUNT": str(counts), **environment})
            check(told.returncode == 0, told.stdout[-400:] + told.stderr)
            return int(dict(line.split(" ", 1) for line in counts.read_text().splitlines())["Compile"])
        first = compiled()
        kept = sorted(cache.iterdir())
        check(first == len(kept) > 1 and all(p.suffix == ".program" for p in kept) and compiled() == 0, f"{first} compiled, {kept}")
        for spoil in (lambda b: b[:-1], lambda b: b[:20], lambda b: b"", lambda b: b[:40] + bytes([b[40] ^ 1]) + b[41:]):
            kept[0].write_bytes(spoil(kept[0].read_bytes()))
            check(compiled() == 1 and compiled() == 0, "one that is not whole is compiled anew")
        image = b"something else"
        kept[0].write_bytes(hashlib.sha256(image).digest() + image)
        check(compiled() == 1 and compiled() == 0, "one that the driver does not take is compiled anew")
        check(compiled(SAMEBITS_CACHE="/proc/none") == first and compiled(SAMEBITS_CACHE="") == first, "a cache that cannot be written, none")
        told = run("doctor", **paths)
        check(f"{kind}:0 CPU in disguise 0 ({vendor}, driver 12080), 4.0 GiB" in told.stdout and "conforms" in told.stdout, told.stdout)

        for words, expected in ((f"{kind}:2", f"there is no device {kind}:2: the driver shows 2, counted from 0"),
                                (f"{kind}:", "no device of the name"), (f"{kind}:01", "no device of the name"), (f"{kind}:0.0", "no device of the name")):
            told = verify(words, "exp", **paths)
            check(told.returncode == 2 and "SB_ERR_DEVICE" in told.stderr and expected in told.stderr, told.stderr)
        if os.uname().machine == "x86_64":
            told = verify(f"{kind}:0", "exp", FAKE_FLUSH="1", **paths)
            check(told.returncode == 2 and f"{kind}:0 does not conform and is refused" in told.stderr and "should give" in told.stderr, told.stderr)
        for entry, expected in (("Retain:1", "opening it failed with the driver's code 999"), ("Push:1", "taking its context failed"),
                                ("Create:2", "taking a program failed"), ("Compile:1", "do not compile (code 999): k.cu(7): error: planted"),
                                ("CodeSize:1", "compiling a program failed"), ("Code:2", "loading a program failed"), ("Load:1", "loading a program failed"),
                                ("Function:2", "failed with the driver's code 999"), ("Launch:5", "failed with the driver's code 999"),
                                ("Read:1", "reading an array failed"), ("Write:2", "writing an array failed"), ("Fill:2", "making an array failed")):
            told = verify(f"{kind}:0", "exp", FAKE_FAIL=entry, FAKE_COUNT=str(counts), **paths)
            check(told.returncode == 2 and "SB_ERR_DEVICE" in told.stderr and expected in told.stderr, f"{entry}: {told.returncode} {told.stdout[-200:]}{told.stderr}")
            check(counts.read_text().rstrip().endswith("left 0 0 0"), f"{entry}: {counts.read_text()[-40:]}")
        told = verify(f"{kind}:0", "exp", FAKE_FAIL="Allocate:3", FAKE_COUNT=str(counts), **paths)
        check(told.returncode == 3 and "SB_ERR_MEMORY" in told.stderr and "no memory for" in told.stderr, told.stderr)
        check(counts.read_text().rstrip().endswith("left 0 0 0"), counts.read_text()[-40:])
        # A device that is lost, early or late, says so and hangs nobody.
        for entry, probing in (("Launch:1", True), ("Read:3", True), ("Write:5", True), ("Load:1", True), ("Launch:40", False), ("Allocate:9", False), ("Free:2", False)):
            told = run("verify", "--device", f"{kind}:0", "--lanes", "exp,softmax", "--quiet", FAKE_LOST=entry, FAKE_COUNT=str(counts), **paths)
            words = "driver's code 719: the device is lost to this process" if probing else " 0 DIVERGENT, 60 REFUSED"
            check(told.returncode == (2 if probing else 3) and "SB_ERR_DEVICE" in told.stdout + told.stderr and words in told.stdout + told.stderr,
                  f"{entry}: {told.returncode} {told.stdout[-300:]}{told.stderr}")
            check(counts.read_text().rstrip().endswith(" 0"), f"{entry}: a context is left: {counts.read_text()[-40:]}")
        told = subprocess.run([BUILD / "test_memory_stress", "1", f"{kind}:0"], env={**os.environ, **paths, "FAKE_MEMORY": str(64 << 20), "FAKE_COUNT": str(counts)},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        check(told.returncode == 0 and " 0 refused" not in told.stdout, told.stdout)
        check(counts.read_text().rstrip().endswith("left 0 0 0"), counts.read_text()[-40:])
sys.exit(checks.end())
