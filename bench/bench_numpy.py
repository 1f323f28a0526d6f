#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unary functions of float32 beside numpy, in the second cache (2^16 elements) and beyond the caches (2^26): nanoseconds an
element of ours on one thread and on all, of numpy (one call of numpy uses one thread, whatever the machine has), and the
ratios numpy / ours (above 1: ours is faster). Paired runs by the clock, medians. numpy's functions are good to a few ulp.

numpy is looked for in this Python, then in --venv; if it is in neither, a throw-away environment is made there.
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
F32 = 1  # SB_F32
KINDS = {"exp": (1, -10, 10), "log": (2, 0.001, 1000), "sin": (3, -10, 10), "cos": (4, -10, 10), "tanh": (13, -5, 5),
         "expm1": (14, -5, 5), "log1p": (15, 0, 100), "exp2": (16, -10, 10), "log2": (17, 0.001, 1000), "log10": (18, 0.001, 1000)}


class Options(ctypes.Structure):
    """The leading fields of sb_context_options; the rest takes its defaults."""
    _fields_ = [("size", ctypes.c_size_t), ("device", ctypes.c_char_p), ("isa", ctypes.c_char_p), ("threads", ctypes.c_int)]


class Ours:
    """A context of some threads and two arrays of it."""

    def __init__(self, library, threads, values):
        self.library, self.context = library, ctypes.c_void_p()
        self.x, self.y = ctypes.c_void_p(), ctypes.c_void_p()
        shape = (ctypes.c_int64 * 1)(values.size)
        options = Options(size=ctypes.sizeof(Options), threads=threads)
        self.call("sb_context_new", ctypes.byref(options), ctypes.byref(self.context))
        for array in (self.x, self.y):
            self.call("sb_array_new", self.context, F32, 1, shape, ctypes.byref(array))
        self.call("sb_array_write", self.x, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes))

    def call(self, name, *arguments):
        if getattr(self.library, name)(*arguments, None):
            sys.exit(f"{name} failed")

    def seconds(self, kind, rounds):
        start = time.perf_counter()
        for _ in range(rounds):
            self.call("sb_unary", self.context, kind, self.x, self.y)
        return time.perf_counter() - start

    def free(self):
        self.library.sb_array_free(self.x)
        self.library.sb_array_free(self.y)
        self.library.sb_context_free(self.context)


def measure(numpy, library, name, size, options):
    """The median seconds of ours on one thread, on all, and of numpy, for one call."""
    kind, low, high = KINDS[name]
    x = numpy.random.default_rng(1).random(size, dtype=numpy.float32) * numpy.float32(high - low) + numpy.float32(low)
    y, function, rounds = numpy.empty_like(x), getattr(numpy, name), max(1, 2**22 // size)
    one, every = Ours(library, 1, x), Ours(library, options.threads, x)
    times = ([], [], [])
    for _ in range(options.pairs + 1):
        times[0].append(one.seconds(kind, rounds))
        times[1].append(every.seconds(kind, rounds))
        start = time.perf_counter()
        for _ in range(rounds):
            function(x, out=y)
        times[2].append(time.perf_counter() - start)
    one.free()
    every.free()
    return [statistics.median(t[1:]) / rounds for t in times]  # (the first pair warms up)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--venv", default=os.path.join(tempfile.gettempdir(), "samebits-numpy"))
    parser.add_argument("--size", type=int, action="append", metavar="ELEMENTS", help="instead of 2^16 and 2^26")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", metavar="F")
    options = parser.parse_args()
    python = python_with(options.venv, "numpy")
    if python != sys.executable and os.environ.get("BENCH_NUMPY") != python:
        os.environ["BENCH_NUMPY"] = python
        os.execv(python, [python, *sys.argv])
    import numpy
    library = ctypes.CDLL(os.path.join(options.build, "libsamebits.so"))
    results = []
    print(f"numpy {numpy.__version__} (one thread), ns an element")
    print(f"{'function':10}{'elements':>10}{'ours, 1':>10}{f'ours, {options.threads}':>10}{'numpy':>10}{'ratio, 1':>10}{f'ratio, {options.threads}':>10}")
    for name in KINDS:
        for size in options.size or (2**16, 2**26):
            a, b, peer = (t / size * 1e9 for t in measure(numpy, library, name, size, options))
            results.append({"function": name, "elements": size, "ours_1": a, "ours": b, "threads": options.threads, "numpy": peer})
            print(f"{name:10}{size:10}{a:10.3f}{b:10.3f}{peer:10.3f}{peer / a:10.2f}{peer / b:10.2f}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
