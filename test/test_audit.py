#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/audit.py sees a planted violation of each kind, at every target that this machine builds, and nothing in the text as it
stands. test_audit.py SOURCE_DIR"""
import os
import subprocess
import sys
import tempfile

import checks
from checks import check

ROOT = sys.argv[1]
sys.path.insert(0, os.path.join(ROOT, "tools"))
import audit  # noqa: E402

AMD, PTX, SASS = ("gfx90a", "gfx942", "gfx1100", "gfx1201"), ("ptx-clang", "ptx-nvcc"), ("sass-sm_80", "sass-sm_120")
HEAD = "#include \"dialect/%s.h\"\nKERNEL void k_planted(GLOBAL f32 *RESTRICT y, GLOBAL const f32 *RESTRICT x, i32 n, GLOBAL f64 *RESTRICT z) {\n    PHASE(l, 64) { %s } PHASE_END\n}\n"
# What is planted: name, targets, the body, flags, a part of what the audit must say; None: nothing.
PLANTED = [
    ("nothing", AMD + PTX + SASS, "y[l] = FMA(x[l], x[l + 1], x[l + 2] / x[l + 3]) + SQRT32(x[l + 4]); z[l] = SQRT64(z[l + 1]) / z[l + 2] + (f64)(i64)z[n];", "", None),
    ("contraction", AMD + ("ptx-clang",), "y[l] = x[l] * x[l + 1] + x[l + 2];", "-ffp-contract=fast", "licence"),
    ("contraction", SASS, "y[l] = x[l] * x[l + 1] + x[l + 2];", "-fmad=true", "fused operations of f32, none written"),
    ("contraction of binary64", SASS, "z[l] = z[l] * z[l + 1] + z[l + 2];", "-fmad=true", "fused operations of f64, none written"),
    ("contraction", ("ptx-nvcc",), "y[l] = x[l] * x[l + 1] + x[l + 2];", "-fmad=true", "fused operation that was not written"),
    ("a fused operation", AMD, 'f32 r; asm("v_fma_f32 %%0, %%1, %%2, %%3" : "=v"(r) : "v"(x[l]), "v"(x[l + 1]), "v"(x[l + 2])); y[l] = r;', "", "fused operations of f32, 0 written"),
    ("a fused operation beside a division", AMD, 'f32 r; asm("v_fma_f32 %%0, %%1, %%2, %%3" : "=v"(r) : "v"(x[l]), "v"(x[l + 1]), "v"(x[l + 2])); y[l] = r / x[n];', "", "fused operations of f32, 5 written"),
    ("a builtin that fuses", ("ptx-clang",), "y[l] = __builtin_fmaf(x[l], x[l + 1], x[l + 2]);", "", "fused operation that was not written"),
    ("no rounding spelled", PTX, 'f32 r; asm("mul.f32 %%0, %%1, %%2;" : "=f"(r) : "f"(x[l]), "f"(x[l + 1])); y[l] = r;', "", "no rounding spelled"),
    ("fast arithmetic", AMD + ("ptx-clang",), "y[l] = (x[l] + x[l + 1]) / x[l + 2];", "-ffast-math", "licence"),
    ("fast arithmetic", ("ptx-nvcc",), "y[l] = (x[l] + x[l + 1]) / x[l + 2];", "-use_fast_math", "flush"),
    ("flush", ("ptx-clang",), "y[l] = x[l] * x[l + 1];", "-fgpu-flush-denormals-to-zero", "flush"),
    ("flush", ("ptx-nvcc",), "y[l] = x[l] * x[l + 1];", "-ftz=true", "flush"),
    ("flush", SASS, "y[l] = x[l] * x[l + 1];", "-ftz=true", "without a division"),
    ("flush", AMD, "y[l] = x[l] * x[l + 1];", "-fgpu-flush-denormals-to-zero", "mode bits"),
    ("mode bits", AMD, 'asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0"); y[l] = x[l] * x[l + 1];', "", "mode bits"),
    ("division by a rough sequence", AMD, "y[l] = x[l] / x[l + 1];", "-fno-hip-fp32-correctly-rounded-divide-sqrt", "licence"),
    ("rough division", ("ptx-nvcc",), "y[l] = x[l] / x[l + 1];", "-prec-div=false", "approximate"),
    ("rough root", PTX, 'f32 r; asm("sqrt.approx.f32 %%0, %%1;" : "=f"(r) : "f"(x[l])); y[l] = r;', "", "approximate"),
    ("a reciprocal", PTX, 'f32 r; asm("rcp.rn.f32 %%0, %%1;" : "=f"(r) : "f"(x[l])); y[l] = x[l + 1] * r;', "", "a reciprocal in place of a written division"),
    ("a rough reciprocal", AMD, "y[l] = x[l] * __builtin_amdgcn_rcpf(x[l + 1]);", "", "reciprocals of f32, 0 divisions"),
    ("a rough reciprocal of binary64", AMD, "z[l] = z[l] * __builtin_amdgcn_rcp(z[l + 1]);", "", "reciprocals of f64, 0 divisions"),
    ("a rough root", AMD, "y[l] = __builtin_amdgcn_sqrtf(x[l]);", "", "a root of f32 that was not written"),
    ("a rough reciprocal root", AMD, "y[l] = __builtin_amdgcn_rsqf(x[l]);", "", "a root of f32 that was not written"),
    ("sine", AMD, "y[l] = __builtin_amdgcn_sinf(x[l]);", "", "approximate function"),
    ("exponential", AMD, "y[l] = __builtin_amdgcn_exp2f(x[l]);", "", "approximate function"),
    ("sine", PTX, 'f32 r; asm("sin.approx.f32 %%0, %%1;" : "=f"(r) : "f"(x[l])); y[l] = r;', "", "approximate"),
    ("exponential", SASS, 'f32 r; asm("ex2.approx.f32 %%0, %%1;" : "=f"(r) : "f"(x[l])); y[l] = r;', "", "approximate function"),
    ("a rough reciprocal", SASS, 'f32 r; asm("rcp.approx.f32 %%0, %%1;" : "=f"(r) : "f"(x[l])); y[l] = r;', "", "without a division"),
    ("a rough root", SASS, 'f32 r; asm("rsqrt.approx.f32 %%0, %%1;" : "=f"(r) : "f"(x[l])); y[l] = r;', "", "a root of f32 that was not written"),
    ("an atomic sum", SASS, 'asm volatile("red.global.add.f32 [%%0], %%1;" :: "l"(y), "f"(x[l]));', "", "floating-point atomic"),
    ("exponential", PTX, 'f32 r; asm("ex2.approx.ftz.f32 %%0, %%1;" : "=f"(r) : "f"(x[l])); y[l] = r;', "", "flush"),
    ("an atomic sum", AMD, "(void)__atomic_fetch_add(&y[n], x[l], 0);", "-munsafe-fp-atomics", "floating-point atomic"),
    ("an atomic sum", PTX, 'asm volatile("red.global.add.f32 [%%0], %%1;" :: "l"(y), "f"(x[l]));', "", "floating-point atomic"),
    ("half precision", PTX, 'f32 r; asm("{.reg .b16 h; cvt.rn.f16.f32 h, %%1; cvt.f32.f16 %%0, h;}" : "=f"(r) : "f"(x[l])); y[l] = r;', "", "not on the list"),
    ("half precision", AMD, "y[l] = (f32)(_Float16)x[l];", "", "not on the list"),
    ("an output modifier", AMD, 'f32 r; asm("v_mul_f32 %%0, %%1, %%2 clamp" : "=v"(r) : "v"(x[l]), "v"(x[l + 1])); y[l] = r;', "", "output modifier"),
]


def main():
    known = {t.name: t for t in audit.targets()}
    table = audit.rules()
    skipped = 0
    for name, target in known.items():
        if target.why_not:
            skipped += 1
            print(f"{name}: skipped: {target.why_not}")
    with tempfile.TemporaryDirectory() as folder:
        planted = os.path.join(folder, "planted.cl")
        for what, names, body, flags, words in PLANTED:
            for name in names:
                target = known[name]
                if target.why_not:
                    continue
                source = HEAD.replace("%s", target.dialect, 1).replace("%s", body, 1).replace("%%", "%")
                with open(planted, "w", encoding="utf-8") as file:
                    file.write(source)
                text = subprocess.run(["cc", "-E", "-P", "-undef", "-x", "c", "-std=c99", f"-I{audit.KERNELS}", planted],
                                      stdout=subprocess.PIPE, text=True, check=True).stdout
                counts, faults, functions = audit.audit(target, what, text, table, flags.split())
                said = "; ".join(faults)
                if words is None:
                    check(not faults and functions == 1 and sum(counts.values()) > 4, f"{name}, nothing planted: {said or counts}")
                else:
                    check(words in said and "does not build" not in said, f"{name}, {what} planted: expected \"{words}\", the audit says: {said or 'nothing'}")
    print(f"{skipped} targets skipped")
    sys.exit(checks.end())


main()
