#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Linear algebra beside scipy's LAPACK: seconds of ours and of scipy on as many threads, the ratio scipy / ours (above 1: ours is
faster), and the relative residual of each answer. Paired runs by the clock, the medians and the best of each.

scipy is looked for in this Python, then in --venv; if it is in neither, a throw-away environment is made there.
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from peer_python import python_with

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
POSITIVE = 1  # SB_POSITIVE_DEFINITE


class ContextOptions(ctypes.Structure):
    """The leading fields of sb_context_options; the rest takes its defaults."""
    _fields_ = [("size", ctypes.c_size_t), ("device", ctypes.c_char_p), ("isa", ctypes.c_char_p), ("threads", ctypes.c_int)]


class SolveOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("kind", ctypes.c_int), ("transpose", ctypes.c_int), ("unit_diagonal", ctypes.c_int)]


class Ours:
    def __init__(self, library, threads):
        self.library, self.context, self.kept = library, ctypes.c_void_p(), []
        options = ContextOptions(size=ctypes.sizeof(ContextOptions), threads=threads)
        self.call("sb_context_new", ctypes.byref(options), ctypes.byref(self.context))

    def call(self, name, *arguments):
        error = ctypes.create_string_buffer(1024)
        if getattr(self.library, name)(*arguments, error):
            sys.exit(f"{name}: {error.raw[60:].split(bytes(1))[0].decode()}")

    def array(self, values):
        """An array over the memory of a numpy array."""
        out, shape = ctypes.c_void_p(), (ctypes.c_int64 * max(1, values.ndim))(*values.shape)
        self.call("sb_array_wrap", self.context, 1 if values.itemsize == 4 else 2, values.ndim, shape,
                  values.ctypes.data_as(ctypes.c_void_p), ctypes.byref(out))
        self.kept.append(values)
        return out

    def run(self, name, *arrays, options=()):
        self.call(name, self.context, *[ctypes.byref(o) if o else None for o in options], *arrays)


def cases(numpy, scipy, ours, name, shape, dtype):
    """(our call, their call, the residual of ours, of theirs), each result a tuple of numpy arrays."""
    random, m, n = numpy.random.default_rng(3), *shape
    x = random.standard_normal((m, n)).astype(dtype)
    made = {}

    def new(*size):
        return numpy.zeros(size, dtype)

    def call(function, *out, inputs, options=()):
        made[function] = [ours.array(v) for v in (*inputs, *out)]
        return lambda: (ours.run(function, *made[function], options=options), out)[1]

    def off(a, b):
        return float(numpy.abs(a.astype("f8") - b.astype("f8")).max() / numpy.abs(a).max())
    if name in ("cholesky", "solve", "eigh"):
        a = numpy.ascontiguousarray((x @ x.T if name != "eigh" else (x + x.T) / 2).astype(dtype))
        if name != "eigh":
            a[numpy.arange(m), numpy.arange(m)] += 1
    if name == "cholesky":
        return (call("sb_cholesky", new(m, m), inputs=[a]), lambda: (scipy.linalg.cholesky(a, lower=True, check_finite=False),),
                lambda r: off(a, r[0].astype("f8") @ r[0].T.astype("f8")))
    if name == "solve":
        b = random.standard_normal((m, 16)).astype(dtype)
        kind = SolveOptions(ctypes.sizeof(SolveOptions), POSITIVE, 0, 0)
        return (call("sb_solve", new(m, 16), inputs=[a, b], options=[kind]),
                lambda: (scipy.linalg.solve(a, b, assume_a="pos", check_finite=False),), lambda r: off(b, a.astype("f8") @ r[0]))
    if name == "eigh":
        return (call("sb_eigh", new(m), new(m, m), inputs=[a]), lambda: scipy.linalg.eigh(a, check_finite=False),
                lambda r: off(a, (r[1].astype("f8") * r[0]) @ r[1].T.astype("f8")))
    if name == "qr":
        return (call("sb_qr", new(m, n), new(n, n), inputs=[x]), lambda: scipy.linalg.qr(x, mode="economic", check_finite=False),
                lambda r: off(x, r[0].astype("f8") @ r[1]))
    if name == "svd":
        return (call("sb_svd", new(m, n), new(n), new(n, n), inputs=[x]), lambda: scipy.linalg.svd(x, full_matrices=False, check_finite=False),
                lambda r: off(x, (r[0].astype("f8") * r[1]) @ r[2]))
    sys.exit(f"no case {name}")


def measure(options, pair):
    ours, theirs, residual = pair
    times, answers = ([], []), [None, None]
    for _ in range(options.pairs + 1):
        for i, function in enumerate((ours, theirs)):
            start = time.perf_counter()
            answers[i] = function()
            times[i].append(time.perf_counter() - start)
    return [statistics.median(t[1:]) for t in times] + [min(t) for t in times] + [residual(a) for a in answers]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--venv", default=os.path.join(tempfile.gettempdir(), "samebits-scipy"))
    parser.add_argument("--only", action="append", metavar="CASE")
    parser.add_argument("--size", type=int, action="append", metavar="N", help="instead of 220 and 2000")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", metavar="F")
    options = parser.parse_args()
    python = python_with(options.venv, "scipy")
    if python != sys.executable and os.environ.get("BENCH_SCIPY") != python:
        os.environ["BENCH_SCIPY"] = python
        os.environ["OPENBLAS_NUM_THREADS"] = str(options.threads)
        os.execv(python, [python, *sys.argv])
    import numpy
    import scipy
    import scipy.linalg
    ours = Ours(ctypes.CDLL(os.path.join(options.build, "libsamebits.so")), options.threads)
    results = []
    print(f"scipy {scipy.__version__}, numpy {numpy.__version__}, {options.threads} threads; seconds")
    print(f"{'case':10}{'shape':>12}{'type':>9}{'ours':>10}{'scipy':>10}{'ratio':>8}{'best':>8}{'off':>10}{'theirs':>10}")
    for name in CASES:
        if options.only and name not in options.only:
            continue
        for dtype in ("float32", "float64"):
            for n in options.size or (220, 2000):
                shape = CASES[name](n)
                a, b, best_a, best_b, off, other = measure(options, cases(numpy, scipy, ours, name, shape, dtype))
                results.append({"case": name, "shape": shape, "dtype": dtype, "ours": a, "scipy": b, "off": off, "their_off": other})
                print(f"{name:10}{'x'.join(map(str, shape)):>12}{dtype:>9}{a:10.4f}{b:10.4f}{b / a:8.2f}{best_b / best_a:8.2f}{off:10.1e}{other:10.1e}",
                      flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
    return 0


CASES = {"cholesky": lambda n: (n, n), "solve": lambda n: (n, n), "eigh": lambda n: (n, n), "qr": lambda n: (4 * n, n),
         "svd": lambda n: (n, n)}

if __name__ == "__main__":
    sys.exit(main())
