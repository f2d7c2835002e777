"""The command `bayes-svm`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

from bayes_svm.utils.progress import shown, step

from .errors import InputError
from .text import one_line

__all__ = ["main"]

KERNELS = ("linear", "poly", "rbf", "sigmoid")
DATA_HELP = "CSV with a header, UTF-8, may be gzipped"
TARGET_HELP = "the column with the classes"


class _Parser(argparse.ArgumentParser):
    """Parser that reports a wrong option as one line, like every other mistake of the user."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help)")


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
        arguments = _parser().parse_args(argv)
        if arguments.version:
            _say(f"bayes-svm {_version()}\n", sys.stdout)
            return 0
        if arguments.run is None:
            raise InputError("say what to do, for example: bayes-svm report (see bayes-svm --help)")
        code: int = arguments.run(arguments)
        return code
    except InputError as err:
        _say(f"bayes-svm: {one_line(err)}\n", sys.stderr)
        return 2
    except KeyboardInterrupt as err:
        _say(f"bayes-svm: {str(err) or 'interrupted'}\n", sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="bayes-svm",
        description="One support vector machine fit: probabilities, exact leave-one-out error, a report.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_report(commands.add_parser("report", help="fit a table and write a report", allow_abbrev=False))
    _add_loo(commands.add_parser("loo", help="leave out the rows of a table", allow_abbrev=False))
    return parser


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Fit an SVM to a table and write a report: error with intervals, calibration, thresholds, the most "
        "surprising rows. Without a file, the breast cancer data in scikit-learn are used."
    )
    parser.add_argument("data", nargs="?", metavar="data.csv", help=DATA_HELP)
    parser.add_argument("--target", metavar="COL", help=TARGET_HELP)
    parser.add_argument(
        "--output", metavar="FILE", help="where to write (default bayes-svm-report.html or .json)"
    )
    parser.add_argument(
        "--format",
        choices=("html", "json"),
        help="json by default if FILE ends in .json, otherwise html; the JSON report explains its keys",
    )
    aims = parser.add_mutually_exclusive_group()
    aims.add_argument(
        "--precision", type=_share, metavar="P", help="find the threshold that reaches this precision"
    )
    aims.add_argument(
        "--recall", type=_share, metavar="R", help="find the threshold that reaches this recall"
    )
    aims.add_argument(
        "--cost",
        type=_costs,
        metavar="fp=A,fn=B",
        help="find the threshold of least cost if a false alarm costs A and a missed one B",
    )
    parser.add_argument(
        "--max-risk",
        type=_share,
        metavar="R",
        help="say which rows to leave to a person, so that at most this share of the others is wrong",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fit one machine, with C=1 and gamma=scale unless given, instead of a mixture of several",
    )
    _add_model(parser)
    parser.set_defaults(run=_report)


def _add_model(parser: argparse.ArgumentParser) -> None:
    """Add the options of the model, which all commands share."""
    parser.add_argument("--C", type=_positive, help="cost of a training mistake (default: several, or 1)")
    parser.add_argument("--kernel", choices=KERNELS, default="rbf", help="kernel (default rbf)")
    parser.add_argument(
        "--gamma",
        type=_gamma,
        help="gamma of the kernel: scale, auto, or a number above 0 (default: several, or scale)",
    )
    parser.add_argument(
        "--impute",
        action="store_true",
        help="fill in missing values: with the median, or with the most frequent value of a text column",
    )


def _add_loo(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Leave out the rows of a table, one stratum at a time. A stratum is one row of the rarest class and "
        "its share of the others. The CSV that is written has one line for each row: its label, its decision "
        "values by the machine trained on all rows and by the machine trained without its stratum, its "
        "probability, the predicted class, and how the value was found. For two classes the decision values "
        "and the probability are those of the class in the probability's name; for more classes there is a "
        "column for each class. Finished values are kept in FILE.partial until all are known. FILE itself is "
        "written last, and does not depend on interruptions."
    )
    parser.add_argument("data", metavar="data.csv", help=DATA_HELP)
    parser.add_argument("--target", metavar="COL", required=True, help=TARGET_HELP)
    parser.add_argument(
        "--output", metavar="FILE", default="bayes-svm-loo.csv", help="where to write (default %(default)s)"
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue with the values in FILE.partial, which must be from the same data, options and "
        "version; without that file, start from the beginning. Without --resume an existing FILE.partial is "
        "an error; it is never overwritten",
    )
    parser.add_argument(
        "--n-jobs",
        type=_jobs,
        default=None,
        metavar="N",
        help="number of threads (default 1; -1 for all cores); the values do not depend on it",
    )
    _add_model(parser)
    parser.set_defaults(run=_loo)


def _loo(arguments: argparse.Namespace) -> int:
    """Run `bayes-svm loo`. Mistakes that can be found without the fit are reported before it."""
    from .loo_table import check_partial, complete_of, partial_of, write_loo
    from .tables import reading
    from .tables.options import Options

    output = Path(arguments.output)
    for path in (output, partial_of(output), complete_of(output)):
        _check_output(path, arguments.data)
    # Anything else, such as a device, would be replaced by a file.
    if output.exists() and not output.is_file():
        raise InputError(f"{str(output)!r} is not a regular file; give --output a file name")
    check_partial(output, arguments.resume)
    settings = _settings(arguments)
    try:
        with shown(sys.stderr.isatty()):
            with step("reading the table"):
                table = reading.read_table(arguments.data, arguments.target, Options(impute=arguments.impute))
            summary = write_loo(table, settings, output, version=_version(), n_jobs=arguments.n_jobs)
    except KeyboardInterrupt:
        if not partial_of(output).exists():
            raise
        kept = str(partial_of(output))
        raise KeyboardInterrupt(
            f"interrupted; finished values are in {kept!r}: repeat the command with --resume to continue"
        ) from None
    _say(summary + f"Written: {output}\n", sys.stdout)
    return 0


def _report(arguments: argparse.Namespace) -> int:
    """Run `bayes-svm report`. Mistakes that can be found without the fit are reported before it."""
    from . import render, terminal
    from .tables import reading
    from .tables.options import Options

    if (arguments.data is None) != (arguments.target is None):
        raise InputError("give both a CSV file and --target COL, or neither to use the breast cancer data")
    form = arguments.format or ("json" if (arguments.output or "").lower().endswith(".json") else "html")
    output = Path(arguments.output or f"bayes-svm-report.{form}")
    _check_output(output, arguments.data)
    if form == "html":
        render.check_html()
    with shown(sys.stderr.isatty()):
        with step("reading the table"):
            if arguments.data is None:
                table = reading.breast_cancer_table()
            else:
                table = reading.read_table(arguments.data, arguments.target, Options(impute=arguments.impute))
        from .aims import Aims
        from .content import make_report
        from .model import fit_table

        aims = Aims(
            precision=arguments.precision,
            recall=arguments.recall,
            cost=arguments.cost,
            max_risk=arguments.max_risk,
        )
        report = make_report(fit_table(table, _settings(arguments, aims=aims)))
    page = render.to_json(report) if form == "json" else render.to_html(report, _version())
    try:
        output.write_text(page, encoding="utf-8")
    except OSError as err:
        raise _not_written(output, err.strerror) from None
    _say(terminal.to_text(report) + f"Written: {output}\n", sys.stdout)
    return 0


def _settings(arguments: argparse.Namespace, **more: Any) -> Any:
    """The options of the model as `Settings`."""
    from .record import Settings

    return Settings(
        C=arguments.C,
        kernel=arguments.kernel,
        gamma=arguments.gamma,
        impute=arguments.impute,
        quick=getattr(arguments, "quick", True),
        **more,
    )


def _check_output(output: Path, source: str | None) -> None:
    """Raise InputError if the output cannot be written, or is the input itself."""
    folder = output.parent
    try:
        if not folder.is_dir():
            raise InputError(f"no such directory: {str(folder)!r}; create it or choose another --output")
        if output.is_dir():
            raise InputError(f"{str(output)!r} is a directory; give --output a file name")
        writable = os.access(output if output.exists() else folder, os.W_OK)
    except OSError as err:
        # For instance, the name may be too long.
        raise _not_written(output, err.strerror) from None
    if not writable:
        raise _not_written(output, "permission denied")
    if source is not None and _same_file(output, source):
        raise InputError(f"--output {str(output)!r} is the data itself; choose another name")


def _not_written(output: Path, reason: str | None) -> InputError:
    return InputError(f"cannot write {str(output)!r}: {reason}; choose another --output")


def _same_file(one: str | Path, other: str | Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        # One of them does not exist.
        return False


def _jobs(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value == 0:
        raise argparse.ArgumentTypeError("0 threads do nothing: give 1 or more, or -1 for all cores")
    return value


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return value


def _share(text: str) -> float:
    value = _positive(text)
    if value >= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def _costs(text: str) -> tuple[float, float]:
    """Parse "fp=1,fn=5" as (1.0, 5.0)."""
    parts = dict(part.partition("=")[::2] for part in text.split(","))
    if set(parts) != {"fp", "fn"}:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form fp=NUMBER,fn=NUMBER")
    return _positive(parts["fp"]), _positive(parts["fn"])


def _gamma(text: str) -> str | float:
    return text if text in ("scale", "auto") else _positive(text)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("bayes-svm")
    except PackageNotFoundError:
        return "(not installed)"


def _say(text: str, stream: TextIO) -> None:
    """Write a text with "?" for characters that the stream cannot encode; a closed pipe is no error."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        # The interpreter flushes the stream once more at exit, which fails on a closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
