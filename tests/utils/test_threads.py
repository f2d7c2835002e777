from threading import Thread

from threadpoolctl import ThreadpoolController, threadpool_limits

from bayes_svm.utils.threads import one_blas_thread


def blas_threads():
    libraries = ThreadpoolController().select(user_api="blas").info()
    return {library["num_threads"] for library in libraries}


def test_an_inner_context_leaves_the_limit_to_the_outer_one():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread():
            with one_blas_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == before
        try:
            with one_blas_thread():
                raise KeyError
        except KeyError:
            pass
        assert blas_threads() == before


def test_threads_started_inside_keep_the_limit():
    seen = []

    def work():
        with one_blas_thread():
            seen.append(blas_threads())

    with one_blas_thread():
        for _ in range(2):
            thread = Thread(target=work)
            thread.start()
            thread.join()
            seen.append(blas_threads())
    assert seen == [{1}] * 4
