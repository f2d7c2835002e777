"""Ctrl-C ends a long run within seconds, and leaves nothing half done."""

import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

# A generous bound, for slow machines.
SECONDS = 20

BEGINNING = """
import os, signal, sys, threading, time
import numpy as np
from threadpoolctl import threadpool_info
from bayes_svm import BayesSVC, BayesSVCSearch, ConformalSVC, MultivariateSVC, leave_one_out
from bayes_svm.utils.progress import step
from sklearn.svm import SVC

def data(n, p=10):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, p))
    return X, (X[:, 0] * X[:, 1] + random.normal(size=n) > 0).astype(int)

def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

def run(call, estimator):
    before, attributes, threads = blas_threads(), dict(vars(estimator)), threading.active_count()
    # What is imported and compiled at first is not what takes the time.
    threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.perf_counter()
    try:
        call()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(time.perf_counter() - began)
    # A thread that is at work ends soon.
    while threading.active_count() > threads or blas_threads() != before:
        time.sleep(0.01)
    assert vars(estimator) == attributes, vars(estimator).keys() ^ attributes.keys()
"""

RUNS = {
    "fit": """
        X, y = data(60_000)
        model = BayesSVC(C=10.0)
        run(lambda: model.fit(X, y), model)
    """,
    "fit again": """
        model = BayesSVC().fit(*data(100))
        X, y = data(60_000)
        run(lambda: model.fit(X, y), model)
    """,
    "threads": """
        X, y = data(12_000)
        model = BayesSVC(C=10.0, leave_out="rows", leave_out_size=None, n_jobs=2)
        run(lambda: model.fit(X, y), model)
    """,
    "certified": """
        X, y = data(8_000)
        model = SVC()
        run(lambda: leave_one_out(model, X, y, method="certified", n_jobs=2), model)
    """,
    "search": """
        X, y = data(4_000)
        search = BayesSVCSearch(BayesSVC(), {{"gamma": np.logspace(-3, 1, 30), "C": np.logspace(-2, 3, 20)}})
        run(lambda: search.fit(X, y), search)
    """,
    "conformal": """
        X, y = data(60_000)
        model = ConformalSVC(SVC(gamma=0.1, C=10.0))
        run(lambda: model.fit(X, y), model)
    """,
    "planes": """
        X, y = data(4_000)
        model = MultivariateSVC(kernel="rbf", C=1000.0, tol=1e-9, warm_start=True, max_iter=10**6, verbose=1)
        run(lambda: model.fit(X, y), model)
    """,
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT between processes")
@pytest.mark.parametrize("name", RUNS)
def test_a_long_run_ends_soon_and_the_estimator_is_as_it_was(name):
    # Where most of the time goes to the paths, these shall have begun.
    delay = 4 if name == "threads" else 1
    code = BEGINNING.format(delay=delay) + textwrap.dedent(RUNS[name].format())
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=delay + 5 * SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    said, seconds = done.stdout.split()
    assert said == "interrupted"
    assert float(seconds) < delay + SECONDS


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT between processes")
@pytest.mark.parametrize("command", ["report", "loo"])
def test_the_command_ends_with_one_line(command, tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 8))
    kind = np.where(X[:, 0] * X[:, 1] + random.normal(size=len(X)) > 0, "a", "b")
    rows = [f"{','.join(map(str, row))},{label}" for row, label in zip(X.round(4), kind, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["a,b,c,d,e,f,g,h,kind", *rows]))
    code = "import sys; from bayes_svm.report import main; sys.exit(main(sys.argv[1:]))"
    began = [sys.executable, "-c", code, command, "data.csv", "--target", "kind", "--C", "30"]
    with subprocess.Popen(began, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(4)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert out == b""
    assert err.startswith(b"bayes-svm: interrupted")
    assert err.count(b"\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) in (
        ["data.csv"],
        ["bayes-svm-loo.csv.partial", "data.csv"],
    )
