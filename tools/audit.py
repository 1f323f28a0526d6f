#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds every kernel for GPUs and reads the machine code: which floating-point instructions stand in it, and whether each may.

  audit.py [--only TARGET ...] [--json] [--keep FOLDER] [--list]      every target that this machine has tools for
  audit.py --text FILE --target TARGET [--flags "..."]                one preprocessed text (the tests plant violations in it)

The rules stand in tools/audit_allowed.tsv. What a program holds that explains fused operations, reciprocals and roots (a written
fma, divisions, square roots, integer divisions, conversions to int64) is counted in clang's intermediate code of the same text,
function by function; there nothing may carry a licence to change values (fast flags, fpmath, fmuladd).
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KERNELS = os.path.join(ROOT, "src", "kernels")
CLANG = shutil.which("clang-19") or shutil.which("clang")
NVCC = shutil.which("nvcc") or ("/usr/local/cuda/bin/nvcc" if os.path.exists("/usr/local/cuda/bin/nvcc") else None)
NVDISASM = shutil.which("nvdisasm")
CUDA = ["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib", "-Wno-unknown-cuda-version"]
HIP = ["-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib"]
STRICT = ["-std=c++14", "-O3", "-ffp-contract=off"]
NVPTX, AMDGPU = ["--target=nvptx64-nvidia-cuda", "-march=sm_80"], ["--target=amdgcn-amd-amdhsa", "-nogpulib"]
AMD = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
MOST_SHARED = 48 << 10  # bytes a group: CUDA loads no kernel that declares more
SASS = ("sm_80", "sm_89", "sm_90", "sm_100", "sm_120")
# Fused operations inside what a machine makes of several instructions (LLVM 19, lib/Target/AMDGPU): a division has five and
# div_fmas; a root of float32 two, of binary64 seven; a 64-bit integer division two of float32, a narrow one one; a
# conversion between a float and int64 one.
AMD_FUSED = {"div32": 5, "div64": 5, "root32": 2, "root64": 7, "long": 2, "short": 1, "convert": 1}


class Target:
    def __init__(self, name, machine, dialect, compile_, why_not):
        self.name, self.machine, self.dialect, self.compile, self.why_not = name, machine, dialect, compile_, why_not


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def builds(*flags):
    """Whether clang builds an empty program with these flags."""
    return bool(CLANG) and run([CLANG, *flags, "-S", "-o", os.devnull, "-"], input="").returncode == 0


def by_clang(language, machine, text, out, flags):
    """Two steps, so that the intermediate code that is read is the one that the machine code is made of."""
    return [[CLANG, *language, *STRICT, *flags, "-S", "-emit-llvm", text, "-o", out + ".ll"],
            [CLANG, *machine, "-O3", "-ffp-contract=off", *flags, "-Wno-unused-command-line-argument", "-Xclang", "-disable-llvm-passes", "-S", "-x", "ir", out + ".ll", "-o", out]]


def targets():
    """Every target, with the reason why this machine cannot build it, or None."""
    no_clang = None if CLANG else "no clang"
    yield Target("ptx-clang", "ptx", "cuda", lambda text, out, flags: by_clang(CUDA, NVPTX, text, out, flags),
                 no_clang or (None if builds(*CUDA) else "clang without NVPTX"))
    nvcc = [NVCC, "-x", "cu", "-fmad=false", "-std=c++17", "-diag-suppress", "177", "-Wno-deprecated-gpu-targets"]
    yield Target("ptx-nvcc", "ptx", "cuda", lambda text, out, flags: [[*nvcc, "-arch=compute_80", *flags, "-ptx", text, "-o", out]],
                 None if NVCC else "no nvcc")
    for chip in SASS:
        yield Target(f"sass-{chip}", "sass", "cuda", lambda text, out, flags, chip=chip: [
            [*nvcc, f"-arch={chip}", *flags, "-cubin", text, "-o", out + ".cubin"], [NVDISASM, "-c", out + ".cubin"]],
            "no nvcc" if not NVCC else None if NVDISASM else "no nvdisasm")
    for chip in AMD:
        hip = [*HIP, f"--offload-arch={chip}"]
        yield Target(chip, "amd", "hip", lambda text, out, flags, hip=hip, chip=chip: by_clang(hip, [*AMDGPU, f"-mcpu={chip}"], text, out, flags),
                     no_clang or (None if builds(*hip) else f"clang does not know {chip}"))


def rules():
    """machine -> [(kind, pattern, because)]"""
    table = collections.defaultdict(list)
    with open(os.path.join(ROOT, "tools", "audit_allowed.tsv"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                machine, kind, pattern, because = line.rstrip("\n").split("\t")
                table[machine].append((kind, re.compile(pattern), because))
    return table


def preprocess(file, dialect):
    stub = f'#include "dialect/{dialect}.h"\n#define SBI_TEXT "{file}"\n#include "both.h"\n'
    return run(["cc", "-E", "-P", "-undef", "-x", "c", "-std=c99", f"-I{KERNELS}", "-"], input=stub, check=True).stdout


# ---- what the program says: clang's intermediate code

FAST = re.compile(r"= (?:tail |notail )?(?:f(?:add|sub|mul|div|rem|neg|cmp)|call|select|phi) ?[^%@(]*?\b(fast|nnan|ninf|nsz|arcp|contract|afn|reassoc)\b")


def program(code, other=False):
    """function -> counts of what explains, and of licences to change values; other: another compiler than clang made the machine
    code, which may have put into a function those that it calls"""
    functions, called = {}, {}
    for body in re.finditer(r"^define [^@]*@([\w.$]+)\(.*?^}", code, re.M | re.S):
        text, count = body[0], collections.Counter()
        count["fma32"] = len(re.findall(r"@llvm\.fma\.f32\(", text)) + 2 * len(re.findall(r"@llvm\.fma\.v2f32\(", text)) + len(re.findall(r'asm "fma\.rn\.f32', text))
        count["fma64"] = len(re.findall(r"@llvm\.fma\.f64\(", text)) + len(re.findall(r'asm "fma\.rn\.f64', text))
        for bits, name in (("32", "float"), ("64", "double")):
            count["div" + bits] = len(re.findall(rf" fdiv [\w ]*{name} ", text))
            count["recip" + bits] = len(re.findall(rf" fdiv [\w ]*{name} 1\.0+e\+00,", text))
            count["root" + bits] = len(re.findall(rf"@llvm\.sqrt\.f{bits}\(|asm \"sqrt\.rn\.f{bits}", text))
        count["long"] = len(re.findall(r" [us](?:div|rem) (?:exact )?i64 ", text))
        count["short"] = len(re.findall(r" [us](?:div|rem) (?:exact )?i(?:8|16|32) ", text))
        count["convert"] = len(re.findall(r" fpto[us]i (?:float|double) \S+ to i64| [us]itofp (?:nneg )?i64 ", text))
        count["vector"] = len(re.findall(r" fdiv [^,]*<\d+ x", text))
        count["atomic"] = len(re.findall(r" atomicrmw (?:volatile )?f(?:add|sub|min|max)", text))
        count["licence"] = len(FAST.findall(text)) + len(re.findall(r"!fpmath|@llvm\.fmuladd|\"unsafe-fp-math\"=\"true\"", text))
        functions[body[1]] = count
        called[body[1]] = set(re.findall(r" call [^@\n]*@([\w.$]+)\(", text))
    if other:
        functions = {name: sum((functions[one] for one in reached(name, called)), collections.Counter()) for name in functions}
    if re.search(r'"denormal-fp-math(?:-f32)?"="(?!ieee)', code):
        for count in functions.values():
            count["flush"] += 1
    return functions


def reached(name, called):
    """The function and all that it calls, and those call"""
    found, ahead = set(), [name]
    while ahead:
        one = ahead.pop()
        if one in called and one not in found:
            found.add(one)
            ahead += called[one]
    return found


# ---- what the machine code says: function -> [(instruction, operands, written as inline assembly)], [other faults]

PTX_FLOAT = re.compile(r"\.(e\dm\d|b?f16|b?f16x2|tf32|f32|f64|f32x2)\b|^(sin|cos|ex2|lg2|tanh|rsqrt|rcp|w?mma|wgmma|tcgen05)\b")
SASS_FLOAT = re.compile(r"^(F(?!LO|ENCE)|D(?!EPBAR)|H|MUFU|QMMA|IMMA|UTC|WGMMA)|^I2F|\.F(16|32|64)\b|\.BF16")
AMD_FLOAT = re.compile(r"_b?f(p8|8|16|32|64)\b|_b?f(16|32|64)_|_(iflag|legacy)|^v_(s?w?mfma|smfmac|wmma|swmmac|dot\d)|^s_(denorm_mode|round_mode)|^s_setreg")


def read_ptx(code):
    for body in re.finditer(r"^(?:\.visible |\.weak )?\.(?:entry|func)\b[^{;]*?(\w+)\s*\([^{;]*?\)[^{;]*?\{(.*?)^\}", code, re.M | re.S):
        found, inline = [], False
        for line in body[2].split("\n"):
            if "begin inline asm" in line or "end inline asm" in line:
                inline = "begin" in line
            line = re.sub(r"//.*", "", line).strip().strip("{}").strip()
            for statement in filter(None, map(str.strip, line.split(";"))):
                statement = re.sub(r"^@!?%?\w+\s+", "", statement)
                if not statement.startswith(".") and not statement.endswith(":"):
                    op, _, operands = statement.partition(" ")
                    if PTX_FLOAT.search(op.split("\t")[0]):
                        found.append((op.split("\t")[0], operands, inline))
        yield body[1], found, []


def read_sass(code):
    for part in re.split(r"^\s*\.section\s+\.text\.", code, flags=re.M)[1:]:
        name = re.match(r"[\w.$]+", part)[0]
        found = []
        for match in re.finditer(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P[\dT]+\s+)?([A-Z][\w.]*)([^;]*);", part):
            moves = match[1].startswith("HFMA2") and "-RZ, RZ," in match[2]  # (a constant, by an idle unit)
            if SASS_FLOAT.search(match[1]) and not moves:
                found.append((match[1], match[2], False))
        yield name, found, []


def read_amd(code):
    faults = collections.defaultdict(list)
    for block in re.finditer(r"^\s*\.amdhsa_kernel (\w+)(.*?)\.end_amdhsa_kernel", code, re.M | re.S):
        for name, wanted in (("denorm_mode_32", "3"), ("denorm_mode_16_64", "3"), ("round_mode_32", "0"), ("round_mode_16_64", "0")):
            value = re.search(rf"\.amdhsa_float_{name} (\d+)", block[2])
            if not value or value[1] != wanted:
                faults[block[1]].append(f"mode bits: {name} is {value[1] if value else 'not said'}, not {wanted}")
        shared = re.search(r"\.amdhsa_group_segment_fixed_size (\d+)", block[2])
        if not shared or int(shared[1]) > MOST_SHARED:
            faults[block[1]].append(f"shared memory: {shared[1] if shared else 'not said'} bytes, more than {MOST_SHARED}")
    for body in re.finditer(r"^(\w+):[^\n]*\n(.*?)^\.Lfunc_end\d+:", code, re.M | re.S):
        found = []
        for line in body[2].split("\n"):
            if not line.startswith("\t"):
                continue
            for statement in line.split(";")[0].split("::"):
                op, _, operands = statement.strip().partition(" ")
                if op[:1] not in ("", ".") and AMD_FLOAT.search(op):
                    found.append((op + " " + operands if op.startswith("s_setreg") else op, operands, False))
                    if re.search(r"\b(clamp|mul:[24]|div:2)\b", operands):
                        faults[body[1]].append(f"{op} {operands}: an output modifier")
        yield body[1], found, faults[body[1]]


READ = {"ptx": read_ptx, "sass": read_sass, "amd": read_amd}


# ---- the judgement


def judge(machine, table, instructions, said):
    """The violations of one function; said: what its program holds, or None where clang's code has no such function."""
    faults, kinds, said = [], collections.Counter(), said or collections.Counter()
    if said["licence"]:
        faults.append(f"the program carries {said['licence']} licences to change values")
    if said["atomic"]:
        faults.append(f"{said['atomic']} floating-point atomics, in whatever instructions")
    if said["flush"]:
        faults.append("the program is built to flush subnormals")
    for op, operands, inline in instructions:
        rule = next(((kind, because) for kind, pattern, because in table if pattern.fullmatch(op)), None)
        kind = rule[0] if rule else None
        wide = "64" if re.search(r"f64|^D|64H", op) else "32"
        if kind is None:
            faults.append(f"{op}: not on the list")
        elif kind == "never":
            faults.append(f"{op}: {rule[1]}")
        elif kind == "fused":
            kinds["fused" + wide] += 2 if "_pk_" in op or op == "FFMA2" else 1
            if machine == "ptx" and not inline:
                faults.append(f"{op}: a fused operation that was not written")
        elif kind == "recip":
            kinds[("iflag" if "iflag" in op else "recip") + wide] += 1
        elif kind in ("root", "mad"):
            kinds[kind + wide] += 1
        if op.startswith("v_div_fixup"):
            kinds["fixup" + wide] += 1
        if machine == "ptx" and op.startswith(("div.rn", "rcp.rn")):
            kinds["div" + wide] += 1
    whole = said["long"] + said["short"]
    explained = whole or any(said[name + bits] for name in ("div", "root") for bits in ("32", "64"))
    for bits in ("32", "64"):
        if machine == "ptx":
            if kinds["recip" + bits] and not said["recip" + bits]:
                faults.append(f"rcp.rn.f{bits}: a reciprocal in place of a written division")
            if said["div" + bits] and not kinds["div" + bits]:
                faults.append(f"the program divides f{bits}, the machine code does not")
        if machine == "amd":
            most = (said["fma" + bits] + AMD_FUSED["div" + bits] * kinds["fixup" + bits] + AMD_FUSED["root" + bits] * said["root" + bits]
                    + AMD_FUSED["convert"] * said["convert"] + (AMD_FUSED["long"] * said["long"] + AMD_FUSED["short"] * said["short"]) * (bits == "32"))
            if kinds["fused" + bits] > most:
                faults.append(f"{kinds['fused' + bits]} fused operations of f{bits}, {most} written or explained")
            if said["div" + bits] > kinds["fixup" + bits]:
                faults.append(f"{said['div' + bits]} divisions of f{bits} written, {kinds['fixup' + bits]} in the machine code: a reciprocal in place")
            if kinds["recip" + bits] > kinds["fixup" + bits] + (whole if bits == "32" else 0):
                faults.append(f"{kinds['recip' + bits]} reciprocals of f{bits}, {kinds['fixup' + bits]} divisions")
        if machine == "sass" and not explained:  # (the assembler's own sequences: that nobody else fuses is PTX's to show)
            if kinds["fused" + bits] and not said["fma" + bits]:
                faults.append(f"{kinds['fused' + bits]} fused operations of f{bits}, none written")
            if kinds["recip" + bits]:
                faults.append(f"a reciprocal of f{bits} without a division")
        if kinds["root" + bits] and not (said["root" + bits] if machine == "amd" else explained):
            faults.append(f"a root of f{bits} that was not written")
    if kinds["mad32"] > AMD_FUSED["long"] * said["long"]:
        faults.append(f"{kinds['mad32']} mads, {said['long']} integer divisions that may hold two each")
    if kinds["iflag32"] and not whole:
        faults.append("an integer division's reciprocal without an integer division")
    return faults


def audit(target, file, text, table, flags=()):
    """What the machine code of a preprocessed text holds: counts of instructions and violations; the functions read."""
    counts, faults, functions = collections.Counter(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "text." + target.dialect)
        out = os.path.join(folder, "out")
        with open(source, "w", encoding="utf-8") as stream:
            stream.write(text)
        for command in target.compile(source, out, list(flags)):
            done = run(command)
            if done.returncode:
                return counts, [f"{file}: does not build: {done.stderr.strip()[:400]}"], 0
        if target.machine == "sass":
            code = done.stdout
        else:
            with open(out, encoding="utf-8") as stream:
                code = stream.read()
        other = not os.path.exists(out + ".ll")
        if CLANG and other:  # (what nvcc builds is held against clang's reading of the same text)
            done = run([CLANG, *CUDA, *STRICT, "-S", "-emit-llvm", source, "-o", out + ".ll"])
            if done.returncode:
                return counts, [f"{file}: does not build: {done.stderr.strip()[:400]}"], 0
        said = {}
        if CLANG:
            with open(out + ".ll", encoding="utf-8") as stream:
                said = program(stream.read(), other)
    for name, instructions, others in READ[target.machine](code):
        functions += 1
        counts.update(op.split(" ")[0] for op, _, _ in instructions)
        faults += [f"{name}: {fault}" for fault in judge(target.machine, table[target.machine], instructions, said.get(name)) + others]
    return counts, faults, functions


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="TARGET")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--list", action="store_true", help="the targets, and why this machine lacks one")
    parser.add_argument("--text")
    parser.add_argument("--target")
    parser.add_argument("--flags", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    table, known = rules(), list(targets())
    for name in [*options.only, *([options.target] if options.target else [])]:
        if name not in [t.name for t in known]:
            parser.error(f"unknown target {name}: expected one of {', '.join(t.name for t in known)}")
    if options.list:
        print("\n".join(f"{t.name:12} {t.why_not or 'builds'}" for t in known))
        return 0
    if options.text:
        target = next(t for t in known if t.name == options.target)
        if target.why_not:
            sys.exit(f"{target.name}: {target.why_not}")
        with open(options.text, encoding="utf-8") as file:
            counts, faults, functions = audit(target, options.text, file.read(), table, options.flags.split())
        print("\n".join(sorted(set(faults))) or f"{functions} functions, {sum(counts.values())} floating-point instructions, none that may not stand there")
        return 1 if faults else 0
    files = sorted(f for f in os.listdir(KERNELS) if f.endswith(".cl"))
    texts = {dialect: {file: preprocess(file, dialect) for file in files} for dialect in ("cuda", "hip")}
    kernels = set(re.findall(r"SBI_KERNEL\((\w+)", "".join(open(os.path.join(KERNELS, f[:-3] + ".def"), encoding="utf-8").read() for f in files)))
    report, failed, passed, skipped = [], 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for target in known:
            if options.only and target.name not in options.only:
                continue
            if target.why_not:
                wanted = target.name in os.environ.get("SAMEBITS_REQUIRED", "").split()
                skipped, failed = skipped + (not wanted), failed + wanted
                report.append({"target": target.name, "skipped": target.why_not})
                if not options.json:
                    print(f"{target.name:12} {'FAILED: required, but' if wanted else 'skipped:'} {target.why_not}", flush=True)
                continue
            counts, faults, functions = collections.Counter(), [], 0
            for one, bad, some in pool.map(lambda f: audit(target, f, texts[target.dialect][f], table), files):
                counts.update(one)
                faults += bad
                functions += some
            if functions < len(kernels):
                faults.append(f"{functions} functions read, there are {len(kernels)} kernels")
            report.append({"target": target.name, "functions": functions, "instructions": dict(sorted(counts.items())), "violations": faults})
            passed, failed = passed + (not faults), failed + bool(faults)
            if not options.json:
                print(f"{target.name:12} {functions} functions, {sum(counts.values())} floating-point instructions of {len(counts)} kinds, {len(faults)} violations", flush=True)
                for fault in faults[:20]:
                    print("  " + fault)
    if options.json:
        print(json.dumps({"kernels": len(kernels), "targets": report}, indent=1))
    else:
        print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
