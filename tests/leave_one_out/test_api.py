"""The function itself: weights, copies, kernels, classes, kinds of machine, threads, bad input."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from _data import awkward, noisy, three_classes
from bayes_svm import BayesSVC, leave_one_out
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.kernels.gamma import resolve_gamma
from bayes_svm.kernels.kernel import Kernel
from oracles.interior_point import minimise_box_qp

RBF = SVC(C=5.0, gamma=0.5)


@pytest.mark.parametrize("method", ["path", "retrain"])
@pytest.mark.parametrize("seed", range(3))
def test_integer_weights_are_repeated_rows(seed, method):
    X, y = awkward(n=20, seed=seed)
    weight = np.random.default_rng(seed).integers(1, 4, size=20)
    weighted = leave_one_out(RBF, X, y, sample_weight=weight, method=method)
    repeated = leave_one_out(RBF, np.repeat(X, weight, axis=0), np.repeat(y, weight), method=method)
    np.testing.assert_allclose(
        np.repeat(weighted.decision_values, weight), repeated.decision_values, atol=1e-8
    )
    np.testing.assert_array_equal(np.repeat(weighted.status, weight), repeated.status)


def test_integer_weights_are_repeated_rows_for_bayes_svc():
    X, y = noisy(n=30)
    weight = np.random.default_rng(0).integers(0, 4, size=30)
    weight[:4] = 1
    weighted = BayesSVC().fit(X, y, sample_weight=weight)
    repeated = BayesSVC().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    values = np.repeat(weighted.left_out_decision_values_, weight)
    np.testing.assert_allclose(values, repeated.left_out_decision_values_, atol=1e-8)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("method", ["path", "retrain"])
def test_a_row_of_weight_zero_is_absent_and_gets_the_machines_value(method):
    X, y = noisy(n=40)
    weight = np.where(np.arange(40) < 30, 1.0, 0.0)
    weighted = leave_one_out(RBF, X, y, sample_weight=weight, method=method)
    without = leave_one_out(RBF, X[:30], y[:30], method=method)
    np.testing.assert_allclose(weighted.decision_values[:30], without.decision_values, atol=1e-9)
    machine = BayesSVC(C=5.0, gamma=0.5).fit(X[:30], y[:30])
    np.testing.assert_allclose(weighted.decision_values[30:], machine.decision_function(X[30:]), atol=1e-9)
    assert weighted.error == pytest.approx(without.error)


def test_a_weight_counts_as_its_part_of_c():
    X, y = noisy(n=30)
    by_weight = leave_one_out(SVC(C=2.0, gamma=0.5), X, y, sample_weight=np.full(30, 0.7))
    np.testing.assert_allclose(
        by_weight.decision_values, leave_one_out(SVC(C=1.4, gamma=0.5), X, y).decision_values, atol=1e-9
    )


def test_several_classes_are_one_against_the_rest_for_a_bayes_svc():
    X, y = three_classes()
    several = leave_one_out(BayesSVC(C=5.0, gamma=0.5), X, y)
    for k in range(3):
        binary = leave_one_out(RBF, X, y == k)
        np.testing.assert_allclose(several.decision_values[:, k], binary.decision_values, atol=1e-9)
        np.testing.assert_array_equal(several.status[:, k], binary.status)
        np.testing.assert_allclose(
            several.train_decision_values[:, k], binary.train_decision_values, atol=1e-9
        )


@pytest.mark.parametrize("data", [noisy(n=80), awkward(n=80), three_classes()])
def test_the_number_of_threads_changes_no_bit(data):
    one, two = (leave_one_out(RBF, *data, n_jobs=jobs) for jobs in (1, 2))
    assert one.decision_values.tobytes() == two.decision_values.tobytes()
    assert one.gap.tobytes() == two.gap.tobytes()
    np.testing.assert_array_equal(one.events, two.events)


def test_labels_may_be_strings_in_any_order():
    X, y = noisy()
    strings = leave_one_out(RBF, X, np.where(y > 0, "a", "b"))  # "a" < "b": the sign turns
    np.testing.assert_allclose(strings.decision_values, -leave_one_out(RBF, X, y).decision_values, atol=1e-9)
    assert list(strings.classes) == ["a", "b"]


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_sparse_is_dense(kernel):
    X, y = awkward()
    svc = SVC(kernel=kernel, gamma="scale")
    dense, thin = leave_one_out(svc, X, y), leave_one_out(svc, sparse.csr_matrix(X), y)
    np.testing.assert_allclose(thin.decision_values, dense.decision_values, atol=1e-8)


@pytest.mark.parametrize("make", [noisy, awkward])
def test_a_precomputed_or_callable_kernel_is_the_named_one(make):
    X, y = make()
    named = leave_one_out(RBF, X, y)
    given = leave_one_out(SVC(C=5.0, kernel="precomputed"), rbf_kernel(X, gamma=0.5), y)
    called = leave_one_out(SVC(C=5.0, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5)), X, y)
    np.testing.assert_allclose(given.decision_values, named.decision_values, atol=1e-8)
    np.testing.assert_allclose(called.decision_values, named.decision_values, atol=1e-8)


def test_class_weight_is_a_sample_weight_of_that_class():
    X, y = noisy()
    given = leave_one_out(SVC(gamma=0.5, class_weight={1: 1.9, -1: 0.3}), X, y)
    weights = leave_one_out(SVC(gamma=0.5), X, y, sample_weight=np.where(y > 0, 1.9, 0.3))
    np.testing.assert_allclose(given.decision_values, weights.decision_values, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_fitted_or_not_and_svc_or_bayes_svc_make_no_difference(kernel):
    X, y = noisy()
    svc, ours = SVC(kernel=kernel), BayesSVC(kernel=kernel, leave_out="rows")
    values = [
        leave_one_out(e, X, y).decision_values for e in (svc, clone(svc).fit(X, y), ours, ours.fit(X, y))
    ]
    for other in [*values[1:], ours.left_out_decision_values_]:
        np.testing.assert_allclose(other, values[0], atol=1e-8)


def test_a_fitted_svc_with_rows_of_weight_zero():
    X, y = noisy()
    weight = np.where(np.arange(60) % 3 == 2, 0.0, 1.0)
    svc = SVC(gamma=0.5).fit(X, y, sample_weight=weight)
    fitted, fresh = (leave_one_out(e, X, y, sample_weight=weight) for e in (svc, clone(svc)))
    np.testing.assert_allclose(fitted.decision_values, fresh.decision_values, atol=1e-8)


def test_gamma_scale_of_a_bayes_svc_counts_weights_and_that_of_an_svc_does_not():
    X, y = noisy()
    weight = np.random.default_rng(0).random(60) + 0.1
    for estimator, gamma in (
        (BayesSVC(), resolve_gamma("scale", X, weight)),
        (SVC(), resolve_gamma("scale", X)),
    ):
        named = leave_one_out(estimator, X, y, sample_weight=weight)
        given = leave_one_out(clone(estimator).set_params(gamma=gamma), X, y, sample_weight=weight)
        np.testing.assert_allclose(named.decision_values, given.decision_values, atol=1e-9)


def test_the_data_are_left_as_they_were():
    X, y = noisy()
    before = X.copy(), y.copy()
    leave_one_out(RBF, X, y)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_an_unknown_method_is_refused():
    with pytest.raises(
        ValueError, match=r"method='jackknife' is not one of \('path', 'certified', 'warm', 'retrain'\)"
    ):
        leave_one_out(SVC(), *noisy(), method="jackknife")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_x_that_is_not_finite_is_refused(value):
    X, y = noisy()
    X[3, 1] = value
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        leave_one_out(SVC(), X, y)


def test_lengths_that_differ_are_refused():
    X, y = noisy()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        leave_one_out(SVC(), X, y[:-1])


def test_too_few_steps_warn_and_no_value_is_called_exact():
    X, y = noisy()
    with pytest.warns(ConvergenceWarning, match="not exact: stopped after max_iter=2.*relative duality gap"):
        result = leave_one_out(SVC(C=100.0, max_iter=2, tol=1e-9), X, y)
    assert set(result.status) <= {"inexact"}
    assert np.isfinite(result.decision_values).all()


def linear_values(svc, X, y, bound):
    """Decision values at all rows of the machine with a regularised intercept, by the oracle.

    Two copies of every row, one of each sign of beta, make the sum free: the oracle has the
    equality constraint, so a point at the origin with wide bounds takes up the sum.
    """
    constant = svc.intercept_scaling if svc.fit_intercept else 0.0
    K = X @ X.T + constant**2
    padded = np.pad(K, (0, 1))
    wide = 10.0 * bound.sum() + 1.0
    lower = np.append(np.where(y > 0, 0.0, -bound), -wide)
    upper = np.append(np.where(y > 0, bound, 0.0), wide)
    return K @ minimise_box_qp(padded, np.append(y, 0.0).astype(float), lower, upper).beta[:-1]


@pytest.mark.parametrize("make", [noisy, awkward])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("options", [{}, {"intercept_scaling": 3.0}, {"fit_intercept": False}])
def test_linear_svc_left_out_is_the_oracles(make, C, options):
    X, y = make(n=24, seed=2)
    svc = LinearSVC(loss="hinge", C=C, **options)
    paths, retrained = (leave_one_out(svc, X, y, method=method) for method in ("path", "retrain"))
    np.testing.assert_allclose(paths.decision_values, retrained.decision_values, atol=1e-8)
    np.testing.assert_allclose(
        paths.train_decision_values, linear_values(svc, X, y, np.full(24, C)), atol=1e-5
    )
    for row in range(24):
        bound = np.where(np.arange(24) == row, 0.0, C)
        expected = linear_values(svc, X, y, bound)[row]
        assert paths.decision_values[row] == pytest.approx(expected, abs=1e-5)
    assert set(paths.status) <= {"unchanged", "path", "re-trained"}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_linear_svc_is_scikit_learns(form):
    X, y = noisy(n=80)
    svc = LinearSVC(loss="hinge", C=0.5, tol=1e-10, max_iter=1_000_000)
    result = leave_one_out(svc, form(X), y)
    fitted = clone(svc).fit(X, y)
    np.testing.assert_allclose(result.train_decision_values, fitted.decision_function(X), atol=1e-4)
    for row in range(0, 80, 9):
        keep = np.arange(80) != row
        left = clone(svc).fit(X[keep], y[keep]).decision_function(X[row : row + 1])[0]
        assert result.decision_values[row] == pytest.approx(left, abs=1e-4)


def test_the_null_point_takes_up_the_sum_and_holds_the_intercept_at_zero():
    X, y = noisy(n=30)
    machine, (solution,) = machine_of(LinearSVC(loss="hinge"), X, y)
    assert solution.exact
    assert solution.problem.label[-1] == 0
    assert solution.beta.sum() == pytest.approx(0.0, abs=1e-12)
    assert solution.intercept == pytest.approx(0.0, abs=1e-12)
    assert abs(solution.beta[-1]) > 1e-3
    assert len(machine.gram) == 31
    assert not machine.gram.whole()[-1].any()


def test_linear_svc_weights_groups_and_classes():
    X, y = three_classes()
    svc = LinearSVC(loss="hinge", C=0.7)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], size=60)
    weight[:6] = 1.0
    groups = np.arange(60) % 8
    for options in ({"sample_weight": weight}, {"groups": groups}, {"class_weight": None}):
        estimator = clone(svc).set_params(class_weight="balanced") if "class_weight" in options else svc
        options.pop("class_weight", None)
        paths, retrained = (
            leave_one_out(estimator, X, y, method=method, **options) for method in ("path", "retrain")
        )
        assert paths.decision_values.shape == (60, 3)
        np.testing.assert_allclose(paths.decision_values, retrained.decision_values, atol=1e-8)


def test_a_linear_svc_with_another_loss_is_refused():
    with pytest.raises(ValueError, match=r"LinearSVC\(loss='squared_hinge'\).*use loss='hinge'"):
        leave_one_out(LinearSVC(), *noisy())


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_an_svc_of_several_classes_is_left_out_in_pairs(shape):
    X, y = three_classes(n=45)
    labels = np.array(["b", "c", "a"])[y]
    svc = SVC(C=2.0, gamma=0.5, decision_function_shape=shape, tol=1e-9)
    result = leave_one_out(svc, X, labels)
    np.testing.assert_allclose(
        result.train_decision_values, clone(svc).fit(X, labels).decision_function(X), atol=1e-5
    )
    for row in range(45):
        keep = np.arange(45) != row
        left = clone(svc).fit(X[keep], labels[keep])
        np.testing.assert_allclose(
            result.decision_values[row], left.decision_function(X[row : row + 1])[0], atol=1e-5
        )
        assert result.predictions[row] == left.predict(X[row : row + 1])[0]
    assert result.error == pytest.approx(np.mean(result.predictions != labels))
    assert result.status.shape == (45, 3)


@pytest.mark.parametrize("break_ties", [False, True])
def test_tied_votes_are_broken_as_the_svc_does(break_ties):
    digits = load_digits(n_class=6)
    X, y = digits.data[:120] / 16.0, digits.target[:120]
    svc = SVC(C=0.05, gamma=0.02, break_ties=break_ties, tol=1e-8)
    result = leave_one_out(svc, X, y)
    rows = np.arange(0, 120, 10)
    for row in rows:
        keep = np.arange(120) != row
        left = clone(svc).fit(X[keep], y[keep])
        assert result.predictions[row] == left.predict(X[row : row + 1])[0]


def test_measures_of_pairs_count_the_predictions():
    X, y = three_classes()
    result = leave_one_out(SVC(), X, y)
    for k, confusion in enumerate(result.confusions):
        assert confusion.tp == np.sum((result.predictions == k) & (y == k))
        assert confusion.fp == np.sum((result.predictions == k) & (y != k))


@pytest.mark.parametrize("groups", [None, np.arange(30) % 4])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_values_at_other_points_are_those_of_the_machine_without_the_row(kernel, groups):
    X, y = noisy(n=30)
    new = noisy(n=7, seed=1)[0]
    named = Kernel("rbf", gamma=0.5)
    svc = SVC(C=3.0, gamma=0.5, kernel=kernel)
    data, at = (X, new) if kernel == "rbf" else (named(X, X), named(new, X))
    result = leave_one_out(svc, data, y, groups=groups, at=at)
    assert result.values_at.shape == (30, 7)
    assert "unstable" not in result.status
    gone = np.arange(30) if groups is None else groups
    for row in range(0, 30, 3):
        keep = gone != gone[row]
        left = SVC(C=3.0, gamma=0.5, tol=1e-9).fit(X[keep], y[keep])
        np.testing.assert_allclose(result.values_at[row], left.decision_function(new), atol=1e-5)


def test_values_at_the_training_points_contain_the_values():
    X, y = three_classes()
    result = leave_one_out(BayesSVC(C=2.0), X, y, at=X)
    assert result.values_at.shape == (60, 60, 3)
    own = result.values_at[np.arange(60), np.arange(60)]
    np.testing.assert_allclose(own, result.decision_values, atol=1e-10)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_values_at_other_points_have_the_columns_of_decision_values(shape):
    X, y = three_classes(n=45)
    svc = SVC(gamma=0.5, decision_function_shape=shape, tol=1e-9)
    result = leave_one_out(svc, X, y, at=X)
    own = result.values_at[np.arange(45), np.arange(45)]
    np.testing.assert_allclose(own, result.decision_values, atol=1e-10)
    for row in range(0, 45, 9):
        left = clone(svc).fit(np.delete(X, row, axis=0), np.delete(y, row))
        np.testing.assert_allclose(result.values_at[row], left.decision_function(X), atol=1e-5)


def test_points_of_other_features_are_refused():
    X, y = noisy()
    with pytest.raises(ValueError, match="at has 2 features, X has 3"):
        leave_one_out(SVC(), X, y, at=X[:, :2])


def test_values_that_do_not_fit_are_refused(monkeypatch):
    import bayes_svm.utils.memory

    X, y = noisy()
    monkeypatch.setattr(bayes_svm.utils.memory, "ALWAYS_THERE", 0)
    monkeypatch.setattr(bayes_svm.utils.memory, "available_bytes", lambda: 60 * 60 * 9)
    with pytest.raises(MemoryError, match="Kernel values between 900 points and 60 training points needs"):
        leave_one_out(SVC(), X, y, at=np.tile(X, (15, 1)))


@pytest.mark.parametrize("fitted", [False, True])
def test_a_pipeline_is_transformed_once_and_warned_of(fitted):
    X, y = noisy()
    scaled = StandardScaler().fit(X)
    pipeline = make_pipeline(StandardScaler(), SVC())
    pipeline = pipeline.fit(X, y) if fitted else pipeline
    with pytest.warns(
        UserWarning, match=r"The steps before SVC \(standardscaler\) are fitted once, on all rows"
    ):
        found = leave_one_out(pipeline, X, y, at=X[:2] + 1.0)
    expected = leave_one_out(SVC(), scaled.transform(X), y, at=scaled.transform(X[:2] + 1.0))
    np.testing.assert_allclose(found.decision_values, expected.decision_values, atol=1e-9)
    np.testing.assert_allclose(found.values_at, expected.values_at, atol=1e-9)
    assert fitted or not hasattr(pipeline[0], "mean_")


def test_a_pipeline_of_one_step_is_that_step():
    X, y = noisy()
    alone = leave_one_out(make_pipeline(SVC()), X, y)
    np.testing.assert_array_equal(alone.decision_values, leave_one_out(SVC(), X, y).decision_values)
