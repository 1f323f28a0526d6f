# SPDX-License-Identifier: Apache-2.0
"""Recordings of what fitted estimators gave, and their replay (docs/replay.md)."""
from __future__ import annotations

import ctypes
import json
import os
from typing import Any

import numpy as np

from samebits import _library
from samebits._estimator import Estimator, Matrix
from samebits._library import c

__all__ = ["Replay", "record", "replay"]


class Replay:
    """What a replay found: `verdict` ("IDENTICAL", "DIFFERENT", "REFUSED"), `text` in lines, `document`, the evidence document as a dict."""

    def __init__(self, text: str, document: dict[str, Any]) -> None:
        self.text, self.document = text, document
        self.verdict = document["replay"]["verdict"]

    def __bool__(self) -> bool:
        return self.verdict == "IDENTICAL"

    def __repr__(self) -> str:
        return f"Replay({self.verdict})"


def _steps(fitted: Any) -> list[tuple[str, Any]]:
    """[(name, estimator)] of an estimator of ours, or of a Pipeline of such."""
    steps = [(name, step) for name, step in fitted.steps if step not in (None, "passthrough")] if hasattr(fitted, "steps") else [("", fitted)]
    for name, step in steps:
        if not isinstance(step, Estimator):
            raise TypeError(f"the step {name!r} is a {type(step).__name__}: a recording takes estimators of samebits (samebits.from_sklearn)")
        if not hasattr(step, "_model"):
            raise _library.StateError("SB_ERR_STATE", "estimator", f"this {type(step).__name__} instance is not fitted yet: fit it before it is recorded")
    if not steps:
        raise ValueError("a Pipeline without steps has nothing to record")
    return steps


def record(fitted: Any, X: Matrix, path: str | os.PathLike[str], *, method: str | None = None, values: bool = True, threshold: float | None = None,
           note: str | None = None) -> str:
    """Runs a fitted estimator, or a Pipeline whose steps are all of samebits, over X [n, d] and keeps models, input, output and their
    hashes in a file. Returns the number of the recording, 64 letters, by which it is known.

    method: of the last step; None: predict where it has that, else transform. values=False keeps hashes only: neither X nor the output is
    in the file, and who replays it brings X. threshold: a row's decision is whether its last number is at least that.

    >>> import os, tempfile
    >>> import samebits
    >>> from samebits.preprocessing import StandardScaler
    >>> X = [[0.0, 1.0], [2.0, 5.0], [4.0, 3.0]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "scaled.recording")
    ...     number = samebits.record(StandardScaler().fit(X), X, path)
    ...     samebits.replay(path)
    Replay(IDENTICAL)
    """
    steps = _steps(fitted)
    names, estimators = [name.encode() or None for name, _ in steps], [step for _, step in steps]
    X, _ = estimators[0]._validated(X, False)  # pylint: disable=protected-access
    data = _library.Data(X)
    models = (ctypes.c_void_p * len(steps))(*(step._model.here().handle for step in estimators))  # pylint: disable=protected-access
    method = ("predict" if hasattr(estimators[-1], "predict") else "transform") if method is None else method
    options = c.sb_record_options(
        size=ctypes.sizeof(c.sb_record_options), models=models, model_count=len(steps), names=(ctypes.c_char_p * len(steps))(*names),
        method=_library.text_of("method", method), data=ctypes.pointer(data.struct), hashes_only=not values, thresholded=threshold is not None,
        threshold=0.0 if threshold is None else threshold, note=None if note is None else _library.text_of("note", note))
    _, _, document = _library.report("sb_record", _library.context(), ctypes.byref(options), _library.whole(os.fsencode(path)))
    return json.loads(document)["references"]


def replay(path: str | os.PathLike[str], X: Matrix | None = None, *, report: str | os.PathLike[str] | None = None) -> Replay:
    """Computes a recording again, on the device of the configuration, and says whether the same came out: a Replay, true where IDENTICAL.

    X [n, d]: the input, where the recording holds hashes only; another than was recorded is refused. report: a file for a page of HTML
    that a reviewer can read and sign.

    >>> import os, tempfile
    >>> import samebits
    >>> from samebits.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "hashes.recording")
    ...     number = samebits.record(LinearRegression().fit(X, y), X, path, values=False)
    ...     samebits.replay(path, X).document["references"] == number
    True
    """
    data = None
    if X is not None:
        X = X if hasattr(X, "indptr") else np.asarray(X)
        if X.dtype.kind == "c":
            raise ValueError("Complex data not supported: X")
        data = _library.Data(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64))
    options = c.sb_replay_options(size=ctypes.sizeof(c.sb_replay_options), data=ctypes.pointer(data.struct) if data else None)
    _, text, document = _library.report("sb_replay", _library.context(), _library.whole(os.fsencode(path)), ctypes.byref(options),
                                        page=None if report is None else _library.whole(os.fsencode(report)))
    return Replay(text, json.loads(document))
