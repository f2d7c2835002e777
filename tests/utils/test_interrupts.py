import os
import signal
import threading

import numpy as np
import pytest
from joblib import Parallel, delayed

from bayes_svm._core import matrix, smo
from bayes_svm._core.pair_records import Iterate, Team
from bayes_svm.utils import interrupts
from bayes_svm.utils.interrupts import aside, pause, slices, unless
from bayes_svm.utils.parallel import run_each, run_in_threads


@pytest.mark.parametrize(("number", "operations"), [(0, 5), (1, 0), (7, 1), (7, 3), (7, 100), (8, 4)])
def test_slices_cover_every_pass_once(number, operations, monkeypatch):
    monkeypatch.setattr(interrupts, "SLICE", 8)
    passes = [k for first, last in slices(number, operations) for k in range(first, last)]
    assert passes == list(range(number))
    longest = max((last - first for first, last in slices(number, operations)), default=0)
    assert longest <= max(1, 8 // max(1, operations))


def test_a_compiled_loop_in_slices_hears_a_signal_and_has_the_same_bits(monkeypatch):
    random = np.random.default_rng(0)
    A, chosen, columns = random.normal(size=(9, 9)), np.arange(9)[::-1].copy(), np.array([2, 5, 8])
    smallest = matrix.smallest_of_rows(A, chosen)
    monkeypatch.setattr(interrupts, "SLICE", 1)
    for precision in (np.float32, np.float64):
        out = np.empty((9, 3), dtype=precision)
        matrix.block(A, chosen, columns, out)
        np.testing.assert_array_equal(out, A[np.ix_(chosen, columns)].astype(precision))
    assert matrix.smallest_of_rows(A, chosen).tobytes() == smallest.tobytes()
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(True))
    monkeypatch.setattr(interrupts, "pause", lambda: heard or signal.raise_signal(signal.SIGINT))
    matrix.block(A, chosen, columns, out)
    signal.signal(signal.SIGINT, before)
    assert heard == [True]


def test_moves_in_slices_have_the_same_bits(monkeypatch):
    random = np.random.default_rng(0)
    n = 40
    X = random.normal(size=(n, 3))
    K, label = X @ X.T, np.where(X[:, 0] + random.normal(size=n) > 0, 1.0, -1.0)
    lower, upper = np.minimum(label, 0.0), np.maximum(label, 0.0)

    def moved(limit):
        beta, gradient = np.zeros(n), -label
        at = Iterate(K, K.diagonal().copy(), beta, gradient, lower, upper, *np.empty((2, n)), n)
        left = smo.move_pairs(at, 1e-6, limit, Team.of(0))
        return left, beta.tobytes(), gradient.tobytes()

    whole = [moved(limit) for limit in (0, 1, 5, 10_000)]
    assert [steps for (_, steps), *_ in whole[:3]] == [0, 1, 5]
    assert whole[3][0][0] <= 1e-6
    monkeypatch.setattr(interrupts, "SLICE", 1)
    assert [moved(limit) for limit in (0, 1, 5, 10_000)] == whole


def test_work_that_was_given_up_ends_at_the_next_pause():
    given_up = threading.Event()

    def work():
        pause()
        given_up.set()
        pause()

    with pytest.raises(KeyboardInterrupt):
        unless(given_up, work, (), {})
    # Nobody has given up what this thread does now.
    pause()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_when_one_call_fails_the_others_end(n_jobs):
    ended = []

    def work(k):
        if k == 0:
            raise ValueError("of the call itself")
        try:
            while True:
                pause()
        except KeyboardInterrupt:
            ended.append(k)
            raise

    calls = [delayed(work)(k) for k in (1, 0, 2)[n_jobs == 1 :]]
    with pytest.raises(ValueError, match="of the call itself"):
        list(run_in_threads(Parallel(n_jobs=n_jobs, backend="threading"), calls))
    while len(ended) < n_jobs - 1:
        pass


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_come_in_the_order_of_the_calls(n_jobs):
    assert run_each(n_jobs, [delayed(pow)(k, 2) for k in range(5)], "powers") == [0, 1, 4, 9, 16]


def test_a_call_made_aside_returns_or_raises_what_the_function_does():
    assert aside(sum, [1, 2, 3]) == 6
    with pytest.raises(np.linalg.LinAlgError):
        aside(np.linalg.inv, np.zeros((2, 2)))


@pytest.mark.skipif(os.name == "nt", reason="a process on Windows cannot interrupt itself")
def test_an_interruption_is_heard_while_a_call_is_made_aside():
    go_on, gone = threading.Event(), threading.Event()

    def work(_):
        os.kill(os.getpid(), signal.SIGINT)
        go_on.wait()
        gone.set()

    with pytest.raises(KeyboardInterrupt):
        aside(work, None)
    assert not gone.is_set()
    go_on.set()
    assert gone.wait(10)
