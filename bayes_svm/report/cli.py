"""The command `bayes-svm`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from .commands import explain, fit, loo, predict, report
from .commands.output import installed_version, say
from .errors import InputError
from .text import one_line, printable

__all__ = ["main"]

# The commands: the module of each, and what it does.
COMMANDS = {
    "report": (report, "fit a table and write a report"),
    "fit": (fit, "fit a table, write a report, and save the model"),
    "predict": (predict, "predict the rows of a new table with a saved model"),
    "explain": (explain, "say what the prediction of one row rests on"),
    "loo": (loo, "leave out the rows of a table"),
}


# Options that name something in the table, which may begin with a hyphen.
NAMING = frozenset(
    {
        "--missing",
        "--keep",
        "--drop",
        "--only",
        "--id",
        "--groups",
        "--weights",
        "--counts",
        "--target",
        "--positive",
    }
)
OPTION = re.compile(r"-h|--[A-Za-z][\w-]*(=.*)?", re.DOTALL)


class _Parser(argparse.ArgumentParser):
    """Parser that reports a wrong option as one line, like every other mistake of the user."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help)")

    def print_help(self, file: Any = None) -> None:
        say(self.format_help())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the command line.

    Returns
    -------
    int
        The exit status: 0 if the command succeeded, 2 after a mistake of the user, 130 after an
        interruption. One line on stderr says what to do.
    """
    try:
        arguments = _parser().parse_args(_joined(sys.argv[1:] if argv is None else argv))
        if arguments.version:
            say(f"bayes-svm {installed_version()}\n")
            return 0
        if arguments.run is None:
            raise InputError("say what to do, for example: bayes-svm report (see bayes-svm --help)")
        code: int = arguments.run(arguments)
        return code
    except InputError as err:
        return _refused(one_line(err))
    except MemoryError as err:
        return _refused(one_line(err) or "not enough memory; give fewer rows or columns")
    except OSError as err:
        return _refused(one_line(err))
    except KeyboardInterrupt as err:
        say(f"bayes-svm: {str(err) or 'interrupted'}\n", aside=True)
        return 130


def _refused(reason: str) -> int:
    say(f"bayes-svm: {printable(reason)}\n", aside=True)
    return 2


def _joined(argv: Sequence[str]) -> list[str]:
    """Texts such as "---" joined to the option before them: argparse would take them for options."""
    joined: list[str] = []
    for text in argv:
        if joined and joined[-1] in NAMING and text.startswith("-") and not OPTION.fullmatch(text):
            joined[-1] += f"={text}"
        else:
            joined.append(text)
    return joined


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="bayes-svm",
        description="Support vector machines for a table: probabilities, exact left-out error, a report.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        module.add(commands.add_parser(name, help=text, allow_abbrev=False))
    return parser
