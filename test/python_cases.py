# SPDX-License-Identifier: Apache-2.0
"""The Python package under scikit-learn: its checks over every estimator, agreement on its bundled data, pickling, clones,
pipelines, searches over processes, files, digests. Run by test_python.py in an environment of its own."""
import copy
import doctest
import importlib
import multiprocessing
import os
import pickle
import re
import subprocess
import tempfile
import threading
import warnings

import joblib
import mpmath
import numpy as np
import pandas as pd
import scipy.sparse
import sklearn.datasets
import sklearn.neighbors
from sklearn import base, cluster, decomposition, impute, linear_model, mixture, naive_bayes, preprocessing
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import python_hostile
import python_metrics
import python_neighbors
import samebits
import samebits.metrics
from samebits import _estimator, _library, _recordings, _takeover
from samebits._classes import CLASSES
from samebits.cluster import DBSCAN, KMeans
from samebits.decomposition import PCA, TruncatedSVD
from samebits.impute import SimpleImputer
from samebits.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from samebits.mixture import GaussianMixture
from samebits.naive_bayes import GaussianNB
from samebits.neighbors import KNeighborsClassifier, NearestNeighbors
from samebits.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

# Checks that scikit-learn's own estimator of that name fails, too, and why.
EXPECTED = {"KMeans": {f"check_sample_weight_equivalence_on_{kind}_data": "draws pick rows: repeated rows are other rows" for kind in ("dense", "sparse")},
            "Ridge": {"check_non_transformer_estimators_n_iter": "n_iter_ is None where nothing is iterated"}}
passed = 0


def refuses(*calls):
    """Each (call, kind of the error, words in it) ends in that error."""
    for call, kind, words in calls:
        try:
            call()
        except kind as error:
            check(words in str(error), f"{error}")
        else:
            check(False, words)


def check(condition, words):
    global passed
    if not condition:
        raise AssertionError(words)
    passed += 1


def classes():
    for module, name in CLASSES.values():
        yield getattr(importlib.import_module(module), name)


def estimator_checks():
    for kind in classes():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = check_estimator(kind(), on_fail=None, expected_failed_checks=EXPECTED.get(kind.__name__, {}))
        failed = [one for one in found if one["status"] == "failed"]
        check(not failed, [(one["check_name"], repr(one["exception"])[:300]) for one in failed])
        print(f"{kind.__name__}: {len(found)} checks, {sum(one['status'] == 'xfail' for one in found)} expected to fail")


def documentation():
    modules = {importlib.import_module(module) for module, _ in CLASSES.values()} | {samebits, samebits.metrics, _library, _estimator, _recordings, _takeover}
    for module in modules:
        failures, tried = doctest.testmod(module)
        check(failures == 0, f"doctests of {module.__name__}")
    for kind in classes():
        theirs = getattr(importlib.import_module(kind.__module__.replace("samebits", "sklearn")), kind.__name__)
        own, other = kind().get_params(), theirs().get_params()
        check(own == {name: other[name] for name in own} and own.keys() == other.keys(), f"{kind.__name__}: {own} {other}")


def linear_agreement(X, y, many):
    def same(own, theirs, data, target, bound, words):
        for weights in (None, np.arange(len(target)) % 3 + 0.5):
            one, other = own.fit(data, target, weights), theirs.fit(data, target, weights)
            away = np.abs(one.coef_ - other.coef_).max() / np.abs(other.coef_).max()
            check(away < bound and np.allclose(one.intercept_, other.intercept_, rtol=1e-6), f"{words}: {away}")

    wide = np.random.default_rng(0).normal(size=(20, 50))
    for target in (y, many):
        for intercept in (True, False):
            for alpha in (1e-3, 1.0, 100.0):
                same(Ridge(alpha, fit_intercept=intercept), linear_model.Ridge(alpha, fit_intercept=intercept), X, target, 1e-10, "ridge")
            same(LinearRegression(positive=True, fit_intercept=intercept), linear_model.LinearRegression(positive=True, fit_intercept=intercept), X, target, 1e-10, "positive")
            same(Ridge(positive=True, fit_intercept=intercept), linear_model.Ridge(positive=True, fit_intercept=intercept, tol=1e-12), X, target, 1e-5, "ridge, positive")
    for alpha in (1e-9, 1.0):
        same(Ridge(alpha), linear_model.Ridge(alpha, solver="svd"), wide, y[:20], 1e-9, "ridge, more columns than rows")
    same(Ridge([1.0, 5.0]), linear_model.Ridge([1.0, 5.0]), X, many, 1e-10, "ridge, two penalties")
    check(np.array_equal(Ridge([2.0]).fit(X, y).coef_, Ridge(2.0).fit(X, y).coef_), "one penalty in an array")
    twice = np.column_stack([X, X[:, :3], np.zeros(len(X))])
    for alpha in (1e-8, 1.0):
        same(Ridge(alpha), linear_model.Ridge(alpha, solver="svd"), twice, y, 1e-6, "ridge, columns twice")
    own, theirs = LinearRegression(positive=True).fit(twice, y), linear_model.LinearRegression(positive=True).fit(twice, y)
    check(abs(own.score(twice, y) - theirs.score(twice, y)) < 1e-12 and own.coef_.min() >= 0.0 and own.rank_ is None, "positive, columns twice")


def objective(model, X, y, l1_ratio, weights):
    """What ElasticNet makes least."""
    weights = np.ones(len(y)) if weights is None else weights
    rest, b = y - X @ model.coef_ - model.intercept_, model.coef_
    return (weights * rest * rest).sum() / (2 * weights.sum()) + model.alpha * l1_ratio * np.abs(b).sum() + model.alpha * (1 - l1_ratio) / 2 * (b * b).sum()


def penalties(X, y, many):
    """The objective is within 1e-6 of the least, which scikit-learn finds with a small tol."""
    few = np.random.default_rng(0).normal(size=(30, 100))
    for data, target in ((X, y), (few, y[:30])):
        for weights in (None, np.arange(len(target)) % 3 + 0.5):
            for positive in (False, True):
                for ratio in (0.5, 1.0):
                    for selection in ("cyclic", "random") if len(data) > 30 else ("cyclic",):
                        given = {"fit_intercept": not positive, "positive": positive, "max_iter": 20000}
                        theirs = linear_model.ElasticNet(0.1, l1_ratio=ratio, tol=1e-10, **given).fit(data, target, weights)
                        own = [ElasticNet(0.1, l1_ratio=ratio, selection=selection, random_state=1, **given).fit(data, target, weights)]
                        if ratio == 1.0:
                            own.append(Lasso(0.1, selection=selection, **given).fit(data, target, weights))
                        for model in own:
                            away = objective(model, data, target, ratio, weights) / objective(theirs, data, target, ratio, weights) - 1
                            check(away < 1e-6 and model.dual_gap_ <= 1e-4 * (target ** 2).mean(), f"objective {away}")
                            check(not positive or model.coef_.min() >= 0.0, "positive")
    own, theirs = Lasso(0.1, tol=1e-10).fit(X, many), linear_model.Lasso(0.1, tol=1e-10).fit(X, many)
    check(np.allclose(own.coef_, theirs.coef_, atol=1e-4) and own.coef_.shape == theirs.coef_.shape and own.n_iter_.shape == own.dual_gap_.shape == (2,), "two targets")
    check(Lasso(0.1).fit(X, y).digest() == Lasso(0.1, random_state=7, warm_start=True, precompute=True).fit(X, y).digest(), "what reaches no bit")


def likelihood(model, X, y, weights):
    """What LogisticRegression makes least."""
    coef, ratio = model.coef_.astype(np.float64), model.l1_ratio
    z, place = X @ coef.T + model.intercept_, np.searchsorted(model.classes_, y)
    z = np.column_stack([-z[:, 0] / 2, z[:, 0] / 2]) if len(coef) == 1 else z
    loss = np.logaddexp.reduce(z, axis=1) - z[np.arange(len(y)), place]
    return (weights * loss).sum() + (ratio * np.abs(coef).sum() + (1 - ratio) / 2 * (coef * coef).sum()) / model.C


def logistic():
    """The objective is within 1e-6 of the least that scikit-learn finds with a small tol; probabilities and classes agree."""
    for X, y in (sklearn.datasets.load_breast_cancer(return_X_y=True), sklearn.datasets.load_iris(return_X_y=True)):
        X = preprocessing.StandardScaler().fit_transform(X)
        for weights in (np.ones(len(y)), np.arange(len(y)) % 3 + 0.5):
            for given in ({}, {"C": 0.01}, {"C": 10.0, "fit_intercept": False}, {"l1_ratio": 1.0, "C": 0.5}, {"l1_ratio": 0.5, "C": 0.1}):
                solver = {"solver": "saga", "tol": 1e-7, "max_iter": 5000} if "l1_ratio" in given else {"tol": 1e-9, "max_iter": 2000}
                theirs = linear_model.LogisticRegression(**given, **solver).fit(X, y, weights)
                for data in (X, X.astype(np.float32)):
                    own = LogisticRegression(**given, max_iter=1000).fit(data, y, weights)
                    away = likelihood(own, X, y, weights) / likelihood(theirs, X, y, weights) - 1
                    check(away < 1e-6 and own.coef_.dtype == data.dtype and own.coef_.shape == theirs.coef_.shape, f"likelihood {given} {away}")
                    check(np.allclose(own.predict_proba(data), theirs.predict_proba(X), atol=0.2 if "l1_ratio" in given else 5e-3) and (own.predict(data) == theirs.predict(X)).mean() > 0.98, "probabilities")
                    check(own.decision_function(data).shape == theirs.decision_function(X).shape and own.n_iter_.shape == (1,), "shapes")
                    check(np.allclose(np.exp(own.predict_log_proba(data)), own.predict_proba(data), rtol=1e-4), "logarithms")
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    for balance in ("balanced", {"setosa": 3.0, "virginica": 0.5}):
        own = LogisticRegression(class_weight=balance).fit(X, words)
        theirs = linear_model.LogisticRegression(class_weight=balance, tol=1e-9, max_iter=1000).fit(X, words)
        for labels, model in ((words, theirs), (y > 0, linear_model.LogisticRegression().fit(X.astype(np.float32), y > 0))):
            taken = samebits.from_sklearn(model)
            check(np.array_equal(taken.predict(X), model.predict(X)) and np.allclose(taken.predict_proba(X), model.predict_proba(X), atol=1e-5), "taken over")
            check(taken.digest() == pickle.loads(pickle.dumps(taken)).digest() and taken.score(X, labels) == model.score(X, labels), "taken over, pickled")
        with tempfile.TemporaryDirectory() as folder:
            own.save(os.path.join(folder, "m"))
            again = samebits.load(os.path.join(folder, "m"))
        check(again.class_weight == (balance if isinstance(balance, str) else {"versicolor": 1.0, **balance}) and base.clone(again).fit(X, words).digest() == own.digest(), "loaded, cloned and fitted")
        check(np.allclose(own.coef_, theirs.coef_, atol=1e-3) and list(own.predict(X[:1])) == ["setosa"] and own.score(X, words) > 0.9, f"{balance}")
    for settings in ({"penalty": "l2"}, {"penalty": None, "C": 2.0}, {"penalty": "elasticnet", "l1_ratio": 0.5, "solver": "saga"}, {"penalty": "l1", "solver": "saga"}, {"l1_ratio": None}, {"n_jobs": 2}, {}):
        said = []
        for kind in (LogisticRegression, linear_model.LogisticRegression):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                kind(**settings).fit(X[50:], y[50:])
            said.append([str(one.message) for one in caught if one.category is not ConvergenceWarning])
            check(all(os.path.samefile(one.filename, __file__) for one in caught) or kind is not LogisticRegression, "where a warning points to")
        check(said[0] == said[1], f"{settings}: {said}")
    sparse = LogisticRegression(l1_ratio=1.0, C=0.1).fit(X, y)
    want, own = sparse.predict_proba(X), sparse.coef_
    check(scipy.sparse.issparse(sparse.sparsify().coef_) and np.array_equal(sparse.predict_proba(X), want) and np.array_equal(sparse.densify().coef_, own), "sparsify")
    lasso = Lasso(0.1).fit(X, y)
    check(lasso.sparse_coef_.nnz == np.count_nonzero(lasso.coef_) and np.array_equal(lasso.sparse_coef_.toarray()[0], lasso.coef_), "sparse_coef_")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old, new = LogisticRegression(penalty=None).fit(X[50:], y[50:]), LogisticRegression(C=np.inf).fit(X[50:], y[50:])
    check(np.array_equal(old.coef_, new.coef_), "no penalty")


def beyond(slope, coef, least):
    """How far a slope is from what the penalty on absolute values allows: `least` at 0, its sign times that elsewhere."""
    return np.where(coef != 0, np.abs(slope - least * np.sign(coef)), np.maximum(np.abs(slope) - least, 0.0)).max()


def optima():
    """Conditions of optimality, and what may never grow: the KKT residual of penalties on absolute values, gradients, inertia, minus the likelihood."""
    X, y = sklearn.datasets.load_diabetes(return_X_y=True)
    wide = np.random.default_rng(0).normal(size=(30, 100))
    for data, target in ((X, y), (wide, wide[:, :5].sum(axis=1))):
        weights = np.arange(len(target)) % 3 + 0.5
        for alpha, ratio in ((0.1, 1.0), (1.0, 1.0), (0.01, 0.5)):
            for selection in ("cyclic", "random"):
                own = ElasticNet(alpha, l1_ratio=ratio, selection=selection, random_state=1, tol=1e-12, max_iter=20000).fit(data, target, weights)
                rest = weights * (target - data @ own.coef_ - own.intercept_) / weights.sum()
                away = beyond(data.T @ rest - alpha * (1 - ratio) * own.coef_, own.coef_, alpha * ratio)
                check(away < 1e-6 * alpha * ratio and abs(rest.sum()) < 1e-9 * np.abs(target).max(), f"KKT {alpha} {ratio} {selection}: {away}")
    for X, y in (sklearn.datasets.load_breast_cancer(return_X_y=True), sklearn.datasets.load_iris(return_X_y=True)):
        X = preprocessing.StandardScaler().fit_transform(X)
        for C, ratio in ((1.0, 0.0), (0.1, 1.0), (0.5, 0.5), (100.0, 0.0)):
            own = LogisticRegression(C=C, l1_ratio=ratio, tol=1e-9, max_iter=5000).fit(X, y)
            p = own.predict_proba(X)
            p[np.arange(len(y)), y] -= 1.0
            slope = -(p[:, 1:] if len(own.coef_) == 1 else p).T @ X - (1 - ratio) / C * own.coef_
            check(beyond(slope, own.coef_, ratio / C) < 2e-9 * len(y), f"logistic {C} {ratio}: {beyond(slope, own.coef_, ratio / C)}")  # (tol is of the mean loss)
            check(np.abs(p.sum(axis=0)).max() < 2e-9 * len(y), "the slope of the constant")
    digits = sklearn.datasets.load_digits().data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for data in (digits, digits.astype(np.float32)):
            inertia = [KMeans(10, max_iter=rounds, tol=0, random_state=2).fit(data).inertia_ for rounds in range(1, 16)]
            check(all(before >= after for before, after in zip(inertia, inertia[1:])) and inertia[0] > inertia[-1], f"inertia grows: {inertia}")


def prepared():
    """Preprocessing of the bundled tables, and what is learnt of one half is as good on the other half as scikit-learn's."""
    for load in (sklearn.datasets.load_iris, sklearn.datasets.load_digits, sklearn.datasets.load_wine, sklearn.datasets.load_breast_cancer, sklearn.datasets.load_diabetes):
        X, y = load(return_X_y=True)
        holed = np.where(np.arange(X.size).reshape(X.shape) % 7 == 3, np.nan, X)
        for module, own, data in ((preprocessing, StandardScaler(), X), (preprocessing, StandardScaler(), holed), (preprocessing, MinMaxScaler(), holed),
                                  *((impute, SimpleImputer(strategy=way, add_indicator=True), holed) for way in ("mean", "median", "most_frequent", "constant")),
                                  (preprocessing, OrdinalEncoder(), X), (preprocessing, OneHotEncoder(), X)):
            theirs = getattr(module, type(own).__name__)(**own.get_params()).fit(data)
            one, other = own.fit(data).transform(data), theirs.transform(data)
            one, other = (table.toarray() if scipy.sparse.issparse(table) else table for table in (one, other))
            check(one.shape == other.shape and np.allclose(one, other, rtol=1e-9, atol=1e-9, equal_nan=True), f"{own} of {load.__name__}")
        continuous = load is sklearn.datasets.load_diabetes
        X = preprocessing.StandardScaler().fit_transform(X)
        for module, own in ((linear_model, LinearRegression()), (linear_model, Ridge()), (linear_model, Lasso(0.05)), (linear_model, ElasticNet(0.05))) if continuous else \
                ((linear_model, LogisticRegression(max_iter=1000)), (naive_bayes, GaussianNB()), (sklearn.neighbors, KNeighborsClassifier())):
            theirs = getattr(module, type(own).__name__)(**own.get_params())
            one, other = (model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) for model in (own, theirs))
            check(abs(one - other) < (1e-4 if continuous else 0.006), f"{own} of {load.__name__}, held out: {one} {other}")


def bits_of(value):
    return np.float32(value).view(np.uint32)


def met_elsewhere():
    """Small inputs that other libraries got wrong (docs/cases.md), through the estimators."""
    points = np.array([[-3.0, -1.0], [3.0, 1.0], [-6.0, -2.0], [6.0, 2.0]])
    for solver in ("full", "covariance_eigh", "randomized"):
        for data in (points, points.astype(np.float32)):
            own = PCA(1, svd_solver=solver, whiten=True, random_state=0).fit(data)
            check(apart(own.components_, [[0.9486832980505138, 0.31622776601683794]]) < 1e-6, f"component sign {own.components_}")
            both = PCA(2, svd_solver=solver, whiten=True, random_state=0).fit(data)
            check(np.abs(both.transform(data)).max() < 2.0, f"whitening blows up what is not there: {both.transform(data)}")
    X, y = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 1.0]]), np.array([1, 1, 0, 0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LogisticRegression(C=np.inf).fit(X, y)
    check(any(one.category is ConvergenceWarning and "The classes can be separated" in str(one.message) for one in caught), "separable classes")
    own = LogisticRegression(tol=1e-12, max_iter=1000).fit(X, y)
    b, c = [mpmath.mpf(float(value)) for value in own.coef_[0]], mpmath.mpf(float(own.intercept_[0]))
    missed = [1 / (1 + mpmath.exp(-(c + sum(u * float(v) for u, v in zip(b, row))))) - int(label) for row, label in zip(X, y)]
    check(max(abs(sum(m * float(row[j]) for m, row in zip(missed, X)) + b[j]) for j in range(3)) < 1e-11 and abs(sum(missed)) < 1e-11, "separable classes, penalty: the gradient, by mpmath")
    X, y = np.array([[10.0, 10.0, 0.0], [1e-32, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.array([5.0, 0.0, 5.0])
    for selection in ("cyclic", "random"):
        own = Lasso(0.1, tol=1e-12, max_iter=20000, selection=selection, random_state=0).fit(X, y)
        theirs = linear_model.LassoLars(0.1, eps=1e-16).fit(X, y)
        check(abs(objective(own, X, y, 1.0, None) / objective(theirs, X, y, 1.0, None) - 1) < 1e-9, "coordinate descent and LARS")
    X, y, times = np.array([[1.0, 2.0], [3.0, -1.0], [-2.0, 0.0], [4.0, 4.0], [0.0, -3.0]]), np.array([1, 0, 1, 1, 0]), [1, 0, 2, 1, 1]
    repeated = np.repeat(np.arange(5), times)
    for own in (LinearRegression(), Ridge(), Lasso(0.1), ElasticNet(0.1), LogisticRegression(), GaussianNB(), StandardScaler(), KMeans(2, init=X[:2], n_init=1), DBSCAN(eps=3.0, min_samples=2)):
        target = y if "classes" in own._input else X[:, 0] + y  # pylint: disable=protected-access
        one, other = base.clone(own).fit(X, target, sample_weight=np.array(times, dtype=float)), base.clone(own).fit(X[repeated], target[repeated])
        for name in ("coef_", "intercept_", "theta_", "var_", "mean_", "scale_", "cluster_centers_", "inertia_"):
            if hasattr(one, name):
                check(np.allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-12), f"{own}: weights are repetitions, {name} {getattr(one, name)} {getattr(other, name)}")
        if hasattr(one, "labels_"):
            check(np.array_equal(one.labels_[repeated], other.labels_), f"{own}: weights are repetitions")
    line = np.array([0.0, 0.1, 0.2, 0.7, 1.2, 1.3, 1.4])
    places = np.array([np.searchsorted(line, row) for row in line])
    first = DBSCAN(eps=0.5, min_samples=4).fit(line[:, None])
    check(line[first.core_sample_indices_].tolist() == [0.2, 1.2] and first.labels_[3] in (first.labels_[2], first.labels_[4]), f"the border point {first.labels_}")
    sides = set()
    for seed in range(12):
        order = np.random.default_rng(seed).permutation(places)
        found = DBSCAN(eps=0.5, min_samples=4).fit(line[order, None]).labels_[np.argsort(order)]
        sides.add(found[3] == found[2])
    check(len(sides) == 1, "the border point goes by the order of rows")
    near = NearestNeighbors(n_neighbors=1, metric="cosine").fit(np.array([[-0.65563949, -0.29700866, 1.27146813], [1e9, 0.0, 0.0]], dtype=np.float32))
    check(bits_of(near.kneighbors(np.array([[-0.30039746, -0.13594460, 0.58292344]], dtype=np.float32))[0][0, 0]) == 0x33A524B8, "cosine above one")
    check(NearestNeighbors(n_neighbors=1, metric="cosine").fit([[1.0, 2.0]]).kneighbors([[1.0, 2.0]])[0][0, 0] == 0.0, "cosine, itself")
    for value, count, bits in ((1.1, 10**6, 0x42C80003), (1.001, 1000, 0x3D01886F)):
        far = NearestNeighbors(n_neighbors=1).fit(np.ones((1, count), dtype=np.float32)).kneighbors(np.full((1, count), value, dtype=np.float32))[0][0, 0]
        check(bits_of(far) == bits, f"distance by expansion {far}")
    for rows, want in (([[1.0, 0.0], [0.0, 1.0]], 0), ([[0.0, 1.0], [1.0, 0.0]], 0)):
        check(NearestNeighbors(n_neighbors=1).fit(rows).kneighbors([[0.0, 0.0]])[1][0, 0] == want, "a tie: the lowest number")
    table = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [4.0, 2.0], [4.0, 4.0], [4.0, 0.0]])
    found = set()
    for threads in (1, 2, 3, 8, 16):
        with samebits.config_context(threads=threads):
            own = KMeans(2, random_state=0).fit(table)
            found.add((own.inertia_, own.digest()))
    check(len(found) == 1 and KMeans(2, n_init=10, random_state=0).fit(table).inertia_ == 16.0, f"k-means by threads {found}")


def agreement():
    X, y = sklearn.datasets.load_diabetes(return_X_y=True)
    many = np.column_stack([y, X[:, 0] + y])
    for data in (X, X.astype(np.float32)):
        for target in (y, many):
            own, theirs = LinearRegression().fit(data, target), linear_model.LinearRegression().fit(X, target)
            bound = 1e-8 if data.dtype == np.float64 else 1e-3
            check(np.allclose(own.coef_, theirs.coef_, rtol=bound, atol=bound * np.abs(theirs.coef_).max()), "coefficients")
            check(own.coef_.dtype == data.dtype and own.predict(data).dtype == data.dtype and own.coef_.shape == theirs.coef_.shape, "types")
            check(abs(own.score(data, target) - theirs.score(X, target)) < 1e-6, "R2")
            weights = np.arange(len(y)) % 3 + 0.5
            own, theirs = LinearRegression().fit(data, target, weights), linear_model.LinearRegression().fit(X, target, weights)
            check(np.allclose(own.coef_, theirs.coef_, rtol=bound, atol=bound * np.abs(theirs.coef_).max()), "weighted coefficients")
    wide = X[:8]
    own, theirs = LinearRegression().fit(wide, y[:8]), linear_model.LinearRegression().fit(wide, y[:8])
    check(np.allclose(own.coef_, theirs.coef_) and own.rank_ == theirs.rank_, "fewer rows than columns")
    twice = np.column_stack([X, X[:, :3]])
    own, theirs = LinearRegression().fit(twice, y), linear_model.LinearRegression().fit(twice, y)
    check(np.allclose(own.coef_, theirs.coef_, rtol=1e-6, atol=1e-6) and own.rank_ == theirs.rank_ == 10, "columns twice")
    linear_agreement(X, y, many)
    penalties(X, y, many)
    logistic()
    own, theirs = StandardScaler().fit(X), preprocessing.StandardScaler().fit(X)
    check(np.allclose(own.transform(X), theirs.transform(X), atol=1e-12) and np.allclose(own.var_, theirs.var_) and own.n_samples_seen_ == theirs.n_samples_seen_, "scaler")
    check(np.allclose(own.inverse_transform(own.transform(X)), X), "scaler, back")
    digits = sklearn.datasets.load_digits().data
    for data in (digits, digits.astype(np.float32)):
        own = [KMeans(10, random_state=seed).fit(data).inertia_ for seed in range(8)]
        theirs = [cluster.KMeans(10, random_state=seed).fit(digits).inertia_ for seed in range(8)]
        check(min(own) < 1.005 * min(theirs) and sorted(own)[4] < 1.02 * sorted(theirs)[4], f"inertia {own} {theirs}")
        start = digits[:10]
        one, other = KMeans(10, init=start, n_init=1, tol=0).fit(data), cluster.KMeans(10, init=start, n_init=1, tol=0).fit(digits)
        check(abs(one.inertia_ / other.inertia_ - 1) < 1e-6 and (one.labels_ == other.labels_).mean() > 0.999, "from given centres")


def holes(dtype, hole=np.nan):
    """A table with holes, one feature of nothing else, one constant feature."""
    generator = np.random.default_rng(0)
    X = np.round(generator.normal(size=(60, 6)), 1)
    X[generator.random(X.shape) < 0.2] = np.nan
    X[:, 3], X[:, 4] = 7, np.nan
    return np.where(np.isnan(X), hole, X).astype(dtype)


def tables_of_categories():
    """Tables of categories, each to fit and one with others, too."""
    generator = np.random.default_rng(2)
    numbers = np.column_stack([generator.integers(0, 9, 80), generator.geometric(0.4, 80), generator.integers(-2, 2, 80)])
    gaps = np.where(generator.random(numbers.shape) < 0.1, np.nan, numbers / 2)
    words = np.array(["red", "green", "blue", "cyan\n\"", "gr\u00fcn"])[numbers % 5]
    mixed = pd.DataFrame({"a": words[:, 0], "b": numbers[:, 1], "c": gaps[:, 2], "d": pd.Categorical(words[:, 1]), "e": numbers[:, 2] > 0})
    holed = words.astype(object)
    holed[::7, 1], holed[::5, 2] = np.nan, None
    for X in (numbers, gaps, gaps.astype(np.float32), words, words.tolist(), mixed, holed, numbers.astype(object), np.array([[2**60], [2**60 + 1], [3]])):
        yield X, X[:40]


def same_categories(own, theirs, label):
    check(len(own) == len(theirs), label)
    for one, other in zip(own, theirs):
        check((one is None) == (other is None), label)
        if one is not None:
            check(one.dtype == other.dtype and [str(v) for v in one.tolist()] == [str(v) for v in other.tolist()], f"{label}: {one!r} {other!r}")


def same_entries(own, other, label):
    check(own.shape == other.shape and own.dtype == other.dtype and all(a == b or (a != a and b != b) for a, b in zip(own.ravel().tolist(), other.ravel().tolist())),
          f"{label}: {own!r} {other!r}")


def ordinals():
    for X, few in tables_of_categories():
        for settings in ({}, {"encoded_missing_value": -1, "dtype": np.int32}, {"min_frequency": 9}, {"min_frequency": 0.2}, {"max_categories": 3}, {"max_categories": 1},
                         {"handle_unknown": "use_encoded_value", "unknown_value": -5, "max_categories": 4}, {"handle_unknown": "use_encoded_value", "unknown_value": np.nan}):
            label = f"ordinals {settings} of {type(X).__name__} {getattr(X, 'dtype', '')}"
            own, theirs = OrdinalEncoder(**settings), preprocessing.OrdinalEncoder(**settings)
            data = few if "handle_unknown" in settings else X
            same_entries(own.fit_transform(data), theirs.fit_transform(data), label)
            same_categories(own.categories_, theirs.categories_, label)
            check(hasattr(own, "infrequent_categories_") == hasattr(theirs, "infrequent_categories_"), label)
            if hasattr(own, "infrequent_categories_"):
                same_categories(own.infrequent_categories_, theirs.infrequent_categories_, label)
            codes = own.transform(X)
            same_entries(codes, theirs.transform(X), label)
            if not {"min_frequency", "max_categories"} & settings.keys() and not np.isnan(settings.get("unknown_value", 0)):  # (theirs takes NaN for a number there)
                same_entries(own.inverse_transform(codes), theirs.inverse_transform(codes.copy()), label)  # (they write into it)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "m")
                own.save(path)
                again = samebits.load(path)
            again.dtype = own.dtype  # (no file has it)
            same_entries(again.transform(X), codes, f"{label}, loaded")
            same_entries(pickle.loads(pickle.dumps(own)).transform(X), codes, f"{label}, pickled")
            taken = samebits.from_sklearn(theirs)
            same_entries(taken.transform(X), codes, f"{label}, taken over")
            same_categories(taken.categories_, theirs.categories_, f"{label}, taken over")
            if own.categories_[0].dtype.kind in "OU":
                same_entries(again.inverse_transform(codes)[:, :1].astype(str), own.inverse_transform(codes)[:, :1].astype(str), f"{label}, loaded, back")
            check(again.digest() == own.digest() and hasattr(again, "infrequent_categories_") == hasattr(own, "infrequent_categories_") and len(taken.digest()) == 64, label)
    rare = OrdinalEncoder(min_frequency=2).fit([["a"], ["a"], ["b"], ["c"]])
    check(rare.inverse_transform([[0], [1]]).tolist() == [["a"], ["infrequent_sklearn"]], "the rare ones")
    given = [["small", "middle", "large"], [1, 2, 3]]
    frame = pd.DataFrame({"a": ["large", "small"], "b": [3, 1]})
    for settings in ({"categories": given}, {"categories": [*given[:1], [1, 3]], "handle_unknown": "use_encoded_value", "unknown_value": -1}):
        own, theirs = OrdinalEncoder(**settings).fit(frame), preprocessing.OrdinalEncoder(**settings).fit(frame)
        same_entries(own.transform(frame), theirs.transform(frame), f"{settings}")
        same_categories(own.categories_, theirs.categories_, f"{settings}")
        same_entries(samebits.from_sklearn(theirs).transform(frame), own.transform(frame), f"{settings}, taken over")
        same_entries(own.inverse_transform(own.transform(frame)), theirs.inverse_transform(theirs.transform(frame)), f"{settings}, back")
    strange = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1).fit([[1.0], [0.0]])
    check(strange.transform(np.array([["1"], ["x"]])).tolist() == [[-1.0], [-1.0]], "words among numbers are unknown")
    refuses(
        (lambda: OrdinalEncoder().fit([["a"], ["b"]]).transform([["c"]]), ValueError, "Found unknown categories ['c'] in column 0 during transform"),
        (lambda: OrdinalEncoder().fit([[1.0]]).transform([[2.5]]), ValueError, "Found unknown categories [2.5] in column 0 during transform"),
        (lambda: OrdinalEncoder(categories=[["a"]]).fit([["b"]]), ValueError, "Found unknown categories ['b'] in column 0 during fit"),
        (lambda: OrdinalEncoder(categories=[[2, 1]]).fit([[1]]), ValueError, "Unsorted categories"), (lambda: OrdinalEncoder(categories=[["a", "a"]]).fit([["a"]]), ValueError, "duplicate"),
        (lambda: OrdinalEncoder(categories=[[1], [2]]).fit([[1]]), ValueError, "Shape mismatch"), (lambda: OrdinalEncoder(unknown_value=1).fit([[1]]), TypeError, "unknown_value should only"),
        (lambda: OrdinalEncoder(handle_unknown="use_encoded_value").fit([[1]]), TypeError, "unknown_value should be"),
        (lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=0).fit([[1]]), ValueError, "already used for encoding"),
        (lambda: OrdinalEncoder(encoded_missing_value=0).fit([[1], [np.nan]]), ValueError, "encoded_missing_value"), (lambda: OrdinalEncoder(dtype=int).fit([[np.nan]]), ValueError, "missing values"),
        (lambda: OrdinalEncoder().fit([["a"], [1]]), TypeError, "uniformly strings or numbers"), (lambda: OrdinalEncoder().fit([[b"a"]]), TypeError, "holds a bytes"),
        (lambda: OrdinalEncoder().fit([[1.0]]).inverse_transform([[1.0]]), ValueError, "no category"), (lambda: OrdinalEncoder().fit([[np.inf]]), ValueError, "infinity"))


def columns_of_categories():
    for X, few in tables_of_categories():
        for settings in ({}, {"drop": "first"}, {"drop": "if_binary", "max_categories": 2}, {"min_frequency": 9, "drop": "first", "dtype": np.int32}, {"min_frequency": 0.2}, {"max_categories": 1},
                         {"handle_unknown": "ignore"}, {"handle_unknown": "ignore", "drop": "first"}, {"handle_unknown": "infrequent_if_exist", "max_categories": 3}, {"handle_unknown": "warn", "min_frequency": 9},
                         {"handle_unknown": "infrequent_if_exist", "drop": "if_binary"}):
            label = f"columns {settings} of {type(X).__name__} {getattr(X, 'dtype', '')}"
            own, theirs = OneHotEncoder(sparse_output=False, **settings), preprocessing.OneHotEncoder(sparse_output=False, **settings)
            data = few if "handle_unknown" in settings else X
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                same_entries(own.fit(data).transform(X), theirs.fit(data).transform(X), label)
            said = [str(one.message).rstrip(".") for one in caught]
            check(len(said) % 2 == 0 and said[:1] == said[1:], f"{label}: {said}")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                out, taken = own.transform(X), samebits.from_sklearn(theirs)
                same_categories(own.categories_, theirs.categories_, label)
                check(np.array_equal(own.drop_idx_, theirs.drop_idx_) and (own.drop_idx_ is None) == (theirs.drop_idx_ is None), f"{label}: {own.drop_idx_} {theirs.drop_idx_}")
                check(own.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist(), f"{label}: {own.get_feature_names_out()}")
                check(hasattr(own, "infrequent_categories_") == hasattr(theirs, "infrequent_categories_"), label)
                if out.shape[1]:
                    same_entries(own.inverse_transform(out), theirs.inverse_transform(out), f"{label}, back")
                same_entries(taken.transform(X), out, f"{label}, taken over")
                same_categories(taken.categories_, theirs.categories_, f"{label}, taken over")
                sparse = OneHotEncoder(**settings).fit(data)
                hot = sparse.transform(X)
                check(type(hot) is scipy.sparse.csr_matrix and hot.dtype == out.dtype and sparse.digest() == own.digest(), label)
                same_entries(hot.toarray(), out, f"{label}, sparse")
                if out.shape[1]:
                    same_entries(sparse.inverse_transform(hot), own.inverse_transform(out), f"{label}, sparse, back")
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "m")
                    own.save(path)
                    again = samebits.load(path)
                again.set_params(dtype=own.dtype, sparse_output=False)  # (no file has them)
                same_entries(again.transform(X), out, f"{label}, loaded")
                check(again.digest() == own.digest() and pickle.loads(pickle.dumps(own)).digest() == own.digest(), label)
    frame = pd.DataFrame({"a": ["large", "small", "large"], "b": [3.5, np.nan, 1]})
    for settings in ({"drop": ["large", 1]}, {"drop": ["small", np.nan]}, {"categories": [["small", "middle", "large"], [1, 3.5, np.nan]], "drop": ["middle", 3.5]},
                     {"feature_name_combiner": lambda feature, category: f"{category} of {feature}"}):
        own, theirs = OneHotEncoder(sparse_output=False, **settings).fit(frame), preprocessing.OneHotEncoder(sparse_output=False, **settings).fit(frame)
        same_entries(own.transform(frame), theirs.transform(frame), f"{settings}")
        same_entries(own.inverse_transform(own.transform(frame)), theirs.inverse_transform(theirs.transform(frame)), f"{settings}, back")
        check(own.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist() and np.array_equal(own.drop_idx_, theirs.drop_idx_), f"{settings}")
        same_entries(samebits.from_sklearn(theirs).transform(frame), own.transform(frame), f"{settings}, taken over")
        if "feature_name_combiner" not in settings:
            with tempfile.TemporaryDirectory() as folder:
                own.save(os.path.join(folder, "m"))
                again = samebits.load(os.path.join(folder, "m"))
            check(base.clone(again).fit(frame).digest() == own.digest(), f"{settings}, loaded, cloned and fitted")
    refuses(
        (lambda: OneHotEncoder().fit([["a"], ["b"]]).transform([["c"]]), ValueError, "Found unknown categories ['c'] in column 0 during transform"),
        (lambda: OneHotEncoder().fit([[1.0]]).transform([[2.5]]), ValueError, "Found unknown categories [2.5] in column 0 during transform"),
        (lambda: OneHotEncoder(drop=["c"]).fit([["a"], ["b"]]), ValueError, "not found in the training data"), (lambda: OneHotEncoder(drop=[7]).fit([[1], [2]]), ValueError, "not found in the training data"),
        (lambda: OneHotEncoder(drop=[1, 2]).fit([[1], [2]]), ValueError, "`drop` should have length equal to the number of features (1), got 2"),
        (lambda: OneHotEncoder(drop=[1], min_frequency=2).fit([[1], [2], [2]]), ValueError, "because it is infrequent"),
        (lambda: OneHotEncoder(handle_unknown="say").fit([[1]]), ValueError, "handle_unknown"), (lambda: OneHotEncoder().fit([[1], [2]]).inverse_transform([[0, 0]]), ValueError, "all zeros"),
        (lambda: OneHotEncoder().fit([[1], [2]]).inverse_transform([[0, 0, 1]]), ValueError, "expecting 2 features"))


def scaled_ranges():
    for dtype, bound in ((np.float64, 1e-14), (np.float32, 1e-5)):
        X = holes(dtype)
        for settings in ({}, {"clip": True}, {"feature_range": (-2, 5.5)}):
            own, theirs = MinMaxScaler(**settings).fit(X[:40]), preprocessing.MinMaxScaler(**settings)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs.fit(X[:40]).partial_fit(X[40:])
            check(own.partial_fit(X[40:]).n_samples_seen_ == 60, "rows seen")
            whole = MinMaxScaler(**settings).fit(X)
            check(np.array_equal(own.scale_, whole.scale_, equal_nan=True) and np.array_equal(own.min_, whole.min_, equal_nan=True), "batches reach the extremes")
            for name in ("min_", "scale_", "data_min_", "data_max_", "data_range_"):
                check(np.allclose(getattr(own, name), getattr(theirs, name), rtol=1e-6, equal_nan=True), name)
            for data in (X, 3 * X):
                out, other = own.transform(data), theirs.transform(data)
                check(out.dtype == dtype and np.allclose(out, other, atol=bound, equal_nan=True), f"scaled {settings}")
                check(np.allclose(own.inverse_transform(out), theirs.inverse_transform(other), atol=10 * bound, equal_nan=True), f"back {settings}")
    one, other = MinMaxScaler().fit(X), MinMaxScaler().fit(X[::-1])
    check(one.digest() == other.digest(), "the order of rows reaches extremes")


def imputed():
    for dtype in (np.float64, np.float32):
        for strategy in ("mean", "median", "most_frequent", "constant"):
            for marks, keeps, hole in ((False, False, np.nan), (True, False, 0.5), (False, True, 0.5), (True, True, np.nan)):
                X = holes(dtype, hole)
                settings = {"strategy": strategy, "add_indicator": marks, "keep_empty_features": keeps, "missing_values": hole}
                own, theirs = SimpleImputer(**settings).fit(X), impute.SimpleImputer(**settings).fit(X)
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    out, other = own.transform(X), theirs.transform(X)
                check(len(said) % 2 == 0 and {str(one.message) for one in said[::2]} == {str(one.message) for one in said[1::2]}, "what is left out")
                check(out.dtype == dtype and np.allclose(out, other, rtol=1e-6 if dtype == np.float32 else 1e-14), f"{settings}")
                check(list(own.get_feature_names_out()) == list(theirs.get_feature_names_out()), "names of columns")
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    check(all(np.array_equal(own.transform(X[i:i + 1])[0], out[i]) for i in range(0, len(X), 7)), "a row alone")
                    check(not marks or np.array_equal(own.inverse_transform(out), X, equal_nan=True), "holes again")
    words = np.array([["b", 3.5, "x"], ["a", np.nan, np.nan], [np.nan, 1, "x"], ["b", 1, "y"], ["a", 7, np.nan]], dtype=object)
    tables = [words, words[:, :1], pd.DataFrame(words, columns=list("uvw")), [["a"], ["b"], ["b"]], np.array([[2, -1], [-1, 5], [2, 7]]), np.array([[2**60, -1], [-1, 5], [2**60, 7]]),
              np.array([[1, -1], [1, 2]], dtype=np.int8), pd.DataFrame({"a": pd.Categorical(["u", None, "u"]), "b": [1, 2, 2]})]
    for X in tables:
        numbers = getattr(X, "dtype", np.dtype(object)).kind in "iu"
        for settings in ({"strategy": "most_frequent"}, {"strategy": "constant"}, {"strategy": "constant", "fill_value": 9 if numbers else "none"}, {"strategy": "most_frequent", "add_indicator": True},
                         {"strategy": "most_frequent", "missing_values": -1 if numbers else np.nan}):
            label = f"{settings} of {X!r}"
            own, theirs = SimpleImputer(**settings), impute.SimpleImputer(**settings)
            one, other = own.fit(X).transform(X), theirs.fit(X).transform(X)
            check(one.dtype == other.dtype and one.tolist() == other.tolist(), f"{label}: {one!r} {other!r}")
            check(own.statistics_.tolist() == theirs.statistics_.tolist() and list(own.get_feature_names_out()) == list(theirs.get_feature_names_out()), f"{label}: {own.statistics_} {theirs.statistics_}")
            with tempfile.TemporaryDirectory() as folder:
                own.save(os.path.join(folder, "m"))
                again = samebits.load(os.path.join(folder, "m"))
            check(again.digest() == own.digest() == pickle.loads(pickle.dumps(own)).digest() and again.transform(X).tolist() == one.tolist(), f"{label}, loaded")
            check(repr(again.get_params()["fill_value"]) in (repr(own.fill_value), repr(float(own.fill_value or 0)) if numbers else ""), f"{label}: {again.get_params()}")
            if not numbers or X.max() < 2**53:
                check(samebits.from_sklearn(theirs).transform(X).tolist() == one.tolist(), f"{label}, taken over")
    own = SimpleImputer(strategy="most_frequent").fit(words)
    check(own.transform(np.array([["new", np.nan, np.nan]], dtype=object)).tolist() == [["new", 1, "x"]], "a word that the fit did not see stays")
    gone = np.array([["a", None], [None, None]], dtype=object)
    check(SimpleImputer(strategy="constant", fill_value="?", missing_values=None, keep_empty_features=True).fit_transform(gone).tolist() == [["a", "?"], ["?", "?"]], "None is what is missing")
    check(SimpleImputer(missing_values=pd.NA).fit_transform(pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")})).tolist() == [[1.0], [2.0], [3.0]], "pandas' NA")
    refuses(
        (lambda: SimpleImputer().fit([["a"]]), ValueError, "Cannot use mean strategy with non-numeric data"), (lambda: SimpleImputer(strategy="constant", fill_value="x").fit([[1.0]]), ValueError, "cannot be cast"),
        (lambda: SimpleImputer(strategy="constant").fit([[1]]).transform([[2**60]]), ValueError, "the fit was on smaller numbers"), (lambda: SimpleImputer(strategy="constant", fill_value=0.5).fit([[1]]), ValueError, "cannot be cast"), (lambda: SimpleImputer(missing_values="x").fit([[1.0]]), ValueError, "expected to be both numerical"),
        (lambda: SimpleImputer(strategy="most_frequent").fit(np.array([["a"]])), ValueError, "does not support data with dtype <U1"), (lambda: own.inverse_transform(words), NotImplementedError, "inverse_transform of a SimpleImputer"),
        (lambda: SimpleImputer(strategy="most_frequent", missing_values=None).fit(words), ValueError, "Input X contains NaN"), (lambda: SimpleImputer(strategy="most_frequent").fit(np.array([[b"a"]], dtype=object)), TypeError, "holds a bytes"))
    frame = sklearn.datasets.load_diabetes(as_frame=True).data.iloc[:9].copy()
    frame.iloc[2, 1] = np.nan
    own, theirs = SimpleImputer(add_indicator=True).set_output(transform="pandas"), impute.SimpleImputer(add_indicator=True).set_output(transform="pandas")
    check(list(own.fit_transform(frame).columns) == list(theirs.fit_transform(frame).columns), "a frame")


def classifiers():
    for load in (sklearn.datasets.load_iris, sklearn.datasets.load_digits, sklearn.datasets.load_wine, sklearn.datasets.load_breast_cancer):
        data = load()
        X, y = data.data, data.target_names[data.target]
        for kind in (np.float64, np.float32):
            own, theirs = GaussianNB().fit(X.astype(kind), y), naive_bayes.GaussianNB().fit(X.astype(kind).astype(np.float64), y)
            check(np.allclose(own.theta_, theirs.theta_, rtol=1e-5) and np.allclose(own.var_, theirs.var_, rtol=1e-4) and np.array_equal(own.class_count_, theirs.class_count_), "means and variances")
            check(np.array_equal(own.predict(X), theirs.predict(X)) and own.score(X, y) == theirs.score(X, y) and own.epsilon_ / theirs.epsilon_ - 1 < 1e-5, "labels")
            check(np.allclose(own.predict_proba(X), theirs.predict_proba(X), atol=1e-5) and np.array_equal(own.classes_, theirs.classes_), "probabilities")
        priors, weights = np.full(len(own.classes_), 1 / len(own.classes_)), np.arange(len(y)) % 3 + 0.5
        own, theirs = GaussianNB(priors=priors).fit(X, y, weights), naive_bayes.GaussianNB(priors=priors).fit(X, y, weights)
        check(np.allclose(own.theta_, theirs.theta_) and np.allclose(own.var_ - own.epsilon_, theirs.var_ - theirs.epsilon_, atol=1e-9), "weights") # (epsilon: see the page)
        check(abs(own.score(X, y, weights) - theirs.score(X, y, weights)) < 0.002, "weighted score")
        parts = GaussianNB()
        for i in range(0, len(y), 50):
            parts.partial_fit(X[i:i + 50], y[i:i + 50], classes=own.classes_)
        whole = GaussianNB().fit(X, y)
        check(np.allclose(parts.theta_, whole.theta_, rtol=1e-12) and np.allclose(parts.var_, whole.var_, rtol=1e-9), "in parts")
    with tempfile.TemporaryDirectory() as folder: # the same labels, the same bytes, the same words back
        path, table, out = (os.path.join(folder, name) for name in ("m", "t.csv", "p.csv"))
        X, y = sklearn.datasets.load_iris(return_X_y=True)
        for names in (np.array(["\u00e9t\u00e9", "a,b", "z"]), np.array([7, -1, 3]), np.array([3.0, 1.0, 2.0]), np.array(["b", "a", "c"], dtype=object)):
            labels = names[y]
            with open(table, "w", encoding="utf-8") as file:
                file.write("a,b,c,d,label\n" + "".join(",".join(repr(float(cell)) for cell in row) + f',"{label}"\n' for row, label in zip(X, labels)))
            subprocess.run([os.environ["SAMEBITS_COMMAND"], "fit", "gaussian_nb", "--data", table, "--target", "label", "--out", path], check=True, capture_output=True)
            subprocess.run([os.environ["SAMEBITS_COMMAND"], "predict", path, "--data", table, "--target", "label", "--out", out], check=True)
            model = GaussianNB().fit(X, labels)
            with open(path, "rb") as file:
                check(file.read() == model._model.store(), f"{names}: one file") # pylint: disable=protected-access
            again, found = samebits.load(path).predict(X), pd.read_csv(out, header=0 if isinstance(labels[0], str) else None).to_numpy()[:, 0]
            check(np.array_equal(again, model.predict(X)) and np.array_equal(found, again), f"{names}: words back")
        check(samebits.load(path).classes_.tolist() == ["a", "b", "c"] and GaussianNB().fit(X, y == 1).predict(X).dtype == bool, "names")


def apart(a, b):
    return np.abs(np.asarray(a, dtype=float) - b).max()


def subspaces():
    X = sklearn.datasets.load_digits().data
    for data, bound in ((X, 1e-11), (X.astype(np.float32), 3e-5)):
        for solver, wanted in (("covariance_eigh", 10), ("full", 0.9), ("auto", "mle"), ("full", None), ("arpack", 12), ("randomized", 10)):
            own = PCA(wanted, svd_solver=solver, random_state=0).fit(data)
            theirs = decomposition.PCA(wanted, svd_solver="full" if solver in ("randomized", "arpack") else solver).fit(X)
            first = slice(3 if solver == "randomized" else 10)
            loose = 1e-3 if solver == "randomized" else bound
            check(own.n_components_ == theirs.n_components_ == own.components_.shape[0] and own.components_.dtype == data.dtype, f"{solver} {wanted}: how many")
            check(apart(own.explained_variance_[first], theirs.explained_variance_[first]) < loose * theirs.explained_variance_[0], f"{solver} {wanted}: variances")
            check(apart(own.components_[first], theirs.components_[first]) < loose and apart(own.mean_, theirs.mean_) < bound, f"{solver} {wanted}: components")
            check(apart(own.transform(data)[:, first], theirs.transform(X)[:, first]) < 100 * loose, f"{solver} {wanted}: coordinates")
            check(apart(own.get_covariance(), theirs.get_covariance()) < 100 * loose, f"{solver} {wanted}: covariance")
            if wanted == 10:
                check(abs(own.score(data) - theirs.score(X)) < 100 * loose and apart(own.score_samples(data), theirs.score_samples(X)) < 1e5 * loose, f"{solver}: likelihood")
                check(apart(own.get_precision() @ own.get_covariance(), np.eye(64)) < 1e3 * bound, f"{solver}: precision")
        own, theirs = PCA(20, whiten=True).fit(data), decomposition.PCA(20, whiten=True).fit(X)
        check(apart(own.transform(data), theirs.transform(X)) < 100 * bound and apart(own.transform(data).var(axis=0, ddof=1), 1.0) < 100 * bound, "whitened")
        check(apart(own.inverse_transform(own.transform(data)), theirs.inverse_transform(theirs.transform(X))) < 100 * bound, "whitened, back")
        for algorithm in ("arpack", "randomized"):
            own, theirs = TruncatedSVD(6, algorithm=algorithm, random_state=1).fit(data), decomposition.TruncatedSVD(6, algorithm="arpack", random_state=1).fit(X)
            loose = bound if algorithm == "arpack" else 1e-5
            check(apart(own.singular_values_ / theirs.singular_values_, 1.0) < loose and apart(own.explained_variance_ratio_, theirs.explained_variance_ratio_) < loose, algorithm)
            check(apart(own.transform(data)[:, :3], theirs.transform(X)[:, :3]) < 1e3 * loose, f"{algorithm}: coordinates")
    # Variances far from 0: of float32 data, where the mean is a million times the spread of one feature.
    rng = np.random.default_rng(3)
    far = (rng.normal(size=(2000, 3)) * [100.0, 10.0, 1.0] + [0.0, 0.0, 4096.0]).astype(np.float32)
    exact = np.linalg.eigvalsh(np.cov(far.astype(float).T))[::-1]
    check(apart(PCA().fit(far).explained_variance_ / exact, 1.0) < 2e-7, "far from 0")
    low = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 40))
    own = PCA(4, svd_solver="randomized", random_state=2).fit(low)
    check(apart(own.inverse_transform(own.transform(low)), low) < 1e-11 and own.noise_variance_ < 1e-12, "a matrix of rank 4")


def mixtures():
    X = sklearn.datasets.load_iris().data
    starts = {"full": np.array([4.0 * np.eye(4)] * 3), "tied": 4.0 * np.eye(4), "diag": np.full((3, 4), 4.0), "spherical": np.full(3, 4.0)}
    for data, bound in ((X, 1e-9), (X.astype(np.float32), 1e-4)):
        for kind, precisions in starts.items():
            given = {"n_components": 3, "covariance_type": kind, "means_init": X[[0, 60, 120]], "weights_init": [0.3, 0.3, 0.4], "precisions_init": precisions, "max_iter": 500, "tol": 1e-7}
            own, theirs = GaussianMixture(**given).fit(data), mixture.GaussianMixture(**given).fit(X)
            check(own.converged_ is True and own.n_iter_ == theirs.n_iter_ and apart(own.lower_bounds_, theirs.lower_bounds_) < bound, f"{kind}: rounds")
            for name in ("weights_", "means_", "covariances_", "precisions_cholesky_"):
                check(apart(getattr(own, name), getattr(theirs, name)) < bound and getattr(own, name).dtype == data.dtype, f"{kind}: {name}")
            check(apart(own.precisions_ / theirs.precisions_, 1.0) < 100 * bound and np.array_equal(own.predict(data), theirs.predict(X)), f"{kind}: labels")
            check(apart(own.predict_proba(data), theirs.predict_proba(X)) < bound and apart(own.score_samples(data), theirs.score_samples(X)) < bound, f"{kind}: densities")
            check(abs(own.aic(data) - theirs.aic(X)) < 150 * bound and abs(own.bic(data) - theirs.bic(X)) < 150 * bound and abs(own.score(data) - theirs.score(X)) < bound, f"{kind}: criteria")
            drawn, labels = own.sample(20000)
            one, covariance = drawn[labels == 1], {"full": own.covariances_[-2], "tied": own.covariances_}.get(kind)
            covariance = np.diag(np.broadcast_to(own.covariances_[1], 4)) if covariance is None else covariance
            check(drawn.dtype == data.dtype and labels.tolist() == sorted(labels.tolist()) and apart(np.bincount(labels) / 20000, own.weights_) < 0.015, f"{kind}: a sample's labels")
            check(apart(one.mean(axis=0), own.means_[1]) < 0.05 and apart(np.cov(one.T), covariance) < 0.05, f"{kind}: a sample")
            check(np.array_equal(own.sample(7)[0], own.sample(7)[0]) and len(own.sample()[0]) == 1, f"{kind}: drawn again")
        for kind in ("full", "diag"):
            other = mixture.GaussianMixture(3, covariance_type=kind, random_state=1, max_iter=300).fit(X)
            for init in ("kmeans", "k-means++", "random", "random_from_data"):
                best = GaussianMixture(3, covariance_type=kind, init_params=init, n_init=4, random_state=1, max_iter=300).fit(data)
                check(best.lower_bound_ > other.lower_bound_ - 0.1 and np.diff(best.lower_bounds_).min() > -1e-9, f"{kind} {init}: {best.lower_bound_} {other.lower_bound_}")
    warm = GaussianMixture(3, max_iter=2, tol=0, warm_start=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = warm.fit(X).lower_bound_
        check(warm.fit(X).lower_bound_ > first and warm.fit_predict(X).shape == (150,), "warm start")


def sparse_data():
    X, y = sklearn.datasets.load_diabetes(return_X_y=True)
    X = np.where(np.arange(X.size).reshape(X.shape) % 3 == 0, X, 0.0)
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array):
        for own in (KMeans(4, random_state=1), LinearRegression(), Ridge(), Lasso(0.1), ElasticNet(0.01)):
            dense, other = base.clone(own).fit(X, y), base.clone(own).fit(kind(X), y)
            check(dense.digest() == other.digest() and np.array_equal(dense.predict(X), other.predict(kind(X))), f"{kind.__name__}: the bits of the dense")
        for own in (PCA(3, random_state=4), TruncatedSVD(3, random_state=4)):
            dense, other = base.clone(own).fit(X), base.clone(own).fit(kind(X))
            check(dense.digest() == other.digest() and np.array_equal(dense.transform(X), other.transform(kind(X))), f"{kind.__name__}: the bits of the dense")
    holed = np.where(np.arange(X.size).reshape(X.shape) % 21 == 3, np.nan, X)
    holed[:, 4], holed[0, 0] = np.nan, -0.0
    for dtype in (np.float64, np.float32):
        for kind in (scipy.sparse.csr_matrix, scipy.sparse.csc_array):
            sparse = kind(holed.astype(dtype))
            for scales in (True, False):
                settings = {"with_mean": False, "with_std": scales}
                own, theirs = StandardScaler(**settings).fit(sparse), preprocessing.StandardScaler(**settings).fit(sparse)
                dense, out, other = StandardScaler(**settings).fit(holed.astype(dtype)), own.transform(sparse), theirs.transform(sparse)
                check(own.digest() == dense.digest() and np.array_equal(out.toarray(), dense.transform(holed.astype(dtype)), equal_nan=True), "a scaler: the bits of the dense")
                check(out.format == other.format and out.nnz == other.nnz and out.dtype == dtype and np.allclose(out.toarray(), other.toarray(), rtol=1e-5, equal_nan=True), "a scaler")
                check(np.allclose(own.inverse_transform(out).toarray(), holed, rtol=1e-5, equal_nan=True), "a scaler, back")
            for strategy in ("mean", "median", "most_frequent", "constant"):
                for marks, keeps in ((False, False), (True, False), (False, True)):
                    settings = {"strategy": strategy, "add_indicator": marks, "keep_empty_features": keeps}
                    own, theirs, dense = (make(**settings) for make in (SimpleImputer, impute.SimpleImputer, SimpleImputer))
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        out, other, want = own.fit_transform(sparse), theirs.fit_transform(sparse), dense.fit_transform(holed.astype(dtype))
                    check(own.digest() == dense.digest() and np.array_equal(out.toarray(), want), "an imputer: the bits of the dense")
                    check(out.format == other.format and out.dtype == other.dtype and np.allclose(out.toarray(), other.toarray(), rtol=1e-5), f"an imputer {settings}")
    refuses(
        (lambda: StandardScaler().fit(sparse), ValueError, "Cannot center sparse matrices: pass `with_mean=False`"), (lambda: StandardScaler().fit(X).transform(sparse), ValueError, "Cannot center"),
        (lambda: StandardScaler().fit(X).inverse_transform(sparse), ValueError, "Cannot uncenter"), (lambda: SimpleImputer(missing_values=0).fit(sparse), ValueError, "missing_values == 0 and input is sparse"),
        (lambda: MinMaxScaler().fit(sparse), TypeError, "dense data is required"))
    theirs = linear_model.LinearRegression().fit(scipy.sparse.csr_matrix(X), y)
    check(np.allclose(LinearRegression().fit(scipy.sparse.csr_matrix(X), y).coef_, theirs.coef_, rtol=1e-3), "sparse coefficients")


def same_bits():
    X, y = sklearn.datasets.load_diabetes(return_X_y=True)
    for make in (
            lambda: KMeans(5, random_state=3),
            LinearRegression,
            Ridge,
            lambda: Lasso(0.1),
            lambda: ElasticNet(0.01, selection="random", random_state=3),
            StandardScaler,
            MinMaxScaler,
            lambda: SimpleImputer(strategy="median", add_indicator=True),
            GaussianNB,
            lambda: PCA(4, random_state=5),
            lambda: PCA(4, svd_solver="full", random_state=5),
            lambda: PCA(4, svd_solver="randomized", random_state=5, whiten=True),
            lambda: TruncatedSVD(3, random_state=6),
            lambda: GaussianMixture(3, random_state=7),
            lambda: GaussianMixture(3, covariance_type="tied", init_params="random", random_state=7)):
        digests = set()
        for threads in (1, 2, 3, 8):
            with samebits.config_context(threads=threads):
                model = make().fit(X, y > 100 if make is GaussianNB else y)
                digests.add(model.digest())
        check(len(digests) == 1, "threads reach a digest")
        method = "transform" if hasattr(model, "transform") else "predict"
        whole = getattr(model, method)(X)
        check(all(np.array_equal(getattr(model, method)(X[i:i + 1])[0], whole[i]) for i in range(0, len(X), 7)), "a row alone")
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            check(other.digest() == model.digest() and np.array_equal(getattr(other, method)(X), whole), "pickled")
        check(not hasattr(base.clone(model), "_model") and base.clone(model).fit(X, y > 100 if make is GaussianNB else y).digest() == model.digest(), "cloned")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.safetensors")
            model.save(path)
            again = samebits.load(path)
            check(type(again) is type(model) and again.digest() == model.digest() and np.array_equal(getattr(again, method)(X), whole), "saved")
            with open(path, "rb") as file:
                check(file.read() == model._model.store(), "one file") # pylint: disable=protected-access


def layouts():
    X = sklearn.datasets.load_diabetes().data
    own, still = StandardScaler().fit(X).digest(), X.copy()
    still.flags.writeable = False
    unaligned = np.frombuffer(b"x" + X.tobytes(), offset=1, dtype=X.dtype).reshape(X.shape)
    for what, other in (("by columns", np.asfortranarray(X)), ("steps", np.repeat(X, 2, 0)[::2]), ("backwards", X[::-1].copy()[::-1]),
                        ("other end first", X.astype(">f8")), ("not aligned", unaligned), ("read-only", still), ("a list", X.tolist())):
        check(StandardScaler().fit(other).digest() == own, what)


def child(queue, X):
    queue.put(StandardScaler().fit(X).digest())


def machinery():
    X, y = sklearn.datasets.load_diabetes(return_X_y=True, as_frame=True)
    pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), LinearRegression())
    pipe.fit(X, y)
    check(list(pipe[0].feature_names_in_) == list(X.columns) and len(samebits.digest(pipe)) == 64 and "LinearRegression" in pipe._repr_html_(), "pipeline")
    search = GridSearchCV(make_pipeline(StandardScaler(), LinearRegression()), {"linearregression__fit_intercept": [True, False]}, n_jobs=2).fit(X, y)
    check(search.best_params_ == {"linearregression__fit_intercept": True}, "search")
    scores = cross_val_score(LinearRegression(), X, y, n_jobs=2)
    check(np.array_equal(scores, cross_val_score(LinearRegression(), X, y)), "scores over processes")
    data, own = X.to_numpy(), StandardScaler().fit(X.to_numpy()).digest()
    for way in ("fork", "spawn"):
        context = multiprocessing.get_context(way)
        queue = context.Queue()
        process = context.Process(target=child, args=(queue, data))
        process.start()
        check(queue.get(timeout=120) == own, f"a {way}ed process")
        process.join()


def recordings():
    X, y = sklearn.datasets.load_diabetes(return_X_y=True, as_frame=True)
    pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), "passthrough", LinearRegression()).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path, hashes, page = (os.path.join(folder, name) for name in ("r", "hashes", "page.html"))
        number = samebits.record(pipe, X, path, threshold=150, note="as shown")
        found = samebits.replay(path, report=page)
        check(found and found.document["references"] == number and found.verdict == "IDENTICAL" and "IDENTICAL" in found.text, found.text)
        with open(page, encoding="utf-8") as file:
            check(number in file.read(), "the page")
        check(found.document["cells"][1]["sha256"] == samebits.digest(pipe.predict(X)), "the digest of the output")
        check(samebits.record(pipe, X, hashes, threshold=150, note="as shown", values=False) == number, "one number")
        check(os.path.getsize(hashes) < os.path.getsize(path) and samebits.replay(hashes, X) and samebits.replay(hashes, X.to_numpy()), "hashes")
        with samebits.config_context(threads=1):
            check(samebits.replay(hashes, X), "one thread")
        sparse = scipy.sparse.csr_array(X.to_numpy() * (X.to_numpy() > 0))
        model = LinearRegression().fit(sparse, y)
        check(samebits.record(model, sparse, path) == samebits.record(model, sparse.toarray(), path) and samebits.replay(path, sparse), "sparse")
        check(samebits.record(KMeans(3, random_state=0).fit(X), X, path) and samebits.replay(path), "labels")
        check(samebits.record(StandardScaler().fit(X), X, path, method="inverse_transform") and samebits.replay(path), "another method")
        done = subprocess.run([os.environ["SAMEBITS_COMMAND"], "replay", path], capture_output=True, text=True)
        check(done.returncode == 0 and done.stdout.endswith("IDENTICAL\n"), done.stderr)
        for call, kind, words in (
                (lambda: samebits.replay(hashes), ValueError, "hashes only"), (lambda: samebits.replay(hashes, X + 1), ValueError, "not the input"), (lambda: samebits.replay(hashes, X + 0j), ValueError, "Complex data"),
                (lambda: samebits.record(LinearRegression(), X, path), RuntimeError, "not fitted"),
                (lambda: samebits.record(make_pipeline(preprocessing.MinMaxScaler(), LinearRegression()).fit(X, y), X, path), TypeError, "minmaxscaler"),
                (lambda: samebits.record(pipe, X, path, method="fit"), ValueError, "no method"), (lambda: samebits.record(pipe, X, path, method=1), TypeError, "method: expected a text, got 1"),
                (lambda: samebits.record(pipe, X, path, note="a\0b"), ValueError, "null byte"), (lambda: samebits.digest({1: X}), TypeError, "expected a text"), (lambda: samebits.replay(page), ValueError, "SB_ERR"),
                (lambda: samebits.record(pipe, X.iloc[:, :3], path), ValueError, "feature names"), (lambda: samebits.replay("/nowhere"), OSError, "nowhere")):
            try:
                call()
            except kind as error:
                check(words in str(error) or words == "SB_ERR" and error.status == "SB_ERR_FORMAT", f"{error}")
            else:
                check(False, words)


class Lent:
    """An array behind one protocol alone."""

    def __init__(self, array, *names):
        self._array = array
        for name in names:
            setattr(type(self), name, property(lambda self, name=name: getattr(self._array, name)))


def inputs():
    """Memory that is contiguous is looked at where it is: by numpy, DLPack, __array_interface__; and what is not is copied."""
    X = np.random.default_rng(0).normal(size=(50, 4))
    seen = []
    wrapped = _library.Array.__init__

    def watched(self, array):
        wrapped(self, array)
        seen.append((self.kept.ctypes.data, array.dtype))

    want = StandardScaler().fit(X).digest()
    _library.Array.__init__ = watched
    try:
        for data in (X, type("ByDLPack", (Lent,), {})(X, "__dlpack__", "__dlpack_device__"), type("ByInterface", (Lent,), {})(X, "__array_interface__"),
                     X.astype(np.float32), memoryview(X)):
            place = np.asarray(data).ctypes.data if isinstance(data, np.ndarray) else X.ctypes.data
            seen.clear()
            model = StandardScaler().fit(data)
            check(seen[0][0] == place, f"{type(data).__name__}: a copy was made")
            check(model.digest() == want or data.dtype == np.float32, type(data).__name__)
        for data in (X[:, ::-1][:, ::-1].copy(order="F"), np.repeat(X, 2, axis=0)[::2]):
            seen.clear()
            check(StandardScaler().fit(data).digest() == want and seen[0][0] != data.ctypes.data, "rows that are not side by side are copied")
    finally:
        _library.Array.__init__ = wrapped
    check(StandardScaler().fit(X.tolist()).digest() == want and np.array_equal(StandardScaler().fit(np.eye(3, dtype=np.int32)).mean_, np.eye(3).mean(axis=0)), "lists, integers")


def configuration():
    check(samebits.get_config() == {"device": None, "threads": 0}, "at first")
    samebits.set_config(threads=3)
    try:
        check(samebits.threads() == 3, "set_config")
        with samebits.config_context(threads=2, device="cpu"):
            check(samebits.get_config() == {"device": "cpu", "threads": 2} and samebits.threads() == 2, "within")
            samebits.set_config(threads=1)
            check(samebits.threads() == 1, "set within")
            got = []
            other = threading.Thread(target=lambda: got.append(samebits.threads()))
            other.start()
            other.join()
            check(got == [3], "another thread")
        check(samebits.threads() == 3, "afterwards")
    finally:
        samebits.set_config(threads=0)
    refuses(*((lambda settings=settings: samebits.set_config(**settings), kind, words) for settings, kind, words in (
        ({"threads": -1}, samebits.Error, "threads: -1 is not in 1 to 1024"), ({"threads": 2**70}, samebits.Error, "is not in 1 to 1024"), ({"threads": 1.5}, TypeError, "threads: 1.5 is no whole number"),
        ({"device": "abacus"}, samebits.Error, "abacus"), ({"device": 3}, TypeError, "device: 3 is no name"), ({"device": "cpu\0x"}, ValueError, "null byte"))))
    check(samebits.get_config() == {"device": None, "threads": 0}, "what is refused changes nothing")


def some_data(kind):
    """X and y that a class takes."""
    X, y = sklearn.datasets.load_diabetes(return_X_y=True, as_frame=True)
    words = kind._input.split()  # pylint: disable=protected-access
    if "positive" in words:
        X = X - X.min()
    return X.iloc[:120, :4], (y > 120 if "classes" in words else y)[:120]


def made(kind):
    parameters = kind().get_params()
    own = {name: 3 for name in ("n_clusters", "n_components") if name in parameters} | {name: False for name in ("sparse_output",) if name in parameters}
    return kind(**own, **({"random_state": 1} if "random_state" in parameters else {}))


def manners():
    """What scikit-learn's tools ask of every class: clones, pickles, frames, names of features, pages, searches over processes."""
    for kind in classes():
        X, y = some_data(kind)
        own = made(kind).fit(X, y)
        check(base.clone(own).get_params().keys() == own.get_params().keys() and base.clone(own).fit(X, y).digest() == own.digest(), f"{kind.__name__}: cloned")
        check(pickle.loads(pickle.dumps(own)).digest() == own.digest() and copy.deepcopy(own).digest() == own.digest(), f"{kind.__name__}: pickled")
        check(list(own.feature_names_in_) == list(X.columns) and own.n_features_in_ == 4, f"{kind.__name__}: names of features")
        check(kind.__name__ in own._repr_html_() and kind.__name__ in repr(own), f"{kind.__name__}: HTML")  # pylint: disable=protected-access
        if hasattr(own, "transform"):
            frame = own.set_output(transform="pandas").transform(X)
            check(list(frame.columns) == list(own.get_feature_names_out()) and frame.index.equals(X.index), f"{kind.__name__}: a frame")
            check(np.array_equal(frame.to_numpy(), own.set_output(transform="default").transform(X), equal_nan=True), f"{kind.__name__}: the numbers of it")
        with samebits.config_context(threads=1):
            check(made(kind).fit(X, y).digest() == own.digest(), f"{kind.__name__}: threads")
        with tempfile.TemporaryDirectory() as folder:
            own.save(os.path.join(folder, "m"))
            again = samebits.load(os.path.join(folder, "m"))
        check(all(str(again.get_params()[name]) in (str(value), "(0.0, 1.0)") for name, value in own.get_params().items() if name in own._sent and (name != "random_state" or hasattr(own, "random_state_"))), f"{kind.__name__}: parameters of a file")  # pylint: disable=protected-access
        check(base.clone(again).fit(X, y).digest() == own.digest() and again.n_features_in_ == 4, f"{kind.__name__}: a loaded one, cloned and fitted")
        try:
            own.set_params(no_such=1)
        except ValueError as error:
            check("no_such" in str(error), error)
    X, y = some_data(LinearRegression)
    pipe = make_pipeline(StandardScaler(), LinearRegression())
    alone = cross_val_score(pipe, X, y, n_jobs=1)
    for backend in ("loky", "multiprocessing", "threading"):  # spawned, forked, threads of one process
        with joblib.parallel_config(backend):
            check(np.array_equal(cross_val_score(pipe, X, y, n_jobs=2), alone), f"{backend}: scores")
            search = GridSearchCV(make_pipeline(StandardScaler(), KMeans(random_state=0)), {"kmeans__n_clusters": [2, 3]}, n_jobs=2, cv=3).fit(X)
            check(search.best_params_ == {"kmeans__n_clusters": 3} and len(samebits.digest(search.best_estimator_)) == 64, f"{backend}: search")


ROW_METHODS = ("predict", "transform", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "decision_function", "score_samples", "inverse_transform", "kneighbors", "radius_neighbors")


def rows_turned():
    """Rows in another order: a result has the same rows in that order, bit for bit; a fit whose sums are exact, or that has none, is the same fit."""
    generator = np.random.default_rng(3)
    for kind in classes():
        for dtype in (np.float64, np.float32):
            X, y = some_data(kind)
            X, order = X.to_numpy(dtype=dtype), generator.permutation(len(X))
            own = made(kind).fit(X, y)
            for method in (name for name in ROW_METHODS if hasattr(own, name)):
                if method == "inverse_transform" and hasattr(own, "statistics_"):
                    continue  # (without an indicator nothing says where holes were)
                data = own.transform(X) if method == "inverse_transform" else X
                whole, turned = getattr(own, method)(data), getattr(own, method)(data[order])
                for one, other in zip(*((found if isinstance(found, tuple) else (found,)) for found in (whole, turned))):
                    same = [np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(one[order], other)]
                    check(all(same) and len(same) == len(order), f"{kind.__name__}.{method} of rows in another order")
    # Whole numbers, a power of two of them: every sum is exact, whatever its order; and what no sum is in.
    X = generator.integers(-8, 9, size=(256, 5)).astype(np.float64)
    y, order = X @ np.array([1.0, -2.0, 0.5, 0.0, 3.0]) + generator.integers(-2, 3, size=256), generator.permutation(256)
    for own in (LinearRegression(), LinearRegression(fit_intercept=False), LinearRegression(positive=True), Ridge(0.5), Lasso(0.5), ElasticNet(0.5), StandardScaler(), MinMaxScaler(), GaussianNB(),
                SimpleImputer(), SimpleImputer(strategy="median"), SimpleImputer(strategy="most_frequent"), OrdinalEncoder(), OneHotEncoder()):
        target = np.arange(256) % 2 if isinstance(own, GaussianNB) else y
        check(base.clone(own).fit(X, target).digest() == base.clone(own).fit(X[order], target[order]).digest(), f"{own}: a fit of rows in another order")
    # Real numbers: the extremes, medians and places are the same; a sum in the order of rows differs in its last bits at most.
    X, y = sklearn.datasets.load_diabetes(return_X_y=True)
    order = generator.permutation(len(X))
    for own in (MinMaxScaler(), SimpleImputer(strategy="median"), SimpleImputer(strategy="most_frequent"), OrdinalEncoder(), OneHotEncoder()):
        check(base.clone(own).fit(X).digest() == base.clone(own).fit(X[order]).digest(), f"{own}: a fit of real rows in another order")
    for own in (LinearRegression(), Ridge(), Lasso(0.1, tol=1e-10), ElasticNet(0.01, tol=1e-10), LogisticRegression(tol=1e-9, max_iter=1000)):
        target = (y > 100) if isinstance(own, LogisticRegression) else y
        one, other = base.clone(own).fit(X, target), base.clone(own).fit(X[order], target[order])
        check(np.allclose(one.coef_, other.coef_, rtol=1e-6, atol=1e-6 * np.abs(one.coef_).max()), f"{own}: a fit of real rows in another order")
    near, turned = (NearestNeighbors(n_neighbors=4).fit(data).kneighbors(X[:50]) for data in (X, X[order]))
    check(np.array_equal(near[0], turned[0]) and np.array_equal(X[near[1]], X[order][turned[1]]), "neighbours among rows in another order")


def devices():
    """Fits, results, metrics and recordings on another device, of models fitted here and there: the same bits."""
    try:
        with samebits.config_context(device="opencl:0.0"):
            pass
    except samebits.Error as error:
        print(f"devices: skipped, {error}")
        return

    def results(model, X):
        found = {name: getattr(model, name)(X) for name in ROW_METHODS if hasattr(model, name) and name != "inverse_transform"}
        return samebits.digest({f"{name} {number}": one.astype(float) for name, out in found.items() for number, one in enumerate(out if isinstance(out, tuple) else (out,))
                                if one.dtype != object}) if found else None

    for kind in classes():
        X, y = some_data(kind)
        here = made(kind).fit(X, y)
        want = results(here, X)
        with samebits.config_context(device="opencl:0.0"):
            there = made(kind).fit(X, y)
            check(there.digest() == here.digest() == pickle.loads(pickle.dumps(there)).digest(), f"{kind.__name__}: fitted on a device")
            check(results(there, X) == want and results(here, X) == want, f"{kind.__name__}: used on a device")
        check(results(there, X) == want, f"{kind.__name__}: fitted on a device, used here")
        if hasattr(here, "partial_fit"):
            more = here.partial_fit(X, y).digest()
            with samebits.config_context(device="opencl:0.0"):
                check(base.clone(here).fit(X, y).partial_fit(X, y).digest() == more and there.partial_fit(X, y).digest() == more, f"{kind.__name__}: partial_fit on a device")
            check(there.partial_fit(X, y).digest() == here.partial_fit(X, y).digest(), f"{kind.__name__}: partial_fit here again")
    X, y = sklearn.datasets.load_diabetes(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
    scores = [samebits.metrics.silhouette_score(X[:100], y[:100] > 100), samebits.metrics.r2_score(y, pipe.predict(X)), samebits.metrics.roc_auc_score(y > 100, pipe.predict(X))]
    with tempfile.TemporaryDirectory() as folder:
        one, other = (os.path.join(folder, name) for name in "ab")
        samebits.record(pipe, X, one)
        with samebits.config_context(device="opencl:0.0"):
            check(scores == [samebits.metrics.silhouette_score(X[:100], y[:100] > 100), samebits.metrics.r2_score(y, pipe.predict(X)), samebits.metrics.roc_auc_score(y > 100, pipe.predict(X))], "metrics")
            check(samebits.record(pipe, X, other) == samebits.record(pipe, X, one) and samebits.replay(one), "recorded on a device")
        with open(one, "rb") as first, open(other, "rb") as second:
            check(first.read() == second.read() and samebits.replay(other), "one recording")


def progress():
    """verbose: a long fit says how far it is, on standard error, about once a second; else nothing."""
    program = "import numpy as np, samebits.cluster as c; X = np.random.default_rng(0).normal(size=(60000, 24)); " \
              "print(c.KMeans(24, tol=0, max_iter=10**4, random_state=0, verbose={}, n_init=1).fit(X).digest())"
    loud, still = (subprocess.run([os.sys.executable, "-c", program.format(verbose)], capture_output=True, text=True, env={**os.environ, "SAMEBITS_THREADS": "1"}) for verbose in (1, 0))
    lines = loud.stderr.splitlines()
    check(lines and all(re.fullmatch(r"KMeans: \d+ of at most 10000", line) for line in lines), loud.stderr)
    check(loud.stdout == still.stdout and len(still.stdout) == 65 and not still.stderr, f"progress reaches a digest {still.stderr}")


def command():
    """python -m samebits is the command."""
    program = os.path.join(os.path.dirname(samebits.__file__), "samebits-command")
    for arguments in (["--version"], ["--help"], ["fit", "nothing"], ["describe", "--json"], ["no such"]):
        one, other = (subprocess.run([*start, *arguments], capture_output=True) for start in ([os.sys.executable, "-m", "samebits"], [program]))
        check((one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr), f"{arguments}: {one} {other}")


def takeover():
    X, y = sklearn.datasets.load_diabetes(return_X_y=True, as_frame=True)
    many = np.column_stack([y, X.iloc[:, 0]])
    weighted = preprocessing.StandardScaler().fit(X.where(X > -0.05))
    narrow = X.to_numpy(dtype=np.float32)
    for theirs, data in (
            (linear_model.LinearRegression().fit(X, y), X), (linear_model.LinearRegression(fit_intercept=False).fit(X, many), X),
            (linear_model.LinearRegression().fit(narrow, many), narrow), (linear_model.LinearRegression().fit(scipy.sparse.csr_array(X), y), X.to_numpy()),
            (linear_model.Ridge(2.0).fit(X, many), X), (linear_model.Lasso(0.1).fit(narrow, y), narrow), (linear_model.ElasticNet(0.1).fit(X, many), X),
            (cluster.KMeans(4, random_state=np.random.RandomState(1)).fit(X), X), (cluster.KMeans(3, init=narrow[:3], n_init=1).fit(narrow), narrow),
            (preprocessing.StandardScaler().fit(X), X), (preprocessing.StandardScaler(with_std=False).fit(X), X),
            (preprocessing.StandardScaler(with_mean=False, with_std=False).fit(X), X), (preprocessing.StandardScaler(with_mean=False).fit(narrow), narrow), (weighted, X),
            (decomposition.PCA(3, whiten=True, random_state=0).fit(X), X), (decomposition.PCA(0.9).fit(narrow), narrow), (decomposition.TruncatedSVD(3).fit(X), X),
            (preprocessing.MinMaxScaler(feature_range=(-1, 2), clip=True).fit(X), X), (preprocessing.MinMaxScaler().fit(narrow), narrow),
            (impute.SimpleImputer(add_indicator=True).fit(X.where(X > -0.1)), X.where(X > -0.05)), (impute.SimpleImputer(strategy="median").fit(X), X),
            (naive_bayes.GaussianNB().fit(X, np.array(["low", "middle", "high"])[np.digitize(y, [100, 200])]), X), (naive_bayes.GaussianNB().fit(narrow, y > 100), narrow),
            *((mixture.GaussianMixture(2, covariance_type=kind, random_state=0).fit(X), X) for kind in ("full", "tied", "diag", "spherical")),
            (make_pipeline(preprocessing.StandardScaler(), "passthrough", linear_model.LinearRegression()).fit(X, y), X),
            (make_pipeline(StandardScaler(), cluster.KMeans(3, random_state=0)).fit(X), X)):
        own = samebits.from_sklearn(theirs)
        label = f"{theirs}"
        check(samebits.digest(own) == samebits.digest(samebits.from_sklearn(theirs)), f"{label}: the digest of the same")
        for method in ("predict", "predict_proba", "transform"):
            if hasattr(theirs, method) and hasattr(own, method) and method == "predict" and hasattr(theirs, "classes_"):
                check(np.mean(own.predict(data) == theirs.predict(data)) > 0.99 and own.predict(data).dtype == theirs.predict(data).dtype, f"{label}: classes")
            elif hasattr(theirs, method) and hasattr(own, method):
                check(np.allclose(getattr(own, method)(data), getattr(theirs, method)(data), rtol=1e-4 if data is narrow else 1e-9, atol=1e-4 if data is narrow else 1e-12),
                      f"{label}: {method}")
        if hasattr(theirs, "steps"):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "r")
                check(samebits.record(own, data, path) and samebits.replay(path), f"{label}: recorded")
            continue
        check(type(own).__name__ == type(theirs).__name__ and own.get_params().keys() == theirs.get_params().keys(), label)
        for name in vars(theirs):
            if name.endswith("_") and name not in ("singular_", "indicator_"):
                check(hasattr(own, name) and (getattr(own, name) is None) == (getattr(theirs, name) is None), f"{label}: {name}")
                check(np.all(getattr(own, name) == getattr(theirs, name)), f"{label}: {name} {getattr(own, name)} {getattr(theirs, name)}")
        check(own._model.note("origin").endswith(f".{type(own).__name__}"), "where it came from")  # pylint: disable=protected-access
        again = pickle.loads(pickle.dumps(own))
        check(again.digest() == own.digest() and base.clone(own).fit(data, y > 100) is not None, f"{label}: pickled, cloned")
    scaler = samebits.from_sklearn(preprocessing.StandardScaler().fit(X))
    check(samebits.from_sklearn(scaler) is scaler, "ours")
    refuses(
        (lambda: scaler.partial_fit(X), NotImplementedError, "partial_fit"), (lambda: samebits.from_sklearn(preprocessing.StandardScaler()), NotFittedError, "not fitted"),
        (lambda: samebits.from_sklearn(StandardScaler()), NotFittedError, "not fitted"), (lambda: samebits.from_sklearn(7), TypeError, "int"),
        (lambda: samebits.from_sklearn(preprocessing.StandardScaler), TypeError, "is a class"),
        (lambda: samebits.from_sklearn(preprocessing.PolynomialFeatures().fit(X)), NotImplementedError, "PolynomialFeatures cannot be taken over; LinearRegression"))
    check(len(scaler.transform(X)) == len(X), "still fitted")


def errors():
    refuses(
        (lambda: KMeans(0).fit([[1.0]]), ValueError, "n_clusters"), (lambda: KMeans(3).fit([[1.0]]), ValueError, "n_samples=1 should be >= n_clusters=3"),
        (lambda: KMeans().predict([[1.0]]), NotFittedError, "not fitted"), (lambda: Ridge(-1.0).fit([[1.0]], [1.0]), ValueError, "alpha"),
        (lambda: PCA(3).fit([[1.0, 2.0], [2.0, 1.0]]), ValueError, "between 1 and min(n_samples, n_features)=2"), (lambda: PCA(2.5).fit(np.eye(3)), ValueError, "n_components"),
        (lambda: PCA(1).fit(np.eye(3)).inverse_transform(np.eye(3)), ValueError, "expecting 1 features"),
        (lambda: GaussianMixture(3).fit(np.eye(2)), ValueError, "Expected n_samples >= n_components"), (lambda: GaussianMixture(1).fit(np.eye(2)).sample(0), ValueError, "n_samples"),
        (lambda: GaussianMixture(2, precisions_init=np.ones((3, 2, 2))).fit(np.eye(2)), ValueError, "precisions_init"),
        (lambda: TruncatedSVD(3).fit([[1.0, 2.0], [2.0, 1.0]]), ValueError, "must be <= n_features(2)"),
        (lambda: LinearRegression().fit([[1.0]], None), ValueError, "requires y"), (lambda: Ridge().fit([[1.0]], scipy.sparse.csr_matrix([[1.0]])), TypeError, "Sparse data was passed for y"),
        (lambda: Ridge(alpha=["a"]).fit([[1.0]], [1.0]), ValueError, "The 'alpha' parameter of Ridge is no array of numbers"), (lambda: GaussianNB(priors={0: 1}).fit([[1.0], [2.0]], [0, 1]), ValueError, "'priors'"),
        (lambda: KMeans(1).fit([[1.0, 2.0], [3.0, np.inf]]), ValueError, "Input X contains infinity (row 1, column 1, from 0)"), (lambda: Ridge().fit([[1.0], [2.0]], [1.0, np.nan]), ValueError, "Input y contains NaN"),
        (lambda: GaussianNB().fit([[1.0], [2.0]], [2**60, 1]), ValueError, "no whole number below 2^53"), (lambda: LogisticRegression(penalty="elasticnet", l1_ratio=None).fit([[1.0], [2.0]], [0, 1]), ValueError, "l1_ratio must be specified"),
        (lambda: KNeighborsClassifier(weights=lambda far: far).fit([[1.0]], [1]), ValueError, "weights"), (lambda: samebits.load("/nowhere"), OSError, "nowhere"),
        (lambda: MinMaxScaler((1, 0)).fit([[1.0]]), ValueError, "Minimum of desired feature range must be smaller than maximum. Got (1, 0)"),
        (lambda: MinMaxScaler((0, 1, 2)).fit([[1.0]]), ValueError, "numbers 2"), (lambda: SimpleImputer(missing_values=0).fit([[np.nan]]), ValueError, "NaN"),
        (lambda: SimpleImputer().fit([[np.inf]]), ValueError, "infinity"), (lambda: SimpleImputer(fill_value="x").fit([[1.0]]), ValueError, "fill_value"), (lambda: SimpleImputer(fill_value=[1]).fit([[1.0]]), ValueError, "fill_value"),
        (lambda: SimpleImputer().fit([[1.0]]).inverse_transform([[1.0]]), ValueError, "add_indicator=True"),
        (lambda: SimpleImputer(add_indicator=True).fit([[np.nan], [1.0]]).inverse_transform([[1.0]]), ValueError, "expecting 2 features"),
        (lambda: GaussianNB().partial_fit([[1.0]], [1], classes=[0, 2]), ValueError, "target label(s) [1] in y do not exist"), (lambda: GaussianNB().fit([[1.0]], [np.nan]), ValueError, "Input y contains NaN"),
        (lambda: GaussianNB().fit([[1.0], [2.0]], [0.5, 1.5]), ValueError, "continuous"), (lambda: GaussianNB(priors=[0.5, 0.6]).fit([[1.0], [2.0]], [0, 1]), ValueError, "sum of the priors"),
        (lambda: GaussianNB().partial_fit([[1.0]], [1], classes=[0, 1]).partial_fit([[1.0]], [1], classes=[0, 2]), ValueError, "not the same as on last call"),
        (lambda: NearestNeighbors().fit([[1.0]]).kneighbors([[1.0]]), ValueError, "Expected n_neighbors <= n_samples_fit"), (lambda: NearestNeighbors().fit([[1.0]]).kneighbors([[1.0]], 0), ValueError, "n_neighbors > 0"),
        (lambda: KNeighborsClassifier(metric="hamming").fit([[1.0]], [1]), ValueError, "metric"),
        (lambda: GaussianNB().partial_fit([[1.0]], [1]), ValueError, "classes must be passed"),
        (lambda: samebits.load("a\0b"), ValueError, "null byte"), (lambda: StandardScaler().fit([[1.0]]).save("/nowhere\0b"), ValueError, "null byte"),
        (lambda: _library.restore(b"x" * 100), ValueError, "header"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        KMeans(3).fit(np.ones((5, 2)))
    check(any(one.category is ConvergenceWarning and "distinct clusters (1)" in str(one.message) for one in caught), "ConvergenceWarning")
    generator = np.random.default_rng(5)
    first = KMeans(2, random_state=generator).fit(np.eye(6)).random_state_
    check(first == int(np.random.default_rng(5).integers(1 << 32)) and KMeans(2).fit(np.eye(6)).random_state_ >= 0, "seeds")
    out = subprocess.run([os.sys.executable, "-m", "samebits", "--version"], capture_output=True, text=True)
    check(out.stdout.startswith(f"samebits {samebits.__version__}"), out.stderr)
    check(samebits.verify("kmeans,standard_scaler_f64"), "verify")


if __name__ == "__main__":
    documentation()
    agreement()
    met_elsewhere()
    optima()
    prepared()
    scaled_ranges()
    ordinals()
    columns_of_categories()
    imputed()
    classifiers()
    subspaces()
    mixtures()
    python_neighbors.run(check)
    python_metrics.run(check)
    sparse_data()
    same_bits()
    layouts()
    machinery()
    recordings()
    takeover()
    inputs()
    configuration()
    manners()
    rows_turned()
    devices()
    progress()
    command()
    errors()
    python_hostile.run(check, list(classes()), some_data, made)
    estimator_checks()
    print(f"{passed} passed, 0 failed")
