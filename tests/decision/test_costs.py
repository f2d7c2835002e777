"""Offsets of the decision values under a cost matrix."""

import numpy as np
import pytest

from bayes_svm import choose_threshold

random = np.random.default_rng(0)


def total_cost(y, values, offsets, cost, weight):
    return float(weight @ cost[y, (values - offsets).argmax(axis=1)])


def test_offsets_of_a_cost_matrix_cannot_be_improved_one_at_a_time():
    y, values = random.integers(0, 3, 60), np.round(random.normal(size=(60, 3)), 1)
    values[np.arange(60), y] += 0.5
    weight = random.integers(0, 3, 60).astype(float)
    cost = np.array([[0, 1, 5], [2, 0, 1], [1, 8, 0.0]])
    found = choose_threshold(y, values, "cost", costs=cost, sample_weight=weight, n_bootstrap=0)
    assert found.total_cost == total_cost(y, values, found.threshold, cost, weight)
    assert found.total_cost < total_cost(y, values, np.zeros(3), cost, weight)
    for k in range(3):
        for step in np.linspace(-4, 4, 801):
            moved = found.threshold.copy()
            moved[k] += step
            assert total_cost(y, values, moved, cost, weight) >= found.total_cost
    assert set(found.decide(values)) <= {0, 1, 2}


def test_rounding_between_equal_differences_hides_no_cheaper_offset():
    # Decimal decision values: many of their differences are equal but for rounding.
    for seed in range(400):
        random = np.random.default_rng(seed)
        n_classes, n = random.integers(3, 6), random.integers(8, 60)
        y = np.append(np.arange(n_classes), random.integers(0, n_classes, n))
        values = np.round(random.normal(size=(len(y), n_classes)) + 1.5 * np.eye(n_classes)[y], 1)
        cost = random.uniform(0, 5, (n_classes, n_classes)) * (1.0 - np.eye(n_classes))
        found = choose_threshold(y, values, "cost", costs=cost, n_bootstrap=0)
        reached = total_cost(y, values, found.threshold, cost, np.ones(len(y)))
        assert found.total_cost == pytest.approx(reached, rel=1e-12)
        small = choose_threshold(y, 2.0**-40 * values, "cost", costs=cost, n_bootstrap=0)
        assert small.total_cost == pytest.approx(found.total_cost, rel=1e-12)
        for k in range(n_classes):
            ends = values[:, k] - np.delete(values - found.threshold, k, axis=1).max(axis=1)
            for end in np.concatenate([ends - 1e-9, ends + 1e-9]):
                moved = found.threshold.copy()
                moved[k] = end
                assert total_cost(y, values, moved, cost, np.ones(len(y))) >= found.total_cost - 1e-9


def test_the_cost_to_expect_is_above_that_of_the_data():
    y, values = np.arange(40) % 4, random.normal(size=(40, 4))
    cost = 1.0 - np.eye(4)
    found, seen = (choose_threshold(y, values, "cost", costs=cost, n_bootstrap=n) for n in (30, 0))
    assert found.total_cost > seen.total_cost
    assert found.standard_error.shape == (4,)
    # Each wrong decision costs 1.
    assert found.error * 40 == pytest.approx(found.total_cost)
