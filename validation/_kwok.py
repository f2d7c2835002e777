"""Machines with the kernel of Kwok (1999), and their outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution, solve
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.probability.kwok import KwokLink
from bayes_svm.probability.posterior import Posterior, posterior_of


def machine_and_solutions(
    X: Any, y: np.ndarray, degree: float, C: float
) -> tuple[Machine, list[DualSolution]]:
    """One machine for class numbers ``y``, one problem per class if there are more than two."""
    kernel = Kernel("poly", gamma=1.0, degree=degree, coef0=1.0)
    weight = np.ones(X.shape[0])
    machine = Machine.build(X, y, np.unique(y), kernel, weight, np.full(X.shape[0], C))
    return machine, [solve(machine.problem(k)) for k in range(machine.n_problems)]


def outputs(
    machine: Machine, solutions: list[DualSolution], C: float, X: Any, max_rows: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """MAP outputs and posterior variances at points, one column per problem."""
    values = np.empty((X.shape[0], len(solutions)))
    variance = np.empty_like(values)
    for k, solution in enumerate(solutions):
        beta = solution.row_beta
        used = np.flatnonzero(beta)
        for part, cross in machine.kernel.blocks(X, machine.X[used], used):
            values[part, k] = cross @ beta[used] + solution.intercept
        posterior: Posterior = posterior_of(machine, solution, C, max_rows=max_rows)
        variance[:, k] = posterior.variance(X)
    return values, variance


def moderated(values: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Log-odds of Kwok's equations 10 and 11."""
    return KwokLink().log_odds(values, variance)
