#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command from outside: exit statuses, usage errors that name the flag, hostile files, names and outputs.

    test_cli.py COMMAND
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile

import checks
from checks import check

COMMAND = os.path.abspath(sys.argv[1])
SCHEMA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs", "evidence.schema.json")


def run(*arguments, stdout=subprocess.PIPE, environment=None):
    return subprocess.run([COMMAND, *arguments], stdout=stdout, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, **(environment or {})), timeout=600)


def expect(status, says, *arguments, **options):
    """The exit status, and a text that stdout or stderr must hold. Control characters never come out."""
    result = run(*arguments, **options)
    text = (result.stdout or b"") + result.stderr
    check(result.returncode == status, f"{arguments}: exit {result.returncode}, expected {status}: {text[-300:]!r}")
    check(says.encode() in text, f"{arguments}: no {says!r} in {text[-300:]!r}")
    check(not any(c < 0x20 and c not in (0x0a, 0x0d) or c == 0x7f for c in text), f"{arguments}: control characters in {text!r}")
    return result


def output_apart(command, one, other):
    """--json-out of a comparison may be none of the files it reads, by whatever name."""
    before, linked = open(one, "rb").read(), one + ".link"
    os.symlink(one, linked)
    for out in (one, linked, os.path.join(os.path.dirname(one), ".", os.path.basename(one))):
        for order in ((one, other), (other, one)):
            expect(2, "expected another file", command, *order, "--json-out", out)
    check(open(one, "rb").read() == before and os.path.islink(linked), f"{command}: an input was written over")
    os.unlink(linked)


def test_usage():
    expect(2, "usage:")
    expect(0, "usage:", "--help")
    expect(0, "usage:", "help")
    version = expect(0, "contract 1", "--version").stdout.decode()
    check(version.startswith("samebits ") and ", commit " in version, version)
    expect(2, 'there is no command "frobnicate"', "frobnicate")
    expect(2, 'there is no command "\\x1b[2J\\x0a"', "\x1b[2J\n")
    expect(2, 'there is no command ""', "")
    for command in ("verify", "compare", "selftest", "doctor", "digest"):
        expect(0, f"usage: samebits {command}", command, "--help")
        expect(2, "there is no flag --frobnicate", command, "--frobnicate")
        expect(2, "there is no flag --\\x1b[31m", command, "--\x1b[31m")
    expect(2, "--threads needs a value", "verify", "--threads")
    for bad in ("0", "-1", "1025", "x", "1x", "", " 1", "1e2", "99999999999999999999999", "\xff"):
        expect(2, "--threads is", "verify", "--threads", bad)
        expect(2, "--threads is", "verify", f"--threads={bad}")
    for bad in ("0", "-1", "18446744073709551616", "seven"):
        expect(2, "--seed is", "verify", "--seed", bad)
    expect(2, "--quick takes no value", "verify", "--quick=yes")
    expect(2, "exclude each other", "verify", "--quick", "--all")
    expect(2, "exclude each other", "verify", "--quick", "--lanes", "gemm_nn")
    expect(2, 'there is no lane "no_such"', "verify", "--lanes", "gemm_nn,no_such")
    expect(2, 'there is no lane "\\x07"', "verify", "--lanes", "\x07")
    expect(2, "--lanes is empty", "verify", "--lanes", "")
    expect(2, "takes flags only", "verify", "gemm_nn")
    expect(2, "takes flags only", "doctor", "x")
    expect(2, "takes flags only", "selftest", "x")
    expect(2, "expected at least two", "compare")
    expect(2, "expected at least two", "compare", "one.json")
    expect(2, "expected a file", "digest")


def test_models():
    """lm, prove, demo: the same manners."""
    expect(2, "a subcommand is missing", "lm")
    expect(0, "usage:", "lm", "--help")
    expect(2, "there is no subcommand \"\\x1b[2J\"", "lm", "\x1b[2J")
    expect(2, "there is no flag --\\x1b", "lm", "train", "--\x1b")
    expect(2, "--threads needs a value", "lm", "train", "--threads")
    expect(2, "expected a number from 0 to 1024", "lm", "train", "--threads", "x\x1b")
    expect(2, "expected a number from 1 to", "lm", "train", "--until", "0")
    expect(2, "expected a decimal number", "lm", "generate", "--temperature", "0x1p3")
    expect(2, "expected device=D,isa=L,threads=N,shards=N", "lm", "train", "--worker", "isa=v3,cores=2")
    expect(2, "train needs", "lm", "train")
    for subcommand, flags in (("train", "--recipe --data --out --until --isa --threads --worker --quiet --json --sabotage-step"),
                              ("resume", "--data --until --isa --threads --worker --quiet --json --sabotage-step"),
                              ("eval", "--checkpoint --data --whole --isa --threads --json"),
                              ("generate", "--checkpoint --prompt --tokens --temperature --top-k --top-p --seed --isa --threads"),
                              ("describe", "--recipe --isa --threads --json"), ("ledger", "--json"), ("worker", "--isa --threads")):
        text = expect(0, f"usage: samebits lm {subcommand}", "lm", subcommand, "--help").stdout.decode()
        listed = [line.split()[0] for line in text.splitlines() if line.startswith("  --")]
        check(set(flags.split()) <= set(listed), f"lm {subcommand} --help: {listed}")
        expect(2, "there is no flag --frobnicate", "lm", subcommand, "--frobnicate")
    expect(2, "an argument is missing", "lm", "resume")
    expect(2, '"more" was not expected', "lm", "resume", "folder", "more")
    expect(2, "there is no ledger compere", "lm", "ledger", "compere", "a", "b")
    expect(2, "expected device=D,isa=L,threads=N,shards=N", "lm", "train", *["--worker=shards=1"] * 65)
    expect(2, "there is no flag --out --until", "lm", "train", "--out --until", "3")
    expect(2, "--out is empty", "lm", "train", "--out", "")
    expect(2, "generate needs", "lm", "generate", "--seed", "9223372036854775807")
    expect(2, "--seed is", "lm", "generate", "--seed", "9223372036854775808")
    expect(3, "", "lm", "worker") # nobody at descriptor 3
    for path in ("absent\x1b\n", "/", "/dev/zero"):
        expect(3, "SB_ERR_IO", "lm", "eval", "--checkpoint", path, "--data", path)
        expect(3, "SB_ERR_IO", "lm", "describe", "--recipe", path)
        expect(3, "SB_ERR_", "lm", "resume", path)
        expect(3, "SB_ERR_IO", "lm", "ledger", "compare", path, path)
        expect(3, "SB_ERR_IO", "digest", path)
    expect(2, "expected a function or --all", "prove")
    expect(2, "there is no function", "prove", "\x1b")
    expect(2, "--count is", "prove", "exp", "--count", "3")
    expect(2, "are needed", "demo")


RECIPE = {"recipe": 1, "model": {"hidden_size": 16, "layers": 1, "heads": 2, "kv_heads": 1, "intermediate_size": 24},
          "training": {"steps": 3, "shards": 5, "shard_sequences": 1, "sequence_length": 8, "seed": 3, "learning_rate": 0.01},
          "data": {"held_out": 100}}


def test_training(folder):
    """Runs whose standard streams are closed, and files that may not grow."""
    text, recipe = os.path.join(folder, "text"), os.path.join(folder, "recipe.json")
    with open(text, "wb") as file:
        file.write(bytes(range(256)) * 4)
    with open(text, "rb") as file:
        RECIPE["data"]["sha256"] = hashlib.sha256(file.read()).hexdigest()
    with open(recipe, "w") as file:
        json.dump(RECIPE, file)
    runs = []
    # A socket or a file at a closed stream's descriptor must not receive what is printed.
    for number, (redirect, status) in enumerate((("", 0), (">&-", 3), (">&- 2>&-", 3), ("<&- >&- 2>&-", 3), ("2>&-", 0))):
        out = os.path.join(folder, f"run{number}")
        arguments = ["lm", "train", "--recipe", recipe, "--data", text, "--out", out, "--json", "--worker", "shards=2", "--worker", "threads=1"]
        result = subprocess.run(["sh", "-c", f'exec "$@" {redirect}', "sh", COMMAND, *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=600)
        check(result.returncode == status, f"streams {redirect}: exit {result.returncode}: {result.stderr!r}")
        with open(os.path.join(out, "ledger.jsonl"), "rb") as ledger, open(os.path.join(out, "step-000000003", "model.safetensors"), "rb") as model:
            runs.append((ledger.read(), model.read()))
    check(all(r == runs[0] for r in runs), "runs with closed streams differ")
    small = os.path.join(folder, "small")
    result = subprocess.run(["sh", "-c", 'ulimit -f 20; exec "$@"', "sh", COMMAND, "lm", "train", "--recipe", recipe, "--data", text, "--out", small],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    check(result.returncode == 3 and b"SB_ERR_IO" in result.stderr and b"file too large" in result.stderr, f"ulimit -f: {result}")
    check(not [f for _, _, files in os.walk(small) for f in files if f.endswith(".tmp")], "ulimit -f: a temporary file is left")


def test_levels(folder):
    """A wrong level, device or number of threads is wrong usage in every command that computes, by flag or environment."""
    weights, recipe = os.path.join(folder, "one.safetensors"), os.path.join(folder, "recipe.json")
    header = b'{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}'
    with open(weights, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header + b"\x07")
    with open(recipe, "w") as file:
        json.dump(RECIPE, file)
    verify, describe = ["verify", "--lanes", "gemm_nn"], ["lm", "describe", "--recipe", recipe]
    takers = [verify, ["selftest", "--lanes", "gemm_nn"], ["prove", "exp", "--count", "1024"], describe, ["lm", "worker"]]
    computing = takers + [["digest", weights], ["demo", "--recipe", recipe, "--data", recipe, "--out", os.path.join(folder, "demo")]]
    for command in computing:
        for name, bad in (("ISA", "v9"), ("ISA", "V3"), ("ISA", "\x1b"), ("THREADS", "0"), ("THREADS", "-1"), ("THREADS", "many"),
                          ("THREADS", "1025"), ("DEVICE", "no such")):
            expect(2, f"SAMEBITS_{name}", *command, environment={f"SAMEBITS_{name}": bad})
            if command[0] == "demo" and os.path.isdir(command[-1]):
                for left in os.listdir(command[-1]):
                    os.remove(os.path.join(command[-1], left))
                os.rmdir(command[-1])
    for command in takers:
        for bad in ("v9", "", "V3", "\x1b"):
            expect(2, "isa", *command, "--isa", bad)
    expect(2, "device", *verify, "--device", "no such")


def valid(document):
    """The document against docs/evidence.schema.json, the little of JSON schema that it uses."""
    schema = json.load(open(SCHEMA))

    def matches(value, rule):
        if "$ref" in rule:
            rule = schema["$defs"][rule["$ref"].rsplit("/", 1)[1]]
        kinds = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
        types = rule.get("type", [])
        types = [types] if isinstance(types, str) else types
        if types and not any(isinstance(value, kinds[t]) and not isinstance(value, bool) for t in types):
            return False
        if "const" in rule and value != rule["const"] or "enum" in rule and value not in rule["enum"]:
            return False
        if "minimum" in rule and value < rule["minimum"]:
            return False
        if isinstance(value, dict):
            known = rule.get("properties", {})
            return (all(k in value for k in rule.get("required", [])) and all(k in known for k in value)
                    and all(matches(v, known[k]) for k, v in value.items()))
        if isinstance(value, list):
            return all(matches(v, rule["items"]) for v in value)
        if isinstance(value, str) and "pattern" in rule:
            import re
            return re.search(rule["pattern"], value) is not None
        return True

    return matches(document, schema)


def test_documents(folder):
    one, other, third = (os.path.join(folder, name) for name in ("one.json", "other.json", "third.json"))
    lanes = "gemm_nn,exp,sort"
    expect(0, "no references for seed 77: compare two documents", "verify", "--seed", "77", "--lanes", lanes, "--json-out", one)
    expect(0, "COMPUTED", "verify", "--seed", "77", "--lanes", lanes, "--isa", "plain", "--threads", "3", "--json-out", other)
    expect(0, "AGREE in all of", "compare", one, other)
    output_apart("compare", one, other)
    expect(4, "SAME FILE", "compare", one, one)
    document = json.load(open(one))
    check(valid(document), "the document does not follow its schema")
    check(not valid(dict(document, more=1)) and not valid(dict(document, seed=7)), "the schema accepts anything")
    check(len(document["build"]["sha256"] or "") == 64, "the executable's digest")
    printed = run("verify", "--seed", "77", "--lanes", lanes, "--json").stdout
    check(json.loads(printed)["cells"] == document["cells"], "--json prints the document")
    dated = json.loads(run("verify", "--seed", "77", "--lanes", "exp", "--json", "--date").stdout)
    check(valid(dated) and len(dated["date"]) == 10, "--date")
    table, model, recording = (os.path.join(folder, name) for name in ("x.csv", "model", "recording"))
    open(table, "w").write("1,2\n3,5\n4,1\n")
    expect(0, "model ", "fit", "standard_scaler", "--data", table, "--out", model)
    made = json.loads(expect(0, "COMPUTED", "record", model, "--data", table, "--method", "transform", "--out", recording, "--json").stdout)
    replay = json.loads(expect(0, "IDENTICAL", "replay", recording, "--json").stdout)
    check(valid(made) and valid(replay) and not valid({**replay, "replay": {**replay["replay"], "rows": "3"}}), "documents of recordings")
    document["cells"][0]["sha256"] = "0" * 64
    json.dump(document, open(third, "w"))
    expect(1, "DIFFER at " + "/".join(document["cells"][0][k] for k in ("lane", "fixture", "cell")), "compare", one, third)
    expect(1, "group 2", "compare", one, other, third)
    check(json.loads(run("compare", "--json", one, third).stdout)["verdict"] == "DIFFER", "compare --json")
    expect(0, "COMPUTED", "verify", "--seed", "78", "--lanes", lanes, "--json-out", third)
    expect(3, "INCOMPARABLE", "compare", one, third)
    expect(3, "AGREE", "compare", one, other, "--json-out", os.path.join(folder, "no folder", "x"))
    # A document cut anywhere, a folder, nothing, a name with control characters.
    whole = open(one, "rb").read()
    for cut in (0, 1, 100, len(whole) // 2, len(whole) - 3):
        open(third, "wb").write(whole[:cut])
        expect(3, "is no evidence document", "compare", one, third)
    expect(3, "SB_ERR_IO", "compare", one, folder)
    expect(3, "SB_ERR_IO", "compare", one, os.path.join(folder, "absent"))
    expect(3, "SB_ERR_IO", "compare", one, os.path.join(folder, "\x1b[31m\n"))
    expect(3, "SB_ERR_IO", "compare", one, "/dev/zero")


def test_outputs(folder):
    for path in ("/dev/full", folder, os.path.join(folder, "no folder", "x.json"), "/proc/x.json", "/dev/null"):
        expect(3, "SB_ERR_IO", "verify", "--seed", "5", "--lanes", "exp", "--json-out", path)
    check(not [n for n in os.listdir(folder) if "tmp" in n], "temporary files left")
    with open("/dev/full", "wb") as full:
        for command in (["--help"], ["--version"], ["doctor"], ["verify", "--seed", "5", "--lanes", "exp"], ["verify", "--list"]):
            result = run(*command, stdout=full)
            check(result.returncode == 3 and b"standard output" in result.stderr, f"{command} to a full disk: {result.returncode}")


def test_digest(folder):
    path = os.path.join(folder, "a\x1bb\n")
    open(path, "wb").write(b"abc")
    expect(0, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "digest", path)
    header = b'{"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"U8","shape":[],"data_offsets":[8,9]}}'
    turned = b'{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}}'
    one, other = os.path.join(folder, "one.safetensors"), os.path.join(folder, "other.safetensors")
    open(one, "wb").write(len(header).to_bytes(8, "little") + header + b"\0\0\x80\x3f\0\0\0\x40" + b"\x07")
    open(other, "wb").write(len(turned).to_bytes(8, "little") + turned + b"\x07" + b"\0\0\x80\x3f\0\0\0\x40")
    lines = [run("digest", p).stdout.decode().splitlines() for p in (one, other)]
    check(lines[0][0] != lines[1][0] and lines[0][1] == lines[1][1] and "2 arrays" in lines[0][1], f"layout: {lines}")
    # The tree by hand (T10).
    import hashlib
    import struct
    tree = hashlib.sha256()
    for name, dtype, shape, data in ((b"a", b"uint8", (), b"\x07"), (b"b", b"float32", (2,), b"\0\0\x80\x3f\0\0\0\x40")):
        tree.update(struct.pack("<I", len(name)) + name + struct.pack("<I", len(dtype)) + dtype + struct.pack("<I", len(shape))
                    + b"".join(struct.pack("<q", n) for n in shape) + hashlib.sha256(data).digest())
    check(tree.hexdigest() in lines[0][1], f"tree: {lines[0][1]}, expected {tree.hexdigest()}")
    expect(3, "SB_ERR_IO", "digest", os.path.join(folder, "absent"))
    expect(3, "SB_ERR_IO", "digest", folder)
    expect(3, "ba7816bf", "digest", os.path.join(folder, "absent"), path)


def test_traces(folder):
    one, other, none = (os.path.join(folder, name) for name in ("one", "other", "none"))
    for path, lanes in ((one, "add"), (other, "mul")):
        expect(0, "COMPUTED", "verify", "--seed", "3", "--lanes", lanes, environment={"SAMEBITS_TRACE": path})
    expect(0, "SAME", "bisect", one, one)
    output_apart("bisect", one, other)
    report = os.path.join(folder, "report.json")
    expect(1, "DIFFERENT", "bisect", one, other, "--json-out", report)
    expect(1, "DIFFERENT", "bisect", one, other, "--json-out", report) # (its own, written again)
    found = json.loads(expect(1, "DIFFERENT", "bisect", one, other, "--json").stdout)
    check(found["verdict"] == "DIFFERENT" and found["same"] >= 0 and found["at"], f"bisect --json: {found}")
    lines = open(one, "rb").read().splitlines(True)
    open(other, "wb").writelines(lines[:-1])
    expect(3, "INCOMPARABLE", "bisect", one, other)
    open(other, "wb").write(b"\x1b[31m\n")
    expect(3, "SB_ERR_FORMAT", "bisect", one, other)
    expect(3, "SB_ERR_IO", "bisect", one, none)
    expect(2, "expected two", "bisect", one)
    expect(3, "SB_ERR_IO", "verify", "--lanes", "add", environment={"SAMEBITS_TRACE": os.path.join(none, "x")})
    expect(3, "regular", "verify", "--lanes", "add", environment={"SAMEBITS_TRACE": "/dev/full"})


def test_verify():
    lanes = run("verify", "--list").stdout.decode().split("\n")
    check(sum(" quick" in line for line in lanes) >= 5, "quick lanes")
    report = json.loads(expect(0, "conforms", "doctor", "--json").stdout)
    check(report["conforms"] is True and report["chosen"] in [l["level"] for l in report["levels"]], "doctor --json")
    for level in [l["level"] for l in report["levels"] if l["usable"]]:
        if has_references():
            expect(0, " 0 DIVERGENT, 0 REFUSED, 0 ABSENT", "verify", "--quick", "--isa", level, "--threads", "3")


def has_references():
    return json.loads(run("verify", "--lanes", "gemm_nn", "--json").stdout)["cells"][0]["state"] != "ABSENT"


def main():
    test_usage()
    test_models()
    with tempfile.TemporaryDirectory() as folder:
        test_levels(folder)
    with tempfile.TemporaryDirectory() as folder:
        test_documents(folder)
    with tempfile.TemporaryDirectory() as folder:
        test_outputs(folder)
        test_digest(folder)
        test_traces(folder)
    with tempfile.TemporaryDirectory() as folder:
        test_training(folder)
    test_verify()
    return checks.end()


sys.exit(main())
