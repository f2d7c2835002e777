"""BayesSVC: a support vector classifier whose one fit gives probabilities and leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from bayes_svm._threads import one_blas_thread
from bayes_svm.kernels import KERNEL_NAMES, Kernel, resolve_gamma
from bayes_svm.leave_one_out import read_machine, warn_if_inexact
from bayes_svm.leave_one_out.readings import Wanted
from bayes_svm.links import LINK_NAMES, Uncertainty, class_log_odds, fit_links, log_probabilities
from bayes_svm.machine import (
    Machine,
    check_members,
    checked_square,
    checked_weights,
    encode_classes,
    row_bounds,
    with_narrow_indices,
)
from bayes_svm.posterior import Posterior, left_out_variance, posterior_of
from bayes_svm.solution import DualSolution, solve

__all__ = ["BayesSVC"]

Array = NDArray[np.float64]

SKETCH = 256  # active points that a moderated link's posterior keeps: it needs orders of magnitude


class BayesSVC(ClassifierMixin, BaseEstimator):
    r"""Support vector classifier with calibrated probabilities from a single fit.

    .. math:: \min_{w, b, \xi} \; \tfrac{1}{2} |w|^2 + \sum_i C_i \xi_i, \qquad
              y_i (w' \phi(x_i) + b) \ge 1 - \xi_i, \quad \xi_i \ge 0

    The solution is exact, not to a tolerance, and so are the leave-one-out decision values
    ``f^{(-i)}(x_i)`` read off it. They are what the link from decision values to
    probabilities is fitted on: no folds, no held-out data, nothing random. More than two
    classes are taken one against the rest, each with a link of its own, and the probabilities
    normalised. The names of :class:`sklearn.svm.SVC` are kept.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the slack; ``C_i = C * sample_weight_i * class_weight``.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two arrays of points and returns the matrix of kernel values.
        Kernels that are not positive semi-definite ("sigmoid" often is not) are solved to a
        stationary point, with a warning.
    degree : float, default=3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid". "scale" is
        ``1 / (n_features * variance of X)``, rows counted with their weights.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    shrinking : bool, default=True
        No effect; kept from SVC.
    probability : bool, default=True
        No effect; kept from SVC. Probabilities are always available.
    tol : float, default=1e-3
        Violation of optimality at which the first solver hands over to the polish, which
        makes the solution exact.
    cache_size : float, default=200
        No effect; kept from SVC. The kernel matrix is held in memory.
    class_weight : dict or "balanced", default=None
        Factor of C for each class. "balanced" is inversely proportional to class weight.
    verbose : bool, default=False
        Print what the fit did.
    max_iter : int, default=-1
        Limit on the solver's steps; -1 for none. A fit that reaches it warns.
    decision_function_shape : {"ovr"}, default="ovr"
        Kept from SVC: decision values are one-versus-rest.
    break_ties : bool, default=False
        No effect; kept from SVC. The most probable class is predicted.
    random_state : int, RandomState instance or None, default=None
        No effect; kept from SVC. Nothing is random.
    link : str or estimator, default="moderated"
        How decision values become probabilities.

        * "moderated": Platt's sigmoid fitted to the exact leave-one-out decision values; its
          log-odds shrink to 0 where the data say less about the decision value than about any
          of themselves. With a precomputed kernel, which holds no ``k(x, x)`` of new points, and
          with kernels that are not positive semi-definite it is the sigmoid alone.
        * "sigmoid": the same without the shrinking.
        * "kwok": Kwok's moderated output, the hinge likelihood averaged over the posterior of
          the decision value. Nothing is fitted; on real data it is underconfident.
        * "hinge": the same without the averaging; "clipped": ``(1 + f) / 2`` for f clipped to
          [-1, 1]; "dumais": a sigmoid of least regularised squares. For comparison.
        * A scikit-learn classifier or regressor of one feature, such as
          ``IsotonicRegression(out_of_bounds="clip")``, fitted to the leave-one-out decision values.
    smoothing : float, default=0.25
        Of the sigmoid's targets, ``(N_+ + h) / (N_+ + 2 h)`` and ``h / (N_- + 2 h)``. Platt's
        is 1; less suits leave-one-out values better, measured in ``docs/results/probabilities.md``.
    n_jobs : int, default=None
        Threads of the leave-one-out paths. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Only if X has feature names that are all strings.
    support_ : array of shape (n_SV,)
        Row numbers of the support vectors, class by class.
    support_vectors_ : array or CSR matrix of shape (n_SV, n_features)
        Empty for a precomputed kernel.
    n_support_ : array of shape (n_classes,)
        Support vectors of each class.
    dual_coef_ : array of shape (1, n_SV) or (n_classes, n_SV)
        ``y_i alpha_i``, one row per decision function.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        Weights of the features, for a linear kernel only.
    intercept_ : array of shape (1,) or (n_classes,)
    loo_decision_values_ : array of shape (n_samples,) or (n_samples, n_classes)
        Decision value of each training point under the machine trained without it.
    loo_proba_ : array of shape (n_samples, n_classes)
        The link's probabilities at these values.
    leave_one_out_ : LeaveOneOut
        The same values with their status and exactness, and the error, recall, precision and
        F1 they give.
    solution_ : DualSolution or list of DualSolution
        The exact solution; one per class for more than two.
    link_ : link or list of links
    kernel_ : Kernel
        The kernel with gamma resolved.
    n_iter_ : array of shape (n_problems,)
        Steps of the solver.

    Notes
    -----
    ``predict`` is the argmax of ``predict_proba``. For two classes its boundary is where the
    sigmoid is 1/2, which can lie a little beside ``decision_function(X) == 0``.

    With ``class_weight`` the link counts the classes with their weights too, as
    :class:`sklearn.linear_model.LogisticRegression` does: probabilities are those of a
    population with the classes so weighted.

    Sample weights count rows: a weight of 2 is the row given twice, 0 is the row absent.

    References
    ----------
    Kwok, "Moderating the outputs of support vector machine classifiers", IEEE Transactions on
    Neural Networks 10(5), 1999. Platt, "Probabilistic outputs for support vector machines",
    1999.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bayes_svm import BayesSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), BayesSVC(C=1.0)).fit(X, y)
    >>> model.predict_proba(X[:2]).round(2).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    >>> round(model[-1].leave_one_out_.error, 3)
    0.023
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
        "degree": [Interval(Real, 0.0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "shrinking": ["boolean"],
        "probability": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "decision_function_shape": [StrOptions({"ovr"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
        "link": [StrOptions(set(LINK_NAMES)), HasMethods(["fit", "predict"])],
        "smoothing": [Interval(Real, 0.0, None, closed="neither")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str | Callable[..., Any] = "rbf",
        degree: float = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict[Any, float] | str | None = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        link: Any = "moderated",
        smoothing: float = 0.25,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.link = link
        self.smoothing = smoothing
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the SVM, leave every row out, and fit the link on what that gives.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            For a precomputed kernel the kernel values between the training points.
        y : array of shape (n_samples,)
            Labels of any type, at least two members of each class.
        sample_weight : array of shape (n_samples,), optional
            Counts of the rows, at least 0.

        Returns
        -------
        BayesSVC

        Raises
        ------
        ValueError
            For data a classifier cannot be trained on; the message says what is wrong.
        MemoryError
            If the kernel matrix does not fit; the message names the bytes.

        Warns
        -----
        ConvergenceWarning
            If the solution is not exact: ``max_iter`` reached, or a kernel that is not
            positive semi-definite.
        UserWarning
            If the decision values do not separate the classes, and the prior is returned.
        """
        with one_blas_thread():
            return self._fit(self._machine(X, y, sample_weight))

    def _fit(self, machine: Machine, starts: list[Array] | None = None) -> Self:
        """Everything after validation, from feasible coefficients of every problem if given."""
        solutions = [
            solve(
                machine.problem(k),
                tol=self.tol,
                max_iter=self.max_iter,
                start=None if starts is None else starts[k],
            )
            for k in range(machine.n_problems)
        ]
        for solution in solutions:
            warn_if_inexact(solution)
        self.classes_ = machine.classes
        self.kernel_ = machine.kernel
        self._store_support(machine, solutions)
        self.leave_one_out_ = read_machine(
            machine, solutions, Wanted(max_iter=self.max_iter, n_jobs=self.n_jobs)
        )
        self.loo_decision_values_ = self.leave_one_out_.decision_values
        self.solution_ = solutions[0] if machine.n_problems == 1 else solutions
        self._posteriors = self._posteriors_of(machine, solutions, None)
        left_out = self._left_out_uncertainty(machine, solutions)
        weight = machine.link_weight
        links = fit_links(self.link, self.loo_decision_values_, machine.y, weight, self.smoothing, left_out)
        self.link_ = links[0] if machine.n_problems == 1 else links
        log_odds = class_log_odds(links, self.loo_decision_values_, left_out)
        self.loo_proba_ = np.exp(log_probabilities(log_odds))
        if self.verbose:
            self._report_fit(solutions)
        return self

    def decision_function(self, X: Any) -> Array:
        """Decision values ``f(x) = sum_i y_i alpha_i k(x_i, x) + b``.

        One-versus-rest values of several machines are on scales of their own, and the largest
        need not be the most probable class. For more than two classes each is therefore given
        as the log-odds its link makes of it; their argmax is the predicted class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            Two classes: ``f(x)``, positive for ``classes_[1]``. More: one column of log-odds
            per class against the rest.
        """
        X = self._checked(X)
        return self._margins(X) if len(self.classes_) == 2 else self._log_odds(X)

    def posterior_variance(self, X: Any) -> Array:
        """Posterior variance of the decision values, in the evidence framework.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)

        Raises
        ------
        ValueError
            For a precomputed kernel: ``k(x, x)`` of new points is not known. For a kernel that is
            not positive semi-definite: there is no variance.
        """
        X = self._checked(X)
        diagonal = self.kernel_.diagonal(X)
        columns = [posterior.variance(X, diagonal) for posterior in self._posteriors]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of :meth:`predict_proba`, without underflow.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        X = self._checked(X)
        return log_probabilities(self._log_odds(X))

    def predict_proba(self, X: Any) -> Array:
        """Probability of every class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    @property
    def coef_(self) -> Array:
        """Weights of the features, for a linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel.")
        check_is_fitted(self)
        return np.asarray(self.dual_coef_ @ self.support_vectors_)

    def _machine(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, like: Machine | None = None
    ) -> Machine:
        """Validated training data as a Machine; ``like`` has the same data and kernel, and another C."""
        X, y = validate_data(
            self, with_narrow_indices(X), y, dtype=np.float64, accept_sparse=self._accepted_sparse()
        )
        if self.kernel == "precomputed":
            checked_square(X, X.shape[1])
        weight = checked_weights(sample_weight, X)
        classes, numbers = encode_classes(y, weight)
        check_members(classes, numbers, weight)
        kernel = Kernel(
            self.kernel, gamma=resolve_gamma(self.gamma, X, weight), degree=self.degree, coef0=self.coef0
        )
        bounds = row_bounds(self.C, classes, numbers, weight, self.class_weight)
        if like is not None:
            return replace(like, row_bound=bounds)
        return Machine.build(X, numbers, classes, kernel, weight, bounds)

    def _accepted_sparse(self) -> str | bool:
        return False if self.kernel == "precomputed" else "csr"

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(
            self, with_narrow_indices(X), dtype=np.float64, accept_sparse=self._accepted_sparse(), reset=False
        )

    def _store_support(self, machine: Machine, solutions: list[DualSolution]) -> None:
        coefficients = np.vstack([solution.row_beta for solution in solutions])
        used = np.flatnonzero(np.any(coefficients != 0, axis=0))
        self.support_ = used[np.argsort(machine.y[used], kind="stable")]
        self.n_support_ = np.bincount(machine.y[used], minlength=len(machine.classes))
        self.support_vectors_ = np.empty((0, 0)) if machine.kernel.precomputed else machine.X[self.support_]
        self.dual_coef_ = coefficients[:, self.support_]
        self.intercept_ = np.array([solution.intercept for solution in solutions])
        self.n_iter_ = np.array([max(1, solution.smo_steps + solution.pivots) for solution in solutions])

    def _posteriors_of(
        self, machine: Machine, solutions: list[DualSolution], max_rows: int | None
    ) -> list[Posterior]:
        return [
            posterior_of(machine, machine.problem(k), solution, self.C, max_rows=max_rows)
            for k, solution in enumerate(solutions)
        ]

    def _left_out_uncertainty(self, machine: Machine, solutions: list[DualSolution]) -> Uncertainty | None:
        """What the link is to know about the training rows, each left out; None for nothing.

        Also keeps the posteriors that tell the same of new points: a moderated link is content
        with a sketch, Kwok's formula wants all of them.
        """
        self._link_posteriors: list[Posterior] = []
        if self.link not in ("moderated", "kwok"):
            return None
        if machine.kernel.precomputed and self.link == "kwok":
            raise ValueError(
                "link='kwok' needs k(x, x) of new points, which a precomputed kernel does not hold: "
                "use link='sigmoid', or a callable kernel."
            )
        sketched = self.link == "moderated"
        if sketched and (machine.kernel.precomputed or not machine.convex):
            return None
        posteriors = self._posteriors_of(machine, solutions, SKETCH if sketched else None)
        if sketched and not all(posterior.definite for posterior in posteriors):
            return None
        columns = [
            left_out_variance(machine, machine.problem(k), posterior, self.C)
            for k, posterior in enumerate(posteriors)
        ]
        self._link_posteriors = posteriors
        return _uncertainty(columns, machine.kernel.diagonal(machine.X) * self.C)

    def _margins(self, X: Any) -> Array:
        """Decision values ``f``: (n_samples,) or (n_samples, n_classes) one-versus-rest."""
        values = np.empty((X.shape[0], len(self.intercept_)))
        for block, cross in self.kernel_.blocks(X, self.support_vectors_, self.support_):
            values[block] = cross @ self.dual_coef_.T + self.intercept_
        return values[:, 0] if len(self.intercept_) == 1 else values

    def _log_odds(self, X: Any) -> Array:
        links = self.link_ if isinstance(self.link_, list) else [self.link_]
        uncertainty = None
        if self._link_posteriors:
            diagonal = self.kernel_.diagonal(X)
            columns = [posterior.variance(X, diagonal) for posterior in self._link_posteriors]
            uncertainty = _uncertainty(columns, diagonal / self._link_posteriors[0].lam)
        return class_log_odds(links, self._margins(X), uncertainty)

    def _report_fit(self, solutions: list[DualSolution]) -> None:
        for k, solution in enumerate(solutions):
            print(
                f"[BayesSVC] problem {k}: {solution.smo_steps} steps, {solution.pivots} pivots, "
                f"{solution.n_free} free and {solution.n_bounded} bounded points, KKT residual "
                f"{solution.kkt_residual:.1e}, relative gap {solution.relative_gap:.1e}"
            )
        loo = self.leave_one_out_
        print(f"[BayesSVC] leave-one-out: error {loo.error:.4f}, {loo.seconds:.2f} s")


def _uncertainty(columns: list[Array], prior: Array) -> Uncertainty:
    """Variances of one machine, (n_samples,), or of several, (n_samples, n_classes)."""
    if len(columns) == 1:
        return Uncertainty(columns[0], prior)
    return Uncertainty(np.column_stack(columns), np.column_stack([prior] * len(columns)))
