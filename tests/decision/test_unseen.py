"""Answers to points that the classifier was not trained on."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedGroupKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from _data import flipped
from bayes_svm import BayesSVC, ConformalSVC, RejectOptionClassifier

X, Y = flipped()
# It leaves no rows out, so that a part would have to be held out.
PRECOMPUTED = KNeighborsClassifier(metric="precomputed")


def test_leave_one_out_probabilities_are_used():
    model = RejectOptionClassifier(BayesSVC(C=0.1), target_risk=0.05).fit(X, Y)
    assert model.fitted_on_ == "left-out"
    proba = model.estimator_.left_out_proba_
    accepted = proba.max(axis=1) >= model.threshold_
    assert model.coverage_ == pytest.approx(accepted.mean())
    assert model.selective_risk_ == pytest.approx(np.mean(proba.argmax(axis=1)[accepted] != Y[accepted]))
    assert 0 < model.coverage_ < 1
    assert model.selective_risk_ <= 0.05
    piped = RejectOptionClassifier(make_pipeline(StandardScaler(), BayesSVC(C=0.1)), target_coverage=0.8)
    assert piped.fit(X, Y).fitted_on_ == "left-out"


@pytest.mark.parametrize(("cv", "source"), [(None, "held-out"), (0.5, "held-out"), (5, "cross-validation")])
def test_where_the_threshold_comes_from(cv, source):
    model = RejectOptionClassifier(LogisticRegression(), target_risk=0.2, guarantee="risk", cv=cv).fit(X, Y)
    assert model.fitted_on_ == source
    again = clone(model).fit(X, Y)
    assert again.threshold_ == model.threshold_
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), again.predict(X))


def test_a_fitted_estimator_takes_all_data_as_held_out():
    fitted = LogisticRegression().fit(X[:300], Y[:300])
    model = RejectOptionClassifier(fitted, target_risk=0.2, cv="prefit").fit(X[300:], Y[300:])
    assert model.estimator_ is fitted
    assert model.fitted_on_ == "held-out"
    assert model.coverage_ == np.mean(~model.rejected(X[300:]))


def test_cross_validated_probabilities_cover_classes_that_a_fold_lacks():
    y = Y.copy()
    y[:5] = 2
    model = RejectOptionClassifier(LogisticRegression(), target_coverage=0.9, cv=KFold(10)).fit(X, y)
    assert 0.9 <= model.coverage_ < 0.91


def test_precomputed_kernels_are_split_on_both_sides():
    X, y = load_iris(return_X_y=True)
    gram = X @ X.T
    # Single rows are left out, without folds. Strata and folds are chosen by the contents of the rows,
    # which are features in one case and kernel values in the other.
    linear, pre = (
        BayesSVC(kernel=kernel, leave_out="rows", multiclass="normalise")
        for kernel in ("linear", "precomputed")
    )
    options = {"target_coverage": 0.8, "cv": 3}
    a = RejectOptionClassifier(linear, **options).fit(X, y)
    b = RejectOptionClassifier(pre, **options).fit(gram, y)
    assert a.threshold_ == pytest.approx(b.threshold_)


@pytest.mark.parametrize(("estimator", "cv"), [(BayesSVC(kernel="precomputed"), 0.3), (PRECOMPUTED, None)])
def test_no_part_is_held_out_of_a_kernel_matrix(estimator, cv):
    """A machine of some of the rows could not be given the kernel matrices of new ones."""
    with pytest.raises(ValueError, match="give cv an int"):
        RejectOptionClassifier(estimator, target_coverage=0.8, cv=cv).fit(np.abs(X[:, :1] - X[:, 0]), Y)


@pytest.mark.parametrize("cv", [0.3, 3])
@pytest.mark.parametrize("grouped", [False, True])
def test_rows_without_weight_have_no_part_in_the_split(cv, grouped):
    weight = (np.arange(len(Y)) % 5 > 0).astype(float)
    used, groups = weight > 0, np.arange(len(Y)) // 7
    model = RejectOptionClassifier(LogisticRegression(), target_coverage=0.8, cv=cv)
    given = {"groups": groups} if grouped else {}
    part = {"groups": groups[used]} if grouped else {}
    a = clone(model).fit(X, Y, sample_weight=weight, **given)
    b = clone(model).fit(X[used], Y[used], **part)
    assert a.threshold_ == pytest.approx(b.threshold_)
    assert a.coverage_ == b.coverage_
    assert a.selective_risk_ == b.selective_risk_


@pytest.mark.parametrize("cv", [None, 5])
def test_a_search_is_given_the_groups_of_its_rows(cv):
    groups = np.arange(len(Y)) // 4
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=GroupKFold(3))
    model = RejectOptionClassifier(search, target_coverage=0.8, cv=cv).fit(X, Y, groups=groups)
    trained = StratifiedGroupKFold(5, shuffle=True, random_state=0).split(X, Y, groups)
    rows = next(trained)[0] if cv is None else np.arange(len(Y))
    expected = clone(search).fit(X[rows], Y[rows], groups=groups[rows])
    scores = model.estimator_.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(scores, expected.cv_results_["mean_test_score"])


@pytest.mark.parametrize("cv", [5, 0.3, "prefit"])
@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.arange(2 * len(Y)) // 4, "one label for each of the 600 rows"),
        (np.arange(len(Y) - 1) // 4, "one label for each of the 600 rows"),
        (np.zeros((len(Y), 2)), "one label for each of the 600 rows"),
        (np.where(np.arange(len(Y)) == 3, np.nan, np.arange(len(Y)) // 4), "holds nan"),
    ],
)
def test_groups_that_are_not_one_for_each_row_are_refused(cv, groups, message):
    estimator = LogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match=message):
        RejectOptionClassifier(estimator, target_coverage=0.8, cv=cv).fit(X, Y, groups=groups)


@pytest.mark.parametrize(("groups", "y"), [(None, [0, 1, 1, 1]), (np.arange(4) // 2, [0, 0, 1, 1])])
def test_too_few_rows_to_hold_a_part_out_name_cv(groups, y):
    model = RejectOptionClassifier(LogisticRegression(), target_risk=0.2, cv=0.3)
    given = {} if groups is None else {"groups": groups}
    with pytest.raises(ValueError, match=r"cv=0\.3 cannot hold a part of these rows out"):
        model.fit(X[:4], y, **given)


def repeated(seed, n):
    """Rows of which four in ten are one point, where nearly all labels are alike."""
    random = np.random.default_rng(seed)
    X, many = random.normal(size=(n, 2)), random.random(n) < 0.4
    X[many] = 0.7
    share = np.where(many, 0.995, np.where(X[:, 0] > 0, 0.8, 0.2))
    return X, (random.random(n) < share).astype(int)


def test_equal_rows_of_which_some_left_count_for_those():
    X, y = repeated(0, 2000)
    model = RejectOptionClassifier(BayesSVC(leave_out_size=1000), target_coverage=0.5).fit(X, y)
    left = model.estimator_.left_out_
    assert len(left.rows) > left.weight.sum() + 100  # equal rows, of which only some left
    coverage, risk = model.risk_coverage_.at(0.0)
    assert (coverage, risk) == (1.0, pytest.approx(left.error))
    accepted = left.proba[left.rows].max(axis=1) >= model.threshold_
    counted = left.weight[left.rows]
    assert model.coverage_ == pytest.approx(counted[accepted].sum() / counted.sum())


def test_a_promised_risk_counts_as_many_equal_rows_as_left():
    X, y = repeated(1, 3000)
    X_new, y_new = repeated(2, 20000)
    model = RejectOptionClassifier(BayesSVC(leave_out_size=1000), target_risk=0.11, guarantee="risk")
    answers = model.fit(X, y).predict(X_new)
    answered = answers != model.reject_label_
    assert 0.2 < answered.mean() < 1.0
    assert np.mean(answers[answered] != y_new[answered]) <= 0.11
    # Of rows with equal weights above 1 single copies leave, and each row is a point as before.
    random = np.random.default_rng(3)
    X, y = random.normal(size=(1500, 2)), random.random(1500)
    y = (y < 1.0 / (1.0 + np.exp(-3.0 * X[:, 0]))).astype(int)
    model.set_params(target_risk=0.15)
    for w in (1.0, 20.0):
        model.set_params(estimator__C=1.0 / w).fit(X, y, sample_weight=np.full(1500, w))
        assert model.coverage_ > 0.5
        assert model.selective_risk_ <= 0.15


def test_left_out_answers_of_a_frozen_classifier_are_not_those_of_the_rows_given():
    fitted = BayesSVC().fit(X[:200], Y[:200])
    given = X[200:400], Y[200:400]
    prefit = RejectOptionClassifier(fitted, target_risk=0.2, cv="prefit").fit(*given)
    frozen = RejectOptionClassifier(FrozenEstimator(fitted), target_risk=0.2).fit(*given)
    assert frozen.fitted_on_ == "held-out"
    assert (frozen.threshold_, frozen.coverage_) == (prefit.threshold_, prefit.coverage_)
    piped = make_pipeline(StandardScaler(), FrozenEstimator(fitted))
    assert RejectOptionClassifier(piped, target_risk=0.2).fit(*given).fitted_on_ == "held-out"
    some = np.random.default_rng(0).choice([1.0, 2.0], size=200)
    counted = RejectOptionClassifier(FrozenEstimator(fitted), target_coverage=0.8)
    assert counted.fit(*given, sample_weight=some).coverage_ >= 0.8


@pytest.mark.parametrize("estimator", [BayesSVC().fit(X, Y), FrozenEstimator(BayesSVC().fit(X, Y))])
def test_nothing_that_is_passed_to_a_fitted_estimator_is_dropped(estimator):
    model = RejectOptionClassifier(estimator, cv="prefit" if isinstance(estimator, BayesSVC) else None)
    with pytest.raises(TypeError, match="fit got bogus: with an estimator that is fitted already, only"):
        model.fit(X, Y, bogus=3)


def test_weights_count_for_an_estimator_that_is_fitted_already():
    piped = make_pipeline(StandardScaler(), BayesSVC()).fit(X, Y)
    weight = np.where(Y == 1, 5.0, 1.0)
    ready = RejectOptionClassifier(piped, cv="prefit", target_coverage=0.8)
    expected = ready.fit(X, Y, bayessvc__sample_weight=weight).coverage_
    assert ready.fit(X, Y, sample_weight=weight).coverage_ == expected
    frozen = RejectOptionClassifier(FrozenEstimator(piped), target_coverage=0.8)
    assert frozen.fit(X, Y, bayessvc__sample_weight=weight).coverage_ == expected
    with config_context(enable_metadata_routing=True):
        assert ready.fit(X, Y, sample_weight=weight).coverage_ == expected
    one = RejectOptionClassifier(LogisticRegression(), target_coverage=0.8)
    assert one.fit(X, Y, sample_weight=2.0).coverage_ == one.fit(X, Y).coverage_


def test_weights_that_are_routed_under_another_name_count():
    weight = np.where(Y == 1, 5.0, 1.0)
    with config_context(enable_metadata_routing=True):
        direct = BayesSVC().set_fit_request(sample_weight="importance")
        for estimator in (direct, make_pipeline(StandardScaler(), direct)):
            model = RejectOptionClassifier(estimator, target_coverage=0.8).fit(X, Y, importance=weight)
            left = model.risk_coverage_.at(0.0)
            inner = model.estimator_[-1] if isinstance(estimator, Pipeline) else model.estimator_
            assert left[1] == pytest.approx(inner.left_out_.error)
            with pytest.raises(ValueError, match="guarantee='risk' counts points"):
                model.set_params(target_coverage=None, target_risk=0.2, guarantee="risk").fit(
                    X, Y, importance=weight
                )


def test_sets_take_no_weights_however_they_are_passed():
    sets = ConformalSVC(SVC(gamma=0.1))
    model = RejectOptionClassifier(sets, target_risk=0.2, guarantee="conformal")
    with pytest.raises(ValueError, match="guarantee='conformal' counts rows: it takes no sample_weight"):
        model.fit(X, Y, sample_weight=np.ones(len(Y)))
    with config_context(enable_metadata_routing=True):
        wants = model.set_fit_request(sample_weight=True)
        with pytest.raises(ValueError, match="guarantee='conformal' counts rows: it takes no sample_weight"):
            wants.fit(X, Y, sample_weight=np.ones(len(Y)))
    ready = RejectOptionClassifier(sets.fit(X, Y), target_risk=0.2, guarantee="conformal", cv="prefit")
    with pytest.raises(ValueError, match="guarantee='conformal' counts rows: it takes no sample_weight"):
        ready.fit(X, Y, sample_weight=np.ones(len(Y)))


def test_a_number_is_a_weight_of_every_row():
    model = RejectOptionClassifier(BayesSVC(C=0.1), target_coverage=0.8)
    expected = model.fit(X, Y, sample_weight=np.full(len(Y), 2.0)).threshold_
    assert model.fit(X, Y, sample_weight=2.0).threshold_ == expected
    piped = RejectOptionClassifier(make_pipeline(FunctionTransformer(), BayesSVC(C=0.1)), target_coverage=0.8)
    assert piped.fit(X, Y, bayessvc__sample_weight=2.0).threshold_ == expected


@pytest.mark.parametrize("cv", [3, 0.2])
def test_groups_are_routed_to_folds_by_number(cv):
    groups = np.arange(len(Y)) // 2
    model = RejectOptionClassifier(LogisticRegression(), target_coverage=0.8, cv=cv)
    expected = model.fit(X, Y, groups=groups).threshold_
    with config_context(enable_metadata_routing=True):
        assert model.fit(X, Y, groups=groups).threshold_ == expected
        model.fit(X, Y)


def test_a_frozen_conformal_estimator_was_trained_on_other_rows():
    sets = FrozenEstimator(ConformalSVC(SVC(gamma=0.1)).fit(X, Y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # six rows are too few for sets of one label, had they trained it
        model = RejectOptionClassifier(sets, target_risk=0.1, guarantee="conformal").fit(X[:6], Y[:6])
    assert model.estimator_ is sets
    assert not model.rejected(X).all()


def test_groups_are_routed_to_an_estimator_that_asks_for_them():
    groups = np.arange(len(Y)) // 2
    expected = RejectOptionClassifier(BayesSVC(C=0.1), target_coverage=0.8).fit(X, Y, groups=groups)
    sets = ConformalSVC(SVC(gamma=0.1), "jackknife+")
    with config_context(enable_metadata_routing=True):
        direct = BayesSVC(C=0.1).set_fit_request(groups=True)
        for estimator in (direct, make_pipeline(FunctionTransformer(), direct)):
            model = RejectOptionClassifier(estimator, target_coverage=0.8).fit(X, Y, groups=groups)
            assert model.fitted_on_ == "left-out"
            assert model.threshold_ == expected.threshold_
        # Groups for the folds outside alone.
        for inner in (
            RejectOptionClassifier(sets, target_risk=0.3, guarantee="conformal"),
            RejectOptionClassifier(BayesSVC(C=0.1).set_fit_request(groups=False), target_coverage=0.8),
        ):
            found = cross_validate(inner, X[:40], Y[:40], cv=GroupKFold(2), params={"groups": groups[:40]})
            assert np.isfinite(found["test_score"]).all()
