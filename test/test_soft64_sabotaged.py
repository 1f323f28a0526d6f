#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every line of kernels/soft64.h that decides a bit, changed once: test_soft64 must see each. test_soft64_sabotaged.py SOURCE_DIR"""
import sys

import checks
from changed_lines import try_changes

ROOT = sys.argv[1]
# (as it stands, changed, the operation that must tell)
CHANGES = [
    ("kept += (u64)((m & 0x7ffu) + (kept & 1u) > 0x400u);", "kept += (u64)((m & 0x7ffu) >= 0x400u);", "+"),
    ("m = sbi_soft_jam(m, 1 - e);\n        e = 1;\n    }\n    u64 kept", "m = m >> (1 - e < 63 ? 1 - e : 63);\n        e = 1;\n    }\n    u64 kept", "*"),
    ("if (e > 2046) return sign", "if (e > 2047) return sign", "+"),
    ("(u64)((x << (63 - s)) << 1 != 0)", "(u64)0", "+"),
    ("(y == x && parted) ? SBI_SOFT_NAN : a", "0 ? SBI_SOFT_NAN : a", "+"),
    ("sbi_soft_round(m ? a & SBI_SOFT_SIGN : a & b & SBI_SOFT_SIGN", "sbi_soft_round(a & SBI_SOFT_SIGN", "-"),
    ("MULHI64(p.m, q.m) | (u64)(p.m * q.m != 0)", "MULHI64(p.m, q.m)", "*"),
    ("y > SBI_SOFT_INFINITY || !x || !y ? SBI_SOFT_NAN", "y > SBI_SOFT_INFINITY ? SBI_SOFT_NAN", "*"),
    ("i < 4; i++) r = MULHI64(r, SBI_SOFT_SIGN", "i < 3; i++) r = MULHI64(r, SBI_SOFT_SIGN", "/"),
    ("        quotient++;\n", "", "/"),
    ("        quotient--;\n", "", "/"),
    ("quotient << 7 | (u64)(rest != 0)", "quotient << 7", "/"),
    ("if (x == SBI_SOFT_INFINITY || !y) return sign", "if (x == SBI_SOFT_INFINITY) return sign", "/"),
    ("i < 5; i++) r = MULHI64(r, 0x3", "i < 4; i++) r = MULHI64(r, 0x3", "sqrt"),
    ("        root--;\n", "", "sqrt"),
    ("root << 9 | (u64)(rest != 0)", "root << 9", "sqrt"),
    ("if (a > SBI_SOFT_INFINITY) return SBI_SOFT_NAN;", "if (x > SBI_SOFT_INFINITY) return SBI_SOFT_NAN;", "sqrt"),
    ("p = sbi_wide_jam(p, f.e - e);", "p = sbi_wide_left(p, 0);", "fma"),
    ("y.low = sbi_soft_jam(x.high, s - 64) | (u64)(x.low != 0);", "y.low = x.high >> (s - 64 < 63 ? s - 64 : 63);", "fma"),
    ("r.high | (u64)(r.low != 0)", "r.high", "fma"),
    ("r.high = p.high - q.high - (u64)(p.low < q.low);", "r.high = p.high - q.high;", "fma"),
    ("sign = c & SBI_SOFT_SIGN;", "", "fma"),
    ("if (!(r.high | r.low)) return 0;", "if (!(r.high | r.low)) return sign;", "fma"),
    ("kept += (u32)((m & 0xffffffffffu) + (kept & 1u) > 0x8000000000u);", "kept += (u32)((m & 0xffffffffffu) > 0x8000000000u);", "to float"),
    ("m = sbi_soft_jam(m, 1 - e);\n        e = 1;\n    }\n    u32 kept", "m = m >> (1 - e < 63 ? 1 - e : 63);\n        e = 1;\n    }\n    u32 kept", "to float"),
    ("(e ? e : 1) + 896", "e + 896", "from float"),
    ("sbi_soft_round(SBI_SOFT_SIGN, 1086, 0u - (u64)x)", "sbi_soft_round(SBI_SOFT_SIGN, 1086, ~(u64)x)", "from i64"),
    ("return (a & SBI_SOFT_SIGN) ? 0u - size : size;", "return size;", "to i64"),
    ("y > SBI_SOFT_INFINITY || !(x | y)) return 0;", "y > SBI_SOFT_INFINITY) return 0;", "<"),
    ("!(b & SBI_SOFT_SIGN) || y < x", "!(b & SBI_SOFT_SIGN) || x < y", "<"),
    ("(a == b || !(x | y))", "a == b", "=="),
]


try_changes(ROOT, "test_soft64", ["soft64.h"], ["fma.h", "number.h"], CHANGES, lambda operation: ["18"], lambda operation: f"{operation} of ")
sys.exit(checks.end())
