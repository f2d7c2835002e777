import numpy as np

from bayes_svm.metrics.distinct import ROUNDING, distinct


def test_values_that_differ_by_more_than_rounding_are_numpys():
    values = np.random.default_rng(0).integers(-5, 5, 100) / 7.0
    points, place = distinct(values)
    expected = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(points, expected[0])
    np.testing.assert_array_equal(place, expected[1].ravel())


def test_rounding_tells_no_values_apart():
    values = np.array([2.0, 1e9, 2.0 + 4e-16, -3.0, 1e9 + 1e-6, 2.0 + 1e-9])
    points, place = distinct(values)
    assert points.tolist() == [-3.0, 2.0, 2.0 + 1e-9, 1e9]
    assert place.tolist() == [1, 3, 1, 0, 3, 2]


def test_there_may_be_none():
    points, place = distinct(np.empty(0))
    assert len(points) == len(place) == 0


def test_a_chain_of_neighbours_leads_no_farther_than_rounding():
    values = np.arange(10_000) * 0.9e-12 + 0.5
    points, place = distinct(values)
    assert len(points) > 4000
    spread = values - points[place]
    assert spread.min() >= 0.0
    assert spread.max() <= ROUNDING * 1.1
    assert np.diff(points).min() > ROUNDING * 0.9


def test_small_values_are_as_different_as_large_ones():
    small = 1e-20 * np.array([1.0, 2.0, 2.0, 3.0])
    assert distinct(small)[1].tolist() == [0, 1, 1, 2]
