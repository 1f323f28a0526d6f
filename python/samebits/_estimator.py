# SPDX-License-Identifier: Apache-2.0
"""What every estimator is: scikit-learn's manners in front of a model of the C library. The classes themselves are written at
build time (tools/estimators.py); what one of them does beyond that stands in _details.py."""
from __future__ import annotations

import json
import operator
import os
import secrets
import warnings
from typing import Any

import numpy as np
from sklearn import exceptions
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import _check_partial_fit_first_call, check_classification_targets
from sklearn.utils.validation import _check_feature_names_in, _check_sample_weight, check_array, check_is_fitted, validate_data

from samebits import _details, _library

_REAL = [np.float64, np.float32]
Matrix = Any  # [n, d]: an array, a DataFrame, a CSR matrix, what has DLPack or __array_interface__
Vector = Any  # [n], and what scikit-learn takes for a vector


def _seed(value):
    """The number a fit draws from: the given one, one integer of a generator, or one of the system's."""
    if value is None:
        return secrets.randbits(32)
    if value is np.random:
        value = np.random.mtrand._rand  # pylint: disable=protected-access
    if isinstance(value, np.random.Generator):
        return int(value.integers(1 << 32))
    if isinstance(value, np.random.RandomState):
        return int(value.randint(1 << 32, dtype=np.uint64))
    return int(value)


def _text(value):
    """A parameter as the library reads it."""
    if value is None:
        return "none"
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return repr(float(value))


def _value(text, many, or_none):
    """A parameter that the library wrote."""
    if many and "," in text:
        return tuple(_value(one, False, False) for one in text.split(","))
    if text == "none" and or_none:
        return None
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _canonical(X):
    """A CSR matrix in which no column of a row stands twice."""
    if hasattr(X, "indptr") and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


class NamedFeaturesOutMixin:
    """A transformer whose columns have names of their own."""

    def get_feature_names_out(self, input_features=None):
        """The names of the columns that transform gives."""
        check_is_fitted(self)
        return _details.names_out(self, _check_feature_names_in(self, input_features))


class Estimator(BaseEstimator):
    """An estimator whose arithmetic is all in the library."""

    _algorithm: str = ""
    _input: str = ""
    _sent: tuple[str, ...] = ()
    _lists: tuple[str, ...] = ()
    _fitted: tuple[str, ...] = ()
    _parameter_constraints: dict[str, Any] = {}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        words = self._input.split()
        tags.input_tags.allow_nan = "nan" in words
        tags.input_tags.categorical = "categories" in words
        tags.input_tags.sparse = "sparse" in words and not _details.centres(self)
        tags.input_tags.positive_only = "positive" in words
        tags.target_tags.required = "target" in words or "classes" in words
        tags.target_tags.multi_output = "targets" in words
        tags.target_tags.single_output = True
        return tags

    # ---- from numpy to the library

    @staticmethod
    def _lent(X):
        """X; what is memory of others, looked at where it is."""
        if hasattr(X, "__array__"):
            return X
        return np.from_dlpack(X) if hasattr(X, "__dlpack__") else np.asarray(X) if hasattr(X, "__array_interface__") else X

    def _validated(self, X, reset, y=None, back=False):
        words = self._input.split()
        # (whether X is finite is looked at once, in the library)
        rules = {"dtype": _REAL, "order": "C", "reset": reset, "ensure_all_finite": False, "accept_sparse": "csr" if "sparse" in words else False}
        X = self._lent(X)
        if hasattr(X, "tocsr"):
            _details.check_sparse(self, back)
        if back:  # (columns of a result: the library knows how many)
            del rules["reset"]
            return _canonical(check_array(X, **rules)), None
        if y is None:
            return _canonical(validate_data(self, X, **rules)), None
        if "classes" in words:
            X, y = validate_data(self, X, y, **rules)
            check_classification_targets(y)
            return _canonical(X), y
        if hasattr(y, "tocsr"):
            raise TypeError("Sparse data was passed for y, but dense data is required. Use '.toarray()' to convert to a dense numpy array.")
        X, y = validate_data(self, X, y, multi_output="targets" in words, y_numeric=True, **rules)
        return _canonical(X), y if y.dtype in _REAL else y.astype(np.float64)

    def _encoded(self, method, y, classes):
        """Numbers of classes, which are kept in classes_; those of partial_fit are named at its first call."""
        if method == "fit":
            self.classes_, numbers = np.unique(y, return_inverse=True)
            return numbers.astype(np.int64)
        _check_partial_fit_first_call(self, classes)
        numbers = self._numbers(y)
        strangers = np.unique(y[numbers == len(self.classes_)])
        if len(strangers):
            raise ValueError(f"The target label(s) {strangers} in y do not exist in the initial classes {self.classes_}")
        return numbers

    def _numbers(self, y):
        """The place of each label in classes_, len(classes_) for one that is not there."""
        places = {name: number for number, name in enumerate(self.classes_.tolist())}
        return np.array([places.get(name, len(places)) for name in y.tolist()], dtype=np.int64)

    def _new_model(self):
        model = _library.Model(self._algorithm)
        starts = _details.starts(self)
        for name in self._sent:
            value = starts.get(name, getattr(self, name))
            if name == "random_state" and not _details.draws(self):
                value = None
            elif name == "random_state":
                value = self.random_state_ = _seed(value)
            if name == "class_weight" and isinstance(value, dict):
                value = _details.weights_by_class(self.classes_.tolist(), value)
            try:
                if isinstance(value, tuple) and name in self._lists:
                    value = ",".join(_text(one) for one in value)
                if isinstance(value, (list, tuple)) or hasattr(value, "__array__") and not np.isscalar(value) and getattr(value, "ndim", 0):
                    value = np.asarray(value, dtype=np.float64)
                value = value if isinstance(value, np.ndarray) else _text(value)
            except (TypeError, ValueError) as error:
                raise ValueError(f"The '{name}' parameter of {type(self).__name__} is no array of numbers: {error}") from None
            model.set(name, value)
        return model

    def _fit(self, method, X, y=None, sample_weight=None, classes=None):
        self._validate_params()
        goes_on = method == "partial_fit" and hasattr(self, "_model")
        words = self._input.split()
        needs_y = "target" in words or "classes" in words
        if needs_y and y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        X, y = self._validated(X, not goes_on, y if needs_y else None)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        names = None
        if "classes" in words:
            y = self._encoded(method, y, classes)
            names = json.dumps(self.classes_.tolist(), default=str)
        _details.before_fit(self, X, y)
        model = self._model.here() if goes_on else self._new_model()
        if hasattr(self, "feature_names_in_"):
            model.set_note("feature_names", json.dumps(list(self.feature_names_in_)))
        for key, text in _details.notes(self).items():
            model.set_note(key, text)
        model.fit(method, X, y, weights, names, told=type(self).__name__ if getattr(self, "verbose", 0) else "")
        self._take(model)
        for category, sentence in model.warnings():
            warnings.warn(sentence, getattr(exceptions, category, UserWarning), stacklevel=3)
        return self

    def _adjust(self, model):
        """The parameters of a model of a file, but for those that reach no bit, which no file has."""
        arrays = model.parameter_arrays()
        for name, text in model.parameters().items():
            value = _details.given(self, name, arrays[name]) if name in arrays else _value(text, name in self._lists, None in self._parameter_constraints[name])
            setattr(self, name, value)
        if getattr(self, "random_state", None) is not None and _details.draws(self):
            self.random_state_ = self.random_state

    def _take(self, model):
        """The arrays of a fitted model as attributes."""
        self._model = model
        for name in self._fitted:
            setattr(self, name + "_", model.array(name))
        _details.after_fit(self)

    # ---- methods

    def _call(self, method, X, **data):
        check_is_fitted(self)
        X, _ = self._validated(X, False, back=method == "inverse_transform")
        out = _details.result(self, method, self._model.call(method, X, **data))
        return _details.sparse_again(self, X, out) if hasattr(X, "indptr") else out

    def _give(self, method, rows=0):
        """What a method gives that takes no X."""
        check_is_fitted(self)
        return _details.result(self, method, self._model.call(method, None, rows=operator.index(rows)))

    def _score(self, X, y=None, sample_weight=None):
        check_is_fitted(self)
        words = self._input.split()
        X, y = self._validated(X, False, y)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        if "classes" in words and y is not None:  # a class of nobody has the number after the last
            y = self._numbers(y)
        return self._model.call("score", X, y, weights)

    @property
    def _n_features_out(self):
        return _details.features_out(self)

    # ---- files and digests

    def digest(self) -> str:
        """The digest of the fitted model, 64 letters: the same wherever it was fitted on the same data."""
        check_is_fitted(self)
        return self._model.digest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model's safetensors file: the same bytes as from C or the command line."""
        check_is_fitted(self)
        self._model.save(path)
