# SPDX-License-Identifier: Apache-2.0
"""SimpleImputer beyond numbers: words, and other entries of object arrays, go to the library as their places among the entries of their
feature, which stand in the model's note "entries"; whole numbers stay of their type."""
import json

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from samebits import _details
from samebits._encoders import EXACT, plain

_FILL = -1  # the place of the constant


def _is_gap(value):
    """Whether an entry is NaN, or pandas' NA."""
    return value is not None and type(value).__name__ == "NAType" or value != value  # pylint: disable=comparison-with-itself


def _ascending(entries):
    """Distinct entries in their order; of several kinds, kind after kind."""
    try:
        return sorted(set(entries))
    except TypeError:
        return sorted(set(entries), key=lambda entry: (str(type(entry)), entry))


def _is_exact(X):
    """Whether whole numbers are all float64, too."""
    ends = np.unique(X)[[0, -1]].tolist() if X.size else [0, 0]
    return -EXACT < ends[0] and ends[1] < EXACT


class Imputer:
    """X as columns of numbers, and back."""

    _entries = None  # by feature, where they are not numbers
    _constant = None  # what holes of such features are filled with, where one constant is

    def _validated(self, X, reset, y=None, back=False):
        if back:
            if self._entries is not None:
                raise NotImplementedError("inverse_transform of a SimpleImputer that was fitted on words")
            return super()._validated(X, reset, back=True)
        return self._prepared(X, reset)[0], None

    def _prepared(self, X, reset):
        """X as the library sees it; the type that transform gives, None: that of the library; its entries by feature, None: numbers."""
        X = self._lent(X)
        if reset:
            self._entries = self._constant = None
        if hasattr(X, "tocsr") or self.strategy in ("mean", "median"):
            return self._of_numbers(X, reset), None, None
        words = isinstance(X, list) and any(isinstance(one, str) for row in X for one in row)
        table = check_array(X, dtype=object if words else None, ensure_all_finite=False)
        if self._entries is not None and table.dtype.kind not in "iu":
            table = table.astype(object)
        kind = table.dtype.kind
        if kind not in "iufO":
            raise ValueError(f"SimpleImputer does not support data with dtype {table.dtype}. Please provide either a numeric array (with a floating point or integer "
                             "dtype) or categorical data represented either as an array with integer dtype or an array of string values with an object dtype.")
        if kind in "iu" and reset and self.strategy == "constant" and self.fill_value is not None and not np.can_cast(type(self.fill_value), table.dtype, "same_kind"):
            raise ValueError(f"fill_value={self.fill_value!r} (of type {type(self.fill_value)!r}) cannot be cast to the input data that is {table.dtype!r}.")
        if self._entries is None and (kind == "f" or kind in "iu" and _is_exact(table)):
            return self._of_numbers(X, reset), table.dtype if kind in "iu" else None, None
        if not reset and self._entries is None:
            raise ValueError(f"X is {table.dtype}, words or whole numbers of 2^53 and more, and the fit was on smaller numbers")
        validate_data(self, X=X, reset=reset, skip_check_array=True)
        if reset and self.strategy == "constant":
            self._constant = plain(self.fill_value, "fill_value") if self.fill_value is not None else "missing_value" if kind == "O" else 0
        places, known = self._places(table, [[] for _ in range(table.shape[1])] if reset else self._entries)
        if reset:
            self._entries = known
        return places, table.dtype, known

    def _check_sparse(self):
        if self.missing_values == 0:
            raise ValueError("Imputation not possible when missing_values == 0 and input is sparse. Provide a dense array instead.")

    def _sparse_again(self, X, out):
        """What a transform makes of the CSR matrix X: sparse, too, with an entry where X has one."""
        kept = [j for j, value in enumerate(self.statistics_.tolist()) if value == value]
        entries = _details.sparse_like(X[:, kept], out[:, :len(kept)])
        return (hstack([entries, csr_matrix(out[:, len(kept):])]) if self.add_indicator else entries).tocsc()

    def _of_numbers(self, X, reset):
        if isinstance(self.fill_value, str):
            raise ValueError(f"fill_value={self.fill_value!r} (of type {str!r}) cannot be cast to the input data, which is of numbers.")
        if self.missing_values is None or isinstance(self.missing_values, str):
            raise ValueError(f"'X' and 'missing_values' types are expected to be both numerical. Got type(missing_values)={type(self.missing_values)}.")
        try:
            return super()._validated(X, reset)[0]
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            raise ValueError(f"Cannot use {self.strategy} strategy with non-numeric data:\n{error}") from None

    def _is_hole(self, value):
        return _is_gap(value) if _is_gap(self.missing_values) else value == self.missing_values

    def _places(self, table, known):
        """Each entry by its place among those known of its feature, NaN for holes; what is not known is placed behind."""
        out, found = np.empty(table.shape, dtype=np.float64), []
        for j, (entries, column) in enumerate(zip(known, table.T)):
            column = [None if self._is_hole(value) else [plain(value, j)] for value in column.tolist()]
            there = [cell[0] for cell in column if cell]
            if any(_is_gap(value) for value in there):
                raise ValueError("Input X contains NaN, and missing_values is something else.")
            entries = [*entries, *_ascending(value for value in there if value not in entries)]
            places = {entry: place for place, entry in enumerate(entries)}
            out[:, j] = [places[cell[0]] if cell else np.nan for cell in column]
            found.append(entries)
        return out, found

    def _starts(self):
        if self._entries is not None:
            return {"missing_values": np.nan, "fill_value": _FILL if self.strategy == "constant" else None}
        return {"missing_values": np.nan} if _is_gap(self.missing_values) else {}

    def _notes(self):
        if self._entries is None:
            return {}
        given = {} if _is_gap(self.missing_values) else {"missing_values": plain(self.missing_values, "missing_values")}
        return {"entries": json.dumps({"entries": self._entries, "fill_value": plain(self.fill_value, "fill_value"), "constant": self._constant, **given})}

    def _take(self, model):
        super()._take(model)
        note = model.note("entries")
        if note is None:
            return
        told = json.loads(note)
        self._entries, self._constant, self.fill_value = told["entries"], told["constant"], told["fill_value"]
        self.missing_values = told.get("missing_values", self.missing_values)
        self.statistics_ = np.array([self._named(own, place) for own, place in zip(self._entries, self.statistics_.tolist())], dtype=object)

    def _adopt(self, fitted):
        """The places of the statistics that a fit of scikit-learn's on words leaves."""
        found = fitted.statistics_.tolist()
        if fitted._fit_dtype.kind != "O":  # pylint: disable=protected-access
            return {"statistics": np.array(found, dtype=np.float64)}
        constant = self.strategy == "constant"
        self._constant = ("missing_value" if self.fill_value is None else self.fill_value) if constant else None
        self._entries = [[] if constant or _is_gap(value) else [plain(value, j)] for j, value in enumerate(found)]
        return {"statistics": np.array([np.nan if _is_gap(value) else _FILL if constant else 0 for value in found], dtype=np.float64)}

    def _named(self, entries, place):
        if _is_gap(place):
            return place
        if place == _FILL:
            return self._constant
        return entries[int(place)] if entries else 0  # (a feature of holes that is kept)

    def _call(self, method, X, **data):
        check_is_fitted(self)
        if method != "transform":
            return super()._call(method, X, **data)
        X, kind, known = self._prepared(X, False)
        out = _details.result(self, method, self._model.call(method, X, **data))
        if hasattr(X, "indptr"):
            return self._sparse_again(X, out)
        if known is None:
            return out if kind is None else out.astype(kind)
        kept = [own for own, value in zip(known, self.statistics_.tolist()) if not _is_gap(value)]
        named = np.empty(out.shape, dtype=object)
        for j, own in enumerate(kept):
            named[:, j] = [self._named(own, place) for place in out[:, j].tolist()]
        named[:, len(kept):] = out[:, len(kept):].astype(bool)
        return named.astype(kind)
