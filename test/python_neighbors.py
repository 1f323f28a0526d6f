# SPDX-License-Identifier: Apache-2.0
"""Neighbours and DBSCAN beside scikit-learn's. A part of python_cases.py."""
import pickle

import numpy as np
import scipy.sparse
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


def taken_over(check):
    rng = np.random.default_rng(3)
    words, targets = np.array(["a", "b", "c"])[rng.integers(3, size=300)], rng.normal(size=(300, 2))
    for kind in (np.float64, np.float32, np.int64):
        X, Q = (rng.normal(size=(300, 3)) * 9).astype(kind), (rng.normal(size=(20, 3)) * 9).astype(kind)
        for name, given in (("kd_tree", X), ("ball_tree", X), ("brute", scipy.sparse.csr_array(X))):
            theirs, own = neighbors.NearestNeighbors(n_neighbors=4, radius=5.0, algorithm=name).fit(given), NearestNeighbors(n_neighbors=4, radius=5.0).fit(given)
            taken = samebits.from_sklearn(theirs)
            check(taken.n_samples_fit_ == 300 and taken.n_features_in_ == 3 and taken.effective_metric_ == "euclidean", "what is taken")
            check(all(np.array_equal(a, b) for a, b in zip(taken.kneighbors(Q), own.kneighbors(Q))), f"{name}: taken over")
            check(all(np.array_equal(a, b) for a, b in zip(taken.radius_neighbors(Q)[1], own.radius_neighbors(Q)[1])), f"{name}: a radius")
        for weights in ("uniform", "distance"):
            taken, own = samebits.from_sklearn(neighbors.KNeighborsClassifier(7, weights=weights).fit(X, words)), KNeighborsClassifier(7, weights=weights).fit(X, words)
            check(np.array_equal(taken.predict(Q), own.predict(Q)) and np.array_equal(taken.predict_proba(Q), own.predict_proba(Q)) and np.array_equal(taken.classes_, own.classes_), "classes taken over")
            for target in (targets, targets[:, 0], targets[:, :1]):
                taken, own = samebits.from_sklearn(neighbors.KNeighborsRegressor(7, weights=weights).fit(X, target)), KNeighborsRegressor(7, weights=weights).fit(X, target)
                check(taken.predict(Q).tobytes() == own.predict(Q).tobytes() and taken.predict(Q).shape == own.predict(Q).shape, "targets taken over")
        for eps in (3.0, 1e-3):
            theirs = cluster.DBSCAN(eps=eps).fit(X)
            taken = samebits.from_sklearn(theirs)
            check(np.array_equal(taken.labels_, theirs.labels_) and np.array_equal(taken.components_, theirs.components_) and np.array_equal(taken.core_sample_indices_, theirs.core_sample_indices_), "clusters taken over")
            check(pickle.loads(pickle.dumps(taken)).digest() == taken.digest(), "clusters taken over, pickled")
    far = np.abs(rng.normal(size=(9, 9)))
    for fitted, words_of in (
            (neighbors.KNeighborsClassifier().fit(X, np.stack([words, words], 1)), "2 columns of classes"), (neighbors.NearestNeighbors(metric="canberra").fit(X), "canberra"),
            (neighbors.KNeighborsClassifier(weights=lambda d: d).fit(X, words), "weights"), (cluster.DBSCAN(metric="precomputed").fit(far), "precomputed"),
            (neighbors.NearestNeighbors(metric=lambda a, b: 1.0).fit(X), "metric"), (neighbors.NearestNeighbors(metric_params={"w": [1, 2, 3]}).fit(X), "metric_params"),
            (cluster.DBSCAN(metric_params={"w": [1, 2, 3]}, metric="minkowski", p=2).fit(X), "metric_params"), (neighbors.RadiusNeighborsClassifier().fit(X, words), "RadiusNeighborsClassifier")):
        try:
            samebits.from_sklearn(fitted)
        except (ValueError, NotImplementedError) as error:
            check(words_of in str(error), f"{error}")
        else:
            check(False, f"{fitted} was taken over")


def run(check):
    nearest(check)
    votes(check)
    clusters(check)
    taken_over(check)
