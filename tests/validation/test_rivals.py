"""What the comparison with other packages computes for itself."""

import sys

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from _repository import path_of
from bayes_svm import BayesSVC, leave_one_out

# At the end: the package itself is the installed one.
sys.path.append(str(path_of("validation").parent))

from validation.speed import _rival_machines as machines
from validation.speed import rivals


@pytest.fixture(scope="module")
def problem():
    return rivals.drawn(60, 1.0)


@pytest.fixture(scope="module")
def gram(problem):
    return rbf_kernel(problem.X, gamma=problem.gamma)


def test_the_problem_has_the_gamma_of_its_training_rows(problem):
    scaled = SVC().fit(problem.X, problem.y)
    np.testing.assert_allclose(
        SVC(gamma=problem.gamma).fit(problem.X, problem.y).decision_function(problem.fresh),
        scaled.decision_function(problem.fresh),
    )
    assert problem.fresh.shape == (rivals.FRESH, 20)
    assert set(problem.y) == {-1.0, 1.0}


def test_rows_leave_alone(problem):
    assert [list(gone) for gone in rivals.leaving_with(problem, "rows", None)] == [[k] for k in range(60)]


def test_strata_leave_together_and_keep_the_class_ratio(problem):
    together = rivals.leaving_with(problem, "strata", None)
    for row, gone in enumerate(together):
        assert row in gone
        assert all(np.array_equal(together[other], gone) for other in gone)
        assert set(problem.y[gone]) == {-1.0, 1.0}


def test_rows_that_are_not_left_out_have_none():
    problem = rivals.drawn(2500, 1.0)
    model = BayesSVC(leave_out_size=1500).fit(problem.X, problem.y)
    together = rivals.leaving_with(problem, "strata", 1500)
    left_out = [row for row, gone in enumerate(together) if gone is not None]
    np.testing.assert_array_equal(left_out, model.left_out_.rows)


@pytest.mark.parametrize("way", ["rows", "strata"])
def test_both_references_are_the_left_out_values(problem, gram, way):
    if way == "rows":
        values = leave_one_out(SVC(), problem.X, problem.y, method="retrain").decision_values
    else:
        values = BayesSVC().fit(problem.X, problem.y).left_out_decision_values_
    together = rivals.leaving_with(problem, way, None)
    for row in range(0, 60, 7):
        found = rivals.retrained(problem, gram, together[row], row)
        # LIBSVM keeps the kernel in single precision.
        np.testing.assert_allclose(found, values[row], atol=1e-6)


def test_residuals_tell_a_loose_machine_from_exact_ones(problem, gram):
    loose, ours = rivals.residuals(problem, gram, SVC(gamma=problem.gamma, tol=0.1).fit(problem.X, problem.y))
    tight, _ = rivals.residuals(problem, gram, SVC(gamma=problem.gamma, tol=1e-10).fit(problem.X, problem.y))
    assert ours < 1e-13 < tight < 1e-6 < 1e-3 < loose


def test_largest_and_median_difference_and_signs():
    told, exact = np.array([1.0, -1.0, 0.5, 3.0]), np.array([1.0, 1.0, 0.25, 2.5])
    assert rivals.off(told, exact) == (2.0, 0.375, 1)


def test_a_short_call_is_repeated_and_a_long_one_is_not(monkeypatch):
    calls = []
    monkeypatch.setattr(rivals, "ONCE", np.inf)
    rivals.timed(lambda: calls.append(0))
    assert len(calls) == 1 + rivals.AGAIN
    monkeypatch.setattr(rivals, "ONCE", 0.0)
    rivals.timed(lambda: calls.append(0))
    assert len(calls) == 2 + rivals.AGAIN


def test_the_column_of_the_positive_label():
    proba = np.array([[0.2, 0.8]])
    assert machines.positive(proba, [-1, 1]) == 0.8
    assert machines.positive(proba, np.array([1.0, -1.0], dtype=object)) == 0.2


def test_a_rival_that_cannot_be_imported_is_named_with_the_reason(monkeypatch):
    monkeypatch.setattr(machines, "MODULES", {"nothing": ("no_such_module",)})
    versions, missing = machines.loaded()
    assert versions == {}
    assert "no_such_module" in missing["nothing"]


@pytest.mark.parametrize("name", machines.ways({}))
def test_what_scikit_learn_and_this_package_tell_is_read_right(problem, gram, name):
    way = machines.ways({})[name]
    told = way.told(way.fit(problem), problem)
    whole = SVC(gamma=problem.gamma, tol=1e-10).fit(problem.X, problem.y)
    np.testing.assert_allclose(told.decisions, whole.decision_function(problem.X), atol=5e-3)
    assert (told.left_out is not None) == ("left-out" in way.gives)
    assert (told.proba is not None) == ("probabilities" in way.gives)
    if told.left_out is not None:
        assert rivals.compared(told, way, problem, gram, {})[2] == "0 of 60"
    if told.proba is not None:
        assert np.mean((told.proba > 0.5) == (problem.fresh_y > 0)) > 0.7
