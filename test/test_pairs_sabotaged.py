#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of kernels/pairs.h and of its constants, changed once: test_pairs must see each. test_pairs_sabotaged.py SOURCE_DIR"""
import sys

import checks
from changed_lines import try_changes

ROOT = sys.argv[1]
# (as it stands, changed, the function that must tell)
CHANGES = [
    ("bits = rest.l != 0.0f && (bits & 1u) == 0u ? bits + step : bits;", "", "silu"),
    ("sbi_pair_power(k > 0 ? -126 : -126 - k)", "sbi_pair_power(-126)", "exp"),
    ("-0x1.555556p-28f", "0.0f", "expm1"),
    ("+ (FMA(turns, -0x1.cf79acp-46f, off.l) + z.l)", "+ (off.l + z.l)", "exp"),
    ("w = sbi_words_add(sbi_words_add(w, a.h), low);", "w = sbi_words_add(w, a.h);", "exp"),
    ("FMA(a.h, b.l, a.l * b.h)", "a.l * b.h", "tanh"),
    ("FMA(-q, b.h, a.h) + FMA(-q, b.l, a.l)", "FMA(-q, b.h, a.h)", "sigmoid"),
    ("m - 1.0f, w.l * sbi_pair_power(", "m - 1.0f, 0.0f * sbi_pair_power(", "log1p"),
    ("small ? e - 24.0f : e", "e", "log"),
    ("#define SBI_PAIR_LOG2_E 0x1.715476p0f, 0x1.4ae0cp-26f", "#define SBI_PAIR_LOG2_E 0x1.715476p0f, 0x1.4ae0dp-26f", "log2"),
    ("#define SBI_PAIR_LOG10_2 0x1.344136p-2f, -0x1.ec10cp-27f", "#define SBI_PAIR_LOG10_2 0x1.344136p-2f, -0x1.ec10dp-27f", "log10"),
    ("(0.75f * r.h) * r.h", "0.0f", "rsqrt"),
    ("(skip & 31u)", "(skip & 30u)", "sin"),
    ("(((part & 0x3fffu) << 10) | (low >> 22))", "0", "cos"),
    ("FLOAT32(BITS32(y) ^ ((n & 2u) << 30))", "y", "cos"),
    ("(size * y.h) * (y.h * y.h) * 0x1.555556p-6f", "0.0f", "silu"),
    ("(x * x) * x * -0x1.555556p-4f", "0.0f", "silu_grad"),
    ("sbi_pair_sum(x - zero.h, -zero.m)", "sbi_pair_sum(x - zero.h, 0.0f)", "silu_grad"),
    ("w = sbi_words_add(w, linear.m);", "", "gelu_tanh"),
    ("#define SBI_PAIR_GELU_TANH_ZERO -0x1.8142ap-1f, 0x1.85a06cp-27f", "#define SBI_PAIR_GELU_TANH_ZERO -0x1.8142ap-1f, 0x1.85a05cp-27f", "gelu_tanh_grad"),
    ("x < -20.0f ? 1 : 0", "x < -8.0f ? 1 : 0", "softplus"),
    ("FLOAT32(BITS32(y) ^ 0x80000000u) : SBI_NAN32", "y : SBI_NAN32", "log_sigmoid"),
    ("w = sbi_words_add(w, turn * odd.m);", "", "erfc"),
    ("sbi_pair_exp(-u.h, -u.l, k)", "sbi_pair_exp(-u.h, 0.0f, k)", "erf"),
    ("sbi_pair_lift(low, &lift)", "(lift = 0, low)", "gelu"),
    ("sbi_pair_add(ratio, sbi_pair_times(top,", "sbi_pair_add(ratio, sbi_pair_times(here,", "gelu_grad"),
    ("FMA(-root, root, log.h) + log.l", "FMA(-root, root, log.h)", "normal"),
    ("(i32)1 << (steps - i)", "(i32)1 << i >> 1", "expm1"),
]


try_changes(ROOT, "test_pairs", ["pairs.h", "pair_constants.h"], ["fma.h", "number.h", "soft64.h", "function.h"], CHANGES,
            lambda function: [f"{ROOT}/references/hard-cases.tsv", function], lambda function: f"mend {function} ")
sys.exit(checks.end())
