# SPDX-License-Identifier: Apache-2.0
"""Metrics beside scikit-learn's. A part of python_cases.py."""
import warnings

import numpy as np
import sklearn.metrics

import samebits
import samebits.metrics


def scored(check, name, *data, bound=1e-12, **settings):
    """A metric against scikit-learn's: values, shapes, refusals."""
    def tried(module):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return getattr(module, name)(*data, **settings)
            except (ValueError, NotImplementedError) as error:
                return error
    own, theirs = tried(samebits.metrics), tried(sklearn.metrics)
    if isinstance(theirs, Exception) or isinstance(own, Exception):
        check(isinstance(own, type(theirs)), f"{name} {settings}: {own!r}, {theirs!r}")
    else:
        check(np.shape(own) == np.shape(theirs) and np.allclose(own, theirs, rtol=bound, atol=bound, equal_nan=True), f"{name} {settings}: {own}, {theirs}")


def scored_classes(check):
    generator = np.random.default_rng(1)
    n = 400
    weights = np.where(generator.random(n) < 0.1, 0, generator.random(n))
    for names in ([0, 1], ["no", "yes"], [0, 1, 2, 3], list("edcba"), [1]):
        y = generator.integers(0, len(names), n)
        p = np.where(generator.random(n) < 0.6, y, generator.integers(0, len(names), n))
        y[y == 3] = 2  # (a class that is predicted only)
        y, p, several = np.array(names)[y], np.array(names)[p], len(names) > 2
        few = {"labels": names[1::-1]}
        for given in ({}, {"sample_weight": weights}):
            scored(check, "accuracy_score", y, p, normalize=False, **given)
            for adjusted in (False, True):
                scored(check, "balanced_accuracy_score", y, p, adjusted=adjusted, **given)
            for normalize in (None, "true", "pred", "all"):
                scored(check, "confusion_matrix", y, p, normalize=normalize, **given, **(few if several else {}))
            for apart in (None, "linear", "quadratic"):
                scored(check, "cohen_kappa_score", y, p, weights=apart, **given)
            scored(check, "matthews_corrcoef", y, p, **given)
            for average in (None, "micro", "macro", "weighted", "binary"):
                for nothing in ("warn", 0, 1):
                    more = {"average": average, "zero_division": nothing, **given, **({"pos_label": "yes"} if names == ["no", "yes"] else {})}
                    for name in ("precision_score", "recall_score", "f1_score", "jaccard_score"):
                        scored(check, name, y, p, **more)
                    scored(check, "fbeta_score", y, p, beta=0.3, **more, **(few if several and average != "binary" else {}))
            if not several:
                score = np.round(generator.random(n) * 0.5 + 0.5 * (y == names[-1]), 2)
                positive = {"pos_label": "yes"} if names == ["no", "yes"] else {}
                scored(check, "roc_auc_score", y, score, **given)
                scored(check, "average_precision_score", y, score, **given, **positive)
                scored(check, "brier_score_loss", y, score.astype(np.float32), bound=1e-6, **given, **positive)
                for labels in ({}, {"labels": [0, 1]}):
                    scored(check, "log_loss", y, score, **given, **(labels if names == [1] else {}))
                continue
            shares = generator.random((n, len(np.unique(y))))
            shares /= shares.sum(axis=1, keepdims=True)
            for average in (None, "micro", "macro", "weighted"):
                for way in ("ovr", "ovo", "raise"):
                    scored(check, "roc_auc_score", y, shares, average=average, multi_class=way, **(given if way == "ovr" else {}))
                scored(check, "average_precision_score", y, shares, average=average, **given)
            for normalize in (True, False):
                scored(check, "log_loss", y, shares, normalize=normalize, **given)
            scored(check, "brier_score_loss", y, shares, **given)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        samebits.metrics.precision_score([0, 1], [0, 0])
        samebits.metrics.roc_auc_score([1, 1], [0.1, 0.2])
    check([one.category.__name__ for one in said] == ["UndefinedMetricWarning"] * 2, "what is not defined is said")
    for data in (([0, 1], [0.5, 1.2]), ([0, 1], [0, 1, 1]), (["a", "b"], [0, 1]), ([0, 2], [0, 2])):
        scored(check, "f1_score", *data)
    scored(check, "log_loss", [0, 1], [0.5, 1.5])
    scored(check, "confusion_matrix", [0, 1], [0, 1], labels=[5])


def scored_values(check):
    generator = np.random.default_rng(2)
    n = 400
    weights = np.where(generator.random(n) < 0.1, 0, generator.random(n))
    for columns in (1, 3):
        y = generator.normal(size=(n, columns)) if columns > 1 else generator.normal(size=n)
        p = y + generator.normal(size=y.shape)
        for given in ({}, {"sample_weight": weights}):
            for many in ("raw_values", "uniform_average", [0.2, 0.3, 0.5]):
                if columns == 1 and not isinstance(many, str):
                    continue
                for name in ("r2_score", "explained_variance_score", "mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "median_absolute_error"):
                    scored(check, name, y, p, multioutput=many, **given)
                    scored(check, name, y.astype(np.float32), p.astype(np.float32), multioutput=many, bound=1e-4, **given)
            scored(check, "r2_score", y, p, multioutput="variance_weighted", **given)
            scored(check, "explained_variance_score", y, p, multioutput="variance_weighted", **given)
        scored(check, "max_error", y, p)
        for name in ("r2_score", "explained_variance_score"):
            scored(check, name, np.ones(n), p[..., 0] if columns > 1 else p)
    check(samebits.metrics.r2_score(np.full(n, 0.1), np.zeros(n), sample_weight=weights) == 0, "a constant target, weighted (scikit-learn divides by what rounding left)")
    scored(check, "mean_squared_error", [1.0], [1.0, 2.0])
    for clusters in (2, 7, 60, 1, n):
        a = np.arange(n) if clusters == n else generator.integers(0, clusters, n)
        b = np.where(generator.random(n) < 0.5, a % 4, generator.integers(0, 3, n))
        for name in ("rand_score", "adjusted_rand_score", "mutual_info_score", "homogeneity_score", "completeness_score"):
            scored(check, name, a, b)
        scored(check, "v_measure_score", a, b, beta=0.3)
        for mean in ("min", "geometric", "arithmetic", "max"):
            scored(check, "normalized_mutual_info_score", a, b, average_method=mean)
            if clusters < n:  # (else what chance gives is all there is, and the score is rounding over rounding)
                scored(check, "adjusted_mutual_info_score", a, b, average_method=mean, bound=1e-11)
        X = generator.normal(size=(n, 3)) + a[:, None] % 5
        scored(check, "silhouette_score", X, a)
        scored(check, "silhouette_samples", X, b)
    scored(check, "silhouette_score", X, b, sample_size=100, random_state=3)
    several = {samebits.metrics.silhouette_score(X, b)}
    for threads in (1, 2, 5):
        with samebits.config_context(threads=threads):
            several.add(samebits.metrics.silhouette_score(X, b))
    check(len(several) == 1, "threads reach a metric")


def run(check):
    scored_classes(check)
    scored_values(check)
