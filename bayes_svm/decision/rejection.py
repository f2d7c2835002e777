"""A reject option for any classifier with probabilities."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import assert_all_finite, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from bayes_svm.decision.answers import Answers, answers
from bayes_svm.decision.labels import default_reject_label, labels_with_rejection
from bayes_svm.decision.unseen import fit_and_answer
from bayes_svm.metrics.risk_coverage import RiskCoverageCurve, guaranteed_threshold, risk_coverage_curve
from bayes_svm.utils.checks import checked_labels, checked_weights
from bayes_svm.utils.metaestimators import check_instance, fit_parameters
from bayes_svm.utils.scikit_learn import (
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    fit_context,
    num_samples,
    routing_enabled,
)
from bayes_svm.utils.types import Array, Mask

__all__ = ["RejectOptionClassifier"]

# The parameters that set the threshold, of which at most one is given.
RULES = ("threshold", "cost", "target_risk", "target_coverage")


class RejectOptionClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Classifier that rejects points whose answer is not probable enough, by Chow's rule.

    .. math:: \hat y(x) = k \text{ if } p_k(x) \ge t, \text{ otherwise reject}

    Here k is what the estimator predicts: its most probable class, unless it has class weights. Give one
    of ``threshold``, ``cost``, ``target_risk`` and ``target_coverage``. If none is given, no point is
    rejected.

    Parameters
    ----------
    estimator : classifier
        Any classifier with ``predict_proba``.
    threshold : float in [0, 1], optional
        The threshold t itself.
    cost : float in (0, 1), optional
        Cost of a rejection if an error costs 1: ``t = 1 - cost``.
    target_risk : float in (0, 1), optional
        Largest share of errors wanted among the accepted points.
    target_coverage : float in (0, 1], optional
        Smallest share of points to accept.
    confidence : float in (0, 1), default=0.95
        For ``target_risk``: the probability, over the held-out data, that the risk of the fitted
        classifier is below the target.
    reject_label : label, optional
        What ``predict`` returns for a rejected point, of the type of y. The default is "reject" for
        strings. For numbers it is -1, or the smallest label minus 1 if there are negative labels.
    cv : None, "prefit", float, int, splitter or iterable of splits, default=None
        The data on which the threshold is chosen, and coverage and risk are measured.

        * None: the estimator's left-out probabilities, if it has ``left_out_proba_`` as
          :class:`~bayes_svm.BayesSVC` has. Then no data are held out, and there is one fit. For other
          estimators a fifth of the data is held out if ``target_risk`` or ``target_coverage`` is
          given.
        * float: this share of the data is held out of the training, drawn within classes. If ``groups``
          are passed to ``fit``, whole groups are held out: one of the ``round(1 / share)`` folds of
          :class:`~sklearn.model_selection.StratifiedGroupKFold`.
        * "prefit": the estimator is fitted already, and all data passed to ``fit`` are held-out data.
        * int, splitter or iterable: predictions by cross-validation, after which the estimator is
          fitted to all data. An int means stratified folds, which keep groups whole if ``groups`` are
          passed to ``fit``.
    random_state : int, RandomState instance or None, default=None
        Seed of the split that holds data out. None gives the same split every time.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator.
    classes_ : array of shape (n_classes,)
        The classes, without the reject label.
    threshold_ : float
        Points with a smaller probability of their predicted class are rejected.
    reject_label_ : label or None
        What ``predict`` returns for a rejected point; None if no rule is given.
    fitted_on_ : {"left-out", "held-out", "cross-validation", "nothing"}
        The data on which the threshold was chosen, and coverage and risk were measured.
    guaranteed_ : bool
        Whether the target risk is guaranteed, which it only is on held-out data. With left-out or
        cross-validated probabilities the target is a heuristic: these probabilities are not
        independent, and they are not those of the one classifier that is used.
    coverage_ : float
        Weighted share of points accepted. Absent if ``fitted_on_`` is "nothing".
    selective_risk_ : float
        Weighted share of errors among the accepted points: the risk measured, not its upper bound.
        Absent if ``fitted_on_`` is "nothing".
    risk_coverage_ : RiskCoverageCurve
        Coverage and risk at every threshold. Absent if ``fitted_on_`` is "nothing".
    n_features_in_ : int
        Number of features, if the estimator knows it.
    feature_names_in_ : array of str
        Names of the features, if the estimator knows them.

    Notes
    -----
    ``score`` counts a rejection as an error. The scorers in :mod:`bayes_svm.decision.scorers` measure
    coverage, selective risk and the area under the risk-coverage curve. Points of equal confidence are
    accepted or rejected together.

    References
    ----------
    Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions on Information
    Theory 16(1), 1970. Geifman and El-Yaniv, "Selective classification for deep neural
    networks", NeurIPS 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayes_svm import BayesSVC, RejectOptionClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RejectOptionClassifier(BayesSVC(), target_coverage=0.9).fit(scale(X), y)
    >>> round(model.coverage_, 3), round(model.selective_risk_, 3), model.fitted_on_
    (0.902, 0.008, 'left-out')
    >>> sorted(set(model.predict(scale(X)).tolist()))
    [-1, 0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"])],
        "threshold": [Interval(Real, 0.0, 1.0, closed="both"), None],
        "cost": [Interval(Real, 0.0, 1.0, closed="neither"), None],
        "target_risk": [Interval(Real, 0.0, 1.0, closed="neither"), None],
        "target_coverage": [Interval(Real, 0.0, 1.0, closed="right"), None],
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
        confidence: float = 0.95,
        reject_label: Any = None,
        cv: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.cost = cost
        self.target_risk = target_risk
        self.target_coverage = target_coverage
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
            Weights of the rows. They are passed to the estimator, and count in coverage and risk.
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
            If more than one rule is given; if the target cannot be reached; if the reject label is one
            of the classes or not of the type of y; or if the weights differ and ``target_risk`` is
            given, whose test counts points.
        """
        self._check_rules()
        labels = checked_labels(y)
        X, _ = indexable(X, labels)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        weight = np.ones(num_samples(X)) if sample_weight is None else checked_weights(sample_weight, X)
        found = fit_and_answer(
            self.estimator,
            X,
            labels,
            self._routed(sample_weight, params),
            cv=self.cv,
            random_state=self.random_state,
            required=self.target_risk is not None or self.target_coverage is not None,
        )
        self.estimator_, self.fitted_on_ = found.estimator, found.source
        self.classes_ = self.estimator_.classes_
        self.reject_label_ = self._checked_reject_label()
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self._choose(found.answers, labels[found.rows], weight[found.rows])
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes, or the reject label for rejected points.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Points to predict.

        Returns
        -------
        array of shape (n_samples,)
            What the estimator predicts, or the reject label.
        """
        check_is_fitted(self)
        predicted, confidence = answers(self.estimator_, X)
        if self.reject_label_ is None:
            return predicted
        return labels_with_rejection(predicted, confidence < self.threshold_, self.reject_label_)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, for rejected points too.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Points to predict.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities by the estimator.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    def rejected(self, X: Any) -> Mask:
        """Whether each point is rejected.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Points to predict.

        Returns
        -------
        array of bool of shape (n_samples,)
            True where the probability of the predicted class is below the threshold.
        """
        check_is_fitted(self)
        return np.asarray(answers(self.estimator_, X)[1] < self.threshold_)

    def get_metadata_routing(self) -> MetadataRouter:
        """Where scikit-learn routes the metadata of ``fit``.

        Returns
        -------
        MetadataRouter
            Routes to the estimator, to the splitter, and of the weights to this classifier.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        if hasattr(self.cv, "split"):
            router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def _check_rules(self) -> None:
        check_instance(self.estimator)
        given = [name for name in RULES if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"Give only one of {', '.join(RULES)}: got {' and '.join(given)}.")
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError(
                f"{type(self.estimator).__name__} has no predict_proba: rejection needs probabilities. "
                "Use bayes_svm.BayesSVC, or wrap it in sklearn.calibration.CalibratedClassifierCV."
            )

    def _routed(self, sample_weight: ArrayLike | None, params: dict[str, Any]) -> tuple[dict, dict]:
        """Parameters of the estimator's ``fit`` and of the splitter."""
        if routing_enabled():
            given = params if sample_weight is None else {"sample_weight": sample_weight, **params}
            routed = process_routing(self, "fit", **given)
            return routed.estimator.fit, routed.splitter.split if hasattr(self.cv, "split") else {}
        if isinstance(self.cv, str):
            return params, {}
        return fit_parameters(self.estimator, sample_weight, params), {}

    def _checked_reject_label(self) -> Any:
        """The reject label; None if no rule is given, as no point is rejected then."""
        if all(getattr(self, name) is None for name in RULES):
            return None
        return default_reject_label(self.classes_, self.reject_label)

    def _choose(self, found: Answers | None, y: NDArray[Any], weight: Array) -> None:
        """Set the threshold, and measure coverage and risk if there are answers."""
        self.guaranteed_ = False
        if found is None:
            self.threshold_ = self._given_threshold()
            return
        predicted, confidence = found
        curve = risk_coverage_curve(y, predicted, confidence, sample_weight=weight)
        if self.target_risk is not None:
            self.threshold_ = self._for_risk(predicted != y, confidence, weight)
            self.guaranteed_ = self.fitted_on_ == "held-out"
        elif self.target_coverage is not None:
            # The tolerance is for rounding in the sums of the weights.
            enough = curve.coverage >= self.target_coverage * (1 - 1e-12)
            self.threshold_ = float(curve.thresholds[np.argmax(enough)])
        else:
            self.threshold_ = self._given_threshold()
        self.risk_coverage_: RiskCoverageCurve = curve
        self.coverage_, self.selective_risk_ = curve.at(self.threshold_)

    def _given_threshold(self) -> float:
        if self.cost is not None:
            return 1.0 - float(self.cost)
        return 0.0 if self.threshold is None else float(self.threshold)

    def _for_risk(self, wrong: Mask, confidence: Array, weight: Array) -> float:
        """Threshold at which the test of the risk passes; only points with a weight above 0 count."""
        used = weight > 0
        if np.ptp(weight[used]) > 0:
            raise ValueError(
                "target_risk counts points, but their weights in sample_weight differ. Use threshold= or "
                "target_coverage=, or repeat the points."
            )
        found = guaranteed_threshold(
            wrong[used], confidence[used], float(self.target_risk or 0.0), 1 - self.confidence
        )
        if found is None:
            raise ValueError(
                f"target_risk={self.target_risk} cannot be shown at confidence={self.confidence} with "
                f"{int(used.sum())} points: raise target_risk, or give more data to choose the threshold on."
            )
        return found
