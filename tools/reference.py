#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference of both interfaces as one page, from the texts that are their manuals: the header's comments and declarations, section by
section; the Python package's names with signatures and docstrings.

reference.py OUT.md    made at every build (build/api.md), so that it cannot say something else; a name without words is a failure"""
import ast
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.join(ROOT, "python", "samebits")
FILES = ["__init__.py", "_library.py", "_recordings.py", "_takeover.py"]


def header():
    """The header with its comments as prose and its declarations as code."""
    with open(os.path.join(ROOT, "include", "samebits.h"), encoding="utf-8") as file:
        text = file.read()
    text = text[:text.index("#ifdef __cplusplus\n}")]
    code, lines = False, []
    for line in text.splitlines()[1:]:
        title = re.match(r"// -{10,} (.*)", line)
        prose = re.match(r"// ?(.*)", line)
        if not prose and not line.strip() and not code:
            continue
        if (prose is None) != code:
            while code and not lines[-1].strip():
                lines.pop()
            lines.append("\n```c" if prose is None else "```\n")
            code = not code
        lines.append(f"## {title.group(1)}\n" if title else prose.group(1) if prose else line)
    return "\n".join(lines + (["```"] if code else []))


def names():
    """{name: node} of what the package's files define at their top."""
    found, public = {}, []
    for name in FILES:
        with open(os.path.join(PACKAGE, name), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found[node.name] = node
            if name == "__init__.py" and isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
                public = ast.literal_eval(node.value)
    return public, found


def package():
    public, found = names()
    lines, silent = [], []
    for name in sorted(public, key=str.lower):
        node = found.get(name)
        if node is None: # a constant
            continue
        words = ast.get_docstring(node)
        if not words:
            silent.append(name)
            continue
        if isinstance(node, ast.FunctionDef):
            gives = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            lines.append(f"### samebits.{name}\n\n```python\n{name}({ast.unparse(node.args)}){gives}\n```\n")
        else:
            lines.append(f"### samebits.{name}\n")
        prose, _, example = words.partition("\n>>> ")
        lines.append(prose.strip() + "\n" + (f"\n```python\n>>> {example}\n```\n" if example else ""))
    if silent:
        sys.exit(f"reference: {', '.join(silent)}: no docstring")
    return "\n".join(lines)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    page = ("# Reference\n\nWritten by `tools/reference.py` from `include/samebits.h` and `python/samebits/`. Estimators have pages of their own "
            "(`docs/estimators.md`).\n\n# Python\n\n" + package() + "\n# C\n\n" + header() + "\n")
    with open(os.path.join(ROOT, "docs", "symbols.txt"), encoding="ascii") as file:
        missing = [name for name in file.read().split() if not re.search(rf"\b{name}\(", page)]
    if missing:
        sys.exit(f"reference: {', '.join(missing)}: not in the page")
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(page)


main()
