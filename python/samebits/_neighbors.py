# SPDX-License-Identifier: Apache-2.0
"""The methods of estimators of neighbours that scikit-learn gives other arguments than X."""
import numbers

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted


def _count(value):
    """A number of neighbours for one call, with scikit-learn's errors."""
    if not isinstance(value, numbers.Integral):
        raise TypeError(f"n_neighbors does not take {type(value)} value, enter integer value")
    if value <= 0:
        raise ValueError(f"Expected n_neighbors > 0. Got {value}")
    return int(value)


class Neighbors:
    """kneighbors, kneighbors_graph."""

    def _near(self, method, X, settings):
        check_is_fitted(self)
        if X is not None:
            X, _ = self._validated(X, False)
        return self._model.call(method, X, settings=settings, count=3 if method == "radius_neighbors" else 2)

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """Distances and numbers of the nearest rows of the fit, nearest first, the lowest number first on a tie.

        Parameters
        ----------
        X : array of shape (n_queries, n_features) or None: the rows of the fit, none its own neighbour
        n_neighbors : int or None: as the estimator has it
        return_distance : bool

        Returns
        -------
        distances : array of shape (n_queries, n_neighbors), if return_distance
        indices : int64 array of shape (n_queries, n_neighbors)
        """
        settings = "" if n_neighbors is None else f"n_neighbors={_count(n_neighbors)}"
        distances, indices = self._near("kneighbors", X, settings)
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity"):
        """The nearest rows of the fit as a CSR matrix: 1, or with mode="distance" the distance.

        Parameters
        ----------
        X : array of shape (n_queries, n_features) or None
        n_neighbors : int or None
        mode : "connectivity" or "distance"

        Returns
        -------
        graph : sparse matrix of shape (n_queries, n_samples_fit)
        """
        if mode not in ("connectivity", "distance"):
            raise ValueError(f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" instead')
        distances, indices = self.kneighbors(X, n_neighbors)
        starts = [*range(0, indices.size, indices.shape[1]), indices.size]
        values = np.array([1.0 for _ in range(indices.size)]) if mode == "connectivity" else distances.reshape(-1)
        return csr_matrix((values, indices.reshape(-1), starts), shape=(len(indices), self.n_samples_fit_))


class RadiusNeighbors(Neighbors):
    """radius_neighbors, radius_neighbors_graph, too."""

    def radius_neighbors(self, X=None, radius=None, return_distance=True, sort_results=False):
        """Distances and numbers of the rows of the fit that are at most radius away, nearest first (sort_results or not).

        Parameters
        ----------
        X : array of shape (n_queries, n_features) or None: the rows of the fit, none its own neighbour
        radius : float or None: as the estimator has it
        return_distance, sort_results : bool

        Returns
        -------
        distances : array of n_queries arrays, if return_distance
        indices : array of n_queries int64 arrays
        """
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        distances, indices, starts = self._near("radius_neighbors", X, "" if radius is None else f"radius={float(radius)!r}")
        parts = list(zip(starts.tolist(), starts.tolist()[1:]))
        out = [np.empty(len(parts), dtype=object), np.empty(len(parts), dtype=object)]
        for number, (first, end) in enumerate(parts):
            out[0][number], out[1][number] = distances[first:end], indices[first:end]
        return tuple(out) if return_distance else out[1]

    def radius_neighbors_graph(self, X=None, radius=None, mode="connectivity", sort_results=False):
        """The rows of the fit that are at most radius away as a CSR matrix: 1, or with mode="distance" the distance.

        Parameters
        ----------
        X : array of shape (n_queries, n_features) or None
        radius : float or None
        mode : "connectivity" or "distance"
        sort_results : bool, not used: rows are sorted by distance

        Returns
        -------
        graph : sparse matrix of shape (n_queries, n_samples_fit)
        """
        if mode not in ("connectivity", "distance"):
            raise ValueError(f'Unsupported mode, must be one of "connectivity", or "distance" but got {mode} instead')
        distances, indices, starts = self._near("radius_neighbors", X, "" if radius is None else f"radius={float(radius)!r}")
        values = np.array([1.0 for _ in range(indices.size)]) if mode == "connectivity" else distances
        return csr_matrix((values, indices, starts), shape=(len(starts[1:]), self.n_samples_fit_))
