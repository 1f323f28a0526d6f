#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No golden line changes or goes: the tables of references/ hold every line they held when they were last published
(PUBLISHED; SAMEBITS_BASE overrides it) and in the commit before this one, unless CHANGELOG.md has got a new line
`- bits: changed ...` since. New lines are welcome. A base that git does not know here (a shallow clone) is skipped, and said
so. (That the tables are what the reference computes is `golden --check`.)"""
import os
import subprocess
import sys

import checks
from checks import check

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PUBLISHED = "257eeb9c5bd6e272fe70ce3d4a53989b6ee6d50a"
TABLES = ["references/contract-1.tsv", "references/functions-1.tsv"]


def rows(text):
    return {line for line in text.splitlines() if line and not line.startswith("#")}


def lost(before, after):
    return sorted(rows(before) - rows(after))


def events(text):
    return {line for line in text.splitlines() if line.startswith("- bits: changed")}


def at(base, path):
    run = subprocess.run(["git", "-C", ROOT, "show", f"{base}:{path}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return run.stdout.decode() if run.returncode == 0 else None


def now(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def main():
    # It sees what it is there to see.
    check(lost("a\t1\nb\t2\n", "a\t1\nb\t3\n") == ["b\t2"] and lost("a\t1\nb\t2\n", "b\t2\n") == ["a\t1"], "a planted change")
    check(lost("# old\na\t1\n", "# new\na\t1\nb\t2\n") == [], "a new line")
    for base in (os.environ.get("SAMEBITS_BASE", PUBLISHED), "HEAD^"):
        log = at(base, "CHANGELOG.md")
        if log is None:
            print(f"skipped: git does not know {base} here")
            continue
        event = events(now("CHANGELOG.md")) - events(log)
        for path in TABLES:
            gone = lost(at(base, path) or "", now(path))
            check(not gone or event, f"{path} has lost {len(gone)} lines since {base}, and CHANGELOG.md names no event; the first: {gone[:1]}")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
