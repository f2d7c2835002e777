"""The same numbers from a cluster of processes, even if one of them is killed."""

import importlib
import os
import signal
from concurrent.futures import CancelledError

import joblib
import numpy as np
import pytest
from sklearn.svm import SVC

from _data import noisy
from bayes_svm import leave_one_out

distributed = pytest.importorskip("distributed")
path = importlib.import_module("bayes_svm.leave_one_out.path")
readings = importlib.import_module("bayes_svm.leave_one_out.methods")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(path, "BATCH", 8)
    monkeypatch.setattr(path, "CHANGES", 0)
    monkeypatch.setattr(readings, "SECTION", 32)


def assert_same(one, other):
    assert one.decision_values.tobytes() == other.decision_values.tobytes()
    assert one.gap.tobytes() == other.gap.tobytes()
    np.testing.assert_array_equal(one.status, other.status)
    np.testing.assert_array_equal(one.events, other.events)


X, Y = noisy(n=150)
MACHINE = SVC(C=2.0, gamma=0.5)


def test_a_cluster_gives_the_serial_numbers_and_is_sent_the_tableau_once(client, small_batches, monkeypatch):
    serial = leave_one_out(MACHINE, X, Y)
    sent = []
    scatter = type(client).scatter

    def recorded(self, data, *args, **kwargs):
        sent.extend(type(item).__name__ for item in (data if isinstance(data, list) else [data]))
        return scatter(self, data, *args, **kwargs)

    monkeypatch.setattr(type(client), "scatter", recorded)
    with joblib.parallel_config(backend="dask"):
        spread = leave_one_out(MACHINE, X, Y, n_jobs=-1)
    assert_same(spread, serial)
    assert (serial.status == "path").sum() > 40  # several parts of several batches
    assert sent.count("SharedTableau") == 1
    assert sent.count("Origin") == 1


def test_a_worker_that_is_killed_loses_nothing(client, small_batches, monkeypatch, tmp_path):
    serial = leave_one_out(MACHINE, X, Y)
    original, mark = path._run_batch, str(tmp_path / "killed")

    def fatal_once(*arguments):
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return original(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(path, "_run_batch", fatal_once)
    with joblib.parallel_config(backend="dask"):
        spread = leave_one_out(MACHINE, X, Y, n_jobs=-1)
    assert os.path.exists(mark)
    assert_same(spread, serial)


@pytest.mark.parametrize("kind", [CancelledError, TypeError])
def test_data_that_a_cluster_lost_are_sent_again(kind, client, small_batches, monkeypatch):
    serial = leave_one_out(MACHINE, X, Y)
    parallel = importlib.import_module("bayes_svm.utils.parallel")
    sent, started = [], []
    scatter = type(client).scatter

    def recorded(self, data, *args, **kwargs):
        sent.extend(type(item).__name__ for item in (data if isinstance(data, list) else [data]))
        return scatter(self, data, *args, **kwargs)

    class LosesOnce(joblib.Parallel):
        def __call__(self, calls):
            started.append(len(calls))
            results = super().__call__(calls)
            if len(started) == 1:
                client.cancel([future for _, future in parallel._SENT.values()])
                raise kind("lost dependencies")
            return results

    monkeypatch.setattr(type(client), "scatter", recorded)
    monkeypatch.setattr(parallel, "Parallel", LosesOnce)
    with joblib.parallel_config(backend="dask"):
        spread = leave_one_out(MACHINE, X, Y, n_jobs=-1)
    assert_same(spread, serial)
    assert started[1] == started[0]
    assert sent.count("SharedTableau") == 2


def test_an_error_of_a_call_is_not_taken_for_lost_data(client, small_batches, monkeypatch):
    def wrong(*arguments):
        raise TypeError("not a number")

    monkeypatch.setattr(path, "_run_batch", wrong)
    with joblib.parallel_config(backend="dask"), pytest.raises(TypeError, match="not a number"):
        leave_one_out(MACHINE, X, Y, n_jobs=-1)


def test_a_cluster_that_only_loses_is_given_up(client, small_batches, monkeypatch):
    parallel = importlib.import_module("bayes_svm.utils.parallel")
    tried = []

    class Lost:
        def __init__(self, **options):
            tried.append(options)

        def __call__(self, calls):
            raise CancelledError("lost dependencies")

    monkeypatch.setattr(parallel, "Parallel", Lost)
    with joblib.parallel_config(backend="dask"), pytest.raises(CancelledError):
        leave_one_out(MACHINE, X, Y, n_jobs=-1)
    assert len(tried) == parallel.LOSSES + 1


def test_a_cluster_of_one_worker_gives_the_serial_numbers(small_batches):
    serial = leave_one_out(MACHINE, X, Y)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        assert_same(leave_one_out(MACHINE, X, Y, n_jobs=-1), serial)


def test_processes_give_the_serial_numbers_too(small_batches):
    serial = leave_one_out(MACHINE, X, Y, cv=10)
    with joblib.parallel_config(backend="loky"):
        spread = leave_one_out(MACHINE, X, Y, cv=10, n_jobs=2)
    assert_same(spread, serial)
