# SPDX-License-Identifier: Apache-2.0
"""samebits: the same bits on every machine. Estimators named as scikit-learn's stand in samebits.cluster, samebits.linear_model, ..."""
from __future__ import annotations

import ctypes as _ctypes
import importlib as _importlib
import json as _json
import os as _os

import numpy as _np

from samebits import _details, _library
from samebits._classes import CLASSES as _CLASSES
from samebits._estimator import Estimator as _Estimator
from samebits._library import Error, FileError, FormatError, InvalidError, OutOfMemoryError, StateError, UnsupportedError
from samebits._library import config_context, get_config, set_config, threads
from samebits._recordings import Replay, record, replay
from samebits._takeover import from_sklearn

__version__: str = _library.lib.sb_version().decode()
contract: int = _library.c.SB_CONTRACT

__all__ = ["Error", "FileError", "FormatError", "InvalidError", "OutOfMemoryError", "Replay", "StateError", "UnsupportedError", "config_context", "contract",
           "digest", "doctor", "from_sklearn", "get_config", "load", "record", "replay", "set_config", "threads", "verify"]


def digest(thing: object) -> str:
    """The digest of a fitted estimator (or a Pipeline's steps), of an array, of arrays by name.

    >>> import numpy as np
    >>> digest(np.zeros(3)) == digest({"": np.zeros(3)})
    True
    """
    if hasattr(thing, "digest"):
        return thing.digest()
    if hasattr(thing, "steps"):
        parts = {f"{number}.{name}": _np.frombuffer(bytes.fromhex(digest(step)), dtype=_np.uint8) for number, (name, step) in enumerate(thing.steps)
                 if step not in (None, "passthrough")}
        return _library.digest_arrays(parts)
    if hasattr(thing, "fit"):
        raise TypeError(f"thing: a {type(thing).__name__} is no estimator of samebits, nor a Pipeline of such (samebits.from_sklearn takes over some of scikit-learn's)")
    return _library.digest_arrays({key: _np.asarray(value) for key, value in (thing if isinstance(thing, dict) else {"": thing}).items()})


def load(path: str | _os.PathLike[str]) -> _Estimator:
    """The estimator of a model's file, wherever it was fitted: by the command, in C, here.

    >>> import os, tempfile
    >>> from samebits.preprocessing import StandardScaler
    >>> model = StandardScaler().fit([[0.0, 1.0], [2.0, 5.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "scaler.safetensors")
    ...     model.save(path)
    ...     load(path).digest() == model.digest()
    True
    """
    model = _library.load(path)
    module, name = _CLASSES[model.algorithm()]
    estimator = getattr(_importlib.import_module(module), name)()
    names, classes = model.note("feature_names"), model.note("classes")
    if classes:
        estimator.classes_ = _np.array(_json.loads(classes))
    if names:
        estimator.feature_names_in_ = _np.array(_json.loads(names), dtype=object)
    estimator.n_features_in_ = model.features()
    estimator._adjust(model)  # pylint: disable=protected-access
    estimator._take(model)  # pylint: disable=protected-access
    _details.loaded(estimator)
    return estimator


def doctor() -> bool:
    """Looks at this machine and prints what it finds: levels, threads, devices, the compiler's work; True if all conforms.

    >>> doctor()  # doctest: +ELLIPSIS
    samebits ...
    True
    """
    verdict, lines, _ = _library.report("sb_doctor")
    print(lines, end="")
    return verdict == 0


def verify(lanes: str | list[str] | None = None) -> bool:
    """Compares what this machine computes with the golden values; prints the lines; True if everything was IDENTICAL. lanes: these (a list,
    or a text with commas between), else one of each kind.

    >>> verify("softmax")  # doctest: +ELLIPSIS
    verify: ... 0 DIVERGENT, 0 REFUSED, 0 ABSENT
    True
    """
    with open(_os.path.join(_os.path.dirname(__file__), "contract-1.tsv"), "rb") as file:
        references = file.read()
    c, named = _library.c, ",".join(lanes) if isinstance(lanes, (list, tuple)) else lanes
    options = c.sb_verify_options(size=_ctypes.sizeof(c.sb_verify_options), tier=c.SB_TIER_QUICK, lanes=None if named is None else _library.text_of("lanes", named),
                                  references=references, references_size=len(references))
    verdict, lines, _ = _library.report("sb_verify", _library.context(), _ctypes.byref(options))
    print(lines, end="")
    return verdict == 0
