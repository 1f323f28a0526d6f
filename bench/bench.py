#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make bench: every bench of this folder, one after the other, each beside its peers (bench/peers.sh fetches them into
--peers). Each prints a table with ours, the peer's and the ratio (bench/README.md says which); --report F writes all
tables to one text with the machine above them, --json F all numbers to one file.
"""
import argparse
import glob
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def plan(build, options):
    """The runs: (bench, what it is called in the report, command)."""
    def program(name):
        return os.path.join(build, "bench_" + name)

    def script(name, *arguments):
        return [sys.executable, os.path.join(ROOT, "bench", f"bench_{name}.py"), "--build", build, *arguments]

    peers = []
    if not options.names or "gemm" in options.names:
        listed = subprocess.run([os.path.join(ROOT, "bench", "peers.sh"), options.peers], stdout=subprocess.PIPE, text=True).stdout
        peers = [word for path in listed.split() for word in ("--peer", path)]
    many = sorted({1, options.threads})
    for threads in many:
        for dtype in ("float32", "float64"):
            yield "gemm", f"gemm, {dtype}, threads: {threads}", [
                program("gemm"), "--short", "--dtype", dtype, "--threads", str(threads), *peers]
    for threads in many:
        yield "streams", f"streams, threads: {threads}", [program("streams"), "--threads", str(threads)]
    yield "functions", "functions, every level", [program("functions")]
    for threads in many:
        yield "functions", f"functions, threads: {threads}", [program("functions"), "--threads", str(threads)]
    if options.device:
        yield "device", f"{options.device} beside our CPU device", [program("device"), "--device", options.device, *(["--processor"] if options.processor else [])]
    yield "numpy", "functions beside numpy", script("numpy", "--venv", options.peers, "--threads", str(options.threads))
    for path in sorted(glob.glob(os.path.join(ROOT, "bench", "bench_*.py"))):
        name = os.path.basename(path)[len("bench_"):-len(".py")]
        if name != "numpy":
            yield name, name, script(name)


def machine():
    """One line: processor, how many, load, system, commit, time."""
    model = platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), model)
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    return (f"{model}, {len(os.sched_getaffinity(0))} processors, load {os.getloadavg()[0]:.2f}, {platform.system()} {platform.release()}, "
            f"commit {commit or '?'}, {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--peers", default=os.path.join(tempfile.gettempdir(), "samebits-peers"), metavar="FOLDER", help="of the throw-away environment")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="beside the runs on one (default: all)")
    parser.add_argument("--device", metavar="D", help="bench it beside our CPU device, too: opencl:P.D, cuda:N, hip:N")
    parser.add_argument("--processor", action="store_true", help="a device that runs on this machine's cores, timed by the processor's time")
    parser.add_argument("--pairs", type=int, help="instead of each bench's own number")
    parser.add_argument("--report", metavar="F")
    parser.add_argument("--json", metavar="F")
    parser.add_argument("names", nargs="*", help="gemm, streams, functions, numpy, train ... (default: all)")
    options = parser.parse_args()
    runs = list(plan(os.path.abspath(options.build), options))
    for name in options.names:
        if name not in {run[0] for run in runs}:
            parser.error(f"no bench named {name}; there are: {', '.join(dict.fromkeys(run[0] for run in runs))}")
    environment = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    report, results, failed = open(options.report, "w") if options.report else None, {"machine": machine()}, 0

    def say(line):
        print(line, end="", flush=True)
        if report:
            report.write(line)
            report.flush()

    say(results["machine"] + "\n")
    for name, title, command in runs:
        if options.names and name not in options.names:
            continue
        say(f"\n== {title}\n")
        start = time.monotonic()
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            extra = ["--pairs", str(options.pairs)] if options.pairs else []
            process = subprocess.Popen([*command, *extra, "--json", file.name], env=environment, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
            for line in process.stdout:
                say(line)
            code = process.wait()
            failed += code != 0
            text = file.read()
            results[title] = json.loads(text) if text and code == 0 else None
        say(f"({time.monotonic() - start:.0f} s{f', FAILED with {code}' if code else ''})\n")
    if report:
        report.close()
    if options.json:
        with open(options.json + ".tmp", "w") as file:
            json.dump(results, file, indent=1)
        os.replace(options.json + ".tmp", options.json)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
