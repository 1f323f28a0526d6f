#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long an OpenCL driver compiles each kernel, for the lanes of its row.

opencl_times.py BUILD [WORD...] [--device 0.0] [--limit SECONDS] [--stop SECONDS]

Kernels whose names hold one of the words, else all, of BUILD/kernels/*.opencl. Prints seconds of processor time and name, slowest last;
ends with 1 if one took longer than --limit; gives one up after --stop. Nothing is taken from a cache. (PoCL compiles a kernel
when it is launched, and copies what follows a barrier in a branch: a few such take minutes. WHEN of the dialect is for that.)"""
import argparse
import concurrent.futures
import ctypes
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM_BUILD_LOG, ALL_DEVICES = 0x1183, 0xFFFFFFFF
OPTIONS = b"-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"


def kernels():
    """{file: [(kernel, lanes, kinds of arguments)]} of all rows."""
    found = {}
    for rows in sorted((ROOT / "src/kernels").glob("*.def")):
        for name, lanes, kinds in re.findall(r"^SBI_KERNEL\((\w+), (\d+), \d+, ([^)]*)\)", rows.read_text(), re.M):
            found.setdefault(rows.stem, []).append((name, int(lanes), re.split(r",\s*", kinds)))
    return found


def check(code, what):
    if code:
        sys.exit(f"{what} failed with OpenCL's code {code}")


def compile_here(path, place, kernels_of):
    """Builds the text with a way out at the head of each kernel, launches each, and prints the seconds that takes."""
    cl, code = ctypes.CDLL("libOpenCL.so.1"), ctypes.c_int32()
    for name in ("clCreateContext", "clCreateProgramWithSource", "clCreateKernel", "clCreateCommandQueue", "clCreateBuffer"):
        getattr(cl, name).restype = ctypes.c_void_p
    text = re.sub(r"(__kernel void [^)]*)\) \{", r"\1, int never) { if (never) return;", pathlib.Path(path).read_text()).encode()
    platforms, devices, count = (ctypes.c_void_p * 32)(), (ctypes.c_void_p * 32)(), ctypes.c_uint32()
    cl.clGetPlatformIDs(32, platforms, ctypes.byref(count))
    cl.clGetDeviceIDs(ctypes.c_void_p(platforms[place[0]]), ctypes.c_uint64(ALL_DEVICES), 32, devices, ctypes.byref(count))
    device = ctypes.c_void_p(devices[place[1]])
    context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(code)))
    queue = ctypes.c_void_p(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), ctypes.byref(code)))
    source, size = ctypes.c_char_p(text), ctypes.c_size_t(len(text))
    program = ctypes.c_void_p(cl.clCreateProgramWithSource(context, 1, ctypes.byref(source), ctypes.byref(size), ctypes.byref(code)))
    if cl.clBuildProgram(program, 1, ctypes.byref(device), OPTIONS, None, None):
        log = ctypes.create_string_buffer(4000)
        cl.clGetProgramBuildInfo(program, device, PROGRAM_BUILD_LOG, ctypes.c_size_t(4000), log, None)
        sys.exit(log.value.decode(errors="replace"))
    for name, lanes, kinds in kernels_of:
        kernel = ctypes.c_void_p(cl.clCreateKernel(program, name.encode(), ctypes.byref(code)))
        check(code.value, "clCreateKernel")
        sizes = [(8, 1) if k[0] == "c" or k[-1] == "p" else (int(k[1:]) // 8, 0) for k in kinds]
        for i, (bytes_, pointer) in enumerate(sizes):
            check(cl.clSetKernelArg(kernel, i, ctypes.c_size_t(bytes_), None if pointer else ctypes.byref(ctypes.c_uint64(0))), "an argument")
        places = sum(pointer for _, pointer in sizes)
        for i in range(places):
            check(cl.clSetKernelArg(kernel, len(kinds) + i, ctypes.c_size_t(8), ctypes.byref(ctypes.c_uint64(0))), "a place")
        check(cl.clSetKernelArg(kernel, len(kinds) + places, ctypes.c_size_t(4), ctypes.byref(ctypes.c_int32(1))), "the last argument")
        start, size = time.process_time(), ctypes.c_size_t(lanes)
        check(cl.clEnqueueNDRangeKernel(queue, kernel, 1, None, ctypes.byref(size), ctypes.byref(size), 0, None, None), "a launch")
        check(cl.clFinish(queue), "a launch")
        print(f"{time.process_time() - start:.2f} {name}", flush=True)


def measure(build, file, rows, place, stop):
    """[(seconds, kernel, note)] of a file's kernels, by a process that is started anew where a kernel is given up."""
    done, rows = [], list(rows)
    while rows:
        with tempfile.TemporaryDirectory() as folder:
            words = [f"{name}:{lanes}:{':'.join(kinds)}" for name, lanes, kinds in rows]
            run = subprocess.Popen([sys.executable, __file__, str(build / "kernels" / f"{file}.opencl"), *words, "--compile", "--device", place],
                                   env=dict(os.environ, POCL_CACHE_DIR=folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while rows and select.select([run.stdout], [], [], stop)[0]:
                line = run.stdout.readline().split()
                if not line:
                    break
                done.append((float(line[0]), line[1].decode(), ""))
                rows.pop(0)
            if rows:
                note = "given up" if run.poll() is None else run.stderr.read().decode(errors="replace")[-300:] or f"exit {run.returncode}"
                run.kill()
                done.append((float(stop), rows.pop(0)[0], note))
            run.communicate()
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--device", default="0.0")
    parser.add_argument("--limit", type=float)
    parser.add_argument("--stop", type=float, default=600)
    parser.add_argument("--compile", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compile:
        rows = [word.split(":") for word in options.words]
        compile_here(options.build, [int(n) for n in options.device.split(".")], [(r[0], int(r[1]), r[2:]) for r in rows])
        return 0
    chosen = {file: [r for r in rows if not options.words or any(w in r[0] for w in options.words)] for file, rows in kernels().items()}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        calls = [pool.submit(measure, options.build, file, rows, options.device, options.stop) for file, rows in chosen.items()]
    done = sorted(row for call in calls for row in call.result())
    for seconds, kernel, note in done:
        print(f"{seconds:8.2f} {kernel} {note}".rstrip())
    print(f"{len(done)} kernels, {sum(d[0] for d in done):.0f} s")
    return int(any(d[2] or (options.limit and d[0] > options.limit) for d in done))


if __name__ == "__main__":
    sys.exit(main())
