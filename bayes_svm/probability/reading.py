"""What links need of the posterior: at training rows that are left out, and at new points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.leave_one_out.cases import halves
from bayes_svm.leave_one_out.leaving import Leaving
from bayes_svm.probability.left_out_posterior import information_across, left_out_variance
from bayes_svm.probability.link import Needs
from bayes_svm.probability.links import kind_of
from bayes_svm.probability.merging import merged
from bayes_svm.probability.posterior import Posterior
from bayes_svm.utils.types import Array, Indices

__all__ = ["READERS", "Reader", "reader_of", "variance_at"]

# Points of the posterior from which the information is computed: enough where only the order of magnitude
# matters.
SKETCH = 64


class Reader(NamedTuple):
    """How to read one quantity, the variance or the information, off the posterior.

    Parameters
    ----------
    left_out : callable
        Takes the machine, one of its solutions, the posterior there, what leaves together, and the group
        numbers of the rows or None. Returns the posterior to read at new points, and the quantity at each
        training row with the row left out. Returns None if the kernel is not positive semi-definite.
    at : callable
        Takes that posterior, new points and their ``k(x, x)``. Returns the quantity at these points.
    """

    left_out: Callable[
        [Machine, DualSolution, Posterior, Leaving, Indices | None], tuple[Posterior, Array] | None
    ]
    at: Callable[[Posterior, Any, Array | None], Array]


def _variance(
    machine: Machine, solution: DualSolution, posterior: Posterior, leaving: Leaving, groups: Indices | None
) -> tuple[Posterior, Array] | None:
    """Posterior variance at each row, left out together with the rest of its case."""
    found = left_out_variance(
        machine, solution.problem, posterior, leaving.case, leaving.part_row, leaving.removed
    )
    return posterior, _of_rows(machine, leaving, found, lambda X: posterior.variance(X))


def _information(
    machine: Machine, solution: DualSolution, posterior: Posterior, leaving: Leaving, groups: Indices | None
) -> tuple[Posterior, Array] | None:
    """Information about each row under the posterior of the half of the data that it is not in."""
    if not posterior.definite:
        return None
    away = halves(machine, groups)
    found = information_across(
        machine,
        solution.problem,
        posterior,
        half=away.case,
        row=away.part_row,
        counted=away.removed,
        max_rows=SKETCH,
    )
    if found is None:
        return None
    sketch = merged(posterior.sketch(machine, solution.problem.gram, SKETCH), machine, solution)
    return sketch, _of_rows(machine, away, found, lambda X: sketch.information(X))


def _of_rows(machine: Machine, away: Leaving, found: Array, at: Callable[[Any], Array]) -> Array:
    """Values of the rows from those of the parts; a row that is in no part is read like a new point."""
    absent, whole = np.flatnonzero(away.kind < 0), np.zeros(len(machine.y))
    if len(absent):
        whole[absent] = at(machine.X[absent])
    return away.row_means(found, whole)


def variance_at(posterior: Posterior, X: Any, diagonal: Array | None) -> Array:
    """Posterior variance at new points, given ``k(x, x)``."""
    return posterior.variance(X, diagonal)


def information_at(posterior: Posterior, X: Any, diagonal: Array | None) -> Array:
    """Information about new points, given ``k(x, x)``."""
    return posterior.information(X, diagonal)


# A fitted estimator keeps one of the second functions: skops stores functions of a module, but no methods.
READERS = {
    Needs.VARIANCE: Reader(_variance, variance_at),
    Needs.INFORMATION: Reader(_information, information_at),
}


def reader_of(link: Any, machine: Machine) -> Reader | None:
    """How to read what a link needs of the posterior.

    Parameters
    ----------
    link : str or estimator
        A name in :data:`bayes_svm.probability.links.LINKS`, or a scikit-learn calibrator.
    machine : Machine
        The training data; its kernel decides whether there is something to read.

    Returns
    -------
    Reader or None
        None if the link needs nothing, or needs the information and the kernel tells no distance from the
        data: a linear, a precomputed, or one that is not positive semi-definite.

    Raises
    ------
    ValueError
        If the link needs the posterior variance and the kernel is precomputed.
    """
    needs, kernel = kind_of(link).needs, machine.kernel
    if needs is Needs.VARIANCE and kernel.precomputed:
        raise ValueError(
            f"link={link!r} needs k(x, x) of new points, which a precomputed kernel does not hold: "
            "use link='sigmoid', or a callable kernel."
        )
    # Along a ray the standard deviation of a linear machine's decision value grows as the value itself.
    tells_distance = machine.convex and kernel.tells_distance
    return None if needs is Needs.INFORMATION and not tells_distance else READERS.get(needs)
