import numpy as np

from bayes_svm.metrics.distinct import distinct


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
