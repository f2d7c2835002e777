"""Machines with the kernel of Kwok (1999), their outputs, and both forms of the posterior variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.dual.solving import solve
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.probability.curvature import SHARPNESS
from bayes_svm.probability.eigensystem import Eigensystem
from bayes_svm.probability.kwok import KwokLink
from bayes_svm.probability.posterior import Posterior, posterior_of

# The smoothing that the paper leaves open: the package's, and one so sharp that more changes nothing.
SHARP = 100.0
SMOOTHINGS = (SHARPNESS, 10.0, 30.0, SHARP, 1000.0)


@dataclass(frozen=True)
class Outputs:
    """MAP outputs and variances at some points, one column per problem."""

    values: np.ndarray
    spanned: np.ndarray  # equation 15: the part in the span of the data
    full: np.ndarray  # and the prior's part outside it
    n_active: np.ndarray  # points that make up each posterior

    @property
    def variances(self) -> dict[str, np.ndarray]:
        return {"eq. 15": self.spanned, "full": self.full}


def machine_and_solutions(
    X: Any, y: np.ndarray, degree: float, C: float
) -> tuple[Machine, list[DualSolution]]:
    """One machine for class numbers ``y``, one problem per class if there are more than two."""
    kernel = Kernel("poly", gamma=1.0, degree=degree, coef0=1.0)
    weight = np.ones(X.shape[0])
    machine = Machine.build(X, y, np.unique(y), kernel, weight, np.full(X.shape[0], C))
    return machine, [solve(machine.problem(k)) for k in range(machine.n_problems)]


def outputs(
    machine: Machine,
    solutions: list[DualSolution],
    C: float,
    X: Any,
    sharpness: float = SHARPNESS,
) -> Outputs:
    """Outputs and variances at points, for one smoothing."""
    kernel, diagonal = machine.kernel, machine.kernel.diagonal(X)
    columns = []
    for solution in solutions:
        used = np.flatnonzero(solution.row_beta)
        values = kernel(X, machine.X[used]) @ solution.row_beta[used] + solution.intercept
        posterior = posterior_of(machine, solution, C, sharpness=sharpness)
        gram, cross = kernel(posterior.rows, posterior.rows), kernel(X, posterior.rows)
        columns.append((values, *variances(posterior, gram, diagonal, cross), len(posterior.points)))
    return Outputs(*(np.stack(part, axis=-1) for part in zip(*columns, strict=True)))


def variances(
    posterior: Posterior, gram: np.ndarray, diagonal: np.ndarray, cross: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Equation 15 and the full variance, given the kernel values of the posterior's points."""
    system = Eigensystem.of(gram, posterior.curvature, posterior.lam)
    return system.variance(diagonal, cross, spanned_only=True), system.variance(diagonal, cross)


def moderated(values: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Log-odds of Kwok's equations 10 and 11."""
    return KwokLink().log_odds(values, variance)
