#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every exported function (docs/symbols.txt) is met with hostile arguments: by a row of api_rows.def, else by the test that
other_functions.tsv names. And every fault of docs/cases.md names tests that are there, or the family of estimators, yet to
come, that it waits for: "issue of trees", and nothing vaguer.

test_complete.py ROOT
"""
import os
import re
import sys

ROOT = sys.argv[1]
faults = []


def text(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


exported = set(text("docs", "symbols.txt").split())
api = text("test", "api_rows.def") + "".join(  # (rows may call a function of test_api.c that calls on)
    line for line in text("test", "test_api.c").splitlines(True) if re.match(r"\s*return sb_", line))
in_rows = set(re.findall(r"\b(sb_\w+) *\(", api)) & exported
others = {}
for line in text("test", "other_functions.tsv").splitlines():
    if line.startswith("sb_"):
        name, test, why = line.split("\t")
        others[name] = test
        if name not in exported:
            faults.append(f"other_functions.tsv: {name} is not exported")
        if name in in_rows:
            faults.append(f"other_functions.tsv: {name} has a row in api_rows.def")
        if not re.search(rf"\b{name} *\(", text("test", test)):
            faults.append(f"other_functions.tsv: {name} is not called in {test}")
for name in sorted(exported - in_rows - others.keys()):
    faults.append(f"{name} has no row in api_rows.def and none in other_functions.tsv")

families = ["clustering", "decompositions", "forests", "gradient boosting", "linear models", "manifold learning", "neighbors",
            "the preprocessing estimators", "trees"]
cases = [line for line in text("docs", "cases.md").splitlines() if re.match(r"\| \*\*", line)]
for line in cases:
    held = line.split("|")[2]
    named = re.findall(r"`(\w+\.(?:c|py|def))(?: (\w+))?`", held)
    awaited = re.findall(rf"issue of (?:{'|'.join(families)})(?= *$|;)", held)
    if not named and not awaited:
        faults.append(f"docs/cases.md names no test: {line[:60]}")
    if held.count("issue") != len(awaited):
        faults.append(f"docs/cases.md: an issue of no family to come: {line[:60]}")
    for test, function in named:
        path = os.path.join(ROOT, "test", test)
        if not os.path.exists(path) or (function and not re.search(rf"\b{function}\b", text("test", test))):
            faults.append(f"docs/cases.md: there is no {test} {function}")
if len(cases) < 30:
    faults.append(f"docs/cases.md has {len(cases)} cases")
print(*faults, sep="\n")
print(f"{len(exported)} functions, {len(cases)} cases: {len(faults)} faults")
sys.exit(1 if faults else 0)
