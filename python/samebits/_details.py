# SPDX-License-Identifier: Apache-2.0
"""What an estimator does in Python beyond its rows: attributes that scikit-learn spells otherwise, results that are names."""
import warnings

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.impute import MissingIndicator


def draws(estimator):
    """Whether a fit draws numbers, so that it needs a seed."""
    exact = getattr(estimator, "svd_solver", "auto") in ("full", "covariance_eigh", "arpack") or getattr(estimator, "algorithm", "") == "arpack"
    return getattr(estimator, "selection", "random") == "random" and not exact


def starts(estimator):
    """Parameters in whose place a fit takes other ones: with warm_start, what the last one found; categories as one list."""
    if hasattr(estimator, "_starts"):
        return estimator._starts()  # pylint: disable=protected-access
    if getattr(estimator, "warm_start", False) and hasattr(estimator, "precisions_"):
        return {"weights_init": estimator.weights_, "means_init": estimator.means_, "precisions_init": estimator.precisions_, "n_init": 1}
    return {}


def weights_by_class(names, given):
    """The weights of classes in their order, 1 where none is given."""
    without = [name for name in names if name not in given]
    if without and len([name for name in names if name in given]) != len(given):
        raise ValueError(f"The classes, {without}, are not in class_weight")
    return [float(given.get(name, 1.0)) for name in names]


def given(estimator, name, array):
    """A parameter that is an array in the library, as scikit-learn has it."""
    return dict(zip(estimator.classes_.tolist(), array.tolist())) if name == "class_weight" else array


def loaded(estimator):
    """Parameters that only a fitted estimator can name."""
    if hasattr(estimator, "_loaded"):
        estimator._loaded()  # pylint: disable=protected-access


def before_fit(estimator, X, y):
    """What has to be refused before the library sees it."""
    if hasattr(estimator, "_check"):
        estimator._check(X)  # pylint: disable=protected-access


def sparse_like(X, dense):
    """The entries of a dense matrix where X, a CSR matrix, has some: a CSR matrix, too."""
    places = X.tocoo()
    return type(X)((dense[places.row, places.col], X.indices.copy(), X.indptr.copy()), shape=dense.shape)


def centres(estimator):
    """Whether it takes means away, so that what is not there in a sparse matrix would be."""
    return type(estimator).__name__ == "StandardScaler" and estimator.with_mean


def check_sparse(estimator, back):
    """What has to be refused of a sparse matrix."""
    if centres(estimator):
        raise ValueError(f"Cannot {'uncenter' if back else 'center'} sparse matrices: pass `with_mean=False` instead.")
    if hasattr(estimator, "_check_sparse"):
        estimator._check_sparse()  # pylint: disable=protected-access


def sparse_again(estimator, X, out):
    """What a transform of entries makes of the CSR matrix X: sparse, too, with an entry where X has one."""
    return sparse_like(X, out) if type(estimator).__name__ == "StandardScaler" else out


def notes(estimator):
    """Notes of a model beside names."""
    return estimator._notes() if hasattr(estimator, "_notes") else {}  # pylint: disable=protected-access


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
    if hasattr(estimator, "n_samples_fit_"):
        _name_metric(estimator)
    if name == "GaussianMixture":
        estimator.converged_ = bool(estimator.converged_)
        estimator.lower_bounds_ = estimator.lower_bounds_.tolist()
    if name == "SimpleImputer":
        estimator.indicator_ = _indicator(estimator) if estimator.add_indicator else None
    if isinstance(estimator, RegressorMixin) and hasattr(estimator, "coef_") and not estimator.fit_intercept and not np.ndim(estimator.intercept_):
        estimator.intercept_ = 0.0
    if name == "Ridge":
        estimator.n_iter_ = None
        estimator.solver_ = "cholesky" if estimator.solver == "auto" else estimator.solver


def _name_metric(estimator):
    """The metric that 'minkowski' is with this power."""
    power = float(estimator.p)
    by_power = {1.0: "manhattan", 2.0: "euclidean", float("inf"): "chebyshev"}
    named = estimator.metric == "minkowski"
    estimator.effective_metric_ = by_power.get(power, "minkowski") if named else estimator.metric
    estimator.effective_metric_params_ = {"p": power} if named and power not in by_power else {}
    if hasattr(estimator, "classes_"):
        estimator.outputs_2d_ = False


def _indicator(estimator):
    """scikit-learn's own, as the fit of the imputer leaves it."""
    indicator = MissingIndicator(missing_values=estimator.missing_values, error_on_new=False)
    indicator.features_ = estimator._model.array("indicator_features")  # pylint: disable=protected-access
    indicator.n_features_in_ = indicator._n_features = len(estimator.statistics_)  # pylint: disable=protected-access
    indicator._precomputed = False  # pylint: disable=protected-access
    return indicator


def names_out(estimator, names):
    """Names of the columns of a transform, from those of the features."""
    if hasattr(estimator, "_names_out"):
        return estimator._names_out(names)  # pylint: disable=protected-access
    kept = [name for name, value in zip(names, estimator.statistics_.tolist()) if value == value]
    marked = [] if estimator.indicator_ is None else estimator.indicator_.get_feature_names_out(names).tolist()
    return np.array([*kept, *marked], dtype=object)


def _say_what_is_left_out(estimator):
    left_out = np.array([j for j, value in enumerate(estimator.statistics_.tolist()) if value != value])
    if len(left_out):
        left_out = estimator.feature_names_in_[left_out] if hasattr(estimator, "feature_names_in_") else left_out
        warnings.warn(f"Skipping features without any observed values: {left_out}. At least one non-missing value is needed for imputation "
                      f"with strategy='{estimator.strategy}'.", stacklevel=4)


def result(estimator, method, out):
    """Classes by their names; rows of a sample with where they come from."""
    if method == "sample":
        return out, estimator._model.call("sample_labels", None, rows=len(out))  # pylint: disable=protected-access
    if method == "transform" and hasattr(estimator, "statistics_"):
        _say_what_is_left_out(estimator)
    if method == "predict" and "classes" in estimator._input.split():  # pylint: disable=protected-access
        return estimator.classes_[out]
    return out


def features_out(estimator):
    """How many columns transform gives."""
    if hasattr(estimator, "cluster_centers_"):
        return estimator.cluster_centers_.shape[0]
    return estimator.components_.shape[0]
