"""Settings fitted and scored one after the other, those that differ in C alone with one kernel matrix."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.classifiers.solution_reading import SolutionReader, SolutionReading
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.leave_one_out.cases import strata, strata_of_groups, what_leaves
from bayes_svm.leave_one_out.folds import group_numbers
from bayes_svm.probability.link import LinkData
from bayes_svm.probability.sigmoid import INSEPARABLE
from bayes_svm.selection.criteria import CRITERIA, Criterion
from bayes_svm.selection.trials import (
    Data,
    LeftOut,
    Parameters,
    Trial,
    fit_transformed,
    last_step,
    tell,
    transformed,
    with_setting,
)
from bayes_svm.utils.parallel import ahead_in_threads
from bayes_svm.utils.progress import counted
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array

__all__ = ["try_one", "try_same_kernel"]

# Number of fewer and larger strata, whose losses vary less from setting to setting.
FEW = 5


class _Started(NamedTuple):
    """A setting whose problems are solved one after the other.

    Parameters
    ----------
    whole : BayesSVC or Pipeline
        The estimator with the setting; the steps before the BayesSVC are fitted.
    model : BayesSVC
        The estimator itself, or its last step.
    X : array or sparse matrix of shape (n_samples, n_features)
        The training data as the model gets them.
    machine : Machine
        The same, with the kernel matrix.
    readers : list of SolutionReader
        What reads the solutions: with the rows that leave, and perhaps again with fewer and larger strata.
    """

    whole: Any
    model: BayesSVC
    X: Any
    machine: Machine
    readers: list[SolutionReader]


class _Solved(NamedTuple):
    """The solution of problem k of a setting, and the seconds that it took."""

    setting: _Started
    solution: DualSolution
    k: int
    seconds: float


def try_same_kernel(
    estimator: Any, settings: list[Parameters], data: Data, criterion: str, verbose: bool
) -> list[Trial]:
    """Trials of settings that share the kernel matrix; each solver starts at the solution before.

    A thread solves for the next C while others leave out the rows for the Cs before.
    """
    how = CRITERIA[criterion]
    trials: list[Trial] = []
    left_out: LeftOut | None = None
    found = ahead_in_threads(_read, _solved(estimator, settings, data, how))
    for setting in counted(settings, "values of C"):
        with one_blas_thread():
            started, readings, seconds = next(found)
            columns = [readings]
            for _ in range(started.machine.n_problems - 1):
                _, readings, more = next(found)
                columns.append(readings)
                seconds += more
            began = time.perf_counter()
            link_data, losses, score = _scored(started, columns, data, how)
        model, reader = started.model, started.readers[0]
        with np.errstate(divide="ignore"):
            logs = np.log(model.left_out_proba_)
        left_out = LeftOut.of(reader.leaving, link_data, started.machine, reader.groups is not None, left_out)
        seconds += time.perf_counter() - began
        trials.append(Trial(setting, score, seconds, started.whole, logs, losses, left_out))
        if verbose:
            tell(trials[-1], criterion)
    return trials


def _solved(estimator: Any, settings: list[Parameters], data: Data, how: Criterion) -> Iterator[_Solved]:
    """The solutions of all problems of all settings."""
    X, y, sample_weight, groups = data
    machine, before = None, None
    # The optimum before, and its C.
    starts: list[Array] | None = None
    C = 1.0
    for setting in settings:
        began = time.perf_counter()
        whole = with_setting(estimator, setting)
        model = last_step(whole)
        model._validate_params()
        if isinstance(whole, Pipeline) and len(whole.steps) > 1:
            if before is None:
                before = whole[:-1]
                X = fit_transformed(before, data)
            whole.steps[:-1] = before.steps
        with one_blas_thread():
            first = machine is None
            machine = model._machine(X, y, sample_weight, like=machine)
            if first and len(settings) > 1:
                machine = machine.for_many_problems()
            numbers = group_numbers(groups, len(machine.y))
            leaving = what_leaves(machine, model.leave_out, y, numbers)
            readers = [SolutionReader(model, machine, leaving, numbers)]
            if how.over_fewer_strata and model.leave_out == "strata" and leaving.times.sum() > FEW:
                fewer = strata(machine, FEW) if numbers is None else strata_of_groups(machine, numbers, FEW)
                readers.append(SolutionReader(model, machine, fewer, numbers))
        started, optima = _Started(whole, model, X, machine, readers), []
        for k in range(machine.n_problems):
            with one_blas_thread():
                # What is at its bound for one C mostly is for the next.
                solution = model._solve(machine, k, None if starts is None else starts[k] * (model.C / C))
            optima.append(solution.beta)
            yield _Solved(started, solution, k, time.perf_counter() - began)
            began = time.perf_counter()
        # Without an optimum the result would depend on where the solver starts.
        starts = optima if machine.convex else None
        C = model.C


def _read(solved: _Solved) -> tuple[_Started, list[SolutionReading], float]:
    """What each reader of the setting reads off the solution, and the seconds since it was begun."""
    began = time.perf_counter()
    readings = [reader.read(solved.solution, solved.k) for reader in solved.setting.readers]
    return solved.setting, readings, solved.seconds + time.perf_counter() - began


def _scored(
    started: _Started, columns: list[list[SolutionReading]], data: Data, how: Criterion
) -> tuple[LinkData, Array | None, float]:
    """Fit the model to what was read; what its links were fitted to, its losses, and its score."""
    model, machine = started.model, started.machine
    with warnings.catch_warnings():
        # Some settings of a grid are bad: the search warns if the best one is.
        warnings.filterwarnings("ignore", re.escape(INSEPARABLE))
        link_data = model._fit_to([readings[0] for readings in columns], started.readers[0])
    if model.verbose:
        model._report_fit()
    if how.losses is None:
        assert how.score is not None
        return link_data, None, how.score(model, started.X, data.y, data.sample_weight)
    losses = how.losses(model, machine.y)
    if len(started.readers) > 1:
        few = clone(model)
        few.class_weight_ = model.class_weight_
        # Nobody uses the link that is fitted here, so nobody needs its warnings.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            few._fit_to([readings[1] for readings in columns], started.readers[1])
        losses = (losses + how.losses(few, machine.y)) / 2.0
    return link_data, losses, -float(np.average(losses, weights=machine.weight))


def try_one(
    estimator: Any, setting: Parameters, data: Data, criterion: str
) -> tuple[Trial, Mapping[str, Any] | None]:
    """Trial of one setting, and the gradient of its score by logarithms, or None."""
    score_with_gradient = CRITERIA[criterion].gradient
    if score_with_gradient is None:
        [trial] = try_same_kernel(estimator, [setting], data, criterion, verbose=False)
        return trial, None
    started = time.perf_counter()
    whole = with_setting(estimator, setting)
    model = last_step(whole)
    X = transformed(whole, data)
    score, gradient = score_with_gradient(model, X, data.y, data.sample_weight)
    return Trial(setting, score, time.perf_counter() - started, None), gradient
