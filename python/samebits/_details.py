# SPDX-License-Identifier: Apache-2.0
"""What an estimator does in Python beyond its rows: attributes that scikit-learn spells otherwise, results that are names."""
import numpy as np


def before_fit(estimator, X, y):
    """What has to be refused before the library sees it."""


def after_fit(estimator):
    """Attributes as scikit-learn has them."""
    name = type(estimator).__name__
    if name == "StandardScaler":
        if not estimator.with_std:
            estimator.var_ = None
            if not estimator.with_mean:
                estimator.mean_ = None
        seen = estimator.n_samples_seen_
        if len(set(seen.tolist())) == 1:
            one = seen.tolist()[0]
            estimator.n_samples_seen_ = int(one) if one.is_integer() else one
    if name == "LinearRegression" and not estimator.fit_intercept and not np.ndim(estimator.intercept_):
        estimator.intercept_ = 0.0


def result(estimator, method, out):
    """Classes by their names."""
    if method == "predict" and "classes" in estimator._input.split():  # pylint: disable=protected-access
        return estimator.classes_[out]
    return out


def features_out(estimator):
    """How many columns transform gives."""
    if hasattr(estimator, "cluster_centers_"):
        return estimator.cluster_centers_.shape[0]
    return estimator.components_.shape[0]
