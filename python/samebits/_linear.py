# SPDX-License-Identifier: Apache-2.0
"""What linear estimators have beside their rows: sparse coefficients, and words about older parameters."""
import warnings

from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted


class SparseCoefficients:
    """Coefficients many of which are 0."""

    @property
    def sparse_coef_(self):
        """coef_ as a CSR matrix."""
        return csr_matrix(self.coef_)


class Sparsifiable:
    """Coefficients that may be kept as a CSR matrix, and what scikit-learn says about parameters that will go."""

    def sparsify(self):
        """Makes coef_ a CSR matrix; what the estimator predicts stays the same.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.coef_ = csr_matrix(self.coef_)
        return self

    def densify(self):
        """Makes coef_ an array again.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.coef_ = self.coef_.toarray() if hasattr(self.coef_, "toarray") else self.coef_
        return self

    def _check(self, X):
        penalty, ratio = self.penalty, self.l1_ratio
        if penalty == "elasticnet" and ratio is None:
            raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
        if penalty != "deprecated":
            self._say("'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, leave 'penalty' set to its default value and use "
                      "'l1_ratio' or 'C' instead. Use l1_ratio=0 instead of penalty='l2', l1_ratio=1 instead of penalty='l1', l1_ratio set to a float between 0 and 1 "
                      "instead of penalty='elasticnet', and C=np.inf instead of penalty=None.", FutureWarning)
        elif ratio is None:
            self._say("'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use 0<=l1_ratio<=1 instead.", FutureWarning)
        if penalty == "l2" and ratio != 0 or penalty == "l1" and ratio != 1:
            self._say(f"Inconsistent values: penalty={penalty} with l1_ratio={ratio}. penalty is deprecated. Please use l1_ratio only.", UserWarning)
        if penalty is None and self.C != 1:
            self._say("Setting penalty=None will ignore the C and l1_ratio parameters", UserWarning)
        if self.n_jobs is not None:
            self._say(f"'n_jobs' has no effect since 1.8 and will be removed in 1.10. You provided 'n_jobs={self.n_jobs}', please leave it unspecified.", FutureWarning)

    @staticmethod
    def _say(sentence, category):
        warnings.warn(sentence, category, stacklevel=6)  # (of the caller of fit)
