#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make bench: every bench of this folder, one after the other. Each prints a table with ours, the peer's and the ratio
peer / ours in the last column (above 1: ours is faster); with --json F all of it goes to one file as well.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--json", metavar="F")
    parser.add_argument("names", nargs="*", help="gemm, train, ... (default: all)")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    benches = {}
    for path in sorted(glob.glob(os.path.join(build, "bench_*")) + glob.glob(os.path.join(ROOT, "bench", "bench_*.py"))):
        name = os.path.splitext(os.path.basename(path))[0][len("bench_"):]
        if path.endswith(".py"):
            benches[name] = [sys.executable, path, "--build", build]
        elif os.access(path, os.X_OK) and os.path.isfile(path):
            benches.setdefault(name, [path])
    chosen = options.names or list(benches)
    for name in chosen:
        if name not in benches:
            parser.error(f"no bench named {name}; there are: {', '.join(benches)}")
    environment = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    results, failed = {}, 0
    for name in chosen:
        print(f"== {name}", flush=True)
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            code = subprocess.run(benches[name] + ["--json", file.name], env=environment).returncode
            failed += code != 0
            text = file.read()
            results[name] = json.loads(text) if text and code == 0 else None
    if options.json:
        with open(options.json + ".tmp", "w") as file:
            json.dump(results, file, indent=1)
        os.replace(options.json + ".tmp", options.json)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
