#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run's files read by docs/lm.md alone: the recipe's full text, the learning rates, the initial weights from their streams,
the ledger and its chain, the checkpoint to the byte. Nothing of the command's code is used but what it wrote.

test_formats.py COMMAND
"""
import hashlib
import json
import math
import os
import statistics
import struct
import subprocess
import sys
import tempfile

import checks
from checks import check

COMMAND = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DTYPES = {"F32": (b"float32", 4), "F64": (b"float64", 8)}
TABLE = {"model": "hidden_size layers heads kv_heads intermediate_size vocabulary tie final_norm bias rope_theta norm_eps "
                  "initial_deviation",
         "training": "steps shards shard_sequences sequence_length seed learning_rate warm_up minimum_ratio beta1 beta2 eps "
                     "weight_decay clip",
         "checkpoints": "every keep", "evaluation": "windows"}
REALS = "rope_theta norm_eps initial_deviation learning_rate minimum_ratio beta1 beta2 eps weight_decay clip".split()
STANDARD = {"vocabulary": 256, "tie": False, "final_norm": True, "bias": False, "rope_theta": 10000, "norm_eps": 1e-5,
            "initial_deviation": 0.02, "shards": 64, "warm_up": 0, "minimum_ratio": 0.1, "beta1": 0.9, "beta2": 0.95,
            "eps": 1e-8, "weight_decay": 0.1, "clip": 1, "every": 0, "keep": 2, "windows": 64}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def real(x):
    """The shortest decimal; Python's digits, the page's choice of form."""
    digits, exponent = f"{float(x):.17g}", 0
    for n in range(1, 18):
        digits = f"{float(x):.{n - 1}e}"
        if float(digits) == float(x):
            break
    mantissa, exponent = digits.split("e")
    figures, exponent = mantissa.replace(".", "").rstrip("0") or "0", int(exponent)
    if float(x) == 0:
        return "0.0"
    if -4 <= exponent < 17:
        if exponent < 0:
            return "0." + "0" * (-exponent - 1) + figures
        figures = figures.ljust(exponent + 2, "0")
        return figures[:exponent + 1] + "." + figures[exponent + 1:]
    return figures[0] + ("." + figures[1:] if len(figures) > 1 else "") + f"e{exponent}"


def full_text(recipe, rates):
    def member(section, key):
        value = recipe.get(section, {}).get(key, STANDARD.get(key))
        return f'    "{key}": ' + (real(value) if key in REALS else json.dumps(value))

    text = '{\n  "recipe": 1,\n  "name": ' + json.dumps(recipe.get("name", "unnamed"))
    for section, keys in TABLE.items():
        members = [member(section, key) for key in keys.split()]
        if section == "training":
            groups = recipe["training"].get("groups", [{"pattern": p, "weight_decay": 0.0} for p in ("*norm.weight", "*.bias")])
            lines = []
            for group in groups:
                numbers = [group.get("weight_decay", recipe["training"].get("weight_decay", 0.1)), group.get("rate_ratio", 1.0)]
                decay, ratio = (real(float32(x)) for x in numbers)
                lines.append(f'\n      {{"pattern": {json.dumps(group["pattern"])}, "weight_decay": {decay}, "rate_ratio": {ratio}}}')
            members += ['    "groups": [' + ",".join(lines) + "]", f'    "learning_rates": "{rates}"']
        text += f',\n  "{section}": {{\n' + ",\n".join(members) + "\n  }"
    data = recipe.get("data", {})
    sha = f'"sha256": "{data["sha256"]}", ' if "sha256" in data else ""
    return (text + ',\n  "data": {' + sha + f'"held_out": {data.get("held_out", 0)}}}\n}}\n').encode()


def tree(arrays):
    """T10. arrays: name to (dtype's name, shape, bytes)."""
    whole = hashlib.sha256()
    for name in sorted(arrays):
        dtype, shape, data = arrays[name]
        whole.update(struct.pack("<I", len(name)) + name + struct.pack("<I", len(dtype)) + dtype + struct.pack("<I", len(shape)))
        whole.update(b"".join(struct.pack("<q", n) for n in shape))
        for at in range(0, len(data), 65536):
            whole.update(hashlib.sha256(data[at:at + 65536]).digest())
    return whole.hexdigest()


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def philox(counter, key):
    """T11."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q & 0xffffffff, p >> 32 ^ c[3] ^ k[1], p & 0xffffffff]
        k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) & 0xffffffff]
    return c


def parameters(m):
    """Names, shapes and deviations (None: ones), in the model's order; untied, with a final norm, without biases."""
    d, wide, words, narrow = m["hidden_size"], m["intermediate_size"], 256, m["kv_heads"] * (m["hidden_size"] // m["heads"])
    small, less = float32(0.02), float32(0.02 / math.sqrt(2.0 * m["layers"]))
    yield "model.embed_tokens.weight", (words, d), small
    for i in range(m["layers"]):
        at = f"model.layers.{i}."
        yield at + "input_layernorm.weight", (d,), None
        for name, rows, deviation in (("q", d, small), ("k", narrow, small), ("v", narrow, small), ("o", d, less)):
            yield at + f"self_attn.{name}_proj.weight", (rows, d), deviation
        yield at + "post_attention_layernorm.weight", (d,), None
        for name, shape, deviation in (("gate", (wide, d), small), ("up", (wide, d), small), ("down", (d, wide), less)):
            yield at + f"mlp.{name}_proj.weight", shape, deviation
    yield "model.norm.weight", (d,), None
    yield "lm_head.weight", (words, d), small


def initial_state(recipe):
    """The digest of the state of step 0. (The inverse normal in double, rounded: enough for the seeds used here.)"""
    seed, normal, arrays = recipe["training"]["seed"], statistics.NormalDist(), {}
    for i, (name, shape, deviation) in enumerate(parameters(recipe["model"])):
        size, values = math.prod(shape), []
        for block in range((size + 3) // 4 if deviation else 0):
            for word in philox((block, 0, i, 1), (seed & 0xffffffff, seed >> 32)):
                values.append(float32(normal.inv_cdf((word + 0.5) / 2**32)) * deviation)
        values = values[:size] if deviation else [1.0] * size
        arrays[name.encode()] = (b"float32", shape, struct.pack(f"<{size}f", *values))
        for moment in ("first", "second"):
            arrays[f"optimizer.{moment}.{name}".encode()] = (b"float32", shape, bytes(4 * size))
    arrays[b"optimizer.power"] = (b"float64", (2,), struct.pack("<2d", 1.0, 1.0))
    return tree(arrays)


def rates_of(training):
    steps, warm, peak, ratio = training["steps"], training["warm_up"], training["learning_rate"], training["minimum_ratio"]
    for t in range(1, steps + 1):
        if t <= warm:
            rate = peak * t / warm
        else:
            cosine = float32(math.cos(float32(math.pi * (t - warm) / (steps - warm))))
            rate = peak * (ratio + (1 - ratio) * ((1 + cosine) * 0.5))
        yield struct.pack(">f", rate).hex()


def quoted(text):
    out = "".join("\\" + c if c in '"\\' else f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else c for c in text)
    return '"' + out + '"'


def check_checkpoint(path, recipe_text, step, ledger_hash, best):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8:8 + length]), data[8 + length:]
    meta = header.pop("__metadata__")
    arrays, at = {}, 0
    for name, entry in header.items():
        dtype, item = DTYPES[entry["dtype"]]
        size = item
        for n in entry["shape"]:
            size *= n
        check(entry["data_offsets"] == [at, at + size], f"{name}: a gap")
        arrays[name.encode()] = (dtype, entry["shape"], body[at:at + size])
        at += size
    check(at == len(body), "bytes behind the last array")
    values = ["1", str(step), tree(arrays), ledger_hash, str(best[0]), best[1], recipe_text.decode()]
    keys = ["contract", "step", "state", "ledger", "best_step", "best_loss", "recipe"]
    seal = sha256(b"".join(v.encode() + b"\0" for v in values))
    wanted = [("format", "pt"), ("samebits.checkpoint", "1"), ("samebits.seal", seal)] + [("samebits." + k, v) for k, v in zip(keys, values)]
    check(list(meta.items()) == wanted, f"metadata of step {step}")
    text = '{"__metadata__":{' + ",".join(quoted(k) + ":" + quoted(v) for k, v in wanted) + "}"
    for name, entry in header.items():
        text += "," + quoted(name) + ":" + json.dumps(entry, separators=(",", ":"))
    text = (text + "}").encode()
    text += b" " * (-len(text) % 8)
    check(text == data[8:8 + length], f"the header of step {step}, byte for byte")
    return values[2]


def main():
    with open(os.path.join(ROOT, "recipes", "tiny.json")) as file:
        tiny = json.load(file)
    other = json.loads(json.dumps(tiny))
    other["name"] = 'a "name" \\'
    other["training"].update(groups=[{"pattern": "lm_head*", "weight_decay": 0.3, "rate_ratio": 2.5e-7}], learning_rate=1.5e-5, eps=1e-30, clip=1e30)
    other["model"]["tie"] = False
    for recipe in (tiny, other):
        with tempfile.TemporaryDirectory() as top:
            path, out = os.path.join(top, "recipe.json"), os.path.join(top, "run")
            with open(path, "w") as file:
                json.dump(recipe, file)
            run = subprocess.run([COMMAND, "lm", "train", "--recipe", path, "--data", os.path.join(ROOT, "data", "kjv.txt"), "--out", out,
                                  "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            check(run.returncode == 0, run.stdout)
            with open(os.path.join(out, "recipe.json"), "rb") as file:
                text = file.read()
            with open(os.path.join(out, "ledger.jsonl"), "rb") as file:
                lines = file.read().split(b"\n")
            check(lines.pop() == b"", "the ledger's last newline")
            rates = " ".join(json.loads(line)["rate"] for line in lines[1:])
            check(text == full_text(recipe, rates), f"the full text: {text.decode()}\nby the page: {full_text(recipe, rates).decode()}")
            check(rates == " ".join(rates_of(recipe["training"])), f"rates {rates}")
            check(json.loads(lines[0])["state"] == initial_state(recipe), "the state of step 0")
            previous = "0" * 64
            for number, line in enumerate(lines):
                entry = json.loads(line)
                check(json.dumps(entry, separators=(",", ":")).encode() == line, f"line {number} has spaces")
                check(entry["previous"] == previous, f"line {number}: the chain")
                names = ["step", "rate", "losses", "gradient", "state", "previous"] if number else ["ledger", "contract", "recipe", "state", "previous"]
                check(list(entry) == names, f"line {number}: members")
                check(entry["step"] == number if number else entry["recipe"] == sha256(text), f"line {number}")
                previous = sha256(line)
            with open(os.path.join(out, "best.json")) as file:
                found = json.load(file)
            last = len(lines) - 1
            best = (found["step"], struct.pack(">d", found["loss"]).hex())
            state = check_checkpoint(os.path.join(out, f"step-{last:09d}", "model.safetensors"), text, last, previous, best)
            check(json.loads(lines[-1])["state"] == state, "the ledger's state")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
