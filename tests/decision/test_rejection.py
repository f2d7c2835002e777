"""The reject option."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from _data import flipped
from bayes_svm import BayesSVC, RejectOptionClassifier

X, Y = flipped()


# The labels of some checks are noise.
@pytest.mark.filterwarnings("ignore:The decision values do not separate")
@parametrize_with_checks(
    [RejectOptionClassifier(LogisticRegression()), RejectOptionClassifier(BayesSVC(kernel="linear"))]
)
def test_check_estimator(estimator, check):
    check(estimator)


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


def test_target_coverage_is_met_as_closely_as_ties_allow():
    model = RejectOptionClassifier(BayesSVC(C=0.1), target_coverage=0.8).fit(X, Y)
    assert 0.8 <= model.coverage_ < 0.8 + 2 / len(Y)
    assert RejectOptionClassifier(LogisticRegression(), target_coverage=1.0).fit(X, Y).coverage_ == 1.0


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
