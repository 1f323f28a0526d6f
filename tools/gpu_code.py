#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machine code of every kernel for GPUs, for the library: PTX (sm_80 and up: the driver makes the rest) and code objects for AMD's
chips, by the commands that tools/audit.py reads the same code with, and a linker. Where ptxas is at hand also what it makes of
that PTX for the chips of audit.SASS that it knows; these stand before the PTX, the newest first, as a driver is to be asked.

  gpu_code.py KERNELS OUT      KERNELS: the folder of texts X.cuda and X.hip; OUT: the folder for codes.c and its codes_cuda.bin, codes_hip.bin

Needs clang-19 and ld.lld-19. PTXAS names the assembler, else it is the one in PATH or beside nvcc; "" is none.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

import audit

LINKER = shutil.which("ld.lld-19")
PTXAS = os.environ.get("PTXAS", shutil.which("ptxas") or shutil.which("ptxas", path=os.path.dirname(audit.NVCC or "")))
CHIPS = [("cuda", "ptx", audit.CUDA, audit.NVPTX)] + [("hip", chip, [*audit.HIP, f"--offload-arch={chip}"], [*audit.AMDGPU, f"-mcpu={chip}"]) for chip in audit.AMD]


def code(folder, text, dialect, chip, language, machine):
    """The bytes of one text for one chip."""
    out = os.path.join(folder, f"{os.path.basename(text)}.{chip}")
    commands = audit.by_clang(language, machine, text, out, [])
    if dialect == "hip":
        commands[1][commands[1].index("-S")] = "-c"
        commands.append([LINKER, "-shared", "--no-undefined", out, "-o", out + ".object"])
        out += ".object"
    for command in commands:
        subprocess.run(command, check=True)
    with open(out, "rb") as file:
        made = file.read()
    return re.sub(rb"//[^\n]*|(?<=\n)\s*\n", b"", made) if chip == "ptx" else made


def assemble(folder, name, ptx, chip):
    """What ptxas makes of PTX for one chip: the bytes, or None where it does not know the chip."""
    source, out = os.path.join(folder, f"{name}.{chip}.ptx"), os.path.join(folder, f"{name}.{chip}.cubin")
    with open(source, "wb") as file:
        file.write(ptx)
    done = subprocess.run([PTXAS, f"-arch={chip}", "--fmad=false", source, "-o", out], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        if "gpu-name" in done.stderr:
            return None
        sys.exit(f"gpu_code.py: {name} for {chip}: {done.stderr}")
    with open(out, "rb") as file:
        return file.read()


def main():
    kernels, out = sys.argv[1:]
    if not audit.CLANG or not audit.CLANG.endswith("clang-19") or not LINKER:
        sys.exit("gpu_code.py needs clang-19 and ld.lld-19 (packages clang-19, lld-19)")
    tables = ""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for dialect in ("cuda", "hip"):
            rows, blob = [], bytearray()
            names = sorted(file[:-len(dialect) - 1] for file in os.listdir(kernels) if file.endswith("." + dialect))
            jobs = [(name, one) for one in CHIPS if one[0] == dialect for name in names]
            made = list(zip(((name, chip) for name, (_, chip, *_) in jobs),
                            pool.map(lambda job: code(folder, os.path.join(kernels, f"{job[0]}.{dialect}"), *job[1]), jobs)))
            if dialect == "cuda" and PTXAS:
                jobs = [(name, chip, ptx) for chip in reversed(audit.SASS) for (name, _), ptx in made]
                cubins = zip(((name, chip) for name, chip, _ in jobs), pool.map(lambda job: assemble(folder, job[0], job[2], job[1]), jobs))
                made = [one for one in cubins if one[1]] + made
            for (name, chip), some in made:
                rows.append(f'    {{"{name}", "{chip}", bytes_{dialect} + {len(blob)}, {len(some)}}},\n')
                blob += some + bytes(64 - len(some) % 64)  # (at least one 0; aligned)
            path = os.path.join(out, f"codes_{dialect}.bin")
            with open(path, "wb") as file:
                file.write(blob)
            tables += f'''__asm__(".section .rodata\\n.balign 64\\nsbi_bytes_{dialect}:\\n.incbin \\"{path}\\"\\n.previous");
extern const unsigned char bytes_{dialect}[] __asm__("sbi_bytes_{dialect}");
const sbi_gpu_code sbi_codes_{dialect}[] = {{\n{"".join(rows)}    {{0}},\n}};
'''
            print(f"{dialect}: {len(rows)} of {len(names)} texts, {len(blob)} bytes")
    with open(os.path.join(out, "codes.c"), "w", encoding="utf-8") as file:
        file.write('// SPDX-License-Identifier: Apache-2.0\n// Written by tools/gpu_code.py.\n#include "gpu_code.h"\n' + tables)


if __name__ == "__main__":
    main()
