"""The linear system of the points that have changed sides since the tableau was made.

Their new inputs solve a system as large as their list; the rates of all positions are a combination of as
many rows of the tableau. See ``docs/explanation/leave_one_out.md``.
"""

import cython

if not cython.compiled:
    from bayes_svm._core.records import DEPENDENT, LOST


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


def _append_factor(base, changed, n, A, lost):
    """Extend the factors of the first ``n`` changed points by the next one; False if its pivot is lost.

    The map is symmetric, except that entries between a point that was in and one that was out have opposite
    signs. So the upper factor U gives the lower one, and only U is kept, in the upper triangle of ``A``. Of
    the lower triangle a row at a time serves as memory.
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
    new[n] = pivot
    return abs(pivot) > lost * _usual_pivot(base, own)


def _usual_pivot(base, k):
    """Size of the pivot of point k: that of k(x, x) for a point that was out, else of its inverse."""
    size = base.flat[k] / DEPENDENT
    return 1.0 / size if base.is_in[k] else size


def _drop_factor(base, factored, p, n, A, lost):
    """Take the p-th of n points out of the factors.

    Of the points after it, what the earlier ones leave gains ``d l l'``, where d is the pivot of p and l its
    column of the lower factor: an update of rank one, row by row (Gill, Golub, Murray and Saunders, Methods
    for modifying matrix factorizations, 1974, method C1). Where digits would be lost, the factors end.
    Returns the number of points that they have left.
    """
    dropped, column = A[p], A[n - 1]
    for c in range(p, n - 1):
        column[c] = dropped[c + 1] / dropped[p]
    share = dropped[p] if base.is_in[factored[p]] else -dropped[p]
    for k in range(p):
        row = A[k]
        for c in range(p, n - 1):
            row[c] = row[c + 1]
    for j in range(p, n - 1):
        own, old, row, at = factored[j + 1], A[j + 1], A[j], column[j]
        before = old[j + 1]
        gain = share * at if base.is_in[own] else -share * at
        after = before + gain * at
        if not abs(after) > max(lost * _usual_pivot(base, own), LOST * abs(before)):
            factored[j] = -1
            return j
        part = at / before
        row[j], factored[j] = after, own
        for c in range(j + 1, n - 1):
            row[c] = old[c + 1] + gain * column[c]
            column[c] -= part * old[c + 1]
        share *= before / after
    factored[n - 1] = -1
    return n - 1


def _next_factor(base, changed, n, n_changed, A, lost):
    """Extend the factors of the first ``n`` changed points by one of the others; False if none will do."""
    for k in range(n, n_changed):
        changed[n], changed[k] = changed[k], changed[n]
        if _append_factor(base, changed, n, A, lost):
            return True
    return False


def factorise_changed(base, changed, n_changed, lost, scratch):
    """LU factors of the map from inputs to positions of the changed points; False if singular.

    From one event to the next the list of points grows or shrinks by one, and so do the factors. The points
    may be put in another order. Nothing is divided by a pivot below the share ``lost`` of its usual size.
    """
    A, factored, n, n_held = scratch.A, scratch.factored, 0, 0
    assert 0 <= n_changed <= scratch.capacity
    while factored[n_held] >= 0:
        n_held += 1
    # Keep the factors of the points at the head of the list. A point that has left it is dropped from them.
    while factored[n] >= 0:
        if n < n_changed and factored[n] == changed[n]:
            n += 1
        elif n < n_changed and factored[n + 1] == changed[n]:
            n_held = _drop_factor(base, factored, n, n_held, A, lost)
        else:
            factored[n] = -1
    while n < n_changed and _next_factor(base, changed, n, n_changed, A, lost):
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
    return factorise(A, scratch.pivots, n_changed)


def _dot(a, b, first, last):
    """``a[first:last] @ b[first:last]``, in four sums that do not wait for each other."""
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    i = first
    while i + 4 <= last:
        one += a[i] * b[i]
        two += a[i + 1] * b[i + 1]
        three += a[i + 2] * b[i + 2]
        four += a[i + 3] * b[i + 3]
        i += 4
    while i < last:
        one += a[i] * b[i]
        i += 1
    return (one + two) + (three + four)


def solve_changed(base, changed, n_changed, scratch):
    """Overwrite ``scratch.weights`` with the solution of the system that :func:`factorise_changed` left."""
    A, x = scratch.A, scratch.weights
    if n_changed > 0 and scratch.factored[0] < 0:
        solve_factorised(A, scratch.pivots, x, n_changed)
        return
    # With these signs the lower factor is the transpose of the upper one, divided by its pivots.
    for a in range(n_changed):
        x[a] = -x[a] if base.is_in[changed[a]] else x[a]
    for k in range(n_changed):
        row, part = A[k], x[k] / A[k][k]
        for a in range(k + 1, n_changed):
            x[a] -= part * row[a]
    for a in range(n_changed):
        x[a] = -x[a] if base.is_in[changed[a]] else x[a]
    for k in range(n_changed - 1, -1, -1):
        x[k] = (x[k] - _dot(A[k], x, k + 1, n_changed)) / A[k][k]


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
