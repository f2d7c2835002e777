import numpy as np
from sklearn.svm import SVC

from _data import noisy
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.leave_one_out.cases import groups_alone, rows_alone
from bayes_svm.leave_one_out.methods import Plan
from bayes_svm.leave_one_out.removal import Outcomes, Removals

CASES = Removals(np.array([0, 2, 3, 6]), np.array([4, 7, 1, 0, 4, 9]), np.array([0.0, 1.0, 0, 0, 0.5, 0]))


def test_some_cases_are_taken_with_their_members():
    part = CASES.take(np.array([2, 0]))
    np.testing.assert_array_equal(part.start, [0, 3, 5])
    np.testing.assert_array_equal(part.points, [0, 4, 9, 4, 7])
    np.testing.assert_array_equal(part.rest, [0, 0.5, 0, 0, 1])
    np.testing.assert_array_equal(part.case, [0, 0, 0, 1, 1])
    assert len(CASES.take(np.array([], dtype=np.intp))) == 0


def test_any_member():
    np.testing.assert_array_equal(CASES.any_member(CASES.points == 4), [True, False, True])


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


def weighted_machine():
    X, y = noisy(n=12)
    X[5], y[5] = X[2], y[2]
    weight = np.array([1, 1, 2.5, 0, 1, 1, 3, 1, 0.4, 1, 1, 1.0])
    return machine_of(SVC(C=2.0), X, y, weight)[0]


def test_a_row_takes_one_copy_of_its_point():
    machine = weighted_machine()
    leaving = rows_alone(machine)
    plan = Plan.of(machine.problem(0), leaving)
    np.testing.assert_array_equal(np.sort(leaving.part_row[plan.parts]), np.delete(np.arange(12), 3))
    rest = dict(zip(leaving.part_row[plan.parts].tolist(), plan.removals.rest[plan.member], strict=True))
    assert rest[2] == 2.0 * (3.5 - 1.25)
    assert rest[5] == 2.0 * (3.5 - 1.0)
    assert rest[6] == 4.0
    assert rest[8] == 0.0


def test_a_group_takes_all_of_its_rows():
    machine = weighted_machine()
    problem = machine.problem(0)
    leaving = groups_alone(machine, np.array([0, 0, 1, 1, 2, 2, 2, 1, 0, 0, 1, 2]))
    plan = Plan.of(problem, leaving)
    assert len(plan.removals) == 3
    bounds = plan.removals.bounds(problem, 1)
    expected = problem.bound.copy()
    for row in (2, 7, 10):
        expected[problem.group[row]] -= problem.row_bound[row]
    np.testing.assert_allclose(bounds, expected)
    np.testing.assert_array_equal(leaving.part_row[plan.absent], [3])
    np.testing.assert_array_equal(plan.absent_case, [1])
    section = plan.section(1, 3)
    rows = leaving.part_row[section.parts]
    np.testing.assert_array_equal(np.sort(rows), [2, 4, 5, 6, 7, 10, 11])
    np.testing.assert_array_equal(section.removals.points[section.member], problem.group[rows])
