"""Posteriors whose points are merged where they are alike."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from _data import awkward, noisy
from bayes_svm import BayesSVC
from bayes_svm.dual.solving import solve
from bayes_svm.probability.merging import ALIKE, merged
from bayes_svm.probability.posterior import posterior_of


def of(X, y, **parameters):
    """Machine, solution, and posterior with its points merged and not merged."""
    estimator = BayesSVC(**parameters)
    machine = estimator._machine(X, y, None)
    solution = solve(machine.problem(0))
    whole = posterior_of(machine, solution, estimator.C, max_rows=64)
    return machine, solution, whole, merged(whole, machine, solution)


def cosines(kernel, X, Z):
    return kernel(X, Z) / np.sqrt(np.outer(kernel.diagonal(X), kernel.diagonal(Z)))


@pytest.mark.parametrize("parameters", [{}, {"gamma": 5.0}, {"kernel": "poly", "coef0": 1.0}], ids=str)
@pytest.mark.parametrize("make", [noisy, awkward])
def test_each_point_goes_to_one_that_is_alike_and_takes_its_curvature_along(make, parameters):
    _, solution, whole, few = of(*make(n=150), **parameters)
    weight = whole.curvature @ whole.kernel.diagonal(whole.rows)
    assert few.curvature @ few.kernel.diagonal(few.rows) == pytest.approx(weight)
    assert cosines(whole.kernel, whole.rows, few.rows).max(axis=1).min() >= ALIKE * (1 - 1e-12)
    others = ~np.isin(few.points, solution.beta.nonzero()[0])
    assert np.all(np.isin(few.points[others], whole.points))
    if others.any() and not others.all():
        assert cosines(whole.kernel, few.rows[others], few.rows[~others]).max() < ALIKE
    np.testing.assert_array_equal(few.points, np.unique(few.points))


@pytest.mark.parametrize("C", [0.1, 100.0])
@pytest.mark.parametrize("gamma", [0.02, 0.5, 5.0])
def test_what_the_link_reads_of_the_information_hardly_changes(gamma, C):
    X, y = noisy(n=200)
    _, _, whole, few = of(X, y, gamma=gamma, C=C)
    assert len(few.points) <= len(whole.points)
    reference = 0.05 * np.quantile(whole.information(X), 0.01)
    for at, most in ((X, 1e-3), (X + 0.3, 1e-3), (2.0 * X, 0.03), (4.0 * X, 0.03)):
        share, told = (np.minimum(one.information(at) / reference, 1.0) for one in (whole, few))
        assert np.abs(told - share).mean() <= most


def test_of_classes_far_apart_support_vectors_and_outliers_are_left():
    X, y = make_blobs(200, centers=2, random_state=0, cluster_std=0.5)
    _, solution, whole, few = of(X, y)
    support = np.isin(few.points, solution.beta.nonzero()[0])
    assert cosines(whole.kernel, few.rows[~support], few.rows[support]).max(initial=0.0) < ALIKE
    assert support.mean() > 0.8
    assert len(few.points) < len(whole.points) / 4


def test_clusters_that_no_support_vector_reaches_keep_points_of_their_own():
    """The intercept alone can put them beyond the margin."""
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * rng.random(60)
    inner = 0.5 * rng.normal(size=(3, 2))
    ring = np.c_[np.cos(angle), np.sin(angle)] * (1.0 + 0.3 * rng.random((60, 1)))
    centres = np.array([(20, 0), (-8, 18), (-13, -15)])
    clusters = [centre + 0.3 * rng.normal(size=(30, 2)) for centre in centres]
    X = np.vstack([inner, ring, *clusters])
    y = np.r_[np.ones(3), np.zeros(150)]
    machine, solution, _, few = of(X, y, gamma=1.0)
    support = solution.problem.first_row[solution.beta.nonzero()[0]]
    assert machine.kernel(centres, X[support]).max(axis=1).min() < 1e-9
    assert machine.kernel(centres, few.rows).max(axis=1).min() > 0.5
    model = BayesSVC(gamma=1.0).fit(X, y)
    assert model.link_.reference > 1e-3
    np.testing.assert_allclose(model.predict_proba(centres)[:, 1], 0.0, atol=0.01)
    assert model.predict_proba([[1e3, 0.0]])[0, 1] > 0.1


def test_a_feature_vector_of_zero_is_like_none():
    X, y = noisy(n=60)
    X[3:5] = 0.0
    _, _, whole, few = of(X, y, kernel="poly", gamma=0.1, C=1e-3)
    assert np.isfinite(few.curvature).all()
    assert np.isin(3, whole.numbers) == np.isin(3, few.numbers)


def rounded(left, right):
    """A cubic kernel whose rounding errors outweigh feature vectors of length 0."""
    lengths = np.add.outer(np.square(left).sum(axis=1), np.square(right).sum(axis=1))
    apart = np.linalg.norm(left[:, None] - right[None], axis=2)
    return (0.5 * (lengths - apart**2)) ** 3


def test_rounding_errors_of_the_kernel_move_no_points():
    X = np.random.default_rng(0).normal(size=(120, 3))
    y = np.where(X[:, 0] + 0.3 * X[:, 1] ** 2 > 0, 1, 0)
    X[5] = 0.0
    _, _, whole, few = of(X, y, kernel=rounded)
    assert few.curvature.max() <= 64 * whole.curvature.max() * np.max(whole.kernel.diagonal(whole.rows)) ** 2
    assert np.all(few.information(5.0 * X[:5]) > 0)


@pytest.mark.parametrize(
    "parameters", [{}, {"gamma": 5.0}, {"kernel": "poly", "coef0": 1.0, "degree": 2}], ids=str
)
def test_the_order_of_the_rows_makes_no_difference(parameters):
    X, y = noisy(n=120)
    X = np.round(2.0 * X[:, :2])  # ties
    order = np.random.default_rng(0).permutation(len(X))
    at = np.vstack([X + 0.25, 3.0 * X])
    first, second = (BayesSVC(**parameters).fit(X[rows], y[rows]) for rows in (slice(None), order))
    np.testing.assert_allclose(second.predict_proba(at), first.predict_proba(at), atol=1e-6)
