import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from _data import noisy, three_classes
from bayes_svm import (
    AggregationKernel,
    BayesSVC,
    GaussianKernel,
    class_similarity,
    optimize_kernel,
)
from bayes_svm.similarity import class_similarity as similarity
from bayes_svm.similarity.gradient import similarity_and_gradient

LENGTHS = np.array([0.7, 2.0, 1.1])
WEIGHTS = np.array([1.0, 0.3, 2.0, 0.01])


def numbers():
    X, y = noisy(n=50)
    X[3] = X[4]
    return 5.0 + X, np.where(X[:, 1] > 1, 2, y)


def symbols():
    random = np.random.default_rng(0)
    codes = random.integers(-1, 3, (50, 4))
    codes[0] = -1
    return codes, np.r_[0, 1, 1, 2, 2, random.integers(0, 3, 45)]


CASES = [
    (numbers, GaussianKernel, 0.9),
    (numbers, GaussianKernel, LENGTHS),
    (symbols, AggregationKernel, WEIGHTS),
]


def differences(X, y, make, parameters, **options):
    """Central differences of class_similarity, one parameter at a time."""
    slopes = []
    for k in range(np.size(parameters)):
        step = np.zeros(np.size(parameters))
        step[k] = 1e-5 * np.ravel(parameters)[k]
        up, down = (
            class_similarity(X, y, kernel=make(np.reshape(parameters + s, np.shape(parameters))), **options)
            for s in (step, -step)
        )
        slopes.append((up.value - down.value) / (2 * step[k]))
    return slopes


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize(("data", "make", "parameters"), CASES)
def test_gradient_is_the_differences(data, make, parameters, unbiased, weighted):
    X, y = data()
    weight = np.random.default_rng(1).uniform(0, 3, len(y)) if weighted else np.ones(len(y))
    weight[7] = 1.0 - weighted
    options = {"unbiased": unbiased, "sample_weight": weight}
    value, gradient = similarity_and_gradient(X, y, make(parameters), **options)
    assert value == pytest.approx(class_similarity(X, y, kernel=make(parameters), **options).value, abs=1e-12)
    expected = differences(X, y, make, parameters, **options)
    np.testing.assert_allclose(gradient, expected, atol=1e-8)
    assert np.abs(gradient).max() > 1e-4


def test_gradient_at_a_weight_of_zero():
    X, y = symbols()
    _, gradient = similarity_and_gradient(X, y, AggregationKernel([1.0, 0.0, 2.0, 0.5]))
    values = [
        similarity_and_gradient(X, y, AggregationKernel([1.0, step, 2.0, 0.5]))[0] for step in (0.0, 1e-6)
    ]
    assert gradient[1] == pytest.approx((values[1] - values[0]) / 1e-6, abs=1e-5)


def test_gradient_in_gamma_by_the_chain_rule():
    X, y = numbers()
    _, (slope,) = similarity_and_gradient(X, y, GaussianKernel(0.9))
    gamma = GaussianKernel(0.9).gamma
    up, down = (class_similarity(X, y, gamma=gamma * (1 + s)).value for s in (1e-5, -1e-5))
    assert -(0.9**3) * slope == pytest.approx((up - down) / (2e-5 * gamma), rel=1e-6)


def test_panels_and_threads_do_not_show(monkeypatch):
    X, y = numbers()
    whole = similarity_and_gradient(X, y, GaussianKernel(LENGTHS))
    monkeypatch.setattr(similarity, "PANEL", 16)
    one, two = (similarity_and_gradient(X, y, GaussianKernel(LENGTHS), n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_allclose(one[1], whole[1], atol=1e-12)
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])


def test_a_far_origin_costs_no_digits():
    X, y = numbers()
    near, far = (similarity_and_gradient(X + shift, y, GaussianKernel(LENGTHS))[1] for shift in (0.0, 1e6))
    np.testing.assert_allclose(far, near, atol=1e-8)


@pytest.mark.parametrize(("data", "make", "parameters"), CASES)
def test_the_optimum_is_one(data, make, parameters):
    X, y = data()
    best = optimize_kernel(X, y, kernel=make(parameters), factor=10.0)
    assert best.converged
    assert best.value == min(evaluation.value for evaluation in best.history) < best.history[0].value
    assert best.value == pytest.approx(class_similarity(X, y, kernel=best.kernel).value, abs=1e-12)
    np.testing.assert_allclose(best.history[0].parameters, np.ravel(parameters), rtol=1e-12)
    _, gradient = similarity_and_gradient(X, y, best.kernel)
    final = min(best.history, key=lambda evaluation: evaluation.value).parameters
    low, high = np.ravel(parameters) / 9.99, np.ravel(parameters) * 9.99
    slope = best.parameters * gradient
    assert np.all((np.abs(slope) < 1e-3) | (final < low) & (slope > 0) | (final > high) & (slope < 0))


def test_one_length_scale_is_the_best_of_a_grid():
    X, y = three_classes()
    best = optimize_kernel(X, y)
    grid = [class_similarity(X, y, kernel=GaussianKernel(s)).value for s in np.geomspace(0.05, 20, 60)]
    assert best.value <= min(grid) + 1e-9
    assert isinstance(best.kernel.length_scale, float)


def test_a_column_of_noise_is_switched_off():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = np.column_stack([2.0 * y + 0.3 * random.normal(size=120), random.normal(size=120)])
    lengths = optimize_kernel(X, y, kernel=GaussianKernel(np.ones(2))).parameters
    assert lengths[1] > 10 * lengths[0]
    codes = np.column_stack([np.where(random.random(120) < 0.1, 1 - y, y), random.integers(0, 4, 120)])
    best = optimize_kernel(codes, y, kernel=AggregationKernel())
    assert best.parameters[0] == 1.0
    assert best.parameters[1] < 0.1


@pytest.mark.parametrize("machine", [SVC, BayesSVC])
def test_a_machine_takes_the_optimum_as_its_kernel(machine):
    X, _ = symbols()
    y = np.where(X[:, 2] == 1, "yes", "no")
    best = optimize_kernel(X, y, kernel=AggregationKernel())
    assert machine(kernel=best.kernel).fit(X, y).score(X, y) == 1.0


def test_a_row_without_weight_is_absent_and_others_are_counts():
    X, y = noisy(n=60)
    weight = np.arange(60) % 4.0
    far = np.where(weight[:, None] > 0, X, 1e9)
    found = optimize_kernel(far, y, sample_weight=weight)
    repeated = np.repeat(np.arange(60), weight.astype(int))
    expected = optimize_kernel(X[repeated], y[repeated])
    assert found.history[0].parameters == pytest.approx(expected.history[0].parameters)
    assert found.value == pytest.approx(expected.value, abs=1e-6)


def test_a_sample_is_drawn_once():
    X, y = noisy(n=300)
    first, again = (optimize_kernel(X, y, max_samples=60, random_state=2) for _ in range(2))
    assert first.value == again.value != optimize_kernel(X, y).value
    assert [e.value for e in first.history] == [e.value for e in again.history]


def test_an_optimiser_cut_short_says_so():
    X, y = symbols()
    with pytest.warns(ConvergenceWarning, match="No minimum of class similarity was reached"):
        found = optimize_kernel(X, y, kernel=AggregationKernel(), max_iter=1)
    assert not found.converged


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (AggregationKernel([1.0, 0.0, 1.0, 1.0]), "must be finite and above 0"),
        (AggregationKernel([1.0, 1.0]), "one weight for each"),
        (GaussianKernel(np.ones(3)), "one for each feature"),
        ("rbf", "'kernel' parameter"),
    ],
)
def test_a_start_that_does_not_fit(kernel, message):
    X, y = symbols()
    with pytest.raises(ValueError, match=message):
        optimize_kernel(X, y, kernel=kernel)


def test_a_class_of_one_member_has_no_pair():
    X, _ = numbers()
    y = np.r_[1, np.zeros(49)]
    with pytest.raises(ValueError, match="1 member, and so no pair of different members"):
        optimize_kernel(X, y)
    assert optimize_kernel(X, y, unbiased=False).value < 0


def test_a_constant_kernel_has_no_slope():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, gradient = similarity_and_gradient(np.ones((6, 2)), np.arange(6) % 2, GaussianKernel(1.0))
    assert (value, gradient.tolist()) == (0.0, [0.0])
