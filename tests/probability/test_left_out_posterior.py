"""The posterior without the rows it is read at, beside features that are written out."""

import numpy as np
import pytest
from sklearn.svm import SVC

from _data import noisy, three_classes
from _explicit import explicit
from bayes_svm import BayesSVC
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.probability.curvature import hinge_curvature
from bayes_svm.probability.left_out_posterior import (
    information_across,
    leave_one_out_variance,
    left_out_variance,
)
from bayes_svm.probability.posterior import posterior_of


def rows_left_out(machine, posterior):
    """Variance at every row without it."""
    problem, rows = machine.problem(0), np.arange(len(machine.y))
    return left_out_variance(machine, problem, posterior, rows, rows, problem.row_bound / machine.weight)


def test_left_out_variance_deletes_the_row(linear):
    X, y, machine, solution, posterior, C = linear
    r = hinge_curvature(y * solution.values)
    kept = ~np.eye(40, dtype=bool)
    expected = [explicit(X[kept[i]], r[kept[i]], 1 / C, X[i : i + 1])[0] for i in range(40)]
    np.testing.assert_allclose(rows_left_out(machine, posterior), expected, rtol=1e-5)


@pytest.mark.parametrize("size", [2, 5, 17])
def test_left_out_variance_deletes_all_that_leaves_together(linear, size):
    X, y, machine, solution, posterior, C = linear
    r = hinge_curvature(y * solution.values)
    case = np.arange(40) // size
    row = np.random.default_rng(0).permutation(40)
    found = left_out_variance(machine, machine.problem(0), posterior, case, row, np.full(40, C))
    for number in range(case.max() + 1):
        gone = row[case == number]
        kept = np.setdiff1d(np.arange(40), gone)
        expected = explicit(X[kept], r[kept], 1 / C, X[gone])
        np.testing.assert_allclose(found[case == number], expected, rtol=1e-5)


def test_blocks_of_cases_make_no_difference(linear, monkeypatch):
    _, _, machine, _, posterior, C = linear
    arguments = machine, machine.problem(0), posterior, np.arange(40) // 3, np.arange(40), np.full(40, C)
    whole = left_out_variance(*arguments)
    monkeypatch.setattr("bayes_svm.probability.left_out_posterior.BLOCK_BYTES", 8 * 5 * len(posterior.points))
    np.testing.assert_allclose(left_out_variance(*arguments), whole, rtol=1e-9)


def test_information_across_halves_is_that_of_the_other_halfs_posterior(linear):
    X, y, machine, solution, posterior, C = linear
    half = np.random.default_rng(0).integers(0, 2, size=40)
    r = hinge_curvature(y * solution.values)
    found = information_across(
        machine,
        solution.problem,
        posterior,
        half=half,
        row=np.arange(40),
        counted=np.full(40, C),
        max_rows=256,
    )
    prior = C * np.einsum("ij,ij->i", X, X)
    for one in (0, 1):
        own = half != one
        variance = explicit(X[own], r[own], 1 / C, X[~own])
        np.testing.assert_allclose(found[~own], 1 / variance - 1 / prior[~own], rtol=1e-5)


def test_leave_one_out_variance_of_an_estimator_is_the_same(linear):
    X, y, machine, _, posterior, C = linear
    found = leave_one_out_variance(SVC(C=C, kernel="linear"), X, y)
    np.testing.assert_array_equal(found, rows_left_out(machine, posterior))
    assert leave_one_out_variance(BayesSVC(C=C), *three_classes()).shape == (60, 3)


def test_repeated_rows_count_as_often_and_one_of_them_goes():
    X, y = noisy(n=20)
    C, X, y = 2.0, np.repeat(X, 3, axis=0), np.repeat(y, 3)
    machine, (solution,) = machine_of(SVC(C=C, kernel="linear"), X, y)
    problem = machine.problem(0)
    posterior = posterior_of(machine, solution, C)
    r = hinge_curvature(y * solution.values[problem.group])
    np.testing.assert_allclose(posterior.variance(X), explicit(X, r, 1 / C, X), rtol=1e-6)
    expected = explicit(X[1:], r[1:], 1 / C, X[:1])
    np.testing.assert_allclose(rows_left_out(machine, posterior)[:3], expected[0], rtol=1e-6)


def test_probabilities_are_finite_where_a_variance_overflows():
    X, y = noisy(n=60, d=2)
    clf = BayesSVC(C=1e300, link="kwok").fit(X, y)
    assert np.isfinite(clf.left_out_proba_).all()
    assert np.isfinite(clf.predict_proba(X)).all()
