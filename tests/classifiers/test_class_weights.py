"""Class weights are costs: they move the machine and what is predicted, not the probabilities' population."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss, recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from _data import noisy, three_classes
from bayes_svm import BayesSVC, PairwiseCouplingClassifier, RejectOptionClassifier
from bayes_svm.decision import risk_coverage_curve
from bayes_svm.decision.scorers import neg_selective_risk_scorer
from bayes_svm.selection.search import BayesSVCSearch


@pytest.fixture(scope="module", params=[0.01, 0.05])
def rare(request):
    """Training and test rows with a rare class."""
    X, y = make_classification(
        8000, 8, n_informative=4, weights=[1 - request.param], flip_y=0.0, random_state=3
    )
    order = np.random.default_rng(0).permutation(8000)
    train, test = order[:800], order[800:]
    X = StandardScaler().fit(X[train]).transform(X)
    return X[train], y[train], X[test], y[test]


@pytest.mark.parametrize("link", ["moderated", "sigmoid"])
def test_probabilities_are_those_of_the_population(rare, link):
    X, y, X_test, y_test = rare
    model = BayesSVC(class_weight="balanced", link=link).fit(X, y)
    assert model.left_out_proba_[:, 1].mean() == pytest.approx(y.mean(), abs=0.005)
    assert model.predict_proba(X_test)[:, 1].mean() == pytest.approx(y_test.mean(), abs=0.02)
    rival = CalibratedClassifierCV(SVC(class_weight="balanced"), ensemble=False).fit(X, y)
    ours, theirs = (log_loss(y_test, m.predict_proba(X_test)) for m in (model, rival))
    assert ours < 1.05 * theirs


def test_the_rare_class_is_predicted_more_often_with_weights(rare):
    X, y, X_test, y_test = rare
    plain, weighted = BayesSVC().fit(X, y), BayesSVC(class_weight="balanced").fit(X, y)
    assert recall_score(y_test, weighted.predict(X_test)) > recall_score(y_test, plain.predict(X_test))


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("class_weight", [{1: 7.0}, "balanced", {0: 0.2, 1: 3.0, 2: 1.0, -1: 0.5}])
def test_the_prediction_is_of_the_largest_cost_times_probability(several, class_weight):
    X, y = three_classes() if several else noisy()
    keep = (y != 1) | (np.cumsum(y == 1) <= 12)
    X, y = X[keep], y[keep]
    model = BayesSVC(class_weight=class_weight).fit(X, y)
    points = np.random.default_rng(0).normal(size=(200, X.shape[1]))
    costs = model.class_weight_ * model.predict_proba(points)
    np.testing.assert_array_equal(model.predict(points), model.classes_[costs.argmax(axis=1)])
    if several:
        values = model.decision_function(points)
        np.testing.assert_array_equal(model.predict(points), model.classes_[values.argmax(axis=1)])
    left_out = model.class_weight_ * model.left_out_proba_
    np.testing.assert_array_equal(model.left_out_.predictions, model.classes_[left_out.argmax(axis=1)])


def test_decision_values_of_several_classes_count_the_costs_as_prior_odds():
    X, y = three_classes()
    model = BayesSVC(class_weight={0: 1.0, 1: 4.0, 2: 1.0}).fit(X, y)
    shares = model.predict_proba(X) * model.class_weight_
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.decision_function(X), np.log(shares / (1 - shares)), atol=1e-9)


def test_the_machine_is_that_of_an_svc_with_the_same_weights():
    X, y = noisy()
    weighted = {"class_weight": {1: 5.0}, "C": 0.5}
    svc = SVC(**weighted, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        BayesSVC(**weighted).fit(X, y).decision_function(X), svc.decision_function(X), atol=1e-4
    )


@pytest.mark.parametrize("wrapped", [False, True])
def test_with_a_reject_option_the_answer_is_the_prediction_and_its_probability_the_confidence(rare, wrapped):
    X, y, X_test, y_test = rare
    base = BayesSVC(class_weight="balanced")
    base = make_pipeline(StandardScaler(), base) if wrapped else base
    reject = RejectOptionClassifier(base, target_coverage=0.8).fit(X, y)
    fitted = reject.estimator_
    predicted, proba = fitted.predict(X_test), fitted.predict_proba(X_test)
    confidence = proba[np.arange(len(y_test)), predicted]
    rejected = confidence < reject.threshold_
    np.testing.assert_array_equal(reject.rejected(X_test), rejected)
    np.testing.assert_array_equal(reject.predict(X_test)[~rejected], predicted[~rejected])
    last = fitted[-1] if wrapped else fitted
    wrong = last.left_out_.predicted != y
    accepted = last.left_out_proba_[np.arange(len(y)), last.left_out_.predicted] >= reject.threshold_
    assert reject.selective_risk_ == pytest.approx(np.mean(wrong[accepted]))
    curve = risk_coverage_curve(y_test, predicted, confidence)
    assert -neg_selective_risk_scorer(reject, X_test, y_test) == pytest.approx(curve.at(reject.threshold_)[1])


def test_sample_weights_count_for_the_population():
    X, y = noisy(n=200)
    weight = np.where(y == 1, 0.2, 1.0)
    model = BayesSVC(class_weight={1: 5.0}).fit(X, y, sample_weight=weight)
    rate = np.average(y == 1, weights=weight)
    assert np.average(model.left_out_proba_[:, 1], weights=weight) == pytest.approx(rate, abs=0.01)


def test_a_search_over_class_weights_answers_by_the_best_ones():
    X, y = noisy()
    grid = {"class_weight": [{1: 6.0}], "C": [0.5, 2.0]}
    search = BayesSVCSearch(BayesSVC(), grid, criterion="left_out_log_loss").fit(X, y)
    costs = search.class_weight_ * search.predict_proba(X)
    np.testing.assert_array_equal(search.predict(X), search.classes_[costs.argmax(axis=1)])
    np.testing.assert_allclose(search.class_weight_[1] / search.class_weight_[0], 6.0)


def test_without_class_weights_nothing_is_weighed():
    X, y = noisy()
    model = BayesSVC().fit(X, y)
    np.testing.assert_array_equal(model.class_weight_, [1.0, 1.0])
    equal = clone(model).set_params(class_weight={1: 1.0, -1: 1.0}).fit(X, y)
    np.testing.assert_array_equal(equal.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("link", ["kwok", "hinge", "clipped"])
def test_links_that_fit_nothing_count_the_weights_once(rare, link):
    X, y, X_test, _ = rare
    model = BayesSVC(class_weight="balanced", link=link).fit(X, y)
    values = model.decision_function(X_test)
    clear = np.abs(values) > 1e-9
    np.testing.assert_array_equal(model.predict(X_test)[clear], (values > 0)[clear])
    free = BayesSVC(class_weight={0: 1.0, 1: 1.0}, link=link).fit(X, y)
    np.testing.assert_array_equal(
        free.predict_proba(X_test), BayesSVC(link=link).fit(X, y).predict_proba(X_test)
    )


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 6.0, 2: 0.5}])
def test_coupled_pairs_answer_by_the_costs_too(class_weight):
    X, y = three_classes()
    keep = (y != 1) | (np.cumsum(y == 1) <= 12)
    X, y = X[keep], y[keep]
    model = PairwiseCouplingClassifier(BayesSVC(class_weight=class_weight)).fit(X, y)
    single = BayesSVC(class_weight=class_weight).fit(X, y).class_weight_
    np.testing.assert_allclose(model.class_weight_, single / single[0])
    predicted = model.classes_[(model.class_weight_ * model.predict_proba(X)).argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), predicted)
    np.testing.assert_array_equal(model.classes_[model.decision_function(X).argmax(axis=1)], predicted)
    two = y != 2
    pair = BayesSVC(class_weight={0: 1.0, 1: 6.0})
    np.testing.assert_array_equal(
        PairwiseCouplingClassifier(pair).fit(X[two], y[two]).predict(X), pair.fit(X[two], y[two]).predict(X)
    )


def test_equal_products_of_weight_and_probability_give_the_first_class():
    """Balanced weights make both classes worth the same where nothing separates them."""
    X = np.full((39, 1), 3.7)
    for n_first in range(3, 36, 3):
        y = np.arange(39) >= n_first
        with pytest.warns(UserWarning, match="do not separate"):
            model = BayesSVC(kernel="linear", link="dumais", class_weight="balanced").fit(X, y)
        products = model.class_weight_ * model.predict_proba(X[:1])
        np.testing.assert_array_equal(model.predict(X[:1]), model.classes_[products.argmax(axis=1)])
