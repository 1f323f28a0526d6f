#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The training step beside PyTorch: the same weights, the same samples, the same recipe.

PyTorch starts from our checkpoint of step 0 and takes the samples that the recipe's random numbers name (Philox, written
out again here), so the two loss curves must agree to a tolerance. Both are timed, in turn --pairs times: the median of
the steps' times (ours with its ledger: every gradient and state hashed), the forward pass alone (ours by evaluation,
--forward windows), and the most memory the process held. The table's last column is peer / ours (above 1: ours is less).
--processor-time takes the time that each process had of the processors instead of the clock's: where neighbours are busy.
The step of issue 3: --recipe recipes/step.json --steps 6 --pairs 3.

PyTorch is looked for in this Python, then in --venv; if it is in neither, a throw-away environment is made there (a
large download). Not part of make test.
"""
import argparse
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

from peer_python import python_with

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MASK = 0xFFFFFFFF


def philox(seed, block, stream):
    """Philox 4x32-10 of contract T11: four words."""
    c = [block & MASK, block >> 32, stream & MASK, stream >> 32]
    k = [seed & MASK, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & MASK, (a >> 32) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def integer(seed, stream, draw, n):
    w = philox(seed, draw // 2, stream)
    i = 2 * (draw % 2)
    return (w[i] + (w[i + 1] << 32)) * n >> 64


def processor_time(pid):
    """Seconds that a process has had, with its threads."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ours(command, recipe, data, steps, threads, out, by_processor, device):
    events = []
    start = 0 if by_processor else time.perf_counter()
    process = subprocess.Popen([command, "lm", "train", "--recipe", recipe, "--data", data, "--out", out, "--threads", str(threads),
                                "--until", str(steps), "--device", device, "--json"], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        events.append(((processor_time(process.pid) if by_processor else time.perf_counter()) - start, json.loads(line)))
    usage = wait(process, "the training run")
    took = [(at, e) for at, e in events if e["event"] == "step"]
    return [e["loss"] for _, e in took], [b[0] - a[0] for a, b in zip(took, took[1:])], usage.ru_maxrss / 1024


def wait(process, name):
    """Its end; what it used."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(name + " failed")
    return usage


def forward_of_ours(command, run, text, length, windows, threads, top, by_processor):
    """Seconds a window: what evaluation takes for so many more of them."""
    seconds = []
    for count in (1, 1 + windows):
        path = os.path.join(top, f"text-{count}")
        with open(path, "wb") as file:
            file.write(text[:count * length + 1])
        start = time.perf_counter()
        process = subprocess.Popen([command, "lm", "eval", "--checkpoint", run, "--data", path, "--whole", "--threads", str(threads), "--json"],
                                   stdout=subprocess.DEVNULL)
        usage = wait(process, "the evaluation")
        seconds.append(usage.ru_utime + usage.ru_stime if by_processor else time.perf_counter() - start)
    return (seconds[1] - seconds[0]) / windows


def read_safetensors(path):
    import numpy
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        body = file.read()
    return {name: numpy.frombuffer(body[t["data_offsets"][0]:t["data_offsets"][1]], dtype="<f4").reshape(t["shape"]).copy()
            for name, t in header.items() if name != "__metadata__" and t["dtype"] == "F32"}


def peer(options):
    """Runs under the Python with torch: prints losses and seconds a step as JSON."""
    import torch
    torch.set_num_threads(options.threads)
    torch.set_default_device(options.peer_device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    clock = time.process_time if options.processor_time else time.perf_counter
    with open(os.path.join(options.run, "recipe.json")) as file:
        recipe = json.load(file)
    m, t = recipe["model"], recipe["training"]
    with open(options.data, "rb") as file:
        text = file.read()
    text = torch.frombuffer(bytearray(text[:len(text) - recipe["data"]["held_out"]]), dtype=torch.uint8, device="cpu").long().to(options.peer_device)
    arrays = read_safetensors(options.weights)
    w = {n: torch.nn.Parameter(torch.from_numpy(a).to(options.peer_device)) for n, a in arrays.items() if not n.startswith("optimizer.")}
    rates = [struct.unpack(">f", bytes.fromhex(r))[0] for r in t["learning_rates"].split()]
    size = m["hidden_size"] // m["heads"]
    length, batch = t["sequence_length"], t["shards"] * t["shard_sequences"]
    frequency = m["rope_theta"] ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angle = torch.outer(torch.arange(length, dtype=torch.float64), frequency)
    cos, sin = angle.cos().float(), angle.sin().float()
    groups = t["groups"] + [{"pattern": "*", "weight_decay": t["weight_decay"], "rate_ratio": 1}]

    def group_of(name):
        for i, g in enumerate(groups):
            if re.fullmatch(".*".join(map(re.escape, g["pattern"].split("*"))), name):
                return i
        raise AssertionError(name)
    optimizer = torch.optim.AdamW([{"params": [p for n, p in w.items() if group_of(n) == i], "weight_decay": g["weight_decay"]}
                                   for i, g in enumerate(groups) if any(group_of(n) == i for n in w)],
                                  lr=1.0, betas=(t["beta1"], t["beta2"]), eps=t["eps"])

    def norm(x, name):
        return torch.nn.functional.rms_norm(x, (m["hidden_size"],), w[name], m["norm_eps"])

    def linear(x, name):
        return torch.nn.functional.linear(x, w[name + ".weight"], w.get(name + ".bias"))

    def rotate(x):
        a, b = x[..., :size // 2], x[..., size // 2:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def forward(ids):
        b = ids.shape[0]
        x = w["model.embed_tokens.weight"][ids]
        for layer in range(m["layers"]):
            at = f"model.layers.{layer}."
            n = norm(x, at + "input_layernorm.weight")
            q, k, v = (linear(n, at + f"self_attn.{p}_proj").view(b, length, -1, size).transpose(1, 2) for p in "qkv")
            y = torch.nn.functional.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True,
                                                                 enable_gqa=m["heads"] != m["kv_heads"])
            x = x + linear(y.transpose(1, 2).reshape(b, length, -1), at + "self_attn.o_proj")
            n = norm(x, at + "post_attention_layernorm.weight")
            x = x + linear(torch.nn.functional.silu(linear(n, at + "mlp.gate_proj")) * linear(n, at + "mlp.up_proj"), at + "mlp.down_proj")
        if m["final_norm"]:
            x = norm(x, "model.norm.weight")
        return torch.nn.functional.linear(x, w["model.embed_tokens.weight" if m["tie"] else "lm_head.weight"])

    losses, seconds = [], []
    for step in range(options.steps):
        starts = [integer(t["seed"], 2 << 32, step * batch + i, len(text) - length) for i in range(batch)]
        ids = torch.stack([text[s:s + length + 1] for s in starts])
        start = clock()
        loss = torch.nn.functional.cross_entropy(forward(ids[:, :-1]).reshape(-1, m["vocabulary"]), ids[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        if t["clip"]:
            torch.nn.utils.clip_grad_norm_(list(w.values()), t["clip"])
        for g in optimizer.param_groups:
            g["lr"] = rates[step]
        optimizer.step()
        losses.append(loss.item())
        if options.peer_device != "cpu":
            torch.cuda.synchronize()
        seconds.append(clock() - start)
    ahead = []
    with torch.no_grad():
        for i in range(options.forward + 1):
            ids = text[i * length:i * length + length + 1][None]
            start = clock()
            torch.nn.functional.cross_entropy(forward(ids[:, :-1]).reshape(-1, m["vocabulary"]), ids[:, 1:].reshape(-1)).item()
            ahead.append(clock() - start)
    print(json.dumps({"losses": losses, "seconds": seconds, "forward": ahead[1:], "torch": torch.__version__}))


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--recipe", default=os.path.join(ROOT, "recipes", "demo.json"))
    parser.add_argument("--data", default=os.path.join(ROOT, "data", "kjv.txt"))
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--pairs", type=int, default=1)
    parser.add_argument("--forward", type=int, default=4, metavar="WINDOWS")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--venv", default=os.path.join(ROOT, "build", "bench-venv"))
    parser.add_argument("--json", metavar="F")
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--device", default="cpu", help="of ours")
    parser.add_argument("--peer-device", default="cpu", help="of PyTorch")
    parser.add_argument("--alone", action="store_true", help="without PyTorch")
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--weights", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return peer(options)
    python = None if options.alone else python_with(options.venv, "torch", "numpy")
    with tempfile.TemporaryDirectory() as top:
        run = os.path.join(top, "run")
        command = os.path.join(options.build, "samebits")
        with open(options.recipe) as file:
            recipe = json.load(file)
        recipe["checkpoints"] = {"every": 0, "keep": 1000}  # step 0 stays, and nothing is saved while the clock runs
        copy = os.path.join(top, "recipe.json")
        with open(copy, "w") as file:
            json.dump(recipe, file)
        length = recipe["training"]["sequence_length"]
        with open(options.data, "rb") as file:
            text = file.read()
        us, them = {"step": [], "forward": [], "memory": []}, {"step": [], "forward": [], "memory": []}
        for pair in range(options.pairs):
            run = os.path.join(top, f"run-{pair}")
            our_losses, seconds, memory = ours(command, copy, options.data, options.steps, options.threads, run, options.processor_time,
                                               options.device)
            us["step"] += seconds
            us["memory"].append(memory)
            if options.forward:
                us["forward"].append(forward_of_ours(command, run, text, length, options.forward, options.threads, top,
                                                     options.processor_time))
            if options.alone:
                continue
            process = subprocess.Popen(
                [python, os.path.abspath(__file__), "--peer", "--run", run, "--data", options.data, "--steps", str(options.steps),
                 "--threads", str(options.threads), "--peer-device", options.peer_device, "--forward", str(options.forward),
                 *["--processor-time"][:options.processor_time],
                 "--weights", os.path.join(run, "step-000000000", "model.safetensors")], stdout=subprocess.PIPE, text=True)
            theirs = json.loads(process.stdout.read())
            them["memory"].append(wait(process, "PyTorch").ru_maxrss / 1024)
            them["step"] += theirs["seconds"][1:]
            them["forward"] += theirs["forward"]
    tokens = recipe["training"]["shards"] * recipe["training"]["shard_sequences"] * length
    if options.alone:
        print(f"{recipe['name']} on {options.device}: {median(us['step']) * 1e3:.1f} ms a step, {tokens / median(us['step']):.0f} tokens/s")
        if options.json:
            with open(options.json, "w") as file:
                json.dump({"recipe": recipe["name"], "device": options.device, "ours": {"step": median(us["step"])}, "our_losses": our_losses}, file, indent=1)
        return 0
    worst = max(abs(a - b) / b for a, b in zip(our_losses, theirs["losses"]))
    first = abs(our_losses[0] - theirs["losses"][0]) / theirs["losses"][0]
    print(f"loss: first step {our_losses[0]:.5f} (PyTorch {theirs['torch']}: {theirs['losses'][0]:.5f}), last {our_losses[-1]:.5f} "
          f"({theirs['losses'][-1]:.5f}); largest relative difference {worst:.2e}")
    us, them = ({name: median(values) for name, values in side.items() if values} for side in (us, them))
    print(f"{recipe['name'] + ', ' + str(options.threads) + ' threads':<34}{'ours':>12}{'PyTorch':>12}{'':>12}{'peer / ours':>13}")
    for name, each in (("step", tokens), ("forward", length)):
        if name in us:
            print(f"{name + ', ms (tokens/s)':<34}{us[name] * 1e3:>12.1f}{them[name] * 1e3:>12.1f}{each / us[name]:>12.0f}{them[name] / us[name]:>13.2f}")
    print(f"{'memory at most, MiB':<34}{us['memory']:>12.0f}{them['memory']:>12.0f}{'':>12}{them['memory'] / us['memory']:>13.2f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"recipe": recipe["name"], "threads": options.threads, "ours": us, "peer_measures": them, "ratio": them["step"] / us["step"],
                       "largest_loss_difference": worst, "our_losses": our_losses, "peer_losses": theirs["losses"],
                       "peer": "PyTorch " + theirs["torch"]}, file, indent=1)
    good = math.isfinite(worst) and first < 1e-5 and worst < 5e-3
    print("the curves agree" if good else "the curves DISAGREE")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
