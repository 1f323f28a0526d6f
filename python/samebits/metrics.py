# SPDX-License-Identifier: Apache-2.0
"""Metrics with the signatures of sklearn.metrics, computed by the library: the same bits on every machine (docs/metrics.md).

Classes and clusters may be words. Not there, and refused: targets of several labels at once, max_fpr, given contingencies,
other distances than the euclidean."""
import warnings

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import type_of_target, unique_labels
from sklearn.utils.validation import _check_sample_weight

from samebits import _library
from samebits._estimator import _text

__all__ = ["accuracy_score", "adjusted_mutual_info_score", "adjusted_rand_score", "average_precision_score", "balanced_accuracy_score",
           "brier_score_loss", "cohen_kappa_score", "completeness_score", "confusion_matrix", "explained_variance_score", "f1_score", "fbeta_score",
           "homogeneity_score", "jaccard_score", "log_loss", "matthews_corrcoef", "max_error", "mean_absolute_error", "mean_squared_error",
           "median_absolute_error", "mutual_info_score", "normalized_mutual_info_score", "precision_score", "r2_score", "rand_score", "recall_score",
           "roc_auc_score", "root_mean_squared_error", "silhouette_samples", "silhouette_score", "v_measure_score"]


def _score(metric, truth, prediction, sample_weight=None, classes=0, **settings):
    weights = None if sample_weight is None else _check_sample_weight(sample_weight, truth, dtype=np.float64)
    return _library.metric(metric, truth, prediction, weights, classes, [f"{name}={_text(value)}" for name, value in settings.items()])


def _warned(value, words):
    """value; where it is not a number, after a warning."""
    if value != value:
        warnings.warn(words, UndefinedMetricWarning, stacklevel=3)
    return value


# ---- classes


def _numbers(y, names):
    """Places of y's elements among names; -1 of others."""
    found, inverse = np.unique(y, return_inverse=True)
    place = {name: number for number, name in enumerate(names)}
    return np.asarray([place.get(name, -1) for name in found.tolist()], dtype=np.int64)[inverse]


def _kind(y, name):
    kind = type_of_target(y, input_name=name)
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"{kind} is not supported")
    return kind


def _classes(y_true, y_pred, labels=None):
    """Numbers of classes of both, the names of classes, and how many of them count: those of labels, first."""
    check_consistent_length(y_true, y_pred)
    kinds = {type_of_target(y_true, input_name="y_true"), type_of_target(y_pred, input_name="y_pred")}
    if len(kinds) > 1 and kinds != {"binary", "multiclass"}:
        raise ValueError(f"Classification metrics can't handle a mix of {type_of_target(y_true)} and {type_of_target(y_pred)} targets")
    _kind(y_true, "y_true")
    _kind(y_pred, "y_pred")
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    names = unique_labels(y_true, y_pred).tolist()
    count = len(names)
    if labels is not None:
        given = np.asarray(labels).tolist()
        names, count = [*given, *(name for name in names if name not in set(given))], len(given)
    return _numbers(y_true, names), _numbers(y_pred, names), names, count


def accuracy_score(y_true, y_pred, *, normalize=True, sample_weight=None):
    """How many predictions are right, as a part of all.

    >>> accuracy_score(["a", "b", "b"], ["a", "b", "a"], normalize=False)
    2.0
    """
    truth, guess, names, _ = _classes(y_true, y_pred)
    return _score("accuracy_score", truth, guess, sample_weight, len(names), normalize=bool(normalize))


def balanced_accuracy_score(y_true, y_pred, *, sample_weight=None, adjusted=False):
    """The mean over classes of how many of theirs are right.

    >>> balanced_accuracy_score([0, 0, 0, 1], [0, 0, 0, 0])
    0.5
    """
    truth, guess, names, _ = _classes(y_true, y_pred)
    if not set(guess.tolist()) <= set(truth.tolist()):
        warnings.warn("y_pred contains classes not in y_true", stacklevel=2)
    return _score("balanced_accuracy_score", truth, guess, sample_weight, len(names), adjusted=bool(adjusted))


def _check_labels(labels, truth, count):
    if labels is not None and count == 0:
        raise ValueError("'labels' should contain at least one label.")
    if labels is not None and not any(number < count for number in set(truth.tolist())):
        raise ValueError("At least one label specified must be in y_true")


def confusion_matrix(y_true, y_pred, *, labels=None, sample_weight=None, normalize=None):
    """How many of class i (row) were predicted as class j (column).

    >>> confusion_matrix([0, 0, 1], [0, 1, 1])
    array([[1, 1],
           [0, 1]])
    """
    truth, guess, names, count = _classes(y_true, y_pred, labels)
    _check_labels(labels, truth, count)
    out = _score("confusion_matrix", truth, guess, sample_weight, len(names), labels=count, normalize=normalize)
    whole = sample_weight is None or np.asarray(sample_weight).dtype.kind in "iub"
    return out.astype(np.int64) if whole and normalize is None else out


def _averaged(metric, y_true, y_pred, labels, pos_label, average, sample_weight, zero_division, **settings):
    truth, guess, names, count = _classes(y_true, y_pred, labels)
    if average == "binary":
        kinds = {_kind(y_true, "y_true"), _kind(y_pred, "y_pred")}
        if "multiclass" in kinds or len({*truth.tolist(), *guess.tolist()}) > 2:
            raise ValueError("Target is multiclass but average='binary'. Please choose another average setting, one of [None, 'micro', 'macro', 'weighted'].")
        present = unique_labels(y_true, y_pred).tolist()
        if pos_label not in present and len(present) >= 2:
            raise ValueError(f"pos_label={pos_label} is not a valid label. It should be one of {present}")
        names = present if pos_label in present else [*present, pos_label]
        truth, guess = _numbers(column_or_1d(y_true), names), _numbers(column_or_1d(y_pred), names)
        settings["pos_label"] = names.index(pos_label)
    else:
        if pos_label not in (None, 1):
            warnings.warn(f"Note that pos_label (set to {pos_label!r}) is ignored when average != 'binary' (got {average!r}). You may use "
                          "labels=[pos_label] to specify a single positive class.", UserWarning, stacklevel=3)
        settings["labels"] = count
    settings["average"] = average
    out = _score(metric, truth, guess, sample_weight, len(names), zero_division=zero_division, **settings)
    if isinstance(zero_division, str) and zero_division == "warn":
        each = dict(settings, average=None) if average in ("macro", "weighted") else settings
        undefined = np.asarray(_score(metric, truth, guess, sample_weight, len(names), zero_division=np.nan, **each)).ravel().tolist()
        if any(value != value for value in undefined):
            warnings.warn(f"{metric} is ill-defined and being set to 0.0 where there is nothing to divide by. Use `zero_division` parameter to control "
                          "this behavior.", UndefinedMetricWarning, stacklevel=3)
    return out


def precision_score(y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"):
    """Of what was predicted as a class, the part that is.

    >>> precision_score([0, 1, 1, 0], [0, 1, 1, 1], average=None).tolist()
    [1.0, 0.6666666666666666]
    """
    return _averaged("precision_score", y_true, y_pred, labels, pos_label, average, sample_weight, zero_division)


def recall_score(y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"):
    """Of what is of a class, the part that was predicted so.

    >>> recall_score(["no", "yes", "yes"], ["no", "yes", "no"], pos_label="yes")
    0.5
    """
    return _averaged("recall_score", y_true, y_pred, labels, pos_label, average, sample_weight, zero_division)


def f1_score(y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"):
    """The harmonic mean of precision and recall.

    >>> f1_score([0, 1, 2, 2], [0, 1, 2, 1], average="micro")
    0.75
    """
    return _averaged("f1_score", y_true, y_pred, labels, pos_label, average, sample_weight, zero_division)


def fbeta_score(y_true, y_pred, *, beta, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"):
    """The harmonic mean of precision and recall, with recall beta times as important.

    >>> fbeta_score([0, 1, 1], [0, 1, 0], beta=0)
    1.0
    """
    return _averaged("fbeta_score", y_true, y_pred, labels, pos_label, average, sample_weight, zero_division, beta=float(beta))


def jaccard_score(y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"):
    """Of what is or was predicted as a class, the part that is both.

    >>> jaccard_score([0, 1, 1], [0, 1, 0])
    0.5
    """
    return _averaged("jaccard_score", y_true, y_pred, labels, pos_label, average, sample_weight, zero_division)


def matthews_corrcoef(y_true, y_pred, *, sample_weight=None):
    """The correlation of classes that are and that were predicted.

    >>> matthews_corrcoef([0, 0, 1, 1], [1, 1, 0, 0])
    -1.0
    """
    truth, guess, names, _ = _classes(y_true, y_pred)
    return _score("matthews_corrcoef", truth, guess, sample_weight, len(names))


def cohen_kappa_score(y1, y2, *, labels=None, weights=None, sample_weight=None, replace_undefined_by=np.nan):
    """How much two raters agree beyond chance.

    >>> cohen_kappa_score([0, 1, 0, 1], [0, 1, 1, 0])
    0.0
    """
    truth, guess, names, count = _classes(y1, y2, labels)
    _check_labels(labels, truth, count)
    out = _score("cohen_kappa_score", truth, guess, sample_weight, len(names), labels=count, weights=weights)
    out = _warned(out, f"`cohen_kappa_score` is undefined and set to the value defined by the `replace_undefined_by` param, which is set to {replace_undefined_by}.")
    return out if out == out else replace_undefined_by


# ---- scores


def _scores(y):
    return check_array(y, ensure_2d=False, dtype=[np.float64, np.float32])


def _many(y_true, y_score, labels):
    """Numbers of classes of y_true, each of which has a column."""
    names = (np.unique(y_true) if labels is None else column_or_1d(labels)).tolist()
    if labels is not None and names != sorted(set(names)):
        raise ValueError("Parameter 'labels' must be unique and ordered")
    if len(names) != y_score.shape[1]:
        raise ValueError(f"Number of classes in y_true not equal to the number of columns in 'y_score': {len(names)} and {y_score.shape[1]}")
    truth = _numbers(y_true, names)
    if -1 in set(truth.tolist()):
        raise ValueError("'y_true' contains labels not in parameter 'labels'")
    return truth


def roc_auc_score(y_true, y_score, *, average="macro", sample_weight=None, max_fpr=None, multi_class="raise", labels=None):
    """The area under the ROC curve.

    >>> roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    kind, y_score = _kind(y_true, "y_true"), _scores(y_score)
    check_consistent_length(y_true, y_score, sample_weight)
    if max_fpr is not None and max_fpr != 1:
        raise NotImplementedError("max_fpr: partial areas are not there")
    y_true = column_or_1d(y_true)
    if kind == "multiclass" or y_score.ndim == 2 and y_score.shape[1] > 2:
        if multi_class == "raise":
            raise ValueError("multi_class must be in ('ovo', 'ovr')")
        if y_score.ndim != 2:
            raise ValueError("multiclass y_true needs y_score of shape (n_samples, n_classes)")
        truth = _many(y_true, y_score, labels)
        if multi_class == "ovo" and average is None:
            raise NotImplementedError("average=None is not implemented for multi_class='ovo'.")
        if multi_class == "ovo" and sample_weight is not None:
            raise ValueError("sample_weight is not supported for multiclass one-vs-one ROC AUC, 'sample_weight' must be None in this case.")
        out = _score("roc_auc_score", truth, y_score, sample_weight, y_score.shape[1], average=average, multi_class=multi_class)
    else:
        names = np.unique(y_true).tolist()
        truth = _numbers(y_true, names)
        out = _score("roc_auc_score", truth, column_or_1d(y_score), sample_weight, 2, average=average)
    if any(value != value for value in np.asarray(out).ravel().tolist()):
        warnings.warn("Only one class is present in y_true. ROC AUC score is not defined in that case.", UndefinedMetricWarning, stacklevel=2)
    return out


def average_precision_score(y_true, y_score, *, average="macro", pos_label=1, sample_weight=None):
    """The mean of precisions, each weighted by the recall that it adds.

    >>> average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.8333333333333333
    """
    kind, y_score = _kind(y_true, "y_true"), _scores(y_score)
    check_consistent_length(y_true, y_score, sample_weight)
    y_true = column_or_1d(y_true)
    present = np.unique(y_true).tolist()
    if kind == "binary":
        if len(present) == 2 and pos_label not in present:
            raise ValueError(f"pos_label={pos_label} is not a valid label. It should be one of {present}")
        truth = np.asarray([name == pos_label for name in y_true.tolist()], dtype=np.int64)
        if 1 not in set(truth.tolist()):
            warnings.warn("No positive class found in y_true, recall is set to one for all thresholds.", stacklevel=2)
        return _score("average_precision_score", truth, column_or_1d(y_score), sample_weight, 2, average=average)
    if pos_label != 1:
        raise ValueError("Parameter pos_label is fixed to 1 for multiclass y_true. Do not set pos_label or set pos_label to 1.")
    return _score("average_precision_score", _many(y_true, y_score, None), y_score, sample_weight, len(present), average=average)


def _probable(y_true, y_proba, labels):
    """Numbers of classes of y_true, and how many classes there are."""
    check_consistent_length(y_true, y_proba)
    y_true = column_or_1d(y_true)
    names = np.unique(y_true if labels is None else column_or_1d(labels)).tolist()
    if len(names) == 1:
        raise ValueError(f"y_true contains only one label ({names[0]}). Please provide the list of all expected class labels explicitly through the labels "
                         "argument." if labels is None else f"The labels array needs to contain at least two labels. Got {names}.")
    columns = y_proba.shape[1] if y_proba.ndim == 2 and y_proba.shape[1] > 1 else 2
    if len(names) != columns:
        raise ValueError(f"y_true and y_prob contain different number of classes: {len(names)} vs {columns}. Please provide the true labels explicitly through "
                         f"the labels argument. Classes found in y_true: {names}" if labels is None else
                         f"The number of classes in labels is different from that in y_prob. Classes found in labels: {names}")
    truth = _numbers(y_true, names)
    if -1 in set(truth.tolist()):
        raise ValueError(f"y_true contains values {[name for name in np.unique(y_true).tolist() if name not in names]} not belonging to the passed labels {names}.")
    return truth, len(names)


def _single(y):
    """Probabilities of one column as a vector."""
    return y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y


def log_loss(y_true, y_proba=None, *, normalize=True, sample_weight=None, labels=None, y_pred="deprecated"):
    """The mean of -log of the probability that was given to what is.

    >>> round(log_loss(["spam", "ham"], [[0.1, 0.9], [0.9, 0.1]]), 6)
    0.105361
    """
    y_proba = _scores(y_pred if y_proba is None else y_proba)
    truth, count = _probable(y_true, y_proba, labels)
    return _score("log_loss", truth, _single(y_proba), sample_weight, count, normalize=bool(normalize))


def _positive(y_true, pos_label):
    present = np.unique(y_true).tolist()
    if pos_label is None:
        if any(isinstance(name, str) for name in present):
            raise ValueError(f"y_true takes value in {set(present)} and pos_label is not specified: either make y_true take value in {{0, 1}} or {{-1, 1}} or "
                             "pass pos_label explicitly.")
        pos_label = 1 if set(present) <= {0, 1} or set(present) <= {-1, 1} else present[-1]
    if pos_label not in present and len(present) == 2:
        raise ValueError(f"pos_label={pos_label} is not a valid label. It should be one of {present}")
    return np.asarray([name == pos_label for name in y_true.tolist()], dtype=np.int64)


def brier_score_loss(y_true, y_proba, *, sample_weight=None, pos_label=None, labels=None, scale_by_half="auto"):
    """The mean squared distance of probabilities from what is.

    >>> brier_score_loss([0, 1, 1, 0], [0.25, 0.75, 1.0, 0.5])
    0.09375
    """
    y_proba = _scores(y_proba)
    if y_proba.ndim == 2 and y_proba.shape[1] > 1:
        truth, count = _probable(y_true, y_proba, labels)
    else:
        check_consistent_length(y_true, y_proba)
        kind = _kind(y_true, "y_true")
        if kind != "binary":
            raise ValueError(f"The type of the target inferred from y_true is {kind} but should be binary according to the shape of y_prob.")
        truth, count = _positive(column_or_1d(y_true), pos_label), 2
    return _score("brier_score_loss", truth, _single(y_proba), sample_weight, count, scale_by_half=scale_by_half)


# ---- values


def _values(y_true, y_pred, multioutput):
    check_consistent_length(y_true, y_pred)
    both = [check_array(y, ensure_2d=False, dtype=[np.float64, np.float32], input_name=name) for y, name in ((y_true, "y_true"), (y_pred, "y_pred"))]
    both = [_single(y) for y in both]
    if not isinstance(multioutput, str):
        if both[0].ndim == 1:
            raise ValueError("Custom weights are useful only in multi-output cases.")
        multioutput = ",".join(_text(float(weight)) for weight in np.asarray(multioutput).tolist())
    return *both, multioutput


def _error(metric, y_true, y_pred, sample_weight, multioutput, **settings):
    y_true, y_pred, multioutput = _values(y_true, y_pred, multioutput)
    return _score(metric, y_true, y_pred, sample_weight, multioutput=multioutput, **settings)


def r2_score(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average", force_finite=True):
    """1 less the residual sum of squares over the total one.

    >>> r2_score([1, 2, 3], [1, 2, 3])
    1.0
    """
    out = _error("r2_score", y_true, y_pred, sample_weight, "uniform_average" if multioutput is None else multioutput, force_finite=bool(force_finite))
    if len(y_true) < 2:
        warnings.warn("R^2 score is not well-defined with less than two samples.", UndefinedMetricWarning, stacklevel=2)
    return out


def explained_variance_score(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average", force_finite=True):
    """1 less the variance of residuals over that of the target.

    >>> explained_variance_score([1, 2, 3], [2, 3, 4])
    1.0
    """
    return _error("explained_variance_score", y_true, y_pred, sample_weight, multioutput, force_finite=bool(force_finite))


def mean_squared_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """The mean squared residual.

    >>> mean_squared_error([[1, 0], [2, 0]], [[1, 1], [4, 0]], multioutput="raw_values").tolist()
    [2.0, 0.5]
    """
    return _error("mean_squared_error", y_true, y_pred, sample_weight, multioutput)


def root_mean_squared_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """The root of the mean squared residual, of each target.

    >>> root_mean_squared_error([1, 2], [4, 5])
    3.0
    """
    return _error("root_mean_squared_error", y_true, y_pred, sample_weight, multioutput)


def mean_absolute_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """The mean absolute residual.

    >>> mean_absolute_error([1, 2], [4, 3])
    2.0
    """
    return _error("mean_absolute_error", y_true, y_pred, sample_weight, multioutput)


def median_absolute_error(y_true, y_pred, *, multioutput="uniform_average", sample_weight=None):
    """The median absolute residual.

    >>> median_absolute_error([1, 2, 3], [1, 3, 9])
    1.0
    """
    return _error("median_absolute_error", y_true, y_pred, sample_weight, multioutput)


def max_error(y_true, y_pred):
    """The largest absolute residual.

    >>> max_error([1, 2], [4, 3])
    3.0
    """
    y_true, y_pred, _ = _values(y_true, y_pred, "uniform_average")
    return _score("max_error", y_true, y_pred)


# ---- clusters


def _clusters(metric, labels_true, labels_pred, **settings):
    check_consistent_length(labels_true, labels_pred)
    both = [np.unique(column_or_1d(check_array(y, ensure_2d=False, dtype=None)), return_inverse=True)[1].astype(np.int64) for y in (labels_true, labels_pred)]
    return _score(metric, *both, **settings)


def rand_score(labels_true, labels_pred):
    """The part of pairs of rows on which two clusterings agree.

    >>> rand_score([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    """
    return _clusters("rand_score", labels_true, labels_pred)


def adjusted_rand_score(labels_true, labels_pred):
    """The same as rand_score, 0 for chance.

    >>> adjusted_rand_score([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    return _clusters("adjusted_rand_score", labels_true, labels_pred)


def mutual_info_score(labels_true, labels_pred, *, contingency=None):
    """What one clustering tells of another, in nats.

    >>> round(mutual_info_score([0, 0, 1, 1], [1, 1, 0, 0]), 6)
    0.693147
    """
    if contingency is not None:
        raise NotImplementedError("contingency: pass both labellings")
    return _clusters("mutual_info_score", labels_true, labels_pred)


def normalized_mutual_info_score(labels_true, labels_pred, *, average_method="arithmetic"):
    """Mutual information over a mean of both entropies.

    >>> normalized_mutual_info_score([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return _clusters("normalized_mutual_info_score", labels_true, labels_pred, average_method=average_method)


def adjusted_mutual_info_score(labels_true, labels_pred, *, average_method="arithmetic"):
    """The same, 0 for chance.

    >>> adjusted_mutual_info_score([0, 0, 0], [1, 1, 1])
    1.0
    """
    return _clusters("adjusted_mutual_info_score", labels_true, labels_pred, average_method=average_method)


def homogeneity_score(labels_true, labels_pred):
    """1 where each cluster holds one class.

    >>> homogeneity_score([0, 0, 1, 1], [0, 1, 2, 3])
    1.0
    """
    return _clusters("homogeneity_score", labels_true, labels_pred)


def completeness_score(labels_true, labels_pred):
    """1 where each class is in one cluster.

    >>> completeness_score([0, 0, 1, 1], [0, 0, 0, 0])
    1.0
    """
    return _clusters("completeness_score", labels_true, labels_pred)


def v_measure_score(labels_true, labels_pred, *, beta=1.0):
    """The harmonic mean of homogeneity and completeness.

    >>> v_measure_score([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return _clusters("v_measure_score", labels_true, labels_pred, beta=float(beta))


def _points(X, labels, metric):
    if metric != "euclidean":
        raise NotImplementedError(f"metric={metric!r}: only the euclidean distance is there")
    check_consistent_length(X, labels)
    X = check_array(X, dtype=[np.float64, np.float32])
    return X, np.unique(column_or_1d(labels), return_inverse=True)[1].astype(np.int64)


def silhouette_samples(X, labels, *, metric="euclidean"):
    """How much nearer a row's own cluster is than the next one, from -1 to 1.

    >>> silhouette_samples([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]).round(6).tolist()
    [0.904762, 0.894737, 0.894737, 0.904762]
    """
    X, numbers = _points(X, labels, metric)
    return _score("silhouette_samples", X, numbers)


def silhouette_score(X, labels, *, metric="euclidean", sample_size=None, random_state=None):
    """The mean of silhouette_samples; of sample_size rows where that is given.

    >>> round(silhouette_score([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]), 6)
    0.899749
    """
    X, numbers = _points(X, labels, metric)
    if sample_size is not None:
        rows = check_random_state(random_state).permutation(X.shape[0])[:sample_size]
        X, numbers = X[rows], np.unique(numbers[rows], return_inverse=True)[1].astype(np.int64)
    return _score("silhouette_score", X, numbers)
