"""ConformalSVC: sets of labels that hold the true one with a guaranteed probability."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags

from bayes_svm.conformal.predictions import ConformalPredictions, told_apart
from bayes_svm.conformal.promise import breaches, promise
from bayes_svm.conformal.scores import KeptScores, LeftOutScores, MarginScores, Scores
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.order import seed_of_rows
from bayes_svm.dual.solution import DualSolution, warn_if_inexact
from bayes_svm.leave_one_out.cases import rows_alone, strata
from bayes_svm.utils.checks import check_members, checked_labels
from bayes_svm.utils.metaestimators import check_instance, last_of
from bayes_svm.utils.parallel import working_threads
from bayes_svm.utils.progress import shown
from bayes_svm.utils.scikit_learn import HasMethods, Interval, StrOptions, fit_context
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.warn import warn

__all__ = ["ConformalSVC"]

# Up to this many rows every row is left out on its own; beyond, strata are.
ROWS_ALONE = 10_000


class _Score:
    """The parameter ``score`` of an estimator that has a method of this name too, as all classifiers have.

    The attribute is the method; the parameter is in ``get_params`` and in the estimator's ``vars``.
    """

    def __get__(self, estimator: Any, owner: type) -> Any:
        return ClassifierMixin.score if estimator is None else ClassifierMixin.score.__get__(estimator, owner)

    def __set__(self, estimator: Any, value: Any) -> None:
        vars(estimator)["score"] = value


class ConformalSVC(ConformalPredictions):
    r"""Sets of labels that hold the true one with a guaranteed probability, from all labelled rows.

    .. math:: C(x) = \{ y : p_y(x) > \varepsilon \}, \qquad
              p_y(x) = \frac{1 + \#\{ i : s_i \ge s_{n+1} \}}{n + 1}, \qquad \varepsilon = 1 - \text{level}

    The p-value of a label is the share of rows that are at least as strange as the new point would be with
    this label. How strange a row is, its score s, is minus a decision value of its own class. Ties, as
    between the free points of a machine, are broken by a vote: each other row votes for its own class with
    its kernel value as its weight, and the point with fewer votes for its class is the stranger. Several
    classes are taken one against the rest. No data are held out, and nothing is trained again: the exact
    machine with the new point, or without a row, follows from the solution by a path.

    Parameters
    ----------
    estimator : SVC, BayesSVC or LinearSVC(loss="hinge"), or a pipeline that ends in one
        The machine. Its kernel must be positive semi-definite.
    score : {"auto", "margin", "left_out", "jackknife+", "cv+"}, default="auto"
        Which machine the scores come from.

        * "margin": the machine trained on the rows and the new point, with the trial label.
        * "left_out": the same machine, trained without the row whose score it is. This takes a
          leave-one-out for every new point and label: for some hundreds of rows.
        * "jackknife+": the machine trained without one row, which gives both the row's score and the new
          point's. Cheap for many new points.
        * "cv+": the same with strata in place of single rows.
        * "auto": "jackknife+" up to 10,000 rows, otherwise "cv+".

        As an attribute, ``score`` is the method; ``get_params()["score"]`` and ``score_`` tell this one.
    class_conditional : {"auto"} or bool, default="auto"
        Compare with the rows of the trial label's class only. What is promised then holds within each class.
        "auto" does so for data with more columns than rows, where scores of different classes are not
        comparable; a precomputed kernel does not tell the number of columns.
    smoothed : bool, default=False
        Break the remaining ties at random. With "margin" and "left_out" this makes the p-values exactly
        uniform; with data of few distinct rows the sets are smaller. The random numbers depend on what the
        training rows and the point hold and on ``random_state``, not on the other points.
    random_state : int, RandomState instance or None, default=None
        Seed of the numbers that break ties if ``smoothed``; None draws new ones in each fit.
    n_jobs : int, default=None
        Number of joblib's jobs. The result does not depend on it.
    verbose : int, default=0
        1 shows the progress on stderr, if a fit or a prediction takes more than two seconds.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels of the classes.
    estimator_ : estimator
        A clone of ``estimator``. The steps of a pipeline before the machine are fitted; the machine itself is
        not.
    score_ : str
        The score that was used.
    class_conditional_ : bool
        Whether labels are compared within their class.
    guarantee_ : str
        What is promised, in a sentence.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : array of shape (`n_features_in_`,)
        Names of the features; only if X has feature names that are all strings.

    Notes
    -----
    With "margin" and "left_out" all n + 1 points are treated alike. If they are exchangeable, the set holds
    the true label with probability at least the level, for every n and every distribution. "jackknife+"
    promises ``2 level - 1``, and "cv+" ``2 level - 1 - sqrt(2 / n)`` with n the number of rows (those of the
    class, where labels are compared within it). Both give about the level in practice. What is computed from
    the training rows alone, such as ``gamma="scale"`` or a scaler before the machine, makes the promise
    approximate; :meth:`fit` warns. That of "cv+" is proven for folds of equal size; strata differ by at most
    one row of each class.

    References
    ----------
    Vovk, Gammerman and Shafer, "Algorithmic learning in a random world", 2005. Barber, Candes, Ramdas and
    Tibshirani, "Predictive inference with the jackknife+", Annals of Statistics 49, 2021. Romano, Sesia and
    Candes, "Classification with valid and adaptive coverage", NeurIPS 2020.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.svm import SVC
    >>> from bayes_svm import ConformalSVC
    >>> X, y = make_classification(120, flip_y=0.1, random_state=0)
    >>> model = ConformalSVC(SVC(gamma=0.05)).fit(X[:100], y[:100])
    >>> model.predict_set(X[100:103], confidence_level=0.9).tolist()
    [[True, True], [True, False], [True, True]]
    >>> model.p_values(X[100:103]).round(2).tolist()
    [[0.25, 0.18], [0.92, 0.02], [0.41, 0.11]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"])],
        "score": [StrOptions({"auto", "margin", "left_out", "jackknife+", "cv+"})],
        "class_conditional": [StrOptions({"auto"}), "boolean"],
        "smoothed": ["boolean"],
        "random_state": ["random_state"],
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
        score: str = "auto",
        class_conditional: str | bool = "auto",
        smoothed: bool = False,
        random_state: Any = None,
        *,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.score = score
        self.class_conditional = class_conditional
        self.smoothed = smoothed
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    score = _Score()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator, as of all of scikit-learn's.

        Parameters
        ----------
        deep : bool, default=True
            Also those of the estimator inside.

        Returns
        -------
        dict
            Names and values.
        """
        return {**super().get_params(deep), "score": vars(self)["score"]}

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator).input_tags
        # All SVMs take sparse matrices; the tags of those in scikit-learn 1.6 do not say so.
        sparse = inner.sparse if isinstance(self.estimator, Pipeline) else not inner.pairwise
        tags.input_tags.sparse, tags.input_tags.pairwise = sparse, inner.pairwise
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Solve the machine on all rows, and keep what new points are compared with.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array of shape (n_samples,)
            Labels.

        Returns
        -------
        ConformalSVC
            The fitted classifier itself.

        Raises
        ------
        TypeError
            If the estimator is not an SVM.
        ValueError
            If the kernel is not positive semi-definite; if it is precomputed and the score needs k(x, x) of
            new points; if a class has one member; if a LinearSVC has another loss than the hinge.
        MemoryError
            If the kernel matrix does not fit.

        Warns
        -----
        UserWarning
            If something was chosen from the training rows, so that the promise is approximate.
        ConvergenceWarning
            If the solution, or a machine without some of the rows, is not exact.
        """
        check_instance(self.estimator)
        labels = checked_labels(y)
        self.estimator_ = clone(self.estimator)
        X = self._prepared(X, labels, reset=True)
        with shown(self.verbose > 0), one_blas_thread(), working_threads(self.n_jobs):
            machine, solutions = machine_of(self._svm, X, labels)
            check_members(machine.classes, machine.y, machine.weight)
            self._check_kernel(machine)
            self._machine, self._solutions = machine, list(solutions)
            for solution in self._solutions:
                warn_if_inexact(solution)
            self.classes_ = machine.classes
            self._choose(machine)
            self._scores = self._scores_of(machine, self._solutions)
        self._smoothed = bool(self.smoothed)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        # New random numbers for new training rows: the promise is one over their draws.
        self._seed = seed_of_rows(told_apart(machine.X), machine.y, seed)
        broken = breaches(self.estimator_)
        if broken:
            warn(
                f"The guarantee is approximate, because {' and '.join(broken)} saw the training rows and not "
                "the new point. For an exact one use what does not depend on these rows: a number for gamma, "
                "class weights as a dict, a transformer that was fitted to other data."
            )
        reasons = [f"{' and '.join(broken)} saw the training rows only"] if broken else []
        if not all(solution.exact for solution in self._solutions):
            reasons.append("the solution is not exact")
        elif not self._scores.exact:
            reasons.append("a machine without some of the rows is not exact")
            warn(
                "The guarantee is approximate, because a machine without some of the rows is not exact: "
                "scale X, for example with StandardScaler, or lower C.",
                ConvergenceWarning,
            )
        self.guarantee_ = promise(self.score_, self.class_conditional_, self._smoothed, reasons)
        return self

    @property
    def _svm(self) -> Any:
        return last_of(self.estimator_)

    def _check_kernel(self, machine: Machine) -> None:
        """Refuse kernels for which there is no guarantee or no way to add a point."""
        if not machine.convex:
            raise ValueError(
                f"The kernel {machine.kernel} is not positive semi-definite: its solution depends on the row "
                "order, and nothing is guaranteed. Choose another kernel."
            )
        score = vars(self)["score"]
        if machine.kernel.precomputed and score in ("margin", "left_out"):
            raise ValueError(
                f"score={score!r} needs k(x, x) of new points, which a precomputed kernel does not hold: "
                "use score='jackknife+' or a callable kernel."
            )

    def _choose(self, machine: Machine) -> None:
        """What "auto" stands for."""
        n, wide = len(machine.y), machine.X.shape[1] > len(machine.y)
        score = vars(self)["score"]
        self.score_ = ("jackknife+" if n <= ROWS_ALONE else "cv+") if score == "auto" else score
        self.class_conditional_ = (
            wide if isinstance(self.class_conditional, str) else bool(self.class_conditional)
        )

    def _scores_of(self, machine: Machine, solutions: list[DualSolution]) -> Scores:
        conditional = self.class_conditional_
        if self.score_ in ("margin", "left_out"):
            return (MarginScores if self.score_ == "margin" else LeftOutScores)(
                machine, solutions, conditional
            )
        leaving = rows_alone(machine) if self.score_ == "jackknife+" else strata(machine)
        return KeptScores(machine, solutions, conditional, leaving, self.n_jobs)
