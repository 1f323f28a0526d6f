#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_describe.py SAMEBITS: the description is complete (every lane, every function's lane, no operation without one) and
true: what it says is refused is refused by that error, and it does not depend on level, threads or a trace."""
import json
import os
import re
import subprocess
import sys
import tempfile

COMMAND = sys.argv[1]
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def ask(*arguments, **environment):
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, env=dict(os.environ, **environment))
    assert done.returncode == 0, (arguments, done.returncode, done.stderr)
    return done.stdout


def main():
    text, said = ask("describe"), ask("describe", "--json")
    d = json.loads(said)
    assert (d["samebits"], d["format"]) == ("description", 1), d
    lanes = {words[0]: words[1] for words in (line.split() for line in ask("verify", "--list").splitlines())}
    named = {lane for operation in d["operations"] for lane in operation["lanes"]}
    assert named == {lane for lane, kind in lanes.items() if kind != "model"}, named ^ set(lanes)
    with open(f"{ROOT}/src/ops/run.c", encoding="utf-8") as file:
        names = re.findall(r'\[SBI_OP_\w+\] = "(\w+)"', file.read())
    assert [operation["name"] for operation in d["operations"]] == names
    with open(f"{ROOT}/include/samebits.h", encoding="utf-8") as file:
        errors = set(re.findall(r"^    (SB_ERR_\w+)", file.read(), re.M))
    for operation in d["operations"]:
        name, dtypes = operation["name"], operation["dtypes"]
        assert operation["lanes"] and operation["signatures"], f"no lane runs {name}"
        for refused in operation["refused"]:
            assert refused["error"] in errors and refused["dtype"] not in dtypes and refused["dtype"] in refused["message"], operation
        assert "float32" not in dtypes or "float64" in dtypes or operation["refused"], f"{name}: float64 is neither taken nor refused"
        assert re.search(rf"^  {name} ", text, re.M), f"{name} is not in the lines"
    with open(f"{ROOT}/docs/proofs.tsv", encoding="utf-8") as file:
        proofs = {row[0]: row for row in (line.split("\t") for line in file) if len(row) == 9 and row[0][0] != "#"}
    for function in d["functions"]:
        assert function["name"] in lanes, function
        proof = function["proof"]
        assert not proof or any(row[7] == proof["sha256"] and int(row[3]) == proof["misrounded"] for row in proofs.values()), function
    assert sum(f["proof"] is not None for f in d["functions"]) == len(proofs), "a proof is lost"
    # The algorithms are those of the rows, told in full; each has its lanes.
    with open(f"{ROOT}/src/learn/algorithms.def", encoding="utf-8") as file:
        rows = re.findall(r"^(ALGORITHM|PARAMETER|SURFACE|FITTED|KEPT|METHOD)\((\w+)(?:, (\w+))?", file.read(), re.M)
    for algorithm in d["algorithms"]:
        name = algorithm["name"]
        told = {(kind, each["name"]) for key, row, other in (("parameters", "PARAMETER", "SURFACE"), ("fitted", "FITTED", "KEPT"), ("methods", "METHOD", ""))
                for each in algorithm[key] for kind in [other if each.get("surface") or each.get("kept") else row]}
        assert told == {(row, item) for row, owner, item in rows if owner == name and row != "ALGORITHM"}, (name, told)
        assert {name, f"{name}_f64"} <= lanes.keys() and re.search(rf"^  {name} ", text, re.M), name
        assert all(each["about"].endswith(".") for key in ("parameters", "fitted", "methods") for each in algorithm[key]), name
    assert [a["name"] for a in d["algorithms"]] == [owner for row, owner, _ in rows if row == "ALGORITHM"]
    levels = {level["level"]: level["error"] for level in d["levels"]}
    assert levels["plain"] is None and all(e in errors | {None} for e in levels.values()), levels
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        assert ask("describe", "--json", "--isa", "plain", "--threads", "1", SAMEBITS_TRACE=trace) == said
        assert not os.path.exists(trace)
        ask("describe", "--json-out", os.path.join(folder, "d.json"))
        with open(os.path.join(folder, "d.json"), encoding="utf-8") as file:
            assert file.read() == said
    for wrong in (["describe", "x"], ["describe", "--x"], ["describe", "--isa", "x"]):
        assert subprocess.run([COMMAND, *wrong], capture_output=True).returncode == 2, wrong
    print(f"{len(d['operations'])} operations, {len(d['functions'])} functions, {len(named)} lanes")


if __name__ == "__main__":
    main()
