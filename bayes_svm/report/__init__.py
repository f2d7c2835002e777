"""The report of one fit: reading a table, its numbers, its charts, and how they are written down."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command ``bayes-svm``; what it needs is loaded here, where an interruption is heard."""
    try:
        from .cli import main as run

        return run(argv)
    except KeyboardInterrupt:
        print("bayes-svm: interrupted", file=sys.stderr)
        return 130
