"""BayesSVC: a support vector classifier whose one fit gives probabilities and leave-one-out."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution, solve
from bayes_svm.kernels.functions import KERNEL_NAMES
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.kernels.reach import within_reach
from bayes_svm.leave_one_out import LeaveOneOut, read_machine, warn_if_inexact
from bayes_svm.leave_one_out.cases import Leaving, halves, what_leaves
from bayes_svm.leave_one_out.folds import group_numbers
from bayes_svm.leave_one_out.methods import Wanted
from bayes_svm.probability.calibration import INSEPARABLE, LEAST_MEMBERS, offset_scale
from bayes_svm.probability.joint import JointLink, fit_joint
from bayes_svm.probability.links import (
    LINK_NAMES,
    UNFITTED,
    Link,
    class_log_odds,
    fit_links,
    log_probabilities,
    moderated_log_odds,
    normalised_log_odds,
    reading_of,
    unmoderated,
    winner_log_probabilities,
)
from bayes_svm.probability.posterior import Posterior, information_across, left_out_variance, posterior_of
from bayes_svm.utils.checks import (
    check_members,
    checked_square,
    checked_weights,
    class_weights,
    encode_classes,
    row_bounds,
    with_narrow_indices,
)
from bayes_svm.utils.dealing import copies_of_weight
from bayes_svm.utils.metaestimators import decided
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices

__all__ = ["BayesSVC"]


EQUAL = 1e-9  # relative difference of class weights that is rounding
FOLDS = 10  # of the strata, by whose left-out values a joint link is judged
SKETCH = 256  # active points that the posterior of a moderated link keeps


class LinkData(NamedTuple):
    """What the link is fitted to: a value of each part of what leaves, and what belongs to it."""

    values: Array
    y: Indices
    weight: Array
    information: Array | None  # or variance: what the link reads of the posterior
    scales: list[float]  # of the prior of the offsets
    folds: Array | None  # of several classes: how much of each part is in each fold of the joint link


def _fitted_joint(links: list[Link], data: LinkData, weight: Array) -> tuple[JointLink, Array]:
    assert data.folds is not None
    return fit_joint(class_log_odds(unmoderated(links), data.values, None), data.y, weight, data.folds)


class BayesSVC(ClassifierMixin, BaseEstimator):
    r"""Support vector classifier with calibrated probabilities from a single fit.

    .. math:: \min_{w, b, \xi} \; \tfrac{1}{2} |w|^2 + \sum_i C_i \xi_i, \qquad
              y_i (w' \phi(x_i) + b) \ge 1 - \xi_i, \quad \xi_i \ge 0

    The solution is exact, not to a tolerance, and so are the left-out decision values read off
    it: of each row the value ``f(x_i)`` of the machine trained without a part of the data that the
    row is in. They are what the link from decision values to probabilities is fitted on: no second
    fit, no held-out data, nothing random. More than two classes are taken one against the rest,
    each with a link of its own, and one joint link turns their log-odds into the probabilities. The
    names of :class:`sklearn.svm.SVC` are kept.

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
        Costs of the classes: factors of C, and of the probabilities where ``predict`` compares them.
        The probabilities themselves are those of the population that the data come from: they are
        fitted to the rows, whatever their class costs, or, where nothing is fitted ("kwok", "hinge",
        "clipped"), brought back to it. "balanced" is inversely proportional to the weight of the class.
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

        * "moderated": Platt's sigmoid fitted to the left-out decision values. Where a value is beyond
          all of them, the log-odds rise by less than 1. Beyond the data they
          go to a limit: the share of each class among the five rows that are
          themselves the farthest out, by Laplace's rule of succession, so that it is never more
          certain than six to one. It is the sigmoid alone with a linear kernel, where a decision
          value is as uncertain as it is large all along a ray; with a precomputed one, which holds
          no ``k(x, x)`` of new points; and with kernels that are not positive semi-definite.
        * "sigmoid": the same without the limit.
        * "kwok": Kwok's moderated output, the hinge likelihood averaged over the posterior of
          the decision value. Nothing is fitted; on real data it is underconfident.
        * "hinge": the same without the averaging; "clipped": ``(1 + f) / 2`` for f clipped to
          [-1, 1]; "dumais": a sigmoid of least regularised squares. For comparison.
        * A scikit-learn classifier or regressor of one feature, such as
          ``IsotonicRegression(out_of_bounds="clip")``, fitted to the left-out decision values.
    leave_out : str, int, splitter or list of splits, default="strata"
        What leaves together when the left-out decision values are computed, exactly in every case.

        * "strata": one member of the rarest class and its share of every other class. What is left
          has the class ratio of the whole, so that the values carry no bias from it. Which rows
          form a stratum follows from what they hold, not from their order. Two classes of which
          one has two members have ten strata, several classes at least ten.
        * "rows": every row alone, the leave-one-out of the textbooks. Without it the row's own class
          is the rarer: where the data say little the values are biased against the labels.
        * int: this number of strata.
        * A scikit-learn splitter, or a list of (train, test), whose test parts hold every row once.

        With ``groups`` given to :meth:`fit` whole groups leave: dealt into strata that keep the class
        ratio, one by one for "rows".
    multiclass : {"joint", "normalise", "winner"}, default="joint"
        How the log-odds of more than two classes, each against the rest, become probabilities.

        * "joint": by a multinomial logistic regression on all of them, fitted to the left-out values,
          drawn to the softmax as strongly as folds of these say. Far from the data the limits of the
          classes' own links are normalised. Where nothing is fitted (``link`` "kwok", "hinge",
          "clipped") this is "winner".
        * "normalise": each divided by their sum.
        * "winner": the largest is the probability of its class, as Kwok has it, so that a threshold of
          rejection is one on the winner's own output; the other classes share the rest. Where they
          sum to less than 1 it is the winner's share. With class weights, which can make another
          class the answer, as "normalise".
    smoothing : float, default=0.1
        Of the sigmoid's targets, ``(N_+ + h) / (N_+ + 2 h)`` and ``h / (N_- + 2 h)``. Platt's
        is 1; less suits left-out values better, measured in ``docs/results/probabilities.md``.
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
    class_weight_ : array of shape (n_classes,)
        The costs of the classes.
    left_out_decision_values_ : array of shape (n_samples,) or (n_samples, n_classes)
        Decision value of each row under the machine trained without the stratum, group or fold it is
        in. Of a row that stands for copies in several strata, the mean.
    left_out_proba_ : array of shape (n_samples, n_classes)
        The link's probabilities at these values. The joint link of several classes has so many
        parameters that a row's own probabilities are by the link fitted without its part of the
        strata, of which there are ten, or as many as strata.
    left_out_ : LeaveOneOut
        The same values with their status and exactness, and what :meth:`predict` would have said of
        each row: the error, recall, precision and F1 of that.
    solution_ : DualSolution or list of DualSolution
        The exact solution; one per class for more than two.
    link_ : link or list of links
    joint_link_ : JointLink or None
        Of more than two classes, with ``multiclass="joint"``.
    kernel_ : Kernel
        The kernel with gamma resolved.
    n_iter_ : array of shape (n_problems,)
        Steps of the solver.

    Notes
    -----
    ``predict`` is the argmax of ``class_weight_ * predict_proba``, of the probability alone where no
    class weights are given. For two classes its boundary is where the probabilities are equal, or as 1
    to the ratio of the class weights, which can lie a little beside ``decision_function(X) == 0``.

    Sample weights count rows: a weight of 2 is the row given twice, 0 is the row absent.

    A row so far from the origin that kernel values overflow is read at the farthest point on the way
    to it where they do not.

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
    >>> round(model[-1].left_out_.error, 3)
    0.026
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
        "leave_out": [
            StrOptions({"strata", "rows"}),
            Interval(Integral, 2, None, closed="left"),
            HasMethods(["split", "get_n_splits"]),
            list,
            tuple,
        ],
        "multiclass": [StrOptions({"joint", "normalise", "winner"})],
        "smoothing": [Interval(Real, 0.0, None, closed="neither")],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
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
        leave_out: Any = "strata",
        multiclass: str = "joint",
        smoothing: float = 0.1,
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
        self.leave_out = leave_out
        self.multiclass = multiclass
        self.smoothing = smoothing
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not Kernel(self.kernel).precomputed
        tags.input_tags.pairwise = Kernel(self.kernel).precomputed
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Solve the SVM, leave every row out, and fit the link on what that gives.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            For a precomputed kernel the kernel values between the training points.
        y : array of shape (n_samples,)
            Labels of any type, at least two members of each class.
        sample_weight : array of shape (n_samples,), optional
            Counts of the rows, at least 0.
        groups : array of shape (n_samples,), optional
            Labels of groups of rows that are not independent, of one patient or document say: they are
            left out whole. Each class must live in at least two.

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
            If the left-out decision values do not separate the classes, so that the probabilities
            hardly differ from the classes' shares; if a class has two members, too few to calibrate on;
            if ``leave_out`` is a number above that of the rarest class's members.
        """
        with one_blas_thread():
            machine = self._machine(X, y, sample_weight)
            numbers = group_numbers(groups, len(machine.y))
            self._fit(machine, what_leaves(machine, self.leave_out, y, numbers), numbers)
        return self

    def _fit(
        self,
        machine: Machine,
        leaving: Leaving,
        groups: Indices | None = None,
        starts: list[Array] | None = None,
        read: Callable[..., tuple[LeaveOneOut, Array]] = read_machine,
    ) -> LinkData:
        """Everything after validation; returns what the link is fitted to.

        ``groups`` are the numbers of the rows' groups, ``starts`` feasible coefficients of every problem;
        ``read`` leaves out.
        """
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
        self.classes_, self.kernel_ = machine.classes, machine.kernel
        self._store_support(machine, solutions)
        self.solution_ = solutions[0] if machine.n_problems == 1 else solutions
        self._posteriors = self._posteriors_of(machine, solutions, None)
        found, values = read(machine, solutions, leaving, Wanted(max_iter=self.max_iter, n_jobs=self.n_jobs))
        reading = self._left_out_reading(machine, solutions, leaving, groups)
        parts = machine.y[leaving.part_row], leaving.part_weight(machine.weight)
        about = None if reading is None else reading[leaving.part_row]
        folds = leaving.part_shares(FOLDS, machine) if machine.n_problems > 1 else None
        data = LinkData(values, *parts, about, self._offset_scales(machine, solutions), folds)
        links = self._fitted_links(data, data.weight)
        self.link_ = links[0] if machine.n_problems == 1 else links
        self.left_out_decision_values_ = found.decision_values
        several, formula = machine.n_problems > 1, isinstance(self.link, str) and self.link in UNFITTED
        winner = self.multiclass == "winner" or (self.multiclass == "joint" and formula)
        self._winner = several and winner and np.ptp(self.class_weight_) <= EQUAL * self.class_weight_.max()
        self.joint_link_: JointLink | None = None
        if several and self.multiclass == "joint" and not formula:
            self.joint_link_, crossed = _fitted_joint(links, data, data.weight)
        self.left_out_proba_ = proba = np.exp(self._log_proba_of(found.decision_values, reading))
        if self.joint_link_ is not None:
            logs = log_probabilities(moderated_log_odds(links, crossed, about))
            self.left_out_proba_ = proba = leaving.row_means(np.exp(logs), proba)
        self.left_out_ = replace(
            found, predicted=decided(proba, self.class_weight_), jointly=True, proba=proba
        )
        if self.verbose:
            self._report_fit(solutions)
        return data

    def _fitted_links(self, data: LinkData, weight: Array) -> list[Link]:
        """Links fitted to what was left out, as the weights have it."""
        return fit_links(
            self.link, data.values, data.y, weight, self.smoothing, data.information, self.class_weight_,
            data.scales,
        )  # fmt: skip

    def _proba_without(self, data: LinkData, share: Array) -> Array:
        """Left-out probabilities by links that were fitted without a share of the data.

        Where less than three members of a class would be left, the links stay what they are.
        """
        if not isinstance(self.link, str) and not has_fit_parameter(self.link, "sample_weight"):
            share = (share >= 0.5).astype(float)  # it cannot be fitted to a part of a row
        links, joint, weight = self._links, self.joint_link_, data.weight * (1.0 - share)
        copies = np.where(weight > 0, copies_of_weight(weight), 0.0)
        if np.bincount(data.y, weights=copies, minlength=len(self.classes_)).min() >= LEAST_MEMBERS:
            with warnings.catch_warnings():
                # Whether values separate the classes, the links fitted to all of them have said.
                warnings.filterwarnings("ignore", re.escape(INSEPARABLE))
                links = self._fitted_links(data, weight)
                if joint is not None:
                    joint, _ = _fitted_joint(links, data, weight)
        return np.exp(self._log_proba_by(links, joint, data.values, data.information))

    def decision_function(self, X: Any) -> Array:
        """Decision values ``f(x) = sum_i y_i alpha_i k(x_i, x) + b``.

        One-versus-rest values of several machines are on scales of their own, and the largest
        need not be the most probable class. For more than two classes each is therefore given
        as the log-odds of the class, with the class weights counted as prior odds: their argmax is the
        predicted class.

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
        if len(self.classes_) == 2:
            return self._margins(X)
        return normalised_log_odds(self._log_proba(X) + np.log(self.class_weight_))

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
        return self._log_proba(self._checked(X))

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

    @property
    def coef_(self) -> Array:
        """Weights of the features, for a linear kernel."""
        if not Kernel(self.kernel).is_linear:
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
        if Kernel(self.kernel).precomputed:
            checked_square(X, X.shape[1])
        weight = checked_weights(sample_weight, X)
        classes, numbers = encode_classes(y, weight)
        check_members(classes, numbers, weight)
        kernel = Kernel.of(self, X, weight)
        self.class_weight_ = class_weights(self.class_weight, classes, numbers, weight)
        bounds = row_bounds(self.C, self.class_weight_, numbers, weight)
        if like is not None:
            return replace(like, row_bound=bounds)
        return Machine.build(X, numbers, classes, kernel, weight, bounds)

    def _accepted_sparse(self) -> str | bool:
        return False if Kernel(self.kernel).precomputed else "csr"

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(
            self, with_narrow_indices(X), dtype=np.float64, accept_sparse=self._accepted_sparse(), reset=False
        )
        return within_reach(self.kernel_, X, self.support_vectors_)

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

    def _left_out_reading(
        self, machine: Machine, solutions: list[DualSolution], leaving: Leaving, groups: Indices | None
    ) -> Array | None:
        """What the link reads of the posterior about each row, left out; None for nothing.

        Also keeps the posteriors that tell the same of new points: of the information a sketch is
        enough, only its order of magnitude counts.
        """
        self._link_posteriors: list[Posterior] = []
        reads = reading_of(self.link)
        if machine.kernel.precomputed and reads == "variance":
            raise ValueError(
                f"link={self.link!r} needs k(x, x) of new points, which a precomputed kernel does not hold: "
                "use link='sigmoid', or a callable kernel."
            )
        if reads is None or (reads == "information" and not self._knows_distance(machine)):
            return None
        posteriors = self._posteriors_of(machine, solutions, SKETCH if reads == "information" else None)
        if reads == "information" and not all(posterior.definite for posterior in posteriors):
            return None
        away = leaving if reads == "variance" else halves(machine, groups)
        columns = []
        for k, (posterior, solution) in enumerate(zip(posteriors, solutions, strict=True)):
            problem, rows = machine.problem(k), away.part_row
            found: Array | None
            if reads == "variance":
                found = left_out_variance(machine, problem, posterior, away.case, rows, away.removed)
            else:
                found = information_across(
                    machine, problem, solution, self.C, half=away.case, row=rows, counted=away.removed,
                    max_rows=SKETCH,
                )  # fmt: skip
            if found is None:
                return None
            absent, whole = away.kind < 0, np.zeros(len(machine.y))
            whole[absent] = getattr(posterior, reads)(machine.X[absent])
            columns.append(away.row_means(found, whole))
        self._link_posteriors = posteriors
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    @staticmethod
    def _offset_scales(machine: Machine, solutions: list[DualSolution]) -> list[float]:
        """Of every machine the scale of the prior of its sigmoid's offset."""
        n_columns = 1  # of a precomputed kernel they are not known
        if not machine.kernel.precomputed:
            largest, smallest = (extreme(axis=0) for extreme in (machine.X.max, machine.X.min))
            if sparse.issparse(machine.X):
                largest, smallest = largest.toarray(), smallest.toarray()
            n_columns = max(1, int(np.count_nonzero((largest != 0) | (smallest != 0))))
        ratio = float(machine.weight.sum()) / n_columns
        return [offset_scale(one.label, one.alpha, one.bound, ratio) for one in solutions]

    @staticmethod
    def _knows_distance(machine: Machine) -> bool:
        """Whether its decision values can tell how far from the data a point is."""
        return machine.kernel.tells_distance and machine.convex

    def _margins(self, X: Any) -> Array:
        """Decision values ``f``: (n_samples,) or (n_samples, n_classes) one-versus-rest."""
        values = np.tile(self.intercept_, (X.shape[0], 1))
        if len(self.support_):
            for block, cross in self.kernel_.blocks(X, self.support_vectors_, self.support_):
                values[block] += cross @ self.dual_coef_.T
        return values[:, 0] if len(self.intercept_) == 1 else values

    def _log_proba(self, X: Any) -> Array:
        """Log-probabilities of checked rows."""
        reading = None
        if self._link_posteriors:
            diagonal, reads = self.kernel_.diagonal(X), self._links[0].reads
            assert reads is not None
            columns = [getattr(posterior, reads)(X, diagonal) for posterior in self._link_posteriors]
            reading = columns[0] if len(columns) == 1 else np.column_stack(columns)
        return self._log_proba_of(self._margins(X), reading)

    def _log_proba_of(self, values: Array, reading: Array | None) -> Array:
        """Log-probabilities at decision values, and at what the links read of the posterior."""
        return self._log_proba_by(self._links, self.joint_link_, values, reading)

    def _log_proba_by(
        self, links: list[Link], joint: JointLink | None, values: Array, reading: Array | None
    ) -> Array:
        """The same by some links."""
        if joint is not None:
            log_odds = joint.log_odds(class_log_odds(unmoderated(links), values, None))
            return log_probabilities(moderated_log_odds(links, log_odds, reading))
        log_odds = class_log_odds(links, values, reading)
        return winner_log_probabilities(log_odds) if self._winner else log_probabilities(log_odds)

    @property
    def _links(self) -> list[Link]:
        return self.link_ if isinstance(self.link_, list) else [self.link_]

    def _report_fit(self, solutions: list[DualSolution]) -> None:
        for k, solution in enumerate(solutions):
            print(
                f"[BayesSVC] problem {k}: {solution.smo_steps} steps, {solution.pivots} pivots, "
                f"{solution.n_free} free and {solution.n_bounded} bounded points, KKT residual "
                f"{solution.kkt_residual:.1e}, relative gap {solution.relative_gap:.1e}"
            )
        left_out = self.left_out_
        print(f"[BayesSVC] left out: error {left_out.error:.4f}, {left_out.seconds:.2f} s")
