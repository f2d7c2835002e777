"""The reject option and the guarantee of its target risk."""

import pickle

import numpy as np
import pytest
import sklearn
from scipy.stats import binom
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayes_svm import BayesSVC, RejectOptionClassifier
from bayes_svm.decision import (
    coverage_scorer,
    neg_area_risk_coverage_scorer,
    neg_selective_risk_scorer,
    risk_coverage_curve,
)
from bayes_svm.metrics.risk_coverage import guaranteed_threshold, risk_upper_bound

X, Y = make_classification(600, flip_y=0.1, random_state=0)


# The labels of some checks are noise.
@pytest.mark.filterwarnings("ignore:The decision values do not separate")
@parametrize_with_checks(
    [RejectOptionClassifier(LogisticRegression()), RejectOptionClassifier(BayesSVC(kernel="linear"))]
)
def test_check_estimator(estimator, check):
    check(estimator)


def slow_curve(y, predicted, confidence, weight):
    points = []
    for threshold in sorted(set(confidence[weight > 0]), reverse=True):
        accepted = confidence >= threshold
        mass = weight[accepted].sum()
        points.append((threshold, mass / weight.sum(), weight[accepted & (y != predicted)].sum() / mass))
    return np.array(points).T


@pytest.mark.parametrize("digits", [1, 8])
def test_curve_is_that_of_a_loop(digits):
    random = np.random.default_rng(digits)
    y, predicted = random.integers(0, 3, (2, 60))
    confidence, weight = random.random(60).round(digits), random.integers(0, 3, 60).astype(float)
    curve = risk_coverage_curve(y, predicted, confidence, sample_weight=weight)
    thresholds, coverage, risk = slow_curve(y, predicted, confidence, weight)
    np.testing.assert_array_equal(curve.thresholds, thresholds)
    np.testing.assert_allclose(curve.coverage, coverage)
    np.testing.assert_allclose(curve.risk, risk)
    assert curve.at(thresholds[3]) == (curve.coverage[3], curve.risk[3])


def test_area_without_ties_is_the_mean_risk_over_counts():
    y, predicted, confidence = np.array([0, 0, 0, 0]), np.array([0, 1, 0, 1]), np.array([0.9, 0.8, 0.7, 0.6])
    assert risk_coverage_curve(y, predicted, confidence).area == pytest.approx(
        (0 + 1 / 2 + 1 / 3 + 2 / 4) / 4
    )


def test_upper_bound_inverts_the_binomial_tail():
    for errors, n, delta in [(0, 10, 0.05), (3, 50, 0.01), (49, 50, 0.1)]:
        assert binom.cdf(errors, n, risk_upper_bound(errors, n, delta)) == pytest.approx(delta)
    assert risk_upper_bound(5, 5, 0.05) == 1.0


@pytest.mark.parametrize("informative", [True, False])
@pytest.mark.parametrize("n", [100, 300])
def test_promised_risk_is_exceeded_in_at_most_delta_of_2000_runs(informative, n):
    """The confidence s is uniform on (1/2, 1), and a point is wrong with probability 1 - s.

    If the confidence is not informative, every point is wrong with a probability just above the target.
    """
    random, target, delta, runs = np.random.default_rng(0), 0.1, 0.1, 2000
    exceeded = found = 0
    for _ in range(runs):
        confidence = random.uniform(0.5, 1.0, n)
        wrong = random.random(n) < ((1 - confidence) if informative else target + 1e-9)
        threshold = guaranteed_threshold(wrong, confidence, target, delta)
        if threshold is not None:
            found += 1
            risk = (1 - threshold) / 2 if informative else target + 1e-9
            exceeded += risk > target
    assert exceeded <= delta * runs
    assert found > 20


def test_guaranteed_threshold_accepts_all_where_there_are_no_errors():
    assert guaranteed_threshold(np.zeros(500, bool), np.linspace(0.5, 1, 500), 0.05, 0.05) == 0.5
    assert guaranteed_threshold(np.ones(500, bool), np.linspace(0.5, 1, 500), 0.05, 0.05) is None
    assert guaranteed_threshold(np.zeros(9, bool), np.linspace(0.5, 1, 9), 0.05, 0.05) is None


def test_ties_are_one_threshold():
    wrong = np.r_[np.zeros(200, bool), np.ones(100, bool)]
    confidence = np.r_[np.full(200, 0.9), np.full(100, 0.6)]
    assert guaranteed_threshold(wrong, confidence, 0.1, 0.05) == 0.9


@pytest.mark.parametrize("estimator", [LogisticRegression(), BayesSVC()])
def test_without_a_rule_nothing_is_rejected(estimator):
    model = RejectOptionClassifier(estimator).fit(X, Y)
    plain = clone(estimator).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert not model.rejected(X).any()
    assert model.reject_label_ is None


@pytest.mark.parametrize("rule", [{"threshold": 0.7}, {"cost": 0.3}])
def test_chows_rule(rule):
    model = RejectOptionClassifier(LogisticRegression(), **rule).fit(X, Y)
    sure = model.predict_proba(X).max(axis=1)
    np.testing.assert_array_equal(model.predict(X) == -1, sure < 0.7)
    np.testing.assert_array_equal(model.rejected(X), sure < 0.7)
    assert model.fitted_on_ == "nothing"
    assert not hasattr(model, "coverage_")


def test_leave_one_out_probabilities_are_used_and_labelled_heuristic():
    model = RejectOptionClassifier(BayesSVC(C=0.1), target_risk=0.12).fit(X, Y)
    assert model.fitted_on_ == "left-out"
    assert not model.guaranteed_
    proba = model.estimator_.left_out_proba_
    accepted = proba.max(axis=1) >= model.threshold_
    assert model.coverage_ == pytest.approx(accepted.mean())
    assert model.selective_risk_ == pytest.approx(np.mean(proba.argmax(axis=1)[accepted] != Y[accepted]))
    assert 0 < model.coverage_ < 1
    assert model.selective_risk_ < 0.12
    piped = RejectOptionClassifier(make_pipeline(StandardScaler(), BayesSVC(C=0.1)), target_coverage=0.8)
    assert piped.fit(X, Y).fitted_on_ == "left-out"


def test_target_coverage_is_met_as_closely_as_ties_allow():
    model = RejectOptionClassifier(BayesSVC(C=0.1), target_coverage=0.8).fit(X, Y)
    assert 0.8 <= model.coverage_ < 0.8 + 2 / len(Y)
    assert RejectOptionClassifier(LogisticRegression(), target_coverage=1.0).fit(X, Y).coverage_ == 1.0


@pytest.mark.parametrize(
    ("cv", "source", "guaranteed"),
    [(None, "held-out", True), (0.5, "held-out", True), (5, "cross-validation", False)],
)
def test_where_the_threshold_comes_from(cv, source, guaranteed):
    model = RejectOptionClassifier(LogisticRegression(), target_risk=0.2, confidence=0.9, cv=cv).fit(X, Y)
    assert (model.fitted_on_, model.guaranteed_) == (source, guaranteed)
    again = clone(model).fit(X, Y)
    assert again.threshold_ == model.threshold_
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), again.predict(X))


def test_a_fitted_estimator_takes_all_data_as_held_out():
    fitted = LogisticRegression().fit(X[:300], Y[:300])
    model = RejectOptionClassifier(fitted, target_risk=0.2, cv="prefit").fit(X[300:], Y[300:])
    assert model.estimator_ is fitted
    assert model.guaranteed_
    assert model.coverage_ == np.mean(~model.rejected(X[300:]))


def test_cross_validated_probabilities_cover_classes_that_a_fold_lacks():
    y = Y.copy()
    y[:5] = 2
    model = RejectOptionClassifier(LogisticRegression(), target_coverage=0.9, cv=KFold(10)).fit(X, y)
    assert 0.9 <= model.coverage_ < 0.91


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array(["no", "yes"]), "reject"),
        (np.array(["no", "yes"], dtype=object), "reject"),
        (np.array([1, 2], dtype=np.uint8), -1),
        (np.array([-1, 1], dtype=np.int8), -2),
        (np.array([0.0, 1.0]), -1.0),
    ],
)
def test_reject_label_is_of_ys_type(labels, expected):
    model = RejectOptionClassifier(LogisticRegression(), threshold=0.9).fit(X, labels[Y])
    predicted = model.predict(X)
    assert set(predicted.tolist()) == {*labels.tolist(), expected}
    assert type(predicted.tolist()[0]) is type(labels.tolist()[0])


@pytest.mark.parametrize(
    ("labels", "label", "message"),
    [
        (np.array([0, 1]), 1, "one of the classes"),
        (np.array(["reject", "accept"]), None, "one of the classes"),
        (np.array([0, 1]), "reject", "not of the type of y"),
        (np.array(["a", "b"]), -1, "not of the type of y"),
        (np.array([False, True]), None, "no label for a rejected point"),
    ],
)
def test_reject_labels_that_cannot_be(labels, label, message):
    with pytest.raises(ValueError, match=message):
        RejectOptionClassifier(LogisticRegression(), threshold=0.9, reject_label=label).fit(X, labels[Y])


def test_own_reject_label():
    y = np.array(["no", "yes"])[Y]
    model = RejectOptionClassifier(LogisticRegression(), threshold=0.9, reject_label="ask a person")
    assert set(model.fit(X, y).predict(X)) == {"no", "yes", "ask a person"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0.5, "cost": 0.2}, "got threshold and cost"),
        ({"target_risk": 0.001}, "cannot be shown"),
        ({"threshold": 1.5}, "threshold"),
        ({"target_coverage": 0.0}, "target_coverage"),
        ({"target_coverage": 0.5, "cv": [(np.arange(50), np.arange(50, 100))]}, "predict every point"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        RejectOptionClassifier(LogisticRegression(), **options).fit(X, Y)


def test_classifiers_without_probabilities_are_refused():
    with pytest.raises(ValueError, match="SVC has no predict_proba"):
        RejectOptionClassifier(SVC(), threshold=0.9).fit(X, Y)


def test_weights_count_and_are_refused_where_they_break_the_guarantee():
    weight = np.arange(len(Y)) % 3
    model = RejectOptionClassifier(BayesSVC(C=0.1), target_coverage=0.7).fit(X, Y, sample_weight=weight)
    accepted = model.estimator_.left_out_proba_.max(axis=1) >= model.threshold_
    assert model.coverage_ == pytest.approx(np.average(accepted, weights=weight))
    with pytest.raises(ValueError, match="counts points"):
        RejectOptionClassifier(LogisticRegression(), target_risk=0.2).fit(X, Y, sample_weight=weight)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        RejectOptionClassifier(make_pipeline(StandardScaler(), LogisticRegression())).fit(
            X, Y, sample_weight=weight
        )


def test_metadata_is_routed():
    weight = (np.arange(len(Y)) % 3).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = make_pipeline(StandardScaler(), LogisticRegression().set_fit_request(sample_weight=True))
        inner[0].set_fit_request(sample_weight=False)
        model = RejectOptionClassifier(inner, target_coverage=0.9, cv=GroupKFold(4))
        model.set_fit_request(sample_weight=True)
        model.fit(X, Y, sample_weight=weight, groups=np.arange(len(Y)) // 10)
    direct = LogisticRegression().fit(StandardScaler().fit_transform(X), Y, sample_weight=weight)
    np.testing.assert_allclose(model.estimator_[-1].coef_, direct.coef_)


def test_precomputed_kernels_are_split_on_both_sides():
    X, y = load_iris(return_X_y=True)
    gram = X @ X.T
    # Single rows are left out, without folds. Strata and folds are chosen by the contents of the rows,
    # which are features in one case and kernel values in the other.
    linear, pre = (
        BayesSVC(kernel=kernel, leave_out="rows", multiclass="normalise")
        for kernel in ("linear", "precomputed")
    )
    options = {"target_coverage": 0.8, "cv": 0.3}
    a = RejectOptionClassifier(linear, **options).fit(X, y)
    b = RejectOptionClassifier(pre, **options).fit(gram, y)
    assert a.threshold_ == pytest.approx(b.threshold_)


def test_scorers_in_model_selection():
    model = RejectOptionClassifier(LogisticRegression(), threshold=0.8)
    scoring = {
        "coverage": coverage_scorer,
        "risk": neg_selective_risk_scorer,
        "area": neg_area_risk_coverage_scorer,
    }
    found = cross_validate(model, X, Y, scoring=scoring, cv=3, return_estimator=True, return_indices=True)
    for k, fitted in enumerate(found["estimator"]):
        test = found["indices"]["test"][k]
        accepted = ~fitted.rejected(X[test])
        assert found["test_coverage"][k] == pytest.approx(accepted.mean())
        errors = fitted.predict(X[test])[accepted] != Y[test][accepted]
        assert found["test_risk"][k] == pytest.approx(-errors.mean())
        assert -0.5 < found["test_area"][k] <= 0
    search = GridSearchCV(model, {"threshold": [0.6, 0.9]}, scoring=neg_selective_risk_scorer).fit(X, Y)
    assert search.best_params_["threshold"] == 0.9
    nothing = RejectOptionClassifier(LogisticRegression(), threshold=1.0).fit(X, Y)
    assert neg_selective_risk_scorer(nothing, X, Y) == 0.0 == coverage_scorer(nothing, X, Y)


def test_scorers_find_the_answers_in_pipelines_and_searches():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    bare = RejectOptionClassifier(BayesSVC(), target_coverage=0.6).fit(StandardScaler().fit_transform(X), y)
    area = neg_area_risk_coverage_scorer(bare, StandardScaler().fit_transform(X), y)
    inside = make_pipeline(StandardScaler(), RejectOptionClassifier(BayesSVC(), target_coverage=0.6))
    for labels in (y, names):
        assert neg_area_risk_coverage_scorer(inside.fit(X, labels), X, labels) == pytest.approx(area)
    search = GridSearchCV(inside, {"rejectoptionclassifier__target_coverage": [0.6]}, cv=3).fit(X, y)
    assert neg_area_risk_coverage_scorer(search, X, y) == pytest.approx(area)


def test_answers_without_a_probability_are_refused():
    class Strange(LogisticRegression):
        def predict(self, X):
            return np.full(len(X), 7)

    with pytest.raises(ValueError, match="predict gives 7, which is none of classes_"):
        neg_area_risk_coverage_scorer(Strange().fit(X, Y), X, Y)
