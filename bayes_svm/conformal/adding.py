"""The exact machine with one more training point, for many points and labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from bayes_svm._core.grow import grow_each
from bayes_svm._core.matrix import add_sparse_product
from bayes_svm._core.records import DEPENDENT, DONE, Base, BaseState, Ends, Guests, Moves, Room
from bayes_svm.dual.problem import DualProblem
from bayes_svm.dual.solution import DualSolution
from bayes_svm.dual.solving import solve
from bayes_svm.dual.tableau_path import blank_state, scratch
from bayes_svm.kernels.gram import FEWER_POINTS, WholeMatrix
from bayes_svm.leave_one_out.path import CAPACITY, MAX_EVENTS, MAX_PASSES, Paths
from bayes_svm.leave_one_out.retrain import TIGHT
from bayes_svm.leave_one_out.start import SharedTableau
from bayes_svm.leave_one_out.verify import PRECISE, optimal_ends
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.types import Array, Indices

__all__ = ["Adder", "Machines", "NewPoints"]

# Rows of a kernel matrix that are copied together.
COPIED = 256


@dataclass(frozen=True)
class NewPoints:
    """New points, and the labels that each is tried with.

    Parameters
    ----------
    cross : array of shape (n_new, n_points)
        Kernel values with the points of the problem.
    diagonal : array of shape (n_new,)
        Kernel value of each with itself.
    which : array of shape (n_pairs,)
        The new point of each pair.
    label : array of shape (n_pairs,)
        Its label, -1 or 1.
    bound : array of shape (n_pairs,)
        Upper bound of its alpha.
    """

    cross: Array
    diagonal: Array
    which: Indices
    label: Array
    bound: Array


@dataclass(frozen=True)
class Machines:
    """Machines with one more point, one for each pair of a new point and its label.

    Parameters
    ----------
    beta : array of shape (n_pairs, n_points + 1)
        Signed coefficients; that of the new point is last.
    values : array of shape (n_pairs, n_points + 1)
        Decision values of all points; that of the new point is last.
    status : array of str of shape (n_pairs,)
        How the machine was obtained: "unchanged", "path", "re-trained", "unstable" or "inexact", as in
        :class:`bayes_svm.LeaveOneOut`.
    """

    beta: Array
    values: Array
    status: NDArray[np.str_]


class Adder:
    """Adds points to an exact solution, one at a time.

    The coefficient of the new point grows from 0 while all others stay optimal: leaving out, backwards.
    All paths share the factors and the tableau of the solution. The end of each path is verified on all
    points.

    Parameters
    ----------
    solution : DualSolution
        The solution without the new points.
    """

    def __init__(self, solution: DualSolution) -> None:
        self.solution, self.problem = solution, solution.problem
        self.followed = solution.exact and solution.tie_break > 0
        self._paths = Paths(solution, sign_only=False, remainders=False)
        self._free_seats: list[_Seats] = []

    @cached_property
    def _shared(self) -> SharedTableau:
        """The tableau of all paths; it is extended by the points that some path lacks."""
        return self._paths.shared

    @cached_property
    def _free_rows(self) -> Array:
        """Kernel values between the free points and all points."""
        free, n = self._paths.origin.system.free, len(self.problem.label)
        require_bytes(8 * len(free) * n, f"Kernel values of {len(free)} free points", FEWER_POINTS)
        return self.problem.gram.rows(free)

    def add(self, new: NewPoints) -> Machines:
        """The exact machine for each pair.

        Parameters
        ----------
        new : NewPoints
            The new points and their labels.

        Returns
        -------
        Machines
            The machines.
        """
        pairs, n = len(new.which), len(self.problem.label)
        # Not a number where no path is followed: nothing starts from there.
        beta, values = (np.full((pairs, n + 1), np.nan) for _ in range(2))
        found = Machines(beta, values, np.full(pairs, "", dtype="<U10"))
        if self.followed:
            self._follow_all(new, found)
        for pair in np.flatnonzero(found.status == ""):
            self._retrain(new, int(pair), found)
        return found

    def _follow_all(self, new: NewPoints, found: Machines) -> None:
        """Write the pairs whose path ends at the optimum."""
        origin, label = self._paths.origin, new.label
        values = new.cross @ origin.exact_beta + origin.intercept
        ahead = label * values[new.which]
        found.beta[:, :-1], found.beta[:, -1] = origin.exact_beta, 0.0
        found.values[:, :-1] = self.problem.label + origin.exact_residual
        found.values[:, -1] = values[new.which]
        beyond = ahead >= 1.0 - PRECISE * origin.scale
        if self.solution.n_free:
            found.status[beyond] = "unchanged"
        else:
            # The new point narrows the interval of optimal intercepts.
            self._verify(new, np.flatnonzero(beyond), found)
        pairs = np.flatnonzero(~beyond)
        for _ in range(MAX_PASSES):
            if len(pairs) == 0:
                return
            shared = self._follow(new, pairs, found)
            self._verify(new, pairs, found)
            pairs = pairs[found.status[pairs] == ""]
            lacked = self._lacked(shared, pairs, found)
            if len(lacked) == 0:
                return
            # Kept for other points, which mostly lack the same.
            self._shared = shared.extended(origin, lacked)

    def _follow(self, new: NewPoints, pairs: Indices, found: Machines) -> SharedTableau:
        """Follow the paths of some pairs, and write where they end. Returns their tableau."""
        origin, seats = self._paths.origin, self._seats()
        rows, n_free = seats.shared.tableau.rows, seats.shared.tableau.n_free
        points, which = np.unique(new.which[pairs], return_inverse=True)
        cross, label = new.cross[points], new.label[pairs]
        perturbed = cross @ origin.beta + origin.perturbed_intercept
        before = cross @ origin.exact_beta + origin.intercept
        others = rows[n_free:]
        to_free, to_others = np.ascontiguousarray(cross[:, rows[:n_free]].T), cross[:, others]
        columns = seats.shared.tableau.columns_of(origin.system, to_free, to_others, seats.between)
        guests = Guests(
            rows=columns,
            # What the new point moves itself by: its kernel value, less what the free points give way.
            curvature=new.diagonal[points]
            + columns[:, -1]
            + np.einsum("ij,ji->i", columns[:, :n_free], to_free),
            flat=DEPENDENT * (new.diagonal[points] + origin.system.shift),
            which=which,
            label=label,
            bound=new.bound[pairs],
            drift=label * (1.0 + origin.tie_break) - perturbed[which],
            residual=before[which] - label,
        )
        ends = seats.grown(guests)
        self._free_seats.append(seats)
        # The change of every coefficient, and what it does to the decision values of all points.
        change, grown = ends.changes[:, :-1], ends.changes[:, -1:]
        moved = change[:, :n_free] @ self._free_rows
        inside = n_free + np.flatnonzero(change[:, n_free:].any(axis=0))
        between = self.problem.gram.rows(rows[inside])
        add_sparse_product(moved, np.ascontiguousarray(change[:, inside]), between)
        moved += grown * cross[which] + ends.intercepts[:, None]
        own = np.einsum("pi,pi->p", change, cross[which][:, rows]) + ends.intercepts
        own += grown[:, 0] * new.diagonal[points][which]
        ended = np.isfinite(ends.intercepts) & (ends.outcomes == DONE)
        exact = self.problem.label + origin.exact_residual
        found.values[pairs, :-1] = np.where(ended[:, None], exact + moved, np.nan)
        found.values[pairs, -1] = before[which] + own
        beta = np.tile(origin.exact_beta, (len(pairs), 1))
        beta[:, rows] += change
        found.beta[pairs, :-1], found.beta[pairs, -1] = beta, grown[:, 0]
        return seats.shared

    def _seats(self) -> _Seats:
        """Seats on the shared tableau that no other thread uses."""
        while self._free_seats:
            try:
                seats = self._free_seats.pop()
            except IndexError:
                break
            if seats.shared is self._shared:
                return seats
        return _Seats(self._shared, self.problem)

    def __getstate__(self) -> DualSolution:
        """The solution is all that is pickled; the rest follows from it."""
        return self.solution

    def __setstate__(self, solution: DualSolution) -> None:
        Adder.__init__(self, solution)

    def _verify(self, new: NewPoints, pairs: Indices, found: Machines) -> None:
        """Write the status of the pairs whose machine is optimal on all points."""
        origin = self._paths.origin
        for label in (1.0, -1.0):
            some = pairs[new.label[pairs] == label]
            beta, values = found.beta[some], found.values[some]
            bounds = np.tile(np.append(self.problem.bound, 0.0), (len(some), 1))
            bounds[:, -1] = new.bound[some]
            labels = np.append(self.problem.label, label)
            optimal, loose, _, _ = optimal_ends(origin, beta, values, labels, bounds)
            found.values[some] = values
            found.status[some[optimal]] = np.where(loose[optimal], "unstable", "path")

    def _lacked(self, shared: SharedTableau, pairs: Indices, found: Machines) -> Indices:
        """Points outside the tableau that changed sides in some of these pairs."""
        origin, outside = self._paths.origin, shared.outside
        after = found.values[np.ix_(pairs, outside)] - self.problem.label[outside]
        wrong = after * np.sign(origin.exact_residual[outside]) < -PRECISE * origin.scale
        return np.asarray(outside[wrong.any(axis=0)])

    def _retrain(self, new: NewPoints, pair: int, found: Machines) -> None:
        """Solve the problem with the new point on its own."""
        ended = np.isfinite(found.values[pair]).all()
        solution = self.solved(new, pair, found.beta[pair] if ended else np.append(self.solution.beta, 0.0))
        order = self._order
        found.beta[pair, order], found.values[pair, order] = solution.beta, solution.values
        status = "inexact" if not solution.exact else "re-trained" if solution.stable else "unstable"
        found.status[pair] = status

    @cached_property
    def _order(self) -> Indices:
        """Points with the new one, in the order of a problem: a null point is last."""
        n, n_null = len(self.problem.label), int(np.count_nonzero(self.problem.label == 0))
        return np.concatenate([np.arange(n - n_null), [n], np.arange(n - n_null, n)])

    def solved(self, new: NewPoints, pair: int, start: Array | None = None) -> DualSolution:
        """The solution with the new point of one pair, as a problem of its own.

        Parameters
        ----------
        new : NewPoints
            The new points and their labels.
        pair : int
            The pair.
        start : array of shape (n_points + 1,), optional
            Coefficients to start from, as in :class:`Machines`.

        Raises
        ------
        MemoryError
            If the kernel matrix does not fit.
        """
        problem, order, n = self.problem, self._order, len(self.problem.label)
        require_bytes(16 * (n + 1) ** 2, f"An exact SVM on {n + 1} points", FEWER_POINTS)
        gram = np.empty((n + 1, n + 1))
        for rows in gen_batches(n, COPIED):
            gram[rows, :n] = problem.gram.rows(np.arange(n)[rows])
        row = new.which[pair]
        gram[n, :n] = gram[:n, n] = new.cross[row]
        gram[n, n] = new.diagonal[row]
        bound = np.append(problem.bound, new.bound[pair])[order]
        larger = DualProblem(
            gram=WholeMatrix(gram if n in order[-1:] else gram[np.ix_(order, order)]),
            label=np.append(problem.label, new.label[pair])[order],
            bound=bound,
            group=np.arange(n + 1),
            row_bound=bound,
            convex=problem.convex,
        )
        return solve(larger, tol=TIGHT, start=None if start is None else start[order])


class _Seats:
    """The shared tableau with a row for a guest, and memory for one path at a time: one for each thread."""

    def __init__(self, shared: SharedTableau, problem: DualProblem) -> None:
        base, start, m = shared.base, shared.base_state, len(shared.tableau.rows) + 1
        require_bytes(8 * (m + 1) ** 2, f"A tableau of {m} points", "Fit on fewer points, or lower C.")
        W = np.empty((m + 1, m + 1))
        W[: m - 1, : m - 1], W[: m - 1, m] = base.W[: m - 1, : m - 1], base.W[: m - 1, m - 1]
        W[m, : m - 1], W[m, m] = base.W[m - 1, : m - 1], base.W[m - 1, m - 1]
        self.shared, self.m = shared, m
        rows, n_free = shared.tableau.rows, shared.tableau.n_free
        # Kernel values between the free points and the other rows.
        self.between = problem.gram.block(rows[:n_free], rows[n_free:])
        self.base = Base(
            W=W,
            is_in=np.append(base.is_in, False),
            lower=np.append(base.lower, 0.0),
            upper=np.append(base.upper, 0.0),
            flat=np.append(base.flat, 0.0),
        )
        self.start = BaseState(
            position=np.append(start.position, 0.0),
            low=np.append(start.low, 0.0),
            high=np.append(start.high, 0.0),
            at_upper=np.append(start.at_upper, False),
            exact_beta=np.append(start.exact_beta, 0.0),
            exact_residual=np.append(start.exact_residual, 0.0),
        )
        self.state, self.scratch = blank_state(m, CAPACITY), scratch(m, CAPACITY)
        self.room, self.still = Room(np.zeros(m + 1), np.zeros(m), np.zeros(m + 1)), _still(m)

    def grown(self, guests: Guests) -> Ends:
        """Where the paths end."""
        n_paths = guests.n_paths
        ends = Ends(
            changes=np.zeros((n_paths, self.m)),
            intercepts=np.zeros(n_paths),
            times=np.zeros(n_paths),
            events=np.zeros(n_paths, dtype=np.int64),
            outcomes=np.zeros(n_paths, dtype=np.int64),
            kkt=np.zeros(n_paths),
        )
        grow_each(
            self.base, guests, self.start, MAX_EVENTS, self.state, self.scratch, self.room, self.still, ends
        )
        return ends


def _still(m: int) -> Moves:
    """One path along which nothing leaves."""
    none, nothing = np.empty(0, dtype=np.int64), np.empty(0)
    never = np.empty(0, dtype=bool)
    return Moves(
        start=np.zeros(2, dtype=np.int64),
        rows=none,
        change=nothing,
        exact_change=nothing,
        keeps=never,
        stays=never,
        bound=nothing,
        directions=np.zeros((1, m + 1)),
        watched=np.full(1, -1),
        signs=np.zeros(1),
        steepest=np.zeros(1),
    )
