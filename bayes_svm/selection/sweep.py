"""Try settings: all of a grid, or those that an optimiser asks for."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np
from joblib import delayed
from scipy.optimize import minimize

from bayes_svm.selection.criteria import CRITERIA
from bayes_svm.selection.parameter_space import Space
from bayes_svm.selection.same_kernel import try_one, try_same_kernel
from bayes_svm.selection.trials import (
    Data,
    Parameters,
    Trial,
    by_kernel,
    class_similarity_of,
    prefix_of,
    tell,
)
from bayes_svm.utils.parallel import run_each
from bayes_svm.utils.progress import step
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array

__all__ = ["over_grid", "over_space"]


def over_grid(
    estimator: Any,
    settings: list[Parameters],
    data: Data,
    criterion: str,
    prefilter: float | None,
    n_jobs: int | None,
    verbose: int,
) -> list[Trial]:
    """One trial for each setting, in their order.

    Parameters
    ----------
    estimator : BayesSVC or Pipeline
        The estimator that gets the settings.
    settings : list of dict
        The settings of a grid.
    data : Data
        What the settings are fitted to.
    criterion : str
        Name of the criterion.
    prefilter : float or None
        Share of the kernels, those of least class similarity, that are tried; all for None. The others
        get the score -infinity.
    n_jobs : int or None
        Number of jobs of joblib over the kernels.
    verbose : int
        Whether each setting and its score are printed.

    Returns
    -------
    list of Trial
        The trials; of settings that are not tried, without a model.
    """
    groups = by_kernel(settings, f"{prefix_of(estimator)}C")
    trials = [Trial(setting, -np.inf, 0.0, None) for setting in settings]
    if prefilter is not None:
        similarity = [class_similarity_of(estimator, settings[group[0]], data) for group in groups]
        kept = np.argsort(similarity, kind="stable")[: math.ceil(prefilter * len(groups))]
        groups = [groups[k] for k in np.sort(kept)]
    calls = [
        delayed(try_same_kernel)(estimator, [settings[k] for k in group], data, criterion, bool(verbose))
        for group in groups
    ]
    # A trial limits only the fit of the BayesSVC. Here the steps before it are limited too.
    with one_blas_thread():
        parts = run_each(n_jobs, calls, "kernels")
    for group, part in zip(groups, parts, strict=True):
        for k, trial in zip(group, part, strict=True):
            trials[k] = trial
    return trials


class _EnoughError(Exception):
    """All evaluations are used up. SciPy's own limits do not stop a line search that is under way."""


def over_space(
    estimator: Any, space: Space, data: Data, criterion: str, max_evaluations: int, verbose: int
) -> list[Trial]:
    """Trials of the settings that an optimiser asks for, in the order in which it does.

    L-BFGS-B follows the gradient if the criterion has one; otherwise Nelder and Mead's method needs none.

    Parameters
    ----------
    estimator : BayesSVC or Pipeline
        The estimator that gets the settings.
    space : Space
        The space of the parameters.
    data : Data
        What the settings are fitted to.
    criterion : str
        Name of the criterion.
    max_evaluations : int
        Largest number of settings tried.
    verbose : int
        Whether each setting and its score are printed.

    Returns
    -------
    list of Trial
        The trials.
    """
    trials: list[Trial] = []

    def loss(point: Array) -> Any:
        """Minus the score, with its gradient if the criterion has one."""
        if len(trials) == max_evaluations:
            raise _EnoughError
        trial, gradient = try_one(estimator, space.parameters(point), data, criterion)
        trials.append(trial)
        at.advance(len(trials))
        if verbose:
            tell(trial, criterion)
        return -trial.score if gradient is None else (-trial.score, -space.gradient(gradient))

    climbs = CRITERIA[criterion].gradient is not None
    with suppress(_EnoughError), step("at most, settings", max_evaluations) as at:
        minimize(
            loss,
            space.start,
            jac=climbs,
            bounds=space.bounds,
            method="L-BFGS-B" if climbs else "Nelder-Mead",
            options={} if climbs else {"initial_simplex": space.simplex, "xatol": 0.05, "fatol": 1e-5},
        )
    return trials
