"""The posterior variance, beside features that are written out."""

import numpy as np
import pytest
from sklearn.svm import SVC

from _data import awkward, noisy, three_classes
from _explicit import explicit
from bayes_svm import BayesSVC
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.probability.curvature import hinge_curvature
from bayes_svm.probability.posterior import Posterior, posterior_of


def test_variance_is_that_of_the_explicit_feature_map(linear):
    X, y, _, solution, posterior, C = linear
    r = hinge_curvature(y * solution.values)
    at = np.random.default_rng(1).normal(size=(9, 3))
    np.testing.assert_allclose(posterior.variance(at), explicit(X, r, 1 / C, at), rtol=1e-6)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_known_factor_and_the_order_in_memory_make_no_difference(linear, order):
    X, _, _, _, posterior, _ = linear
    cross = np.asarray(X @ posterior.rows.T, order=order)
    expected = np.einsum("ii->i", X @ X.T) - posterior.lam * posterior.variance(X)
    for factor in (None, posterior.factor_of(posterior.rows @ posterior.rows.T)):
        np.testing.assert_allclose(posterior.explained(cross, factor), expected, rtol=1e-9)


def test_information_is_not_lost_in_rounding():
    """1e-20 of the prior's precision: the difference of two precisions would be 0."""
    X, y = noisy()
    posterior = BayesSVC(gamma=1.0).fit(X, y)._link_posteriors[0]
    far = X[:1] + np.array([[6.0, 0.0, 0.0]])
    assert 1e-60 < posterior.information(far)[0] < 1e-16
    assert posterior.information(far + 100.0)[0] == 0.0
    near = posterior.information(X)
    np.testing.assert_allclose(near, 1.0 / posterior.variance(X) - posterior.lam, rtol=1e-6)


def test_weights_multiply_the_curvature():
    X, y = awkward(n=20)
    X += np.random.default_rng(0).normal(size=X.shape)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], size=20)
    weight[:4] = 1
    model = BayesSVC(C=2.0, kernel="linear").fit(X, y, sample_weight=weight)
    r = weight * hinge_curvature(y * model.decision_function(X))
    np.testing.assert_allclose(model.posterior_variance(X), explicit(X, r, 0.5, X), rtol=1e-6)


def test_far_from_the_data_the_variance_is_the_priors():
    X, y = noisy()
    model = BayesSVC(C=3.0, gamma=1.0).fit(X, y)
    assert model.posterior_variance(np.full((1, 3), 100.0))[0] == pytest.approx(3.0)
    assert np.all(model.posterior_variance(X) < 3.0)


def test_the_variance_is_never_negative():
    X, _ = noisy(d=1)
    model = BayesSVC(C=1e8, kernel="linear").fit(X, np.where(X[:, 0] > 0, 1, -1))
    assert np.all(model.posterior_variance(np.vstack([X, [[0.0]]])) >= 0)


def test_several_classes_have_a_variance_each():
    X, y = three_classes()
    variance = BayesSVC(gamma=0.5).fit(X, y).posterior_variance(X)
    assert variance.shape == (60, 3)
    for k in range(3):
        binary = BayesSVC(gamma=0.5).fit(X, y == k).posterior_variance(X)
        np.testing.assert_allclose(variance[:, k], binary, rtol=1e-8)


def test_blocks_make_no_difference(monkeypatch):
    X, _ = noisy(n=30)
    posterior = Posterior(Kernel("rbf"), X[:10], np.arange(10), np.arange(10), np.ones(10), 0.5)
    whole = posterior.variance(X)
    blocks = Kernel.blocks
    monkeypatch.setattr(Kernel, "blocks", lambda *arguments: blocks(*arguments, max_bytes=100))
    np.testing.assert_allclose(posterior.variance(X), whole, rtol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_a_variance_that_would_overflow_is_a_large_number(kernel):
    X, y = noisy()
    model = BayesSVC(kernel=kernel).fit(X, y)
    far = model.posterior_variance(np.vstack([X[:1], np.full((1, 3), 1e200)]))
    np.testing.assert_allclose(far[0], model.posterior_variance(X[:1])[0], rtol=1e-9)
    assert 1e40 < far[1] < 1e121


def test_a_lambda_below_rounding_gives_a_variance_all_the_same():
    X, _ = noisy(n=60)
    rows = np.arange(60)
    variance = Posterior(Kernel("linear"), X, rows, rows, np.ones(60), 1e-20).variance(X)
    assert np.all(np.isfinite(variance))
    assert np.all(variance >= 0)


def test_a_sketch_knows_less():
    X, y = noisy(n=200)
    machine, (solution,) = machine_of(SVC(), X, y)
    whole, sketch = (posterior_of(machine, solution, 1.0, max_rows=rows) for rows in (None, 20))
    assert len(sketch.points) == 20
    assert np.all(sketch.variance(X) >= whole.variance(X) * (1 - 1e-12))


def slowly_chosen(K, curvature, lam, most):
    """Points with the largest r s^2 given those before, one after the other; the first of equal ones."""
    chosen = []
    for _ in range(most):
        among, own = K[np.ix_(chosen, chosen)], K[:, chosen]
        explained = own @ np.linalg.solve(among + lam * np.diag(1 / curvature[chosen]), own.T)
        score = curvature * (K.diagonal() - explained.diagonal())
        score[chosen] = -np.inf
        chosen.append(int(np.flatnonzero(score >= score.max() * (1 - 1e-6))[0]))
    return chosen


@pytest.mark.parametrize("gamma", [0.01, 0.3, 10.0])
def test_a_sketch_has_the_points_from_which_most_is_learned(gamma):
    X, y = noisy(n=120)
    machine, (solution,) = machine_of(SVC(gamma=gamma, C=2.0), X, y)
    whole = posterior_of(machine, solution, 2.0)
    order = np.argsort(machine.radial_rank[machine.row_of[whole.numbers]])
    K = machine.kernel(whole.rows, whole.rows)[np.ix_(order, order)]
    expected = slowly_chosen(K, whole.curvature[order], whole.lam, 20)
    sketch = whole.sketch(machine, solution.problem.gram, 20)
    assert len(whole.points) > 40
    np.testing.assert_array_equal(sketch.points, np.sort(whole.points[order[expected]]))


def test_a_sketch_of_many_points_is_about_as_good_in_heats(monkeypatch):
    X, y = noisy(n=400)
    machine, (solution,) = machine_of(SVC(), X, y)
    whole, gram = posterior_of(machine, solution, 1.0), solution.problem.gram
    monkeypatch.setattr("bayes_svm.probability.posterior.AT_A_TIME", 1000)
    at_once = whole.sketch(machine, gram, 20)
    monkeypatch.setattr("bayes_svm.probability.posterior.AT_A_TIME", 0)
    in_heats = whole.sketch(machine, gram, 20)
    assert len(whole.points) > 3 * 80
    one, other, least = (posterior.variance(X).sum() for posterior in (at_once, in_heats, whole))
    assert other - least <= 1.2 * (one - least)


def test_a_sketch_has_no_points_that_add_nothing():
    X = np.vstack([np.outer(np.arange(1, 101), [1e-9, 0.0]), [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]])
    machine, (solution,) = machine_of(SVC(kernel="linear", C=1e-3), X, np.arange(103) % 2)
    whole = posterior_of(machine, solution, 1e-3)
    assert len(whole.points) > 40
    sketch = whole.sketch(machine, solution.problem.gram, 20)
    np.testing.assert_array_equal(sketch.numbers, np.intersect1d(whole.numbers, [100, 101, 102]))
