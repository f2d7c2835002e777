"""BayesSVCSearch: C and the kernel chosen without folds, or several models mixed."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context, clone
from sklearn.metrics import log_loss
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from bayes_svm._threads import one_blas_thread
from bayes_svm.evidence import log_evidence
from bayes_svm.machine import checked_weights
from bayes_svm.mixture import pooled, stacking_weights
from bayes_svm.similarity import class_similarity
from bayes_svm.svc import BayesSVC
from bayes_svm.xi_alpha import span_estimate, xi_alpha

__all__ = ["BayesSVCSearch"]

Array = NDArray[np.float64]
Parameters = dict[str, Any]

EPSILON = float(np.finfo(float).eps)
STEP = 1.5  # first step of a search without a gradient, in logarithms
CRITERIA = ("loo_log_loss", "loo_error", "evidence", "span", "xi_alpha", "class_similarity")


@dataclass(frozen=True)
class _Trial:
    """One setting: its score, of which more is better, its seconds, and the fitted model if kept."""

    parameters: Parameters
    score: float
    seconds: float
    model: Any
    logs: Array | None  # leave-one-out log-probabilities


class BayesSVCSearch(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Choice of C and the kernel's parameters by a criterion that needs no folds.

    Every setting is fitted once, on all data. Its exact leave-one-out values, its evidence, or
    an estimate say how good it is. ``combine="stack"`` keeps several settings, in the
    geometric mixture

    .. math:: p_w(y | x) \propto \prod_k p_k(y | x)^{w_k}, \qquad
              w = \arg\max_w \sum_i \log p_w(y_i | x_i, D_{-i}) + \frac{1}{K} \sum_k \log w_k,

    which with few data is better than any choice, and than the arithmetic mixture.

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
    criterion : str, default="loo_log_loss"
        * "loo_log_loss": log loss of the leave-one-out probabilities. The link's own parameters have
          seen them: it flatters a flexible link, such as an isotonic regression.
        * "loo_error": the leave-one-out error.
        * "evidence": :func:`bayes_svm.log_evidence`, whose gradient ``param_space`` follows.
        * "span", "xi_alpha": the error by :func:`bayes_svm.span_estimate`,
          :func:`bayes_svm.xi_alpha`.
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
        Its score; more is better: losses and errors are negative.
    best_estimator_ : BayesSVC or Pipeline
        Fitted with the best parameters.
    cv_results_ : dict of arrays
        ``params``, ``param_*``, ``mean_test_score``, ``rank_test_score``, ``mean_fit_time``, as in
        GridSearchCV; one row per setting tried.
    estimators_ : list
        The models that predict: the best one, or those of the mixture.
    weights_ : array of shape (n_estimators,)
        Their weights.
    loo_proba_ : array of shape (n_samples, n_classes)
        Leave-one-out probabilities of the model or the mixture. The choice among the settings has
        seen every row, which makes them a little better than they should be.
    stack_score_ : float
        Mean leave-one-out log-likelihood of the mixture; only for ``combine="stack"``.
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
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] | None = None,
        *,
        param_space: Mapping[str, tuple[float, float]] | None = None,
        criterion: str = "loo_log_loss",
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
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Try the settings, and keep the best model or a mixture.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            Counts of the rows, at least 0.

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
        _last_step(self.estimator)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # of an earlier fit
        if (self.param_grid is None) == (self.param_space is None):
            raise ValueError("Give either param_grid or param_space.")
        if self.param_space is not None and self.combine == "stack":
            raise ValueError("combine='stack' mixes the models of a param_grid: give one, or combine='best'.")
        trials = self._grid_trials(X, y, sample_weight)
        if self.param_space is not None:
            trials = self._space_trials(X, y, sample_weight)
        self._store(trials)
        if self.refit:
            self._keep(trials, X, y, sample_weight)
        return self

    def _grid_trials(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> list[_Trial]:
        if self.param_grid is None:
            return []
        settings = list(ParameterGrid(self.param_grid))
        if not settings:
            raise ValueError("param_grid is empty: give at least one setting.")
        groups = _by_kernel(settings, f"{_prefix(self.estimator)}C")
        trials = [_Trial(setting, -np.inf, 0.0, None, None) for setting in settings]
        if self.prefilter is not None:
            firsts = [settings[group[0]] for group in groups]
            similarity = [
                _class_similarity(self.estimator, setting, X, y, sample_weight) for setting in firsts
            ]
            kept = np.argsort(similarity, kind="stable")[: math.ceil(self.prefilter * len(groups))]
            groups = [groups[k] for k in np.sort(kept)]
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(_same_kernel)(
                self.estimator, [settings[k] for k in group], X, y, sample_weight, self.criterion,
                bool(self.verbose),
            )
            for group in groups
        )  # fmt: skip
        for group, part in zip(groups, parts, strict=True):
            for k, trial in zip(group, part, strict=True):
                trials[k] = trial
        return trials

    def _space_trials(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> list[_Trial]:
        assert self.param_space is not None
        space = _Space(self.estimator, self.param_space)
        trials: list[_Trial] = []

        def loss(point: Array) -> Any:
            """Minus the score, with its gradient where the criterion has one."""
            if len(trials) == self.max_evaluations:
                raise _EnoughError
            parameters = space.parameters(point)
            trial, gradient = _one_trial(self.estimator, parameters, X, y, sample_weight, self.criterion)
            trials.append(trial)
            if self.verbose:
                _say(trial, self.criterion)
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

    def _store(self, trials: list[_Trial]) -> None:
        scores = np.array([trial.score for trial in trials])
        names = sorted({name for trial in trials for name in trial.parameters})
        self.cv_results_ = {
            "params": [trial.parameters for trial in trials],
            "mean_test_score": scores,
            "rank_test_score": rankdata(-scores, method="min").astype(int),
            "mean_fit_time": np.array([trial.seconds for trial in trials]),
            **{f"param_{name}": _column([trial.parameters for trial in trials], name) for name in names},
        }
        self.best_index_ = int(scores.argmax())
        self.best_score_ = float(scores[self.best_index_])
        self.best_params_ = trials[self.best_index_].parameters

    def _keep(self, trials: list[_Trial], X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        best = trials[self.best_index_].model
        if best is None:
            arguments = (X, y, sample_weight, "loo_log_loss", False)
            best = _same_kernel(self.estimator, [self.best_params_], *arguments)[0].model
        self.best_estimator_ = best
        self.estimators_, self.weights_ = [best], np.ones(1)
        self.loo_proba_ = _last_step(best).loo_proba_
        if self.combine == "stack":
            trials = [trial for trial in trials if trial.logs is not None]
            logs = np.stack([trial.logs for trial in trials if trial.logs is not None])
            weight = checked_weights(sample_weight, logs[0])
            used = np.flatnonzero(weight)
            numbers = np.searchsorted(best.classes_, column_or_1d(y)[used])
            weights = stacking_weights(logs[:, used], numbers, weight[used])
            kept = np.flatnonzero(weights)
            self.estimators_ = [trials[k].model for k in kept]
            self.weights_ = weights[kept]
            mixed = pooled(logs, weights)
            self.loo_proba_ = np.exp(mixed)
            self.stack_score_ = float(np.average(mixed[used, numbers], weights=weight[used]))
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
        return np.asarray(logs[0] if len(logs) == 1 else pooled(np.stack(logs), self.weights_))

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
        log_odds = logs - np.log(-np.expm1(np.minimum(logs, -EPSILON)))
        return np.asarray(log_odds[:, 1] if log_odds.shape[1] == 2 else log_odds)

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        probability = self.predict_proba(X)
        return np.asarray(self.classes_[probability.argmax(axis=1)])

    def _require_models(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "estimators_"):
            raise AttributeError("refit=False keeps no model to predict with: set refit=True.")


class _EnoughError(Exception):
    """All evaluations are used up: scipy's own limits are exceeded by a line search."""


class _Space:
    """Continuous parameters on a logarithmic scale."""

    def __init__(self, estimator: Any, bounds: Mapping[str, tuple[float, float]]) -> None:
        if not bounds:
            raise ValueError("param_space is empty: name at least one parameter.")
        own, prefix = estimator.get_params(), _prefix(estimator)
        self.names, self.prefix, self.kernel = list(bounds), prefix, own.get(f"{prefix}kernel")
        self.sizes, start, limits = [], [], []
        for name, pair in bounds.items():
            low, high = _checked_bounds(name, pair)
            if name == f"{prefix}kernel":
                values = self._checked_theta(low, high)
            elif name == f"{prefix}degree":
                raise ValueError("param_space has no room for degree, which is a whole number: use a grid.")
            else:
                value = own.get(name)
                inside = isinstance(value, (int, float)) and low <= value <= high
                values = np.array([value if inside else np.sqrt(low * high)], dtype=float)
            self.sizes.append(len(values))
            start.append(np.log(values))
            limits += [(np.log(low), np.log(high))] * len(values)
        self.start, self.bounds = np.concatenate(start), limits

    def _checked_theta(self, low: float, high: float) -> Array:
        theta = getattr(self.kernel, "theta", np.empty(0))
        if len(theta) == 0:
            raise ValueError(
                f"param_space['{self.prefix}kernel'] needs a kernel of sklearn.gaussian_process with free "
                f"parameters, got {self.kernel!r}."
            )
        return np.clip(np.exp(theta), low, high)

    @property
    def simplex(self) -> Array:
        """The start, and a step from it along every axis, into the larger side of the bounds."""
        corners = [self.start]
        for k, (low, high) in enumerate(self.bounds):
            corner = self.start.copy()
            up, down = high - corner[k], corner[k] - low
            corner[k] += min(STEP, up) if up >= down else -min(STEP, down)
            corners.append(corner)
        return np.array(corners)

    def parameters(self, point: Array) -> Parameters:
        """The estimator's parameters at a point of the space."""
        found: Parameters = {}
        for name, part in zip(self.names, np.split(point, np.cumsum(self.sizes)[:-1]), strict=True):
            is_kernel = name == f"{self.prefix}kernel"
            found[name] = self.kernel.clone_with_theta(part) if is_kernel else float(np.exp(part[0]))
        return found

    def gradient(self, gradient: Mapping[str, Any]) -> Array:
        """Of the evidence, in the order of the space."""
        known = {f"{self.prefix}{'kernel' if key == 'theta' else key}": gradient[key] for key in gradient}
        for name in self.names:
            if name not in known:
                raise ValueError(
                    f"The evidence has no derivative by {name}: use another criterion, or a grid."
                )
        return np.concatenate([np.atleast_1d(known[name]) for name in self.names])


def _checked_bounds(name: str, pair: Any) -> tuple[float, float]:
    """Bounds as two numbers, 0 < low < high."""
    try:
        low, high = (float(bound) for bound in pair)
    except (TypeError, ValueError):
        raise ValueError(f"param_space[{name!r}] = {pair!r} is not a pair of numbers (low, high).") from None
    if not 0.0 < low < high < np.inf:
        raise ValueError(f"param_space[{name!r}] = {(low, high)} needs 0 < low < high < infinity.")
    return low, high


def _last_step(estimator: Any) -> BayesSVC:
    """The BayesSVC that an estimator is or ends in."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(last, BayesSVC):
        raise TypeError(
            f"estimator is a {type(last).__name__}: BayesSVCSearch needs a BayesSVC, or a Pipeline that "
            "ends in one."
        )
    return last


def _prefix(estimator: Any) -> str:
    """What stands before the parameters of the BayesSVC."""
    return f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""


def _with(estimator: Any, setting: Parameters) -> Any:
    """A clone of the estimator with clones of a setting's values."""
    return clone(estimator).set_params(**{name: clone(value, safe=False) for name, value in setting.items()})


def _transformed(whole: Any, X: Any, y: ArrayLike) -> Any:
    """X after the steps before the last."""
    several = isinstance(whole, Pipeline) and len(whole.steps) > 1
    return whole[:-1].fit_transform(X, y) if several else X


def _by_kernel(settings: list[Parameters], name_of_C: str) -> list[list[int]]:
    """Numbers of the settings that differ in C alone, smallest C first."""
    groups: list[tuple[Parameters, list[int]]] = []
    for k, setting in enumerate(settings):
        rest = {name: value for name, value in setting.items() if name != name_of_C}
        for known, group in groups:
            if known.keys() == rest.keys() and all(_equal(known[name], rest[name]) for name in rest):
                group.append(k)
                break
        else:
            groups.append((rest, [k]))
    return [sorted(group, key=lambda k: settings[k].get(name_of_C, 0.0)) for _, group in groups]


def _equal(one: Any, other: Any) -> bool:
    """Whether two values of a grid are surely the same: the same object, or equal numbers or texts."""
    plain = (str, int, float, bool)
    return one is other or (type(one) is type(other) and isinstance(one, plain) and one == other)


def _same_kernel(
    estimator: Any,
    settings: list[Parameters],
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    criterion: str,
    verbose: bool,
) -> list[_Trial]:
    """Trials that share the kernel matrix; each solution is where the next one starts."""
    trials: list[_Trial] = []
    machine, starts, before = None, None, None
    for setting in settings:
        started = time.perf_counter()
        whole = _with(estimator, setting)
        model = _last_step(whole)
        model._validate_params()
        if isinstance(whole, Pipeline) and len(whole.steps) > 1:
            if before is None:
                before = whole[:-1]
                X = before.fit_transform(X, y)
            whole.steps[:-1] = before.steps
        with one_blas_thread():
            machine = model._machine(X, y, sample_weight, like=machine)
            model._fit(machine, starts)
            solutions = model.solution_ if isinstance(model.solution_, list) else [model.solution_]
            # Where there is no optimum, what is found depends on where the solver starts.
            starts = [solution.beta for solution in solutions] if machine.convex else None
            if criterion == "loo_log_loss":
                used, labels = machine.weight > 0, range(len(model.classes_))
                score = -log_loss(
                    machine.y[used], model.loo_proba_[used], sample_weight=machine.weight[used], labels=labels
                )
            else:
                score = _score(model, X, y, sample_weight, criterion)
        with np.errstate(divide="ignore"):
            logs = np.log(model.loo_proba_)
        trials.append(_Trial(setting, score, time.perf_counter() - started, whole, logs))
        if verbose:
            _say(trials[-1], criterion)
    return trials


def _class_similarity(
    estimator: Any, setting: Parameters, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> float:
    """Of one setting, nothing but the steps before the BayesSVC being fitted."""
    whole = _with(estimator, setting)
    return _similarity_of(_last_step(whole), _transformed(whole, X, y), y, sample_weight)


def _similarity_of(model: BayesSVC, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> float:
    names = ("kernel", "degree", "gamma", "coef0")
    parameters = {name: getattr(model, name) for name in names}
    return class_similarity(X, y, **parameters, sample_weight=sample_weight).value


def _score(model: BayesSVC, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, criterion: str) -> float:
    """Of a fitted model, more being better."""
    if criterion == "loo_error":
        return -model.leave_one_out_.error
    if criterion == "evidence":
        return log_evidence(model, X, y, sample_weight=sample_weight).value
    if criterion == "class_similarity":
        return -_similarity_of(model, X, y, sample_weight)
    estimate = span_estimate if criterion == "span" else xi_alpha
    return -estimate(model, X, y, sample_weight=sample_weight).error


def _one_trial(
    estimator: Any, setting: Parameters, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, criterion: str
) -> tuple[_Trial, Mapping[str, Any] | None]:
    """One setting, and the gradient of its score by logarithms where the criterion has one."""
    if criterion != "evidence":
        [trial] = _same_kernel(estimator, [setting], X, y, sample_weight, criterion, verbose=False)
        return trial, None
    started = time.perf_counter()
    whole = _with(estimator, setting)
    model = _last_step(whole)
    found = log_evidence(model, _transformed(whole, X, y), y, sample_weight=sample_weight)
    gradient = dict(found.gradient)
    if "coef0" in gradient:
        gradient["coef0"] *= model.coef0
    return _Trial(setting, found.value, time.perf_counter() - started, None, None), gradient


def _column(settings: list[Parameters], name: str) -> np.ma.MaskedArray[Any, Any]:
    """One parameter of all settings, masked where a setting has it not."""
    values = np.ma.masked_all(len(settings), dtype=object)
    for k, setting in enumerate(settings):
        if name in setting:
            values[k] = setting[name]
    return values


def _say(trial: _Trial, criterion: str) -> None:
    setting = ", ".join(f"{name}={value}" for name, value in trial.parameters.items())
    print(
        f"[BayesSVCSearch] {setting}: {criterion} {abs(trial.score):.6g}, {trial.seconds:.2f} s",
        file=sys.stderr,
        flush=True,
    )
