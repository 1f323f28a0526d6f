# SPDX-License-Identifier: Apache-2.0
"""Neighbours and DBSCAN beside scikit-learn's. A part of python_cases.py."""
import numpy as np
import sklearn.datasets
from sklearn import cluster, neighbors

import samebits
from samebits.cluster import DBSCAN
from samebits.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

METRICS = ({}, {"metric": "manhattan"}, {"metric": "chebyshev"}, {"p": 3.5}, {"metric": "cosine"}, {"p": 1}, {"p": float("inf")})


def nearest(check):
    rng = np.random.default_rng(0)
    for kind in (np.float64, np.float32):
        X, Q = rng.normal(size=(500, 7)).astype(kind), rng.normal(size=(60, 7)).astype(kind)
        wide, wide_q = X.astype(np.float64), Q.astype(np.float64)
        for settings in METRICS:
            radius = 0.3 if settings.get("metric") == "cosine" else 1.7
            own, theirs = NearestNeighbors(n_neighbors=9, radius=radius, **settings).fit(X), neighbors.NearestNeighbors(n_neighbors=9, radius=radius, **settings).fit(wide)
            for query, other in ((Q, wide_q), (None, None)):
                (far, where), (far_too, where_too) = own.kneighbors(query), theirs.kneighbors(other)
                check(np.array_equal(where, where_too) and np.allclose(far, far_too, rtol=1e-5) and far.dtype == kind, f"kneighbors {settings}")
                (far, where), (far_too, where_too) = own.radius_neighbors(query), theirs.radius_neighbors(other)
                check(all(sorted(a) == sorted(b) for a, b in zip(where, where_too)) and all(np.allclose(a, sorted(b), rtol=1e-5) for a, b in zip(far, far_too)), f"radius {settings}")
            graph, theirs_too = own.kneighbors_graph(Q, mode="distance"), theirs.kneighbors_graph(wide_q, mode="distance")
            check(abs(graph - theirs_too).max() < 1e-5 and own.kneighbors_graph(n_neighbors=2).sum() == 1000, "a graph")
            check((own.radius_neighbors_graph(Q) != theirs.radius_neighbors_graph(wide_q)).nnz == 0, "a graph of a radius")
            check(own.effective_metric_ == theirs.effective_metric_ and own.n_samples_fit_ == 500, "attributes")
            alone = [own.kneighbors(Q[i:i + 1], 3)[0][0] for i in range(0, 60, 7)]
            check(np.array_equal(alone, own.kneighbors(Q, 3)[0][::7]), "a row alone")


def votes(check):
    digits = sklearn.datasets.load_digits()
    data = digits.data + np.random.default_rng(1).normal(size=digits.data.shape) / 100 # (of equal distances scikit-learn takes any)
    X, y, rest, rest_y = data[:1000], digits.target_names[digits.target[:1000]], data[1000:], digits.target[1000:]
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
    D, t = sklearn.datasets.load_diabetes(return_X_y=True)
    D = D + np.random.default_rng(2).normal(size=D.shape) / 1000
    for weights in ("uniform", "distance"):
        for settings in METRICS[:3]:
            own, theirs = KNeighborsClassifier(7, weights=weights, **settings).fit(X, y), neighbors.KNeighborsClassifier(7, weights=weights, **settings).fit(X, y)
            check(np.array_equal(own.predict(rest), theirs.predict(rest)) and own.score(rest, rest_y) == theirs.score(rest, rest_y), "classes")
            check(np.allclose(own.predict_proba(X), theirs.predict_proba(X), atol=1e-6) and np.array_equal(own.classes_, theirs.classes_), "probabilities") # (theirs is 1e-6 from itself)
            check(own.score(rest, rest_y, rest_y) == theirs.score(rest, rest_y, rest_y), "a weighted score")
            words = KNeighborsClassifier(7, weights=weights, **settings).fit(X, names[y])
            check(np.array_equal(names[own.predict(rest)], words.predict(rest)) or weights == "uniform", "words")
            for target in (t, np.column_stack([t, D[:, 0]])):
                one, other = KNeighborsRegressor(6, weights=weights, **settings).fit(D, target), neighbors.KNeighborsRegressor(6, weights=weights, **settings).fit(D, target)
                check(np.allclose(one.predict(D[::3]), other.predict(D[::3])) and abs(one.score(D, target, t) - other.score(D, target, t)) < 1e-9, "targets")


def clusters(check):
    rng = np.random.default_rng(0)
    tables = ((sklearn.datasets.make_moons(600, noise=0.06, random_state=0)[0], 0.15, 5), (sklearn.datasets.load_iris().data, 0.5, 5), (rng.normal(size=(400, 3)), 0.6, 6))
    for X, eps, least in tables:
        for kind in (np.float64, np.float32):
            for settings in ({}, {"metric": "manhattan"}, {"metric": "minkowski", "p": 3}):
                for weights in (None, rng.integers(1, 3, size=len(X)).astype(float)):
                    own = DBSCAN(eps=eps, min_samples=least, **settings).fit(X.astype(kind), sample_weight=weights)
                    theirs = cluster.DBSCAN(eps=eps, min_samples=least, **settings).fit(X.astype(kind).astype(np.float64), sample_weight=weights)
                    core = own.core_sample_indices_
                    check(np.array_equal(core, theirs.core_sample_indices_) and np.array_equal(own.labels_[core], theirs.labels_[core]), "cores")
                    check(np.array_equal(own.labels_ < 0, theirs.labels_ < 0) and np.allclose(own.components_, theirs.components_), "noise") # (a border point may be another's)
    order = rng.permutation(400)
    whole, turned = DBSCAN(eps=0.6, min_samples=6).fit(X), DBSCAN(eps=0.6, min_samples=6).fit(X[order])
    groups = {(a, b) for a, b in zip(whole.labels_[order], turned.labels_)}
    check(len(groups) == len(set(whole.labels_)), "the order of rows reaches labels")
    with samebits.config_context(threads=3):
        check(DBSCAN(eps=0.6, min_samples=6).fit(X).digest() == whole.digest(), "threads")


def run(check):
    nearest(check)
    votes(check)
    clusters(check)
