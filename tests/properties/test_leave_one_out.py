"""Leave-one-out over small awkward data, against the interior-point oracle."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from _problems import EXACT, kernel_matrix, one_copy
from bayes_svm import leave_one_out
from oracles.left_out import left_out

WEIGHTS = [0.0, 0.5, 1.0, 2.0, 3.7]


@st.composite
def scattered(draw):
    """As :func:`chosen`, but larger and less regular: all from one seed, which shrinks to nothing simpler."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = random.integers(4, 26), random.integers(1, 4)
    X = random.integers(0, random.integers(2, 6), size=(n, d)).astype(float)
    y = np.where(random.random(n) < random.choice([0.2, 0.5]), 1, -1)
    y[:4] = [1, 1, -1, -1]
    weight = random.choice(WEIGHTS, size=n) if random.random() < 0.6 else np.ones(n)
    weight[:4] = np.maximum(weight[:4], 0.5)
    C = 10.0 ** (random.uniform(-4, 4) if random.random() < 0.5 else random.integers(-4, 5))
    kernel = str(random.choice(["linear", "rbf", "poly"]))
    return X, y, weight, SVC(C=float(C), kernel=kernel, gamma=0.5, degree=2, coef0=1.0)


@st.composite
def chosen(draw):
    """Rows on a small integer grid: duplicates, both labels on one x, dozens of ties."""
    n, d = draw(st.integers(4, 25)), draw(st.integers(1, 3))
    levels = draw(st.integers(1, 4))
    X = draw(st.lists(st.lists(st.integers(0, levels), min_size=d, max_size=d), min_size=n, max_size=n))
    y = [1, 1, -1, -1, *draw(st.lists(st.sampled_from([-1, 1]), min_size=n - 4, max_size=n - 4))]
    weight = draw(st.lists(st.sampled_from(WEIGHTS), min_size=n, max_size=n))
    weight[:4] = [w or 1.0 for w in weight[:4]]
    C = 10.0 ** draw(st.integers(-4, 4)) * draw(st.sampled_from([1.0, 2.5]))
    svc = SVC(C=C, kernel=draw(st.sampled_from(["linear", "rbf", "poly"])), gamma=0.5, degree=2, coef0=1.0)
    return np.array(X, dtype=float), np.array(y), np.array(weight), svc


def problems():
    return st.one_of(chosen(), scattered(), scattered())


@settings(max_examples=200, derandomize=True, deadline=None)
@given(problems())
def test_value_is_the_oracles(problem):
    X, y, weight, svc = problem
    K, result = kernel_matrix(svc, X), leave_one_out(svc, X, y, sample_weight=weight)
    for row in np.flatnonzero(np.isin(result.status, EXACT) & (weight > 0)):
        oracle = left_out(K, y, svc.C * weight, row, svc.C * one_copy(weight)[row])
        scale = max(1.0, np.abs(oracle.values).max())
        np.testing.assert_allclose(result.decision_values[row], oracle.values[row], atol=1e-5 * scale)
        assert oracle.width < 1e-4 * scale, "the intercept is not unique, and nothing says so"


@settings(max_examples=150, derandomize=True, deadline=None)
@given(problems())
def test_leaving_a_point_out_never_helps_it(problem):
    """``y f(x)`` never grows, where both intercepts are unique: the dual value is concave in alpha."""
    X, y, weight, svc = problem
    result = leave_one_out(svc, X, y, sample_weight=weight)
    if "unstable" in result.status[result.events == 0]:
        return  # the whole machine may have no free point
    exact = np.isin(result.status, EXACT)
    growth = y * (result.decision_values - result.train_decision_values)
    scale = max(1.0, np.abs(result.train_decision_values).max())
    assert growth[exact].max(initial=0.0) <= 1e-6 * scale


@settings(max_examples=100, derandomize=True, deadline=None)
@given(problems())
def test_no_value_is_missing(problem):
    X, y, weight, svc = problem
    result = leave_one_out(svc, X, y, sample_weight=weight)
    assert np.isfinite(result.decision_values).all()
    assert np.isfinite(result.kkt_residual).all()
    assert "inexact" not in result.status


@settings(max_examples=120, derandomize=True, deadline=None)
@given(problems())
def test_path_and_retrain_agree_whatever_the_status(problem):
    X, y, weight, svc = problem
    paths, retrained = (leave_one_out(svc, X, y, sample_weight=weight, method=m) for m in ("path", "retrain"))
    scale = max(1.0, np.abs(paths.decision_values).max())
    np.testing.assert_allclose(paths.decision_values, retrained.decision_values, atol=1e-5 * scale)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(problem, random):
    X, y, weight, svc = problem
    order = np.array(random.sample(range(len(y)), len(y)))
    values = leave_one_out(svc, X, y, sample_weight=weight).decision_values
    shuffled = leave_one_out(svc, X[order], y[order], sample_weight=weight[order]).decision_values
    np.testing.assert_allclose(shuffled, values[order], atol=1e-6 * max(1.0, np.abs(values).max()))


@settings(max_examples=60, derandomize=True, deadline=None)
@given(problems())
def test_swapping_the_classes_turns_the_sign(problem):
    X, y, weight, svc = problem
    values = leave_one_out(svc, X, y, sample_weight=weight).decision_values
    swapped = leave_one_out(svc, X, -y, sample_weight=weight).decision_values
    np.testing.assert_allclose(swapped, -values, atol=1e-6 * max(1.0, np.abs(values).max()))
