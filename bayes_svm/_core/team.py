"""Threads that do the tasks of one loop together, each of them a part.

The thread that leads describes a task and writes its number to the line of each helper. A helper does its
part and writes the number back. Each looks at its line again and again, which takes a fraction of a
microsecond where a lock takes several. A helper that has not come is not asked, nor for a while one that has
kept the leader waiting because the system gave its CPU to another thread: the leader does its part. What is
found does not depend on who does what.
"""

import cython

if not cython.compiled:
    from time import sleep

    # Entries of a helper's line: the task that is asked for, and the first one that may be; the task that is
    # done, and what was found. The leader and the helper each have a line of the CPU's cache for theirs.
    ASKED, FIRST, DONE, FOUND = 0, 1, 8, 9
    # The number of a task by which the helpers go.
    END = -1
    # So often a thread looks before it lets others have the CPU. Where the leader has waited as long, the
    # helper is passed over for one task in so many looks, so that waiting takes a small share of the time.
    LOOKS, SHARE = 1000, 4
    # So often a helper looks before it asks Python whether it is still wanted. A look beyond LOOKS can take
    # as long as the system lets other threads have the CPU, some milliseconds.
    PATIENCE = 1200

    def is_lock_free():
        """Whether the CPU reads and writes an entry at once. Where it does not, nobody helps."""
        return True

    def load(line, k):
        """An entry of a line, before whatever is read after it."""
        return line[k]

    def store(line, k, value):
        """Write an entry of a line, after whatever was written before it."""
        line[k] = value

    def breathe():
        """Wait as shortly as the CPU can."""

    def give_way():
        """Let other threads have the CPU."""
        sleep(0)


def come(line):
    """Say that a helper is there."""
    if is_lock_free():
        store(line, DONE, 0)


def next_task(line, last):
    """Wait for a task other than the last one, and return its number; that of the last if none comes."""
    looks: cython.Py_ssize_t = 0
    while load(line, ASKED) == last and looks < PATIENCE:
        looks += 1
        if looks < LOOKS:
            breathe()
        else:
            give_way()
    return load(line, ASKED)


def ask(team):
    """Ask the helpers that are there to do their parts of the task."""
    team.number[0] += 1
    for h in range(team.n_helpers):
        line = team.lines[h]
        if load(line, DONE) >= 0 and line[FIRST] <= team.number[0]:
            store(line, ASKED, team.number[0])


def has_done(team, h):
    """Wait for a helper that was asked to do its part; false for one that was not."""
    line, number = team.lines[h], team.number[0]
    if load(line, ASKED) != number:
        return False
    looks: cython.Py_ssize_t = 0
    while load(line, DONE) != number:
        looks += 1
        if looks < LOOKS:
            breathe()
        else:
            give_way()
    if looks >= LOOKS:
        line[FIRST] = number + looks // SHARE
    return True


def dismiss(team):
    """Tell the helpers to go."""
    for h in range(team.n_helpers):
        store(team.lines[h], ASKED, END)
