#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_guide.py BUILD: every block of docs/guide.md, run as it stands, section by section, each in a folder of its own; what the guide
says was printed must be what is. Run by test_python.py, in an interpreter that has the package's dependencies.

test_guide.py BUILD --write puts what is printed into the guide."""
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GUIDE = os.path.join(ROOT, "docs", "guide.md")
BUILD = os.path.abspath(sys.argv[1])


def run_c(text, folder):
    with open(os.path.join(folder, "program.c"), "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-o", "program", "program.c", f"-I{ROOT}/include", os.path.join(BUILD, "libsamebits.a"), "-pthread"],
                   cwd=folder, check=True)
    return subprocess.run(["./program"], cwd=folder, check=True, capture_output=True, text=True).stdout


def run_sh(text, folder):
    environment = dict(os.environ, PATH=f"{BUILD}:{os.environ['PATH']}")
    return subprocess.run(["bash", "-euc", text], cwd=folder, check=True, capture_output=True, text=True, env=environment).stdout


def run_python(text, names):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, "guide", "exec"), names)  # pylint: disable=exec-used
    return out.getvalue()


def main():
    with open(GUIDE, encoding="utf-8") as file:
        guide = file.read()
    sections = re.split(r"(?m)^(?=## )", guide)
    written, faults, ran = [sections[0]], [], 0
    sys.path.insert(0, os.path.join(BUILD, "python"))
    for section in sections[1:]:
        title = section.split("\n", 1)[0]
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            names, printed, parts = {"__name__": "guide"}, None, re.split(r"(?ms)^```(\w+)\n(.*?)^```\n", section)
            text = parts[0]
            for kind, body, behind in zip(parts[1::3], parts[2::3], parts[3::3]):
                if kind == "text":
                    if printed != body:
                        faults.append(f"{title}: the guide says\n{body}printed was\n{printed}")
                    body, printed = printed, None
                else:
                    if printed:
                        faults.append(f"{title}: a block prints what the guide does not say:\n{printed}")
                    printed = run_c(body, folder) if kind == "c" else run_sh(body, folder) if kind == "sh" else run_python(body, names)
                    ran += 1
                text += f"```{kind}\n{body}```\n{behind}"
            os.chdir(ROOT)
        written.append(text)
    if sys.argv[2:] == ["--write"]:
        with open(GUIDE, "w", encoding="utf-8") as file:
            file.write("".join(written))
        faults = []
    print(*faults, sep="\n")
    print(f"{ran} blocks of {len(sections) - 1} uses, {len(faults)} faults")
    return bool(faults) or ran < 12


if __name__ == "__main__":
    sys.exit(main())
