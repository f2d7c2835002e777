"""BayesSVCSearch: C and the kernel chosen without folds, or several models mixed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context
from sklearn.model_selection import ParameterGrid
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from bayes_svm.probability.several import normalised_log_odds
from bayes_svm.selection.mixture import log_shares, pooled, stacking_weights
from bayes_svm.selection.parameter_space import Space
from bayes_svm.selection.trials import (
    LEAST,
    Data,
    Trial,
    by_kernel,
    class_similarity_of,
    last_step,
    prefix_of,
    say,
    try_one,
    try_same_kernel,
)
from bayes_svm.utils.checks import checked_weights
from bayes_svm.utils.metaestimators import check_instance, decided
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array

__all__ = ["BayesSVCSearch"]

Parameters = dict[str, Any]

TIE = 1e-9  # share of a score by which equal ones may differ
CRITERIA = ("left_out_log_loss", "left_out_error", "evidence", "span", "xi_alpha", "class_similarity")


class BayesSVCSearch(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Choice of C and the kernel's parameters by a criterion that needs no folds.

    Every setting is fitted once, on all data. Its exact left-out values, its evidence, or
    an estimate say how good it is. ``combine="stack"`` keeps several settings, in the
    geometric mixture

    .. math:: p_w(y | x) \propto \pi_y^{1 - \sum_k w_k} \prod_k p_k(y | x)^{w_k}

    with the classes' shares :math:`\pi` and weights of most left-out likelihood
    (:func:`bayes_svm.selection.mixture.stacking_weights`), which with few data is better than any choice, and
    than the arithmetic mixture.

    What is told of the choice accounts for it: the choice, or the weights, and the links are made anew
    without each third of the strata, and the rows of this third are told by them. That so few rows
    choose makes up for what cannot be left out: the machines of the other rows have been trained on this
    third.

    Parameters
    ----------
    estimator : BayesSVC, or a Pipeline that ends in one
    param_grid : dict or list of dict, optional
        Values to try, as in :class:`sklearn.model_selection.GridSearchCV`.
    param_space : dict, optional
        Instead of a grid: ``(low, high)`` of positive parameters, searched on a logarithmic scale.
        For the parameter ``kernel`` they are bounds of all parameters of a kernel of
        :mod:`sklearn.gaussian_process`, such as an ``RBF`` with a length scale per feature. The
        search starts from the estimator's own values where they are numbers within the bounds,
        else from the middle.
    criterion : str, default="left_out_log_loss"
        * "left_out_log_loss": log loss of the left-out probabilities, of ``leave_out="strata"`` the mean
          of that and of the one with five strata, if there are more. The link's own parameters have
          seen them: it flatters a flexible link, such as an isotonic regression.
        * "left_out_error": the share of rows that ``predict`` gets wrong when they are left out.
        * "evidence": :func:`bayes_svm.log_evidence`, whose gradient ``param_space`` follows.
        * "span", "xi_alpha": the error by :func:`bayes_svm.span_estimate`,
          :func:`bayes_svm.leave_one_out.estimates`.
        * "class_similarity": :func:`bayes_svm.class_similarity`, which knows nothing of C: the
          first C of a grid is taken.
    prefilter : float in (0, 1], optional
        Share of a grid's kernels that class similarity, which needs no training, leaves to the
        criterion; at least one. The others get the score -infinity.
    combine : {"best", "stack"}, default="best"
        Keep the best model, or the mixture of those of a grid.
    refit : bool, default=True
        Keep fitted models, to predict with. They are the ones already fitted, on all data.
    max_evaluations : int, default=60
        Settings that a search of ``param_space`` may try.
    n_jobs : int, default=None
        Jobs of joblib over the kernels of a grid. The result does not depend on it.
    verbose : int, default=0
        1 prints every setting and its score to stderr.

    Attributes
    ----------
    best_params_ : dict
    best_index_ : int
        Its row in ``cv_results_``.
    best_score_ : float
        Its score; more is better: losses and errors are negative. It was chosen for it, and is too good.
    best_estimator_ : BayesSVC or Pipeline
        Fitted with the best parameters.
    cv_results_ : dict of arrays
        ``params``, ``param_*``, ``mean_test_score``, ``rank_test_score``, ``mean_fit_time``, as in
        GridSearchCV; one row per setting tried.
    estimators_ : list
        The models that predict: the best one, or those of the mixture.
    weights_ : array of shape (n_estimators,)
        Their weights; those of a mixture need not sum to 1.
    base_ : array of shape (n_classes,)
        Logarithms of the classes' shares.
    left_out_proba_ : array of shape (n_samples, n_classes)
        Left-out probabilities of the model or the mixture. Of each row they are those of the setting, or
        the mixture, chosen without its third of the strata, by links fitted without this third too; with a
        criterion that is no mean over the rows ("evidence", "span", "xi_alpha", "class_similarity") those
        of the best, by such links. A class with fewer than five members is too small for that: its links
        have seen it whole.
    left_out_log_loss_, left_out_error_ : float
        Mean log loss, and share of wrong predictions, of these probabilities.
    class_weight_ : array of shape (n_classes,)
        Costs of the classes, by which ``predict`` weighs the probabilities; of a mixture their geometric
        mean.
    classes_ : array of shape (n_classes,)
    n_features_in_ : int

    See Also
    --------
    sklearn.model_selection.GridSearchCV : The same with folds.

    References
    ----------
    Yao, Vehtari, Simpson and Gelman, "Using stacking to average Bayesian predictive
    distributions", Bayesian Analysis 13(3), 2018, whose mixture is arithmetic.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bayes_svm import BayesSVC, BayesSVCSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), BayesSVC())
    >>> search = BayesSVCSearch(model, {"bayessvc__C": [0.1, 1.0, 10.0]}).fit(X, y)
    >>> search.best_params_
    {'bayessvc__C': 1.0}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "set_params"])],
        "param_grid": [dict, list, None],
        "param_space": [dict, None],
        "criterion": [StrOptions(set(CRITERIA))],
        "prefilter": [Interval(Real, 0.0, 1.0, closed="right"), None],
        "combine": [StrOptions({"best", "stack"})],
        "refit": ["boolean"],
        "max_evaluations": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] | None = None,
        *,
        param_space: Mapping[str, tuple[float, float]] | None = None,
        criterion: str = "left_out_log_loss",
        prefilter: float | None = None,
        combine: str = "best",
        refit: bool = True,
        max_evaluations: int = 60,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.param_space = param_space
        self.criterion = criterion
        self.prefilter = prefilter
        self.combine = combine
        self.refit = refit
        self.max_evaluations = max_evaluations
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.pairwise = inner.input_tags.pairwise
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Try the settings, and keep the best model or a mixture.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            Counts of the rows, at least 0.
        groups : array of shape (n_samples,), optional
            Labels of groups that are left out whole, as in :meth:`BayesSVC.fit`.

        Returns
        -------
        BayesSVCSearch

        Raises
        ------
        TypeError
            If the estimator is neither a BayesSVC nor a Pipeline that ends in one.
        ValueError
            Unless exactly one of ``param_grid`` and ``param_space`` is given; for bounds that are none.
        """
        check_instance(self.estimator)
        last_step(self.estimator)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # of an earlier fit
        if (self.param_grid is None) == (self.param_space is None):
            raise ValueError("Give either param_grid or param_space.")
        if self.param_space is not None and self.combine == "stack":
            raise ValueError("combine='stack' mixes the models of a param_grid: give one, or combine='best'.")
        data = Data(X, y, sample_weight, groups)
        trials = self._grid_trials(data)
        if self.param_space is not None:
            trials = self._space_trials(data)
        self._store(trials)
        if self.refit:
            self._keep(trials, data)
        return self

    def _grid_trials(self, data: Data) -> list[Trial]:
        if self.param_grid is None:
            return []
        settings = list(ParameterGrid(self.param_grid))
        if not settings:
            raise ValueError("param_grid is empty: give at least one setting.")
        groups = by_kernel(settings, f"{prefix_of(self.estimator)}C")
        trials = [Trial(setting, -np.inf, 0.0, None) for setting in settings]
        if self.prefilter is not None:
            firsts = [settings[group[0]] for group in groups]
            similarity = [class_similarity_of(self.estimator, setting, data) for setting in firsts]
            kept = np.argsort(similarity, kind="stable")[: math.ceil(self.prefilter * len(groups))]
            groups = [groups[k] for k in np.sort(kept)]
        with one_blas_thread():  # of this thread, too: of several, the first to leave would lift the limit
            parts = Parallel(n_jobs=self.n_jobs)(
                delayed(try_same_kernel)(
                    self.estimator, [settings[k] for k in group], data, self.criterion, bool(self.verbose)
                )
                for group in groups
            )
        for group, part in zip(groups, parts, strict=True):
            for k, trial in zip(group, part, strict=True):
                trials[k] = trial
        return trials

    def _space_trials(self, data: Data) -> list[Trial]:
        assert self.param_space is not None
        space = Space(self.estimator, self.param_space)
        trials: list[Trial] = []

        def loss(point: Array) -> Any:
            """Minus the score, with its gradient where the criterion has one."""
            if len(trials) == self.max_evaluations:
                raise _EnoughError
            parameters = space.parameters(point)
            trial, gradient = try_one(self.estimator, parameters, data, self.criterion)
            trials.append(trial)
            if self.verbose:
                say(trial, self.criterion)
            return -trial.score if gradient is None else (-trial.score, -space.gradient(gradient))

        climbs = self.criterion == "evidence"
        with suppress(_EnoughError):
            minimize(
                loss,
                space.start,
                jac=climbs,
                bounds=space.bounds,
                method="L-BFGS-B" if climbs else "Nelder-Mead",
                options={} if climbs else {"initial_simplex": space.simplex, "xatol": 0.05, "fatol": 1e-5},
            )
        return trials

    def _store(self, trials: list[Trial]) -> None:
        scores = np.array([trial.score for trial in trials])
        names = sorted({name for trial in trials for name in trial.parameters})
        self.cv_results_ = {
            "params": [trial.parameters for trial in trials],
            "mean_test_score": scores,
            "rank_test_score": rankdata(-scores, method="min").astype(int),
            "mean_fit_time": np.array([trial.seconds for trial in trials]),
            **{f"param_{name}": _column([trial.parameters for trial in trials], name) for name in names},
        }
        self.best_index_ = first_best(scores)
        self.best_score_ = float(scores[self.best_index_])
        self.best_params_ = trials[self.best_index_].parameters

    def _keep(self, trials: list[Trial], data: Data) -> None:
        chosen = trials[self.best_index_]
        if chosen.model is None:
            settings = [self.best_params_]
            [chosen] = try_same_kernel(self.estimator, settings, data, "left_out_log_loss", False)
        self.best_estimator_ = best = chosen.model
        n_classes = len(best.classes_)
        weight = checked_weights(data.sample_weight, np.zeros((len(last_step(best).left_out_proba_), 1)))
        numbers = np.minimum(np.searchsorted(best.classes_, column_or_1d(data.y)), n_classes - 1)
        self.base_ = log_shares(numbers, weight, n_classes)
        self.estimators_, self.weights_ = [best], np.ones(1)
        fitted = [trial for trial in trials if trial.logs is not None]
        wrong = None
        if self.combine == "stack":
            told, weights = _stacked(fitted, numbers, weight, self.base_, chosen)
            kept = np.flatnonzero(weights)
            self.estimators_ = [fitted[k].model for k in kept]
            self.weights_ = weights[kept]
        elif trials[self.best_index_].losses is not None:
            told, wrong = _chosen(fitted, numbers, weight, chosen)
        else:
            told = _crossed_proba(chosen)
        costs = np.array([last_step(model).class_weight_ for model in self.estimators_])
        pooled_costs = np.exp(self.weights_ @ np.log(costs) / self.weights_.sum())
        self.class_weight_ = costs[0] if len(costs) == 1 else pooled_costs
        self.left_out_proba_ = told
        own = np.clip(told[np.arange(len(numbers)), numbers], LEAST, 1.0)
        self.left_out_log_loss_ = -float(np.average(np.log(own), weights=weight))
        if wrong is None:
            wrong = decided(told, self.class_weight_) != numbers
        self.left_out_error_ = float(np.average(wrong, weights=weight))
        self.classes_ = best.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(best, name):  # a pipeline that begins with "passthrough" has them not
                setattr(self, name, getattr(best, name))

    def predict_proba(self, X: Any) -> Array:
        """Probability of every class, by the best model or the mixture.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of :meth:`predict_proba`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        self._require_models()
        logs = [model.predict_log_proba(X) for model in self.estimators_]
        return np.asarray(logs[0] if len(logs) == 1 else pooled(np.stack(logs), self.weights_, self.base_))

    def decision_function(self, X: Any) -> Array:
        """Decision values of the best model; of a mixture the log-odds of its probabilities.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        self._require_models()
        if len(self.estimators_) == 1:
            return np.asarray(self.estimators_[0].decision_function(X))
        logs = self.predict_log_proba(X)
        if logs.shape[1] == 2:
            return np.asarray(logs[:, 1] - logs[:, 0])
        return normalised_log_odds(logs + np.log(self.class_weight_))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class; with class weights, that of the largest class weight times probability.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        proba = self.predict_proba(X)
        return np.asarray(self.classes_[decided(proba, self.class_weight_)])

    def _require_models(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "estimators_"):
            raise AttributeError("refit=False keeps no model to predict with: set refit=True.")


def first_best(scores: Array) -> int:
    """Number of the first score that is the best but for rounding."""
    best = float(scores.max())
    return int(np.flatnonzero(scores >= best - TIE * abs(best))[0])


def _chosen(
    trials: list[Trial], numbers: NDArray[np.intp], weight: Array, best: Trial
) -> tuple[Array, Array]:
    """What the settings that are the best without each fold say of its rows: probabilities, and errors."""
    assert best.left_out is not None
    assert best.logs is not None
    losses = np.array([trial.losses for trial in trials])
    shares = best.left_out.row_shares()
    first = [first_best(-losses @ (weight * (1.0 - own))) for own in shares.T]
    probas = {k: _crossed_proba(trials[k]) for k in set(first)}
    told = np.where(shares.sum(axis=1, keepdims=True) > 0.0, 0.0, np.exp(best.logs))
    wrong = np.zeros(len(numbers))
    for k, own in zip(first, shares.T, strict=True):
        told += own[:, None] * probas[k]
        wrong += own * (decided(probas[k], last_step(trials[k].model).class_weight_) != numbers)
    return told, wrong


def _stacked(
    trials: list[Trial], numbers: NDArray[np.intp], weight: Array, base: Array, best: Trial
) -> tuple[Array, Array]:
    """Left-out probabilities of the mixtures fitted without each fold, and the weights of the whole one."""
    assert best.left_out is not None
    logs, used = np.stack([trial.logs for trial in trials if trial.logs is not None]), weight > 0.0
    shares = best.left_out.row_shares()
    weights, *without = [
        stacking_weights(logs[:, used], numbers[used], kept[used], base)
        for kept in (weight, *(weight * (1.0 - shares.T)))
    ]
    told = np.where(shares.sum(axis=1, keepdims=True) > 0.0, 0.0, np.exp(pooled(logs, weights, base)))
    for k in np.flatnonzero(np.any(without, axis=0)):
        with np.errstate(divide="ignore"):
            logs[k] = np.log(_crossed_proba(trials[k]))
    for of_models, own in zip(without, shares.T, strict=True):
        told += own[:, None] * np.exp(pooled(logs, of_models, base))
    return told, weights


def _crossed_proba(trial: Trial) -> Array:
    assert trial.left_out is not None
    return trial.left_out.crossed_proba(last_step(trial.model))


class _EnoughError(Exception):
    """All evaluations are used up: scipy's own limits are exceeded by a line search."""


def _column(settings: list[Parameters], name: str) -> np.ma.MaskedArray[Any, Any]:
    """One parameter of all settings, masked where a setting has it not."""
    values = np.ma.masked_all(len(settings), dtype=object)
    for k, setting in enumerate(settings):
        if name in setting:
            values[k] = setting[name]
    return values
