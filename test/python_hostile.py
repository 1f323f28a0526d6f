# SPDX-License-Identifier: Apache-2.0
"""What nobody should pass: every parameter, X, y, weights and the functions of the package are given things of other kinds. Each call
ends in a result or in an error that a caller can expect, and an error about a parameter names it. A part of python_cases.py."""
import os
import tempfile
import warnings

import numpy as np
import pandas as pd
import scipy.sparse

import samebits
import samebits.metrics
from samebits.preprocessing import StandardScaler

EXPECTED = (ValueError, TypeError, NotImplementedError, OSError, MemoryError)
THINGS = [
    None, True, -1, 0, 1, 3, 2**63, 2**64, 10**30, -10**30, 0.5, -0.0, float("nan"), float("inf"), -float("inf"), 1e308, "", "auto", "nul\0l", "\u00e9" * 5, "x" * 5000, b"bytes", 1j,
    [], [1], [[1]], [None], ["a"], (), (0, 1), (0, 1, 2), (1, 0), ("a", "b"), {}, {0: 1}, {"a": 2}, set(), range(3), slice(1), object(), lambda x: x, np.zeros(3), np.ones((3, 4)),
    np.full((3, 4), np.nan), np.array(["a"]), np.float32(0.5), np.int8(3), np.array(3), pd.NA, np.datetime64("2020-01-01")]
UNNAMED = {"dtype", "weights_init", "feature_range", "categories", "drop"}  # what is refused in scikit-learn's or numpy's words


def tables():
    X = np.random.default_rng(0).normal(size=(30, 3))
    wrong = scipy.sparse.csr_matrix(X)
    wrong.indices[0] = 77
    structured = np.zeros(4, dtype=[("a", float), ("b", float)])
    return [
        X, X[:0], X[:, :0], X[:, 0], X[None], [[1.0, 2.0], [3.0]], np.array([[1, 2], [3, "x"]], dtype=object), X.astype(object), X + 1j, X > 0, X.astype(np.float16), X.astype(np.longdouble),
        np.ma.masked_array(X, X > 1), [[10**30, 1], [2, 3]], structured, np.where(X > 1.5, np.nan, X), np.where(X > 1.5, np.inf, X), X[::-1, ::-1], np.broadcast_to(X[0], (30, 3)), np.matrix(X),
        pd.DataFrame({"a": pd.Categorical(["x", "y"] * 15), "b": X[:, 0]}), pd.DataFrame({"a": pd.array([1, None] * 15, dtype="Int64"), "b": X[:, 0]}), pd.Series(X[:, 0]), wrong,
        scipy.sparse.csr_matrix((10, 2**40)), scipy.sparse.csr_matrix((0, 3)), scipy.sparse.coo_array(X), *THINGS]


def tried(check, label, call, name=""):
    try:
        call()
    except EXPECTED as error:
        check(not name or name in UNNAMED or name in str(error), f"{label}: {error}")
    except samebits.Error as error:
        check(error.status != "SB_ERR_INTERNAL", f"{label}: {error}")
    else:
        check(True, label)


def shown(thing):
    return f"{type(thing).__name__} {getattr(thing, 'shape', '') if hasattr(thing, 'shape') else repr(thing)[:60]}"


def estimators(check, kinds, some_data, made):
    for kind in kinds:
        X, y = some_data(kind)
        X, y, quick = X.iloc[:40], y[:40], {"max_iter": 5} if "max_iter" in kind().get_params() else {}
        for name in kind().get_params():
            for thing in THINGS:
                own = made(kind).set_params(**{**quick, name: thing})
                tried(check, f"{kind.__name__}({name}={shown(thing)})", lambda own=own: own.fit(X, y).digest(), name)
        fitted = made(kind).fit(X, y)
        for table in tables():
            shape = np.shape(table) if hasattr(table, "shape") else ()
            rows = min(shape[0], 1000) if shape else len(table) if isinstance(table, (list, tuple, str, bytes, dict)) else 3
            tried(check, f"{kind.__name__}: X {shown(table)}", lambda: made(kind).fit(table, np.arange(rows) % 2))
            tried(check, f"{kind.__name__}: X of a call {shown(table)}", lambda: getattr(fitted, "predict" if hasattr(fitted, "predict") else "transform" if hasattr(fitted, "transform") else "digest")(table))
            tried(check, f"{kind.__name__}: y {shown(table)}", lambda: made(kind).fit(X.to_numpy()[:30], table))
            if "weights" in kind._input.split():  # pylint: disable=protected-access
                tried(check, f"{kind.__name__}: weights {shown(table)}", lambda: made(kind).fit(X.to_numpy()[:30], np.arange(30) % 2, sample_weight=table))


def functions(check):
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = StandardScaler().fit(X)
    tried(check, "more than there is memory", lambda: StandardScaler().fit(np.broadcast_to(np.float64(1), (2**40, 2**10))))
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "r")
        samebits.record(model, X, place)
        for thing in [*tables(), model, StandardScaler, StandardScaler()]:
            for label, call in (("digest", samebits.digest), ("record", lambda thing=thing: samebits.record(thing, X, place)), ("record X", lambda thing=thing: samebits.record(model, thing, place)),
                                ("replay X", lambda thing=thing: samebits.replay(place, thing)), ("from_sklearn", samebits.from_sklearn)):
                tried(check, f"{label} {shown(thing)}", lambda call=call, thing=thing, label=label: call(thing) if label in ("digest", "from_sklearn") else call())
        for thing in THINGS:
            for name in ("method", "note", "threshold"):
                tried(check, f"record {name} {shown(thing)}", lambda thing=thing, name=name: samebits.record(model, X, place, **{name: thing}))
            if not isinstance(thing, (str, bytes, int)):
                tried(check, f"load {shown(thing)}", lambda thing=thing: samebits.load(thing))
    for name in dir(samebits.metrics):
        if name.endswith(("_score", "_error", "_loss", "_matrix", "_samples")):
            metric = getattr(samebits.metrics, name)
            for thing in THINGS:
                tried(check, f"{name} {shown(thing)}", lambda thing=thing, metric=metric: metric(thing, [0, 1]))
                tried(check, f"{name}, {shown(thing)}", lambda thing=thing, metric=metric: metric([0, 1], thing))


def run(check, kinds, some_data, made):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimators(check, kinds, some_data, made)
        functions(check)
