"""Pairwise coupling: probabilities of several classes from those of every pair of classes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import assert_all_finite, gen_batches, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.utils.checks import checked_labels, checked_weights, encode_classes
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.metaestimators import (
    check_instance,
    class_costs,
    decided,
    fit_parameters,
    fitted_on_rows,
    leaving_all_out,
    left_out_proba,
)
from bayes_svm.utils.scikit_learn import (
    HasMethods,
    Interval,
    LinkedToItsPage,
    fit_context,
    num_samples,
    routing_enabled,
    safe_split,
)
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices

__all__ = ["PairwiseCouplingClassifier", "couple"]


# Pairwise probabilities are clipped to at least this: no training set could support a smaller one.
LEAST_PROBABILITY = 1e-7
# Bytes of the linear systems that are solved at once.
BLOCK_BYTES = 2**25


class PairwiseCouplingClassifier(LinkedToItsPage, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Multiclass probabilities by coupling one probabilistic classifier per pair of classes.

    .. math:: \min_p \sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2
              \quad \text{subject to} \quad \sum_i p_i = 1

    where :math:`r_{ij}` is the probability of class i by the classifier of classes i and j, clipped to
    ``[1e-7, 1 - 1e-7]`` (log-odds of 16.1). This is the second method of Wu, Lin and Weng: one system of
    linear equations per point. With two classes the only classifier's probabilities are returned unchanged.

    Parameters
    ----------
    estimator : classifier with predict_proba, default=None
        Classifier of which a clone is fitted to each pair of classes. None stands for
        :class:`~bayes_svm.BayesSVC`.
    n_jobs : int, default=None
        Number of pairs fitted at the same time, as for :class:`joblib.Parallel`. The result does not depend
        on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels of the classes, sorted.
    estimators_ : list of n_classes * (n_classes - 1) / 2 classifiers
        Fitted classifiers of the pairs (0, 1), (0, 2), ..., (1, 2), ..., with the original labels.
    pairwise_indices_ : list of arrays, or None
        Training rows of each pair if the estimator takes a kernel matrix, otherwise None.
    class_weight_ : array of shape (n_classes,)
        Costs of the classes, from the ``class_weight_`` of the pairs' classifiers; 1 if they have none.
    left_out_proba_ : array of shape (n_samples, n_classes)
        Left-out probabilities, if the fitted estimators have ``left_out_proba_``. The classifiers of pairs
        with the row's class leave the row out, whatever the ``leave_out_size`` of a :class:`BayesSVC`; those
        of the other pairs never saw it. NaN for a row that one of them does not leave out.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : array of shape (`n_features_in_`,)
        Names of the features, if the estimators have them.

    See Also
    --------
    sklearn.multiclass.OneVsOneClassifier : Votes of the pairs, without probabilities.

    Notes
    -----
    ``predict`` returns the argmax of ``class_weight_ * predict_proba``. Rows of weight 0 in ``sample_weight``
    are absent.

    A caution about ``left_out_proba_`` with ``groups``: the classifiers of pairs without the row's class
    may have seen rows of the same group that belong to other classes.

    References
    ----------
    Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise
    coupling", Journal of Machine Learning Research 5, 2004. Hastie and Tibshirani,
    "Classification by pairwise coupling", Annals of Statistics 26(2), 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayes_svm import BayesSVC, PairwiseCouplingClassifier, RejectOptionClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PairwiseCouplingClassifier(BayesSVC()).fit(X, y)
    >>> model.predict_proba(X[:1]).round(2).tolist()
    [[0.99, 0.01, 0.01]]
    >>> reject = RejectOptionClassifier(model, target_coverage=0.9).fit(X, y)
    >>> reject.fitted_on_
    'left-out'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"]), None],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
    }

    def __init__(self, estimator: Any = None, *, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self._pair_estimator())
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.pairwise = inner.input_tags.pairwise
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Fit a classifier to each pair of classes.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            Training data. For an estimator with a precomputed kernel, the square matrix of kernel values, of
            which each pair is given its part.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row, passed to the estimator's ``fit``.
        **params : dict
            Further arguments of the estimator's ``fit``; with metadata routing enabled, they are routed.

        Returns
        -------
        PairwiseCouplingClassifier
            The fitted classifier itself.

        Raises
        ------
        TypeError
            If the estimator is a class, not an instance.
        ValueError
            For fewer than two classes, for an estimator without ``predict_proba``, if there are sample
            weights and its ``fit`` takes none, and if the estimator refuses a pair, as BayesSVC does if a
            class has one member.
        MemoryError
            If the pairwise probabilities of the training points do not fit.
        """
        check_instance(self._pair_estimator())
        if not hasattr(self._pair_estimator(), "predict_proba"):
            raise ValueError(
                f"{type(self.estimator).__name__} has no predict_proba: coupling needs probabilities. "
                "Use bayes_svm.BayesSVC, or wrap it in sklearn.calibration.CalibratedClassifierCV."
            )
        labels = checked_labels(y)
        X, _ = indexable(X, labels)
        assert_all_finite(labels, input_name="y")
        if not len(labels):
            raise ValueError("X and y are empty: there is nothing to fit.")
        weight = np.ones(num_samples(X)) if sample_weight is None else checked_weights(sample_weight, X)
        self.classes_, numbers = encode_classes(labels, weight)
        if self._pairwise():
            X = validate_data(self, X)
        rows = [
            np.flatnonzero(((numbers == i) | (numbers == j)) & (weight > 0))
            for i, j in combinations(range(len(self.classes_)), 2)
        ]
        self._fit_pairs(X, labels, rows, self._routed(sample_weight, params))
        self.pairwise_indices_ = rows if self._pairwise() else None
        if not self._pairwise():
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)  # what an earlier fit set
                if hasattr(self.estimators_[0], name):
                    setattr(self, name, getattr(self.estimators_[0], name))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class; with class weights, the class with the largest weight times probability.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            Points to predict, as for :meth:`predict_proba`.

        Returns
        -------
        array of shape (n_samples,)
            Predicted labels.
        """
        proba = self.predict_proba(X)
        return np.asarray(self.classes_[decided(proba, self.class_weight_)])

    def predict_proba(self, X: Any) -> Array:
        """Coupled probability of every class.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            Points to predict; for a precomputed kernel, their kernel values with all training points.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.

        Raises
        ------
        MemoryError
            If the probabilities of all pairs do not fit.
        """
        check_is_fitted(self)
        if self.pairwise_indices_ is None:
            parts: Iterable[Any] = [X] * len(self.estimators_)
        else:
            X = validate_data(self, X, reset=False)
            parts = (X[:, columns] for columns in self.pairwise_indices_)
        return self._coupled(
            num_samples(X),
            (model.predict_proba(part) for model, part in zip(self.estimators_, parts, strict=True)),
        )

    def decision_function(self, X: Any) -> Array:
        """Log-odds of each class, with the class weights as prior odds; the largest is predicted.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            Points to predict, as for :meth:`predict_proba`.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            For two classes the log-odds of ``classes_[1]``, otherwise those of each class.
        """
        proba = self.predict_proba(X) * (self.class_weight_ / self.class_weight_.max())
        if len(self.classes_) > 2:
            return np.asarray(logit(proba / proba.sum(axis=1, keepdims=True)))
        # The probabilities of the only classifier are not clipped and may be 0 and 1.
        logs = np.log(np.maximum(proba, np.finfo(float).tiny))
        return np.asarray(logs[:, 1] - logs[:, 0])

    def get_metadata_routing(self) -> MetadataRouter:
        """Routing of the metadata of ``fit``.

        Returns
        -------
        MetadataRouter
            Everything goes to the estimator; the sample weights are also used here.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self._pair_estimator(),
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def _pair_estimator(self) -> Any:
        return BayesSVC() if self.estimator is None else self.estimator

    def _pairwise(self) -> bool:
        return bool(get_tags(self._pair_estimator()).input_tags.pairwise)

    def _routed(self, sample_weight: ArrayLike | None, params: dict[str, Any]) -> dict[str, Any]:
        """Arguments of the estimator's ``fit``, routed if metadata routing is enabled."""
        if not routing_enabled():
            return fit_parameters(self._pair_estimator(), sample_weight, params)
        given = params if sample_weight is None else {"sample_weight": sample_weight, **params}
        return dict(process_routing(self, "fit", **given).estimator.fit)

    def _fit_pairs(self, X: Any, y: NDArray[Any], rows: list[Indices], params: dict[str, Any]) -> None:
        # Few rows would be in the samples of all pairs of their class.
        estimator = leaving_all_out(self._pair_estimator())
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_pair)(estimator, X, y, pair_rows, params) for pair_rows in rows
        )
        # The first pairs are those of the first class with each other class.
        pair_costs = [class_costs(model) for model in self.estimators_[: len(self.classes_) - 1]]
        self.class_weight_ = np.array([1.0, *(second / first for first, second in pair_costs)])
        self.__dict__.pop("left_out_proba_", None)  # from an earlier fit
        if all(left_out_proba(model) is not None for model in self.estimators_):
            pairs = zip(self.estimators_, rows, strict=True)
            left_out = (_left_out(model, X, y, own) for model, own in pairs)
            self.left_out_proba_ = self._coupled(len(y), left_out)

    def _coupled(self, n_samples: int, of_pairs: Iterable[Array]) -> Array:
        """Class probabilities from those of the pairs, each an array of shape (n_samples, 2)."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            [proba] = of_pairs
            return np.asarray(proba, dtype=np.float64)
        n_pairs = n_classes * (n_classes - 1) // 2
        require_bytes(
            8 * n_samples * n_pairs,
            f"Coupling the pairs of {n_classes} classes for {n_samples} points",
            "Ask for fewer points at a time.",
        )
        first = np.empty((n_samples, n_pairs))
        for k, proba in enumerate(of_pairs):
            first[:, k] = proba[:, 0]
        # A row that one of the pairs did not leave out has no left-out probabilities.
        known = np.flatnonzero(~np.isnan(first).any(axis=1))
        proba = np.full((n_samples, n_classes), np.nan)
        proba[known] = couple(first[known], n_classes)
        return proba


def couple(first: Array, n_classes: int) -> Array:
    r"""Class probabilities that fit the pairwise probabilities best.

    .. math:: \begin{pmatrix} Q & e \\ e' & 0 \end{pmatrix} \begin{pmatrix} p \\ b \end{pmatrix} =
              \begin{pmatrix} 0 \\ 1 \end{pmatrix}

    with :math:`Q_{ii} = \sum_{s \ne i} r_{si}^2` and :math:`Q_{ij} = -r_{ji} r_{ij}`. The solution p
    minimises :math:`p' Q p` subject to :math:`\sum_i p_i = 1`, and has no negative entries.

    Parameters
    ----------
    first : array of shape (n_samples, n_classes * (n_classes - 1) / 2)
        Probability of the first class of each pair, pairs in the order (0, 1), (0, 2), ..., (1, 2), ...
        They are clipped to ``[1e-7, 1 - 1e-7]``.
    n_classes : int
        Number of classes.

    Returns
    -------
    array of shape (n_samples, n_classes)
        Probabilities of all classes; rows sum to 1.

    References
    ----------
    Wu, Lin and Weng 2004, the second method.
    """
    proba = np.empty((len(first), n_classes))
    n_rows = max(1, BLOCK_BYTES // (4 * 8 * (n_classes + 1) ** 2))
    for part in gen_batches(len(first), n_rows):
        proba[part] = _couple_block(
            np.clip(first[part], LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY), n_classes
        )
    return proba


def _couple_block(r: Array, n_classes: int) -> Array:
    """Solve all systems at once, scaled by ``1 / sqrt(Q_ii)`` so that no class is lost to rounding."""
    i, j = np.triu_indices(n_classes, 1)
    system = np.zeros((len(r), n_classes + 1, n_classes + 1))
    diagonal = np.zeros((len(r), n_classes))
    for k in range(len(i)):
        diagonal[:, i[k]] += (1.0 - r[:, k]) ** 2
        diagonal[:, j[k]] += r[:, k] ** 2
    scale = 1.0 / np.sqrt(diagonal)
    system[:, i, j] = system[:, j, i] = -r * (1.0 - r) * scale[:, i] * scale[:, j]
    system[:, range(n_classes), range(n_classes)] = 1.0
    border = scale / scale.max(axis=1, keepdims=True)
    system[:, :-1, -1] = system[:, -1, :-1] = border
    right = np.zeros((len(r), n_classes + 1, 1))
    right[:, -1] = 1.0
    proba = np.linalg.solve(system, right)[:, :-1, 0] * border
    return np.asarray(proba / proba.sum(axis=1, keepdims=True))


def _fit_pair(estimator: Any, X: Any, y: NDArray[Any], rows: Indices, params: dict[str, Any]) -> Any:
    with one_blas_thread():
        return fitted_on_rows(estimator, X, y, rows, params)


def _left_out(model: Any, X: Any, y: NDArray[Any], rows: Indices) -> Array:
    """Probabilities of all rows by one pair's classifier; those of its own rows are left-out ones."""
    proba = np.empty((len(y), 2))
    proba[rows] = left_out_proba(model)
    others = np.setdiff1d(np.arange(len(y)), rows)
    if len(others):
        X_others, _ = safe_split(model, X, y, others, rows)
        proba[others] = model.predict_proba(X_others)
    return proba
