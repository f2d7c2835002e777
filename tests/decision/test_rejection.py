"""The reject option."""

import re

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from _data import flipped, three_classes
from bayes_svm import BayesSVC, ConformalSVC, RejectOptionClassifier
from bayes_svm.decision import coverage_scorer

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
        ({"guarantee": "risk"}, "guarantee='risk' needs target_risk"),
        ({"guarantee": "risk", "cost": 0.1}, "needs target_risk"),
        ({"guarantee": "conformal", "target_risk": 0.1}, "LogisticRegression has no predict_set"),
        ({"guarantee": "certain", "target_risk": 0.1}, "guarantee"),
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
        RejectOptionClassifier(LogisticRegression(), target_risk=0.2, guarantee="risk").fit(
            X, Y, sample_weight=weight
        )
    plain = RejectOptionClassifier(BayesSVC(C=0.1), target_risk=0.05).fit(X, Y, sample_weight=weight)
    assert 0 < plain.selective_risk_ <= 0.05
    with pytest.raises(ValueError, match="takes no sample_weight"):
        RejectOptionClassifier(make_pipeline(StandardScaler(), LogisticRegression())).fit(
            X, Y, sample_weight=weight
        )


def test_the_plain_threshold_accepts_all_that_the_measured_risk_allows():
    model = RejectOptionClassifier(BayesSVC(C=0.1), target_risk=0.05).fit(X, Y)
    curve = model.risk_coverage_
    assert model.selective_risk_ <= 0.05
    assert (curve.risk[curve.coverage > model.coverage_] > 0.05).all()
    assert model.guarantee_.startswith("Nothing is promised")


@pytest.mark.parametrize(
    ("cv", "target", "source", "word"),
    [
        (None, 0.1, "left-out", "probability about 0.8"),
        (0.4, 0.15, "held-out", "probability 0.8"),
        (3, 0.1, "cross-validation", "probability about 0.8"),
    ],
)
def test_the_tested_threshold_says_what_it_promises(cv, target, source, word):
    plain = RejectOptionClassifier(BayesSVC(C=0.1), target_risk=target, cv=cv)
    model = clone(plain).set_params(guarantee="risk", confidence=0.8).fit(X, Y)
    assert model.fitted_on_ == source
    assert word in model.guarantee_
    assert 0 < model.coverage_ < plain.fit(X, Y).coverage_
    assert model.selective_risk_ < target


@pytest.mark.parametrize("guarantee", [None, "risk"])
def test_what_cannot_be_shown_is_rejected_with_a_risk_that_can(guarantee):
    fitted, Z = LogisticRegression().fit(X, Y), X[:120]
    # The surest answer is wrong, and every fourth.
    order = np.argsort(-fitted.predict_proba(Z).max(axis=1))
    labels = fitted.predict(Z)
    labels[order[::4]] = 1 - labels[order[::4]]
    model = RejectOptionClassifier(fitted, target_risk=0.001, guarantee=guarantee, cv="prefit")
    with pytest.warns(UserWarning, match="Ask for a larger risk") as caught:
        model.fit(Z, labels)
    assert model.rejected(Z).all()
    assert (model.predict(Z) == -1).all()
    assert model.coverage_ == 0.0
    assert model.guarantee_.startswith("No point is accepted")
    assert "no threshold shows target_risk=0.001" in model.review_queue(Z).reason[0]
    least = float(re.search(r"smallest risk that can be shown is (\d\.\d+)\.", str(caught[0].message))[1])
    assert model.set_params(target_risk=least).fit(Z, labels).coverage_ > 0


class Sets(ClassifierMixin, BaseEstimator):
    """Sets of the labels that are near enough: none, one or several."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def _distances(self, X):
        return np.linalg.norm(X[:, None] - self.means_, axis=2)

    def predict(self, X):
        return self.classes_[self._distances(X).argmin(axis=1)]

    def predict_set(self, X, confidence_level=0.9):
        return self._distances(X) < 1.3 * confidence_level


class PromisingSets(Sets):
    guarantee_ = "The sets are a stand-in."


@pytest.mark.parametrize("names", [np.arange(3), np.array(["c", "a", "b"])])
@pytest.mark.parametrize("prefit", [False, True])
def test_sets_of_one_label_are_answers(names, prefit):
    Z, y = three_classes(90)
    y = names[y]
    sets = PromisingSets().fit(Z, y) if prefit else PromisingSets()
    model = RejectOptionClassifier(
        sets, target_risk=0.05, guarantee="conformal", cv="prefit" if prefit else None
    ).fit(Z, y)
    assert (model.estimator_ is sets) == prefit
    expected = model.estimator_.predict_set(Z, confidence_level=0.95)
    predicted, one = model.predict(Z), expected.sum(axis=1) == 1
    assert set(expected.sum(axis=1)) >= {0, 1, 2}
    np.testing.assert_array_equal(model.rejected(Z), ~one)
    np.testing.assert_array_equal(predicted[one], model.classes_[expected[one].argmax(axis=1)])
    assert set(predicted[~one]) == {model.reject_label_}
    assert "confidence_level=0.95" in model.guarantee_
    assert "The sets are a stand-in." in model.guarantee_
    assert not hasattr(model, "predict_proba")
    assert model.fitted_on_ == "nothing"
    assert not hasattr(model, "threshold_")
    assert 0 < coverage_scorer(model, Z, y) == pytest.approx(one.mean())


def test_what_conformal_sets_need():
    Z, y = three_classes(90)
    with pytest.raises(ValueError, match="leave cv out"):
        RejectOptionClassifier(Sets(), target_risk=0.05, guarantee="conformal", cv=3).fit(Z, y)
    with pytest.raises(NotFittedError):
        RejectOptionClassifier(Sets(), target_risk=0.05, guarantee="conformal", cv="prefit").fit(Z, y)
    with pytest.warns(UserWarning, match=r"smallest risk that can be shown is 0\.011: ask for a larger risk"):
        model = RejectOptionClassifier(Sets(), target_risk=0.01, guarantee="conformal").fit(Z, y)
    assert "stand-in" not in model.guarantee_


def test_conformal_sets_do_not_know_groups():
    Z, y = three_classes(90)
    model = RejectOptionClassifier(ConformalSVC(SVC()), target_risk=0.2, guarantee="conformal")
    with pytest.raises(ValueError, match="counts rows, not groups: pass one row of each"):
        model.fit(Z, y, groups=np.arange(90) // 3)


def test_weights_of_a_step_count_like_ones_of_all():
    weight = np.where(np.arange(len(Y)) % 3, 2.0, 0.0)
    wrong = np.where(weight, Y, -Y)
    direct = RejectOptionClassifier(BayesSVC(), threshold=0.7).fit(X, wrong, sample_weight=weight)
    model = RejectOptionClassifier(make_pipeline(BayesSVC()), threshold=0.7)
    model.fit(X, wrong, bayessvc__sample_weight=weight)
    assert (model.coverage_, model.selective_risk_) == (direct.coverage_, direct.selective_risk_)
    model.set_params(threshold=None, target_risk=0.4, guarantee="risk")
    with pytest.raises(ValueError, match="weights in sample_weight differ"):
        model.fit(X, Y, bayessvc__sample_weight=1.0 + weight)


def test_weights_of_a_scaler_are_not_those_of_the_rows():
    weight = 1.0 + (np.arange(len(Y)) % 3)
    model = RejectOptionClassifier(
        make_pipeline(StandardScaler(), BayesSVC()), target_risk=0.4, guarantee="risk"
    )
    plain = clone(model).fit(X, Y, standardscaler__sample_weight=np.ones(len(Y)))
    model.fit(X, Y, standardscaler__sample_weight=weight)
    assert model.risk_coverage_.coverage[-1] == plain.risk_coverage_.coverage[-1] == 1.0
    np.testing.assert_allclose(np.diff(model.risk_coverage_.coverage).min(), 1 / len(Y))
    both = {"standardscaler__sample_weight": np.ones(len(Y)), "bayessvc__sample_weight": weight}
    with pytest.raises(ValueError, match="weights in sample_weight differ"):
        model.fit(X, Y, **both)


def test_conformal_svc_keeps_its_word():
    Z, y = flipped(1200)
    sets = ConformalSVC(SVC(gamma=0.05), class_conditional=True)
    model = RejectOptionClassifier(sets, target_risk=0.1, guarantee="conformal").fit(Z[:300], y[:300])
    table = model.confusion_matrix(Z[300:], y[300:])
    wrong = (table[:, :-1].sum(axis=1) - table.diagonal()) / table.sum(axis=1)
    assert 0.3 < table[:, :-1].sum() / table.sum() < 0.95
    assert (wrong > 0).all()
    assert (wrong < 0.2).all()
    assert "within each class" in model.guarantee_


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


def few_distinct(n, seed):
    """Rows with few distinct values, so that many have the same probability."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, (n, 3)) * np.array([0.7, 0.3, 0.1])
    return values, (rng.random(n) < 1 / (1 + np.exp(4 * (0.8 - values @ [1.0, -0.7, 2.0])))).astype(int)


@pytest.mark.parametrize("rule", [{"target_risk": 0.1}, {"target_coverage": 0.6}])
@pytest.mark.parametrize("guarantee", [None, "risk"])
def test_equal_rows_are_accepted_or_rejected_together_alone_and_in_any_batch(rule, guarantee):
    if guarantee and "target_risk" not in rule:
        return
    (values, y), machine = few_distinct(300, 1), BayesSVC(kernel="linear").fit(*few_distinct(200, 0))
    model = RejectOptionClassifier(machine, cv="prefit", guarantee=guarantee, **rule).fit(values, y)
    together = model.rejected(values)
    np.testing.assert_array_equal(np.concatenate([model.rejected(row[None]) for row in values]), together)
    assert 0 < together.mean() < 1


class Unknowing(ClassifierMixin, BaseEstimator):
    """A classifier without an idea of its probabilities."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


def test_a_probability_that_is_no_number_is_rejected():
    assert RejectOptionClassifier(Unknowing(), threshold=0.9).fit(X, Y).rejected(X).all()


def test_a_rejection_is_an_error_even_where_a_row_has_its_label():
    fitted, labels = LogisticRegression().fit(X, Y), Y.copy()
    labels[:50] = -1
    model = RejectOptionClassifier(fitted, cv="prefit", threshold=1.0).fit(X, labels)
    assert model.reject_label_ == -2
    assert model.score(X, np.full(len(Y), -2)) == 0.0
    with pytest.raises(ValueError, match="choose another"):
        RejectOptionClassifier(fitted, cv="prefit", threshold=1.0, reject_label=-1).fit(X, labels)


def test_labels_of_another_type_than_the_fitted_classes_are_refused():
    fitted = LogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match="not of the type of the estimator's classes"):
        RejectOptionClassifier(fitted, cv="prefit", threshold=0.9).fit(X, Y.astype(str))


@pytest.mark.parametrize("label", [np.nan, 0.5])
def test_a_reject_label_is_one_that_the_labels_could_be(label):
    with pytest.raises(ValueError, match="is not of the type of y"):
        RejectOptionClassifier(LogisticRegression(), threshold=0.9, reject_label=label).fit(X, Y)


def test_nothing_of_an_earlier_fit_remains_and_later_parameters_change_no_set():
    model = RejectOptionClassifier(LogisticRegression(), target_risk=0.2).fit(X, Y)
    assert hasattr(model, "coverage_")
    model.set_params(target_risk=None, threshold=0.99).fit(X, Y)
    assert not hasattr(model, "coverage_")
    sets = ConformalSVC(BayesSVC(gamma=0.1))
    model = RejectOptionClassifier(sets, target_risk=0.1, guarantee="conformal").fit(X, Y)
    before = model.rejected(X)
    model.set_params(target_risk=0.4)
    np.testing.assert_array_equal(model.rejected(X), before)


def test_within_classes_a_risk_needs_members_of_two_classes():
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 8)
    wide = rng.normal(size=(16, 50)) + 3.0 * y[:, None]
    model = RejectOptionClassifier(ConformalSVC(SVC(kernel="linear")), target_risk=0.1, guarantee="conformal")
    with pytest.warns(UserWarning, match=r"8 rows of a class, .* can be shown is 0\.112"):
        model.fit(wide, y)
    assert model.rejected(wide).all()


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
@pytest.mark.parametrize("cv", [None, 0.2, 5, GroupKFold(5)])
def test_groups_stay_whole_for_estimators_that_know_none(cv):
    groups = np.arange(len(Y)) // 4
    for estimator in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        model = RejectOptionClassifier(estimator, cv=cv, target_risk=0.2).fit(X, Y, groups=groups)
        assert model.fitted_on_ == ("held-out" if cv is None or cv == 0.2 else "cross-validation")
    with pytest.raises(ValueError, match="keeps groups whole"):
        RejectOptionClassifier(LogisticRegression(), cv=KFold(5, shuffle=True), target_risk=0.2).fit(
            X, Y, groups=groups
        )


def test_left_out_rows_of_a_pipeline_ignore_no_groups():
    model = make_pipeline(StandardScaler(), BayesSVC())
    with pytest.raises(ValueError, match="bayessvc__groups"):
        RejectOptionClassifier(model, target_risk=0.2).fit(X, Y, groups=np.arange(len(Y)) // 4)


def test_a_pipeline_may_have_one_step():
    inside = Pipeline([("svc", BayesSVC())])
    model = Pipeline([("reject", RejectOptionClassifier(inside, threshold=0.9))]).fit(X, Y)
    assert 0 < coverage_scorer(model, X, Y) < 1
    assert len(model[0].review_queue(sparse.coo_matrix(X))) == model[0].rejected(X).sum()


def test_a_guarantee_counts_groups_and_not_their_rows():
    """Copies of a row are no further evidence: the same row many times shows what it shows once."""
    groups = np.repeat(np.arange(len(Y)), 5)
    model = RejectOptionClassifier(LogisticRegression(), target_risk=0.05, guarantee="risk", cv="prefit")
    model.estimator = LogisticRegression().fit(X, Y)
    once = clone(model).set_params(estimator=model.estimator).fit(X, Y)
    grouped = clone(model).set_params(estimator=model.estimator)
    grouped.fit(np.repeat(X, 5, axis=0), np.repeat(Y, 5), groups=groups)
    counted = clone(model).set_params(estimator=model.estimator)
    counted.fit(np.repeat(X, 5, axis=0), np.repeat(Y, 5))
    assert grouped.threshold_ == pytest.approx(once.threshold_)
    assert counted.threshold_ < once.threshold_
    assert "one drawn from each group" in grouped.guarantee_


def test_predictions_follow_the_parameters_of_the_fit():
    model = RejectOptionClassifier(LogisticRegression(), cost=0.3).fit(X, Y)
    before, queue = model.predict(X), model.review_queue(X)
    model.set_params(guarantee="conformal", target_risk=0.1, cost=None)
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.review_queue(X)["reason"].tolist() == queue["reason"].tolist()
    assert model.rejected(X).sum() == len(queue)
