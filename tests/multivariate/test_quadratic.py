"""The small quadratic program, checked by its optimality conditions and another solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from bayes_svm.multivariate.quadratic import solve_simplex_qp


def objective(gram, level, alpha):
    return level @ alpha - alpha @ gram @ alpha / 2


def gap(gram, level, C, alpha):
    """Largest gain of the objective, linearised at alpha, over the feasible set; 0 at the optimum."""
    reduced = level - gram @ alpha
    return C * max(0.0, reduced.max()) - reduced @ alpha


def assert_optimal(gram, level, C, alpha, relative=1e-11):
    assert np.all(alpha >= 0)
    assert alpha.sum() <= C * (1 + 1e-12)
    size = C * np.abs(level).max() + C**2 * np.abs(gram).max()
    assert gap(gram, level, C, alpha) <= relative * size


@st.composite
def programs(draw):
    """More planes than dimensions, some of them twice."""
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    size, dimension = draw(st.integers(1, 25)), draw(st.integers(1, 6))
    vectors = random.integers(-3, 4, size=(size, dimension)).astype(float)
    vectors *= draw(st.sampled_from([1.0, 1e-3, 1e3]))
    level = random.integers(-1, 5, size=size).astype(float)
    twice = draw(st.integers(0, size))
    vectors, level = np.vstack([vectors, vectors[:twice]]), np.append(level, level[:twice] + 1.0)
    return vectors @ vectors.T, level, draw(st.sampled_from([1e-3, 1.0, 1e3]))


@settings(max_examples=150, deadline=None)
@given(program=programs())
def test_the_optimality_conditions_hold(program):
    gram, level, C = program
    assert_optimal(gram, level, C, solve_simplex_qp(gram, level, C))


@pytest.mark.parametrize("seed", range(12))
def test_the_value_of_a_general_solver_is_reached(seed):
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(8, 3 + seed % 4))
    gram, level, C = vectors @ vectors.T, 2 * random.random(8), 10.0 ** (seed % 3 - 1)
    other = minimize(
        lambda a: -objective(gram, level, a),
        np.full(8, C / 16),
        jac=lambda a: gram @ a - level,
        bounds=[(0, None)] * 8,
        constraints={"type": "ineq", "fun": lambda a: C - a.sum(), "jac": lambda a: -np.ones(8)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    found = solve_simplex_qp(gram, level, C)
    assert objective(gram, level, found) == pytest.approx(-other.fun, rel=1e-7)
    assert objective(gram, level, found) >= -other.fun - 1e-12
    assert_optimal(gram, level, C, found)


@settings(max_examples=150, deadline=None)
@given(program=programs(), seed=st.integers(0, 2**32 - 1))
def test_from_any_start_the_same_value(program, seed):
    gram, level, C = program
    start = np.random.default_rng(seed).dirichlet(np.ones(len(level) + 1))[1:] * C
    warm = solve_simplex_qp(gram, level, C, start)
    assert_optimal(gram, level, C, warm)
    cold = objective(gram, level, solve_simplex_qp(gram, level, C))
    size = C * np.abs(level).max() + C**2 * np.abs(gram).max()
    assert abs(objective(gram, level, warm) - cold) <= 1e-11 * size


def test_one_element_by_hand():
    gram, level = np.array([[4.0]]), np.array([2.0])
    assert solve_simplex_qp(gram, level, 1.0) == pytest.approx([0.5])
    assert solve_simplex_qp(gram, level, 0.25) == pytest.approx([0.25])
    assert solve_simplex_qp(gram, -level, 1.0) == pytest.approx([0.0])


def test_a_gram_matrix_of_zeros():
    assert solve_simplex_qp(np.zeros((3, 3)), np.array([1.0, 3.0, 2.0]), 2.0) == pytest.approx([0, 2, 0])


@pytest.mark.parametrize("C", [1e-6, 0.1, 1e6])
@pytest.mark.parametrize("noise", [0.0, 1e-20, 1e-17, -1e-17])
def test_products_that_are_rounding_only(noise, C):
    random = np.random.default_rng(0)
    gram = noise * random.random((6, 6))
    gram = gram + gram.T
    level = np.array([3.0, 1.0, 100.0, 100.0, 40.0, 100.0])
    alpha = solve_simplex_qp(gram, level, C, np.full(6, C / 6))
    assert alpha.min() >= 0
    assert level @ alpha == pytest.approx(100 * C)
