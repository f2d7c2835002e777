import numpy as np

from bayes_svm._core.removals import Removals

CASES = Removals(np.array([0, 2, 3, 6]), np.array([4, 7, 1, 0, 4, 9]), np.array([0.0, 1.0, 0, 0, 0.5, 0]))


def test_some_cases_are_taken_with_their_members():
    part = CASES.take(np.array([2, 0]))
    np.testing.assert_array_equal(part.start, [0, 3, 5])
    np.testing.assert_array_equal(part.points, [0, 4, 9, 4, 7])
    np.testing.assert_array_equal(part.rest, [0, 0.5, 0, 0, 1])
    np.testing.assert_array_equal(part.case, [0, 0, 0, 1, 1])
    assert CASES.take(np.array([], dtype=np.intp)).n_cases == 0


def test_any_member():
    np.testing.assert_array_equal(CASES.any_member(CASES.points == 4), [True, False, True])
