import re
import sys
import threading
import time

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.svm import SVC

from _data import noisy, three_classes
from _progress import Terminal, lines_of
from bayes_svm import (
    BayesSVC,
    BayesSVCSearch,
    ConformalSVC,
    MultivariateSVC,
    compare_estimators,
    leave_one_out,
)
from bayes_svm.utils import progress
from bayes_svm.utils.progress import counted, say, shown, step


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves when it is told."""

    class Clock:
        now = 100.0

    monkeypatch.setattr(progress.time, "monotonic", lambda: Clock.now)
    return Clock


@pytest.fixture
def eager(monkeypatch):
    """Return a function that returns a terminal, on which progress is then shown at once."""

    def make():
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "ON_TERMINAL", 0.001)
    return make


def wait_for(text, stream):
    for _ in range(10_000):
        if text in stream.getvalue():
            return
        time.sleep(0.001)
    raise AssertionError(f"{text!r} is not in {stream.getvalue()!r}")


def line():
    return progress._line(progress._here.steps, 7.0)


def test_the_line_names_all_steps_and_the_rest_of_the_outermost_that_knows_it(clock):
    with shown(True), step("fitting"):
        assert line() == "fitting (7 s so far)"
        with step("settings", 4) as outer:
            assert line() == "fitting: settings 0 of 4 (7 s so far)"
            with step("rows", 5000) as inner:
                clock.now += 10.0
                inner.advance(1250)
                wanted = "|#####---------------| fitting: settings 0 of 4: rows 1,250 of 5,000 (30 s left)"
                assert line() == wanted
            clock.now += 10.0
            outer.advance(1)
            assert line() == "|#####---------------| fitting: settings 1 of 4 (60 s left)"
            with step("rows", 5000) as inner:
                inner.advance(1250)
                assert "settings 1 of 4 (60 s left): rows 1,250 of 5,000" in line()


def test_the_rest_shrinks_while_a_thing_is_under_way_but_is_never_less_than_the_things_to_come(clock):
    with shown(True), step("rows", 3) as at:
        clock.now += 10.0
        at.advance(1)
        assert "(20 s left)" in line()
        clock.now += 5.0
        assert "(15 s left)" in line()
        clock.now += 50.0
        assert "(10 s left)" in line()


def test_things_that_are_skipped_say_nothing_about_the_time(clock):
    with shown(True), step("rows", 4) as at:
        at.advance(2, skipped=True)
        assert "left" not in line()
        clock.now += 10.0
        at.advance(3)
        assert "rows 3 of 4 (10 s left)" in line()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (99.4, "99 s"), (100, "2 min"), (5000, "83 min"), (9000, "2.5 h")]
)
def test_durations(seconds, text):
    assert progress._duration(seconds) == text


def test_a_number_without_a_total_and_a_single_thing():
    with shown(True), step("planes") as planes:
        planes.advance(12)
        assert line() == "planes 12 (7 s so far)"
        for _ in counted(["only"], "problems"):
            assert line() == "planes 12 (7 s so far)"


def test_the_line_is_written_on_a_terminal_and_removed(eager):
    terminal = eager()
    with shown(True):
        with step("first"):
            wait_for("\rfirst (", terminal)
        with step("second"):
            wait_for("\rsecond (", terminal)
    written = terminal.getvalue()
    assert "\n" not in written
    *_, last, after = written.split("\r")
    assert last.strip() == after == ""


def test_a_line_is_as_long_as_the_terminal_at_most(eager):
    terminal = eager()
    with shown(True), step("x" * 500):
        wait_for("\rxxx", terminal)
    assert max(map(len, terminal.getvalue().split("\r"))) <= 79


def test_elsewhere_whole_lines_are_written(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "IN_FILE", 0.001)
    seen = ""
    with shown(True), step("first"):
        while seen.count("\n") < 2:
            seen += capsys.readouterr().err
    assert re.fullmatch(r"(first \(1 s so far\)\n)+", seen)


def test_what_is_said_in_between_has_its_own_line(eager):
    terminal = eager()
    say("a setting")
    assert terminal.getvalue() == "\r" + "a setting".ljust(79) + "\n"


@pytest.mark.parametrize("wanted", [True, False])
def test_short_runs_and_runs_that_are_not_shown_write_nothing(wanted, capsys):
    threads = threading.active_count()
    with shown(wanted), step("short"):
        assert threading.active_count() == threads + wanted
    assert threading.active_count() == threads
    assert capsys.readouterr().err == ""


def test_nobody_reading_does_not_end_the_run(eager):
    terminal = eager()
    terminal.close()
    with shown(True), step("on"):
        time.sleep(0.01)
    assert progress._here.steps is None


def test_the_outermost_shows_all_and_the_next_run_starts_anew():
    with shown(True), step("outer"):
        with shown(True), step("inner"):
            assert line() == "outer: inner (7 s so far)"
        assert line() == "outer (7 s so far)"
    assert progress._here.steps is None
    with pytest.raises(KeyboardInterrupt), shown(True), step("stopped"):
        raise KeyboardInterrupt
    assert progress._here.steps is None


def test_other_threads_show_nothing():
    def work():
        with step("elsewhere"):
            found.append(progress._here.steps)

    found = []
    with shown(True):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert found == [None]
        assert progress._here.steps == []


X, Y = noisy(n=120)
RUNS = {
    "BayesSVC": (lambda v: BayesSVC(verbose=v).fit(X, Y), "leaving out"),
    "several classes": (lambda v: BayesSVC(verbose=v).fit(*three_classes()), "problems 2 of 3"),
    "search": (
        lambda v: BayesSVCSearch(BayesSVC(), GRID, verbose=v).fit(X, Y),
        "kernels 1 of 2.*values of C",
    ),
    "space": (lambda v: in_a_space(v).fit(X, Y), "at most, settings 2 of 3"),
    "ConformalSVC": (lambda v: ConformalSVC(SVC(gamma=0.5), verbose=v).fit(X, Y), "leaving out"),
    "p-values": (lambda v: conformal().set_params(verbose=v).p_values(X), "comparing new points 120 of 120"),
    "MultivariateSVC": (lambda v: MultivariateSVC(verbose=v).fit(X, Y), "cutting planes 2"),
    "folds": (lambda v: MultivariateSVC(cv=3, verbose=v).fit(X, Y), "folds left out 1 of 3"),
    "comparison": (lambda v: compared(v), "methods 1 of 2.*splits 9 of 10"),
    "leave_one_out": (lambda v: leave_one_out(SVC(), X, Y, verbose=v), "leaving out 120 of 120|leaving out"),
}
GRID = {"gamma": [0.1, 1.0], "C": [0.5, 1.0]}


def in_a_space(verbose):
    return BayesSVCSearch(BayesSVC(), param_space={"C": (0.1, 10.0)}, max_evaluations=3, verbose=verbose)


def compared(verbose):
    return compare_estimators(SVC(), X, Y, methods=["training", "k_fold"], verbose=verbose)


def conformal():
    return ConformalSVC(SVC(gamma=0.5)).fit(X, Y)


@pytest.mark.parametrize("name", RUNS)
def test_every_run_says_what_it_does_if_asked(name, monkeypatch):
    run, pattern = RUNS[name]
    lines = lines_of(monkeypatch)
    run(0)
    assert lines == []
    run(1)
    assert any(re.search(pattern, line) for line in lines), lines


@pytest.mark.parametrize("estimator", [BayesSVC(), MultivariateSVC(), BayesSVCSearch(BayesSVC(), GRID)])
def test_verbose_is_a_parameter_that_changes_no_bit(estimator):
    assert estimator.get_params()["verbose"] == 0
    loud = clone(clone(estimator).set_params(verbose=1))
    assert loud.verbose == 1
    assert loud.fit(X, Y).predict(X).tobytes() == estimator.fit(X, Y).predict(X).tobytes()
    if hasattr(loud, "left_out_proba_"):
        assert loud.left_out_proba_.tobytes() == estimator.left_out_proba_.tobytes()
    with pytest.raises(ValueError, match=r"The 'verbose' parameter of \w+ must be"):
        loud.set_params(verbose="much").fit(X, Y)


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_of_a_search_in_parallel_the_parent_shows_what_it_knows(backend, monkeypatch):
    lines = lines_of(monkeypatch)
    with parallel_config(backend, n_jobs=2):
        found = BayesSVCSearch(BayesSVC(), GRID, n_jobs=2, verbose=1).fit(X, Y)
    assert any("kernels 1 of 2" in line for line in lines)
    alone = BayesSVCSearch(BayesSVC(), GRID).fit(X, Y)
    np.testing.assert_array_equal(found.left_out_proba_, alone.left_out_proba_)
