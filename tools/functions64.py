#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The functions of binary64: where their coefficients come from, and the record of their measured errors.

  functions64.py --coefficients   computes every polynomial again (mpmath) and says which stand in src/kernels/function64.h
  functions64.py --check          every function's text is the one that was measured, with 10^7 arguments, within the bound
  functions64.py --record FILE    takes the rows of `test_function64 --measure N`
"""
import os
import sys

from proofs import digests, rows, sections_of, write

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXT = os.path.join(ROOT, "src/kernels/function64.h")
NARROW = os.path.join(ROOT, "src/kernels/function.h") # whose binary64 log is a function of both
TABLE = os.path.join(ROOT, "docs/functions64.tsv")
USES = {
    "exp": ["exp"], "exp2": ["exp"], "expm1": ["exp"], "log": [], "log2": ["log"], "log10": ["log"], "log1p": ["log"],
    "sin": ["sin, cos"], "cos": ["sin, cos"], "tanh": ["exp", "tanh"], "erf": ["exp", "the tail of the normal distribution", "erf, erfc"],
    "erfc": ["exp", "the tail of the normal distribution", "erf, erfc"], "rsqrt": ["rsqrt"], "sigmoid": ["exp", "sigmoid"],
    "log_sigmoid": ["exp", "log", "sigmoid", "softplus, log_sigmoid"], "softplus": ["exp", "log", "sigmoid", "softplus, log_sigmoid"],
    "silu": ["exp", "sigmoid", "silu"], "gelu": ["exp", "sigmoid", "silu", "the tail of the normal distribution", "gelu"],
    "gelu_tanh": ["exp", "sigmoid", "silu", "gelu_tanh"], "silu_grad": ["exp", "sigmoid", "silu_grad"],
    "gelu_grad": ["exp", "silu_grad", "the tail of the normal distribution", "gelu"],
    "gelu_tanh_grad": ["exp", "sigmoid", "silu_grad", "gelu_tanh"], "pow": ["exp", "log", "the tail of the normal distribution", "pow"],
    "normal": ["exp", "the tail of the normal distribution", "inverse normal"],
}
HEAD = """# The largest error seen of each function of binary64 (test_function64 --measure N), in ulp of the exact value: arguments in
# strata (the range, any bits, small, beside seams and zeros, beside multiples of log(2)/2 and pi/2, subnormal) and hard cases,
# judged by MPFR (by the host's long double where it says that the error is surely not the largest). Normal results, then subnormal ones.
# `text` is the SHA-256 of the sections of src/kernels/function64.h that the function uses, comments aside.
# function\targuments\tlargest error\tat\twhere subnormal\ttext
"""


def texts():
    sections = sections_of(TEXT)
    sections["log"] += sections_of(NARROW)["log"]
    return digests(sections, {name: used or ["log"] for name, used in USES.items()})


def table(path):
    return {row[0]: row for row in rows(path)}


def record(path):
    now, kept = texts(), table(TABLE)
    for name, row in table(path).items():
        kept[name] = row[:5] + [now[name]]
    write(TABLE, HEAD, [kept[name] for name in USES if name in kept])


def check():
    now, kept, failed = texts(), table(TABLE), 0
    for name, text in now.items():
        row = kept.get(name)
        if row is None:
            fault = "no measurement is recorded"
        elif row[5] != text:
            fault = "its text is not the one that was measured; run test_function64 --measure 10000000 and record it"
        elif int(row[1]) < 10**7:
            fault = f"measured with {row[1]} arguments, not with 10^7"
        elif not float(row[2]) < (0.7 if name.endswith("_grad") else 0.65) or not float(row[4]) < 0.8: # as docs/functions.md has it
            fault = "it exceeds the stated bound"
        else:
            continue
        print(f"{name}: {fault}")
        failed += 1
    print(f"{len(now) - failed} passed, {failed} failed")
    return 1 if failed else 0


def coefficients():
    """Interpolation at Chebyshev nodes, in 400 bits."""
    import mpmath as m
    mp = m.mp
    mp.prec = 400
    one = m.mpf(1)
    tiny = one / 10**25

    def interpolate(f, a, b, degree):
        a, b, n = m.mpf(a), m.mpf(b), degree + 1
        xs = [(a + b) / 2 + (b - a) / 2 * m.cos(m.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
        c = [f(x) for x in xs]
        for j in range(1, n):
            for i in range(n - 1, j - 1, -1):
                c[i] = (c[i] - c[i - 1]) / (xs[i] - xs[i - j])
        p = [c[n - 1]] + [m.mpf(0)] * (n - 1)
        for i in range(n - 2, -1, -1):
            p = [(p[k - 1] if k else 0) - xs[i] * p[k] + (c[i] if k == 0 else 0) for k in range(n)]
        return p

    def phi_tail(a):
        return m.erfc(a / m.sqrt(2)) / 2

    def density(a):
        return m.exp(-a * a / 2) / m.sqrt(2 * m.pi)

    def upper(p, a):  # Phi(-a) = p, from the start a
        for _ in range(80):
            h = m.log(phi_tail(a) / p) * phi_tail(a) / density(a)
            a += h
            if abs(h) < one / 10**50:
                break
        return a

    def slope_series(f, guess):
        z = m.findroot(f, m.mpf(guess))
        d1, d2 = m.diff(f, z), m.diff(f, z, 2) / 2
        return interpolate(lambda d: (f(z + d) / d - d1) / d if abs(d) > tiny else d2, -one / 16, one / 16, 8)

    def sigmoid(v):
        return 1 / (1 + m.exp(-v))

    def gelu_tanh_slope(x):
        c = 2 * m.sqrt(2 / m.pi)
        v, w = c * (x + x**3 * 44715 / 10**6), c * (x + 3 * x**3 * 44715 / 10**6)
        return sigmoid(v) * (1 + w * sigmoid(-v))

    half_log2, quarter = m.log(2) / 2 * m.mpf("1.0001"), m.mpf("0.7856") ** 2
    k, smin, smax = m.mpf("3.5"), m.sqrt(-m.log(m.mpf("0.401"))), m.sqrt(54 * m.log(2)) * m.mpf("1.0001")
    found = {
        "exp": interpolate(lambda r: (m.exp(r) - 1 - r - r * r / 2) / r**3 if abs(r) > tiny else one / 6 + r / 24, -half_log2, half_log2, 9),
        "sin": interpolate(lambda z: ((m.sin(m.sqrt(z)) - m.sqrt(z)) / m.sqrt(z)**3 + one / 6) / z, 0, quarter, 5),
        "cos": interpolate(lambda z: (m.cos(m.sqrt(z)) - 1 + z / 2) / z**2, 0, quarter, 5),
        "silu_grad": slope_series(lambda x: sigmoid(x) * (1 + x * sigmoid(-x)), "-1.2784645"),
        "gelu_tanh_grad": slope_series(gelu_tanh_slope, "-0.7524"),
        "gelu_grad": slope_series(lambda x: phi_tail(-x) + x * density(x), "-0.7517915"),
        "tail": interpolate(lambda t: phi_tail(k * (1 + t) / (1 - t)) * m.exp((k * (1 + t) / (1 - t))**2 / 2) * (k * (1 + t) / (1 - t) + k),
                            -1, (40 - k) / (40 + k), 26),
        "erf": interpolate(lambda z: (m.erf(m.sqrt(z)) / m.sqrt(z) - 2 / m.sqrt(m.pi)) / z, 0, m.mpf("0.2501"), 9),
        "pow": interpolate(lambda z: ((m.log((1 + m.sqrt(z)) / (1 - m.sqrt(z))) - 2 * m.sqrt(z)) / m.sqrt(z)**3 - m.mpf(2) / 3 - 2 * z / 5) / z**2,
                           0, m.mpf("0.02945"), 8),
        "normal": interpolate(lambda t: (upper(one / 2 - m.sqrt(t), m.sqrt(2 * m.pi * t)) / m.sqrt(t) - m.sqrt(2 * m.pi)) / t,
                              0, m.mpf("0.1001")**2, 9),
        "normal's start": interpolate(lambda t: upper(m.exp(-(4 * (1 + t) / (1 - t))**2), m.mpf("0.99") * 4 * (1 + t) / (1 - t)),
                                      (smin - 4) / (smin + 4), (smax - 4) / (smax + 4), 10),
    }
    with open(TEXT, encoding="utf-8") as file:
        text = file.read()
    failed = 0
    for name, p in found.items():
        missing = [float(c).hex() for c in p if "K(%s)" % float(c).hex() not in text]
        print(f"{name}: {len(p)} coefficients, {len(missing)} of them not in function64.h {' '.join(missing)}")
        failed += len(missing)
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(check())
    if sys.argv[1:] == ["--coefficients"]:
        sys.exit(coefficients())
    if len(sys.argv) == 3 and sys.argv[1] == "--record":
        record(sys.argv[2])
        sys.exit(0)
    sys.exit(__doc__)
