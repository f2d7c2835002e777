"""The machines without each case, kept to be read at points that come later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_svm.dual.solution import DualSolution
from bayes_svm.leave_one_out.leaving import Leaving
from bayes_svm.leave_one_out.methods import Finder, Wanted, removals_of, sections
from bayes_svm.leave_one_out.outcomes import Outcomes
from bayes_svm.utils.types import Array, Indices

__all__ = ["LeftOutMachines", "left_out_machines"]


@dataclass(frozen=True)
class LeftOutMachines:
    """Decision functions of the machines that are left without some cases.

    Parameters
    ----------
    values : array of shape (n_parts,)
        Left-out decision value of each part of what leaves.
    case : array of shape (n_parts,)
        The case of each part.
    sections : list of Outcomes
        The cases, some at a time, with their machines.
    """

    values: Array
    case: Indices
    sections: list[Outcomes]

    def values_at(self, cross: Array) -> Array:
        """Decision values at other points, shape (n_cases, n_at).

        Parameters
        ----------
        cross : array of shape (n_at, n_points)
            Kernel values between these points and those of the problem.
        """
        return np.vstack([section.values_at(cross) for section in self.sections])


def left_out_machines(solution: DualSolution, leaving: Leaving, wanted: Wanted) -> LeftOutMachines:
    """Leave out every case of a problem that every row is in, and keep the machines.

    Parameters
    ----------
    solution : DualSolution
        The solution of the problem.
    leaving : Leaving
        What leaves together; each row has a positive weight.
    wanted : Wanted
        How to leave out.

    Returns
    -------
    LeftOutMachines
        The machines.
    """
    removals, case, member = removals_of(solution.problem, leaving)
    finder, unknown = Finder(solution, wanted, remainders=True), np.zeros(removals.n_cases, dtype=bool)
    found = [finder.outcomes(removals.take(np.arange(first, last))) for first, last in sections(unknown)]
    values = np.concatenate([section.values for section in found])
    return LeftOutMachines(values[member], case, found)
