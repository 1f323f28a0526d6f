#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training run from outside: Ctrl-C finishes the step and saves; a worker killed is named and the run goes on without it;
the first process killed leaves no worker behind; whatever happened, the end is that of a run left alone.

test_lm_signals.py BUILD
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import checks
from checks import check

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMMAND = os.path.join(os.path.abspath(sys.argv[1]), "samebits")
DATA = os.path.join(ROOT, "data", "kjv.txt")
STEPS = 150  # long enough that a signal after step 2 finds the run at work


def lm(*arguments):
    return subprocess.run([COMMAND, "lm", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def start(*arguments):
    return subprocess.Popen([COMMAND, "lm", *arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_step(process, step):
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "step" and event["step"] >= step:
            return
    check(False, f"the run ended before step {step}: {process.stderr.read()}")


def children(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        return [int(p) for p in file.read().split()]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


with tempfile.TemporaryDirectory() as top:
    with open(os.path.join(ROOT, "recipes", "tiny.json")) as file:
        recipe = json.load(file)
    recipe["training"].update(steps=STEPS, shards=4)
    recipe["checkpoints"] = {"every": 15, "keep": 2}
    path = os.path.join(top, "recipe.json")
    with open(path, "w") as file:
        json.dump(recipe, file)

    def folder(name):
        return os.path.join(top, name)

    def train(name):
        return ["train", "--recipe", path, "--data", DATA, "--out", folder(name)]

    def ends_alike(name):
        done = lm("resume", folder(name), "--quiet", "--threads", "1")
        check(done.returncode == 0, f"{name}: {done.stdout}")
        for file_name in ("ledger.jsonl", f"step-{STEPS:09}/model.safetensors", "best.json"):
            with open(os.path.join(folder("alone"), file_name), "rb") as a, open(os.path.join(folder(name), file_name), "rb") as b:
                check(a.read() == b.read(), f"{name}: {file_name} is not that of a run left alone")

    alone = lm(*train("alone"), "--quiet", "--threads", "2")
    check(alone.returncode == 0, alone.stdout)
    workers = ["--worker", "threads=1", "--worker", "isa=plain,threads=1,shards=1"]

    for name, more in (("interrupted", ["--threads", "2"]), ("interrupted-workers", workers)):
        run = start(*train(name), *more)
        wait_for_step(run, 2)
        run.send_signal(signal.SIGINT)
        message = run.communicate()[1]
        check(run.returncode == 130 and "SB_ERR_INTERRUPTED" in message, f"{name}: exit {run.returncode}: {message}")
        ends_alike(name)

    run = start(*train("worker-killed"), *workers)
    wait_for_step(run, 2)
    pids = children(run)
    check(len(pids) == 2, f"workers: {pids}")
    os.kill(pids[1], signal.SIGKILL)
    message = run.communicate()[1]
    check(run.returncode == 3 and "SB_ERR_WORKER" in message and "worker 1 (plain, shards 3 to 3) is lost: killed by signal 9" in message,
          f"worker-killed: exit {run.returncode}: {message}")
    check(not any(alive(p) for p in pids), "a worker is left behind")
    ends_alike("worker-killed")

    run = start(*train("killed"), *workers)
    wait_for_step(run, 2)
    pids = children(run)
    run.kill()
    run.communicate()
    for _ in range(200):
        if not any(alive(p) for p in pids):
            break
        time.sleep(0.05)
    check(not any(alive(p) for p in pids), "a worker outlives the run")
    ends_alike("killed")

    compared = lm("ledger", "compare", os.path.join(folder("alone"), "ledger.jsonl"), os.path.join(folder("killed"), "ledger.jsonl"))
    check(compared.returncode == 0 and compared.stdout == f"EQUAL: {STEPS} steps\n", compared.stdout)
    bad = lm(*train("sabotaged"), "--quiet", "--until", "7", "--sabotage-step", "6")
    check(bad.returncode == 0 and "one ulp added" in bad.stdout, bad.stdout)
    compared = lm("ledger", "compare", os.path.join(folder("alone"), "ledger.jsonl"), os.path.join(folder("sabotaged"), "ledger.jsonl"))
    check(compared.returncode == 1 and compared.stdout == "DIFFERENT: first at step 6, field gradient\n", compared.stdout)
sys.exit(checks.end())
