"""Curvature of the smoothed hinge, beside numeric second derivatives."""

import numpy as np
import pytest
from scipy.special import expit

from bayes_svm.probability.curvature import hinge_curvature


@pytest.mark.parametrize("sharpness", [1.0, 3.0])
def test_softplus_curvature_is_its_second_derivative(sharpness):
    margin, step = np.linspace(-4, 4, 33), 1e-4

    def softplus(margin):
        return np.logaddexp(0, sharpness * (1 - margin)) / sharpness

    numeric = (softplus(margin + step) - 2 * softplus(margin) + softplus(margin - step)) / step**2
    np.testing.assert_allclose(hinge_curvature(margin, "softplus", sharpness), numeric, atol=1e-6)


def test_swish_curvature_is_its_second_derivative_cut_at_zero():
    margin, step, sharpness = np.linspace(-4, 4, 33), 1e-4, 3.0

    def swish(margin):
        return (1 - margin) * expit(sharpness * (1 - margin))

    numeric = (swish(margin + step) - 2 * swish(margin) + swish(margin - step)) / step**2
    np.testing.assert_allclose(hinge_curvature(margin), np.maximum(0.0, numeric), atol=1e-6)
    assert np.all(hinge_curvature(np.array([0.19, 1.81])) == 0)
    assert np.all(hinge_curvature(np.array([0.21, 1.79])) > 0)


def test_softplus_curvature_is_positive_everywhere():
    assert np.all(hinge_curvature(np.linspace(-9, 9, 101), "softplus") > 0)
