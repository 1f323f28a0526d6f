# SPDX-License-Identifier: Apache-2.0
"""Fitted estimators of scikit-learn, taken over: one line a class says what its attributes are here. Nothing is computed: numbers are
copied, and the library checks that they are what a fit could have left."""
from __future__ import annotations

import importlib
import json
from numbers import Integral
from typing import Any

import numpy as np
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from samebits import _details, _library
from samebits._classes import CLASSES
from samebits._estimator import Estimator

__all__ = ["from_sklearn"]


def _filled(value, like):
    """One number as many times as there are rows or entries of `like`."""
    return np.array([value] * len(like), dtype=np.float64)


def _targets(fitted):
    return -1 if np.ndim(fitted.coef_) == 1 else len(fitted.coef_)


def _intercept(fitted):
    """0.0 is what scikit-learn leaves without one, however many targets there are."""
    many = np.ndim(fitted.coef_) == 2 and not np.ndim(fitted.intercept_)
    return _filled(fitted.intercept_, fitted.coef_) if many else fitted.intercept_


def _marked(fitted):
    return fitted.indicator_.features_ if fitted.indicator_ else []


def _shown(fitted):
    return [value for value in fitted.statistics_.tolist() if value == value]


def _rows(rows):
    """Kept rows as the library has them: dense, float32 or float64."""
    rows = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    return rows if rows.dtype == np.float32 else rows.astype(np.float64)


def _searched(rows, fitted):
    """The rows that neighbours are looked for among, where a metric of ours measures them."""
    if fitted.metric_params:
        raise _library.UnsupportedError("SB_ERR_UNSUPPORTED", "metric_params", f"{type(fitted).__name__} with metric_params {fitted.metric_params} cannot be taken over; without it can")
    return _rows(rows)


def _one_column(fitted):
    """The numbers of the classes, where they are of one column."""
    if fitted.outputs_2d_:
        raise _library.UnsupportedError("SB_ERR_UNSUPPORTED", "fitted", f"{type(fitted).__name__} of {len(fitted.classes_)} columns of classes cannot be taken over; of one it can")
    return fitted._y


# class: (the attribute that has the type of the data, or None: float64; sizes but d; arrays whose attribute is not NAME_). A value is
# a function of the fitted estimator. An array of the rows that is neither there nor here is left out: the library says if it may be.
KINDS = {
    "LinearRegression": ("coef_", {"t": _targets}, {"intercept": _intercept, "rank": lambda f: getattr(f, "rank_", f.n_features_in_)}),
    "Ridge": ("coef_", {"t": _targets}, {"intercept": _intercept}),
    "Lasso": ("coef_", {"t": _targets}, {"intercept": _intercept}),
    "ElasticNet": ("coef_", {"t": _targets}, {"intercept": _intercept}),
    "GaussianNB": (None, {}, {}),
    "NearestNeighbors": ("_fit_X", {"n": lambda f: f.n_samples_fit_}, {"fit_x": lambda f: _searched(f._fit_X, f)}),
    "KNeighborsClassifier": ("_fit_X", {"n": lambda f: f.n_samples_fit_, "c": lambda f: len(f.classes_)}, {"fit_x": lambda f: _searched(f._fit_X, f), "fit_y": _one_column}),
    "KNeighborsRegressor": ("_fit_X", {"n": lambda f: f.n_samples_fit_, "t": lambda f: -1 if f._y.ndim == 1 else f._y.shape[1]},
                            {"fit_x": lambda f: _searched(f._fit_X, f), "fit_y": lambda f: _rows(f._y).astype(_rows(f._fit_X).dtype)}),
    "DBSCAN": ("components_", {"n": lambda f: len(f.labels_), "core": lambda f: len(f.core_sample_indices_)}, {"components": lambda f: _searched(f.components_, f)}),
    "MinMaxScaler": (None, {"n": lambda f: f.n_samples_seen_}, {}),
    "OneHotEncoder": (None, {"cats": lambda f: len([one for own in f.categories_ for one in own]), "out": lambda f: len(f.get_feature_names_out())}, {}),
    "OrdinalEncoder": (None, {"cats": lambda f: len([one for own in f.categories_ for one in own])}, {}),
    "SimpleImputer": (None, {"marked": lambda f: len(_marked(f)), "out": lambda f: len([*_shown(f), *_marked(f)])},
                      {"indicator_features": lambda f: f.indicator_.features_ if f.indicator_ else None}),
    "LogisticRegression": ("coef_", {"c": lambda f: len(f.classes_), "k": lambda f: len(f.coef_), "s": lambda f: -1 if len(f.coef_) == 1 else len(f.coef_)}, {}),
    "KMeans": ("cluster_centers_", {"n": lambda f: len(f.labels_)}, {}),
    "PCA": ("components_", {"k": lambda f: len(f.components_)}, {}),
    "GaussianMixture": ("means_", {
        "each": lambda f: -1 if f.covariance_type == "tied" else f.n_components, "row": lambda f: -1 if f.covariance_type == "spherical" else f.n_features_in_,
        "column": lambda f: f.n_features_in_ if f.covariance_type in ("full", "tied") else -1, "rounds": lambda f: len(f.lower_bounds_)}, {
        "converged": lambda f: int(f.converged_)}),
    "TruncatedSVD": ("components_", {"k": lambda f: len(f.components_)}, {}),
    "StandardScaler": (None, {}, {
        "mean": lambda f: _filled(0.0, range(f.n_features_in_)) if f.mean_ is None else f.mean_,
        "var": lambda f: _filled(0.0, range(f.n_features_in_)) if f.var_ is None else f.var_,
        "n_samples_seen": lambda f: f.n_samples_seen_ if np.ndim(f.n_samples_seen_) else _filled(f.n_samples_seen_, range(f.n_features_in_))}),
}


def _like(kind, fitted):
    """An estimator of ours with the parameters of theirs, not fitted."""
    own = getattr(importlib.import_module(f"samebits.{kind}"), type(fitted).__name__)
    given = fitted.get_params(deep=False)
    return own(**{name: given[name] for name in own().get_params(deep=False) if name in given})


def _model(own, fitted):
    """A model with the parameters of `own` and the arrays of `fitted`."""
    typed, sizes, arrays = KINDS[type(fitted).__name__]
    seed = getattr(own, "random_state", None)
    if hasattr(own, "random_state"):  # (a fit that is done draws no more)
        own.random_state = seed if isinstance(seed, Integral) else 0
    found = own._adopt(fitted) if hasattr(own, "_adopt") else {}  # pylint: disable=protected-access
    model = own._new_model()  # pylint: disable=protected-access
    if hasattr(own, "random_state"):
        own.random_state = seed
        vars(own).pop("random_state_", None)
    dtype = np.float64 if typed is None else getattr(fitted, typed).dtype
    for name in dict.fromkeys((*own._fitted, *arrays)):  # pylint: disable=protected-access
        value = arrays[name](fitted) if name in arrays else getattr(fitted, name + "_", None)
        if value is not None and name not in found:
            found[name] = np.asarray(value)
    own_sizes = {"n": 1, "d": fitted.n_features_in_, **{name: size(fitted) for name, size in sizes.items()}}
    classes = json.dumps(fitted.classes_.tolist(), default=str) if hasattr(fitted, "classes_") else None
    for key, text in _details.notes(own).items():
        model.set_note(key, text)
    model.take(np.float32 if dtype == np.float32 else np.float64, own_sizes, found, classes)
    module = type(fitted).__module__.split(".")[1]
    model.set_note("origin", f"scikit-learn {sklearn.__version__} sklearn.{module}.{type(fitted).__name__}")
    if hasattr(fitted, "feature_names_in_"):
        model.set_note("feature_names", json.dumps(list(fitted.feature_names_in_)))
    return model


def from_sklearn(fitted: Any) -> Any:
    """Takes over a fitted estimator of scikit-learn, or a Pipeline of such: from then on its outputs have the same bits everywhere.

    Coefficients, centres, scales are copied as they are; the model says in a note where they came from. Steps of a Pipeline that are of
    samebits, "passthrough" or None stay. A class that is not known here, or a parameter that is not, is refused by its name; an estimator
    that is not fitted by NotFittedError.

    >>> import numpy as np, samebits
    >>> from sklearn.linear_model import LinearRegression
    >>> theirs = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> ours = samebits.from_sklearn(theirs)
    >>> type(ours).__module__, np.allclose(ours.predict([[3.0]]), 7.0)
    ('samebits.linear_model', True)
    """
    if isinstance(fitted, Pipeline):
        return Pipeline([(name, step if step in (None, "passthrough") else from_sklearn(step)) for name, step in fitted.steps])
    if isinstance(fitted, Estimator):
        check_is_fitted(fitted)
        return fitted
    if isinstance(fitted, type):
        raise TypeError(f"from_sklearn takes a fitted estimator, and {fitted.__name__} is a class")
    path, name = type(fitted).__module__.split("."), type(fitted).__name__
    if path[0] != "sklearn":
        raise TypeError(f"from_sklearn takes a fitted estimator of scikit-learn, or a Pipeline of such, and this is a {name} of {'.'.join(path)}")
    if name not in KINDS or (f"samebits.{path[1]}", name) not in CLASSES.values():
        raise _library.UnsupportedError("SB_ERR_UNSUPPORTED", "fitted", f"sklearn.{path[1]}.{name} cannot be taken over; {', '.join(KINDS)} can")
    check_is_fitted(fitted)
    own = _like(path[1], fitted)
    if hasattr(fitted, "classes_"):
        own.classes_ = fitted.classes_
    own._take(_model(own, fitted))  # pylint: disable=protected-access
    for name in ("n_features_in_", "feature_names_in_", "classes_"):
        if hasattr(fitted, name):
            setattr(own, name, getattr(fitted, name))
    return own
