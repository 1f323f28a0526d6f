#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""man/samebits.1 from the command's own --help: manual.py COMMAND --check says whether they are the same, --write makes
them so. What no --help says (the environment, where to read on) stands here."""
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "man" / "samebits.1"
ENVIRONMENT = {
    "SAMEBITS_ISA": "the CPU level that runs: plain, v1, v3, v4, neon or reverse; without it the best that the machine has",
    "SAMEBITS_THREADS": "how many threads, 1 to 1024; without it one a usable core",
    "SAMEBITS_DEVICE": "the device: cpu, opencl:P.D, cuda:N or hip:N (doctor lists them); without it the CPU",
    "SAMEBITS_TRACE": "a file that gets one line of JSON for every operation; samebits bisect compares two of them",
    "SAMEBITS_TILE": "how many rows and columns a tile of products has on a device: 128, 64 or 32, for tests; without it a table chooses",
    "SAMEBITS_CACHE": "a folder for the programs of devices; empty: none is kept; without it samebits in $XDG_CACHE_HOME or ~/.cache",
}


def text(words):
    words = words.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", words, flags=re.M)


def ask(command, *arguments):
    return subprocess.run([command, *arguments, "--help"], check=True, capture_output=True, text=True).stdout


def parts(said):
    """usage line, paragraphs, [(flag, help)] of one --help."""
    usage, _, rest = said.partition("\n")
    lines = rest.strip("\n").split("\n")
    flags = [(f.group(1).strip(), f.group(2).strip()) for f in (re.match(r"  (--\S+(?: \S+)?) +(\S.*)$", line) for line in lines) if f]
    about = [line for line in lines if not line.startswith("  ")]
    return usage.removeprefix("usage: "), "\n".join(about).strip("\n"), flags


def section(command, *path):
    usage, about, flags = parts(ask(command, *path))
    out = [f".SS {text(' '.join(path))}", f".B {text(usage)}", ".PP", text(about)]
    for flag, help_text in flags:
        out += [".TP", f".B {text(flag)}", text(help_text)]
    return out


def listed(said):
    return re.findall(r"^  (\w+) +(\S.*)$", said, re.M)


def page(command):
    top = ask(command)
    version = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout.split(",")[0]
    title, status = top.split("\n", 1)[0].split(": ", 1)[1], re.search(r"exit status: (.*)", top).group(1)
    out = ['.\\" SPDX-License-Identifier: Apache-2.0', '.\\" Made by tools/manual.py --write from the command\'s --help: do not edit.',
           f'.TH SAMEBITS 1 "" "{version}" "User Commands"', ".SH NAME", f"samebits \\- {text(title)}", ".SH SYNOPSIS",
           ".B samebits", ".I COMMAND", "[\\-\\-help] ...", ".br", ".B samebits", "\\-\\-version", ".SH DESCRIPTION",
           "samebits trains and infers with the same bits on any CPU, with any number of threads or processes, in every",
           "release of the same numerical contract. The commands:"]
    for name, about in listed(top):
        out += [".TP", f".B {name}", text(about)]
    out.append(".SH COMMANDS")
    for name, _ in listed(top):
        out += section(command, name)
        if name == "lm":
            for inner, about in listed(ask(command, "lm")):
                out += section(command, "lm", inner, *(["compare"] if inner == "ledger" else []))
    out += [".SH EXIT STATUS", text(status) + "."]
    out.append(".SH ENVIRONMENT")
    for name, about in ENVIRONMENT.items():
        out += [".TP", f".B {name}", text(about)]
    out += [".SH SEE ALSO", "samebits.h, the manual of the library; docs/ in the sources: contract.md, verify.md, trace.md, lm.md, estimators.md."]
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("--check", "--write"):
        print(__doc__)
        return 2
    read = {name for room in ("src", "cli") for file in (PAGE.parent.parent / room).rglob("*.c")
            for name in re.findall(r'"(SAMEBITS_[A-Z]+)"', file.read_text(encoding="utf-8"))}
    if read != set(ENVIRONMENT):
        print(f"tools/manual.py describes other variables than are read: {' '.join(sorted(read ^ set(ENVIRONMENT)))}")
        return 1
    made = page(sys.argv[1])
    if sys.argv[2] == "--write":
        PAGE.write_text(made, encoding="ascii")
        return 0
    if PAGE.read_text(encoding="ascii") != made:
        print(f"man/samebits.1 is not what --help says: tools/manual.py {sys.argv[1]} --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
