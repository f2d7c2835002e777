"""Paths against re-training by three other methods, on random and on awkward data."""

import importlib

import numpy as np
import pytest
from scipy.optimize import brentq
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from _data import attributes, awkward, ida, noisy
from bayes_svm import AggregationKernel, BayesSVC, leave_one_out
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.kernels.kernel import Kernel
from oracles.left_out import left_out_values
from oracles.optimality import measure

path = importlib.import_module("bayes_svm.leave_one_out.path")
EXACT = {"unchanged", "path", "re-trained"}


def libsvm_values(svc, X, y):
    rows = np.arange(len(y))
    return np.array(
        [clone(svc).fit(X[rows != r], y[rows != r]).decision_function(X[r : r + 1])[0] for r in rows]
    )


def kernel_of(svc):
    return Kernel(svc.kernel, gamma=svc.gamma, degree=svc.degree, coef0=svc.coef0)


SETTINGS = [(kernel, C) for kernel in ("linear", "rbf", "poly") for C in (0.1, 1.0, 30.0)]


@pytest.mark.parametrize(("kernel", "C"), SETTINGS)
@pytest.mark.parametrize("make", [noisy, awkward])
def test_path_retrain_interior_point_and_libsvm_agree(make, kernel, C):
    X, y = make(n=30, seed=5)
    svc = SVC(kernel=kernel, C=C, gamma=0.3, degree=2, coef0=1.0, tol=1e-6)
    paths = leave_one_out(svc, X, y)
    values, scale = paths.decision_values, max(1.0, np.abs(paths.decision_values).max())
    retrained = leave_one_out(svc, X, y, method="retrain").decision_values
    np.testing.assert_allclose(values, retrained, atol=1e-7 * scale)
    oracle = left_out_values(kernel_of(svc)(X, X), y, np.full(30, C))
    np.testing.assert_allclose(values, oracle, atol=1e-6 * scale)
    # LIBSVM keeps Q in float32; of an interval of optimal intercepts it takes what its rounding decides.
    unique = paths.status != "unstable"
    np.testing.assert_allclose(values[unique], libsvm_values(svc, X, y)[unique], atol=3e-4 * scale)
    assert "path" in paths.status


@pytest.mark.parametrize("C", [1e-5, 1e-2, 1e2, 1e5])
@pytest.mark.parametrize("seed", range(3))
def test_path_is_retrain_at_any_c(seed, C):
    X, y = awkward(n=40, d=3, seed=seed)
    svc = SVC(C=C, gamma=0.5)
    paths, retrained = leave_one_out(svc, X, y), leave_one_out(svc, X, y, method="retrain")
    np.testing.assert_allclose(paths.decision_values, retrained.decision_values, atol=1e-6)


@pytest.mark.parametrize("C", [1.0, 10.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", ["titanic", "flare-solar", "breast-cancer", "heart"])
def test_every_row_of_a_benchmark_set_is_as_re_trained(name, kernel, C):
    X, y = ida(name)
    svc = SVC(kernel=kernel, C=C, gamma="auto")
    paths, retrained = leave_one_out(svc, X, y, n_jobs=2), leave_one_out(svc, X, y, method="retrain")
    np.testing.assert_allclose(paths.decision_values, retrained.decision_values, atol=1e-5)
    np.testing.assert_array_equal(paths.decision_values > 0, retrained.decision_values > 0)
    assert "inexact" not in paths.status


def test_every_value_comes_with_a_residual_and_a_gap_of_rounding():
    X, y = noisy()
    result = leave_one_out(SVC(C=10.0), X, y)
    scale = max(1.0, np.abs(result.decision_values).max())
    assert set(result.status) <= EXACT
    assert result.kkt_residual.max() <= 1e-8 * scale
    assert np.abs(result.gap).max() <= 1e-8


@pytest.mark.parametrize("batch", [1, 7])
def test_batches_make_no_difference(monkeypatch, batch):
    X, y = noisy(n=80)
    whole = leave_one_out(SVC(), X, y)
    monkeypatch.setattr(path, "BATCH", batch)
    np.testing.assert_allclose(leave_one_out(SVC(), X, y).decision_values, whole.decision_values, atol=1e-10)


@pytest.mark.parametrize(("limit", "value"), [("MAX_EVENTS", 1), ("CAPACITY", 3)])
def test_a_path_that_hits_a_limit_is_re_trained_and_says_so(monkeypatch, limit, value):
    X, y = noisy(n=50)
    svc = SVC(C=10.0, gamma=0.5)
    whole = leave_one_out(svc, X, y)
    monkeypatch.setattr(path, limit, value)
    limited = leave_one_out(svc, X, y)
    assert "re-trained" in limited.status
    np.testing.assert_allclose(limited.decision_values, whole.decision_values, atol=1e-8)


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_kernel_values_beyond_single_precision_change_nothing(C):
    X, y = noisy(n=400, noise=1.0)
    plain = leave_one_out(SVC(kernel="linear", C=C), X, y)
    huge = leave_one_out(SVC(kernel="linear", C=C / 2.0**132), X * 2.0**66, y)
    np.testing.assert_allclose(huge.decision_values, plain.decision_values, atol=1e-7)


def test_points_that_are_free_at_the_perturbed_targets_only_are_no_hindrance():
    """3196 points in some forty dimensions: many are on the margin, some of them at a bound as well."""
    X, y = attributes("kr-vs-kp")
    svc = SVC(kernel=AggregationKernel())
    paths = leave_one_out(svc, X, y)
    assert set(paths.status) <= EXACT
    moved = np.flatnonzero(paths.status != "unchanged")
    assert np.mean(paths.status[moved] == "path") > 0.95
    K = AggregationKernel()(X, X)
    for row in moved[::400]:
        rest = np.delete(np.arange(len(y)), row)
        K_rest = K[np.ix_(rest, rest)]
        machine, (solution,) = machine_of(SVC(kernel="precomputed"), K_rest, y[rest])
        beta, intercept = solution.row_beta, solution.intercept
        sign = np.where(machine.y == 1, 1.0, -1.0)
        assert measure(K_rest, sign, np.ones(len(rest)), beta, intercept).kkt_residual < 1e-10
        value = K[row, rest] @ beta + intercept
        assert paths.decision_values[row] == pytest.approx(value, abs=1e-9)


def badly_scaled(largest):
    X, y = noisy(n=100, d=5)
    return X, X * np.geomspace(1e-3, largest, 5), y


@pytest.mark.parametrize("largest", [1e4, 1e6])
@pytest.mark.parametrize("options", [{}, {"sign_only": True}, {"cv": 4}], ids=["values", "signs", "folds"])
def test_features_beyond_double_precision_are_flagged_and_not_solved_over_and_over(largest, options):
    _, X, y = badly_scaled(largest)
    with pytest.warns(ConvergenceWarning, match="put a StandardScaler before the classifier"):
        found = leave_one_out(SVC(kernel="linear"), X, y, **options)
    assert np.isfinite(found.decision_values).all()
    assert set(found.status) <= {"inexact"} | EXACT
    flagged = found.status == "inexact"
    assert np.mean(flagged) > 0.5
    assert (np.maximum(found.kkt_residual, found.gap)[flagged] > 1e-10).all()


def test_values_from_a_solution_that_is_nearly_exact_are_those_left_out():
    _, X, y = badly_scaled(1e4)
    with pytest.warns(ConvergenceWarning):
        found = leave_one_out(SVC(kernel="linear"), X, y)
    assert found.kkt_residual.max() < 1e-4
    oracle = left_out_values(X @ X.T, y, np.ones(len(y)))
    np.testing.assert_allclose(found.decision_values, oracle, atol=1e-3)


@pytest.mark.parametrize("off", [3e-8, -3e-8, 6e-8, 1e-9])
@pytest.mark.parametrize("label", [-1, 1])
def test_a_point_so_near_the_margin_that_the_tie_break_counts_it_as_on_it(off, label):
    X, y = noisy(n=40)
    clf = BayesSVC(gamma=0.5).fit(X, y)

    def beyond(t):
        return label * clf.decision_function(t * np.array([[1.0, 0.3, -0.2]]))[0] - (1.0 + off)

    # On this line through the classes, of all places where the point would be that far from the margin, one.
    ts = np.linspace(-4.0, 4.0, 81)
    signs = np.sign([beyond(t) for t in ts])
    first = int(np.flatnonzero(signs[1:] != signs[:-1])[0])
    t = brentq(beyond, ts[first], ts[first + 1], xtol=1e-15)
    X, y = np.vstack([X, t * np.array([1.0, 0.3, -0.2])]), np.append(y, label)
    found, slow = (leave_one_out(clf, X, y, method=method) for method in ("path", "retrain"))
    np.testing.assert_allclose(found.decision_values, slow.decision_values, rtol=0, atol=1e-12)


def test_where_a_tiny_weight_lets_values_differ_by_less_than_ties_are_broken_by():
    random = np.random.default_rng(0)
    for _ in range(20):
        X = np.round(random.normal(size=(15, 1)), 1)
        y = random.integers(0, 5, size=15) == 0
        y[:2] = [True, False]
        clf = BayesSVC(C=1e-4, gamma=2.5, class_weight={False: 10.0, True: 0.1})
        rows = random.permutation(15)
        found, slow = (leave_one_out(clf, X, y, method=method) for method in ("path", "retrain"))
        other = leave_one_out(clf, X[rows], y[rows])
        stable = (found.status != "unstable") & (slow.status != "unstable")
        np.testing.assert_allclose(found.decision_values[stable], slow.decision_values[stable], atol=1e-12)
        np.testing.assert_allclose(found.decision_values[rows], other.decision_values, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:The decision values do not separate")
def test_a_badly_scaled_fit_warns_and_gives_probabilities():
    _, X, y = badly_scaled(1e6)
    with pytest.warns(ConvergenceWarning, match="StandardScaler"):
        probability = BayesSVC(kernel="linear").fit(X, y).predict_proba(X)
    assert np.isfinite(probability).all()


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3])
def test_scaled_features_are_not_warned_about(C):
    X, _, y = badly_scaled(1e6)
    assert set(leave_one_out(SVC(kernel="linear", C=C), X, y).status) <= EXACT | {"unstable"}


def test_many_points_on_the_margin_are_not_exchanged_for_rounding():
    rng = np.random.default_rng(3)
    X = (rng.random((1500, 36)) < 0.3).astype(int)
    y = (X[:, 0] & X[:, 1]) | (X[:, 2] & (1 - X[:, 3])) | (X[:, 4] & X[:, 5] & X[:, 6])
    found = leave_one_out(SVC(kernel=AggregationKernel(), C=100.0), X, y)
    assert set(found.status) <= EXACT
    # A path has some events for each of the 37 dimensions; points that depend on each other add a thousand.
    assert found.events.max() < 500


def test_a_few_cases_tell_how_large_the_tableau_should_be(monkeypatch):
    X, y = noisy(n=150, d=3)
    svc = SVC(C=100.0, gamma=1.0)
    retrained = leave_one_out(svc, X, y, method="retrain").decision_values
    sizes = []
    sweep = path.SharedTableau.sweep

    def watched(origin, rows):
        sizes.append(int(rows.sum()))
        return sweep(origin, rows)

    monkeypatch.setattr(path.SharedTableau, "sweep", watched)
    monkeypatch.setattr(path, "ALL_ROWS", 50)
    monkeypatch.setattr(path, "NEAR", 1e-3)
    few = leave_one_out(svc, X, y)
    assert len(sizes) == 1
    monkeypatch.setattr(path, "PILOT", 16)
    monkeypatch.setattr(path, "PILOTS_SHARE", 1.0)
    one, two = (leave_one_out(svc, X, y, n_jobs=jobs) for jobs in (1, 2))
    # The first tableau, and the larger one; for either number of jobs.
    assert len(sizes) == 5
    assert sizes[2] > sizes[1] == sizes[0]
    assert sizes[3:] == sizes[1:3]
    for found in (few, one, two):
        assert set(found.status) <= EXACT
        np.testing.assert_allclose(found.decision_values, retrained, atol=1e-7)
    np.testing.assert_array_equal(one.decision_values, two.decision_values)
    monkeypatch.setattr(path, "ENOUGH", 1.0)
    leave_one_out(svc, X, y)
    assert len(sizes) == 6


@pytest.mark.parametrize("seed", range(6))
def test_of_points_that_are_all_near_the_tableau_covers_the_nearest(monkeypatch, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(200, 2))
    y = np.where(np.arange(200) < 20, 1, -1)
    svc = SVC(C=10 ** random.uniform(-1, 1), gamma=10 ** random.uniform(-1.5, 0))
    whole = leave_one_out(svc, X, y)
    sizes, on = [], path.SharedTableau.on.__func__

    def noted(cls, origin, tableau, known=None):
        if known is None:
            sizes.append(len(tableau.rows) - tableau.n_free)
        return on(cls, origin, tableau, known)

    monkeypatch.setattr(path.SharedTableau, "on", classmethod(noted))
    monkeypatch.setattr(path, "ALL_ROWS", 0)
    monkeypatch.setattr(path, "NEAR", 10.0)
    monkeypatch.setattr(path, "MOST_ROWS", 20)
    found = leave_one_out(svc, X, y)
    assert sizes == [20]
    assert set(found.status) <= EXACT
    np.testing.assert_allclose(found.decision_values, whole.decision_values, atol=1e-7)


def test_the_cases_that_tell_the_size_of_the_tableau_leave_both_classes(monkeypatch):
    X = np.random.default_rng(1).normal(size=(60, 3))
    y = (np.arange(60) == 59).astype(int)
    svc = SVC(C=100.0, class_weight="balanced")
    whole = leave_one_out(svc, X, y)
    for name, value in (("ALL_ROWS", 0), ("NEAR", 0.01), ("PILOT", 2), ("PILOTS_SHARE", 1.0)):
        monkeypatch.setattr(path, name, value)
    # The last case that moves, which is always among them, leaves one class only.
    found = leave_one_out(svc, X, y)
    assert found.status[-1] == whole.status[-1] == "one-class"
    np.testing.assert_allclose(found.decision_values, whole.decision_values, atol=1e-8)


@pytest.mark.parametrize("n_positive", [225, 90])
@pytest.mark.parametrize("rows", [0, 300])
@pytest.mark.parametrize("C", [1e-3, 1e-7])
def test_without_a_free_point_paths_begin_at_either_end_of_the_interval(monkeypatch, n_positive, rows, C):
    X, y = noisy(n=450)
    y = np.where(np.arange(450) < n_positive, y.max(), y.min())
    svc = SVC(C=C, class_weight="balanced")
    _, [solution] = machine_of(svc, X, y, None)
    assert solution.n_free == 0
    monkeypatch.setattr(path, "ALL_ROWS", rows)
    found = leave_one_out(svc, X, y)
    retrained = leave_one_out(svc, X, y, method="retrain")
    # With C = 1e-7 the solver has left a residual of 1.6e-10 of one row, and its path none.
    off = np.abs(found.decision_values - retrained.decision_values)
    assert (off <= 1e-10 + np.minimum(retrained.kkt_residual, 2e-10)).all()
    assert set(found.status) <= EXACT | {"unstable"}
    if rows and C == 1e-3:
        assert np.mean(found.status == "re-trained") < 0.1


@pytest.mark.parametrize("gamma", [0.5, 1.0, 50.0])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("rows", [0, 300])
def test_without_a_free_point_all_that_nearly_tie_become_free_at_once(monkeypatch, gamma, grouped, rows):
    X, y = noisy(n=330, d=15)
    y = np.where(np.arange(330) < 165, y.max(), y.min())
    svc, groups = SVC(C=0.01, gamma=gamma), np.arange(330) % 90 if grouped else None
    _, [solution] = machine_of(svc, X, y, None)
    assert solution.n_free == 0
    monkeypatch.setattr(path, "ALL_ROWS", rows)
    found = leave_one_out(svc, X, y, groups=groups)
    retrained = leave_one_out(svc, X, y, groups=groups, method="retrain")
    np.testing.assert_allclose(found.decision_values, retrained.decision_values, rtol=0, atol=1e-10)
    assert np.mean(found.status == "re-trained") < 0.1
    if not grouped:
        assert found.events.mean() < 20


def test_points_that_count_as_free_and_leave_lose_all_of_their_coefficient():
    # Some of those near the end of the interval have a coefficient of 0, and would change its sign.
    X = np.random.default_rng(9341).normal(size=(40, 5)) * 100
    for seed in range(20):
        y = np.random.default_rng(seed).permutation(np.arange(40) % 2)
        groups = np.random.default_rng(seed).integers(0, 6, size=40)
        svc = SVC(C=3.8e-6, kernel="linear")
        found = leave_one_out(svc, X, y, groups=groups)
        retrained = leave_one_out(svc, X, y, groups=groups, method="retrain")
        np.testing.assert_allclose(found.decision_values, retrained.decision_values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", [315, 494, 763, 844])
def test_points_outside_the_tableau_may_be_on_the_wrong_side_where_others_count_as_free(monkeypatch, seed):
    monkeypatch.setattr(path, "ALL_ROWS", 0)
    random = np.random.default_rng(seed)
    X = random.normal(size=(28, 4))[random.integers(0, 14, size=28)]
    y = np.where(random.random(28) < 0.4, 1, -1)
    svc = SVC(C=3e-6, kernel="linear", class_weight="balanced")
    found = leave_one_out(svc, X, y)
    retrained = leave_one_out(svc, X, y, method="retrain")
    np.testing.assert_allclose(found.decision_values, retrained.decision_values, rtol=0, atol=1e-9)
