#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The record of the exhaustive proofs, docs/proofs.tsv, and the golden hashes, references/functions-1.tsv.

  proofs.py --check            every function's text is the one that was proved, at each of the levels
  proofs.py --record FILE ...  takes the lines of `samebits prove NAME --json` (all 2^32 inputs, or fewer for a hash only); a
                               line of --hash-only records a level that gives the outputs once proved, or renews its record

A proof holds for the sections of src/kernels/function.h that a function uses, and at v4 for those of tuned/functions.h, too; at
soft64 for those of pairs.h and for pair_constants.h; comments and spaces aside.
"""
import hashlib
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXT = os.path.join(ROOT, "src/kernels/function.h")
TUNED = os.path.join(ROOT, "src/kernels/tuned/functions.h")
PAIRS = os.path.join(ROOT, "src/kernels/pairs.h")
PAIR_CONSTANTS = os.path.join(ROOT, "src/kernels/pair_constants.h")
LEVELS = ["v4", "v3", "v1", "plain", "reverse", "soft64"] # those recorded, the first of them judged
PROOFS = os.path.join(ROOT, "docs/proofs.tsv")
HASHES = os.path.join(ROOT, "references/functions-1.tsv")
USES = {
    "exp": ["exp"], "log": ["log"], "sin": ["sin, cos", "sin"], "cos": ["sin, cos", "cos"], "rsqrt": ["rsqrt"],
    "sigmoid": ["exp", "sigmoid"], "silu": ["exp", "sigmoid", "silu"], "silu_grad": ["exp", "sigmoid", "silu_grad"],
    "normal": ["log", "inverse normal"], "tanh": ["exp", "expm1", "tanh"], "expm1": ["exp", "expm1"], "log1p": ["log", "log1p"],
    "exp2": ["exp2"], "log2": ["log", "log2, log10", "log2"], "log10": ["log", "log2, log10", "log10"],
    "erf": ["exp", "erf, erfc", "erf"], "erfc": ["exp", "erf, erfc", "erfc"],
    "softplus": ["exp", "log", "sigmoid", "softplus"], "log_sigmoid": ["exp", "log", "sigmoid", "softplus", "log_sigmoid"],
    "gelu": ["exp", "sigmoid", "gelu, gelu_grad", "gelu"], "gelu_grad": ["exp", "gelu, gelu_grad", "gelu_grad"],
    "gelu_tanh": ["exp", "sigmoid", "gelu_tanh, gelu_tanh_grad", "gelu_tanh"],
    "gelu_tanh_grad": ["exp", "gelu_tanh, gelu_tanh_grad", "gelu_tanh_grad"],
}
USES_TUNED = {
    "exp": ["powers", "exp"], "exp2": ["powers", "exp2"], "expm1": ["powers", "expm1, tanh", "expm1"],
    "tanh": ["powers", "expm1, tanh", "tanh"], "sigmoid": ["powers", "sigmoid, silu", "sigmoid"],
    "silu": ["powers", "sigmoid, silu", "silu"], "log": ["logarithms", "log"], "log2": ["logarithms", "log2"],
    "log10": ["logarithms", "log10"], "sin": ["sin, cos"], "cos": ["sin, cos"], "silu_grad": ["powers", "silu_grad"],
    "log1p": ["logarithms", "log", "log1p, softplus, log_sigmoid", "log1p"],
    "softplus": ["powers", "logarithms", "log", "log1p, softplus, log_sigmoid", "softplus"],
    "log_sigmoid": ["powers", "logarithms", "log", "log1p, softplus, log_sigmoid", "log_sigmoid"],
}
USES_PAIRS = {
    "exp": ["exp"], "log": ["log"], "sin": ["sin, cos", "sin"], "cos": ["sin, cos", "cos"], "rsqrt": ["rsqrt"],
    "sigmoid": ["exp", "gates", "sigmoid"], "silu": ["exp", "gates", "silu"], "silu_grad": ["exp", "gates", "silu_grad"],
    "normal": ["log", "inverse normal"], "tanh": ["exp", "tanh"], "expm1": ["exp", "expm1"], "log1p": ["log", "log1p"],
    "exp2": ["exp", "exp2"], "log2": ["log", "log2"], "log10": ["log", "log10"],
    "erf": ["exp", "error function", "erf"], "erfc": ["exp", "error function", "erfc"],
    "softplus": ["exp", "log", "softplus, log_sigmoid", "softplus"], "log_sigmoid": ["exp", "log", "softplus, log_sigmoid", "log_sigmoid"],
    "gelu": ["exp", "error function", "gelu, gelu_grad", "gelu"],
    "gelu_grad": ["exp", "gates", "error function", "gelu, gelu_grad", "gelu_grad"],
    "gelu_tanh": ["exp", "gates", "gelu_tanh, gelu_tanh_grad", "gelu_tanh"],
    "gelu_tanh_grad": ["exp", "gates", "gelu_tanh, gelu_tanh_grad", "gelu_tanh_grad"],
}
PROOFS_HEAD = """# Exhaustive proofs: every one of the 2^32 inputs ran through the kernel and was judged (samebits prove, cli/prove_judge.c); at
# levels where 0 are checked with MPFR every output was compared with those judged, by their hash. `text` is the SHA-256 of the parts of
# src/kernels/function.h, at v4 of tuned/functions.h, too, at soft64 of pairs.h and pair_constants.h
# instead, that the function uses; tools/proofs.py --check fails where it has changed.
# Seconds are by the clock, on a machine shared with others.
# function\tinputs\tchecked with MPFR\tmisrounded\tseconds\tlevel\tthreads\tsha256 of all outputs\ttext
"""
HASHES_HEAD = "# SHA-256 over all outputs (little-endian, in input order) of each function: name, number of inputs, digest.\n"


def sections_of(path):
    """The text of each section of a kernel header, by its title; "" is what stands above the first."""
    with open(path, encoding="utf-8") as file:
        parts = re.split(r"^// -{20,} (.+)\n", file.read(), flags=re.M)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2]))


def digests(sections, uses):
    """The SHA-256 of the sections that each function uses, comments and spaces aside."""
    bare = {name: " ".join(re.sub(r"//[^\n]*|\s+", " ", text).replace("#endif", "").split()) for name, text in sections.items()}
    return {name: hashlib.sha256("\n".join(bare[s] for s in ["", *used]).encode()).hexdigest() for name, used in uses.items()}


def texts():
    """The digest of what stands now, by function and level."""
    plain, tuned = digests(sections_of(TEXT), USES), digests(sections_of(TUNED), USES_TUNED)
    both = {name: hashlib.sha256((plain[name] + tuned[name]).encode()).hexdigest() for name in tuned}
    sections = sections_of(PAIRS) | {"constants": sections_of(PAIR_CONSTANTS)[""]}
    pairs = digests(sections, {name: ["pairs", "constants", *used] for name, used in USES_PAIRS.items()})
    at = {"v4": plain | both, "soft64": pairs}
    return {(name, level): at.get(level, plain)[name] for level in LEVELS for name in plain}


def rows(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]


def write(path, head, table):
    with open(path, "w", encoding="utf-8") as file:
        file.write(head)
        file.writelines("\t".join(row) + "\n" for row in table)


def record(files):
    now, order = texts(), list(USES)
    proofs = {(row[0], row[5]): row for row in rows(PROOFS)}
    hashes = {(row[0], int(row[1])): row[2] for row in rows(HASHES)}
    for path in files:
        with open(path, encoding="utf-8") as file:
            for line in filter(str.strip, file):
                run = json.loads(line)
                name, key = run["function"], (run["function"], run["isa"])
                if run["judged"] and (run["misrounded"] or run["undecided"] or not run["mpfr"]):
                    sys.exit(f"{name}: not proved: {line}")
                if run["isa"] not in LEVELS:
                    sys.exit(f"{name}: the levels recorded are {' '.join(LEVELS)}: {line}")
                if not run["judged"] and (run["inputs"] != 2**32 or (name, LEVELS[0]) not in proofs):
                    sys.exit(f"{name}: nothing judged to compare with: {line}")
                if hashes.setdefault((name, run["inputs"]), run["sha256"]) != run["sha256"]:
                    sys.exit(f"{name}, {run['inputs']} inputs: another hash than the recorded one; a value has moved")
                if run["inputs"] == 2**32:
                    judged = [str(run["checked_with_mpfr"]), str(run["misrounded"])] if run["judged"] else ["0", "0"]
                    if key in proofs and not run["judged"]:
                        judged = proofs[key][2:4]  # (the same outputs as those judged then)
                    proofs[key] = [name, str(run["inputs"]), *judged, str(run["seconds"]), run["isa"], str(run["threads"]),
                                   run["sha256"], now[key]]
    write(PROOFS, PROOFS_HEAD, [proofs[name, level] for level in LEVELS for name in order if (name, level) in proofs])
    write(HASHES, HASHES_HEAD, [[name, str(count), digest] for (name, count), digest in
                                sorted(hashes.items(), key=lambda item: (order.index(item[0][0]), -item[0][1]))])


def check():
    now, failed, missing = texts(), 0, 0
    proofs = {(row[0], row[5]): row for row in rows(PROOFS)}
    hashes = {row[0]: row[2] for row in rows(HASHES) if int(row[1]) == 2**32}
    for (name, level), text in now.items():
        row = proofs.get((name, level))
        if row is None and level == "soft64":  # (docs/open.md: not all of them have run through)
            missing += 1
            continue
        if row is None:
            fault = "no proof is recorded"
        elif level == LEVELS[0] and row[2] == "0":
            fault = "nothing is judged"
        elif row[8] != text:
            fault = "its text is not the one that was proved; run samebits prove and record it"
        elif row[1] != str(2**32) or row[3] != "0" or hashes.get(name) != row[7]:
            fault = "its proof and its golden hash part"
        else:
            continue
        print(f"{name} at {level}: {fault}")
        failed += 1
    print(f"{len(now) - failed - missing} passed, {failed} failed, {missing} not proved yet (soft64)")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(check())
    if len(sys.argv) > 2 and sys.argv[1] == "--record":
        record(sys.argv[2:])
        sys.exit(0)
    sys.exit(__doc__)
