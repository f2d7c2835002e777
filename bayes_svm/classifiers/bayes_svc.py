"""BayesSVC: a support vector classifier whose one fit gives probabilities and leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from bayes_svm.classifiers.predictions import SVCPredictions
from bayes_svm.classifiers.solution_reading import (
    SolutionReader,
    SolutionReading,
    joined_readings,
    link_data,
    rows_left_out,
)
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution, solve
from bayes_svm.leave_one_out.api import Store
from bayes_svm.leave_one_out.cases import Leaving, what_leaves
from bayes_svm.leave_one_out.folds import group_numbers
from bayes_svm.leave_one_out.result import LeaveOneOut
from bayes_svm.probability.link import LinkData
from bayes_svm.probability.probabilities import Calibration
from bayes_svm.utils.metaestimators import decided
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices

__all__ = ["BayesSVC", "fit_resumably"]


class BayesSVC(SVCPredictions):
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
        store: Store | None = None,
    ) -> LinkData:
        """Everything after validation; returns what the links are fitted to.

        ``groups`` are the numbers of the rows' groups, ``starts`` feasible coefficients of every problem;
        ``store`` keeps left-out values.
        """
        reader = SolutionReader(self, machine, leaving, groups, store)
        found = [reader.read(self._solve(machine, k, starts), k) for k in range(machine.n_problems)]
        reading = joined_readings(found)
        data = link_data(machine, leaving, found, reading)
        self._calibration = Calibration(self.link, self.smoothing, self.multiclass, self.class_weight_)
        self._probabilities = self._calibration.fit(data)
        self._store_machine(machine, found, reader)
        self._store_left_out(rows_left_out(machine, leaving, found), leaving, data, reading)
        if self.verbose:
            self._report_fit([one.solution for one in found])
        return data

    def _solve(self, machine: Machine, k: int, starts: list[Array] | None) -> DualSolution:
        start = None if starts is None else starts[k]
        return solve(machine.problem(k), tol=self.tol, max_iter=self.max_iter, start=start)

    def _store_machine(self, machine: Machine, found: list[SolutionReading], reader: SolutionReader) -> None:
        """The attributes that predictions are made from."""
        solutions = [one.solution for one in found]
        self.classes_, self.kernel_ = machine.classes, machine.kernel
        coefficients = np.vstack([solution.row_beta for solution in solutions])
        used = np.flatnonzero(np.any(coefficients != 0, axis=0))
        self.support_ = used[np.argsort(machine.y[used], kind="stable")]
        self.n_support_ = np.bincount(machine.y[used], minlength=len(machine.classes))
        self.support_vectors_ = np.empty((0, 0)) if machine.kernel.precomputed else machine.X[self.support_]
        self.dual_coef_ = coefficients[:, self.support_]
        self.intercept_ = np.array([solution.intercept for solution in solutions])
        self.n_iter_ = np.array([max(1, solution.smo_steps + solution.pivots) for solution in solutions])
        self.solution_ = solutions[0] if len(solutions) == 1 else solutions
        self._posteriors = [one.posterior for one in found]
        posteriors = [one.link_posterior for one in found if one.link_posterior is not None]
        self._link_posteriors = posteriors if len(posteriors) == len(found) else []
        self._read_at = None if reader.reader is None else reader.reader.at
        links = self._probabilities.links
        self.link_ = links[0] if len(links) == 1 else links
        self.joint_link_ = self._probabilities.joint

    def _store_left_out(
        self, found: LeaveOneOut, leaving: Leaving, data: LinkData, reading: Array | None
    ) -> None:
        """Left-out values of the rows, their probabilities, and what would have been predicted."""
        proba = np.exp(self._probabilities.logs(found.decision_values, reading))
        if self.joint_link_ is not None:
            proba = leaving.row_means(self._probabilities.crossed_proba(data.reading), proba)
        self.left_out_decision_values_ = found.decision_values
        self.left_out_proba_ = proba
        self.left_out_ = replace(
            found, predicted=decided(proba, self.class_weight_), jointly=True, proba=proba
        )

    def _report_fit(self, solutions: list[DualSolution]) -> None:
        for k, solution in enumerate(solutions):
            print(
                f"[BayesSVC] problem {k}: {solution.smo_steps} steps, {solution.pivots} pivots, "
                f"{solution.n_free} free and {solution.n_bounded} bounded points, KKT residual "
                f"{solution.kkt_residual:.1e}, relative gap {solution.relative_gap:.1e}"
            )
        left_out = self.left_out_
        print(f"[BayesSVC] left out: error {left_out.error:.4f}, {left_out.seconds:.2f} s")


def fit_resumably(
    model: BayesSVC, X: Any, y: ArrayLike, open_store: Callable[[tuple[int, int]], Store]
) -> BayesSVC:
    """Fit, keeping left-out values as they are found, and taking those that are known.

    Parameters
    ----------
    model : BayesSVC
        What to fit.
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data.
    y : array of shape (n_samples,)
        Labels.
    open_store : callable
        From the number of values of each problem, and the number of problems, to what keeps them.
    """
    with one_blas_thread():
        machine = model._machine(X, y, None)
        leaving = what_leaves(machine, model.leave_out, y, None)
        model._fit(machine, leaving, store=open_store((len(leaving.case), machine.n_problems)))
    return model
