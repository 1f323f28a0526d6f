#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The proof grid: one golden file, every target.

A target is a build of the command (compiler, optimisation, architecture) and an environment (level, threads, a caller's
floating-point mode). Each runs `samebits verify` against the golden values inside the command. Emulated machines run the
quick lanes, and two training steps whose checkpoint must be the native one, byte for byte.

Every part is a list of calls that need one another no more: one pool does them all, one a core, the long ones first; a build in
it uses one core.

A target this machine lacks the tools for is skipped and counted; named in SAMEBITS_REQUIRED it is a failure.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import onefile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CROSS = ("aarch64", "riscv64", "s390x")

# Builds beside the main one: name, tools needed, cmake arguments (of the levels, those that a target runs).
BUILDS = {
    "gcc-O0": (["gcc"], ["-DCMAKE_C_COMPILER=gcc", "-DCMAKE_BUILD_TYPE=Debug", "-DSAMEBITS_LEVELS=plain"]),
    "clang-O3": (["clang"], ["-DCMAKE_C_COMPILER=clang", "-DSAMEBITS_LEVELS=v4;v3"]),
    "gpu-code": (["clang-19", "ld.lld-19"], ["-DSAMEBITS_GPU_CODE=ON", "-DSAMEBITS_TESTS=ON", "-DSAMEBITS_LEVELS=plain"]),
    "soft64": (["g++"], ["-DSAMEBITS_LEVELS=soft64"]),
    "clang-O0": (["clang"], ["-DCMAKE_C_COMPILER=clang", "-DCMAKE_BUILD_TYPE=Debug", "-DSAMEBITS_LEVELS=v1"]),
    **{a: ([f"{a}-linux-gnu-gcc", f"qemu-{a}"],
           [f"--toolchain={ROOT}/cmake/{a}.cmake", "-DSAMEBITS_STATIC=ON", "-DSAMEBITS_LEVELS=" + ("neon" if a == "aarch64" else "plain")])
       for a in CROSS},
}

# Targets: name, build ("" is the main one: gcc -O3), level, threads, lanes, other environment.
TARGETS = [
    *[(f"gcc -O3 {level}", "", level, 2, "--all", {}) for level in ("plain", "v1", "v3", "v4", "reverse")],
    *[(f"gcc -O3 best, {n} threads", "", None, n, "--all", {}) for n in (1, 2, 3, 7, 16)],
    ("gcc -O3 best, flush-to-zero preset", "", None, 2, "--all", {"ftz": True}),
    ("gcc -O0 plain", "gcc-O0", "plain", 2, "", {}),
    ("clang -O3 v3", "clang-O3", "v3", 2, "--all", {}),
    ("clang -O3 v4", "clang-O3", "v4", 2, "--all", {}),
    ("cpu-soft64", "soft64", "soft64", 2, "", {}),
    ("clang -O0 v1", "clang-O0", "v1", 2, "", {}),
]

# Sanitized builds by clang: sanitizers and levels, their options, the tests that run under them, and environments for verify --quick.
# (test_threads forks while threads start: clang 14's address sanitizer may hold its own allocator's lock in the child then.)
# Threads are what the thread sanitizer is for, addresses (and what C leaves undefined) everything that handles bytes of others.
SANITIZED = {
    "address": (["-DSAMEBITS_SANITIZE=address,undefined"], "ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1",
                ("base", "fpenv", "file", "array", "api", "calls", "safetensors", "shard", "nn", "lm", "random",
                 "gemm", "attention", "exhaustion", "fuzz_replay"),
                [{"SAMEBITS_ISA": isa, "SAMEBITS_THREADS": "2"} for isa in ("plain", "v1", "v3", "v4", "reverse")]),
    "thread": (["-DSAMEBITS_SANITIZE=thread", "-DSAMEBITS_LEVELS=v4;v3;plain"], "TSAN_OPTIONS=allocator_may_return_null=1:die_after_fork=0", ("threads", "fpenv", "shard"),
               [{"SAMEBITS_THREADS": n} for n in ("2", "7")]),
}


def required(name):
    """Whether a name of SAMEBITS_REQUIRED covers this target."""
    words = set(re.split(r"[ ,]+", name))
    return any(w in words or w in name.replace(" ", "-") or (w == "ftz" and "flush" in name)
               for w in os.environ.get("SAMEBITS_REQUIRED", "").split())


class Grid:
    def __init__(self, build):
        self.build = build
        self.passed = self.failed = self.skipped = 0
        self.lock = threading.Lock()

    def say(self, name, verdict, note, seconds):
        print(f"{name:36} {verdict:8} {seconds:6.1f} s  {note}", flush=True)

    def done(self, name, good, note, seconds):
        with self.lock:
            if good:
                self.passed += 1
            else:
                self.failed += 1
        self.say(name, "ok" if good else "FAILED", note, seconds)

    def skip(self, name, why):
        if required(name):
            self.done(name, False, f"required, but {why}", 0.0)
        else:
            self.skipped += 1
            self.say(name, "skipped", why, 0.0)

    def built(self, folder, arguments, targets):
        """Configures and builds on one core; whether it went well. What was said is in folder/grid.log."""
        start = time.time()
        os.makedirs(folder, exist_ok=True)
        commands = [["ninja", "-C", folder, "-j", "1", *targets]]
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            commands.insert(0, ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *arguments])
        with open(os.path.join(folder, "grid.log"), "w") as log:
            good = all(subprocess.run(c, stdout=log, stderr=subprocess.STDOUT).returncode == 0 for c in commands)
        self.say(f"({os.path.basename(folder)})", "" if good else "FAILED", "" if good else log.name, time.time() - start)
        return good

    def make(self, name):
        """Builds the command of BUILDS[name]; its path, or None where `name` was skipped or has failed."""
        tools, arguments = BUILDS[name]
        missing = [tool for tool in tools if not shutil.which(tool)]
        if missing:
            return self.skip(name, f"{missing[0]} is not installed")
        folder = os.path.join(ROOT, f"build-{name}")
        targets = ["samebits_command", *(["fake_cuda", "fake_hip"] if name == "gpu-code" else [])]
        if not self.built(folder, ["-DSAMEBITS_TESTS=OFF", *arguments], targets):
            return self.done(name, False, f"the build fails: {folder}/grid.log", 0.0)
        return os.path.join(folder, "samebits")

    def verify(self, name, command, lanes, environment, limit=1800):
        start = time.time()
        try:
            run = subprocess.run(command + ["verify"] + ([lanes] if lanes else []), env=environment, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit)
            code, lines = run.returncode, run.stdout.strip().splitlines()
        except subprocess.TimeoutExpired:
            code, lines = -1, [f"not done after {limit} s"]
        note = lines[-1] if lines else ""
        if code:
            note = f"exit {code}: " + " | ".join(l for l in lines if "DIVERGENT" in l)[:400] + " " + note
        self.done(name, code == 0, note, time.time() - start)

    def native(self):
        """A call for each target of the main build, and for each other build one that makes it and runs its targets."""
        def run(target):
            name, build, level, threads, lanes, other = target
            command = os.path.join(ROOT, f"build-{build}", "samebits") if build else os.path.join(self.build, "samebits")
            environment = dict(os.environ, SAMEBITS_THREADS=str(threads))
            if level:
                environment["SAMEBITS_ISA"] = level
                if not usable(command, level):
                    return self.skip(name, f"this machine does not run {level}")
            if other.get("ftz"):
                shim = os.path.join(self.build, "libpreset_ftz.so")
                if not os.path.exists(shim):
                    return self.skip(name, "no shim for this architecture")
                environment["LD_PRELOAD"] = shim
            self.verify(name, [command], lanes, environment)

        def run_built(build, targets):
            if self.make(build):
                for target in targets:
                    run(target)

        builds = {t[1]: [u for u in TARGETS if u[1] == t[1]] for t in TARGETS if t[1]}
        return [(run_built, b, targets) for b, targets in builds.items()] + [(run, t) for t in TARGETS if not t[1]]

    def sanitized(self):
        """Two builds of everything above the reference; the tests of SANITIZED, verify --quick, a training run on two threads."""
        if not shutil.which("clang"):
            return [(self.skip, "sanitized", "clang is not installed")]
        return [(self.watched, name, *row) for name, row in SANITIZED.items()]

    def watched(self, name, arguments, options, tests, environments):
        folder = os.path.join(ROOT, f"build-{name}")
        programs = [t if t.startswith("fuzz") else f"test_{t}" for t in tests]
        if not self.built(folder, ["-DCMAKE_C_COMPILER=clang", *arguments], ["samebits_command", *programs]):
            return self.done(name, False, f"the build fails: {folder}/grid.log", 0.0)
        variable, value = options.split("=", 1)
        command, no_drivers = os.path.join(folder, "samebits"), os.path.join(folder, "no-drivers")
        os.makedirs(no_drivers, exist_ok=True) # (others' OpenCL drivers are not what is watched: they may not even load)
        watched = {variable: value, "OCL_ICD_VENDORS": no_drivers}
        for program in programs:
            corpus = [os.path.join(ROOT, "fuzz", "corpus")] if program == "fuzz_replay" else []
            self.clean(f"{name} {program}", [os.path.join(folder, program), *corpus], {**watched, "SAMEBITS_TEST_EVERY": "15"})
        for environment in environments:
            level = environment.get("SAMEBITS_ISA")
            label = f"{name} verify --quick, " + (level or f"{environment['SAMEBITS_THREADS']} threads")
            if level and not usable(command, level):
                self.skip(label, f"this machine does not run {level}")
            else:
                self.clean(label, [command, "verify", "--quick"], {**watched, **environment})
        with tempfile.TemporaryDirectory() as out:
            self.clean(f"{name} two training steps", [
                command, "lm", "train", "--recipe", os.path.join(ROOT, "recipes", "tiny.json"), "--data",
                os.path.join(ROOT, "data", "kjv.txt"), "--out", os.path.join(out, "run"), "--threads", "2", "--quiet"],
                watched)

    def clean(self, name, command, environment):
        """A program that must end well; a sanitizer's finding ends it otherwise."""
        start = time.time()
        run = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             cwd=os.path.dirname(command[0]), text=True, errors="replace")
        lines = run.stdout.strip().splitlines() or [""]
        note = lines[-1] if run.returncode == 0 else f"exit {run.returncode}: " + "\n".join(lines[:40])
        self.done(name, run.returncode == 0, note, time.time() - start)

    def opencl(self):
        """Every OpenCL device that conforms runs all lanes; llvmpipe must be refused."""
        command, found = os.path.join(self.build, "samebits"), devices(os.path.join(self.build, "samebits"))
        calls = []
        for name, here in (("opencl conforming", [d for d in found if d["conforms"]]), ("opencl refused", [d for d in found if not d["conforms"]])):
            if not here:
                calls.append((self.skip, name, "no such device (pocl-opencl-icd, mesa-opencl-icd)"))
            for d in here:
                label = f"opencl {d['product'][:24]}"
                calls.append((self.verify, label, [command], "--all", dict(os.environ, RUSTICL_ENABLE="llvmpipe", SAMEBITS_DEVICE=d["name"]))
                             if d["conforms"] else (self.done, label, " probes are wrong; the first: " in d["refused"], d["refused"], 0.0))
        return calls

    def gpu_code(self):
        """A library that carries code for GPUs: with a driver that stands in, and no compiler, it runs (test/test_cuda.py)."""
        def run(name):
            command, start = self.make(name), time.time()
            if command:
                run = subprocess.run([sys.executable, os.path.join(ROOT, "test", "test_cuda.py"), os.path.dirname(command), "--codes"],
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self.done(name, run.returncode == 0, run.stdout.strip().splitlines()[-1] if run.returncode == 0 else run.stdout[-600:],
                          time.time() - start)
        return [(run, "gpu-code")]

    def emulated(self):
        """verify --quick, the functions on 2^22 inputs, then two training steps that must end in the native checkpoint."""
        recipe = os.path.join(ROOT, "recipes", "tiny.json")
        with tempfile.TemporaryDirectory() as folder:
            native = train([os.path.join(self.build, "samebits")], recipe, os.path.join(folder, "native"))

        def run(name, count):
            command = self.make(name)
            if not command:
                return
            emulator = [f"qemu-{name}", command]
            self.verify(f"{name} verify --quick", emulator, "--quick", dict(os.environ, SAMEBITS_THREADS="1"))
            self.prove(f"{name} prove --all, 2^22", emulator + ["prove", "--all", "--count", "4194304", "--quiet"], count)
            start = time.time()
            with tempfile.TemporaryDirectory() as folder:
                digest = train(emulator, recipe, os.path.join(folder, "run"))
            self.done(f"{name} two training steps", digest == native is not None,
                      f"sha256 {(digest or 'none')[:16]}, native {(native or 'none')[:16]}", time.time() - start)

        return [(run, name, len(self.functions())) for name in CROSS]

    def proofs(self):
        """exp and three functions drawn by the commit's hash on all 2^32 inputs; the others on 2^26 and the hard cases."""
        command = os.path.join(self.build, "samebits")
        names = self.functions()
        commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True).stdout.strip()
        drawn = sorted((n for n in names if n != "exp"), key=lambda n: hashlib.sha256((commit + n).encode()).digest())[:3]
        whole = ["exp", *drawn]
        return [(self.prove, f"prove {name}, " + ("all 2^32" if name in whole else "2^26 and hard cases"),
                 [command, "prove", name, "--quiet", "--threads", "1"] + ([] if name in whole else ["--quick"]), 1)
                for name in whole + [n for n in names if n not in whole]]

    def functions(self):
        """The names of the functions that `prove` knows."""
        run = subprocess.run([os.path.join(self.build, "samebits"), "prove", "--all", "--count", "1024", "--json", "--quiet"],
                             text=True, stdout=subprocess.PIPE)
        return [json.loads(line)["function"] for line in run.stdout.splitlines()]

    def prove(self, name, command, functions):
        """Every line must say 0 misrounded, or (without MPFR) that the recorded hash is met."""
        start = time.time()
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = [l for l in run.stdout.splitlines() if "inputs" in l]
        good = run.returncode == 0 and len(lines) == functions
        self.done(name, good, lines[-1] if good else f"exit {run.returncode}: {run.stdout[-400:]}", time.time() - start)

    def onefile(self):
        """The library as one file: gcc, clang, a bare core (test/onefile.py)."""
        def run(name):
            start = time.time()
            with tempfile.TemporaryDirectory() as folder:
                why = onefile.prepare(folder)
                verdict, note = (False, why[:400]) if why else onefile.check(folder, name)
            self.skip(name, note) if verdict is None else self.done(name, verdict, note, time.time() - start)
        return [(run, name) for name in onefile.TARGETS]

    def reproducible(self):
        """A clone in a folder of another name gives the library bytes of the main build; where that is of a text no clone has, of one
        more clone."""
        git = subprocess.run(["git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        name, libraries = "reproducible build", ("libsamebits.so", "libsamebits.a")
        if git.returncode:
            return [(self.skip, name, "not a git checkout")]

        def run():
            start = time.time()
            with tempfile.TemporaryDirectory() as folder:
                digests = [] if git.stdout else [[sha256(os.path.join(self.build, f)) for f in libraries]]
                for clone in ["another_with_a_longer_name", *(["one"] if git.stdout else [])]:
                    to = os.path.join(folder, clone)
                    if any(subprocess.run(c, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode for c in (
                            ["git", "clone", "-q", ROOT, to],
                            ["cmake", "-S", to, "-B", to + "/build", "-G", "Ninja", "-DSAMEBITS_TESTS=OFF"],
                            ["ninja", "-C", to + "/build", "-j", "1", "samebits_shared", "samebits_static"])):
                        return self.done(name, False, "the clone does not build", time.time() - start)
                    digests.append([sha256(os.path.join(to, "build", f)) for f in libraries])
            self.done(name, digests[0] == digests[1], f"libsamebits.so {digests[0][0][:16]}", time.time() - start)
        return [(run,)]


def usable(command, level):
    run = subprocess.run([command, "doctor"], env=dict(os.environ, SAMEBITS_ISA=level, OCL_ICD_VENDORS="/none"), stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    return run.returncode == 0


def devices(command):
    run = subprocess.run([command, "doctor", "--json"], env=dict(os.environ, RUSTICL_ENABLE="llvmpipe"), stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout)["devices"] if run.returncode == 0 else []


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def train(command, recipe, out):
    """Trains by the recipe; returns the SHA-256 of the last checkpoint, or None."""
    run = subprocess.run(command + ["lm", "train", "--recipe", recipe, "--data", os.path.join(ROOT, "data", "kjv.txt"),
                                    "--out", out, "--threads", "1", "--quiet"], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    if run.returncode:
        print(run.stdout, file=sys.stderr)
        return None
    found = sorted(f for f in os.listdir(out) if f.startswith("step-"))
    return sha256(os.path.join(out, found[-1], "model.safetensors")) if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="the main build folder")
    parser.add_argument("--only", help="sanitized, onefile, reproducible, emulated, opencl, gpu_code, native or proofs")
    options = parser.parse_args()
    grid = Grid(os.path.abspath(options.build))
    start, parts = time.time(), ("sanitized", "onefile", "reproducible", "emulated", "opencl", "gpu_code", "native", "proofs")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for future in [pool.submit(*call) for part in parts if options.only in (None, part) for call in getattr(grid, part)()]:
            future.result()
    print(f"the grid took {time.time() - start:.0f} s")
    print(f"{grid.passed} passed, {grid.failed} failed, {grid.skipped} skipped")
    return 1 if grid.failed or not grid.passed else 0


if __name__ == "__main__":
    sys.exit(main())
