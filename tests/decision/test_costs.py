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


def test_the_cost_to_expect_is_above_that_of_the_data():
    y, values = np.arange(40) % 4, random.normal(size=(40, 4))
    cost = 1.0 - np.eye(4)
    found, seen = (choose_threshold(y, values, "cost", costs=cost, n_bootstrap=n) for n in (30, 0))
    assert found.total_cost > seen.total_cost
    assert found.standard_error.shape == (4,)
    assert found.error == pytest.approx(np.mean([one.error for one in found.expected]))
