import gc
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Thread

import numpy as np
import pytest
import threadpoolctl
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_info, threadpool_limits

from bayes_svm import BayesSVC
from bayes_svm.utils.threads import one_blas_thread

N_THREADS = 10


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def set_by_a_thread_that_ends(limit):
    thread = Thread(target=threadpool_limits, args=(limit,), kwargs={"user_api": "blas"})
    thread.start()
    thread.join()


@pytest.fixture(params=["main thread", "thread that has ended"])
def two(request):
    """BLAS has two threads. Some versions of threadpoolctl let only the thread that set a limit change it."""
    [before] = blas_threads()
    if request.param == "main thread":
        with threadpool_limits(2, user_api="blas"):
            yield {2}
    else:
        set_by_a_thread_that_ends(2)
        yield {2}
        set_by_a_thread_that_ends(before)
    assert blas_threads() == {before}


@pytest.fixture
def workers():
    """Two threads that do one thing after the other, and that live on in between."""
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        yield one, other


def in_thread(worker, function, *arguments):
    return worker.submit(function, *arguments).result()


def enter(worker):
    """A function that leaves the context that the worker has entered."""
    context = one_blas_thread()
    in_thread(worker, context.__enter__)
    return lambda: in_thread(worker, context.__exit__, None, None, None)


def at_once(work):
    """Run the function of the thread's number in all threads, which start it at the same time."""
    barrier = Barrier(N_THREADS)

    def start(number):
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(N_THREADS) as threads:
        return [threads.submit(start, number) for number in range(N_THREADS)]


def problem(number):
    rng = np.random.default_rng(number)
    X = rng.normal(size=(40 + number, 3))
    return X, (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)


def run(script):
    """Run a script in a process of its own; returns what it prints."""
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_an_inner_context_leaves_the_limit_to_the_outer_one(two):
    with one_blas_thread():
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == two


def test_an_exception_lifts_the_limit(two):
    with pytest.raises(KeyError), one_blas_thread(), one_blas_thread():
        raise KeyError
    assert blas_threads() == two


def test_a_limit_of_one_stays():
    with threadpool_limits(1, user_api="blas"):
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}


def test_threads_started_inside_keep_the_limit(two, workers):
    with one_blas_thread():
        for worker in workers:
            leave = enter(worker)
            assert in_thread(worker, blas_threads) == {1}
            leave()
            assert blas_threads() == {1}
    assert blas_threads() == two


@pytest.mark.parametrize("first_out", [0, 1])
def test_the_last_of_two_threads_lifts_the_limit(two, workers, first_out):
    leave = [enter(worker) for worker in workers]
    leave[first_out]()
    assert [in_thread(worker, blas_threads) for worker in workers] == [{1}, {1}]
    leave[1 - first_out]()
    assert [in_thread(worker, blas_threads) for worker in workers] == [two, two]
    assert blas_threads() == two


def test_a_limit_held_by_others_is_set_again_when_they_lift_it(two, workers):
    foreign = in_thread(workers[0], lambda: threadpool_limits(1, user_api="blas").__enter__())
    leave = enter(workers[1])
    in_thread(workers[0], foreign.__exit__, None, None, None)
    assert blas_threads() == two
    with one_blas_thread():
        assert blas_threads() == {1}
    leave()
    assert blas_threads() == two


def test_a_limit_raised_inside_is_not_what_remains(two, workers):
    leave = enter(workers[0])
    with threadpool_limits(3, user_api="blas"):
        leave_early = enter(workers[1])
        assert blas_threads() == {1}
        leave_early()
    leave()
    assert blas_threads() == two


@pytest.mark.parametrize("closed_by_another_thread", [False, True])
def test_a_suspended_generator_holds_the_limit_until_it_is_closed(two, workers, closed_by_another_thread):
    def numbers():
        with one_blas_thread():
            yield 1
            yield 2

    generator = numbers()
    next(generator)
    with one_blas_thread():
        pass
    enter(workers[0])()
    assert blas_threads() == {1}
    if closed_by_another_thread:
        in_thread(workers[1], generator.close)
    else:
        del generator
        gc.collect()
    assert blas_threads() == two


def test_fits_in_many_threads_have_one_blas_thread_each(two):
    seen = []

    def kernel(A, B):
        seen.append(blas_threads())
        return rbf_kernel(A, B)

    for fit in at_once(lambda number: BayesSVC(kernel=kernel).fit(*problem(number))):
        fit.result()
    assert {1} in seen
    assert all(limits == {1} for limits in seen)
    assert blas_threads() == two


def test_a_fit_that_fails_leaves_the_limit_to_the_others(two):
    def fit(number):
        calls = []

        def kernel(A, B):
            calls.append(blas_threads())
            if number == 3 and len(calls) == 2:
                raise ArithmeticError
            return rbf_kernel(A, B)

        BayesSVC(kernel=kernel).fit(*problem(number))
        return calls

    fits = at_once(fit)
    for number, done in enumerate(fits):
        if number == 3:
            assert isinstance(done.exception(), ArithmeticError)
        else:
            assert all(limits == {1} for limits in done.result())
    assert blas_threads() == two


def test_fits_in_many_threads_are_those_of_one(two):
    def values(number):
        model = BayesSVC().fit(*problem(number))
        return model.left_out_decision_values_, model.predict_proba(model.support_vectors_)

    alone = [values(number) for number in range(N_THREADS)]
    for done, expected in zip(at_once(values), alone, strict=True):
        for ours, theirs in zip(done.result(), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert blas_threads() == two


def test_a_library_loaded_between_two_contexts_is_limited():
    seen = run(
        """
        import ctypes, numpy
        from threadpoolctl import threadpool_info, threadpool_limits
        from bayes_svm.utils.threads import one_blas_thread

        def limits():
            return "".join(str(i["num_threads"]) for i in threadpool_info() if i["user_api"] == "blas")

        with one_blas_thread():
            print(len(limits()))
        import scipy.linalg
        with threadpool_limits(2, user_api="blas"):
            with one_blas_thread():
                print(limits())
            print(limits())
        """
    )
    if len(seen[1]) == int(seen[0]):
        pytest.skip("NumPy and SciPy have the same BLAS library here")
    assert set(seen[1]) == {"1"}
    assert set(seen[2]) == {"2"}


@pytest.mark.skipif(not hasattr(threadpoolctl, "register"), reason="this threadpoolctl takes no libraries")
def test_a_library_with_a_limit_for_each_thread():
    """MKL and OpenBLAS on OpenMP have such limits. This test makes NumPy's extension look like MKL."""
    seen = run(
        """
        from concurrent.futures import ThreadPoolExecutor
        from threading import local
        import numpy, threadpoolctl

        class Limit(local):
            value = 2

        class LikeMKL(threadpoolctl.LibController):
            user_api, internal_api = "blas", "mkl"
            filename_prefixes = ("_multiarray_umath",)
            check_symbols = ("PyInit__multiarray_umath", "MKL_Set_Num_Threads_Local")
            limit = Limit()
            get_version = lambda self: None
            get_num_threads = lambda self: self.limit.value
            set_num_threads = lambda self, limit: setattr(self.limit, "value", limit)

        threadpoolctl.register(LikeMKL)
        from bayes_svm.utils.threads import one_blas_thread
        with ThreadPoolExecutor(1) as worker:
            see = lambda: print(LikeMKL.limit.value, worker.submit(lambda: LikeMKL.limit.value).result())
            here, there = one_blas_thread(), one_blas_thread()
            here.__enter__()
            see()
            worker.submit(there.__enter__).result()
            see()
            here.__exit__(None, None, None)
            see()
            worker.submit(there.__exit__, None, None, None).result()
            see()
        """
    )
    assert seen == ["1", "2", "1", "1", "2", "1", "2", "2"]


# Prints the limit in a forked child, and then that in its parent.
FORK = """
    import os, signal, sys
    from concurrent.futures import ThreadPoolExecutor
    import numpy, scipy.linalg
    from threadpoolctl import threadpool_info, threadpool_limits
    from bayes_svm.utils.threads import one_blas_thread

    def see():
        limits = {i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}
        print(*limits, flush=True)

    def enter_and_see():
        with one_blas_thread():
            numpy.ones((200, 200)) @ numpy.ones((200, 200))
            see()

    with ThreadPoolExecutor(1) as worker:
        worker.submit(threadpool_limits, 2, user_api="blas").result()
    worker = ThreadPoolExecutor(1)
    other, own = one_blas_thread(), one_blas_thread()
    if "other" in HOLDERS:
        worker.submit(other.__enter__).result()
    if "own" in HOLDERS:
        own.__enter__()
    child = os.fork()
    if not child:
        # A child that waits for a lock for ever is killed.
        signal.alarm(20)
        see()
        with ThreadPoolExecutor(1) as new:
            new.submit(enter_and_see).result()
        see()
        if "own" in HOLDERS:
            own.__exit__(None, None, None)
        see()
        numpy.ones((200, 200)) @ numpy.ones((200, 200))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    if "own" in HOLDERS:
        own.__exit__(None, None, None)
    if "other" in HOLDERS:
        see()
        worker.submit(other.__exit__, None, None, None).result()
    see()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize(
    ("holders", "in_child", "in_parent"),
    [
        (["other"], ["2", "1", "2", "2"], ["1", "2"]),
        (["own"], ["1", "1", "1", "2"], ["2"]),
        (["other", "own"], ["1", "1", "1", "2"], ["1", "2"]),
    ],
)
def test_a_forked_child_holds_the_limit_only_for_the_thread_that_it_has(holders, in_child, in_parent):
    assert run(FORK.replace("HOLDERS", repr(holders))) == in_child + in_parent
