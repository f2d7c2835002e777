import numpy as np
import pytest

from _sources import sources
from bayes_svm._core.records import LOST, LOST_ON_THE_WAY, Base
from bayes_svm.dual.tableau_path import scratch

# C alone can call these when they are compiled.
steps = sources().changed_points
factorise, factorise_changed = steps.factorise, steps.factorise_changed
solve_changed, solve_factorised, toggle = steps.solve_changed, steps.solve_factorised, steps.toggle
random = np.random.default_rng(0)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_factorise_and_solve_are_numpys_solve(size):
    A, x = random.normal(size=(10, 10)), random.normal(size=10)
    A[0, 0] = 0.0 if size > 1 else A[0, 0]  # needs a pivot
    expected = np.append(np.linalg.solve(A[:size, :size], x[:size]), x[size:])
    pivots = np.empty(10, dtype=np.int64)
    assert factorise(A, pivots, size)
    solve_factorised(A, pivots, x, size)
    np.testing.assert_allclose(x, expected, rtol=1e-10)


def test_a_singular_matrix_is_not_factorised():
    assert not factorise(np.zeros((3, 3)), np.empty(3, dtype=np.int64), 3)


def test_the_empty_system_has_a_solution():
    assert factorise(np.zeros((3, 3)), np.empty(3, dtype=np.int64), 0)


def tableau(K, free):
    """The principal pivot of K on its first ``free`` points, as the base of a path."""
    inside, rest, m = slice(0, free), slice(free, len(K)), len(K)
    W = np.zeros((m + 1, m + 1))
    W[inside, inside] = np.linalg.inv(K[inside, inside])
    W[inside, rest] = W[inside, inside] @ K[inside, rest]
    W[rest, inside] = -W[inside, rest].T
    W[rest, rest] = K[rest, rest] - K[rest, inside] @ W[inside, rest]
    is_in = np.arange(m) < free
    return Base(W, is_in, np.zeros(m), np.ones(m), 1e-10 * np.diagonal(K))


def solved(base, points, right, memory, lost=LOST):
    """The inputs of the changed points that give these positions, in the points' order."""
    changed = np.append(np.asarray(points, dtype=int), [0] * (len(memory.A) - len(points)))
    assert factorise_changed(base, changed, len(points), lost, memory)
    order = {point: place for place, point in enumerate(points)}
    rows = np.array([order[point] for point in changed[: len(points)]], dtype=int)
    memory.weights[: len(points)] = right[rows]
    solve_changed(base, changed, len(points), memory)
    inputs = np.empty(len(points))
    inputs[rows] = memory.weights[: len(points)]
    return inputs


@pytest.mark.parametrize("rank", [12, 4])
def test_the_changed_points_system_maps_their_inputs_to_their_positions(rank):
    X = random.normal(size=(9, rank))
    base, memory = tableau(X @ X.T, 4), scratch(9, 8)
    # It grows, shrinks at its end and at its head, starts with points of no curvature of their own, ends.
    for points in ([6, 1], [6, 1, 0, 7], [6, 1, 0], [1, 0, 5], [5, 4, 6, 2, 0, 1], [0, 1, 2, 5, 4, 6], [3]):
        right = random.normal(size=len(points))
        inputs = solved(base, points, right, memory)
        np.testing.assert_allclose(inputs @ base.W[np.ix_(points, points)], right, rtol=1e-8, atol=1e-10)


def test_points_that_leave_the_list_leave_the_factors(monkeypatch):
    X, points, appended = random.normal(size=(24, 30)), [], []
    base, memory = tableau(X @ X.T, 10), scratch(24, 30)
    append = steps._append_factor
    monkeypatch.setattr(steps, "_append_factor", lambda *given: appended.append(given) or append(*given))
    for _ in range(300):
        joins = [point for point in range(24) if point not in points]
        joined = int(len(points) < 2 or (len(joins) > 0 and random.random() < 0.55))
        if joined:
            points.append(random.choice(joins))
        else:
            points.pop(random.integers(len(points)))
        right = random.normal(size=len(points))
        inputs = solved(base, points, right, memory)
        np.testing.assert_allclose(inputs @ base.W[np.ix_(points, points)], right, atol=1e-8)
        assert len(appended) == joined
        appended.clear()


def test_factors_that_would_lose_digits_are_made_anew():
    # Without the first point, whose pivot is small, the second's would be a difference of large numbers.
    W = np.array([[1e-7, 1.0, 0.0], [1.0, 1.5, 0.0], [0.0, 0.0, 0.0]])
    base = Base(W, np.zeros(2, dtype=bool), np.zeros(2), np.ones(2), np.full(2, 1e-10))
    memory = scratch(2, 4)
    for points in ([0, 1], [1]):
        inputs = solved(base, points, np.full(len(points), 3.0), memory, lost=LOST_ON_THE_WAY)
    assert inputs[0] == 2.0


def test_a_drop_that_makes_a_small_pivot_large_keeps_its_digits():
    # The third point is nearly the second.
    X = random.normal(size=(6, 6))
    X[2] = X[1] + 1e-4 * random.normal(size=6)
    base, memory = tableau(X @ X.T, 0), scratch(6, 8)
    for points in ([1, 2, 0, 3], [2, 0, 3]):
        right = random.normal(size=len(points))
        inputs = solved(base, points, right, memory, lost=LOST_ON_THE_WAY)
    np.testing.assert_allclose(inputs @ base.W[np.ix_(points, points)], right, atol=1e-13)


def test_no_drop_leaves_a_pivot_that_is_lost():
    # With the point that was in, the pivot of the other is 1e-6; alone it is 1e-9 of its usual size.
    W = np.array([[1.0, -1e-3, 0.0], [1e-3, 1e-9, 0.0], [0.0, 0.0, 0.0]])
    base = Base(W, np.array([True, False]), np.zeros(2), np.ones(2), np.full(2, 1e-10))
    memory = scratch(2, 4)
    for points in ([0, 1], [1]):
        inputs = solved(base, points, np.ones(len(points)), memory, lost=LOST_ON_THE_WAY)
    assert memory.factored[0] == -1
    np.testing.assert_allclose(inputs, 1e9)


def test_points_that_no_order_helps_are_factorised_by_exchanging_rows():
    # Alone, neither of the two has a curvature.
    W = np.zeros((3, 3))
    W[0, 1], W[1, 0] = 2.0, -2.0
    base = Base(W, np.array([True, False]), np.zeros(2), np.ones(2), np.full(2, 1e-10))
    memory = scratch(2, 4)
    for _ in range(2):
        inputs = solved(base, [0, 1], np.array([1.0, 3.0]), memory)
        np.testing.assert_allclose(inputs @ W[:2, :2], [1.0, 3.0])


def test_a_changed_points_system_may_be_singular():
    base = Base(np.zeros((3, 3)), np.array([True, False]), np.zeros(2), np.ones(2), np.full(2, 1e-10))
    assert not factorise_changed(base, np.array([0, 1]), 2, LOST, scratch(2, 4))


@pytest.mark.parametrize("count", [0, 1, 3, 4, 7, 8])
def test_combine_adds_rows_of_the_tableau(count):
    W, start, out = random.normal(size=(9, 9)), random.normal(size=9), np.empty(9)
    weights, rows = random.normal(size=9), random.permutation(9)
    sources().matrix.combine(W, start, rows, weights, count, 9, out)
    np.testing.assert_allclose(out, start + weights[:count] @ W[rows[:count]], atol=1e-12)


def test_a_point_that_changes_sides_twice_has_not_changed():
    is_in, changed = np.array([True, False, False]), np.empty(4, dtype=np.int64)
    n = 0
    for i in (0, 2, 1):
        n = toggle(i, is_in, changed, n)
    assert (n, list(changed[:3]), list(is_in)) == (3, [0, 2, 1], [False, True, True])
    n = toggle(2, is_in, changed, n)
    assert (n, list(changed[:2]), list(is_in)) == (2, [0, 1], [False, True, False])
