"""The linear system of the points that have changed sides since the tableau was made.

Their new inputs solve a system as large as their list; the rates of all positions are a combination of as
many rows of the tableau. See ``docs/explanation/leave_one_out.md``.
"""

import cython

if not cython.compiled:
    from bayes_svm._core.records import DEPENDENT


def factorise(A, pivots, size):
    """LU factors of ``A[:size, :size]`` in place, with partial pivoting; False if singular."""
    for k in range(size):
        # The largest entry left in the column becomes the pivot.
        best, chosen = 0.0, k
        for i in range(k, size):
            if abs(A[i][k]) > best:
                best, chosen = abs(A[i][k]), i
        if best == 0.0:
            return False
        pivots[k] = chosen
        if chosen != k:
            for j in range(size):
                A[k][j], A[chosen][j] = A[chosen][j], A[k][j]
        # Eliminate the column from the rows below, and keep the factors in its place.
        pivot_row = A[k]
        for i in range(k + 1, size):
            row = A[i]
            row[k] /= pivot_row[k]
            factor = row[k]
            if factor != 0.0:
                for j in range(k + 1, size):
                    row[j] -= factor * pivot_row[j]
    return True


def solve_factorised(A, pivots, x, size):
    """Overwrite ``x[:size]`` with the solution of the factorised system."""
    # The row exchanges come first, then the lower factor from the top, then the upper one from the bottom.
    for k in range(size):
        x[k], x[pivots[k]] = x[pivots[k]], x[k]
    for i in range(size):
        row = A[i]
        for k in range(i):
            x[i] -= row[k] * x[k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            x[k] -= A[k][j] * x[j]
        x[k] /= A[k][k]


def _append_factor(base, changed, n, A, pivots, lost):
    """Extend the factors of the first ``n`` changed points by the next one; False if its pivot is lost.

    The map is symmetric, except that entries between a point that was in and one that was out have opposite
    signs. A row of factors therefore gives the column.
    """
    own, was_in = changed[n], base.is_in[changed[n]]
    new, row = A[n], base.W[own]
    for c in range(n):
        new[c] = row[changed[c]] if base.is_in[changed[c]] == was_in else -row[changed[c]]
    # Eliminate the new row by the earlier points, and mirror what is left into the new column.
    pivot = row[own]
    for k in range(n):
        earlier = A[k]
        rest = new[k]
        factor = rest / earlier[k]
        for c in range(k + 1, n):
            new[c] -= factor * earlier[c]
        new[k] = factor
        earlier[n] = rest if base.is_in[changed[k]] == was_in else -rest
        pivot -= factor * earlier[n]
    new[n], pivots[n] = pivot, n
    # The pivot of a point that was out has the size of k(x, x), that of a point that was in of its inverse.
    size = base.flat[own] / DEPENDENT
    return abs(pivot) > lost * (1.0 / size if was_in else size)


def _next_factor(base, changed, n, n_changed, A, pivots, lost):
    """Extend the factors of the first ``n`` changed points by one of the others; False if none will do."""
    for k in range(n, n_changed):
        changed[n], changed[k] = changed[k], changed[n]
        if _append_factor(base, changed, n, A, pivots, lost):
            return True
    return False


def factorise_changed(base, changed, n_changed, lost, scratch):
    """LU factors of the map from inputs to positions of the changed points; False if singular.

    From one event to the next the list of points grows or shrinks by one. The factors of what is the same
    at its head are kept. The points may be put in another order. Nothing is divided by a pivot below the
    share ``lost`` of its usual size.
    """
    A, pivots, factored = scratch.A, scratch.pivots, scratch.factored
    assert 0 <= n_changed <= scratch.capacity
    # Skip the points whose factors are there already.
    n = 0
    while n < n_changed and factored[n] == changed[n]:
        n += 1
    while n < n_changed and _next_factor(base, changed, n, n_changed, A, pivots, lost):
        factored[n] = changed[n]
        n += 1
    # -1 ends the list.
    factored[n] = -1
    if n == n_changed:
        return True
    # No order of the points will do: factorise the whole system, with row exchanges.
    factored[0] = -1
    for c in range(n_changed):
        for a in range(n_changed):
            A[a][c] = base.W[changed[c]][changed[a]]
    return factorise(A, pivots, n_changed)


def toggle(i, is_in, changed, n_changed):
    """Move point i to its other side. Returns the length of ``changed``, the list of the changed points."""
    is_in[i] = not is_in[i]
    # A point on the list is back on its side of the base, and leaves the list; any other joins it.
    for a in range(n_changed):
        if changed[a] == i:
            for c in range(a, n_changed - 1):
                changed[c] = changed[c + 1]
            return n_changed - 1
    changed[n_changed] = i
    return n_changed + 1
