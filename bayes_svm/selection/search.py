"""BayesSVCSearch: choose C and the kernel without folds, or mix several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.model_selection import ParameterGrid
from sklearn.utils import column_or_1d, get_tags

from bayes_svm.conformal.venn_abers import predictors
from bayes_svm.selection.criteria import CRITERIA, LEAST
from bayes_svm.selection.mixture import log_shares
from bayes_svm.selection.parameter_space import Space
from bayes_svm.selection.predictions import SearchPredictions, class_proba
from bayes_svm.selection.same_kernel import try_same_kernel
from bayes_svm.selection.sweep import over_grid, over_space
from bayes_svm.selection.told import crossed_proba, first_best, told_of_choice, told_of_mixture
from bayes_svm.selection.trials import Data, Parameters, Trial, check_requests, last_step
from bayes_svm.utils.checks import checked_weights
from bayes_svm.utils.metaestimators import check_instance, decided
from bayes_svm.utils.progress import shown
from bayes_svm.utils.scikit_learn import HasMethods, Interval, LinkedToItsPage, StrOptions, fit_context
from bayes_svm.utils.warn import warn

__all__ = ["BayesSVCSearch"]

NOTHING_LEARNT = (
    "No setting tells the classes apart: the left-out log loss, {told:.3f}, is no less than that of the "
    "shares of the classes, {shares:.3f}. Check the features' scale, and the values of C and of the kernel's "
    "parameters."
)


class BayesSVCSearch(SearchPredictions, LinkedToItsPage, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Choice of C and the kernel's parameters by a criterion that needs no folds.

    Every setting is fitted once, on all data, and scored by its exact left-out values, its evidence,
    or an estimate. ``combine="stack"`` keeps several settings, in the geometric mixture

    .. math:: p_w(y | x) \propto \pi_y^{1 - \sum_k w_k} \prod_k p_k(y | x)^{w_k}

    with the classes' shares :math:`\pi` and the weights of largest left-out likelihood
    (``bayes_svm.selection.mixture.stacking_weights``). With few data it is better, in the mean over data
    sets, than the setting that any criterion chooses, and than the arithmetic mixture.

    ``left_out_proba_``, ``left_out_log_loss_`` and ``left_out_error_`` account for the choice. The strata are
    divided into thirds. For each third, the setting or the weights are chosen and the links are fitted
    without it, and its rows are judged by that choice. The machines of the other rows have been trained on
    the third, which flatters the choice; it is made on fewer rows, which makes up for that. With groups of
    which only two hold a class, halves take the place of thirds.

    Parameters
    ----------
    estimator : BayesSVC, or a Pipeline that ends in one
        The estimator whose parameters are chosen. It is cloned, never fitted itself. All rows are left out,
        whatever its ``leave_out_size``.
    param_grid : dict or list of dict, optional
        Values to try, as in :class:`sklearn.model_selection.GridSearchCV`.
    param_space : dict, optional
        Instead of a grid, bounds ``(low, high)`` of positive parameters, searched on a logarithmic
        scale. For the parameter ``kernel`` they are bounds of all parameters of a kernel of
        :mod:`sklearn.gaussian_process`, such as an ``RBF`` with a length scale per feature. The
        search starts at the estimator's own values if they are numbers within the bounds,
        and otherwise in the middle; parameters of a kernel beyond a bound start at the bound.
    criterion : str, default="left_out_log_loss"
        * "left_out_log_loss": log loss of the left-out probabilities. With ``leave_out="strata"`` it is
          the mean of that and of the log loss with five strata, if there are more than five. The
          parameters of the link have been fitted to these rows, so it flatters a flexible link such as
          an isotonic regression.
        * "left_out_error": share of the rows that ``predict`` gets wrong when they are left out, by the link
          fitted to all rows; of several classes, by the joint link fitted to the other folds.
        * "evidence": :func:`bayes_svm.log_evidence`, whose gradient a search of ``param_space`` follows.
        * "span": the error by :func:`bayes_svm.span_estimate`.
        * "xi_alpha": the error by :func:`bayes_svm.xi_alpha`.
        * "class_similarity": :func:`bayes_svm.class_similarity`, which does not depend on C, so the
          first C of a grid is taken.
    prefilter : float in (0, 1], optional
        Share of a grid's kernels that are tried, at least one: those of best class similarity, which
        needs no training. The others get the score -infinity.
    combine : {"best", "stack"}, default="best"
        Keep the best model, or a mixture of the models of a grid.
    refit : bool, default=True
        Whether fitted models are kept to predict with. They are those already fitted, on all data. If False,
        only ``best_params_``, ``best_index_``, ``best_score_`` and ``cv_results_`` are set, and predicting
        raises an AttributeError.
    max_evaluations : int, default=60
        Largest number of settings that a search of ``param_space`` tries.
    n_jobs : int, default=None
        Number of jobs of joblib over the kernels of a grid; of a grid that has one kernel, number of threads
        over the values of C. The result does not depend on it. Where several values of C
        are tried with at most 100 features, a job keeps the kernel values of up to 12,000 different rows,
        8 bytes each, if they take at most a quarter of the free memory.
    verbose : int, default=0
        1 prints every setting and its score to stderr, and shows the progress after two seconds.

    Attributes
    ----------
    best_params_ : dict
        The best setting.
    best_index_ : int
        Its row in ``cv_results_``.
    best_score_ : float
        Its score; more is better, so losses and errors are negative. The setting was chosen for this score,
        so the score is too good. With groups it is more so: one link is fitted to all of them.
    best_estimator_ : BayesSVC or Pipeline
        The model fitted with the best setting.
    cv_results_ : dict of arrays
        ``params``, ``param_*``, ``mean_test_score``, ``rank_test_score`` and ``mean_fit_time``, as in
        GridSearchCV; one row per setting tried.
    estimators_ : list
        The models that predict: the best one, or those of the mixture.
    weights_ : array of shape (n_estimators,)
        Their weights; those of a mixture need not sum to 1.
    base_ : array of shape (n_classes,)
        Logarithms of the classes' shares :math:`\pi`.
    left_out_proba_ : array of shape (n_samples, n_classes)
        Left-out probabilities of each row, by the setting or the mixture chosen without the row's third
        (or half) of the strata, and by links fitted without it. If the criterion is not a mean over the rows
        ("evidence", "span", "xi_alpha", "class_similarity"), the setting is always the best one. Where a
        class would keep fewer than three members without a third, the links of that third, of all classes,
        are those fitted to all rows.
    left_out_log_loss_ : float
        Mean log loss of ``left_out_proba_``.
    left_out_error_ : float
        Share of the rows that are predicted wrongly from ``left_out_proba_``. If the grid holds class weights
        and one setting is chosen, each row is predicted by those of the setting chosen without its third.
    class_weight_ : array of shape (n_classes,)
        Costs of the classes, by which ``predict`` weights the probabilities; for a mixture the geometric
        mean of the models' costs.
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (`n_features_in_`,)
        Names of the features, if the best model has them.

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

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Try the settings, and keep the best model or a mixture.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            How often each row counts, at least 0.
        groups : array of shape (n_samples,), optional
            Labels of groups that are left out whole, as in :meth:`BayesSVC.fit`.

        Returns
        -------
        BayesSVCSearch
            The search itself, fitted.

        Raises
        ------
        TypeError
            If the estimator is neither a BayesSVC nor a Pipeline that ends in one.
        ValueError
            If not exactly one of ``param_grid`` and ``param_space`` is given, or if it is empty, or its
            bounds are not valid. If ``prefilter`` or ``combine="stack"``, which need a grid, comes with
            ``param_space``.

        Warns
        -----
        UserWarning
            If the left-out log loss is no less than that of the classes' shares.
        """
        check_instance(self.estimator)
        last_step(self.estimator)
        # Attributes of an earlier fit that this one does not set would otherwise remain.
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        if (self.param_grid is None) == (self.param_space is None):
            raise ValueError(
                "Give exactly one of param_grid and param_space: say, param_grid={'C': [0.1, 1, 10]}; the "
                "parameters of a pipeline's last step have its name before them, as in 'bayessvc__C'."
            )
        if self.param_space is not None and self.combine == "stack":
            raise ValueError(
                "combine='stack' mixes the models of a grid: give param_grid, or combine='best'."
            )
        if self.param_space is not None and self.prefilter is not None:
            raise ValueError(
                f"prefilter={self.prefilter!r} drops kernels of a grid: give param_grid, or prefilter=None."
            )
        data = Data(X, y, sample_weight, groups)
        check_requests(last_step(self.estimator), data)
        with shown(self.verbose > 0):
            trials = self._trials(data)
            self._store(trials)
            if self.refit:
                self._keep(trials, data)
        return self

    def _trials(self, data: Data) -> list[Trial]:
        """The settings tried."""
        if self.param_space is not None:
            space = Space(self.estimator, self.param_space)
            how = self.criterion, self.max_evaluations, self.verbose
            return over_space(self.estimator, space, data, *how)
        settings = list(ParameterGrid(self.param_grid))
        if not settings:
            raise ValueError("param_grid is empty: give at least one setting.")
        options = self.criterion, self.prefilter, self.n_jobs, self.verbose
        return over_grid(self.estimator, settings, data, *options)

    def _store(self, trials: list[Trial]) -> None:
        """Set ``cv_results_`` and the ``best_`` attributes."""
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
        """Set the attributes that need fitted models."""
        chosen = trials[self.best_index_]
        if chosen.model is None:
            settings = [self.best_params_]
            [chosen] = try_same_kernel(self.estimator, settings, data, "left_out_log_loss", False)
        self.best_estimator_ = best = chosen.model
        n_classes = len(best.classes_)
        weight = checked_weights(data.sample_weight, np.zeros((len(last_step(best).left_out_proba_), 1)))
        # A row of weight 0 may have a label that is no class: any number does for it.
        numbers = np.minimum(np.searchsorted(best.classes_, column_or_1d(data.y)), n_classes - 1)
        self.base_ = log_shares(numbers, weight, n_classes)
        self.weights_, used = np.ones(1), [chosen]
        fitted = [trial for trial in trials if trial.logs is not None]
        wrong = None
        if self.combine == "stack":
            told, weights = told_of_mixture(fitted, numbers, weight, self.base_, chosen)
            kept = np.flatnonzero(weights)
            self.weights_, used = weights[kept], [fitted[k] for k in kept]
        elif trials[self.best_index_].losses is not None:
            told, wrong = told_of_choice(fitted, numbers, weight, chosen)
        else:
            told = crossed_proba(chosen)
        self.estimators_ = [trial.model for trial in used]
        self._venn_abers = predictors(class_proba(self._left_out_logs()), numbers, weight)
        for trial in {id(one): one for one in (chosen, *used)}.values():
            assert trial.left_out is not None
            last_step(trial.model)._tell_across(trial.left_out.leaving, trial.left_out.data)
        costs = np.array([last_step(model).class_weight_ for model in self.estimators_])
        pooled_costs = np.exp(self.weights_ @ np.log(costs) / self.weights_.sum())
        self.class_weight_ = costs[0] if len(costs) == 1 else pooled_costs
        self.left_out_proba_ = told
        own = np.clip(told[np.arange(len(numbers)), numbers], LEAST, 1.0)
        self.left_out_log_loss_ = -float(np.average(np.log(own), weights=weight))
        of_shares = -float(np.exp(self.base_) @ self.base_)
        if self.left_out_log_loss_ >= of_shares:
            warn(NOTHING_LEARNT.format(told=self.left_out_log_loss_, shares=of_shares))
        if wrong is None:
            wrong = decided(told, self.class_weight_) != numbers
        self.left_out_error_ = float(np.average(wrong, weights=weight))
        self.classes_ = best.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            # A pipeline that begins with "passthrough" does not have them.
            if hasattr(best, name):
                setattr(self, name, getattr(best, name))


def _column(settings: list[Parameters], name: str) -> np.ma.MaskedArray[Any, Any]:
    """One parameter of all settings, masked for the settings that do not have it."""
    values = np.ma.masked_all(len(settings), dtype=object)
    for k, setting in enumerate(settings):
        if name in setting:
            values[k] = setting[name]
    return values
