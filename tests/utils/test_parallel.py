import threading
import time

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import make_classification

from bayes_svm import BayesSVC, BayesSVCSearch
from bayes_svm.classifiers import solution_reading
from bayes_svm.classifiers.solution_reading import SolutionReader
from bayes_svm.utils import parallel
from bayes_svm.utils.parallel import ahead_in_threads, in_threads, run_each, working_threads
from bayes_svm.utils.progress import counted


def name_of_thread(_):
    time.sleep(0.01)
    return threading.current_thread().name


def names(number, seconds=np.inf):
    return set(in_threads(name_of_thread, range(number), seconds))


def test_pieces_are_done_here_unless_the_context_has_threads():
    here = {threading.current_thread().name}
    assert names(4) == here
    for n_jobs in (None, 1):
        with working_threads(n_jobs):
            assert names(4) == here
    with working_threads(2):
        assert len(names(6)) == 2
        assert not names(6) & here
        assert names(1) == here
        assert names(6, seconds=1e-4) == here
    assert names(4) == here


def test_a_context_within_another_uses_its_threads_and_a_worker_none():
    with working_threads(2):
        outer = names(6)
        with working_threads(1):
            assert names(6) == outer
        inner = in_threads(lambda _: names(6), range(2))
        assert all(len(one) == 1 for one in inner)

        def within(_):
            with working_threads(3):
                return names(6) | {threading.current_thread().name}

        inner = in_threads(within, range(2))
        assert all(len(one) == 1 for one in inner)
        assert set.union(*inner) <= outer


def test_the_backend_says_how_many_threads_there_are():
    with parallel_config("threading", n_jobs=3), working_threads(None):
        assert 1 < len(names(30)) <= 3
    with parallel_config("loky", n_jobs=2), working_threads(None):
        assert names(4) == {threading.current_thread().name}


def test_results_are_in_the_order_of_the_pieces_and_errors_are_raised():
    def slow_first(piece):
        time.sleep(0.02 * (piece == 0))
        if piece == 9:
            raise ValueError("nine")
        return piece

    with working_threads(3):
        assert in_threads(slow_first, range(6)) == list(range(6))
        with pytest.raises(ValueError, match="nine"):
            in_threads(slow_first, range(12))
        assert in_threads(slow_first, range(6)) == list(range(6))


def test_what_has_not_begun_is_not_begun_after_an_error():
    begun = []

    def fails(piece):
        begun.append(piece)
        time.sleep(0.01)
        raise ValueError(piece)

    with pytest.raises(ValueError, match="0"), working_threads(2):
        in_threads(fails, range(200))
    assert len(begun) < 200


@pytest.mark.parametrize("loop", ["counted", "in pieces"])
def test_a_loop_in_a_thread_ends_soon_after_an_error(loop):
    begun = []

    def one(item):
        begun.append(item)
        time.sleep(0.001)

    def work(piece):
        if piece == 0:
            time.sleep(0.05)
            raise ValueError("zero")
        if loop == "in pieces":
            in_threads(one, range(5000))
        else:
            for item in counted(range(5000), "items"):
                one(item)

    with pytest.raises(ValueError, match="zero"), working_threads(2):
        in_threads(work, range(2))
    assert 0 < len(begun) < 2500


def test_without_threads_a_piece_is_made_when_the_one_before_is_done():
    made = []

    def pieces():
        for piece in range(4):
            made.append(piece)
            yield piece

    for piece, (found, thread) in enumerate(ahead_in_threads(lambda p: (p, name_of_thread(p)), pieces())):
        assert found == piece
        assert thread == threading.current_thread().name
        assert made == list(range(piece + 1))


def test_threads_work_on_pieces_while_the_next_are_made():
    made, most_ahead, done = [], [], []

    def pieces():
        for piece in range(12):
            most_ahead.append(len(made) - len(done))
            # What is done in pieces here must not wait for the threads that are busy.
            assert len(made) < 2 or names(2) == {threading.current_thread().name}
            made.append(piece)
            yield piece

    def work(piece):
        time.sleep(0.03)
        done.append(piece)
        return piece, threading.current_thread().name

    with working_threads(2):
        found = list(ahead_in_threads(work, pieces()))
        assert [piece for piece, _ in found] == list(range(12))
        here, others = threading.current_thread().name, {thread for _, thread in found[:-1]}
        assert len(others) == 2
        assert here not in others
        assert found[-1][1] == here
        assert 1 <= max(most_ahead) <= 3
        assert len(names(6)) == 2


def test_threads_take_part_in_the_last_piece():
    with working_threads(2):
        *_, last = ahead_in_threads(lambda piece: names(6), range(5))
        assert len(last) == 2
        assert threading.current_thread().name not in last


@pytest.mark.parametrize("last", [9, 11])
def test_the_error_of_the_first_piece_that_has_one_is_raised(last):
    def work(piece):
        if piece >= 9:
            raise ValueError(piece)
        return piece

    with pytest.raises(ValueError, match=r"^9$"), working_threads(2):
        list(ahead_in_threads(work, range(last + 1)))


@pytest.mark.parametrize("where", ["a piece", "its making"])
def test_an_error_ends_what_is_made_ahead(where):
    begun = []

    def pieces():
        for piece in range(50):
            if where == "its making" and piece == 9:
                raise ValueError("nine")
            yield piece

    def work(piece):
        begun.append(piece)
        if where == "a piece" and piece == 9:
            raise ValueError("nine")
        return piece

    found = []
    with pytest.raises(ValueError, match="nine"), working_threads(2):
        found.extend(ahead_in_threads(work, pieces()))
    assert found == list(range(len(found)))
    assert 6 <= len(found) <= 9
    assert len(begun) <= 12


def test_a_single_call_may_use_the_threads_itself():
    assert len(run_each(2, [(names, (6,), {})], "things")[0]) == 2


@pytest.mark.parametrize(("n", "n_classes"), [(700, 2), (3100, 2), (700, 3), (1100, 4)])
def test_threads_change_no_bit_of_a_fit(n, n_classes):
    X, y = make_classification(n, 8, n_informative=4, n_classes=n_classes, flip_y=0.1, random_state=0)
    one, two = (BayesSVC(C=2.0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    for name in ("dual_coef_", "intercept_", "left_out_decision_values_", "left_out_proba_"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
    assert one.predict_proba(X[:50]).tobytes() == two.predict_proba(X[:50]).tobytes()


def test_several_classes_are_read_at_once_where_there_is_memory(monkeypatch):
    X, y = make_classification(1100, 8, n_informative=4, n_classes=3, random_state=0)
    threads, read = set(), SolutionReader.read

    def noted(*arguments):
        threads.add(threading.current_thread())
        return read(*arguments)

    monkeypatch.setattr(SolutionReader, "read", noted)
    fits = []
    for free, several in ((None, True), (10**12, True), (10**7, False)):
        threads.clear()
        monkeypatch.setattr(solution_reading, "available_bytes", lambda free=free: free)
        fits.append(BayesSVC(n_jobs=2).fit(X, y))
        assert (len(threads) > 1) == several
    assert len({model.left_out_proba_.tobytes() for model in fits}) == 1


def test_threads_change_no_bit_of_a_path_of_costs():
    X, y = make_classification(400, 8, flip_y=0.1, random_state=0)
    grid = {"C": np.logspace(-1, 2, 7)}
    one, two = (BayesSVCSearch(BayesSVC(), grid, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert one.cv_results_["mean_test_score"].tobytes() == two.cv_results_["mean_test_score"].tobytes()
    assert one.left_out_proba_.tobytes() == two.left_out_proba_.tobytes()


def test_an_error_does_not_wait_for_a_thread_that_is_stuck(monkeypatch):
    monkeypatch.setattr(parallel, "SOON", 0.05)
    begun, released, stuck = threading.Event(), threading.Event(), []

    def wait(_):
        stuck.append(threading.current_thread())
        begun.set()
        released.wait()

    def fail():
        with working_threads(2):
            parallel.ask_for_help(wait, 1)
            begun.wait()
            raise ValueError("on the way")

    with pytest.raises(ValueError, match="on the way"):
        fail()
    assert stuck[0].is_alive()
    released.set()
    stuck[0].join()


@pytest.mark.parametrize("size", [0, 1, 5, 6, 7, 12, 13, 24, 25, 100])
@pytest.mark.parametrize("whole", [0, 6, 12])
def test_equal_parts_cover_everything_once(size, whole):
    parts = parallel.equal_parts(size, 12, whole)
    assert [k for part in parts for k in range(size)[part]] == list(range(size))
    lengths = [part.stop - part.start for part in parts]
    assert len(set(lengths[:-1])) <= 1
    assert max(lengths, default=0) <= 12
    assert len(parts) <= 1 or size > whole
    assert len(parts) >= 2 or size <= max(1, whole)
