#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The constants of the functions in pairs of float32, src/kernels/pair_constants.h, by mpmath (300 bits), and the list of the inputs
that are mended.

  pairs.py --write [FILE ...]   writes the header; each FILE holds lines "mend NAME INPUT OUTPUT" (test_pairs all NAME), which replace
                                the lines of that NAME that the header has
  pairs.py --check              the header is what this tool writes (with the mends that it holds)
"""
import os
import re
import sys

import mpmath as mp

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADER = os.path.join(ROOT, "src/kernels/pair_constants.h")
mp.mp.prec = 300


def single(x):
    """The nearest float32 (of a number that is normal)."""
    if x == 0:
        return mp.mpf(0)
    scale = mp.mpf(2) ** (23 - int(mp.floor(mp.log(abs(x), 2))))
    return mp.nint(x * scale) / scale


def words(x, count):
    """x as a sum of float32, each the nearest of what the ones before leave."""
    out = []
    for _ in range(count):
        out.append(single(x))
        x -= out[-1]
    return out


def shown(x):
    return "0.0f" if x == 0 else re.sub(r"\.?0+p", "p", float(x).hex()).replace("p+", "p") + "f"


def interpolated(f, low, high, degree):
    """The coefficients, ascending, of the polynomial that meets f at Chebyshev nodes of [low, high], and its greatest error."""
    n = degree + 1
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    values = [f(x) for x in nodes]
    newton = list(values)  # divided differences
    for j in range(1, n):
        for i in range(n - 1, j - 1, -1):
            newton[i] = (newton[i] - newton[i - 1]) / (nodes[i] - nodes[i - j])
    c = [mp.mpf(0)]
    for i in range(n - 1, -1, -1):
        c = [mp.mpf(0)] + c
        for j in range(len(c) - 1):
            c[j] -= nodes[i] * c[j + 1]
        c[0] += newton[i]
    c = c[:n]
    points = [low + (high - low) * (i + mp.mpf(1) / 2) / 97 for i in range(97)]
    return c, max(abs(mp.polyval(c[::-1], x) / f(x) - 1) for x in points)


def series(f, low, high, degree, bits=51):
    """The words of a polynomial as sbi_pair_series reads them: the highest coefficients as one word, then those that matter as two."""
    low, high = mp.mpf(low), mp.mpf(high)
    c, error = interpolated(f, low, high, degree)
    reach, least = max(abs(low), abs(high)), min(abs(f(low)), abs(f(high)), abs(f((low + high) / 2)))
    pairs = 1 + max(i for i in range(degree + 1) if abs(c[i]) * reach**i > least * mp.mpf(2) ** (25 - bits))
    pairs = min(pairs, degree)
    return [single(x) for x in c[:pairs - 1:-1]], [w for x in c[pairs - 1::-1] for w in words(x, 2)], error


def trig(x, first):
    """sum of (-x)^i / (first + 2 i)!"""
    return mp.nsum(lambda i: (-x) ** i / mp.factorial(first + 2 * i), [0, mp.inf]) if x else 1 / mp.factorial(first)


def log_tail(z):
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) / s - 2) / z


def erf_head(u):
    a = mp.sqrt(u)
    return mp.erf(a) / a if u else 2 / mp.sqrt(mp.pi)


def erf_rest(u):
    return (erf_head(u) - 2 / mp.sqrt(mp.pi)) / u


CENTRE = mp.mpf(3)


def erfc_tail(t):
    a = CENTRE * (1 + t) / (1 - t)
    return mp.erfc(a) * mp.exp(a * a) * (a + CENTRE)


def silu_grad(x):
    s = 1 / (1 + mp.exp(-x))
    return s * (1 + x * (1 - s))


def gelu_grad(x):
    return mp.ncdf(x) + x * mp.npdf(x)


def gelu_tanh_grad(x):
    c, k = 2 * mp.sqrt(2 / mp.pi), mp.mpf(44715) / 10**6
    s = 1 / (1 + mp.exp(-c * (x + k * x**3)))
    return s * (1 + x * (1 - s) * c * (1 + 3 * k * x * x))


def beside(f, start):
    """f's zero, and f(zero + d) / d."""
    zero = mp.findroot(f, mp.mpf(start))
    return zero, lambda d: f(zero + d) / d


def normal_rational(low, high, value, degree=8):
    """value as a quotient of polynomials, a(t) / (1 + t b(t)), through Chebyshev nodes: a, and 1 and b."""
    n = 2 * degree + 1
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    rows = mp.matrix(n, n)
    right = mp.matrix(n, 1)
    for i, t in enumerate(nodes):
        v = value(t)
        for j in range(degree + 1):
            rows[i, j] = t**j
        for j in range(1, degree + 1):
            rows[i, degree + j] = -v * t**j
        right[i] = v
    c = list(mp.lu_solve(rows, right))
    return c[: degree + 1], [mp.mpf(1)] + c[degree + 1 :]


def inverse_normal(p):
    """-z of Phi(z) = p < 1/2"""
    z = mp.sqrt(-2 * mp.log(p)) if p < 0.1 else mp.sqrt(2 * mp.pi) * (0.5 - p)
    return -mp.findroot(lambda y: mp.log(mp.ncdf(y)) - mp.log(p), -z)


def normal_parts():
    """A/B of sbi_pair_normal_f32, in t = 3/16 - (1/2 - p)^2 from p = 0.075 on, in t = sqrt(-log p) - 3/2 below."""
    centre = lambda t: inverse_normal(mp.mpf(1) / 2 - mp.sqrt(mp.mpf(3) / 16 - t)) / mp.sqrt(mp.mpf(3) / 16 - t) - mp.mpf(9) / 4
    tail = lambda t: inverse_normal(mp.exp(-((t + mp.mpf(3) / 2) ** 2))) - (t + mp.mpf(5) / 4)
    return {
        "CENTRE": normal_rational(mp.mpf(3) / 16 - mp.mpf("0.425") ** 2 - mp.mpf("1e-6"), mp.mpf(3) / 16 - mp.mpf("1e-12"), centre),
        "TAIL": normal_rational(mp.sqrt(-mp.log(mp.mpf("0.0751"))) - mp.mpf(3) / 2, mp.sqrt(33 * mp.log(2)) - mp.mpf(3) / 2, tail),
    }


SERIES = {  # function, from, to, degree
    "LOG": (log_tail, "1e-30", "0.0296", 7),
    "SIN": (lambda z: -trig(z, 3), "1e-30", "0.62", 6),
    "COS": (lambda z: trig(z, 4), "1e-30", "0.62", 6),
    "ERF": (erf_rest, "1e-20", "0.8", 10),
    "ERFC": (erfc_tail, (mp.mpf("0.87") - CENTRE) / (mp.mpf("0.87") + CENTRE), (mp.mpf("10.3") - CENTRE) / (mp.mpf("10.3") + CENTRE), 18),
}
ZEROS = {  # function, near, degree
    "SILU": (silu_grad, "-1.278", 13),
    "GELU": (gelu_grad, "-0.7518", 13),
    "GELU_TANH": (gelu_tanh_grad, "-0.7525", 14),
}
NUMBERS = {
    "LN2": mp.log(2),
    "LOG2_E": 1 / mp.log(2),
    "LOG10_2": mp.log10(2),
    "LOG10_E": 1 / mp.log(10),
    "HALF_PI": mp.pi / 2,
    "ERF_FIRST": 2 / mp.sqrt(mp.pi),
    "HALF_ROOT": mp.sqrt(mp.mpf(1) / 2),
    "QUARTER_ROOT": mp.sqrt(mp.mpf(1) / 8),
    "DENSITY": 1 / mp.sqrt(2 * mp.pi),
    "GELU_LINEAR": 2 * mp.sqrt(2 / mp.pi),
    "GELU_CUBIC": 2 * mp.sqrt(2 / mp.pi) * 44715 / 10**6,
}
MENDED = "exp expm1 tanh exp2 log log2 log10 log1p sin cos sigmoid silu silu_grad gelu_tanh gelu_tanh_grad softplus erf erfc gelu gelu_grad normal".split()


def mends_of(header):
    """name -> the lines that the header has."""
    out = {}
    for name, rest in re.findall(r"^    // mends of (\w+)\n((?:    0x.*\n)*)", header, flags=re.M):
        found = [int(w, 16) for w in re.findall(r"0x([0-9a-f]+)u", rest)]
        out[name] = [pair for pair in zip(found[::2], found[1::2]) if pair[0] != 0xFFFFFFFF]
    return out


def lines_of(shown_words, width=100):
    out, line = [], "   "
    for word in shown_words:
        if len(line) + len(word) + 2 > width:
            out.append(line)
            line = "   "
        line += f" {word},"
    return "\n".join(out + [line]) + "\n"


def header(mends):
    table, places = [], []

    def add(name, text, values, counts=None):
        at = sum(len(v) for _, v in table)
        places.append((f"SBI_PAIR_{name}", ", ".join(str(n) for n in [at, *(counts or [])])))
        table.append((text, values))

    numbers = dict(NUMBERS)
    add("POWERS", "2^(j/64)", [w for j in range(64) for w in words(mp.mpf(2) ** (mp.mpf(j) / 64), 2)])
    for name, (f, low, high, degree) in SERIES.items():
        ones, twos, error = series(f, low, high, degree)
        assert error < mp.mpf(2) ** -54, (name, error)
        add(name, f"{name.lower()}", ones + twos, [len(ones), len(twos) // 2])
    for name, (f, start, degree) in ZEROS.items():
        zero, g = beside(f, start)
        ones, twos, error = series(g, "-0.2501", "0.2502", degree)
        assert error < mp.mpf(2) ** -54, (name, error)
        add(f"{name}_GRAD", f"{name.lower()}_grad", ones + twos, [len(ones), len(twos) // 2])
        numbers[f"{name}_ZERO"] = zero
    rationals = normal_parts()
    for name, (top, bottom) in rationals.items():
        assert len(top) == len(bottom)
        for part, c in (("TOP", top), ("BOTTOM", bottom)):
            add(f"NORMAL_{name}_{part}", f"normal, {name.lower()}: {part.lower()}", [mp.mpf(0)] + [w for x in c[::-1] for w in words(x, 2)])
    out = [
        "// SPDX-License-Identifier: Apache-2.0\n// Written by tools/pairs.py: the constants of pairs.h. A number's words are high to low, a"
        " series' coefficients\n// highest first: those of one word, then those of two.\n#ifndef SBI_PAIR_CONSTANTS_H\n#define SBI_PAIR_CONSTANTS_H\n\n"
    ]
    out += [f"#define SBI_PAIR_{name} {', '.join(shown(w) for w in words(value, 3))}\n" for name, value in numbers.items()]
    out.append("\n// Where each stands in the table; of a series also how many coefficients of one and of two words.\n")
    out += [f"#define {name} {where}\n" for name, where in places]
    out.append("\n// clang-format off\nTABLE f32 sbi_pair_constants[] = {\n")
    out += [f"    // {text}\n{lines_of(shown(w) for w in values)}" for text, values in table]
    out.append("};\n\n// 2/pi 2^-64 in base 2^32.\nTABLE u32 sbi_pair_two_over_pi[10] = {\n")
    digits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** 256))
    out.append(lines_of(["0u", "0u"] + [f"0x{digits >> (224 - 32 * i) & 0xFFFFFFFF:08x}u" for i in range(8)]) + "};\n\n")
    out.append("// Inputs nearer to a tie than pairs can tell, in ascending order, each with its value; a power of two of them, made up with NaN.\n")
    rows, at = [], 0
    for name in MENDED:
        here = sorted(mends.get(name, []))
        steps = max(len(here) - 1, 0).bit_length()
        here += [(0xFFFFFFFF, 0x7FC00000)] * (2**steps - len(here))
        out.append(f"#define SBI_MEND_{name.upper()} {at}, {steps}\n")
        rows.append(f"    // mends of {name}\n" + lines_of(f"0x{w:08x}u" for pair in here for w in pair))
        at += 2**steps
    out += ["TABLE u32 sbi_pair_mends[] = {\n", *rows, "};\n// clang-format on\n#endif\n"]
    return "".join(out)


def main(argv):
    if not argv or argv[0] not in ("--write", "--check"):
        sys.exit(__doc__)
    old = ""
    if os.path.exists(HEADER):
        with open(HEADER, encoding="utf-8") as file:
            old = file.read()
    mends = mends_of(old)
    if argv[0] == "--check":
        same = header(mends) == old
        print("1 passed, 0 failed" if same else "pair_constants.h is not what tools/pairs.py writes")
        return 0 if same else 1
    for path in argv[1:]:
        found = {}
        with open(path, encoding="utf-8") as file:
            for name, x, y in re.findall(r"^mend (\w+) (\w+) (\w+)$", file.read(), flags=re.M):
                found.setdefault(name, set()).add((int(x, 16), int(y, 16)))
        for name, pairs in found.items():
            mends[name] = sorted({**dict(mends.get(name, [])), **dict(pairs)}.items())
    with open(HEADER, "w", encoding="utf-8") as file:
        file.write(header(mends))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
