import numpy as np
from sklearn.svm import SVC

from _data import noisy
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.leave_one_out.cases import groups_alone, rows_alone
from bayes_svm.leave_one_out.methods import removals_of


def weighted_machine():
    X, y = noisy(n=12)
    X[5], y[5] = X[2], y[2]
    weight = np.array([1, 1, 2.5, 0, 1, 1, 3, 1, 0.4, 1, 1, 1.0])
    return machine_of(SVC(C=2.0), X, y, weight)[0]


def test_a_row_takes_one_copy_of_its_point():
    machine = weighted_machine()
    leaving = rows_alone(machine)
    removals, case, member = removals_of(machine.problem(0), leaving)
    np.testing.assert_array_equal(np.sort(leaving.part_row), np.delete(np.arange(12), 3))
    np.testing.assert_array_equal(removals.case[member], case)
    rest = dict(zip(leaving.part_row.tolist(), removals.rest[member], strict=True))
    assert rest[2] == 2.0 * (3.5 - 1.25)
    assert rest[5] == 2.0 * (3.5 - 1.0)
    assert rest[6] == 4.0
    assert rest[8] == 0.0


def test_a_group_takes_all_of_its_rows():
    machine = weighted_machine()
    problem = machine.problem(0)
    leaving = groups_alone(machine, np.array([0, 0, 1, 1, 2, 2, 2, 1, 0, 0, 1, 2]))
    removals, case, member = removals_of(problem, leaving)
    assert removals.n_cases == 3
    bounds = removals.bounds(problem.bound, 1)
    expected = problem.bound.copy()
    for row in (2, 7, 10):
        expected[problem.group[row]] -= problem.row_bound[row]
    np.testing.assert_allclose(bounds, expected)
    absent = np.flatnonzero(member < 0)
    np.testing.assert_array_equal(leaving.part_row[absent], [3])
    np.testing.assert_array_equal(case[absent], [1])
    present = np.flatnonzero(member >= 0)
    np.testing.assert_array_equal(removals.points[member[present]], problem.group[leaving.part_row[present]])
