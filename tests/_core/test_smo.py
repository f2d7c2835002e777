import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from _data import awkward, noisy
from _sources import sources
from bayes_svm._core import smo
from bayes_svm._core.pair_records import Iterate, Team
from bayes_svm.dual import working_set
from bayes_svm.utils.parallel import ask_for_help, spare_threads, working_threads

# Where the line of a helper says which task it has done; -1 until it comes.
DONE = 8


def start(K, y, C):
    y = y.astype(float)
    return np.zeros(len(y)), -y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)


def iterate(K, *arrays):
    return Iterate(K, np.diagonal(K).copy(), *arrays, *np.empty((2, len(K))), len(K))


def moved_pairs(K, *arguments):
    *arrays, tolerance, max_steps = arguments
    return smo.move_pairs(iterate(K, *arrays), tolerance, max_steps, Team.of(0))


def violation(beta, gradient, lower, upper):
    return (-gradient)[beta < upper].max() - (-gradient)[beta > lower].min()


def first_order_smo(K, y, C, tolerance, max_steps=100_000):
    """The most violating pair moves until none violates: the same problem, the simplest choice of pairs."""
    beta, gradient, lower, upper = start(K, y, C)
    for _ in range(max_steps):
        i = np.where(beta < upper, -gradient, -np.inf).argmax()
        j = np.where(beta > lower, -gradient, np.inf).argmin()
        if gradient[j] - gradient[i] <= tolerance:
            return beta
        amount = (gradient[j] - gradient[i]) / max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
        amount = min(amount, upper[i] - beta[i], beta[j] - lower[j])
        beta[i], beta[j] = beta[i] + amount, beta[j] - amount
        gradient += amount * (K[i] - K[j])
    raise AssertionError("the twin did not converge")


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("make", [noisy, awkward])
def test_values_are_those_of_the_numpy_twin(make, C):
    X, y = make(n=40)
    K = rbf_kernel(X)
    beta, gradient, lower, upper = start(K, y, C)
    moved_pairs(K, beta, gradient, lower, upper, 1e-9, 10**6)
    np.testing.assert_allclose(K @ beta, K @ first_order_smo(K, y, C, 1e-9), atol=1e-5)


def best_pair(K, beta, gradient, lower, upper):
    """The first of the steepest points, and the first of those that gain most with it."""
    slope = np.where(beta < upper, -gradient, -np.inf)
    i = slope.argmax()
    fall = np.where(beta > lower, np.maximum(slope[i] + gradient, 0.0), 0.0)
    return {i, (fall**2 / np.maximum(K[i, i] + np.diagonal(K) - 2.0 * K[i], 1e-12)).argmax()}


# The loops look at 32 points at a time. At first all gradients of a class are equal; on a grid many stay so.
@pytest.mark.parametrize("n", [4, 31, 32, 33, 64, 65, 200])
@pytest.mark.parametrize("make", [noisy, awkward])
def test_each_move_is_that_of_the_first_among_the_best(make, n):
    X, y = make(n=n)
    y[:2] = 1, -1
    K = rbf_kernel(X)
    beta, gradient, lower, upper = start(K, y, 1.0)
    for _ in range(40):
        before, expected = beta.copy(), best_pair(K, beta, gradient, lower, upper)
        _, steps = moved_pairs(K, beta, gradient, lower, upper, 1e-3, 1)
        if steps == 0:
            break
        assert set(np.flatnonzero(beta != before)) == expected


@pytest.mark.parametrize("k", [0, 5, 39])
def test_a_gradient_that_is_no_number_never_moves(k):
    X, y = noisy(n=40)
    K = rbf_kernel(X)
    beta, gradient, lower, upper = start(K, y, 1.0)
    gradient[k] = np.nan
    _, steps = moved_pairs(K, beta, gradient, lower, upper, 1e-3, 10)
    assert steps == 10
    assert beta[k] == 0.0


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6])
def test_it_stops_at_the_violation_it_reports(tolerance):
    X, y = noisy()
    K = rbf_kernel(X)
    beta, gradient, lower, upper = start(K, y, 10.0)
    reported, steps = moved_pairs(K, beta, gradient, lower, upper, tolerance, 10**6)
    assert 0 < steps < 10**6
    assert reported == pytest.approx(violation(beta, gradient, lower, upper), abs=1e-12)
    assert reported <= tolerance


def test_coefficients_stay_feasible_and_the_gradient_is_theirs():
    X, y = awkward(n=40)
    K = X @ X.T
    beta, gradient, lower, upper = start(K, y, 10.0)
    moved_pairs(K, beta, gradient, lower, upper, 1e-6, 10**6)
    assert np.all((beta >= lower) & (beta <= upper))
    assert beta.sum() == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(gradient, K @ beta - y, atol=1e-9)


def test_it_takes_no_more_steps_than_allowed():
    X, y = noisy()
    K = rbf_kernel(X)
    beta, gradient, lower, upper = start(K, y, 100.0)
    reported, steps = moved_pairs(K, beta, gradient, lower, upper, 1e-9, 5)
    assert steps == 5
    assert np.count_nonzero(beta) <= 10
    assert reported == pytest.approx(violation(beta, gradient, lower, upper))


def test_where_nothing_can_move_nothing_does():
    K, beta = np.eye(2), np.zeros(2)
    assert moved_pairs(K, beta, np.array([-1.0, 1.0]), np.zeros(2), np.zeros(2), 1e-3, 10) == (0.0, 0)


def moved_together(K, *arguments, help, there):
    """What the moves give with some helpers, who come before the first task, and the memory of the team."""
    *arrays, tolerance, max_steps = arguments
    at, team = iterate(K, *arrays), Team.of(3)
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(help, at, team, k) for k in there]
        while (team.lines[there, DONE] < 0).any():
            time.sleep(0.001)
        found = smo.move_pairs(at, tolerance, max_steps, team)
    for one in asked:
        one.result()
    assert (team.lines[there, DONE] > 0).all()
    return found, team


@pytest.mark.parametrize("there", [[], [0], [2], [1, 2], [0, 1, 2]])
@pytest.mark.parametrize("n", [4, 31, 40, 127, 300])
@pytest.mark.parametrize("make", [noisy, awkward])
def test_helpers_change_no_bit(make, n, there):
    X, y = make(n=n)
    K = rbf_kernel(X)
    alone, helped = ([part.copy() for part in start(K, y, 10.0)] for _ in range(2))
    expected = moved_pairs(K, *alone, 1e-6, 5000)
    found, _ = moved_together(K, *helped, 1e-6, 5000, help=smo.help_move, there=there)
    assert found == expected
    for one, other in zip(helped, alone, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_helper_that_is_slow_changes_no_bit():
    X, y = noisy(n=200)
    K = rbf_kernel(X)
    alone, helped = ([part.copy() for part in start(K, y, 100.0)] for _ in range(2))
    expected = moved_pairs(K, *alone, 1e-9, 5000)
    slow = sources().smo.help_move  # not compiled
    found, _ = moved_together(K, *helped, 1e-9, 5000, help=slow, there=[1])
    assert found == expected
    np.testing.assert_array_equal(helped[0], alone[0])


def test_a_helper_that_the_leader_waits_for_is_passed_over():
    team = Team.of(1)
    line, at = team.lines[0], sources().team
    at.ask(team)
    assert not at.has_done(team, 0)
    at.come(line)

    def answer():
        time.sleep(0.2)
        at.store(line, at.DONE, line[at.ASKED])

    with ThreadPoolExecutor(1) as pool:
        at.ask(team)
        pool.submit(answer)
        assert at.has_done(team, 0)
        passed_over = line[at.FIRST] - team.number[0]
        assert passed_over >= at.LOOKS // at.SHARE
        for _ in range(passed_over - 1):
            at.ask(team)
        assert not at.has_done(team, 0)
        at.ask(team)
        pool.submit(answer)
        assert at.has_done(team, 0)
    at.dismiss(team)
    assert at.next_task(line, team.number[0]) == at.END


def none_is_left():
    """Wait until the threads of all contexts have ended."""
    deadline = time.monotonic() + 60.0
    while any(thread.name.startswith("bayes_svm") for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("error", [KeyboardInterrupt, None])
def test_a_helper_that_is_never_dismissed_ends_with_its_context(error):
    at, team = iterate(np.eye(4), *np.zeros((4, 4))), Team.of(1)

    def leave():
        with working_threads(2):
            ask_for_help(partial(smo.help_move, at, team), 1)
            while team.lines[0, DONE] < 0:
                time.sleep(0.001)
            if error is not None:
                raise error

    if error is None:
        leave()
    else:
        with pytest.raises(error):
            leave()
    none_is_left()


def test_wrong_arrays_dismiss_the_helpers():
    at, team = iterate(np.eye(4), *np.zeros((4, 4))), Team.of(1)
    with ThreadPoolExecutor(1) as pool:
        helper = pool.submit(smo.help_move, at, team, 0)
        while team.lines[0, DONE] < 0:
            time.sleep(0.001)
        with pytest.raises(ValueError, match=r"at\.lower must have the shape \(4,\)"):
            smo.move_pairs(at._replace(lower=np.zeros(3)), 1e-3, 10, team)
        helper.result()


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_that_help_are_those_of_the_context(n_jobs, monkeypatch):
    monkeypatch.setattr(working_set, "LEAST", 20)
    X, y = noisy(n=90)
    K = rbf_kernel(X)
    alone, helped = ([part.copy() for part in start(K, y, 10.0)] for _ in range(2))
    expected = moved_pairs(K, *alone, 1e-6, 5000)
    with working_threads(n_jobs):
        assert spare_threads() == n_jobs - 1
        found = working_set._moved_together(K, np.diagonal(K).copy(), *helped, 1e-6, 5000)
    assert found == expected
    np.testing.assert_array_equal(helped[0], alone[0])


def test_a_helper_that_there_is_no_line_for_is_an_error():
    at = iterate(np.eye(4), *np.zeros((4, 4)))
    for number in (-1, 1):
        with pytest.raises(ValueError, match="number must be from 0 to 0"):
            smo.help_move(at, Team.of(1), number)
