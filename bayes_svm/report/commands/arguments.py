"""Options that several commands share, and what their values mean."""

from __future__ import annotations

import argparse
import re
from typing import Any

from bayes_svm.report.errors import InputError

__all__ = ["add_aims", "add_how_to_read", "add_model", "add_table", "options_of", "settings_of", "share"]

KERNELS = ("linear", "poly", "rbf", "sigmoid")
DATA_HELP = "CSV with a header, may be gzipped; parquet or Excel if pandas can read it; - for standard input"
TARGET_HELP = "the column with the classes"
# "yes=5,no=1"; a name may contain commas.
MOST_COST = 1e100  # sums of larger ones may overflow
COST = re.compile(r"(?P<name>.+?)=(?P<cost>[^=,]+)(?:,|$)")


def add_table(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add the table, its target, and the options that say what its columns are.

    Parameters
    ----------
    parser : ArgumentParser
        The parser of a command.
    required : bool
        Whether there must be a table.
    """
    parser.add_argument("data", nargs=None if required else "?", metavar="data.csv", help=DATA_HELP)
    parser.add_argument("--target", metavar="COL", required=required, help=TARGET_HELP)
    group = parser.add_argument_group("columns")
    for name, text in (
        ("--drop", "leave out these columns; may be repeated"),
        ("--only", "learn from these columns and no others; may be repeated"),
        ("--keep", "use these columns even though they look like leaks; may be repeated"),
    ):
        group.add_argument(name, metavar="COL[,COL...]", action="append", default=[], help=text)
    group.add_argument("--id", metavar="COL", help="the column that names the rows")
    group.add_argument("--groups", metavar="COL", help="rows of one group, such as a patient, leave together")
    group.add_argument("--weights", metavar="COL", help="how much each row counts; the unit does not matter")
    group.add_argument("--counts", metavar="COL", help="how many equal cases each row stands for")
    group.add_argument("--positive", metavar="CLASS", help="the class that recall and precision are about")
    group.add_argument(
        "--impute",
        action="store_true",
        help="fill in missing values: with the median, or with the most frequent value of a text column",
    )
    add_how_to_read(parser)


def add_how_to_read(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a file is written; by default all is recognised."""
    group = parser.add_argument_group("how the file is written (recognised by default)")
    group.add_argument("--sep", metavar="MARK", help="what separates the cells: a mark, tab or space")
    group.add_argument("--decimal", choices=(".", ","), help="the decimal mark")
    group.add_argument("--encoding", metavar="NAME", help="the encoding, for example cp1252")
    group.add_argument(
        "--missing",
        metavar="TEXT",
        action="append",
        default=[],
        help="a further mark of missing values; may be repeated",
    )


def add_model(parser: argparse.ArgumentParser, *, mixture: bool) -> None:
    """Add the options of the model.

    Parameters
    ----------
    parser : ArgumentParser
        The parser of a command.
    mixture : bool
        Whether the command mixes machines by default.
    """
    group = parser.add_argument_group("model")
    several = "several are mixed by default; 1 with --quick" if mixture else "default 1"
    group.add_argument("--C", type=positive, help=f"cost of a training mistake ({several})")
    group.add_argument("--kernel", choices=KERNELS, default="rbf", help="kernel (default rbf)")
    several = "several are mixed by default; scale with --quick" if mixture else "default scale"
    group.add_argument(
        "--gamma", type=gamma, help=f"gamma of the kernel: scale, auto, or a number above 0 ({several})"
    )
    group.add_argument(
        "--class-weight",
        type=class_weight,
        metavar="CLASS=COST,...",
        help="cost of a mistake in each class, for example yes=5,no=1; or balanced",
    )
    if mixture:
        group.add_argument(
            "--quick",
            action="store_true",
            help="fit one machine, not a mixture over a small grid of C and gamma (and of class costs, if "
            "one of two classes is rare)",
        )


def add_aims(parser: argparse.ArgumentParser) -> None:
    """Add what the user asks of the decisions."""
    group = parser.add_argument_group(
        "decisions", "A threshold is for two classes, or for the class that --positive names among several."
    )
    aims = group.add_mutually_exclusive_group()
    aims.add_argument(
        "--precision", type=share, metavar="P", help="find the threshold that reaches this precision"
    )
    aims.add_argument("--recall", type=share, metavar="R", help="find the threshold that reaches this recall")
    aims.add_argument(
        "--cost",
        type=costs,
        metavar="fp=A,fn=B",
        help="find the threshold of least cost if a false alarm costs A and a missed one B",
    )
    group.add_argument(
        "--max-risk",
        type=share,
        metavar="R",
        help="say which rows to leave to a person, so that at most this share of the others is wrong",
    )


def options_of(arguments: argparse.Namespace) -> Any:
    """How the table is to be read, as `Options`.

    Parameters
    ----------
    arguments : Namespace
        The arguments of any command that reads a table.

    Returns
    -------
    Options
        What the user said; the rest has its defaults.
    """
    from bayes_svm.report.tables.options import Options

    said: dict[str, Any] = {}
    for name in Options.__dataclass_fields__:
        one = getattr(arguments, name, None)
        if one is not None:
            # Before Python 3.13, argparse takes the text "--" for nothing.
            said[name] = tuple(text or "--" for text in one) if isinstance(one, list) else one
    return Options(**said)


def settings_of(arguments: argparse.Namespace) -> Any:
    """The options of the model as `Settings`.

    Parameters
    ----------
    arguments : Namespace
        The arguments of a command that fits a model.

    Returns
    -------
    Settings
        What the user chose.

    Raises
    ------
    InputError
        If there is a gamma for the linear kernel.
    """
    from bayes_svm.report.aims import Aims
    from bayes_svm.report.record import Settings

    if arguments.gamma is not None and arguments.kernel == "linear":
        raise InputError("the linear kernel has no gamma: leave out --gamma, or choose another --kernel")
    aims = {name: getattr(arguments, name, None) for name in Aims.__dataclass_fields__}
    return Settings(
        C=arguments.C,
        kernel=arguments.kernel,
        gamma=arguments.gamma,
        impute=arguments.impute,
        aims=Aims(**aims),
        quick=getattr(arguments, "quick", True),
        positive=arguments.positive,
        class_weight=arguments.class_weight,
    )


def positive(text: str) -> float:
    """A number above 0."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return value


def share(text: str) -> float:
    """A number between 0 and 1."""
    value = positive(text)
    if value >= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def costs(text: str) -> tuple[float, float]:
    """Parse "fp=1,fn=5" as (1.0, 5.0)."""
    pairs = [part.partition("=")[::2] for part in text.split(",")]
    if sorted(name for name, _ in pairs) != ["fn", "fp"]:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form fp=NUMBER,fn=NUMBER")
    found = {name: positive(cost) for name, cost in pairs}
    if max(found.values()) > MOST_COST:
        raise argparse.ArgumentTypeError(f"{text!r} has a cost beyond {MOST_COST:g}")
    return found["fp"], found["fn"]


def class_weight(text: str) -> str | dict[str, float]:
    """Parse "yes=5,no=1" as a dict; "balanced" stays."""
    if text == "balanced":
        return text
    found = list(COST.finditer(text))
    if not found or "".join(one[0] for one in found) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is neither balanced nor of the form CLASS=COST,...")
    names = [one["name"] for one in found]
    for name in names:
        if names.count(name) > 1:
            raise argparse.ArgumentTypeError(f"{text!r} gives {name!r} two costs; give each class one")
    return {one["name"]: positive(one["cost"]) for one in found}


def gamma(text: str) -> str | float:
    """A number above 0, "scale" or "auto"."""
    return text if text in ("scale", "auto") else positive(text)
