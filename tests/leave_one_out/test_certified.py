"""Certified and warm leave-one-out signs against an interior-point oracle, and their loops against numpy."""

import numpy as np
import pytest
from sklearn.svm import SVC

from _data import awkward, noisy
from _sources import sources
from bayes_svm._core.pair_records import CHECKED, PROVEN, UNPROVEN, Bounds
from bayes_svm._core.primal import duality_gap
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.leave_one_out import certified
from bayes_svm.leave_one_out.certified import leave_out_signs, proven
from oracles.interior_point import minimise_box_qp
from oracles.left_out import train

KERNELS = (
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.5},
    {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0},
)

# C alone can call these when they are compiled.
certify, primal_steps = sources().certify, sources().primal
start_from_whole = sources().descend.start_from_whole
descend, start_descent = sources().descend.descend, sources().descend.start_descent
good_intercept = primal_steps.good_intercept
# With this a proof is looked for after every move of a pair.
ALWAYS = 10.0


def both_labels(n=30, seed=0):
    """Half of the rows twice, some of these with the other label."""
    X, y = noisy(n=n // 2, d=2, seed=seed)
    flipped = np.where(np.random.default_rng(seed).random(n // 2) < 0.3, -y, y)
    return np.concatenate([X, X]), np.concatenate([y, flipped])


def solved(X, y, weight=None, **parameters):
    _, solutions = machine_of(SVC(**parameters), X, y, weight)
    solution = next(solutions)
    return solution.problem, solution


def cases_of(problem):
    """Every point left out, and every point with half of its bound."""
    n = len(problem.label)
    return np.tile(np.arange(n), 2), np.concatenate([np.zeros(n), problem.bound / 2])


def exact(problem, point, rest):
    """Value and width of its interval from the oracle; the label of the class that is left."""
    bound = problem.bound.copy()
    bound[point] = rest
    if len(set(problem.label[bound > 0])) == 1:
        return -problem.label[point], 0.0
    present = bound > 0
    present[point] = True
    found = train(problem.gram.whole()[np.ix_(present, present)], problem.label[present], bound[present])
    return found.values[np.flatnonzero(present) == point][0], found.width


@pytest.mark.parametrize("C", [1e-3, 0.3, 10.0, 1e4])
@pytest.mark.parametrize("make", [noisy, awkward, both_labels])
@pytest.mark.parametrize("parameters", KERNELS, ids=lambda p: p["kernel"])
def test_every_proven_sign_is_that_of_all_exact_solutions(parameters, make, C, monkeypatch):
    X, y = make(n=26, seed=int(C) % 7)
    weight = np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float)
    problem, solution = solved(X, y, weight, C=C, **parameters)
    points, rest = cases_of(problem)
    value, width = np.array([exact(problem, *case) for case in zip(points, rest, strict=True)]).T
    scale = max(1.0, np.abs(value).max())
    for share in (0.0, certified.PROOFS_SHARE, ALWAYS):
        monkeypatch.setattr(certified, "PROOFS_SHARE", share)
        for tolerance in (1e-1, 1e-3, 1e-6):
            signs = leave_out_signs(solution, points, rest, proof=share > 0, tolerance=tolerance)
            worst = np.sign(signs.values) * value - width / 2
            assert np.all(worst[proven(signs, problem)] > -1e-5 * scale)
            assert np.all(proven(signs, problem)[signs.outcomes == CHECKED])
            assert proven(signs, problem).sum() > 0


@pytest.mark.parametrize("parameters", KERNELS, ids=lambda p: p["kernel"])
@pytest.mark.parametrize("make", [noisy, awkward])
def test_warm_values_tend_to_the_exact_ones(parameters, make):
    X, y = make(n=30, seed=1)
    problem, solution = solved(X, y, C=3.0, **parameters)
    points, rest = cases_of(problem)
    loose = leave_out_signs(solution, points, rest, proof=False, tolerance=1e-2)
    tight = leave_out_signs(solution, points, rest, proof=False, tolerance=1e-9, max_steps=10**6)
    value = np.array([exact(problem, *case)[0] for case in zip(points, rest, strict=True)])
    unresolved = tight.outcomes != CHECKED
    assert unresolved.sum() > 3
    scale = max(1.0, np.abs(value).max())
    np.testing.assert_allclose(tight.values[unresolved], value[unresolved], atol=1e-5 * scale)
    for signs, tolerance in ((loose, 1e-2), (tight, 1e-9)):
        assert np.all(signs.violation[unresolved] <= tolerance)
        assert np.all(signs.steps[unresolved] > 0)
    assert np.all(np.abs(tight.gap) < 1e-6)
    assert loose.steps.sum() < tight.steps.sum()


def test_a_limit_on_the_steps_is_kept_and_shows_in_the_violation():
    _, solution = solved(*noisy(n=80), C=100.0, kernel="linear")
    points, rest = np.arange(80), np.zeros(80)
    signs = leave_out_signs(solution, points, rest, proof=False, max_steps=3)
    assert signs.steps.max() <= 4  # and the step of the check
    assert signs.violation.max() > 1e-3


@pytest.mark.parametrize("proof", [False, True])
def test_the_result_is_the_same_at_any_number_of_threads(proof, monkeypatch):
    monkeypatch.setattr(certified, "CASES_PER_TASK", 7)
    _, solution = solved(*noisy(n=120, seed=3), C=10.0, kernel="linear")
    points, rest = np.arange(120), np.zeros(120)
    one = leave_out_signs(solution, points, rest, proof=proof, n_jobs=1)
    three = leave_out_signs(solution, points, rest, proof=proof, n_jobs=3)
    assert (one.outcomes != CHECKED).sum() > 21
    assert (one.outcomes == PROVEN).any() == proof
    for name in one._fields:
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))


def test_the_search_for_proofs_keeps_its_share_and_changes_no_move():
    _, solution = solved(*noisy(n=200, seed=3), C=10.0, kernel="linear")
    points, rest = np.arange(200), np.zeros(200)
    warm = leave_out_signs(solution, points, rest, proof=False)
    certain = leave_out_signs(solution, points, rest, proof=True)
    ended = certain.outcomes == PROVEN
    assert ended.any()
    most = 1 + (1 + certified.PROOFS_SHARE) * warm.steps
    assert np.all(certain.steps <= most)
    assert certain.steps[ended].sum() < warm.steps[ended].sum() / 2
    open_cases = certain.outcomes == UNPROVEN
    assert open_cases.any()
    for name in ("values", "violation"):
        np.testing.assert_array_equal(getattr(certain, name)[open_cases], getattr(warm, name)[open_cases])


def test_a_case_that_a_few_moves_solve_takes_no_more_with_proofs():
    _, solution = solved(*noisy(n=120, seed=3), C=0.3, gamma=0.5)
    points, rest = np.arange(120), np.zeros(120)
    warm = leave_out_signs(solution, points, rest, proof=False)
    certain = leave_out_signs(solution, points, rest, proof=True)
    few = warm.steps < 28
    assert np.sum(few & (warm.outcomes == UNPROVEN)) > 10
    for name in warm._fields:
        np.testing.assert_array_equal(getattr(certain, name)[few], getattr(warm, name)[few])


def test_a_larger_share_proves_more(monkeypatch):
    problem, solution = solved(*noisy(n=120, seed=3), C=10.0, kernel="linear")
    shares, points, rest, n_proven = (0.02, 0.1, 1.0, ALWAYS), np.arange(120), np.zeros(120), []
    for share in shares:
        monkeypatch.setattr(certified, "PROOFS_SHARE", share)
        n_proven.append(proven(leave_out_signs(solution, points, rest, proof=True), problem).sum())
    assert n_proven == sorted(n_proven)
    assert n_proven[-1] > n_proven[0]


def test_a_stable_solution_whose_remainder_is_not_stable_is_not_called_proven(monkeypatch):
    """2 alpha R^2 + xi < 1 with a free coefficient, and yet any sign is optimal without the point."""
    X, y = np.array([[-0.2], [0.3], [1.0], [0.1], [-1.0]]), np.array([1, 1, 1, -1, -1])
    problem, solution = solved(X, y, np.array([0.5, 1, 1, 1, 1]), C=1e-2, kernel="linear")
    radius = problem.gram.whole().diagonal().max() - problem.gram.whole().min()
    passes = (2 * solution.alpha * radius + solution.slack < 1) & (solution.alpha > 0)
    passes &= problem.label > 0
    widths = np.array([exact(problem, point, 0.0) for point in range(5)])
    flips = np.abs(widths[:, 0]) < widths[:, 1] / 2
    assert solution.n_free == 1
    assert np.any(passes & flips)
    for share in (0.0, ALWAYS):
        monkeypatch.setattr(certified, "PROOFS_SHARE", share)
        signs = leave_out_signs(solution, np.arange(5), np.zeros(5), proof=share > 0)
        assert not np.any(proven(signs, problem)[flips])


def test_without_convexity_nothing_is_proven(monkeypatch):
    monkeypatch.setattr(certified, "PROOFS_SHARE", ALWAYS)
    X, y = noisy(n=40)
    problem, solution = solved(X, y, C=10.0, kernel="sigmoid", gamma=2.0, coef0=-1.0)
    assert not problem.convex
    signs = leave_out_signs(solution, np.arange(40), np.zeros(40), proof=True)
    assert not proven(signs, problem).any()
    assert np.all(np.isfinite(signs.values))


def test_the_last_of_a_class_leaves_the_other():
    X, y = noisy(n=20)
    y[:] = 1
    y[7] = -1
    problem, solution = solved(X, y, C=1.0)
    point = np.flatnonzero(problem.label < 0)
    signs = leave_out_signs(solution, point, np.zeros(1), proof=True)
    assert (signs.values[0], proven(signs, problem)[0], signs.steps[0]) == (1.0, True, 0)


def restricted(problem, point, rest):
    """Kernel, label and bounds of the problem with ``f(x_r) = 0``, and its optimal dual value."""
    K, y = problem.gram.whole(), problem.label
    kbar = K - K[point] - K[:, [point]] + K[point, point]
    bound = problem.bound.copy()
    bound[point] = rest
    return kbar, y, bound


@pytest.mark.parametrize("rest", [0.0, 0.4])
@pytest.mark.parametrize("make", [noisy, both_labels])
def test_h_gains_what_it_says_and_ends_at_the_optimum_under_the_condition(make, rest):
    problem, solution = solved(*make(n=24), C=1.0, gamma=0.5)
    point = int(np.flatnonzero(solution.alpha > 0.4)[0])
    kbar, y, bound = restricted(problem, point, rest)
    whole, work = certified._whole(solution), certified._work(len(y))
    start_from_whole(whole, point, rest, work)
    certify.start_ascent(whole, point, rest, work)
    bounds = Bounds(-np.inf, 0.0, np.inf, rest - solution.alpha[point], 0, 0.0, 0)

    def dual(gamma):
        return y @ gamma - gamma @ kbar @ gamma / 2

    def primal(gamma):
        loss = np.maximum(0, 1 - y * (kbar @ gamma))
        return gamma @ kbar @ gamma / 2 + bound @ loss

    assert solution.dual + bounds.H == pytest.approx(dual(work.gamma), abs=1e-9)
    bounds = certify.raise_bound(whole, point, bounds, 1e-10, 10**5, work)
    assert np.all((work.gamma * y >= 0) & (work.gamma * y <= bound))
    np.testing.assert_allclose(work.slope, kbar @ work.gamma - y, atol=1e-10)
    assert solution.dual + bounds.H == pytest.approx(dual(work.gamma), abs=1e-9)
    gap = duality_gap(y, bound, work.gamma, work.slope, 0.0)
    assert gap == pytest.approx(primal(work.gamma) - dual(work.gamma), abs=1e-9)
    assert gap <= 1e-8
    random = np.random.default_rng(0)
    for _ in range(20):  # weak duality: any primal value under the condition is above H
        w = work.gamma + 0.1 * random.normal(size=len(y))
        assert primal(w) >= solution.dual + bounds.H - 1e-9


def test_no_coordinate_raises_h_more_than_the_one_taken():
    problem, solution = solved(*noisy(n=24), C=1.0, gamma=0.5)
    point = int(np.argmax(solution.alpha))
    kbar, y, bound = restricted(problem, point, 0.0)
    whole, work = certified._whole(solution), certified._work(len(y))
    start_from_whole(whole, point, 0.0, work)
    certify.start_ascent(whole, point, 0.0, work)
    for _ in range(3):
        certify.ascend(whole, point, work)
    gamma = work.gamma.copy()
    slope = y - kbar @ gamma
    gains = []
    for k in range(len(y)):
        least, most = min(0.0, y[k] * bound[k]), max(0.0, y[k] * bound[k])
        steps = np.linspace(least, most, 20001) - gamma[k]
        gains.append(np.max(steps * slope[k] - steps**2 * kbar[k, k] / 2))
    gain, _, _ = certify.ascend(whole, point, work)
    assert gain == pytest.approx(max(gains), abs=1e-6)
    assert gain > 1e-4


@pytest.mark.parametrize("seed", range(5))
def test_the_good_intercept_is_near_the_best_one(seed):
    random = np.random.default_rng(seed)
    problem, solution = solved(*awkward(n=40, seed=seed), C=1.0 + seed, kernel="linear")
    y, n = problem.label, len(problem.label)
    whole, work = certified._whole(solution), certified._work(n)
    point = int(np.argmax(solution.alpha))
    state = start_descent(whole, point, 0.0, work)
    state = descend(whole, state, 0.0, int(random.integers(0, 5)), work)
    low, high = min(state.low, state.high), max(state.low, state.high)
    kinks = -work.gradient
    losses = np.maximum(0, -y * (work.gradient + kinks[:, np.newaxis])) @ work.bound
    best = kinks[losses <= losses.min() + 1e-10]
    found = good_intercept(n, y, work.bound, work.gradient, low, high)
    assert low <= found <= high
    assert best.min() - (high - low) / 256 - 1e-12 <= found <= best.max() + (high - low) / 256 + 1e-12


def test_pairs_reach_the_optimum_of_the_remaining_problem_and_g_is_its_dual_value():
    problem, solution = solved(*noisy(n=40), C=2.0, gamma=0.5)
    whole, work = certified._whole(solution), certified._work(40)
    point = int(np.argmax(solution.alpha))
    state = descend(whole, start_descent(whole, point, 0.0, work), 1e-9, 10**6, work)
    optimum = minimise_box_qp(problem.gram.whole(), problem.label, work.lower, work.upper).beta
    expected = problem.label @ optimum - optimum @ problem.gram.whole() @ optimum / 2
    assert work.beta[point] == 0
    assert work.beta.sum() == pytest.approx(0, abs=1e-12)
    assert solution.dual + state.G == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(work.gradient, problem.gram.whole() @ work.beta - problem.label, atol=1e-10)
