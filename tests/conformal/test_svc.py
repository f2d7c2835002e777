"""Conformal sets: p-values, sets, what is promised and what is refused."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from _data import awkward, flipped, noisy, three_classes
from bayes_svm import BayesSVC, ConformalSVC
from bayes_svm.conformal import scores
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.leave_one_out.cases import strata
from oracles.conformal import full_p_values, kept_p_values

SCORES = ("margin", "left_out", "jackknife+", "cv+")


def expected_p_values(estimator, X, y, new, score, conditional):
    if score in ("margin", "left_out"):
        return full_p_values(estimator, X, y, new, score == "left_out", conditional)
    folds = np.arange(len(y))
    if score == "cv+":
        leaving = strata(machine_of(estimator, X, y)[0])
        folds = np.empty(len(y))
        assert leaving.part_each
        folds[leaving.part_row] = leaving.case
    return kept_p_values(estimator, X, y, new, folds, conditional)


@parametrize_with_checks(
    [
        ConformalSVC(SVC(gamma=0.1)),
        ConformalSVC(SVC(gamma=0.1), "margin", smoothed=True, random_state=0),
        ConformalSVC(BayesSVC(gamma=0.1), "cv+", class_conditional=True),
    ]
)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("conditional", [False, True])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("make", [noisy, three_classes])
def test_p_values_are_those_of_training_again(make, score, conditional):
    X, y = make(n=30)
    new = np.random.default_rng(1).normal(size=(5, X.shape[1]))
    for estimator in (SVC(C=2.0, gamma=0.5), SVC(C=0.1, kernel="linear")):
        p = ConformalSVC(estimator, score, conditional).fit(X, y).p_values(new)
        expected = expected_p_values(estimator, X, y, new, score, conditional)
        np.testing.assert_allclose(p, expected, atol=1e-12)


@pytest.mark.parametrize("score", ["margin", "left_out", "jackknife+"])
def test_ties_and_repeated_rows_count_one_by_one(score):
    X, y = awkward(n=24)
    new = np.vstack([X[:3], [[0.5, 1.0]]])
    p = ConformalSVC(SVC(gamma=0.5), score, False).fit(X, y).p_values(new)
    np.testing.assert_allclose(p, expected_p_values(SVC(gamma=0.5), X, y, new, score, False), atol=1e-12)


@pytest.mark.parametrize("conditional", [False, True])
@pytest.mark.parametrize("score", SCORES)
def test_classes_may_have_weights_and_rows_of_several_classes_be_equal(score, conditional):
    X, y = three_classes(n=24)
    for rows in zip(*(np.flatnonzero(y == k)[:3] for k in range(3)), strict=True):
        X[list(rows)] = X[rows[0]]
    new = np.vstack([np.random.default_rng(1).normal(size=(4, X.shape[1])), X[:1]])
    estimator = SVC(C=1.0, gamma=0.5, class_weight={0: 0.2, 1: 1.0, 2: 5.0})
    p = ConformalSVC(estimator, score, conditional).fit(X, y).p_values(new)
    np.testing.assert_allclose(p, expected_p_values(estimator, X, y, new, score, conditional), atol=1e-12)
    again = ConformalSVC(estimator, score, conditional).fit(X[::-1], y[::-1])
    np.testing.assert_allclose(again.p_values(new), p, atol=1e-12)


@pytest.mark.parametrize("score", ["margin", "jackknife+", "cv+"])
def test_with_a_huge_bound_rounding_breaks_no_ties(score):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X, new = np.round(rng.normal(size=(200, 2)) + 0.5 * y[:, None], 1), np.round(rng.normal(size=(60, 2)), 1)
    model = ConformalSVC(SVC(C=1e5, gamma=0.5), score).fit(X, y)
    p = model.p_values(new)
    np.testing.assert_array_equal(model.p_values(new), p)
    np.testing.assert_array_equal(np.vstack([model.p_values(one[None]) for one in new]), p)
    order = rng.permutation(200)
    np.testing.assert_array_equal(clone(model).fit(X[order], y[order]).p_values(new), p)


def with_one_huge_row():
    random = np.random.default_rng(9)
    y = np.arange(14) % 2
    X = random.normal(size=(14, 2)) + 0.7 * y[:, None]
    X[0] *= 1e4
    return X, y


def test_a_machine_with_the_new_point_that_is_not_exact_is_told():
    X, y = with_one_huge_row()
    model = ConformalSVC(SVC(C=1e4, kernel="linear"), "margin").fit(X[1:], y[1:])
    with pytest.warns(ConvergenceWarning, match="With 1 of the 1 points as one more row, the machine is not"):
        model.p_values(X[:1])


@pytest.mark.filterwarnings("ignore:With 1 of the 1 points as one more row, the machine is not exact")
def test_with_one_huge_row_each_rank_is_as_frequent_as_it_must_be():
    """Each of 14 points is the new one in turn: the ranks within a class are those of one fixed order."""
    X, y = with_one_huge_row()
    model = ConformalSVC(SVC(C=1e4, kernel="linear"), "margin", True)
    own = [model.fit(np.delete(X, i, 0), np.delete(y, i)).p_values(X[[i]])[0, y[i]] for i in range(14)]
    for label in (0, 1):
        ranks = np.sort(np.rint(7 * np.array(own)[y == label]))
        assert np.all(ranks >= np.arange(1, 8))


def test_labels_may_be_strings_in_any_order():
    X, y = three_classes(n=30)
    names = np.array(["b", "c", "a"])[y]
    model, numbered = (ConformalSVC(SVC(gamma=0.5), "margin").fit(X, labels) for labels in (names, y))
    assert model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.p_values(X[:6]), numbered.p_values(X[:6])[:, [2, 0, 1]])
    assert set(model.predict(X)) <= {"a", "b", "c"}


@pytest.mark.parametrize("score", SCORES)
def test_the_row_order_and_a_sparse_matrix_change_nothing(score):
    X, y = noisy(n=40)
    order = np.random.default_rng(0).permutation(40)
    new = np.random.default_rng(1).normal(size=(6, 3))
    p = ConformalSVC(SVC(gamma=0.5), score).fit(X, y).p_values(new)
    np.testing.assert_allclose(ConformalSVC(SVC(gamma=0.5), score).fit(X[order], y[order]).p_values(new), p)
    rows = sparse.csr_matrix(X)
    np.testing.assert_allclose(
        ConformalSVC(SVC(gamma=0.5), score).fit(rows, y).p_values(sparse.csr_matrix(new)), p
    )


def test_a_set_holds_the_labels_above_the_level_and_levels_make_an_axis():
    X, y = flipped(200)
    model = ConformalSVC(SVC(gamma=0.05), "margin").fit(X[:100], y[:100])
    p, sets = model.p_values(X[100:]), model.predict_set(X[100:], [0.8, 0.95])
    assert sets.shape == (100, 2, 2)
    np.testing.assert_array_equal(sets[:, :, 0], p > 0.2)
    np.testing.assert_array_equal(sets[:, :, 1], model.predict_set(X[100:], 0.95))
    assert model.predict_set(X[100:]).shape == (100, 2)
    # The set of a larger level holds that of a smaller one.
    assert np.all(sets[:, :, 0] <= sets[:, :, 1])


def test_rounding_of_the_level_decides_nothing():
    """19 rows: a p-value of exactly 0.1 is not above 1 - 0.9."""
    X = np.arange(19.0)[:, None]
    model = ConformalSVC(SVC(kernel="linear"), "jackknife+", False).fit(X, (X[:, 0] > 9).astype(int))
    p = model.p_values(np.linspace(-3, 22, 60)[:, None])
    sets = model.predict_set(np.linspace(-3, 22, 60)[:, None], 0.9)
    np.testing.assert_array_equal(sets, np.rint(20 * p) > 2)


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, np.nan, [], [[0.5]], [0.5, 2.0], "a", None])
def test_levels_that_are_none_are_refused(level):
    model = ConformalSVC(SVC(gamma=0.5)).fit(*noisy())
    with pytest.raises(ValueError, match="confidence_level="):
        model.predict_set(np.zeros((1, 3)), level)


def test_predictions_are_of_the_largest_p_value_and_ties_go_by_the_decision_value():
    X, y = flipped(300)
    model = ConformalSVC(SVC(gamma=0.05), "margin").fit(X[:100], y[:100])
    p, predicted = model.p_values(X[100:]), model.predict(X[100:])
    clear = p[:, 0] != p[:, 1]
    np.testing.assert_array_equal(predicted[clear], p[clear].argmax(axis=1))
    decided = SVC(gamma=0.05).fit(X[:100], y[:100]).predict(X[100:])
    np.testing.assert_array_equal(predicted[~clear], decided[~clear])
    np.testing.assert_array_equal(model.credibility(X[100:]), p.max(axis=1))
    np.testing.assert_array_equal(model.confidence(X[100:]), 1 - p.min(axis=1))


def test_with_one_seed_smoothed_p_values_are_uniform_over_draws_of_few_distinct_rows():
    found = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 2, (13, 1)).astype(float), (rng.random(13) < 0.5).astype(int)
        if min(np.bincount(y[1:], minlength=2)) > 1:
            model = ConformalSVC(SVC(gamma=0.5), "margin", False, True, random_state=1).fit(X[1:], y[1:])
            found.append(model.p_values(X[:1])[0, y[0]])
    for level in (0.1, 0.3, 0.5):
        assert abs(np.mean(np.array(found) <= level) - level) < 0.08


@pytest.mark.parametrize("score", SCORES)
def test_what_happens_to_the_rows_and_the_parameters_after_the_fit_changes_nothing(score):
    X, y = noisy(n=40)
    new, given = np.random.default_rng(1).normal(size=(6, 3)), X.copy()
    model = ConformalSVC(SVC(gamma=0.5), score, smoothed=True, random_state=0).fit(given, y)
    p = model.p_values(new)
    given[:] = 0.0
    model.set_params(smoothed=False, estimator__C=1e3, score="margin")
    np.testing.assert_array_equal(model.p_values(new), p)


@pytest.mark.parametrize("score", ["jackknife+", "cv+"])
def test_a_row_whose_kernel_with_itself_overflows_is_answered(score):
    X, y = noisy(n=40)
    model = ConformalSVC(SVC(kernel="linear"), score).fit(X, y)
    far = np.vstack([np.full(3, 1e200), X[0]])
    p = model.p_values(far)
    assert np.all((p > 0.0) & (p <= 1.0))
    np.testing.assert_array_equal(p[1:], model.p_values(X[:1]))


def test_smoothed_p_values_depend_on_the_row_and_the_seed_alone():
    X, y = awkward(n=40)
    model = ConformalSVC(SVC(gamma=0.5), "margin", smoothed=True, random_state=3).fit(X, y)
    p, plain = model.p_values(X), ConformalSVC(SVC(gamma=0.5), "margin").fit(X, y).p_values(X)
    assert np.all(p <= plain)
    assert np.all(p > 0)
    order = np.random.default_rng(0).permutation(40)[:15]
    np.testing.assert_array_equal(model.p_values(X[order]), p[order])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).p_values(X), p)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.p_values(X), p)
    assert np.any(again.set_params(random_state=4).fit(X, y).p_values(X) != p)


@pytest.mark.parametrize("score", ["margin", "left_out"])
def test_smoothed_p_values_are_uniform(score):
    """Over draws of all n + 1 points; ties make those that are not smoothed larger."""
    smooth, plain = [], []
    for seed in range(150):
        X, y = awkward(n=21, seed=seed)
        order = np.random.default_rng(seed).permutation(21)
        X, y = X[order], y[order]
        for found, smoothed in ((smooth, True), (plain, False)):
            model = ConformalSVC(SVC(gamma=0.5), score, False, smoothed, random_state=seed).fit(X[1:], y[1:])
            found.append(model.p_values(X[:1])[0, int(y[0] > 0)])
    for share in (0.1, 0.3, 0.5, 0.8):
        error = 3.5 * np.sqrt(share * (1 - share) / 150)
        assert abs(np.mean(np.array(smooth) <= share) - share) < error
        assert np.mean(np.array(plain) <= share) < share + error


@pytest.mark.parametrize("score", SCORES)
def test_any_number_of_jobs_gives_the_same(score, monkeypatch):
    monkeypatch.setattr("bayes_svm.conformal.predictions.BLOCK", 7)
    X, y = flipped(90)
    one, two = (ConformalSVC(SVC(gamma=0.05), score, n_jobs=jobs).fit(X[:60], y[:60]) for jobs in (1, 2))
    np.testing.assert_array_equal(one.p_values(X[60:]), two.p_values(X[60:]))


def test_auto_compares_within_the_class_where_there_are_more_columns_than_rows():
    random = np.random.default_rng(0)
    wide = ConformalSVC(SVC(gamma=1e-3)).fit(random.normal(size=(40, 200)), np.arange(40) % 2)
    assert wide.class_conditional_
    assert "within each class" in wide.guarantee_
    narrow = ConformalSVC(SVC(gamma=0.5)).fit(*noisy())
    assert not narrow.class_conditional_
    assert narrow.score_ == wide.score_ == "jackknife+"


@pytest.mark.parametrize(
    ("estimator", "named"),
    [
        (SVC(), "gamma='scale'"),
        (SVC(kernel="linear", class_weight="balanced"), "class_weight='balanced'"),
        (make_pipeline(StandardScaler(), SVC(gamma=0.1)), "the step 'standardscaler'"),
    ],
)
def test_what_breaks_exchangeability_is_named(estimator, named):
    with pytest.warns(UserWarning, match=f"guarantee is approximate, because {named}"):
        model = ConformalSVC(estimator).fit(*noisy())
    assert named in model.guarantee_
    assert "approximately" in model.guarantee_


def test_the_promise_is_that_of_the_score():
    X, y = noisy()
    margin, jackknife = (ConformalSVC(SVC(gamma=0.5), score).fit(X, y) for score in ("margin", "jackknife+"))
    assert "probability at least confidence_level," in margin.guarantee_
    assert "1 - 2 (1 - confidence_level)" in jackknife.guarantee_
    smoothed = ConformalSVC(SVC(gamma=0.5), "left_out", smoothed=True).fit(X, y)
    assert "probability confidence_level" in smoothed.guarantee_


def test_a_step_that_learns_nothing_breaks_no_guarantee_and_an_inexact_solution_does():
    X, y = noisy(n=40)
    kept = ConformalSVC(make_pipeline(Normalizer(), SVC(gamma=0.5))).fit(X, y)
    assert "approximately" not in kept.guarantee_
    with pytest.warns(ConvergenceWarning):
        stopped = ConformalSVC(SVC(C=1e3, gamma=0.5, max_iter=1)).fit(X, y)
    assert stopped.guarantee_.endswith("approximately, because the solution is not exact.")


@pytest.mark.filterwarnings("ignore:The guarantee is approximate")
def test_a_pipeline_transforms_new_points_too():
    X, y = flipped(120)
    scale = StandardScaler().fit(X[:80])
    model = ConformalSVC(make_pipeline(StandardScaler(), SVC(gamma=0.05)), "margin").fit(X[:80], y[:80])
    plain = ConformalSVC(SVC(gamma=0.05), "margin").fit(scale.transform(X[:80]), y[:80])
    np.testing.assert_array_equal(model.p_values(X[80:]), plain.p_values(scale.transform(X[80:])))
    assert model.n_features_in_ == 20


def test_what_has_no_guarantee_is_refused():
    X, y = noisy()
    with pytest.raises(ValueError, match="not positive semi-definite"):
        ConformalSVC(SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0)).fit(X, y)
    with pytest.raises(ValueError, match="score='margin' needs k"):
        ConformalSVC(SVC(kernel="precomputed"), "margin").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="Class 1 has 1 member"):
        ConformalSVC(SVC(gamma=0.5)).fit(X, (np.arange(60) == 3).astype(int))
    with pytest.raises(TypeError, match="is not an SVC"):
        ConformalSVC(StandardScaler()).fit(X, y)
    with pytest.raises(NotFittedError):
        ConformalSVC(SVC()).p_values(X)


def test_a_precomputed_kernel_and_a_linear_svc_work_too():
    X, y = noisy()
    new = np.random.default_rng(1).normal(size=(5, 3))
    p = ConformalSVC(SVC(kernel="linear"), "jackknife+", False).fit(X, y).p_values(new)
    given = ConformalSVC(SVC(kernel="precomputed"), "auto", False).fit(X @ X.T, y)
    np.testing.assert_allclose(given.p_values(new @ X.T), p)
    linear = ConformalSVC(LinearSVC(loss="hinge"), "margin").fit(X, y)
    np.testing.assert_allclose(
        linear.p_values(new), full_p_values(LinearSVC(loss="hinge"), X, y, new, False, False), atol=1e-12
    )


def test_score_is_a_method_and_a_parameter():
    X, y = flipped(150)
    model = ConformalSVC(SVC(gamma=0.05), score="margin").fit(X[:100], y[:100])
    assert model.get_params()["score"] == clone(model).get_params()["score"] == "margin"
    assert model.score(X[100:], y[100:]) == np.mean(model.predict(X[100:]) == y[100:])
    assert model.set_params(score="cv+").get_params()["score"] == "cv+"
    assert "score='cv+'" in repr(model)
    with pytest.raises(ValueError, match="The 'score' parameter of ConformalSVC must be"):
        model.set_params(score="median").fit(X, y)


@pytest.mark.parametrize("score", ["jackknife+", "cv+"])
def test_a_machine_without_some_rows_that_is_not_exact_is_told_and_breaks_the_guarantee(score, monkeypatch):
    X, y = noisy(n=40)
    machines = scores.left_out_machines

    def with_one_inexact(*args):
        found = machines(*args)
        found.sections[0].status[0] = "inexact"
        return found

    assert "approximately" not in ConformalSVC(SVC(gamma=0.5), score).fit(X, y).guarantee_
    monkeypatch.setattr(scores, "left_out_machines", with_one_inexact)
    with pytest.warns(ConvergenceWarning, match="a machine without some of the rows is not exact: scale X"):
        model = ConformalSVC(SVC(gamma=0.5), score).fit(X, y)
    assert model.guarantee_.endswith("because a machine without some of the rows is not exact.")


@pytest.mark.filterwarnings("ignore:The guarantee is approximate")
def test_smoothed_p_values_behind_other_steps_do_not_depend_on_the_batch_or_the_order():
    X, y = noisy(n=90, d=40)
    model = ConformalSVC(make_pipeline(PCA(5), SVC(gamma=0.005)), "margin", smoothed=True).fit(X[:60], y[:60])
    alone = np.vstack([model.p_values(row[None]) for row in X[60:]])
    np.testing.assert_allclose(model.p_values(X[60:]), alone, atol=1e-9)
    piped = make_pipeline(StandardScaler(), SVC(gamma=0.005))
    scaled = ConformalSVC(piped, "margin", smoothed=True, random_state=0)
    order = np.random.default_rng(0).permutation(60)
    first, second = (scaled.fit(X[rows], y[rows]).p_values(X[60:]) for rows in (np.arange(60), order))
    np.testing.assert_allclose(first, second, atol=1e-9)


def test_a_step_that_was_fitted_to_other_data_breaks_no_guarantee():
    X, y = noisy(n=80)
    frozen = FrozenEstimator(StandardScaler().fit(X[:40]))
    assert (
        "approximately"
        not in ConformalSVC(make_pipeline(frozen, SVC(gamma=0.5))).fit(X[40:], y[40:]).guarantee_
    )
