"""The aggregation kernel: the share of symbolic attributes in which two points have the same value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils.validation import check_is_fitted, validate_data

from bayes_svm.kernels.hypersphere import inverse_lengths
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.scikit_learn import LinkedToItsPage, fit_context
from bayes_svm.utils.types import Array, Indices

__all__ = ["AggregationKernel", "AggregationTransformer"]

Codes = NDArray[np.int64]

# Codes must be below these limits: from 2**53 on, double precision does not tell whole numbers apart.
FLOAT_LIMIT, INTEGER_LIMIT = 2**53, 2**63
# The code of an unknown value.
UNKNOWN = -1
# What the encoder returns for a known value that the training rows do not have.
UNSEEN = -2
# So many rows of the kernel matrix are computed together: they stay in the processor's cache.
STRIP = 16


# Equality is by identity: weights may be an array, which does not compare to a single truth value.
@dataclass(frozen=True, eq=False)
class AggregationKernel:
    r"""Share of the attributes in which two points have the same known value.

    .. math:: k(x, z) = \frac{\sum_k w_k \, \delta(x_k, z_k)}{\sum_k w_k}, \qquad
              \delta(a, b) = 1 \text{ if } a = b \text{ is known, else } 0

    An unknown value matches nothing, not even itself, so that :math:`k(x, x) < 1` for a point
    with unknown values. The hypersphere form :math:`k(x, z) / \sqrt{k(x, x) k(z, z)}` restores
    :math:`k(x, x) = 1`.

    Use it on integer codes as ``SVC(kernel=AggregationKernel())``. For columns of strings,
    categories or missing values use :class:`AggregationTransformer`.

    Parameters
    ----------
    weights : array of shape (n_features,), optional
        Weights :math:`w_k` of the attributes, at least 0 and not all 0; 1 by default.
    hypersphere : bool, default=True
        Whether to use the hypersphere form.

    References
    ----------
    Pardi, "Category similarity as a predictor for SVM learning performance".

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_svm import AggregationKernel
    >>> codes = np.array([[0, 1, 2], [0, 1, 1], [0, -1, 2]])
    >>> AggregationKernel(hypersphere=False)(codes, codes).round(2).tolist()
    [[1.0, 0.67, 0.67], [0.67, 1.0, 0.33], [0.67, 0.33, 0.67]]
    """

    weights: ArrayLike | None = None
    hypersphere: bool = True

    def __call__(self, X: Any, Z: Any) -> Array:
        """Kernel values of shape (len(X), len(Z)).

        Parameters
        ----------
        X, Z : arrays of shape (n_samples, n_features)
            Integer codes of the values; a negative code or NaN is unknown.

        Returns
        -------
        array of shape (n_samples_X, n_samples_Z)
            The kernel values.

        Raises
        ------
        ValueError
            If a code is not an integer or too large, X and Z have different numbers of attributes or
            none, or the weights are not valid.
        """
        left, right = checked_codes(X), checked_codes(Z)
        weights = self.checked_weights(left.shape[1])
        if right.shape[1] != left.shape[1]:
            raise ValueError(f"X has {left.shape[1]} attributes, but Z has {right.shape[1]}.")
        # Unknown values of X get a code that no value of Z has.
        known, columns = np.where(left >= 0, left, UNKNOWN - 1), np.maximum(right.T, UNKNOWN, order="C")
        values = np.zeros((len(left), len(right)))
        for first in range(0, len(left), STRIP):
            strip = slice(first, first + STRIP)
            for k in np.flatnonzero(weights):
                values[strip] += weights[k] * (known[strip, k, None] == columns[k])
        if not self.hypersphere:
            return np.asarray(values / weights.sum())
        scales = [inverse_lengths((codes >= 0) @ weights, self) for codes in (left, right)]
        return values * scales[0][:, None] * scales[1]

    def checked_weights(self, n_features: int) -> Array:
        """The weights as an array.

        Parameters
        ----------
        n_features : int
            Number of attributes.

        Returns
        -------
        array of shape (n_features,)
            The weights.

        Raises
        ------
        ValueError
            If their number is not that of the attributes, if one is negative, or if their sum is 0 or not
            finite.
        """
        if self.weights is None:
            return np.ones(n_features)
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (n_features,):
            raise ValueError(
                f"weights has shape {weights.shape}, but X has {n_features} attributes: give one weight for "
                "each."
            )
        with np.errstate(over="ignore"):
            total = weights.sum()
        if not np.isfinite(total) or weights.min() < 0 or total == 0:
            raise ValueError("weights must be at least 0 and not all 0, and their sum must be finite.")
        return weights

    def one_hot(self, X: Any) -> tuple[Any, Indices]:
        r"""Feature map: one column for each value, with entry :math:`\sqrt{w_k}` in the rows that have it.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Integer codes of the values; a negative code or NaN is unknown.

        Returns
        -------
        CSR matrix of shape (n_samples, n_values)
            The features. Their linear kernel is the aggregation kernel times the sum of the weights.
        array of shape (n_values,)
            The attribute that each column belongs to.
        """
        codes = checked_codes(X)
        weights = self.checked_weights(codes.shape[1])
        blocks, attribute = [], []
        for k in range(codes.shape[1]):
            known = np.flatnonzero(codes[:, k] >= 0)
            present, column = np.unique(codes[known, k], return_inverse=True)
            entries = np.full(len(known), np.sqrt(weights[k]))
            blocks.append(sparse.csr_matrix((entries, (known, column)), shape=(len(codes), len(present))))
            attribute.append(np.full(len(present), k, dtype=np.intp))
        return sparse.hstack(blocks, format="csr"), np.concatenate(attribute)


def checked_codes(X: Any) -> Codes:
    """X as an array of integer codes, in which a negative code is unknown.

    Raises
    ------
    ValueError
        If X is sparse, not two-dimensional, or without attributes, or holds values other than integers and
        NaN, or codes that are too large.
    """
    if sparse.issparse(X):
        raise ValueError("The aggregation kernel takes a dense array: 0 is a code like any other.")
    try:
        given = np.asarray(X)
        whole = given.dtype.kind in "iu"
        values = given if whole else np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "The aggregation kernel takes integer codes: AggregationTransformer makes them from strings "
            "and categories."
        ) from error
    if values.ndim != 2:
        raise ValueError(f"Expected codes of shape (n_samples, n_features), got {values.ndim} dimensions.")
    if values.shape[1] == 0:
        raise ValueError("The aggregation kernel compares attributes, but X has 0 of them.")
    _refuse_huge_codes(values, INTEGER_LIMIT if whole else FLOAT_LIMIT)
    if whole:
        return np.asarray(values, dtype=np.int64)
    values = np.where(np.isnan(values), UNKNOWN, values)
    wrong = ~np.isfinite(values) | (values != np.rint(values))
    if wrong.any():
        raise ValueError(
            f"The aggregation kernel takes integer codes, but X holds {values[wrong][0]:g}: bin numeric "
            "features first."
        )
    return np.asarray(np.where(values < 0, UNKNOWN, values), dtype=np.int64)


def _refuse_huge_codes(values: NDArray[Any], limit: int) -> None:
    """Raise ValueError if a code is finite and too large for its type to tell it from others."""
    huge = (values >= limit) & np.isfinite(values)
    if huge.any():
        raise ValueError(
            f"The aggregation kernel takes codes below 2**53, or below 2**63 in an array of integers, but X "
            f"holds {values[huge][0]}: number the values from 0."
        )


class AggregationTransformer(
    LinkedToItsPage, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Aggregation kernel between rows of symbolic attributes and the training rows.

    Use it as ``make_pipeline(AggregationTransformer(), SVC(kernel="precomputed"))``. Columns may
    hold strings, categories or numbers; every distinct value is a category. NaN, None and the
    marker ``unknown`` match nothing, not even themselves. A value that does not occur in a
    column of the training rows matches none of them.

    Parameters
    ----------
    weights : array of shape (n_features,), optional
        Weights of the attributes, at least 0 and not all 0; 1 by default.
    hypersphere : bool, default=True
        Whether to divide by ``sqrt(k(x, x) k(z, z))``.
    unknown : str, int, float or None, default="?"
        Value that marks an unknown entry, in addition to NaN and None.

    Attributes
    ----------
    categories_ : list of arrays
        Known values of every column.
    codes_ : array of shape (n_samples, n_features)
        The training rows as codes, -1 for unknown.
    n_features_in_ : int
        Number of attributes.
    feature_names_in_ : array of shape (`n_features_in_`,)
        Names of the attributes. Only if X has feature names that are all strings.

    References
    ----------
    Pardi, "Category similarity as a predictor for SVM learning performance".

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from bayes_svm import AggregationTransformer
    >>> X = [["red", "round"], ["red", "?"], ["green", "long"], ["green", "round"]]
    >>> model = make_pipeline(AggregationTransformer(), SVC(kernel="precomputed"))
    >>> model.fit(X, [0, 0, 1, 1]).predict([["red", "square"]]).tolist()
    [0]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "weights": ["array-like", None],
        "hypersphere": ["boolean"],
        "unknown": "no_validation",
    }

    def __init__(
        self, weights: ArrayLike | None = None, *, hypersphere: bool = True, unknown: Any = "?"
    ) -> None:
        self.weights = weights
        self.hypersphere = hypersphere
        self.unknown = unknown

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the values of every column, and keep the rows as codes.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
            The training rows.
        y : None
            Ignored.

        Returns
        -------
        AggregationTransformer
            The fitted transformer itself.

        Raises
        ------
        ValueError
            If the weights are not valid.
        TypeError
            If a column mixes strings and numbers.
        """
        X = _without_na(X)
        validate_data(self, X, dtype=None, ensure_all_finite="allow-nan")
        self._encoder = OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=UNSEEN,
            encoded_missing_value=UNKNOWN,
            dtype=np.float64,
        ).fit(X)
        self._kernel().checked_weights(self.n_features_in_)
        present = [[not self._stands_for_unknown(v) for v in values] for values in self._encoder.categories_]
        # One more entry than there are values: code -1, for unknown, is looked up there.
        self._known = [np.array([*mask, False]) for mask in present]
        self.categories_ = [
            values[mask] for values, mask in zip(self._encoder.categories_, present, strict=True)
        ]
        self.codes_ = self._codes(X)
        self._n_features_out = len(self.codes_)
        return self

    def transform(self, X: Any) -> Array:
        """Kernel values between X and the training rows.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
            The rows to compare.

        Returns
        -------
        array of shape (n_samples, n_samples_fitted)
            The kernel values.

        Raises
        ------
        MemoryError
            If the kernel values do not fit into memory; the message says how many bytes they need.
        """
        check_is_fitted(self)
        X = _without_na(X)
        validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=False)
        # The encoder cannot look up numbers among texts, nor texts among numbers: only objects among either.
        # Times would become other objects than those that it knows.
        if not hasattr(X, "iloc") and getattr(X, "dtype", np.dtype(object)).kind not in "mM":
            X = np.asarray(X, dtype=object)
        codes = self._codes(X)
        require_bytes(
            3 * 8 * len(codes) * len(self.codes_),
            f"The kernel matrix of {len(codes)} rows and {len(self.codes_)} training rows",
            "Transform fewer rows at a time, or use SVC(kernel=AggregationKernel()) on integer codes.",
        )
        return self._kernel()(codes, self.codes_)

    def _kernel(self) -> AggregationKernel:
        return AggregationKernel(self.weights, self.hypersphere)

    def _codes(self, X: Any) -> Codes:
        """Number of every value among the categories of its column, -1 if it is unknown.

        A value that does not occur in the training rows gets a number that no category has. It is
        known, so it counts in the length of its row, but it matches no training row.
        """
        codes = self._encoder.transform(X).astype(np.int64)
        unseen = np.argwhere(codes == UNSEEN)
        for column, known in zip(codes.T, self._known, strict=True):
            column[~known[column]] = UNKNOWN
        if len(unseen):
            values = np.asarray(X, dtype=object)
            for i, k in unseen:
                # An unknown value is unseen too, in a column of which the training rows know all values.
                if not self._stands_for_unknown(values[i, k]):
                    codes[i, k] = len(self._known[k])
        return np.asarray(codes)

    def _stands_for_unknown(self, value: Any) -> bool:
        """Whether a value is None, NaN or the marker of unknown values."""
        # pandas.NA is neither equal nor unequal to itself.
        if value is None or not isinstance(value == value, bool | np.bool_) or value != value:
            return True
        return isinstance(value, str) == isinstance(self.unknown, str) and bool(value == self.unknown)


def _without_na(X: Any) -> Any:
    """X with NaN in place of pandas.NA, which cannot be sorted; anything but a DataFrame is unchanged."""
    return X.astype(object).mask(X.isna(), np.nan) if hasattr(X, "isna") else X
