"""Threads that do the tasks of one loop together, each of them a part.

The thread that leads describes a task and writes its number to the line of each helper. A helper does its
part and writes the number back. Each looks at its line again and again, which takes a fraction of a
microsecond where a lock takes several. The leader does the parts of those that have not come, or that have
kept it waiting too often: what is found does not depend on who does what.
"""

import cython

if not cython.compiled:
    from time import sleep

    # Entries of a helper's line. The leader and the helper each have a line of the CPU's cache for theirs.
    ASKED, DONE, FOUND = 0, 8, 9
    # The number of a task by which the helpers go.
    END = -1
    # So often a thread looks before it lets others have the CPU.
    LOOKS = 1000
    # So often the leader may look after that before it does without a helper, and once more for each task: it
    # looks for a few hundredths of a second, and later for a sixth of the time.
    LATE = 50_000

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
    store(line, DONE, 0)


def next_task(line, last):
    """Wait for a task other than the last one, and return its number."""
    looks: cython.Py_ssize_t = 0
    while load(line, ASKED) == last:
        looks += 1
        if looks < LOOKS:
            breathe()
        else:
            give_way()
    return load(line, ASKED)


def ask(team):
    """Ask the helpers that are there to do their parts of the task."""
    team.counts[0] += 1
    for h in range(team.n_helpers):
        line = team.lines[h]
        if load(line, DONE) >= 0 and load(line, ASKED) != END:
            store(line, ASKED, team.counts[0])


def has_done(team, h):
    """Wait for a helper that was asked to do its part; false for one that was not."""
    line, number = team.lines[h], team.counts[0]
    if load(line, ASKED) != number:
        return False
    looks: cython.Py_ssize_t = 0
    while load(line, DONE) != number:
        looks += 1
        if looks < LOOKS:
            breathe()
        else:
            give_way()
    if looks > LOOKS:
        team.counts[1] += looks - LOOKS
        if team.counts[1] > LATE + number:
            store(line, ASKED, END)
    return True
