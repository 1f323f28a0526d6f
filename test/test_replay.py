#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_replay.py SAMEBITS: record, replay, and compare over replays, by the command: exit statuses, files, documents, hashes alone.
Nothing but the standard library."""
import json
import os
import subprocess
import sys
import tempfile

import checks
from checks import check

COMMAND = os.path.abspath(sys.argv[1])


def run(status, *arguments):
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True)
    check(done.returncode == status, f"{arguments}: exit {done.returncode}: {done.stdout} {done.stderr}")
    return done.stdout if status in (0, 1) else done.stderr


def main():
    rows = [[(i * 37 % 101) / 7, (i * 53 % 89) / 3 - 10, (i * i % 31) / 9] for i in range(60)]
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        for name, more in (("x.csv", 0.0), ("other.csv", 1e-12)):
            with open(at(name), "w", encoding="ascii") as file:
                file.write("a,b,c,y\n" + "".join(f"{a + more!r},{b!r},{c!r},{1 + 2 * a - 3 * b + c / 2!r}\n" for a, b, c in rows))
        data = ["--data", at("x.csv"), "--target", "y"]
        run(0, "fit", "standard_scaler", *data, "--out", at("scaler"))
        run(0, "transform", at("scaler"), *data, "--out", at("z.npy"))
        with open(at("y.csv"), "w", encoding="ascii") as file:
            file.write("".join(f"{1 + 2 * a - 3 * b + c / 2!r}\n" for a, b, c in rows))
        run(0, "fit", "linear_regression", "--data", at("z.npy"), "--target", at("y.csv"), "--out", at("model"))
        models = [at("scaler"), at("model")]
        said = run(0, "record", *models, *data, "--threshold", "1.5", "--note", "first", "--out", at("r"), "--json-out", at("made.json"))
        number = said.split()[1]
        check(len(number) == 64 and "decision: threshold 1.5" in said, said)
        check(number in run(0, "record", *models, *data, "--threshold", "1.5", "--note", "first", "--no-values", "--out", at("hashes")), "one number")
        for i, more in enumerate(([], ["--threads", "1"], ["--isa", "plain"])):
            said = run(0, "replay", at("r"), "--report", at("page.html"), "--json-out", at(f"{i}.json"), *more)
            check(number in said and said.endswith("\nIDENTICAL\n"), said)
        page = open(at("page.html"), encoding="utf-8").read()
        check(number in page and "signature" in page and "<script" not in page, page)
        document = json.loads(run(0, "replay", at("r"), "--json"))
        check(document["replay"]["verdict"] == "IDENTICAL" and document["references"] == number and document["tier"] == "replay" and
              document["replay"]["rows"] == 60 and document["replay"]["first"] == [], document)
        said = run(0, "compare", at("made.json"), at("0.json"), at("1.json"), at("2.json"))
        check("group 1 computed" in said and "group 2" not in said and said.endswith("AGREE\n"), said)
        check("hashes only" in run(2, "replay", at("hashes")), "no input")
        check("not the input" in run(2, "replay", at("hashes"), "--data", at("other.csv"), "--target", "y"), "another input")
        run(0, "replay", at("hashes"), *data, "--json-out", at("3.json"))
        check(run(0, "compare", at("0.json"), at("3.json")).endswith("AGREE\n"), "with values and without")
        # A machine that computes something else: the document says so, and compare puts it into a group of its own.
        document["cells"][1]["sha256"] = "0" * 64
        with open(at("odd.json"), "w", encoding="ascii") as file:
            json.dump(document, file)
        said = run(1, "compare", at("0.json"), at("1.json"), at("odd.json"))
        check("group 2 computed" in said and "01.predict" in said and said.endswith("DIFFER\n"), said)
        run(0, "record", *models, "--data", at("other.csv"), "--target", "y", "--out", at("r2"), "--json-out", at("r2.json"))
        said = subprocess.run([COMMAND, "compare", at("0.json"), at("r2.json")], capture_output=True, text=True)
        check(said.returncode == 3 and "INCOMPARABLE" in said.stdout, said)
        for words, status, *arguments in (
                ("expected 1 to", 2, "record", *data, "--out", at("no")), ("--out", 2, "record", *models, *data),
                ("--threshold", 2, "record", *models, *data, "--threshold", "half", "--out", at("no")),
                ("no method", 2, "record", *models, *data, "--method", "predict_proba", "--out", at("no")),
                ("no method", 2, "record", *models[::-1], *data, "--out", at("no")),
                ("no method", 2, "record", at("scaler"), *data, "--method", "inverse", "--out", at("no")),
                ("expecting 3 features", 3, "record", *models, "--data", at("x.csv"), "--out", at("no")),
                ("format", 3, "record", at("r"), *data, "--out", at("no")), ("format", 3, "replay", at("model")),
                ("expected one recording", 2, "replay"), ("--target", 2, "replay", at("r"), "--target", "y"),
                ("is read as", 2, "replay", at("r"), "--json-out", at("r")),
                ("SB_ERR_IO", 3, "replay", at("r"), "--report", at("no/page.html")), ("SB_ERR_IO", 3, "replay", at("absent"))):
            said = subprocess.run([COMMAND, *arguments], capture_output=True, text=True)
            check(said.returncode == status and words in said.stderr, f"{arguments}: {said}")
        check(not os.path.exists(at("no")) and not [name for name in os.listdir(folder) if ".tmp" in name], "files that should not be")


main()
sys.exit(checks.end())
