"""Venn-Abers predictors against two isotonic regressions of scikit-learn per new point."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from bayes_svm import BayesSVC
from bayes_svm.conformal.venn_abers import (
    VennAbers,
    _levels,
    intervals,
    left_out_intervals,
    predictors,
    reading,
)


def isotonic(values, positive, weight, at):
    model = IsotonicRegression(out_of_bounds="clip")
    return model.fit(values, positive.astype(float), sample_weight=weight).predict([at])[0]


def both(values, positive, weight, at):
    """p_0 and p_1 by definition."""
    return [
        isotonic(np.append(values, at), np.append(positive, trial), np.append(weight, 1.0), at)
        for trial in (False, True)
    ]


def sample(kind, n, seed):
    random = np.random.default_rng(seed)
    values = random.normal(size=n)
    positive = values + random.normal(size=n) > 0
    weight = np.ones(n)
    if kind == "ties":
        values = np.round(values * 2) / 2
    elif kind == "weights":
        values, weight = np.round(values * 4) / 4, random.choice([0.0, 0.3, 1.0, 2.5, 7.0], size=n)
    elif kind == "light":
        weight = random.uniform(1e-3, 0.1, size=n)
    elif kind == "backwards":
        positive = ~positive
    elif kind == "separated":
        positive = values > 0
    elif kind == "one class":
        positive = np.ones(n, dtype=bool)
    elif kind == "equal":
        values = np.full(n, 0.25)
    elif kind == "chance":
        positive = random.random(n) < 0.3
    return values, positive, weight


KINDS = (
    "plain", "ties", "weights", "light", "backwards", "separated", "one class", "equal", "chance"
)  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 3, 7, 60])
@pytest.mark.parametrize("kind", KINDS)
def test_the_ends_are_two_isotonic_regressions(kind, n):
    for seed in range(5):
        values, positive, weight = sample(kind, n, seed)
        middle = (np.sort(values)[1:] + np.sort(values)[:-1]) / 2
        at = np.concatenate([values, middle, [values.min() - 1, values.max() + 1, -1e300, 1e300]])
        found = VennAbers(values, positive, weight).interval(at)
        used = weight > 0
        expected = [both(values[used], positive[used], weight[used], np.clip(one, -1e6, 1e6)) for one in at]
        np.testing.assert_allclose(found, np.sort(expected, axis=1), atol=1e-9)


def test_beyond_the_values_one_end_is_certain():
    values, positive, weight = sample("plain", 50, 0)
    low, high = VennAbers(values, positive, weight).interval(np.array([-9.0, 9.0])).T
    assert low[0] == 0.0
    assert high[1] == 1.0
    assert high[0] < low[1]


def test_a_weight_is_a_number_of_rows():
    values, positive, _ = sample("ties", 40, 1)
    times = np.random.default_rng(0).integers(0, 4, size=40)
    rows, at = np.repeat(np.arange(40), times), np.linspace(-3, 3, 50)
    weighted = VennAbers(values, positive, times.astype(float)).interval(at)
    repeated = VennAbers(values[rows], positive[rows], np.ones(len(rows))).interval(at)
    np.testing.assert_allclose(weighted, repeated, atol=1e-12)


def test_values_that_rounding_made_unequal_are_equal():
    random = np.random.default_rng(0)
    positive = np.arange(200) % 4 == 0
    values = np.where(np.arange(200) < 100, -1.0, random.normal(size=200))
    noise = 1e-14 * random.normal(size=200)
    at = np.array([-1.0, -1.0 + 1e-13, 0.3])
    expected = VennAbers(values, positive, np.ones(200)).interval(at)
    np.testing.assert_array_equal(VennAbers(values + noise, positive, np.ones(200)).interval(at), expected)
    bags = [reading(one, positive, one[:5]) for one in (values, values + noise)]
    np.testing.assert_array_equal(*bags)


def test_nothing_known():
    none = VennAbers(np.array([]), np.array([], dtype=bool), np.array([]))
    np.testing.assert_array_equal(none.interval(np.array([0.0, 3.0])), [[0.0, 1.0]] * 2)
    ignored = VennAbers(np.array([1.0]), np.array([True]), np.zeros(1))
    np.testing.assert_array_equal(ignored.interval(np.array([0.0, 3.0])), [[0.0, 1.0]] * 2)


def test_over_all_points_the_interval_holds_the_frequency():
    """Exchangeable values of one bag: the mean over which of its points is the new one is exact."""
    values, positive, _ = sample("chance", 80, 3)
    rest = ~np.eye(80, dtype=bool)
    found = np.array(
        [
            VennAbers(values[own], positive[own], np.ones(79)).interval(values[[i]])[0]
            for i, own in enumerate(rest)
        ]
    )
    right = np.where(positive, found[:, 1], found[:, 0])
    assert right.mean() == pytest.approx(positive.mean(), abs=1e-12)
    assert found[:, 0].mean() < positive.mean() < found[:, 1].mean()


def test_several_classes_have_one_predictor_each():
    random = np.random.default_rng(0)
    values, y, weight = random.normal(size=(30, 3)), random.integers(0, 3, size=30), random.random(30)
    at = random.normal(size=(11, 3))
    found = intervals(predictors(values, y, weight), at)
    assert found.shape == (11, 3, 2)
    for k in range(3):
        one = VennAbers(values[:, k], y == k, weight)
        np.testing.assert_array_equal(found[:, k], one.interval(at[:, k]))
    two = intervals(predictors(values[:, 0], y, weight), at[:, 0])
    np.testing.assert_array_equal(two, VennAbers(values[:, 0], y == 1, weight).interval(at[:, 0]))


@pytest.mark.parametrize("n", [1, 2, 5, 40])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("weights", "light")])
def test_bags_are_read_one_by_one(kind, n):
    bags = [sample(kind, n, seed) for seed in range(30)]
    values, positive = (np.array([bag[k] for bag in bags]) for k in (0, 1))
    own = values[np.arange(30), np.arange(30) % n]
    expected = [isotonic(*bag, at) for bag, at in zip(bags, own, strict=True)]
    np.testing.assert_allclose(reading(values, positive, own), expected, atol=1e-9)


def test_with_the_same_values_in_each_bag_the_predictors_agree(monkeypatch):
    values, positive, weight = sample("ties", 30, 5)
    at = np.linspace(-3, 3, 25)
    larger = np.column_stack([np.tile(values, (25, 1)), at])
    ends = [
        reading(larger, np.column_stack([np.tile(positive, (25, 1)), np.full(25, trial)]), at)
        for trial in (False, True)
    ]
    np.testing.assert_allclose(
        np.column_stack(ends), VennAbers(values, positive, weight).interval(at), atol=1e-12
    )
    # In parts, to save memory, they are the same.
    monkeypatch.setattr("bayes_svm.conformal.venn_abers.AT_A_TIME", 70)
    labels = np.append(positive, True)
    np.testing.assert_array_equal(reading(larger, labels, at), ends[1])


def test_values_that_all_bags_share_are_given_once():
    values, positive, _ = sample("plain", 20, 0)
    trial = np.where(np.eye(20, dtype=bool), True, positive)
    tiled = np.tile(values, (20, 1))
    np.testing.assert_array_equal(reading(values, trial, values), reading(tiled, trial, values))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_training_rows_are_read_among_all_others(n_classes):
    random = np.random.default_rng(0)
    y, rows = random.integers(0, n_classes, size=40), np.array([3, 0, 39, 17])
    values = np.round(random.normal(size=(40, n_classes)), 1)
    if n_classes == 2:
        values[:, 0] = -values[:, 1]
    found = left_out_intervals(values[:, 1] if n_classes == 2 else values, y, rows)
    for i, ends in zip(rows, found, strict=True):
        others, k = np.arange(40) != i, y[i]
        known = VennAbers(values[others, k], y[others] == k, np.ones(39))
        np.testing.assert_allclose(ends, known.interval(values[[i], k])[0], atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_training_rows_are_read_among_the_rows_of_other_groups(n_classes):
    random = np.random.default_rng(0)
    y, rows, groups = random.integers(0, n_classes, 60), np.arange(0, 60, 7), np.arange(60) // 5
    values = y + random.normal(size=60) if n_classes == 2 else random.normal(size=(60, 3))
    found = left_out_intervals(values, y, rows, groups=groups)
    for row, interval in zip(rows, found, strict=True):
        kept = (groups != groups[row]) | (np.arange(60) == row)
        (place,) = np.flatnonzero(np.flatnonzero(kept) == row)
        (expected,) = left_out_intervals(values[kept], y[kept], np.array([place]))
        np.testing.assert_allclose(interval, expected, atol=1e-12)
    wide = left_out_intervals(values, y, rows, np.full(60, 0.2), groups)
    assert (np.diff(wide) > np.diff(found)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_training_rows_are_read_as_a_bag_with_either_label(n_classes):
    random = np.random.default_rng(1)
    y = random.integers(0, n_classes, size=40)
    values = random.normal(size=(40, n_classes)).round(1)
    if n_classes == 2:
        values[:, 0] = -values[:, 1]
    for row, ends in enumerate(
        left_out_intervals(values[:, 1] if n_classes == 2 else values, y, np.arange(40))
    ):
        column, own = values[:, y[row]], y == y[row]
        bags = np.tile(own, (2, 1))
        bags[:, row] = False, True
        both = reading(column, bags, column[[row, row]])
        np.testing.assert_allclose(ends, np.sort(both), atol=1e-12)


def test_a_point_that_is_not_in_its_bag_is_refused():
    with pytest.raises(ValueError, match="own must be one of the values of its bag"):
        reading(np.array([0.0, 1.0]), np.array([False, True]), np.array([0.5]))


@pytest.mark.parametrize("n", [90, 330])  # joined by the new point, and read from the fit's left-out values
def test_where_a_class_cannot_be_separated_the_interval_does_not_follow_rounding(n):
    # Of classes in a row no hyperplane tells the middle one from both others: its machine says -1 everywhere,
    # but for the rounding of these large numbers.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], n // 3)
    X = 300.0 * (y - 1)[:, None] + 15.0 * rng.normal(size=(n, 1))
    with pytest.warns(UserWarning, match="do not separate the classes"):
        model = BayesSVC(kernel="linear").fit(X, y)
    found = model.predict_interval(X[:: n // 30] + rng.normal(size=(30, 1)))[:, 1]
    np.testing.assert_array_equal(found, np.tile(found[0], (30, 1)))
    assert np.all((found[0] > 0.31) & (found[0] < 0.36))


def test_a_value_that_differs_by_rounding_is_one_of_the_known():
    values, positive = np.array([-1.0, -1.0, -1.0, 2.0]), np.array([False, True, False, True])
    known = VennAbers(values, positive, np.ones(4), 1e-6)
    at = np.array([-1.0, -1.0 - 9e-7, -1.0 + 9e-7])
    np.testing.assert_array_equal(known.interval(at), np.tile(known.interval(at[:1]), (3, 1)))
    assert not np.array_equal(known.interval(np.array([-1.1])), known.interval(at[:1]))
    bags = np.array([[-1.0 + 9e-7, -1.0 - 9e-7, 2.0, -1.0], [-1.0, -1.0, 2.0, -1.0]])
    one, other = reading(bags, np.array([False, True, True, False]), bags[:, -1], 1e-6)
    assert one == other == 1 / 3


@pytest.mark.parametrize("factor", [1.0, 3.7, 1e-7, 1e9])
def test_no_equal_values_are_kept_apart_wherever_they_lie(factor):
    # A grid, however fine or coarse, would part some of these.
    random = np.random.default_rng(0)
    levels = np.linspace(0.1, 1.0, 400) * factor
    values = np.repeat(levels, 3) + 1e-13 * factor * random.normal(size=1200)
    positive = random.random(1200) < np.repeat(levels, 3) / factor
    alike, at = np.repeat(levels, 3), levels + 1e-13 * factor * random.normal(size=400)
    found = VennAbers(values, positive, np.ones(1200)).interval(at)
    np.testing.assert_allclose(found, VennAbers(alike, positive, np.ones(1200)).interval(levels), atol=1e-12)
    bags = np.column_stack([np.tile(values, (400, 1)), at])
    exact = np.column_stack([np.tile(alike, (400, 1)), levels])
    for trial in (False, True):
        labels = np.append(positive, trial)
        np.testing.assert_array_equal(reading(bags, labels, at), reading(exact, labels, levels))


def test_values_too_far_apart_to_subtract_are_different():
    known = VennAbers(np.array([-1.7e308, 1.7e308]), np.array([False, True]), np.ones(2))
    np.testing.assert_array_equal(known.interval(np.array([-1e308, 1e308])), [[0.0, 1.0], [0.0, 1.0]])
    np.testing.assert_array_equal(known.interval(known.values), [[0.0, 0.5], [0.5, 1.0]])


def test_values_that_differ_by_less_than_they_are_known_to_say_nothing():
    # With so small a C all values are within 1e-9 of each other: no link must be fitted to their differences.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + rng.normal(size=300) > 0.7
    with pytest.warns(UserWarning, match="do not separate the classes"):
        model = BayesSVC(C=1e-11, gamma=0.5, link="sigmoid").fit(X, y)
    assert 0.0 < np.ptp(model.left_out_decision_values_) < 1e-9
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean(), atol=0.01)
    found = model.predict_interval(X)
    np.testing.assert_array_equal(found, np.tile(found[0], (300, 1)))
    assert found[0, 1] - found[0, 0] < 0.01


@pytest.mark.parametrize("outlier", [1e6, 1e8, 3e9])
def test_a_huge_value_does_not_make_all_others_equal(outlier):
    # Next to it the gaps between the others are no more than rounding, but not all of them together.
    random = np.random.default_rng(0)
    values = np.append(2.0 * random.normal(size=300), outlier)
    positive = values + random.normal(size=301) > 0
    at = np.array([-4.0, 4.0])
    found = VennAbers(values, positive, np.ones(301)).interval(at)
    assert found[0, 1] < 0.2
    assert found[1, 0] > 0.8
    bags = np.column_stack([np.tile(values, (2, 1)), at])
    for trial in (False, True):
        low, high = reading(bags, np.append(positive, trial), at)
        assert low < 0.2 < 0.8 < high


def test_levels_are_no_wider_than_rounding_and_equal_values_share_one():
    random = np.random.default_rng(0)
    # Pairs of equal values, so near to each other that every gap is less than rounding.
    pairs = np.sort(random.random(400))
    values = np.repeat(pairs, 2) + np.tile([0.0, 1e-12], 400)
    level = _levels(values, np.array([0.02]))
    assert np.all(level[::2] == level[1::2])
    width = np.bincount(level, weights=np.diff(values, prepend=values[0]) * (np.diff(level, prepend=0) == 0))
    assert width.max() <= 0.02
    assert 50 < level[-1] < 200
    two = np.stack([values, np.sort(random.normal(size=800)) * 1e6])
    both = _levels(two, np.array([[0.02], [1e-9]]))
    np.testing.assert_array_equal(both[0], level)
    np.testing.assert_array_equal(both[1], np.arange(800))
