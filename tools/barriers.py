#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Barriers of the kernel texts stand where a compiler need not copy what follows them: in a branch only by WHEN, in a loop only
where its condition is TOGETHER's (dialect/c.h says why).

barriers.py BUILD

Reads BUILD/kernels/*.opencl, prints each place where that is not so, and ends with 1 if there is one."""
import pathlib
import re
import sys

HEAD = re.compile(r"\b(if|for|while)\s*\(")


def close(text, at, pair):
    """The place behind the bracket that closes the one at `at`."""
    depth = 0
    while True:
        depth += {pair[0]: 1, pair[1]: -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            return at


def body(text, at):
    """(its text, the place behind it) of the statement at `at`."""
    while text[at].isspace():
        at += 1
    if text[at] == "{":
        end = close(text, at, "{}")
        return text[at:end], end
    head = HEAD.match(text, at)
    if head:
        return text[at:body(text, close(text, head.end() - 1, "()"))[1]], body(text, close(text, head.end() - 1, "()"))[1]
    end = text.index(";", at) + 1
    return text[at:end], end


def functions(text):
    """{name: body} of a text."""
    found = {}
    for head in re.finditer(r"^(?:static inline|__kernel) [^;={]*?(\w+)\(", text, re.M):
        at = close(text, head.end() - 1, "()")
        while text[at].isspace():
            at += 1
        if text[at] == "{":
            found[head[1]] = text[at:close(text, at, "{}")]
    return found


def faults(text):
    """(function, what is wrong) of a text."""
    found = functions(text)
    waits = {name for name, inside in found.items() if re.search(r"\bbarrier\(", inside)}
    while True:  # and what calls such
        more = {n for n, inside in found.items() if n not in waits and any(re.search(rf"\b{w}\(", inside) for w in waits)}
        if not more:
            break
        waits |= more
    barrier = re.compile(r"\b(?:%s)\(" % "|".join(sorted(waits | {"barrier"})))
    for name in sorted(waits):
        inside = found[name]
        for head in HEAD.finditer(inside):
            end = close(inside, head.end() - 1, "()")
            condition, what = inside[head.end():end], body(inside, end)[0] if not re.match(r"\s*;", inside[end:]) else ""
            if barrier.search(what) and (head[1] != "for" or "barrier(" not in condition):
                yield name, f"a barrier in `{head[1]} ({' '.join(condition.split())}`"
        for other in re.finditer(r"\belse\b", inside):
            if not HEAD.match(inside[other.end():].lstrip()) and barrier.search(body(inside, other.end())[0]):
                yield name, "a barrier in an `else`"


def main():
    wrong = 0
    for path in sorted(pathlib.Path(sys.argv[1], "kernels").glob("*.opencl")):
        for name, what in faults(path.read_text()):
            print(f"{path.stem}: {name}: {what} (WHEN and TOGETHER of dialect/c.h)")
            wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
