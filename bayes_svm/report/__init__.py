"""The command ``bayes-svm``: reading a table, its report and its left-out values."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command ``bayes-svm``.

    Its modules are loaded in here, so that pressing Ctrl-C while they load ends it with a message too.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the command line.

    Returns
    -------
    int
        The exit status.
    """
    try:
        from .cli import main as run

        return run(argv)
    except KeyboardInterrupt:
        print("bayes-svm: interrupted", file=sys.stderr)
        return 130
