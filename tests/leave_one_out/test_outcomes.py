import numpy as np
import pytest

from bayes_svm._core.removals import Removals
from bayes_svm.leave_one_out.outcomes import Outcomes, Remainders

CASES = Removals(np.array([0, 2, 3, 6]), np.array([4, 7, 1, 0, 4, 9]), np.array([0.0, 1.0, 0, 0, 0.5, 0]))


def test_outcomes_are_put_where_they_belong():
    outcomes, part = Outcomes.open(CASES), Outcomes.open(CASES.take(np.array([2, 0])))
    np.testing.assert_array_equal(outcomes.pending, [0, 1, 2])
    part.set_values(slice(None), np.array([1.0, -2.0, 3.0, -4.0, 0.0]))
    part.status[:] = ["path", "unstable"]
    part.events[:] = [5, 6]
    outcomes.put(CASES, np.array([2, 0]), part)
    np.testing.assert_array_equal(outcomes.values, [-4.0, 0.0, np.nan, 1.0, -2.0, 3.0])
    np.testing.assert_array_equal(outcomes.signs, [-1, 0, 0, 1, -1, 1])
    np.testing.assert_array_equal(outcomes.status, ["unstable", "", "path"])
    np.testing.assert_array_equal(outcomes.events, [6, 0, 5])
    np.testing.assert_array_equal(outcomes.pending, [1])


def test_a_reader_of_a_member_is_a_case_of_one_member():
    outcomes = Outcomes.open(CASES)
    outcomes.set_values(slice(None), np.arange(6.0))
    outcomes.status[:] = ["path", "unstable", "inexact"]
    read = outcomes.take(np.array([5, 0, 0]), np.array([2, 0, 0]))
    np.testing.assert_array_equal(read.values, [5.0, 0.0, 0.0])
    np.testing.assert_array_equal(read.status, ["inexact", "path", "path"])


def test_values_at_other_points_are_those_of_the_machines_that_are_left():
    random = np.random.default_rng(0)
    cross, beta = random.normal(size=(4, 10)), random.normal(size=10)
    outcomes = Outcomes.open(CASES, remainders=True)
    part = Outcomes.open(CASES.take(np.array([2, 0])), remainders=True)
    delta, points = random.normal(size=(2, 3)), np.array([9, 1, 4])
    part.keep(Remainders(np.arange(2), beta, 0.5, points, delta, np.array([0.0, -1.0])))
    outcomes.put(CASES, np.array([2, 0]), part)
    outcomes.keep(Remainders.equal(np.array([1]), beta, 2.0))
    found = outcomes.values_at(cross)
    for case, row, shift in ((2, 0, 0.0), (0, 1, -1.0)):
        changed = beta.copy()
        changed[points] += delta[row]
        np.testing.assert_allclose(found[case], cross @ changed + 0.5 + shift)
    np.testing.assert_allclose(found[1], cross @ beta + 2.0)


@pytest.mark.parametrize("remainders", [False, True])
def test_machines_are_kept_where_they_are_asked_for(remainders):
    outcomes = Outcomes.open(CASES, remainders=remainders)
    outcomes.keep(Remainders.equal(np.array([1]), np.zeros(10), 2.0))
    assert bool(outcomes.remainders) == remainders
    assert np.isnan(outcomes.values_at(np.ones((1, 10)))[0]).all()
