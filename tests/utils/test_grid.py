"""The grid on which decision values that are equal but for rounding errors are equal."""

import numpy as np

from bayes_svm.utils.grid import grid_of, on_grid


def test_rounding_errors_vanish_and_differences_stay():
    values = np.array([-1.0, -1.0 + 1e-15, 0.5, 0.5 - 1e-14, 0.5 + 1e-6, 3.0])
    found = on_grid(values, grid_of(values))
    assert len(np.unique(found)) == 4
    np.testing.assert_allclose(found, values, atol=1e-8)
    np.testing.assert_array_equal(on_grid(found, grid_of(values)), found)


def test_each_row_has_its_own_grid_and_scales_with_it():
    values = np.random.default_rng(0).normal(size=(3, 20))
    scaled = values * np.array([[1.0], [2.0**40], [2.0**-40]])
    assert grid_of(scaled).shape == (3, 1)
    np.testing.assert_array_equal(
        on_grid(scaled, grid_of(scaled)) / scaled, on_grid(values, grid_of(values)) / values
    )


def test_values_beyond_the_grid_are_left_as_they_are():
    far = np.array([-1e300, 1e300, np.finfo(float).max])
    np.testing.assert_array_equal(on_grid(far, grid_of(np.array([0.1, 1.0]))), far)


def test_nothing_and_zeros_have_a_grid():
    for values in (np.array([]), np.zeros(3)):
        grid = grid_of(values)
        assert grid > 0.0
        np.testing.assert_array_equal(on_grid(values, grid), values)
