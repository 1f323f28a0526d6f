#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Text of others in what the command prints: terminal escapes, control characters of both sets, newlines and bytes that are no
UTF-8, in every argument, variable and kind of file. What comes out is printable ASCII in lines, or JSON without them.

test_hostile_text.py COMMAND
"""
import copy
import hashlib
import json
import os
import subprocess
import sys
import tempfile

import checks
from checks import check

COMMAND = os.path.abspath(sys.argv[1])
HOSTILE = "\x1b[31m\x07\x9b2J\x7f\r\nexit status 0 \u202e\udcff"  # the last: the byte 0xff
TEXT = "the same bits on every machine, at any number of threads, in any batch"


def encoded(text):
    return text.encode("utf-8", "surrogateescape")


def run(statuses, *arguments, **environment):
    result = subprocess.run([encoded(COMMAND), *(encoded(a) for a in arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, env={**os.environb, **{encoded(k): encoded(v) for k, v in environment.items()}})
    check(result.returncode in statuses, f"{arguments}: exit {result.returncode} {result.stdout[-300:]} {result.stderr[-300:]}")
    for text in (result.stdout, result.stderr):
        if text.startswith(b"{"):
            for line in text.decode("utf-8").splitlines() if b'{"event"' in text else [text.decode("utf-8")]:
                json.loads(line)
            bad = [c for c in text.decode("utf-8") if (ord(c) < 0x20 and c != "\n") or 0x7f <= ord(c) < 0xa0]
        else:
            bad = [c for c in text if not 0x20 <= c < 0x7f and c != 0x0a]
        check(not bad, f"{arguments}: {bad} in {text}")
        check(not any(line.startswith(b"exit status 0 ") for line in text.splitlines()), f"{arguments}: a line of its own: {text}")
    return result


def write(path, content):
    with open(encoded(path), "wb") as file:
        file.write(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def arguments(folder):
    run({2}, HOSTILE)
    for command in ("verify", "selftest", "compare", "doctor", "digest", "prove", "bisect", "demo", "record", "replay"):
        run({2}, command, "--" + HOSTILE)
    for flag in ("--threads", "--seed", "--lanes", "--isa", "--device"):
        run({2}, "verify", flag, HOSTILE)
        run({2}, "verify", f"{flag}={HOSTILE}")
    run({2}, "verify", HOSTILE)
    run({2}, "prove", HOSTILE)
    run({2}, "lm", HOSTILE)
    for command in ("train", "resume", "eval", "generate", "ledger"):
        run({2}, "lm", command, "--" + HOSTILE)
    run({2}, "lm", "train", "--worker", HOSTILE)
    run({2}, "lm", "generate", "--temperature", HOSTILE)
    path = os.path.join(folder, HOSTILE)
    run({3}, "verify", "--lanes", "scale", "--json-out", os.path.join(path, "x"))
    run({3}, "digest", path)
    run({3}, "compare", path, path)
    run({3}, "bisect", path, path)
    run({3}, "lm", "ledger", "compare", path, path)
    run({2, 3}, "lm", "train", "--recipe", path, "--data", path, "--out", path)
    run({3}, "lm", "resume", path)
    run({3}, "lm", "eval", "--checkpoint", path, "--data", path)
    run({3}, "lm", "generate", "--checkpoint", path, "--prompt", "x", "--tokens", "1")
    for name in ("ISA", "THREADS", "DEVICE"):
        run({2}, "verify", "--lanes", "scale", **{f"SAMEBITS_{name}": HOSTILE})
    run({3}, "verify", "--lanes", "scale", SAMEBITS_TRACE=os.path.join(path, "x"))
    write(path, b"abc")
    run({0}, "digest", path)
    run({3}, "compare", path, path)
    run({3}, "bisect", path, path)
    run({3}, "lm", "ledger", "compare", path, path)
    run({2, 3}, "lm", "train", "--recipe", path, "--data", path, "--out", os.path.join(folder, "new"))
    run({3}, "lm", "eval", "--checkpoint", path, "--data", path)
    os.unlink(encoded(path))


def recipes(folder):
    hostile = HOSTILE[:-1]  # (JSON holds no bytes that are no UTF-8)
    text = write(os.path.join(folder, "text"), TEXT.encode())
    good = {"recipe": 1, "name": "smallest",
            "model": {"hidden_size": 2, "layers": 1, "heads": 1, "kv_heads": 1, "intermediate_size": 2},
            "training": {"steps": 1, "shards": 1, "shard_sequences": 1, "sequence_length": 4, "seed": 1, "learning_rate": 0.01},
            "checkpoints": {}, "evaluation": {}, "data": {"held_out": 16, "sha256": hashlib.sha256(TEXT.encode()).hexdigest()}}
    path = os.path.join(folder, "recipe.json")

    def train(recipe, statuses=(2,)):
        write(path, recipe)
        return run(set(statuses), "lm", "train", "--recipe", path, "--data", text, "--out", os.path.join(folder, "run"), "--json")

    for section in (None, "model", "training", "checkpoints", "evaluation", "data"):
        for key in (hostile, None):
            recipe = copy.deepcopy(good)
            where = recipe[section] if section else recipe
            for name in list(where) if key is None else [key]:
                kept = copy.deepcopy(where.get(name))
                where[name] = hostile
                train(recipe)
                if kept is None:
                    del where[name]
                else:
                    where[name] = kept
    for group in ({"pattern": 1, hostile: 2}, {"pattern": "*", hostile: hostile}, hostile):
        train({**good, "training": {**good["training"], "groups": [group]}})
    result = train({**good, "training": {**good["training"], "groups": [{"pattern": "*" + hostile}]}}, (0,))
    check(b"finished" in result.stdout, result.stdout)
    run({0}, "lm", "train", "--recipe", path, "--data", text, "--out", os.path.join(folder, HOSTILE), "--json")
    run({0}, "lm", "eval", "--checkpoint", os.path.join(folder, "run"), "--data", text)
    checkpoint = os.path.join(folder, "run", "step-000000001", "model.safetensors")
    with open(checkpoint, "rb") as file:
        whole = file.read()
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:8 + size])
    renamed = {(hostile if name == "lm_head.weight" else name): value for name, value in header.items()}
    sealed = {**header, "__metadata__": {**header["__metadata__"], "samebits.state": hostile, "samebits.contract": hostile}}
    typed = {**header, "lm_head.weight": {**header["lm_head.weight"], "dtype": hostile}}
    shaped = {**header, "lm_head.weight": {**header["lm_head.weight"], "shape": hostile}}
    for changed in (renamed, sealed, typed, shaped, {hostile: hostile}):
        text_of = json.dumps(changed).encode()
        bad = write(os.path.join(folder, "bad.safetensors"), len(text_of).to_bytes(8, "little") + text_of + whole[8 + size:])
        run({3}, "lm", "eval", "--checkpoint", bad, "--data", text)
        run({0}, "digest", bad)


def documents(folder):
    hostile = HOSTILE[:-1]
    one, other = os.path.join(folder, "one.json"), os.path.join(folder, HOSTILE + ".json")
    run({0}, "verify", "--lanes", "scale", "--json-out", one)
    with open(one) as file:
        document = json.load(file)
    document["cells"] = document["cells"][:2]
    for cell in document["cells"]:
        cell.update(lane=hostile, fixture=hostile, cell=hostile + cell["cell"] + cell["fixture"], state=hostile, note=hostile)
    for key in ("architecture", "cpu", "device", "level"):
        document["machine"][key] = hostile
    document.update(release=hostile, commit=hostile, date=hostile)
    document["build"]["compiler"] = hostile
    write(one, document)
    document["cells"][0]["sha256"] = "0" * 64
    write(other, document)
    for more in ([], ["--json"], ["--json-out", os.path.join(folder, "out.json")]):
        run({1}, "compare", one, other, *more)
    run({3}, "compare", one, write(other, {**document, "seed": hostile}))
    run({3}, "compare", one, write(other, {**document, hostile: 1, "format": hostile}))
    trace = {"samebits": "trace", "format": 1, "contract": 1}
    lines = [json.dumps(trace), json.dumps({"at": hostile, "op": hostile, hostile: hostile})]
    run({3}, "bisect", one, write(other, "\n".join(lines).encode()))


def recordings(folder):
    hostile = HOSTILE[:-1]
    at = lambda name: os.path.join(folder, name)
    write(at("x.csv"), b"1,2\n3,5\n4,1\n")
    run({0}, "fit", "standard_scaler", "--data", at("x.csv"), "--out", at("model"))
    run({0}, "record", at("model"), "--data", at("x.csv"), "--method", "transform", "--note", hostile, "--out", at("r"))
    for more in ([], ["--json"], ["--report", at("page.html")]):
        run({0}, "replay", at("r"), *more)
    with open(at("page.html"), "rb") as file:
        page = file.read().decode()
    check(not [c for c in page if ord(c) < 0x20 and c != "\n" or 0x7f <= ord(c) < 0xa0], page)
    path = at(HOSTILE)
    run({3}, "record", path, "--data", path, "--out", path)
    run({2}, "record", at("model"), "--data", at("x.csv"), "--method", HOSTILE, "--out", at("no"))
    run({2}, "record", at("model"), "--data", at("x.csv"), "--threshold", HOSTILE, "--out", at("no"))
    run({3}, "replay", path)
    run({3}, "replay", at("r"), "--report", os.path.join(path, "x"))
    with open(at("r"), "rb") as file:
        whole = file.read()
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:8 + size])
    metadata = header["__metadata__"]
    described = json.loads(metadata["recording"])
    described["steps"][0].update(name=hostile, method=hostile, algorithm=hostile)
    for key, value in (("contract", hostile), ("release", hostile), ("format", hostile), ("recording", hostile), ("recording", json.dumps(described))):
        text_of = json.dumps({**header, "__metadata__": {**metadata, key: value}}).encode()
        bad = write(at("bad"), len(text_of).to_bytes(8, "little") + text_of + whole[8 + size:])
        run({0} if key == "release" else {3}, "replay", bad)


with tempfile.TemporaryDirectory() as top:
    for part in (arguments, recipes, documents, recordings):
        inside = os.path.join(top, part.__name__)
        os.mkdir(inside)
        part(inside)
sys.exit(checks.end())
