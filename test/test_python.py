#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_python.py BUILD: the Python package against its own source rules, then, in an environment of its own with numpy and
scikit-learn (and pandas, for set_output) from the package index (BUILD/venv, kept), python_cases.py and the guide (test_guide.py).

The source rules: no arithmetic on data. What numpy is called for is on a list (conversion, shape, indexing), scipy is not
imported, and no operator computes but on text and on constants. What it asks of Python is what pyproject.toml says (vermin; the
versions that are not at hand are looked at by it alone), and no text of it warns when it is compiled."""
import ast
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGES = ["numpy", "scikit-learn", "pandas", "mpmath", "vermin", "mypy"]
NUMPY = set("""array asarray ascontiguousarray empty frombuffer from_dlpack isscalar ndim unique ndarray dtype bool_ integer float32 nan float64 int64
    uint8 uint64 random result_type ones can_cast""".split())
REFUSED = set("""sum mean std var dot prod cumsum cumprod min max argmin argmax clip round matmul trace ptp add subtract multiply divide power sqrt
    exp log abs""".split())


def arithmetic(path):
    """Lines of a file that compute."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    hints = [hint for node in ast.walk(tree) for hint in (getattr(node, "annotation", None), getattr(node, "returns", None)) if hint]
    types = {id(node) for hint in hints for node in ast.walk(hint)}
    for node in ast.walk(tree):
        if id(node) in types:
            continue
        words = ""
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            held = names[-1] == "scipy.sparse" and set(names[:-1]) <= {"csr_matrix", "hstack"}  # a container
            words = "imports what computes" if not held and any(re.match(r"(scipy|math|statistics|numpy\.(?!typing))", name) for name in names) else ""
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("np", "_np") and node.attr not in NUMPY:
            words = f"numpy.{node.attr} is not on the list"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in REFUSED:
            words = f".{node.func.attr}() computes"
        elif isinstance(node, (ast.BinOp, ast.AugAssign)):
            sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.value]
            fixed = all(isinstance(side, ast.Constant) for side in sides)
            text = isinstance(node.op, ast.Add) and any(isinstance(s, ast.JoinedStr) or (isinstance(s, ast.Constant) and isinstance(s.value, str)) for s in sides)
            kinds = isinstance(node.op, ast.Mult) and isinstance(node, ast.BinOp) and isinstance(node.left, (ast.Attribute, ast.Name)) and \
                "ctypes" in ast.dump(node.left) + ast.dump(node.right) or isinstance(node.op, ast.Mult) and isinstance(node.right, (ast.Constant, ast.Call))
            words = "" if fixed or text or kinds else f"{type(node.op).__name__}: an operator on data"
        if words:
            yield f"{os.path.relpath(path, ROOT)}:{node.lineno}: {words}"


def check_source(build):
    folder = os.path.join(ROOT, "python", "samebits")
    faults = [fault for name in sorted(os.listdir(folder)) if name.endswith(".py") for fault in arithmetic(os.path.join(folder, name))]
    made = os.path.join(build, "python", "samebits")
    written = {name for name in os.listdir(folder) if name.endswith(".py")}
    for name in sorted(os.listdir(made)):
        if name.endswith(".py") and name not in written and name != "_prototypes.py":
            faults += arithmetic(os.path.join(made, name))
    with open(os.path.join(made, "_probe.py"), "w", encoding="utf-8") as file: # the check can fail
        file.write("import numpy as np\nimport scipy\nx = np.zeros(3)\ny = x * x + x.sum()\n")
    caught = len(list(arithmetic(os.path.join(made, "_probe.py"))))
    os.remove(os.path.join(made, "_probe.py"))
    if caught != 5:
        faults.append(f"the check of sources found {caught} of 5 planted faults")
    return faults


def check_versions(python, build):
    """The oldest Python that the package's text runs on is the one that pyproject.toml asks for; its types fit each other."""
    with open(os.path.join(ROOT, "pyproject.toml"), encoding="utf-8") as file:
        oldest = re.search(r'requires-python = ">=(\d+\.\d+)"', file.read()).group(1)
    made = os.path.join(build, "python", "samebits")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "later.py"), "w", encoding="utf-8") as file:  # the checks can fail
            file.write("from typing import override\n\nnumber: int = None\n")
        lint = [os.path.join(os.path.dirname(python), "vermin"), "--no-tips", "--eval-annotations", "--violations", f"--target={oldest}-"]
        types = [python, "-m", "mypy", "--ignore-missing-imports", f"--cache-dir={folder}", f"--python-version={oldest}"]
        good, bad = ([subprocess.run([*tool, where], capture_output=True, text=True) for tool in (lint, types)] for where in (made, os.path.join(folder, "later.py")))
    compiled = subprocess.run([python, "-W", "error", "-c", "import sys, pathlib\nfor path in pathlib.Path(sys.argv[1]).glob('*.py'): "
                               "compile(path.read_text(), str(path), 'exec')", made], capture_output=True, text=True)
    return [done.stdout + done.stderr for done in [*good, compiled] if done.returncode] + [f"{done.args[0]} took a text of another Python" for done in bad if not done.returncode]


def environment(build):
    """The interpreter of BUILD/venv, which has the packages."""
    folder = os.path.join(build, "venv")
    python = os.path.join(folder, "bin", "python")
    if subprocess.run([python, "-c", "import numpy, sklearn, pandas, mpmath, vermin, mypy"], capture_output=True).returncode if os.path.exists(python) else True:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], check=True)
    return python


def main():
    build = os.path.abspath(sys.argv[1])
    faults = check_source(build)
    with open(os.path.join(ROOT, "docs", "symbols.txt"), encoding="ascii") as file:
        symbols = set(file.read().split())
    with open(os.path.join(build, "python", "samebits", "_prototypes.py"), encoding="utf-8") as file:
        prototypes = set(re.findall(r'^    "(sb_\w+)": \(', file.read(), re.M))
    faults += [f"{name}: a prototype without a symbol, or the other way round" for name in sorted(symbols ^ prototypes)]
    python = environment(build)
    faults += check_versions(python, build)
    print(*faults, sep="\n" if faults else "")
    path = {"PYTHONPATH": os.path.join(build, "python"), "PYTHONDONTWRITEBYTECODE": "1", "SAMEBITS_COMMAND": os.path.join(build, "samebits")}
    for test in (["python_cases.py", *sys.argv[2:]], ["test_guide.py", build]):
        done = subprocess.run([python, os.path.join(ROOT, "test", test[0]), *test[1:]], env=dict(os.environ, **path))
        faults += [test[0]] if done.returncode else []
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
