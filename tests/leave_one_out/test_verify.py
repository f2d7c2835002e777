"""What a path ends in is checked before it is believed."""

import importlib
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from _data import noisy
from bayes_svm import BayesSVC, leave_one_out
from bayes_svm.dual.from_estimator import machine_of

path = importlib.import_module("bayes_svm.leave_one_out.path")


def test_rows_outside_the_tableau_are_found_and_the_path_redone(monkeypatch):
    X, y = noisy(n=80)
    svc = SVC(C=10.0, gamma=0.5)
    whole = leave_one_out(svc, X, y)
    monkeypatch.setattr(path, "ALL_ROWS", 10)
    monkeypatch.setattr(path, "NEAR", 1e-3)
    part = leave_one_out(svc, X, y)
    np.testing.assert_allclose(part.decision_values, whole.decision_values, atol=1e-8)
    assert set(part.status) <= {"unchanged", "path"}


@pytest.mark.parametrize("seed", [3, 8, 9, 11])
def test_copies_that_stay_outside_the_tableau_satisfy_their_conditions(monkeypatch, seed):
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(80, 2)))
    y, groups = (X[:, 0] + random.normal(size=80) > 0).astype(int), random.integers(0, 20, 80)
    svc = SVC(C=2.0, gamma=0.5)
    anew = leave_one_out(svc, X, y, groups=groups, method="retrain")
    monkeypatch.setattr(path, "ALL_ROWS", 0)
    monkeypatch.setattr(path, "NEAR", 0.01)
    found = leave_one_out(svc, X, y, groups=groups)
    # Where the intercept is not unique, there are several values.
    unique = (found.status != "unstable") & (anew.status != "unstable")
    np.testing.assert_allclose(found.decision_values[unique], anew.decision_values[unique], atol=1e-8)
    assert np.mean(unique) > 0.8


@pytest.mark.parametrize("seed", [0, 4])
def test_points_outside_are_checked_for_a_kernel_whose_diagonal_is_no_length(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(320, 2))
    y = (X[:, 0] + 0.4 * random.normal(size=320) > 0).astype(int)
    # Minus a distance is positive definite only for coefficients that sum to 0, and k(x, x) = 0.
    K = -np.abs(X[:, None] - X).sum(axis=2)
    svc = SVC(kernel="precomputed")
    anew = leave_one_out(svc, K, y, method="retrain")
    found = leave_one_out(svc, K, y)
    assert set(found.status) <= {"unchanged", "path", "re-trained"}
    np.testing.assert_allclose(found.decision_values, anew.decision_values, atol=1e-8)
    assert leave_one_out(svc, K, y, sign_only=True).error == anew.error


def test_a_path_that_ends_wrong_is_never_believed(monkeypatch):
    X, y = noisy(n=50)
    svc = SVC(C=10.0, gamma=0.5)
    whole = leave_one_out(svc, X, y)

    def wrong_ends(*arguments):
        ends = arguments[-2]
        ends.changes.fill(0.01)
        ends.times.fill(1.0)

    monkeypatch.setattr(path, "shrink_each", wrong_ends)
    wrong = leave_one_out(svc, X, y)
    assert set(wrong.status) == {"unchanged", "re-trained"}
    np.testing.assert_allclose(wrong.decision_values, whole.decision_values, atol=1e-8)


@pytest.mark.parametrize("seed", [7, 21, 46])
def test_ends_that_overflow_on_badly_scaled_columns_say_nothing_of_it(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(80, 8)) * 10.0 ** random.integers(-6, 7, size=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        model = BayesSVC(C=0.1, kernel="linear", leave_out="rows").fit(X, random.integers(0, 2, 80))
    assert np.isfinite(model.left_out_decision_values_).all()


def spoil(monkeypatch):
    """Let paths end with coefficients that are far off; the ends that were taken as starts are noted."""
    verify, started = importlib.import_module("bayes_svm.leave_one_out.verify"), []
    follow, solved = path.shrink_each, verify.end_solved

    def spoilt(*arguments):
        follow(*arguments)
        ends = arguments[-2]
        ends.changes[:] += 1e6
        ends.outcomes[:] = verify.DONE

    def noted(*arguments, **options):
        started.append(arguments)
        return solved(*arguments, **options)

    monkeypatch.setattr(path, "shrink_each", spoilt)
    monkeypatch.setattr(verify, "end_solved", noted)
    return started


def test_an_end_far_from_the_optimum_is_no_start(monkeypatch):
    X, y = noisy(n=60)
    svc = SVC(C=10.0, gamma=0.5)
    right = leave_one_out(svc, X, y)
    started = spoil(monkeypatch)
    found = leave_one_out(svc, X, y)
    assert not started
    assert set(found.status) == {"unchanged", "re-trained"}
    np.testing.assert_allclose(found.decision_values, right.decision_values, atol=1e-8)


def test_the_tableau_grows_by_the_points_of_ends_that_lack_few(monkeypatch):
    X, y = noisy(n=60)
    svc = SVC(C=10.0, gamma=0.5)
    right = leave_one_out(svc, X, y)
    monkeypatch.setattr(path, "ALL_ROWS", 0)
    monkeypatch.setattr(path, "NEAR", 0.01)
    spoil(monkeypatch)
    grown, extended = [], path.SharedTableau.extended

    def noted(self, origin, points):
        grown.append(len(points))
        return extended(self, origin, points)

    monkeypatch.setattr(path.SharedTableau, "extended", noted)
    for most, grows in ((5, False), (60, True)):
        monkeypatch.setattr(importlib.import_module("bayes_svm.leave_one_out.verify"), "MOST_LACKED", most)
        found = leave_one_out(svc, X, y)
        assert bool(grown) == grows
        assert set(found.status) == {"unchanged", "re-trained"}
        np.testing.assert_allclose(found.decision_values, right.decision_values, atol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_end_far_from_the_optimum_is_not_written_where_no_solution_is_exact(monkeypatch):
    random = np.random.default_rng(10)
    X = random.normal(size=(80, 2)) * 10 ** random.uniform(0, 5)
    y = random.integers(0, 2, 80) * 2 - 1
    svc = SVC(C=10 ** random.uniform(2, 8), gamma=1e-6 * 10 ** random.uniform(-3, -1))
    assert not next(machine_of(svc, X, y)[1]).exact
    right = leave_one_out(svc, X, y)
    started = spoil(monkeypatch)
    found = leave_one_out(svc, X, y)
    assert not started
    assert np.abs(found.decision_values).max() <= 2.0 * np.abs(right.decision_values).max()
