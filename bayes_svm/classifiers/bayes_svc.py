"""BayesSVC: a support vector classifier whose one fit gives probabilities and leave-one-out."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bayes_svm.classifiers.expansion import weights_of, without_repeats
from bayes_svm.classifiers.predictions import SVCPredictions, may_be_joined
from bayes_svm.classifiers.solution_reading import (
    SolutionReader,
    SolutionReading,
    joined_readings,
    link_data,
    rows_left_out,
)
from bayes_svm.classifiers.training_rows import TrainingRows
from bayes_svm.conformal.venn_abers import predictors
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution, warn_if_inexact
from bayes_svm.dual.solving import solve
from bayes_svm.leave_one_out.api import Store
from bayes_svm.leave_one_out.cases import what_leaves
from bayes_svm.leave_one_out.folds import group_numbers
from bayes_svm.leave_one_out.leaving import Leaving
from bayes_svm.leave_one_out.result import LeaveOneOut
from bayes_svm.probability.link import LinkData
from bayes_svm.probability.links import kind_of
from bayes_svm.probability.probabilities import Calibration
from bayes_svm.utils.metaestimators import decided
from bayes_svm.utils.parallel import working_threads
from bayes_svm.utils.progress import shown, step
from bayes_svm.utils.scikit_learn import fit_context
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices

__all__ = ["BayesSVC"]


class BayesSVC(SVCPredictions):
    r"""Support vector classifier with calibrated probabilities from a single fit.

    .. math:: \min_{w, b, \xi} \; \tfrac{1}{2} |w|^2 + \sum_i C_i \xi_i, \qquad
              y_i (w' \phi(x_i) + b) \ge 1 - \xi_i, \quad \xi_i \ge 0

    The solution is exact, not merely to a tolerance. From it follow, exactly as well, the left-out decision
    values: for each row the decision value ``f(x_i)`` of the machine trained without a part of the data that
    contains the row. The link from decision values to probabilities is fitted to these values. It needs
    no second fit and no held-out data, and nothing is random.

    With more than two classes, one machine separates each class from the rest and has a link of its own. A
    joint link turns their log-odds into the probabilities of all classes.

    The parameters of :class:`sklearn.svm.SVC` keep their names.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the slack; ``C_i = C * sample_weight_i * class_weight``.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two arrays of points and returns the matrix of kernel values. If the kernel is not
        positive semi-definite, which is often so for "sigmoid", the solution is a stationary point, and the
        fit warns.
    degree : float, default=3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid". "scale" is ``1 / (n_features * variance of X)``, where
        rows count with their weights; "auto" is ``1 / n_features``.
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    shrinking : bool, default=True
        No effect; kept from SVC.
    probability : bool, default=True
        No effect; kept from SVC. Probabilities are always available.
    tol : float, default=1e-3
        Violation of the optimality conditions at which the first, approximate solver stops. The solution is
        then made exact.
    cache_size : float, default=200
        No effect; kept from SVC. The rows of the kernel matrix that are needed are held in memory.
    class_weight : dict or "balanced", default=None
        Costs of the classes. They multiply C, and the probabilities when ``predict`` compares them. The
        probabilities themselves are those of the population that the data come from. "balanced" makes the
        costs inversely proportional to the total sample weight of each class.
    verbose : int, default=0
        1 shows the progress of a fit of more than two seconds on stderr, and prints a summary of it.
    max_iter : int, default=-1
        Limit on the solver's steps; -1 for none. A fit that reaches the limit warns.
    decision_function_shape : {"ovr"}, default="ovr"
        Kept from SVC. Decision values are one-versus-rest.
    break_ties : bool, default=False
        No effect; kept from SVC. The most probable class is predicted.
    random_state : int, RandomState instance or None, default=None
        No effect; kept from SVC. Nothing is random.
    link : str or estimator, default="moderated"
        How decision values become probabilities.

        * "moderated": Platt's sigmoid fitted to the left-out decision values, shrunk towards a limit far from
          the training data. Outside the range of the left-out values the sigmoid flattens: its log-odds
          change by less than 1 there. The limit follows from the classes of the five outermost training rows,
          by Laplace's rule of succession: odds of six to one at most. With a linear kernel, a precomputed
          one, or one that is not positive semi-definite, this is the sigmoid alone.
        * "sigmoid": the same sigmoid without the limit.
        * "kwok": Kwok's moderated output, the hinge likelihood averaged over the posterior of the decision
          value. Nothing is fitted. With class weights the log-odds are shifted from the weighted classes back
          to the data's. On real data it is underconfident. Not for a precomputed kernel.
        * "hinge": Kwok's output without the averaging, for comparison.
        * "clipped": ``(1 + f) / 2`` for f clipped to [-1, 1], for comparison.
        * "dumais": a sigmoid fitted by regularised least squares, for comparison.
        * A scikit-learn classifier or regressor of one feature, such as
          ``IsotonicRegression(out_of_bounds="clip")``: a clone is fitted to the left-out decision values.
    leave_out : str, int, splitter or list of splits, default="strata"
        Which rows leave together when the left-out decision values are computed. The values are exact in
        every case.

        * "strata": one row of the rarest class and its share of every other class. The remaining rows have
          the class ratio of the whole, so that the values are not biased by a changed ratio. Which rows form
          a stratum depends on their distances from the mean, shuffled always in the same way, and on the
          order of ``classes_``, not on the order of the rows. If one of two classes has only two members
          there are ten strata; for several classes at least ten.
        * "rows": each row alone, the leave-one-out of the textbooks. Without the row its class is rarer than
          before: where the data say little, the values are biased against the row's label.
        * int: this number of strata.
        * A scikit-learn splitter, or a list of (train, test) pairs, whose test parts contain each row once.

        With ``groups`` given to :meth:`fit`, whole groups leave: dealt into strata that keep the class
        ratio, or one group at a time for "rows". Test parts that are given must keep groups whole.
    leave_out_size : int or None, default=2000
        If there are more different rows than this, only a sample of about this many is left out: enough for
        the link and for the error told, at a fraction of the time. The sample has the same share of every
        class, and at least 500 members of each class that has so many. With a rare class it is therefore
        larger: of 20,000 rows, 1000 of them in the rarer class, 10,000 are left out; with 500 or fewer, all
        are. The contents of the rows decide which are taken; ``left_out_.rows`` names them. None leaves all
        rows out. So do groups, splitters and a number of strata.
    multiclass : {"joint", "normalise", "winner"}, default="joint"
        How the log-odds of more than two classes, each against the rest, become probabilities.

        * "joint": by a multinomial logistic regression on all log-odds (with more than 15 classes, each class
          reads its own alone), fitted to the left-out values and shrunk towards their softmax;
          cross-validation decides how much. Far from the data the limits of the classes' own links are
          normalised. For the links that are not fitted ("kwok", "hinge" and "clipped") this is "winner".
        * "normalise": the one-versus-rest probabilities are divided by their sum.
        * "winner": the most probable class keeps its one-versus-rest probability, as in Kwok's paper, and the
          others share the rest. A rejection threshold then applies to the winner's own output. If the
          one-versus-rest probabilities sum to less than 1, or the classes have different weights, this is
          "normalise".
    smoothing : float, default=0.1
        Smoothing h of the sigmoid's targets ``(N_+ + h) / (N_+ + 2 h)`` and ``h / (N_- + 2 h)``. Platt
        uses 1; with left-out values less is better: ``docs/results/probabilities.md``.
    n_jobs : int, default=None
        Number of threads of a fit. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels of the classes, sorted.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : array of shape (`n_features_in_`,)
        Names of the features; only if X has feature names that are all strings.
    support_ : array of shape (n_SV,)
        Row numbers of the support vectors, class by class.
    support_vectors_ : array or CSR matrix of shape (n_SV, n_features)
        The support vectors; empty for a precomputed kernel.
    n_support_ : array of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : array of shape (1, n_SV) or (n_classes, n_SV)
        Signed coefficients ``y_i alpha_i``, one row per machine.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        Weights of the features; for a linear kernel only.
    intercept_ : array of shape (1,) or (n_classes,)
        Constant of each decision function.
    class_weight_ : array of shape (n_classes,)
        Costs of the classes.
    left_out_decision_values_ : array of shape (n_samples,) or (n_samples, n_classes)
        Decision value of each row by the machine trained without the row's stratum, group or fold. A row
        that stands for copies in several strata has the mean of their values. NaN for a row that is not left
        out: see ``leave_out_size``.
    left_out_proba_ : array of shape (n_samples, n_classes)
        The link's probabilities at these values. A joint link has many parameters, and of two classes there
        may be few groups, or fewer than 100 rows; a link fitted to all would look too good. The probabilities
        of a row are then by a link fitted without its fold of the strata; of several classes, only the joint
        link is. There are at most ten folds, and no more than strata (with groups, strata with the rarer of
        two classes). Where one of two would keep fewer than three rows, all rows count. NaN if not left out.
    left_out_ : LeaveOneOut
        The left-out values with their status and accuracy, and what :meth:`predict` would have returned for
        each row: its error, recall, precision and F1.
    solution_ : DualSolution or list of DualSolution
        The exact solution, one per class for more than two classes. It holds its problem
        (``solution_.problem.label``, ``.bound``, ``.group``), but not the kernel matrix.
    link_ : Link or list of Link
        The fitted link, one per class for more than two classes.
    joint_link_ : JointLink or None
        The joint link of more than two classes with ``multiclass="joint"``, otherwise None.
    kernel_ : Kernel
        The kernel, with gamma as a number.
    n_iter_ : array of shape (n_problems,)
        Number of steps of the solver.

    Notes
    -----
    ``predict`` returns the argmax of ``class_weight_ * predict_proba``; without class weights, the most
    probable class. For two classes this boundary differs from ``decision_function(X) == 0``: mostly a little,
    but with a small C or a rare class all decision values can have one sign while both classes are predicted.
    Meta-estimators that compare decision values, such as ``OneVsRestClassifier``, then predict worse than
    this classifier does.

    A fitted model keeps its training rows, for :meth:`explain`; :meth:`compact` only the support vectors.

    Sample weights count rows: a row of weight 2 is a row given twice, one of weight 0 is absent.

    A row so far from the origin that kernel values overflow is moved towards it until they do not.

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

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Solve the SVM, leave rows out, and fit the link to the left-out decision values.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Training data; for a precomputed kernel, the kernel values between the training points.
        y : array of shape (n_samples,)
            Labels of any type, at least two members of each class.
        sample_weight : array of shape (n_samples,), optional
            How often each row counts; at least 0. Of a row of weight 5, one of five copies is left out. If
            the weights are not counts, divide them by their mean and give ``groups=np.arange(len(y))``.
        groups : array of shape (n_samples,), optional
            Group of each row, for rows that are not independent, such as those of one patient or document.
            They leave whole. Each class must occur in at least two groups.

        Returns
        -------
        BayesSVC
            The fitted classifier itself.

        Raises
        ------
        ValueError
            If a classifier cannot be trained on the data; the message says why.
        TypeError
            If ``link`` or ``leave_out`` is a class, not an instance.
        MemoryError
            If the kernel matrix does not fit; the message says how many bytes it needs.

        Warns
        -----
        ConvergenceWarning
            If the solution is not exact: ``max_iter`` is reached, the kernel is not positive semi-definite,
            or double precision is not enough (scale X, or lower C); or if a link does not converge.
        UserWarning
            If the left-out decision values do not separate the classes; if a class has two members, too few
            to calibrate on; if ``leave_out`` is a number larger than that of the rarest class's members; if a
            calibrator as ``link`` cannot be fitted without a fold: ``left_out_proba_`` then has seen all.
        """
        with shown(self.verbose > 0), one_blas_thread(), working_threads(self.n_jobs):
            machine = self._machine(X, y, sample_weight)
            numbers = group_numbers(groups, len(machine.y))
            leaving = what_leaves(machine, self.leave_out, y, numbers, self.leave_out_size)
            self._fit(machine, leaving, numbers)
        return self

    def _fit(
        self, machine: Machine, leaving: Leaving, groups: Indices | None = None, store: Store | None = None
    ) -> None:
        """Fit to checked data; ``store`` holds known left-out values, and keeps those that are found."""
        reader = SolutionReader(self, machine, leaving, groups, store)
        solved = ((self._solve(machine, k), k) for k in range(machine.n_problems))
        data = self._fit_to(reader.read_all(solved), reader)
        self._tell_across(leaving, data)
        if self.verbose:
            self._report_fit()

    def _fit_to(self, found: list[SolutionReading], reader: SolutionReader) -> LinkData:
        """Fit to what was read off the exact solution of each problem: its left-out values, its posterior.

        Returns
        -------
        LinkData
            What the links are fitted to.
        """
        machine, leaving, reading = reader.machine, reader.leaving, joined_readings(found)
        # Links and joint link, fitted to the left-out values.
        data = link_data(reader, found, reading)
        self._calibration = Calibration(self.link, self.smoothing, self.multiclass, self.class_weight_)
        self._probabilities = self._calibration.fit(data)
        self._venn_abers = predictors(
            data.values, data.y, data.weight, [one.solution.resolution for one in found]
        )
        # The attributes: what predictions are made from, and the rows left out.
        self._store_machine(machine, found, reader)
        self._store_left_out(rows_left_out(machine, leaving, found), leaving, data, reading)
        return data

    def _solve(self, machine: Machine, k: int, start: Array | None = None) -> DualSolution:
        """The solution of problem k, found from some feasible coefficients."""
        with step("solving"):
            solution = solve(machine.problem(k), tol=self.tol, max_iter=self.max_iter, start=start)
        warn_if_inexact(solution)
        return solution

    def _store_machine(self, machine: Machine, found: list[SolutionReading], reader: SolutionReader) -> None:
        """The attributes that predictions are made from."""
        self.__dict__.pop("_compact", None)  # fitted again, a compact model is whole
        solutions = [one.solution for one in found]
        self.classes_, self.kernel_ = machine.classes, machine.kernel
        coefficients = np.vstack([solution.row_beta for solution in solutions])
        used = np.flatnonzero(np.any(coefficients != 0, axis=0))
        self.support_ = used[np.argsort(machine.y[used], kind="stable")]
        self.n_support_ = np.bincount(machine.y[used], minlength=len(machine.classes))
        self.support_vectors_ = np.empty((0, 0)) if machine.kernel.precomputed else machine.X[self.support_]
        self.dual_coef_ = coefficients[:, self.support_]
        self._training = TrainingRows.of(machine, self.support_)
        # The parameters of the fit, which may be set to others before new points join its rows.
        vertices = all(solution.exact and not solution.shared for solution in solutions)
        joins = reader.groups is None and vertices and may_be_joined(machine)
        given = {name: getattr(self, name) for name in self._parameter_constraints}
        own = {"kernel": machine.kernel.function, "class_weight": copy(self.class_weight)}
        self._joined = given | own if joins else None
        self._expansion = without_repeats(machine.row_of[self.support_], self.dual_coef_)
        self._weights = weights_of(machine.kernel, self.dual_coef_, self.support_vectors_)
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
        """The attributes of left-out values: decision values, probabilities and predictions."""
        rows = found.rows
        proba = np.full((len(found.y), len(self.classes_)), np.nan)
        read = None if reading is None else reading[rows]
        proba[rows] = np.exp(self._probabilities.logs(found.decision_values[rows], read))
        if self.joint_link_ is not None:
            proba = leaving.row_means(self._probabilities.crossed_proba(data.reading), proba)
        self.left_out_decision_values_ = found.decision_values
        self._tell(found, proba)

    def _tell_across(self, leaving: Leaving, data: LinkData) -> None:
        """Tell the probabilities of two classes anew, if folds are given, by links fitted to the other folds.

        Of few groups or rows even one link reads so much that they look better than new ones. Where settings
        are compared that does not matter, and costs time.
        """
        if len(self.classes_) > 2 or data.folds is None or not kind_of(self.link).fitted:
            return
        told = self._calibration.proba_across(data, data.folds, self._probabilities)
        self._tell(self.left_out_, leaving.row_means(told, self.left_out_proba_))

    def _tell(self, found: LeaveOneOut, proba: Array) -> None:
        """The attributes of left-out probabilities, and of what they predict."""
        predicted, rows = found.predicted.copy(), found.rows
        predicted[rows] = decided(proba[rows], self.class_weight_)
        self.left_out_proba_ = proba
        self.left_out_ = replace(found, predicted=predicted, jointly=True, proba=proba)

    def _report_fit(self) -> None:
        solutions = self.solution_ if isinstance(self.solution_, list) else [self.solution_]
        for k, solution in enumerate(solutions):
            print(
                f"[BayesSVC] problem {k}: {solution.smo_steps} steps, {solution.pivots} pivots, "
                f"{solution.n_free} free and {solution.n_bounded} bounded points, KKT residual "
                f"{solution.kkt_residual:.1e}, relative gap {solution.relative_gap:.1e}"
            )
        left_out = self.left_out_
        print(
            f"[BayesSVC] {len(left_out.rows)} rows left out: error {left_out.error:.4f}, "
            f"{left_out.seconds:.2f} s"
        )
