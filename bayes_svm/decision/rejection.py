"""A reject option for any classifier with probabilities."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import GroupKFold
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from bayes_svm.decision.guarantee import (
    NOTHING_ACCEPTED,
    guarantee_of_sets,
    guarantee_of_threshold,
    no_single_labels,
)
from bayes_svm.decision.labels import default_reject_label
from bayes_svm.decision.predictions import RejectingPredictions
from bayes_svm.decision.risk import (
    as_many_as_left,
    midway,
    one_of_each,
    out_of_reach,
    plain_threshold,
    shown_threshold,
    smallest_plain,
    smallest_shown,
)
from bayes_svm.decision.rules import check_rules, fixed_threshold, rule_in_words
from bayes_svm.decision.unseen import (
    UnseenAnswers,
    fit_and_answer,
    given_as,
    is_fitted_already,
    routed_parameters,
    weight_of_rows,
)
from bayes_svm.metrics.risk_coverage import RiskCoverageCurve, risk_coverage_curve
from bayes_svm.utils.checks import checked_labels, checked_weights, require_classes
from bayes_svm.utils.dealing import copies_of_weight
from bayes_svm.utils.scikit_learn import (
    HasMethods,
    Interval,
    LinkedToItsPage,
    RealNotInt,
    StrOptions,
    fit_context,
    num_samples,
)
from bayes_svm.utils.types import Array, Mask
from bayes_svm.utils.warn import warn

__all__ = ["RejectOptionClassifier"]


class RejectOptionClassifier(RejectingPredictions, LinkedToItsPage, MetaEstimatorMixin, BaseEstimator):
    r"""Classifier that rejects points whose answer is not sure enough.

    .. math:: \hat y(x) = k \text{ if } p_k(x) \ge t, \text{ otherwise reject}

    This is Chow's rule. Here k is what the estimator predicts: its most probable class, unless it has class
    weights. With ``guarantee="conformal"`` the rule is another: a point is answered if its conformal set is
    a single label, and the answer is this label.

    Give one of ``threshold``, ``cost``, ``target_risk`` and ``target_coverage``. If none is given, no point
    is rejected.

    Parameters
    ----------
    estimator : classifier
        Any classifier with ``predict_proba``; for ``guarantee="conformal"`` one with ``predict_set``.
    threshold : float in [0, 1], optional
        The threshold t itself.
    cost : float in (0, 1), optional
        Cost of a rejection if an error costs 1: ``t = 1 - cost``.
    target_risk : float in (0, 1), optional
        Largest risk wanted; ``guarantee`` says of what.
    target_coverage : float in (0, 1], optional
        Smallest share of points to accept.
    guarantee : {None, "conformal", "risk"}, default=None
        What is promised of ``target_risk``.

        * None: nothing. The threshold is the lowest at which the share of errors among the accepted points
          was measured to be at most the target. On new points it is often larger.
        * "risk": the share of errors among the accepted points is at most the target, with probability
          ``confidence`` over the draws of the data. Thresholds are tested in a fixed order, from strict to
          lax, up to the first that fails. On held-out data this is exact, if the share of errors passes the
          target only once as more points are accepted. With left-out or cross-validated probabilities it is
          an approximation: they are not independent, and not those of the one classifier that is used. If
          ``groups`` are passed to ``fit``, the tests count one row of each group, drawn at random, and the
          promise is about the share of errors among such rows. Taking the best of several ``random_state``
          breaks it.
        * "conformal": the probability that a point is accepted and answered wrongly is at most the target, if
          the sets of the estimator hold the true label with probability ``1 - target_risk``. No data are held
          out. It holds within each class if the guarantee of the sets does, as with
          ``ConformalSVC(class_conditional=True)``. Among the accepted points the share of errors is bounded
          by the target divided by the share accepted.
    confidence : float in (0, 1), default=0.9
        For ``guarantee="risk"``: the probability that the promise is kept.
    reject_label : label, optional
        What ``predict`` returns for a rejected point, of the type of y. The default is "reject" for strings.
        For numbers it is -1, or the smallest label minus 1 if there are negative labels (of uint64 the
        largest plus 1). Truth values have none: use numbers or strings for y.
    cv : None, "prefit", float, int, splitter or iterable of splits, default=None
        The data on which the threshold is chosen, and coverage and risk are measured. With
        ``guarantee="conformal"`` there are no such data: None, or "prefit" for a fitted estimator.

        * None: the estimator's left-out probabilities, if it has ``left_out_proba_`` as
          :class:`~bayes_svm.BayesSVC` has. Then no data are held out, and there is one fit. For other
          estimators a fifth of the data is held out if ``target_risk`` or ``target_coverage`` is given.
        * float: this share of the data is held out of the training, drawn within classes. If ``groups`` are
          passed to ``fit``, whole groups are: one of the ``max(2, round(1 / share))`` folds of
          :class:`~sklearn.model_selection.StratifiedGroupKFold`. Not for a precomputed kernel: give an int.
        * "prefit": the estimator is fitted already, and all data passed to ``fit`` are held-out data. None
          means the same for a :class:`~sklearn.frozen.FrozenEstimator`.
        * int, splitter or iterable: predictions by cross-validation, and then a fit to all data. An int means
          stratified folds, which keep the ``groups`` that are passed to ``fit`` whole.
    random_state : int, RandomState instance or None, default=None
        Seed of the split, and of the rows that stand for groups; None is always the same.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator.
    classes_ : array of shape (n_classes,)
        Its classes, without the reject label.
    threshold_ : float
        Points with a smaller probability of their predicted class are rejected; infinite if
        ``target_risk`` cannot be shown, and absent with ``guarantee="conformal"``.
    guarantee_ : str
        What is promised, in words.
    reject_label_ : label or None
        What ``predict`` returns for a rejected point; None if no rule is given.
    fitted_on_ : {"left-out", "held-out", "cross-validation", "nothing"}
        The data on which the threshold was chosen, and coverage and risk were measured.
    coverage_ : float
        Weighted share of points accepted. Absent if ``fitted_on_`` is "nothing".
    selective_risk_ : float
        Weighted share of errors among the accepted points: the risk measured, not its upper bound. NaN if
        no point is accepted, absent if ``fitted_on_`` is "nothing".
    risk_coverage_ : RiskCoverageCurve
        Both at every threshold. Absent if ``fitted_on_`` is "nothing".
    n_features_in_ : int
        Number of features, if the estimator knows it.
    feature_names_in_ : array of str
        Names of the features, if the estimator knows them.

    Notes
    -----
    ``score`` counts a rejection as an error; ``bayes_svm.decision`` has scorers of coverage, risk and their
    area. Points of equal confidence are accepted or rejected together.

    References
    ----------
    Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions on Information Theory 16(1),
    1970. Angelopoulos et al., "Learn then test: calibrating predictive algorithms to achieve risk control",
    2021.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayes_svm import BayesSVC, RejectOptionClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RejectOptionClassifier(BayesSVC(), target_risk=0.02, guarantee="risk").fit(scale(X), y)
    >>> round(model.coverage_, 3), round(model.selective_risk_, 3), model.fitted_on_
    (0.958, 0.011, 'left-out')
    >>> model.confusion_matrix(scale(X), y)
    array([[203,   4,   5],
           [  0, 349,   8]])
    >>> model.review_queue(scale(X))["reason"].iloc[0]
    'the probability of the answer, 0.5501, is below 0.7525, the threshold for target_risk=0.02'
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"])],
        "threshold": [Interval(Real, 0.0, 1.0, closed="both"), None],
        "cost": [Interval(Real, 0.0, 1.0, closed="neither"), None],
        "target_risk": [Interval(Real, 0.0, 1.0, closed="neither"), None],
        "target_coverage": [Interval(Real, 0.0, 1.0, closed="right"), None],
        "guarantee": [StrOptions({"conformal", "risk"}), None],
        "confidence": [Interval(Real, 0.0, 1.0, closed="neither")],
        "reject_label": "no_validation",
        "cv": [
            "cv_object",
            StrOptions({"prefit"}),
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
        ],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        threshold: float | None = None,
        cost: float | None = None,
        target_risk: float | None = None,
        target_coverage: float | None = None,
        guarantee: str | None = None,
        confidence: float = 0.9,
        reject_label: Any = None,
        cv: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.cost = cost
        self.target_risk = target_risk
        self.target_coverage = target_coverage
        self.guarantee = guarantee
        self.confidence = confidence
        self.reject_label = reject_label
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.classifier_tags.multi_class = inner.classifier_tags is None or inner.classifier_tags.multi_class
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Fit the classifier and choose the threshold.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows. They are passed to the estimator, and count in coverage and risk. So do those
            given to a pipeline's last step, such as ``bayessvc__sample_weight``.
        **params
            Passed to the estimator's ``fit``. If metadata routing is enabled, they are routed to the
            estimator and to the splitter.

        Returns
        -------
        RejectOptionClassifier
            The fitted classifier itself.

        Raises
        ------
        ValueError
            If more than one rule is given, or ``guarantee`` without ``target_risk``; if the estimator lacks
            ``predict_proba`` or ``predict_set``; if the reject label is one of the classes or not of the type
            of y; if the weights differ and ``guarantee="risk"``, whose tests count points; if groups are not
            one for each row; if there are groups or weights and ``guarantee="conformal"``, or weights that
            the estimator does not take; or if no part can be held out.
        TypeError
            If the estimator is a class, or ``fit`` gets parameters that a fitted estimator does not read.

        Warns
        -----
        UserWarning
            If ``target_risk`` cannot be shown; the warning names the smallest risk that can.
        """
        check_rules(self)
        # Predictions follow the parameters of the fit, whatever the parameters are then.
        self._rule, self._of_sets = rule_in_words(self), self.guarantee == "conformal"
        # Attributes of an earlier fit that this one does not set would otherwise remain.
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        labels = checked_labels(y)
        X, _ = indexable(X, labels)
        require_classes(labels)
        if self._of_sets and sample_weight is not None:
            raise ValueError("guarantee='conformal' counts rows: it takes no sample_weight.")
        routed = routed_parameters(self, sample_weight, params)
        given = weight_of_rows(self.estimator, routed[0], self.cv)
        given = sample_weight if given is None else given
        weight = np.ones(num_samples(X)) if given is None else checked_weights(given, X)
        found = self._fitted(X, labels, weight, routed)
        self.estimator_, self.fitted_on_ = found.estimator, found.source
        self.classes_ = self.estimator_.classes_
        # No point is rejected without a rule.
        self.reject_label_ = (
            None if self._rule is None else default_reject_label(self.classes_, self.reject_label, labels)
        )
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if self._of_sets:
            self._promise_of_sets(labels)
        else:
            self._choose(found, labels[found.rows], weight[found.rows])
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Where scikit-learn routes the metadata of ``fit``.

        Returns
        -------
        MetadataRouter
            Routes to the estimator, to the splitter, and of the weights to this classifier.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        splitter = GroupKFold() if isinstance(self.cv, Real) else self.cv  # which asks for groups
        if hasattr(splitter, "split"):
            router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def _fitted(self, X: Any, y: NDArray[Any], weight: Array, routed: tuple[dict, dict]) -> UnseenAnswers:
        """The fitted estimator and, unless its sets decide, its answers to points that it has not seen."""
        if self.guarantee == "conformal":
            if given_as("groups", routed[0] | routed[1]) is not None:
                raise ValueError("guarantee='conformal' counts rows, not groups: pass one row of each.")
            ready = is_fitted_already(self.estimator, self.cv)
            if ready:
                check_is_fitted(self.estimator)
            fitted = self.estimator if ready else clone(self.estimator).fit(X, y, **routed[0])
            return UnseenAnswers(fitted, "nothing", None, np.arange(len(y)))
        used = np.flatnonzero(weight > 0)
        needed = self.target_risk is not None or self.target_coverage is not None
        options = {"cv": self.cv, "random_state": self.random_state, "required": needed}
        return fit_and_answer(self.estimator, X, y, routed, used=used, **options)

    def _promise_of_sets(self, labels: NDArray[Any]) -> None:
        """Say what the sets promise, and warn if they cannot be single labels."""
        self._target = float(self.target_risk or 0.0)
        self.guarantee_ = guarantee_of_sets(self.estimator_, self._target)
        within = getattr(self.estimator_, "class_conditional_", False)
        why = no_single_labels(self._target, labels, within)
        if why is not None and not is_fitted_already(self.estimator, self.cv):
            warn(why)

    def _choose(self, found: UnseenAnswers, y: NDArray[Any], weight: Array) -> None:
        """Set the threshold, and measure coverage and risk if there are answers."""
        self.guarantee_ = guarantee_of_threshold(
            self.fitted_on_,
            self.target_risk,
            self.confidence if self.guarantee == "risk" else None,
            found.groups is not None,
        )
        if found.answers is None:
            self.threshold_ = fixed_threshold(self)
            return
        predicted, confidence = found.answers
        counted = weight if found.share is None else weight * found.share
        curve = risk_coverage_curve(y, predicted, confidence, sample_weight=counted)
        if self.target_risk is not None:
            self.threshold_ = self._for_risk(curve, predicted != y, confidence, weight, found)
        elif self.target_coverage is not None:
            # The tolerance is for rounding in the sums of the weights.
            enough = curve.coverage >= self.target_coverage * (1 - 1e-12)
            self.threshold_ = midway(curve.thresholds, int(np.argmax(enough)))
        else:
            self.threshold_ = fixed_threshold(self)
        self.risk_coverage_: RiskCoverageCurve = curve
        self.coverage_, self.selective_risk_ = curve.at(self.threshold_)

    def _for_risk(
        self, curve: RiskCoverageCurve, wrong: Mask, confidence: Array, weight: Array, answered: UnseenAnswers
    ) -> float:
        """Threshold for the target risk; infinity, with a warning, if there is none."""
        target, used = float(self.target_risk or 0.0), np.flatnonzero(weight > 0)
        if self.guarantee is None:
            found, sure = plain_threshold(curve, target), None
        else:
            if np.ptp(weight[used]) > 0:
                raise ValueError(
                    "guarantee='risk' counts points, but their weights in sample_weight differ. Leave "
                    "guarantee out, use target_coverage=, or repeat the points."
                )
            if answered.groups is not None:
                used = used[one_of_each(answered.groups[used], self.random_state)]
            elif answered.share is not None:
                # A row that stands for several copies is one point as soon as one of them left.
                share = np.minimum(1.0, answered.share * copies_of_weight(weight))[used]
                used = used[as_many_as_left(share, wrong[used], confidence[used])]
            wrong, confidence, sure = wrong[used], confidence[used], float(self.confidence)
            found = shown_threshold(wrong, confidence, target, sure)
        if found is not None:
            return found
        self.guarantee_ = NOTHING_ACCEPTED
        points = f"{len(used)} points" + (
            ", one of each group" if sure and answered.groups is not None else ""
        )
        least = smallest_plain(curve) if sure is None else smallest_shown(wrong, confidence, target, sure)
        warn(f"{out_of_reach(target, least, sure, points)} Every point is rejected.")
        return np.inf
