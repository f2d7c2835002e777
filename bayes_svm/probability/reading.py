"""What links read of the posterior: of training rows without themselves, and of new points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.leave_one_out.cases import Leaving, halves
from bayes_svm.probability.left_out_posterior import information_across, left_out_variance
from bayes_svm.probability.link import Needs
from bayes_svm.probability.links import kind_of
from bayes_svm.probability.posterior import Posterior, posterior_of
from bayes_svm.utils.types import Array, Indices

__all__ = ["READERS", "Reader", "reader_of"]

# Active points that a posterior keeps of which the information is read. 256 points are enough: only the
# order of magnitude matters.
SKETCH = 256


class Reader(NamedTuple):
    """How one quantity is read of the posterior.

    Parameters
    ----------
    left_out : callable
        From the machine, one of its solutions, C, what leaves together, and the numbers of the groups (or
        None): the posterior for new points, and the quantity of each training row without the row itself.
        None for a kernel that has no such posterior.
    at : callable
        From that posterior, new points and their ``k(x, x)``: their quantity.
    """

    left_out: Callable[
        [Machine, DualSolution, float, Leaving, Indices | None], tuple[Posterior, Array] | None
    ]
    at: Callable[[Posterior, Any, Array | None], Array]


def _variance(
    machine: Machine, solution: DualSolution, C: float, leaving: Leaving, groups: Indices | None
) -> tuple[Posterior, Array] | None:
    """Posterior variance of the rows without what leaves together with them."""
    posterior = posterior_of(machine, solution, C)
    found = left_out_variance(
        machine, solution.problem, posterior, leaving.case, leaving.part_row, leaving.removed
    )
    return posterior, _of_rows(machine, leaving, found, lambda X: posterior.variance(X))


def _information(
    machine: Machine, solution: DualSolution, C: float, leaving: Leaving, groups: Indices | None
) -> tuple[Posterior, Array] | None:
    """Information about the rows under the posterior of the half of the data that they are not in."""
    posterior = posterior_of(machine, solution, C, max_rows=SKETCH)
    if not posterior.definite:
        return None
    away = halves(machine, groups)
    found = information_across(
        machine, solution, C, half=away.case, row=away.part_row, counted=away.removed, max_rows=SKETCH
    )
    if found is None:
        return None
    return posterior, _of_rows(machine, away, found, lambda X: posterior.information(X))


def _of_rows(machine: Machine, away: Leaving, found: Array, at: Callable[[Any], Array]) -> Array:
    """What is read of each row, from what is read of the parts; a row of no part is a new point."""
    absent, whole = away.kind < 0, np.zeros(len(machine.y))
    whole[absent] = at(machine.X[absent])
    return away.row_means(found, whole)


READERS = {
    Needs.VARIANCE: Reader(_variance, Posterior.variance),
    Needs.INFORMATION: Reader(_information, Posterior.information),
}


def reader_of(link: Any, machine: Machine) -> Reader | None:
    """How to read what a link needs; None where it needs nothing, or there is nothing to read.

    Raises
    ------
    ValueError
        If the link needs the posterior variance, and the kernel is precomputed.
    """
    needs, kernel = kind_of(link).needs, machine.kernel
    if needs is Needs.VARIANCE and kernel.precomputed:
        raise ValueError(
            f"link={link!r} needs k(x, x) of new points, which a precomputed kernel does not hold: "
            "use link='sigmoid', or a callable kernel."
        )
    # The values of a linear machine are as uncertain as they are large, all along a ray.
    tells_distance = machine.convex and kernel.tells_distance
    return None if needs is Needs.INFORMATION and not tells_distance else READERS.get(needs)
