#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library as one file (tools/amalgamate.py): built by the one line of its documentation with gcc and with clang, and
without threads and files for a bare 32-bit Arm core; each verifies the quick lanes against the golden file. A part of
test/grid.py; alone: onefile.py [--keep FOLDER], and for every day onefile.py --syntax: does it still compile."""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINE = ["-std=c17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-pthread"]
BARE = ["-std=c17", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-mcpu=cortex-m4", "-mthumb",
        "-mfloat-abi=soft", "-ffunction-sections", "-fdata-sections", "-DSAMEBITS_NO_THREADS", "-DSAMEBITS_NO_FILES"]
LINK = ["--specs=rdimon.specs", "-nostartfiles", "-Wl,--gc-sections", "-T", f"{ROOT}/test/onefile_bare.ld"]
EMULATOR = ["qemu-system-arm", "-M", "mps2-an386", "-cpu", "cortex-m4", "-nographic", "-semihosting-config",
            "enable=on,target=native", "-kernel"]
# Target: compiler, flags, what is added where it is linked, what runs it, levels ("" is the best).
TARGETS = {
    "one file, gcc -O3": ("gcc", LINE, [], [], ["", "plain"]),
    "one file, clang -O3": ("clang", LINE, [], [], ["", "plain"]),
    "one file, bare Cortex-M4 (emulated)": ("arm-none-eabi-gcc", BARE, [f"{ROOT}/test/onefile_bare.c", *LINK], EMULATOR, [""]),
}


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def prepare(folder):
    """Writes samebits.c, samebits.h and golden.c; returns why not, or None."""
    made = run(sys.executable, f"{ROOT}/tools/amalgamate.py", folder)
    if made.returncode == 0:
        made = run("cmake", f"-DFROM={ROOT}/references/contract-1.tsv", f"-DTO={folder}/golden.c", "-DNAME=golden", "-P",
                   f"{ROOT}/cmake/embed.cmake")
    return made.stdout if made.returncode else None


def check(folder, name):
    """Returns (True, note), (False, note), or (None, why it is skipped)."""
    compiler, flags, link, emulator, levels = TARGETS[name]
    for tool in [compiler] + emulator[:1]:
        if not shutil.which(tool):
            return None, f"{tool} is not installed"
    program = os.path.join(folder, compiler)
    built = run(compiler, *flags, f"-I{folder}", f"{folder}/samebits.c", f"{ROOT}/test/onefile.c", f"{folder}/golden.c", *link,
                "-o", program)
    if built.returncode:
        return False, "it does not build: " + " | ".join(line for line in built.stdout.splitlines() if "error" in line)[:400]
    notes = []
    for level in levels:
        try:
            ran = run(*emulator, program, env=dict(os.environ, SAMEBITS_ISA=level, SAMEBITS_THREADS="2"), timeout=900)
        except subprocess.TimeoutExpired:
            return False, "not done after 900 s"
        lines = ran.stdout.strip().splitlines() or ["nothing was printed"]
        notes.append(next((line for line in lines if line.startswith("verify:")), lines[-1]))
        if lines[-1] != "verdict 0" or (ran.returncode and not emulator):
            return False, " | ".join(lines[-4:])[:400]
    return True, "; ".join(notes)


def targets(folder):
    """Yields (name, verdict, note, seconds) as they are done."""
    def one(name):
        start = time.time()
        return (name, *check(folder, name), time.time() - start)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from pool.map(one, TARGETS)


def syntax(folder):
    """Whether every compiler that is here takes the text."""
    good = True
    for name, (compiler, flags, *_) in TARGETS.items():
        if shutil.which(compiler):
            checked = run(compiler, *flags, "-fsyntax-only", f"{folder}/samebits.c")
            print(f"{name}: " + ("compiles" if checked.returncode == 0 else checked.stdout[:2000]))
            good = good and checked.returncode == 0
    return good


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = sys.argv[2] if sys.argv[1:2] == ["--keep"] else temporary
        why = prepare(folder)
        if why:
            print(why)
            return 1
        if "--syntax" in sys.argv[1:]:
            return 0 if syntax(folder) else 1
        for name, verdict, note, seconds in targets(folder):
            print(f"{name:36} {'skipped' if verdict is None else 'ok' if verdict else 'FAILED':8} {seconds:6.1f} s  {note}", flush=True)
            failed += verdict is False
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
