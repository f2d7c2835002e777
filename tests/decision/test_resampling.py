"""Measures to expect of a choice, by making it again."""

import numpy as np
import pytest

from _data import problem
from bayes_svm import choose_threshold
from bayes_svm.decision.resampling import confusions_of, contingency, rechosen
from bayes_svm.metrics.confusion import decisions_per_class

random = np.random.default_rng(0)


def test_each_choice_is_measured_on_the_rows_that_were_not_drawn():
    y, weight = np.repeat([0, 1], [30, 10]), random.integers(1, 3, 40).astype(float)
    table = contingency(y, np.zeros(40, dtype=int), weight, 2)
    seen = []

    def choose(resample):
        seen.append(resample)
        return len(seen) if len(seen) != 2 else None

    found = rechosen(
        y,
        np.arange(40.0),
        weight,
        3,
        np.random.RandomState(0),
        choose=choose,
        decide=lambda one: y * (one == 1),
        table=table,
    )
    # The first choice decides all rows right, the second finds nothing, and the third decides none positive.
    out = [np.where(resample == 0, weight, 0) for resample in seen]
    right = out[0][y == 1].sum() / (out[0] + out[2])[y == 1].sum()
    assert found.found == [1, 3]
    np.testing.assert_allclose(found.table[1], weight[y == 1].sum() * np.array([1 - right, right]))
    np.testing.assert_allclose(found.table[0], [weight[y == 0].sum(), 0])
    for k, n in enumerate((30, 10)):
        assert all((resample / weight)[y == k].sum() == n for resample in seen)


def test_a_class_that_is_always_drawn_keeps_its_counts():
    y, values = np.array([0, 0, 0, 0, 1]), np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    (expected,) = choose_threshold(y, values).expected
    assert (expected.tp, expected.fn) == (1, 0)
    assert expected.fp + expected.tn == 4


def test_confusions_are_those_of_the_table():
    y, decided, weight = random.integers(0, 4, 80), random.integers(0, 4, 80), random.random(80)
    signs = np.where(decided[:, None] == np.arange(4), 1.0, -1.0)
    found = confusions_of(contingency(y, decided, weight, 4))
    for one, other in zip(found, decisions_per_class(y, 4, signs, weight), strict=True):
        np.testing.assert_allclose([one.tp, one.fp, one.fn, one.tn], [other.tp, other.fp, other.fn, other.tn])


def test_no_count_is_below_zero_by_rounding():
    table = np.diag([0.1, 0.7, 0.3]) / 3.0  # 0.1 + 0.7 + 0.3 - 0.3 - 0.7 is not 0.1
    for k, found in enumerate(confusions_of(table)):
        assert (found.tp, found.fp, found.fn) == (table[k, k], 0.0, 0.0)
    for true in range(2):
        lone = np.zeros((2, 2))
        lone[true] = 0.1, 0.2
        (found,) = confusions_of(lone)
        assert (found.fn, found.tp) == ((0.1, 0.2) if true else (0.0, 0.0))
        assert (found.tn, found.fp) == ((0.0, 0.0) if true else (0.1, 0.2))


def test_what_is_told_of_f1_is_less_than_in_sample_and_near_the_truth():
    fresh_y, fresh, _ = problem(0, 40_000, 10**6, False)
    told, in_sample, true = [], [], []
    for seed in range(1, 60):
        y, values, _ = problem(seed, 60, 10**6, False)
        found = choose_threshold(y, values, "f1")
        called = fresh >= found.threshold
        told.append(found.f1)
        in_sample.append(found.confusions[0].f1)
        true.append(2 * np.sum(called & (fresh_y == 1)) / (called.sum() + fresh_y.sum()))
    assert np.mean(in_sample) - np.mean(true) > 0.015
    assert abs(np.mean(told) - np.mean(true)) < 0.015


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", [{}, {"objective": "cost"}])
def test_what_is_told_does_not_depend_on_the_order_of_the_rows(n_classes, options):
    y = random.integers(n_classes, size=60)
    values = (random.normal(size=(60, n_classes)) + np.eye(n_classes)[y]).round(1)
    if n_classes == 2:
        values = values[:, 1]
    elif options:
        options = {**options, "costs": 1.0 - np.eye(3)}
    weight, rows = random.integers(1, 4, 60), random.permutation(60)
    one = choose_threshold(y, values, sample_weight=weight, **options)
    other = choose_threshold(y[rows], values[rows], sample_weight=weight[rows], **options)
    np.testing.assert_allclose(other.standard_error, one.standard_error)
    assert other.f1 == pytest.approx(one.f1)


def test_the_same_data_tell_the_same():
    y, values, weight = problem(3, 80, 1000, True)
    one, other = (choose_threshold(y, values, "cost", fn=3.0, sample_weight=weight) for _ in range(2))
    assert one.expected == other.expected
    assert one.total_cost == other.total_cost
    another = choose_threshold(y, values, "cost", fn=3.0, sample_weight=weight, random_state=1)
    assert another.threshold == one.threshold
    assert another.expected != one.expected
