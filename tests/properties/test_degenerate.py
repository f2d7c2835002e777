"""Leave-one-out where a plain path fails: each kind of degeneracy made on purpose, and seen to be there."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from _problems import EXACT, kernel_matrix, one_copy
from bayes_svm import leave_one_out
from bayes_svm.dual.from_estimator import machine_of
from oracles.left_out import left_out

MANY_EVENTS = 20_000  # a path ends here, wherever it is
WELL_POSED = 1e3  # up to this C nothing below is beyond double precision, and nothing may be flagged


def any_svc(random, kernels=("linear", "rbf", "poly")):
    C = 10.0 ** (random.uniform(-6, 6) if random.random() < 0.5 else random.integers(-6, 7))
    gamma, coef0 = random.choice([0.01, 0.5]), random.choice([0.0, 1.0])
    return SVC(C=float(C), kernel=str(random.choice(kernels)), gamma=gamma, degree=2, coef0=coef0)


def any_labels(random, n):
    return np.r_[1, 1, -1, -1, np.where(random.random(n - 4) < random.choice([0.1, 0.5]), 1, -1)]


def any_weights(random, n):
    kinds = [np.ones(n), random.choice([0.0, 0.5, 1.0, 1e3], n), 10 ** random.uniform(-2, 3, n)]
    weight = kinds[random.integers(3)]
    weight[:4] = np.maximum(weight[:4], 0.5)
    return weight


def sized(random):
    return random.integers(5, 24), random.integers(1, 4)


def duplicates(random):
    n, d = sized(random)
    X = random.normal(size=(max(2, n // 3), d))[random.integers(0, max(2, n // 3), n)]
    return X, any_labels(random, n), any_weights(random, n), any_svc(random)


def both_labels(random):
    n, d = sized(random)
    X = np.tile(random.normal(size=(2 * n // 4 + 2, d)), (2, 1))
    y = np.repeat([1, -1], len(X) // 2)
    return X, y, any_weights(random, len(y)), any_svc(random)


def integer_grid(random):
    n, d = sized(random)
    X = random.integers(0, random.integers(2, 5), (n, d)).astype(float)
    return X, any_labels(random, n), any_weights(random, n), any_svc(random)


def constant_columns(random):
    n, d = sized(random)
    X = np.column_stack([np.full(n, random.choice([0.0, 1.0, 10.0])), random.normal(size=(n, d))])
    X[:, -1] = 3.0
    return X, any_labels(random, n), any_weights(random, n), any_svc(random)


def rank_one(random):
    n, _ = sized(random)
    v = random.normal(size=n) if random.random() < 0.5 else np.append(random.integers(-2, 3, n - 1), 1.0)
    return np.outer(v, v), any_labels(random, n), any_weights(random, n), any_svc(random, ["precomputed"])


def no_free(random):
    k, d = sized(random)
    X = random.normal(size=(2 * k, d))
    svc = any_svc(random).set_params(C=10.0 ** random.uniform(-6, -4))
    return X, np.tile([1, -1], k), np.full(2 * k, random.choice([0.5, 1.0, 2.0])), svc


def one_free(random):
    k, d = sized(random)
    X, svc = random.normal(size=(k + 1, d)), any_svc(random).set_params(C=10.0 ** random.uniform(-6, -4))
    return X, np.r_[1, -np.ones(k, dtype=int)], np.r_[k + random.choice([0.5, 2.0]), np.ones(k)], svc


def no_bounded(random):
    n, d = sized(random)
    X = random.normal(size=(n, d))
    y = np.r_[1, 1, -1, -1, np.where(X[4:, 0] > 0, 1, -1)]
    X[:, 0] = y * (1 + np.abs(X[:, 0]))
    svc = SVC(C=10.0 ** random.uniform(3, 6), kernel=str(random.choice(["linear", "rbf"])), gamma=0.5)
    return X, y, np.ones(n), svc


def small_class(random):
    n, d = sized(random)
    X = random.integers(0, 4, (n, d)) + (random.random() < 0.5) * random.normal(size=(n, d))
    y = -np.ones(n, dtype=int)
    y[: random.integers(1, 3)] = 1
    return X, y * random.choice([1, -1]), any_weights(random, n), any_svc(random)


def three_named_classes(random):
    n, d = sized(random)
    y = np.array(["ant", "bee", "cat"])[np.r_[0, 1, 2, random.integers(0, 3, n - 3)]]
    # The values of the pairs: votes, which SVC makes of them, jump where one is rounding.
    svc = any_svc(random).set_params(decision_function_shape="ovo")
    return random.integers(0, 4, (n, d)).astype(float), y, any_weights(random, n), svc


MAKERS = [
    duplicates, both_labels, integer_grid, constant_columns, rank_one, no_free, one_free, no_bounded,
    small_class, three_named_classes,
]  # fmt: skip


def read(svc, X, y, weight, **options):
    """Result, and whether a ConvergenceWarning said that the machine itself is not exact."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", ConvergenceWarning)
        return leave_one_out(svc, X, y, sample_weight=weight, **options), len(caught) > 0


def assert_right_or_flagged(X, y, weight, svc):
    """Every value is re-training's, or says that it is not exact, and by how much; is any of them flagged?"""
    paths, warned = read(svc, X, y, weight)
    threads, _ = read(svc, X, y, weight, n_jobs=2)
    np.testing.assert_array_equal(paths.decision_values, threads.decision_values)
    np.testing.assert_array_equal(paths.status, threads.status)
    assert np.isfinite(paths.decision_values).all()
    flagged = paths.status == "inexact"
    assert paths.events[~flagged].max(initial=0) < MANY_EVENTS
    assert np.all(np.maximum(paths.kkt_residual, paths.gap)[flagged] > 1e-10), "inexact, and nothing says why"
    if warned:
        return True
    retrained, _ = read(svc, X, y, weight, method="retrain")
    compared = (
        ~flagged & (retrained.status != "inexact") & (weight > 0).reshape(-1, *[1] * (flagged.ndim - 1))
    )
    off = np.abs(paths.decision_values - retrained.decision_values)
    size = np.maximum(1.0, np.abs(retrained.decision_values))
    assert (off / size)[compared].max(initial=0.0) <= 1e-6
    return bool(np.any(flagged | (retrained.status == "inexact")))


@pytest.mark.parametrize("make", MAKERS)
@settings(max_examples=25, derandomize=True, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_value_is_retrainings_or_flagged(make, seed):
    X, y, weight, svc = make(np.random.default_rng(seed))
    flagged = assert_right_or_flagged(X, y, weight, svc)
    assert not flagged or svc.C * weight.max() > WELL_POSED


@pytest.mark.parametrize("make", [make for make in MAKERS if make is not three_named_classes])
@settings(max_examples=12, derandomize=True, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_value_is_the_oracles(make, seed):
    X, y, weight, svc = make(np.random.default_rng(seed))
    svc.C = float(np.clip(svc.C, 1e-3, 1e2))
    weight = np.minimum(weight, 10.0)
    K, result = kernel_matrix(svc, X), leave_one_out(svc, X, y, sample_weight=weight)
    for row in np.flatnonzero(np.isin(result.status, EXACT) & (weight > 0)):
        oracle = left_out(K, y, svc.C * weight, row, svc.C * one_copy(weight)[row])
        scale = max(1.0, np.abs(oracle.values).max())
        assert result.decision_values[row] == pytest.approx(oracle.values[row], abs=1e-5 * scale)


def solved(make, seed):
    X, y, weight, svc = make(np.random.default_rng(seed))
    _, solutions = machine_of(svc, X, y, weight)
    solution = next(solutions)
    return X, solution.problem, solution


@pytest.mark.parametrize("seed", range(20))
class TestTheDegeneracyIsThere:
    def test_no_free(self, seed):
        assert solved(no_free, seed)[2].n_free == 0

    def test_one_free(self, seed):
        assert solved(one_free, seed)[2].n_free == 1

    def test_no_bounded(self, seed):
        assert solved(no_bounded, seed)[2].n_bounded == 0

    def test_rank_one(self, seed):
        assert np.linalg.matrix_rank(solved(rank_one, seed)[1].gram.whole()) == 1

    def test_duplicates(self, seed):
        X, problem, _ = solved(duplicates, seed)
        assert len(problem.label) < len(X)

    def test_both_labels_on_one_x(self, seed):
        gram = solved(both_labels, seed)[1].gram.whole()
        assert len(np.unique(gram, axis=0)) < len(gram)

    def test_constant_columns(self, seed):
        assert np.sum(np.ptp(solved(constant_columns, seed)[0], axis=0) == 0) >= 1


def test_a_grid_puts_more_points_on_the_margin_than_can_be_free():
    X = np.stack(np.meshgrid(np.arange(6.0), np.arange(6.0)), axis=-1).reshape(-1, 2)
    y = np.where(X[:, 0] > 2, 1, -1)
    _, (solution,) = machine_of(SVC(kernel="linear", C=10.0), X, y)
    assert np.sum(np.abs(np.abs(solution.values) - 1) < 1e-12) == 12 > 3
    assert not assert_right_or_flagged(X, y, np.ones(len(y)), SVC(kernel="linear", C=10.0))


@pytest.mark.parametrize("seed", [1, 18, 42, 114, 265])
def test_coefficients_smaller_than_the_tie_break(seed):
    """At a tiny C the kernel part of f is no larger than the perturbation of the targets."""
    random = np.random.default_rng(seed)
    v = random.normal(size=12)
    y = np.r_[1, 1, -1, -1, np.where(random.random(8) < 0.4, 1, -1)]
    weight = random.choice([0.001, 1.0, 2.0, 3.0, 4.0], 12)
    weight[:4] = 1.0
    assert not assert_right_or_flagged(np.outer(v, v), y, weight, SVC(C=1.6e-6, kernel="precomputed"))


def test_opposite_labels_cancel_in_a_flat_kernel():
    """Every weight vanishes: the partition at the perturbed targets says nothing at the exact ones."""
    for seed in range(6):
        random = np.random.default_rng(seed)
        X = np.vstack([np.repeat(random.normal(size=(11, 1)), 2, axis=0), random.normal(size=(6, 1))])
        y = np.r_[np.tile([1, -1], 11), -np.ones(6, dtype=int)]
        assert not assert_right_or_flagged(X, y, np.ones(28), SVC(C=0.32, gamma=0.01))


@pytest.mark.parametrize("seed", [280, 294, 379])
def test_many_dependent_points_left_by_the_first_solver(seed):
    """More free points than the rank, which one round of exchanges does not make independent."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(60, 2))
    y = np.where(X[:, 0] + random.normal(size=60) > 0, 1, -1)
    C = 1e3 * 10 ** random.uniform(0, 2)
    svc = SVC(C=C, kernel="poly", gamma=5.0, degree=3, coef0=1.0, tol=1e-4)
    _, (solution,) = machine_of(svc, X, y)
    assert solution.tie_break > 0, "the polish did not end"


def test_points_closer_than_the_tie_break():
    """The partition at the perturbed targets is not that at the exact ones, by 1e-10 of a residual."""
    X = np.array([[
        -0.00022857436999251443, 1.999081378714087, -0.0015327261475994816, 1.999974260319908,
        -0.0005560107850141583, -0.0003321914897412251, 1.998525108695461, -0.0005346513043116384,
        1.9999951925016934, 0.0007410569471527455,
    ]]).T  # fmt: skip
    weight = np.array([0.5, 0.001, 3.7, 2.0, 1.0, 2.0, 1.0, 0.5, 0.5, 3.7])
    svc = SVC(C=100.0, kernel="poly", gamma=5.0, degree=2)
    result = leave_one_out(svc, X, np.r_[1, -np.ones(9)], sample_weight=weight)
    assert result.status[1] == "unchanged"
    # by an interior-point method in 80 digits
    np.testing.assert_allclose(
        result.decision_values[[1, 3]], [-1.0002902578872828, -1.000290517230215], rtol=1e-9
    )


def test_a_large_constant_column_is_flagged_where_it_costs_digits():
    """A linear machine does not see the constant; kernel values of 1e10 have lost what it adds to."""
    for seed in range(8):
        random = np.random.default_rng(seed)
        X, y = random.integers(0, 3, (24, 1)).astype(float), any_labels(random, 24)
        weight, svc = random.choice([1e-3, 1.0, 1e3], 24), SVC(kernel="linear", C=5.5e-4)
        true, _ = read(svc, X, y, weight)
        far, warned = read(svc, np.column_stack([np.full(24, 1e5), X]), y, weight)
        assert "inexact" not in true.status
        told = warned | (far.status == "inexact")
        off = np.abs(far.decision_values - true.decision_values)
        assert off[~told].max(initial=0.0) <= 1e-6


@pytest.mark.parametrize("seed", [1, 3, 82])
def test_numbers_beyond_reach_are_a_convergence_warning_and_nothing_else(seed):
    """Kernel values of 1e20, whose dual objective can be exactly 0: no RuntimeWarning of a division."""
    X = np.column_stack([np.full(8, 1e5), np.random.default_rng(seed).normal(size=(8, 2))])
    y = np.array([1, -1, -1, 1, -1, -1, -1, -1])
    svc = SVC(C=4.4, kernel="poly", gamma=0.5, degree=2, coef0=1.0)
    assert assert_right_or_flagged(X, y, np.ones(8), svc)


@pytest.mark.parametrize("seed", [26, 70, 73])
def test_no_coefficient_is_left_and_rows_are_absent(seed):
    """Kernel values of 1e13 at C = 1e4: no solution but zero, and a row of weight 0 to be valued by it."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(17, 3)) * [1e-4, 5e-3, 600]
    y = np.r_[1, np.full(15, -1), 1]
    weight = np.r_[4, 3, 4, 2, 1, 0, 0, 2, 1, 1, 3, 0, 0, 2, 0, 0, 3.0]
    assert assert_right_or_flagged(X, y, weight, SVC(C=1e4, kernel="poly", gamma=5.0, degree=2))


def test_a_coefficient_near_its_bound_still_pins_the_intercept():
    """The gap tells what the residual cannot: that the one free coefficient was taken for a bounded one."""
    X = np.array([[-0.83550023059555, -0.22749485591914026], [-0.353692418936984, -0.3726978], [1.33, 1.18]])
    svc = SVC(C=1e-6, kernel="poly", gamma=0.01, degree=2, class_weight="balanced")
    assert not assert_right_or_flagged(X, np.array([-1, -1, 1]), np.array([1000.0, 0.001, 0.001]), svc)


def test_a_free_coefficient_of_a_point_with_a_tiny_kernel():
    x = [
        0.9999998142484832, 2.000000313653722, -1.4657662535936891e-07, 0.9999997671298081,
        4.091230643036945e-07, -3.620680465022081e-07, -6.717369662518033e-08, -1.7101512462131166e-07,
        -1.858275443168016e-07, 0.9999998783702008,
    ]  # fmt: skip
    y = np.array([1, -1, -1, -1, -1, 1, -1, -1, 1, -1])
    weight = np.array([1.0, 0.001, 1, 0.001, 1000, 1, 0, 0.001, 0.001, 0.001])
    svc = SVC(C=1e5, kernel="poly", gamma=0.01, degree=3)
    assert_right_or_flagged(np.array(x)[:, None], y, weight, svc)
