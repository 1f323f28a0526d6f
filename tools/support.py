#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The support matrix: docs/support.md, made of the rows of docs/support.tsv and of what the repository says of each: the levels and
texts that the build names, the audit's targets, the grid's targets and those that CI requires, and the evidence documents, every
cell of which must still be the golden value.

  support.py --write      writes the page
  support.py --check      fails unless the page is what this writes
"""
import argparse
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "test"), os.path.join(ROOT, "tools")]
import audit  # noqa: E402
import grid  # noqa: E402
import onefile  # noqa: E402

TARGETS = list(audit.targets())
COLUMNS = ("kind", "release", "built", "wheel", "audit", "ci", "evidence")
EMULATED = {*grid.CROSS, "one-file"}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def table():
    rows = [line.split("\t") for line in read("docs", "support.tsv").splitlines() if line and not line.startswith("#")]
    for row in rows:
        if len(row) != len(COLUMNS):
            sys.exit(f"docs/support.tsv: {len(row)} fields, not {len(COLUMNS)}: {row}")
    return [dict(zip(COLUMNS, row)) for row in rows]


def built(rule):
    word, _, what = rule.partition(":")
    sources = read("src", "kernels", "sources.cmake")
    if word == "no":
        return "not built:" + what
    if word == "level" and f"set(SBI_LEVEL_FLAGS_{what} " in sources:
        return "yes" if what != "soft64" else "by an option (SAMEBITS_LEVELS)"
    if word == "cross" and os.path.exists(os.path.join(ROOT, "cmake", what + ".cmake")):
        return "yes, by a cross compiler"
    if word == "onefile" and any("Cortex-M4" in name for name in onefile.TARGETS):
        return "yes"
    if word == "text" and f"sbi_embed_kernels({what} " in sources:
        return "yes: its driver compiles the text"
    target = next((t for t in TARGETS if word == "target" and t.name == what), None)
    if target and f"sbi_embed_kernels({target.dialect} " in sources:
        asked = "option(SAMEBITS_GPU_CODE" in read("src", "device", "sources.cmake")
        return {"cuda": "yes: PTX, and a cubin where ptxas is,", "hip": "yes: a code object"}[target.dialect] * asked + " where asked for (SAMEBITS_GPU_CODE); else compiled at run time by " + {
            "cuda": "NVRTC", "hip": "hiprtc"}[target.dialect]
    sys.exit(f"docs/support.tsv: nothing here builds {rule}")


def required():
    return re.search(r'SAMEBITS_REQUIRED="([^"]*)"', read(".ci", "run"))[1].split()


def audited(words):
    if words == "-":
        return "values only"
    if words == "none":
        return "not built"
    if words == "driver":
        return "no: a driver makes the code"
    known = {t.name for t in TARGETS}
    for word in words.split():
        if word not in known:
            sys.exit(f"docs/support.tsv: the audit has no target {word}")
    in_ci = [word for word in words.split() if word in required()]
    rest = [word for word in words.split() if word not in required()]
    return "; ".join(([", ".join(in_ci) + " in CI"] if in_ci else []) + ([", ".join(rest) + " where its tools are"] if rest else []))


def refusal():
    """The operation with which llvmpipe must be refused: what test/test_devices.py asks for."""
    text = read("test", "test_devices.py")
    found = re.search(r'startswith\("llvmpipe"\)', text) and re.search(r'does not conform and is refused" in told\.stderr and "([\w ]+) of" in told\.stderr', text)
    if not found:
        sys.exit("test/test_devices.py no longer wants llvmpipe refused")
    return found[1]


def in_ci(words):
    if words == "-":
        return "not run"
    if words == "refused":
        return f"must be refused by its probes: {refusal()}"
    targets = {*(name for name, *_ in grid.TARGETS), *grid.CROSS, "opencl", "one-file"}
    for word in words.split():
        if word not in required():
            sys.exit(f"docs/support.tsv: CI does not require {word}")
        if not any(word in re.split(r"[ ,]+", target) for target in targets):
            sys.exit(f"docs/support.tsv: the grid has no target {word}")
    return "run, emulated" if set(words.split()) <= EMULATED else "run"


def on_hardware(name, golden, runs):
    folder, said = os.path.join(ROOT, "references", "evidence"), []
    for file in sorted(os.listdir(folder)):
        if not re.fullmatch(re.escape(name) + r"(-.*)?\.json", file):
            continue
        document = json.loads(read("references", "evidence", file))
        cells, machine = document["cells"], document["machine"]
        for cell in cells:
            where = (cell["lane"], cell["fixture"], cell["cell"])
            if cell["state"] != "IDENTICAL" or golden.get(where) != cell["sha256"]:
                sys.exit(f"references/evidence/{file}: {'/'.join(where)} is not the golden value: verify again, write it anew")
        if not cells or not document["date"]:
            sys.exit(f"references/evidence/{file}: no cells, or no date")
        product = machine["cpu"] if machine["device"] == "cpu" else machine["device"]
        said.append(f"[{document['date']}](../references/evidence/{file}): {len(cells)} cells, {product}")
    return "; ".join(said) or ("in CI, no document" if runs else "not run")


def page():
    golden = {}
    for line in read("references", "contract-1.tsv").splitlines():
        if line and not line.startswith("#"):
            lane, fixture, cell, digest = line.split("\t")[:4]
            golden[lane, fixture, cell] = digest
    lines = ["# Where samebits runs", "",
             "Written by `tools/support.py --write`; `docs/support.tsv` says where each cell is looked up, a test holds this page to it. A cell",
             "that says \"not run\" was not: nothing is claimed there. Evidence documents hold cells equal to the golden values",
             "(`docs/evidence.md`); `samebits doctor` says what your machine's devices do.", "",
             "| kind | release | built | in the wheel (Linux x86-64) | machine code audited | in CI | on hardware |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for row in table():
        ci = in_ci(row["ci"])
        lines.append("| " + " | ".join([row["kind"], row["release"], built(row["built"]), row["wheel"], audited(row["audit"]), ci,
                                       on_hardware(row["evidence"], golden, ci == "run")]) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text, path = page(), os.path.join(ROOT, "docs", "support.md")
    if options.write:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    elif not options.check:
        print(text, end="")
    elif not os.path.exists(path) or read("docs", "support.md") != text:
        print("docs/support.md is not what tools/support.py writes: run it with --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
