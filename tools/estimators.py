#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What follows from the rows of src/learn/algorithms.def.

estimators.py --python OUT     the package's modules of estimators (cluster.py, ...), written into OUT: readable classes with real
                               signatures, defaults, constraints and docstrings. Done at every build.
estimators.py --docs --write   docs/estimators.md (the table, files, streams) and docs/estimators/NAME.md, a page each
estimators.py --docs --check   exit status 1 where those pages say something else than the rows and the algorithms' files"""
import os
import re
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEARN = os.path.join(ROOT, "src", "learn")
STRING = r'"(?:[^"\\]|\\.)*"'
ROW = re.compile(r"^([A-Z]+)\(((?:%s|[^()\"])*)\)" % STRING, re.M)
FIELD = re.compile(r"((?:%s\s*)+)|(\w+)" % STRING)


def algorithms():
    """[{name, class, module, kind, input, about, parameters, fitted, methods}], as `samebits describe --json` tells them."""
    with open(os.path.join(LEARN, "algorithms.def"), encoding="utf-8") as file:
        text = re.sub(r"^//[^\n]*$", "", file.read(), flags=re.M)
    found = []
    for kind, inside in ROW.findall(text):
        fields = ["".join(part[1:-1] for part in re.findall(STRING, strings)) if strings else word for strings, word in FIELD.findall(inside)]
        if kind == "ALGORITHM":
            keys = ("name", "class", "module", "kind", "input", "about")
            found.append(dict(zip(keys, fields), parameters=[], fitted=[], methods=[]))
            continue
        own = found[-1]
        if fields[0] != own["name"]:
            sys.exit(f"estimators: a row of {fields[0]} stands among those of {own['name']}")
        if kind in ("PARAMETER", "SURFACE"):
            own["parameters"].append(dict(zip(("name", "type", "default", "about"), fields[1:]), surface=kind == "SURFACE"))
        elif kind in ("FITTED", "KEPT"):
            own["fitted"].append(dict(zip(("name", "dtype", "shape", "about"), fields[1:]), kept=kind == "KEPT"))
        elif kind == "METHOD":
            own["methods"].append(dict(zip(("name", "dtype", "shape", "about"), fields[1:])))
    return found


# ---- types of parameters


def alternatives(kind):
    return [part.strip() for part in kind.split("|")]


def interval(word, text):
    """scikit-learn's Interval for `int [1, inf)`; without a range everything finite."""
    if not text:
        return f"Interval({word}, None, None, closed=\"neither\")"
    low, high = (None if end.strip() in ("inf", "-inf") else end.strip() for end in text[1:-1].split(","))
    closed = {"[]": "both", "[)": "left", "(]": "right", "()": "neither"}[text[0] + text[-1]]
    if high is None and closed in ("both", "right") and word == "Integral":  # (of reals: infinity belongs to it)
        closed = "left" if closed == "both" else "neither"
    if low is None and closed in ("both", "left") and word == "Integral":
        closed = "right" if closed == "both" else "neither"
    return f"Interval({word}, {low}, {high}, closed=\"{closed}\")"


def constraint(name, kind):
    if kind == "dtype":
        return '"no_validation"'
    out, words = [], []
    for one in alternatives(kind):
        head, _, rest = one.partition(" ")
        if one[0] == "'":
            words.append(one[1:-1])
        elif head == "none":
            out.append("None")
        elif head == "nan":
            out.append("np.nan")
        elif head == "callable":
            out.append("callable")
        elif head == "entry":
            out.append("MissingValues()" if name == "missing_values" else "str")
        elif head == "bool":
            out.append('"boolean"')
        elif head == "int":
            out.append(interval("Integral", rest))
        elif head == "real":
            out.append(interval("Real", rest))
        elif head == "seed":
            out += ['"random_state"', interval("Integral", f"[0, {2**64 - 1}]"), 'HasMethods("integers")']
        elif head == "array":
            out.append("dict" if name == "class_weight" else '"array-like"')
        elif head == "numbers":
            out.append("tuple")
        else:
            sys.exit(f"estimators: the type {kind!r}")
    if words:
        out.append("StrOptions({" + ", ".join(f'"{word}"' for word in words) + "})")
    return "[" + ", ".join(out) + "]"


def default(parameter):
    text, kinds = parameter["default"], [one.split(" ")[0] for one in alternatives(parameter["type"])]
    if text in ("true", "false"):
        return text.capitalize()
    if text == "none":
        return "None"
    if f"'{text}'" in kinds:
        return f'"{text}"'
    if "numbers" in kinds:
        return "(" + text.replace(",", ", ") + ("" if "," in text else ",") + ")"
    if text == "nan" or kinds == ["dtype"]:
        return f"np.{text}"
    if text == "inf":
        return 'float("inf")'
    return text if "int" in kinds or "." in text or "e" in text else text + ".0"


def hint(parameter):
    """The type as Python writes it."""
    words = {"none": "None", "nan": "float", "bool": "bool", "int": "int", "real": "float", "numbers": "tuple[float, ...]", "array": "Matrix", "seed": "Any", "dtype": "Any", "callable": "Any", "entry": "Any"}
    kinds = [words.get(one.split(" ")[0], "str") for one in alternatives(parameter["type"])]
    return " | ".join(dict.fromkeys(kinds))


def told(parameter):
    """The type as a docstring says it."""
    words = []
    for one in alternatives(parameter["type"]):
        head, _, rest = one.partition(" ")
        if head == "array":
            words.append("dict of weights by class" if parameter["name"] == "class_weight" else "list of arrays" if not rest else f"array of shape ({', '.join(rest.split())})")
        elif head == "seed":
            words.append("int, numpy Generator or RandomState")
        else:
            words.append({"none": "None", "nan": "nan", "dtype": "type of numbers", "entry": "word", "numbers": f"tuple of {rest} floats".replace("  ", " "), "int": f"int {rest}".strip(), "real": f"float {rest}".strip()}.get(head, one.replace("'", '"')))
    return ", ".join(words) + f", default={default(parameter)}"


# ---- Python

MIXINS = {"regressor": ["RegressorMixin"], "classifier": ["ClassifierMixin"], "clusterer": ["ClusterMixin"], "transformer": [],
          "density": ["DensityMixin"], "search": []}
OWN = {"CodedMixin": "_encoders", "HotMixin": "_encoders", "Encoder": "_encoders", "NamedFeaturesOutMixin": "_estimator", "Neighbors": "_neighbors", "RadiusNeighbors": "_neighbors",
       "Imputer": "_imputer", "SparseCoefficients": "_linear", "Sparsifiable": "_linear"} # what is not scikit-learn's
IGNORED = {("standard_scaler", "transform"): "copy: bool | None = None", ("standard_scaler", "inverse_transform"): "copy: bool | None = None",
           ("lasso", "fit"): "check_input: bool = True", ("elastic_net", "fit"): "check_input: bool = True"} # more arguments, for scikit-learn's sake
WRITTEN = ("kneighbors", "radius_neighbors", "transform_csr") # methods that stand in those


def shape_of(text):
    axes = text.split()
    return "number" if not axes else f"array of shape ({', '.join(axes)}{',' if len(axes) == 1 else ''})"


def mixins(a):
    methods = {m["name"]: m for m in a["methods"]}
    names = []
    if "transform" in methods:
        features = {"n d": "OneToOneFeatureMixin", "n out": "NamedFeaturesOutMixin"}
        names += ["TransformerMixin", features.get(methods["transform"]["shape"], "ClassNamePrefixFeaturesOutMixin")]
    if "categories" in a["input"].split():
        names += ["CodedMixin" if methods["transform"]["shape"] == "n d" else "HotMixin", "Encoder"]
    if "kneighbors" in methods:
        names.append("RadiusNeighbors" if "radius_neighbors" in methods else "Neighbors")
    if a["name"] == "simple_imputer":
        names.append("Imputer")
    if a["name"] in ("lasso", "elastic_net"):
        names.append("SparseCoefficients")
    if a["name"] == "logistic_regression":
        names.append("Sparsifiable")
    if "targets" in a["input"].split():
        names.append("MultiOutputMixin")
    return names + MIXINS[a["kind"]]


def wrapped(text, indent, width=100):
    return textwrap.fill(" ".join(text.split()), width, initial_indent=indent, subsequent_indent=indent)


def method_text(a, m):
    words, needs_y = a["input"].split(), {"target", "classes"} & set(a["input"].split())
    weights, y = "weights" in words or m["name"] == "score" and "score_weights" in words, "y: Vector" if needs_y else "y: Vector | None = None"
    weight = ", sample_weight: Vector | None = None" if weights else ""
    name = m["name"]
    if not m["dtype"]:
        named = name == "partial_fit" and "classes" in words
        arguments, gives = f"self, X: Matrix, {y}" + (", classes: Vector | None = None" if named else "") + weight, "Self"
        call = f'self._fit("{name}", X, y' + (", sample_weight" if weights else "") + (", classes=classes)" if named else ")")
        result = "self"
    elif name == "score":
        arguments, gives = f"self, X: Matrix, {y}{weight}", "float"
        call = f'self._score(X, {"y" if needs_y else "None"}' + (", sample_weight)" if weights else ")")
        result = "score : float"
    else:
        arguments, gives, call = "self, X: Matrix", "np.ndarray", f'self._call("{name}", X)'
        result = f"result : {shape_of(re.sub(r'^n', 'n_samples', m['shape']))}"
    taken = ["        X : array of shape (n_samples, n_features)"]
    if name.startswith("get_"):
        arguments, gives, call, taken = "self", "np.ndarray", f'self._give("{name}")', []
    elif name.startswith("sample"):
        arguments, gives, call, taken = "self, n_samples: int = 1", "Any", f'self._give("{name}", n_samples)', ["        n_samples : int"]
    ignored = IGNORED.get((a["name"], name), "")
    arguments += f", {ignored}" if ignored else ""
    if " y:" in arguments:
        taken.append("        y : " + (("array of shape (n_samples,)" + (" or (n_samples, n_targets)" if "targets" in words else "")) if needs_y
                                       else "None, not used; there for scikit-learn's sake"))
    if "classes:" in arguments:
        taken.append("        classes : array of all classes that will come; needed at the first call")
    if "sample_weight" in arguments:
        taken.append("        sample_weight : array of shape (n_samples,) or None")
    if ignored:
        taken.append(f"        {ignored.split(':')[0]} : not used, there for scikit-learn's sake")
    lines = [f"    def {name}({arguments}) -> {gives}:", f'        """{m["about"]}'] + (["", "        Parameters", "        ----------", *taken] if taken else [])
    lines += ["", "        Returns", "        -------", f"        {result}", '        """', f"        return {call}"]
    return lines


def example(a):
    words, fitted = a["input"].split(), [f for f in a["fitted"] if not f["kept"]]
    lines = [">>> import numpy as np", f">>> from samebits.{a['module']} import {a['class']}",
             ">>> X = np.array([[1., 2.], [1., 4.], [1., 0.], [4., 2.], [4., 4.], [4., 1.]])"]
    fit = "X"
    if "target" in words:
        lines.append(">>> y = X @ np.array([1., 2.]) + 3.")
        fit = "X, y"
    elif "classes" in words:
        lines.append(">>> y = np.array([0, 0, 0, 1, 1, 1])")
        fit = "X, y"
    first = next((p["name"] for p in a["parameters"] if p["name"] in ("n_clusters", "n_components")), None)
    lines.append(f">>> model = {a['class']}({first + '=2' if first else ''}).fit({fit})")
    lines += [f">>> len(model.digest())", "64"]
    shown = next((f for f in fitted if f["shape"] in ("d", "t d")), None)
    if shown:
        lines += [f">>> model.{shown['name']}_.shape", "(2,)"]
    return lines


def class_text(a):
    parameters, methods = a["parameters"], a["methods"]
    lines = [f"class {a['class']}({', '.join(mixins(a) + ['Estimator'])}):", f'    """{a["about"]}', "",
             "    The same bits on every machine, at any number of threads.", "", "    Parameters", "    ----------"]
    for p in parameters:
        lines += [f"    {p['name']} : {told(p)}", wrapped(p["about"], "        ")]
    lines += ["", "    Attributes", "    ----------"]
    for f in a["fitted"]:
        if not f["kept"]:
            absent = " or None" if f["dtype"].endswith("?") else ""
            lines += [f"    {f['name']}_ : {shape_of(f['shape'])}{absent}", wrapped(f["about"], "        ")]
    lines += ["    n_features_in_ : int", "        Number of features of the fit."]
    lines += ["", "    Examples", "    --------"] + ["    " + line for line in example(a)] + ['    """', ""]
    lines += [f'    _algorithm, _input = "{a["name"]}", "{a["input"]}"',
              f"    _sent = ({', '.join(repr(p['name']) for p in parameters if not p['surface'])},)".replace("'", '"'),
              *([f"    _lists = ({', '.join(repr(p['name']) for p in parameters if 'numbers' in p['type'])},)".replace("'", '"')]
                if any("numbers" in p["type"] for p in parameters) else []),
              f"    _fitted = ({', '.join(repr(f['name']) for f in a['fitted'] if not f['kept'])},)".replace("'", '"'),
              "    _parameter_constraints = {"]
    lines += [f'        "{p["name"]}": {constraint(p["name"], p["type"])},' for p in parameters] + ["    }", ""]
    first, *rest = parameters
    given = [f"{p['name']}: {hint(p)} = {default(p)}".replace(" ", "\0") for p in [first] + rest] # (a line ends between parameters)
    signature = ", ".join(["self", given[0]] + (["*"] if rest else []) + given[1:])
    wrapped_lines = textwrap.wrap(f"def __init__({signature})\0->\0None:", 116, initial_indent="    ", subsequent_indent="                 ", break_on_hyphens=False)
    lines += [line.replace("\0", " ") for line in wrapped_lines]
    lines += [f"        self.{p['name']} = {p['name']}" for p in parameters]
    for m in methods:
        lines += [""] + method_text(a, m) if m["name"] not in WRITTEN else []
    if a["kind"] == "density" and any(m["name"] == "predict" for m in methods):
        lines += ["", "    def fit_predict(self, X, y=None):", '        """fit, then predict on the same X."""', "        return self.fit(X).predict(X)"]
    return lines


def write_python(out):
    modules = {}
    for a in algorithms():
        modules.setdefault(a["module"], []).append(a)
    os.makedirs(out, exist_ok=True)
    for module, own in modules.items():
        used = sorted({name for a in own for name in mixins(a)})
        text = "\n\n\n".join("\n".join(class_text(a)) for a in own)
        words = [word for word in ("HasMethods", "Interval", "MissingValues", "StrOptions") if word + "(" in text]
        lines = ["# SPDX-License-Identifier: Apache-2.0", f'"""Estimators named as in sklearn.{module}. Written by tools/estimators.py from src/learn/algorithms.def."""']
        numbers = [word for word in ("Integral", "Real") if f"({word}," in text]
        lines += ["from __future__ import annotations", ""] + ([f"from numbers import {', '.join(numbers)}"] if numbers else [])
        lines += [f"from typing import {'Any, ' if ': Any' in text or '| Any' in text or '-> Any' in text else ''}Self", ""]
        if "= np." in text or "np.nan" in text or "-> np." in text:
            lines.append("import numpy as np")
        lines += [f"from sklearn.base import {', '.join(name for name in used if name not in OWN)}"]
        if words:
            lines.append(f"from sklearn.utils._param_validation import {', '.join(words)}")
        own_names = {"_estimator": ["Estimator", "Matrix", "Vector"]}
        for name in used:
            if name in OWN:
                own_names.setdefault(OWN[name], []).append(name)
        lines += [""] + [f"from samebits.{file} import {', '.join(names)}" for file, names in own_names.items()] + ["",
                  f"__all__ = {[a['class'] for a in own]}".replace("'", '"'), "", "", text, ""]
        with open(os.path.join(out, f"{module}.py"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
    with open(os.path.join(out, "_classes.py"), "w", encoding="utf-8") as file:
        file.write("# SPDX-License-Identifier: Apache-2.0\n\"\"\"The estimators by algorithm. Written by tools/estimators.py.\"\"\"\nCLASSES = {\n" + "".join(
            f'    "{a["name"]}": ("samebits.{a["module"]}", "{a["class"]}"),\n' for a in algorithms()) + "}\n")


# ---- docs


def source_of(name):
    for folder, _, files in os.walk(LEARN):
        for file in sorted(files):
            if file.endswith(".c"):
                with open(os.path.join(folder, file), encoding="utf-8") as text:
                    text = text.read()
                if re.search(rf"^sb_status sbi_{name}_fit\(", text, re.M) and file != "rows.c":
                    return os.path.relpath(os.path.join(folder, file), ROOT), text
    sys.exit(f"estimators: no file holds sbi_{name}_fit")


def opening(text):
    lines = []
    for line in text.split("\n")[1:]:
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    return "\n".join(lines)


def page(a):
    path, text = source_of(a["name"])
    lines = [f"# {a['class']}", "", a["about"], "", f"`sklearn.{a['module']}.{a['class']}`; in C and on the command line `{a['name']}`; written in `{path}`. "
             "This page is made from the rows of `src/learn/algorithms.def` and the head of that file (`tools/estimators.py`).", "",
             "## Parameters", "", "| name | type | default | |", "| --- | --- | --- | --- |"]
    for p in a["parameters"]:
        lines.append(f"| `{p['name']}` | {p['type'].replace('|', 'or')} | `{p['default']}` | {p['about']}{' (Python only.)' if p['surface'] else ''} |")
    lines += ["", "## Fitted arrays", "", "| name | dtype | shape | |", "| --- | --- | --- | --- |"]
    for f in a["fitted"]:
        lines.append(f"| `{f['name']}` | {f['dtype'].replace('?', ', may be absent')} | ({f['shape']}) | {f['about']}{' (For partial_fit.)' if f['kept'] else ''} |")
    lines += ["", "## Methods", "", "| name | gives | |", "| --- | --- | --- |"]
    for m in a["methods"]:
        gives = f"{m['dtype']} ({m['shape']})" if m["dtype"] else ""
        lines.append(f"| `{m['name']}` | {gives} | {m['about']} |")
    body = opening(text).split("\n", 1)
    return "\n".join(lines + ["", "## How", "", body[1].strip() if len(body) > 1 else body[0], ""])


def overview():
    with open(os.path.join(LEARN, "overview.md"), encoding="utf-8") as file:
        head = file.read().rstrip("\n")
    lines = [head, "", "## The algorithms", "", "| class | name | kind | methods | takes |", "| --- | --- | --- | --- | --- |"]
    for a in sorted(algorithms(), key=lambda a: (a["module"], a["class"])):
        methods = ", ".join(m["name"] for m in a["methods"])
        lines.append(f"| [`{a['module']}.{a['class']}`](estimators/{a['name']}.md) | `{a['name']}` | {a['kind']} | {methods} | {', '.join(word for word in a['input'].split() if word != 'linear')} |")
    return "\n".join(lines + [""])


def metrics():
    """The page of the metrics, from the rows of src/learn/metrics.def and the heads of their files."""
    with open(os.path.join(LEARN, "metrics.def"), encoding="utf-8") as file:
        text = re.sub(r"^//[^\n]*$", "", file.read(), flags=re.M).replace("\\\n", " ")
    shared = dict(re.findall(r"^#define (\w+)\(metric\)(.*)$", text, re.M))
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    for name, body in shared.items():
        text = re.sub(rf"^{name}\((\w+)\)", lambda found, body=body: re.sub(r"\s*SETTING\(metric,", f"\nSETTING({found[1]},", body), text, flags=re.M)
    lines = ["# Metrics", "", "scikit-learn's metrics, by its names, each with the bits of its definition on every machine: `sb_metric` in C, `samebits metric NAME` on the",
             "command line, `samebits.metrics` in Python with the signatures of `sklearn.metrics` (there classes and clusters may be words). Weights are",
             "float64, not negative. This page is made from `src/learn/metrics.def` and the heads of the files (`tools/estimators.py`).", ""]
    for kind, inside in ROW.findall(text):
        fields = ["".join(part[1:-1] for part in re.findall(STRING, strings)) if strings else word for strings, word in FIELD.findall(inside)]
        if kind == "METRIC":
            lines.append(f"- **{fields[0]}** (of {fields[1].replace(' weights', ', weighted')}): {fields[-1]}")
        else:
            lines.append(f"  - `{fields[1]}` {fields[2].replace('|', 'or')}, default `{fields[3]}`: {fields[4]}")
    for part in ("classes", "scores", "values", "clusters"):
        with open(os.path.join(LEARN, "metrics", f"metrics_of_{part}.c"), encoding="utf-8") as file:
            lines += ["", f"## How: {part}", "", opening(file.read()).split("\n", 2)[2].strip()]
    return "\n".join(lines + [""])


def docs(write):
    pages = {"docs/estimators.md": overview(), "docs/metrics.md": metrics()} | {f"docs/estimators/{a['name']}.md": page(a) for a in algorithms()}
    folder = os.path.join(ROOT, "docs", "estimators")
    there = {f"docs/estimators/{name}" for name in os.listdir(folder)} if os.path.isdir(folder) else set()
    faults = sorted(there - pages.keys())
    for path, text in pages.items():
        full = os.path.join(ROOT, path)
        same = os.path.exists(full) and open(full, encoding="utf-8").read() == text
        if not same and write:
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        elif not same:
            faults.append(path)
    if faults:
        sys.exit(f"not what the rows say (tools/estimators.py --docs --write): {', '.join(faults)}")
    print(f"{len(pages) - 2} algorithms, the metrics")


if sys.argv[1:2] == ["--python"] and len(sys.argv) == 3:
    write_python(sys.argv[2])
elif sys.argv[1:] in (["--docs", "--write"], ["--docs", "--check"]):
    docs(sys.argv[2] == "--write")
else:
    sys.exit(__doc__)
