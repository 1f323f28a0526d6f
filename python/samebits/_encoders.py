# SPDX-License-Identifier: Apache-2.0
"""Encoders of categories: columns of numbers go to the library as they are, of words (and of other objects) their places among the
categories of their feature, which stand in the model's note "categories"."""
import itertools
import json
import warnings

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.preprocessing._encoders import _BaseEncoder
from sklearn.utils._encode import _unique
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

EXACT = 2**53  # whole numbers below it are float64


def _is_nan(value):
    return value != value  # pylint: disable=comparison-with-itself


def plain(value, column):
    """An entry of a table that a model's file can hold."""
    value = value.item() if hasattr(value, "item") else value
    if value is not None and not isinstance(value, (str, bool, int, float)):
        raise TypeError(f"column {column} holds a {type(value).__name__}: expected words, numbers, true and false, None")
    return value


def _is_number(values):
    """Whether a column's type is one of numbers that float64 holds."""
    if values.dtype.kind in "iu":
        ends = np.unique(values)[[0, -1]].tolist()
        return -EXACT < ends[0] and ends[1] < EXACT
    return values.dtype.kind in "fb" and values.dtype.itemsize <= 8


def _words_of(values, column):
    """The categories of a column of words in their order, NaN not among them; whether it is there."""
    found = [plain(one, column) for one in _unique(values).tolist()]
    words = [one for one in found if not _is_nan(one)]
    return words, len(words) < len(found)


class Encoder:
    """categories_, infrequent_categories_, and X as columns."""

    def _validated(self, X, reset, y=None, back=False):
        if back:
            return super()._validated(X, reset, back=True)
        X = self._lent(X)
        columns, _, width = _BaseEncoder._check_X(self, X, ensure_all_finite="allow-nan")
        validate_data(self, X=X, reset=reset, skip_check_array=True)
        if reset:
            self.n_features_in_ = width
            self._find_words(columns)
        else:
            check_is_fitted(self)
        if reset and self._distinct:
            return self._each_once(len(columns[0])), None
        strict = self.handle_unknown == "error" if reset else self._strict
        entries = [self._entries(j, values, "fit" if reset else "transform", strict) for j, values in enumerate(columns)]
        narrow = all(one.dtype == np.float32 for one in entries)
        out = np.empty((len(columns[0]), len(columns)), dtype=np.float32 if narrow else np.float64)
        for j, one in enumerate(entries):
            out[:, j] = one
        return out, None

    def _find_words(self, columns):
        """For each column its type, and its categories where they are no numbers; those that are given as one list of numbers."""
        self._types, self._words, self._flat = [values.dtype for values in columns], [], "auto"
        missing = []
        if not isinstance(self.categories, str):
            if len(self.categories) != len(columns):
                raise ValueError("Shape mismatch: if categories is an array, it has to be of shape (n_features,).")
            self._flat = []
        for j, values in enumerate(columns):
            number = _is_number(values)
            if self._flat == "auto":
                words, nan = (None, False) if number else _words_of(values, j)
                self._words.append(words)
                missing.append(nan)
                continue
            given = np.array(self.categories[j], dtype=values.dtype if number else object).tolist()
            if not number:
                given = [plain(one, j) for one in given]
                if any(_is_nan(one) for one in given[:-1]):
                    raise ValueError(f"Nan should be the last element in user provided categories, see categories {given} in column #{j}")
                if len(set(given)) != len(given):
                    raise ValueError(f"In column {j}, the predefined categories contain duplicate elements.")
                self._types[j] = np.dtype(object)
            self._words.append(None if number else [one for one in given if not _is_nan(one)])
            self._flat.extend([len(given), *(given if number else [one if _is_nan(one) else place for place, one in enumerate(given)])])

        counted = getattr(self, "min_frequency", None) is not None or getattr(self, "max_categories", None) is not None
        self._distinct = list(zip(self._words, missing)) if self._flat == "auto" and not counted and None not in self._words else None

    def _each_once(self, rows):
        """Where all columns are of words, and how often they stand does not matter: as many rows, in which each category, whose number is
        its place, stands once and the first one else."""
        out = np.empty((rows, len(self._distinct)), dtype=np.float64)
        for j, (words, nan) in enumerate(self._distinct):
            own = [*range(len(words)), *([np.nan] if nan else [])]
            out[:, j] = own[0]
            out[:len(own), j] = own
        self._distinct = None
        return out

    def _entries(self, column, values, method, strict):
        """A column as the library sees it; what is of another kind than its categories has a number that none of them has."""
        words = self._words[column]
        if words is None and values.dtype.kind in "fiub":
            return values if values.dtype == np.float32 else values.astype(np.float64)
        known = self.categories_[column].tolist() if words is None else words
        places = {word: word if words is None else float(place) for place, word in enumerate(known)}
        nobody = next(place for place in range(len(known), -1, -1) if place not in places.values())
        entries = values.tolist()
        numbers = list(map(places.get, entries))
        lacking = [row for row, number in enumerate(numbers) if number is None] if None in numbers else []
        unknown = [row for row in lacking if not _is_nan(entries[row])]
        if unknown and strict:
            raise ValueError(f"Found unknown categories {list(dict.fromkeys(entries[row] for row in unknown))} in column {column} during {method}")
        for row in lacking:
            numbers[row] = np.nan
        for row in unknown:
            numbers[row] = nobody
        return np.array(numbers, dtype=np.float64)

    def _adopt(self, fitted):
        """The arrays of the library that a fit of scikit-learn's leaves."""
        self._find_words(fitted.categories_)
        found = {"categories": [], "category_ends": [], "codes": [], "counts": [], "rare": []}
        groups = getattr(fitted, "infrequent_categories_", None) or [None for _ in fitted.categories_]
        for j, (categories, group) in enumerate(zip(fitted.categories_, groups)):
            rare = [] if group is None else group.tolist()
            grouped = [one in rare or _is_nan(one) and any(_is_nan(other) for other in rare) for one in categories.tolist()]
            apart = [_is_nan(one) and "encoded_missing_value" in self._sent for one in categories.tolist()]
            often = [None for pair in zip(grouped, apart) if not any(pair)]
            following = itertools.count()
            found["categories"].extend(self._entries(j, categories, "fit", True).tolist())
            found["category_ends"].append(len(found["categories"]))
            found["codes"].extend(-1 if alone else len(often) if together else next(following) for together, alone in zip(grouped, apart))
            found["counts"].append(len([*often, *([None] if rare else [])]))
            found["rare"].append(len(often) if rare else -1)
        return {name: np.array(values, dtype=np.float64 if name == "categories" else np.int64) for name, values in found.items()}

    def _starts(self):
        return {"categories": self._flat}

    def _notes(self):
        return {"categories": json.dumps(self._words)} if any(words is not None for words in self._words) else {}

    def _take(self, model):
        ends, note = model.array("category_ends").tolist(), model.note("categories")
        self._words = json.loads(note) if note else [None for _ in ends]
        super()._take(model)
        numbers, codes, rare = self.categories_, model.array("codes"), model.array("rare").tolist()
        if not hasattr(self, "_types"):
            self._types = [numbers.dtype if words is None else np.dtype(object) for words in self._words]
        parameters = model.parameters()  # (those of a file, whatever the estimator has)
        self._strict = parameters["handle_unknown"] == "error"
        self._grouped = parameters["min_frequency"] != "none" or parameters["max_categories"] != "none"
        self.categories_, self._rare, self._infrequent = [], rare, []
        for first, end, words, kind, group in zip((0, *ends), ends, self._words, self._types, rare):
            own = numbers[first:end]
            if words is None:
                own = own.astype(kind)
            else:
                own = np.array([value if _is_nan(value) else words[int(value)] for value in own.tolist()], dtype=kind)
            self.categories_.append(own)
            self._infrequent.append(None if group < 0 else own[codes[first:end] == group])

    def _loaded(self):
        if not isinstance(self.categories, str):
            self.categories = list(self.categories_)

    def _named(self, codes, numbers, loose, unnamed):
        """Categories by their names, "infrequent_sklearn" for rare ones, unnamed(code, ...) where there is none; loose: None is among them."""
        kind = np.result_type(*(categories.dtype for categories in self.categories_))
        if loose or any(group >= 0 for group in self._rare):
            kind = np.dtype(object)
        out = np.empty(numbers.shape, dtype=kind)
        for j, (words, group, categories) in enumerate(zip(self._words, self._rare, self.categories_)):
            if words is None and kind != object:
                out[:, j] = numbers[:, j].astype(categories.dtype)
            else:
                named = dict(enumerate(words) if words is not None else zip(categories.astype(np.float64).tolist(), categories.tolist()))
                has_missing = _is_nan(categories[-1])
                out[:, j] = [named[number] if number in named else "infrequent_sklearn" if 0 <= group == code else unnamed(code, has_missing)
                             for code, number in zip(codes[:, j].tolist(), numbers[:, j].tolist())]
        return out

    @property
    def infrequent_categories_(self):
        """For each feature its rare categories, None where there are none."""
        check_is_fitted(self)
        if not self._grouped:
            raise AttributeError("infrequent_categories_: neither min_frequency nor max_categories is set")
        return self._infrequent


class CodedMixin:
    """One number a feature, and the way back."""

    def _check(self, X):
        floating = np.dtype(self.dtype).kind == "f"
        given = self.unknown_value is not None
        if self.handle_unknown == "use_encoded_value":
            if not given:
                raise TypeError("unknown_value should be an integer or np.nan when handle_unknown is 'use_encoded_value', got None.")
            if _is_nan(self.unknown_value) and not floating:
                raise ValueError(f"When unknown_value is np.nan, the dtype parameter should be a float dtype. Got {self.dtype}.")
        elif given:
            raise TypeError(f"unknown_value should only be set when handle_unknown is 'use_encoded_value', got {self.unknown_value}.")
        missing = [j for j in range(X.shape[1]) if _is_nan(X[:, j]).any()]
        if missing and not floating and _is_nan(self.encoded_missing_value):
            raise ValueError(f"There are missing values in features {missing}. For OrdinalEncoder to encode missing values with dtype: {self.dtype}, "
                             "set encoded_missing_value to a non-nan value, or set dtype to a float")

    def _call(self, method, X, **data):
        out = super()._call(method, X, **data)
        if method == "transform":
            return out.astype(self.dtype, copy=False)
        stands = float(self._model.parameters()["encoded_missing_value"])

        def unnamed(code, has_missing):
            return np.nan if has_missing and (code == stands or _is_nan(code) and _is_nan(stands)) else None

        return self._named(check_array(X, ensure_all_finite="allow-nan"), out, not self._strict, unnamed)


class HotMixin:
    """A column a category, and the way back."""

    def _check(self, X):
        pass

    def _starts(self):
        return {**super()._starts(), "drop": self.drop if self.drop is None or isinstance(self.drop, str) else self._dropped(list(self.drop))}

    def _dropped(self, given):
        """Categories as the library sees them, one a feature."""
        if len(given) != len(self._words):
            raise ValueError(f"`drop` should have length equal to the number of features ({len(self._words)}), got {len(given)}")
        found = []
        for j, (words, value) in enumerate(zip(self._words, given)):
            value = plain(value, j)
            known = isinstance(value, (bool, int, float)) if words is None else value in words or _is_nan(value)
            if not known:
                raise ValueError("The following categories were supposed to be dropped, but were not found in the training data.\n"
                                 f"Category: {value}, Feature: {j}")
            found.append(float(value) if words is None or _is_nan(value) else float(words.index(value)))
        return found

    def _adopt(self, fitted):
        found = super()._adopt(fitted)
        drops = [None for _ in found["counts"]] if fitted.drop_idx_ is None else fitted.drop_idx_.tolist()
        codes, firsts = found["codes"].tolist(), (0, *found["category_ends"].tolist())
        found["drops"] = np.array([-1 if drop is None else codes[first:][drop] for first, drop in zip(firsts, drops)], dtype=np.int64)
        return found

    def _take(self, model):
        super()._take(model)
        drops, codes, ends = model.array("drops").tolist(), model.array("codes").tolist(), model.array("category_ends").tolist()
        self._drops = model.parameters()["drop"] != "none"
        self.drop_idx_ = np.array([None if drop < 0 else codes[first:end].index(drop) for first, end, drop in zip((0, *ends), ends, drops)],
                                  dtype=object) if self._drops else None
        self._columns = []  # (feature, category)
        for j, (first, end, drop, group, categories) in enumerate(zip((0, *ends), ends, drops, self._rare, self.categories_)):
            names = list(categories) if group < 0 else [name for name, code in zip(categories.tolist(), codes[first:end]) if code != group]
            names.extend(["infrequent_sklearn"] if group >= 0 else [])
            self._columns.extend((j, name) for number, name in enumerate(names) if number != drop)

    def _loaded(self):
        super()._loaded()
        if self.drop is not None and not isinstance(self.drop, str):
            self.drop = [categories[place] for categories, place in zip(self.categories_, self.drop_idx_)]

    def _names_out(self, features):
        combine = self.feature_name_combiner
        if combine == "concat":
            return np.array([f"{features[j]}_{name}" for j, name in self._columns], dtype=object)
        if not isinstance(combine("feature", "category"), str):
            raise TypeError("When `feature_name_combiner` is a callable, it should return a Python string. "
                            f"Got {type(combine('feature', 'category'))} instead.")
        return np.array([combine(features[j], name) for j, name in self._columns], dtype=object)

    def _say_what_is_unknown(self, X):
        """Where a category is dropped, what is unknown looks like it; and handle_unknown may want it said."""
        numbers, ends = self._model.array("categories").tolist(), self._model.array("category_ends").tolist()
        strange = []
        for j, (first, end) in enumerate(zip((0, *ends), ends)):
            known = numbers[first:end]
            if any(value not in known and not (_is_nan(value) and _is_nan(known[-1])) for value in set(X[:, j].tolist())):
                strange.append(j)
        if strange:
            become = "all zeros" if self._model.parameters()["handle_unknown"] == "ignore" else "the infrequent category"
            warnings.warn(f"Found unknown categories in columns {strange} during transform. These unknown categories will be encoded as {become}.", stacklevel=5)

    def _validated(self, X, reset, y=None, back=False):
        X, y = super()._validated(X, reset, y, back)
        if not reset and not back and not self._strict and (self._drops or self._model.parameters()["handle_unknown"] == "warn"):
            self._say_what_is_unknown(X)
        return X, y

    def _call(self, method, X, **data):
        if method == "inverse_transform":
            check_is_fitted(self)
            X = check_array(X, accept_sparse="csr")
            numbers, codes = super()._call(method, X.toarray() if hasattr(X, "toarray") else X, count=2)
            return self._named(codes, numbers, bool((codes < 0).any()), lambda code, _: None if code < 0 else np.nan)
        if not self.sparse_output:
            return super()._call(method, X, **data).astype(self.dtype, copy=False)
        ends, columns = super()._call("transform_csr", X, count=2)
        return csr_matrix((np.ones(len(columns), dtype=self.dtype), columns, ends), shape=(len(ends[1:]), len(self._columns)))
