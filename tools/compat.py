#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The compat corpus, test/compat/RELEASE/: recordings (docs/replay.md) of every algorithm and method of a release, small files that
every later release must load and replay to the bit.

compat.py COMMAND --write   adds what this release's folder lacks (never changes a file: what was released stays)
compat.py COMMAND --check   replays every recording of every release, on every level there is; all must be IDENTICAL
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORPUS = os.path.join(ROOT, "test", "compat")
ROWS, FEATURES = 24, 4
SETTINGS = {"n_clusters": "3", "n_components": "2", "n_neighbors": "3", "max_iter": "20", "random_state": "7", "add_indicator": "true"}
RESULTS = ("predict", "transform", "inverse", "decision", "kneighbors", "score_samples")


def run(command, *arguments):
    return subprocess.run([command, *arguments], capture_output=True, text=True)


def table():
    """Numbers with many bits, of either sign, some of them 0; whole targets that follow from them."""
    rows = [[((i * 7919 + j * 104729 + i * i * 31) % 1009 - 504) / 97 if (i + 2 * j) % 9 else 0.0 for j in range(FEATURES)] for i in range(ROWS)]
    return rows, [round(2 * a - b + c * d / 4) for a, b, c, d in rows]


def write_npy(path, rows, kind):
    head = f"{{'descr': '<f{struct.calcsize(kind)}', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        file.write(b"".join(struct.pack(f"<{len(row)}{kind}", *row) for row in rows))


def make(command, algorithm, folder, out):
    rows, targets = table()
    words = algorithm["input"].split()
    if "positive" in words:
        rows = [[abs(x) for x in row] for row in rows]
    at = lambda name: os.path.join(folder, name)
    with open(at("y.csv"), "w", encoding="ascii") as file:
        file.write("y\n" + "\n".join(("high" if t > 2 else "low" if t < -2 else "middle") if "classes" in words else str(t) for t in targets) + "\n")
    named = {p["name"] for p in algorithm["parameters"] if not p["surface"]}
    settings = [word for name, value in SETTINGS.items() if name in named for word in ("--set", f"{name}={value}")]
    made = 0
    for kind, type_name in (("d", "f64"), ("f", "f32")):
        write_npy(at("x.npy"), rows, kind)
        target = ["--target", at("y.csv")] if {"classes", "target"} & set(words) else []
        done = run(command, "fit", algorithm["name"], "--data", at("x.npy"), *target, *settings, "--out", at("model"))
        if done.returncode:
            sys.exit(f"compat: {algorithm['name']}: {done.stderr}")
        for method in (m["name"] for m in algorithm["methods"] if m["name"].startswith(RESULTS)):
            path = os.path.join(out, f"{algorithm['name']}-{method}-{type_name}.recording")
            if os.path.exists(path):
                continue
            data = at("x.npy")
            if method.startswith("inverse"): # of what transform gave
                data = at("z.npy")
                run(command, "transform", at("model"), "--data", at("x.npy"), "--out", data)
            done = run(command, "record", at("model"), "--data", data, "--method", method, "--out", path)
            if done.returncode:
                sys.exit(f"compat: {algorithm['name']}.{method}: {done.stderr}")
            made += 1
    return made


def write(command):
    described = json.loads(run(command, "describe", "--json").stdout)
    out = os.path.join(CORPUS, described["release"])
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        made = sum(make(command, algorithm, folder, out) for algorithm in described["algorithms"])
    print(f"{made} recordings added to {os.path.relpath(out, ROOT)}")


def check(command):
    levels = [level["level"] for level in json.loads(run(command, "doctor", "--json").stdout)["levels"] if level["usable"]]
    faults, count = [], 0
    for release in sorted(os.listdir(CORPUS)):
        for name in sorted(os.listdir(os.path.join(CORPUS, release))):
            for number, level in enumerate(levels):
                done = run(command, "replay", os.path.join(CORPUS, release, name), "--isa", level, "--threads", str(1 + number % 3))
                count += 1
                if done.returncode:
                    faults.append(f"{release}/{name}, level {level}: {done.stdout[-300:]}{done.stderr[-300:]}")
    print(*faults, sep="\n" if faults else "")
    print(f"{count} replays, {len(faults)} faults")
    return bool(faults) or count < 30


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("--write", "--check"):
        sys.exit(__doc__)
    sys.exit(write(sys.argv[1]) if sys.argv[2] == "--write" else check(sys.argv[1]))
