"""The command `bayes-svm`."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TextIO

from .errors import InputError

__all__ = ["main"]

KERNELS = ("linear", "poly", "rbf", "sigmoid")
DATA_HELP = "CSV with a header, UTF-8, may be gzipped"
TARGET_HELP = "the column with the classes"
STEPS = 6  # of one report: reading, four of `make_report`, writing


class _Parser(argparse.ArgumentParser):
    """Reports a wrong option as one line, like every other mistake of the user."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0 if done, 2 after one line on stderr about what to change."""
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
        _say(f"bayes-svm: {' '.join(str(err).split())}\n", sys.stderr)
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
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_report(commands.add_parser("report", help="fit a table and write a report", allow_abbrev=False))
    _add_loo(commands.add_parser("loo", help="leave the rows of a table out, as a CSV", allow_abbrev=False))
    return parser


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Fit an SVM to a table and write a report: error with intervals, calibration, thresholds, the most "
        "surprising rows. Without a file the breast cancer data embedded in scikit-learn is used."
    )
    parser.add_argument("data", nargs="?", metavar="data.csv", help=DATA_HELP)
    parser.add_argument("--target", metavar="COL", help=TARGET_HELP)
    parser.add_argument(
        "--output", metavar="FILE", help="where to write (default bayes-svm-report.html or .json)"
    )
    parser.add_argument(
        "--format",
        choices=("html", "json"),
        help="default html, or json if FILE ends in .json; its keys are explained in it",
    )
    aims = parser.add_mutually_exclusive_group()
    aims.add_argument("--precision", type=_share, metavar="P", help="find the threshold of this precision")
    aims.add_argument("--recall", type=_share, metavar="R", help="find the threshold of this recall")
    aims.add_argument(
        "--cost", type=_costs, metavar="fp=A,fn=B", help="find the threshold of least cost, say fp=1,fn=5"
    )
    parser.add_argument(
        "--max-risk",
        type=_share,
        metavar="R",
        help="say which rows to leave to a person, so that no more are wrong",
    )
    _add_model(parser)
    parser.set_defaults(run=_report)


def _add_model(parser: argparse.ArgumentParser) -> None:
    """Options of the model, which all commands share."""
    parser.add_argument("--C", type=_positive, default=1.0, help="cost of a training mistake (default 1)")
    parser.add_argument("--kernel", choices=KERNELS, default="rbf", help="default rbf")
    parser.add_argument(
        "--gamma", type=_gamma, default="scale", help="scale (default), auto, or a number above 0"
    )
    parser.add_argument(
        "--impute",
        action="store_true",
        help="fill in missing values: median, or the most frequent value for text",
    )


def _add_loo(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Leave the rows of a table out, a stratum (one row of the rarest class and its share of the others) "
        "at a time: one line for each row with its label, the decision value of the machine trained on all "
        "rows and of that trained without its stratum (above 0 for the class whose probability stands "
        "beside them; for more than two classes a column for each), the probability, what is predicted from "
        "it, and how the value was found. Finished values are kept in FILE.partial until all are known; "
        "FILE itself is written last, and is the same whether there was an interruption or not."
    )
    parser.add_argument("data", metavar="data.csv", help=DATA_HELP)
    parser.add_argument("--target", metavar="COL", required=True, help=TARGET_HELP)
    parser.add_argument("--output", metavar="FILE", default="bayes-svm-loo.csv", help="default %(default)s")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with the values in FILE.partial, which must be of the same data, options and version; "
        "begin where there is none. Without --resume a FILE.partial is refused, never overwritten",
    )
    parser.add_argument(
        "--n-jobs",
        type=_jobs,
        default=None,
        metavar="N",
        help="threads (default 1; -1 for all cores); the values do not depend on it",
    )
    _add_model(parser)
    parser.set_defaults(run=_loo)


def _loo(arguments: argparse.Namespace) -> int:
    """Run `bayes-svm loo`; everything that can be refused at once is, before the fit."""
    from . import data
    from .loo_table import check_partial, complete_of, partial_of, write_loo

    output = Path(arguments.output)
    for path in (output, partial_of(output), complete_of(output)):
        _check_output(path, arguments.data)
    if output.exists() and not output.is_file():  # a device, which would be replaced by a file
        raise InputError(f"{str(output)!r} is not a regular file; give --output a file name")
    check_partial(output, arguments.resume)
    settings = _settings(arguments)
    try:
        with _bar() as show:
            show("reading the table", 0, 1)
            table = data.read_table(arguments.data, arguments.target, impute=arguments.impute)
            summary = write_loo(
                table, settings, output, version=_version(), n_jobs=arguments.n_jobs, show=show
            )
    except KeyboardInterrupt:
        if not partial_of(output).exists():
            raise
        kept = str(partial_of(output))
        raise KeyboardInterrupt(
            f"interrupted; finished values are in {kept!r}: the same command with --resume goes on"
        ) from None
    _say(summary + f"Written: {output}\n", sys.stdout)
    return 0


def _report(arguments: argparse.Namespace) -> int:
    """Run `bayes-svm report`; everything that can be refused at once is, before the fit."""
    from . import data, render

    if (arguments.data is None) != (arguments.target is None):
        raise InputError("give both a CSV file and --target COL, or neither for the embedded data")
    form = arguments.format or ("json" if (arguments.output or "").lower().endswith(".json") else "html")
    output = Path(arguments.output or f"bayes-svm-report.{form}")
    _check_output(output, arguments.data)
    if form == "html":
        render.check_html()
    with _progress(STEPS) as step:
        step("reading the table")
        if arguments.data is None:
            table = data.breast_cancer_table()
        else:
            table = data.read_table(arguments.data, arguments.target, impute=arguments.impute)
        from .aims import Aims
        from .content import make_report

        aims = Aims(
            precision=arguments.precision,
            recall=arguments.recall,
            cost=arguments.cost,
            max_risk=arguments.max_risk,
        )
        report = make_report(table, _settings(arguments, aims=aims), step)
        step("writing the report")
        page = render.to_json(report) if form == "json" else render.to_html(report, _version())
        try:
            output.write_text(page, encoding="utf-8")
        except OSError as err:
            raise _not_written(output, err.strerror) from None
    _say(render.to_text(report) + f"Written: {output}\n", sys.stdout)
    return 0


def _settings(arguments: argparse.Namespace, **more: Any) -> Any:
    """The options of the model as `Settings`."""
    from .record import Settings

    return Settings(
        C=arguments.C,
        kernel=arguments.kernel,
        gamma=arguments.gamma,
        impute=arguments.impute,
        **more,
    )


def _check_output(output: Path, source: str | None) -> None:
    """Refuse a place that cannot be written, before any work; and the input itself."""
    folder = output.parent
    try:
        if not folder.is_dir():
            raise InputError(f"no such directory: {str(folder)!r}; create it or choose another --output")
        if output.is_dir():
            raise InputError(f"{str(output)!r} is a directory; give --output a file name")
        writable = os.access(output if output.exists() else folder, os.W_OK)
    except OSError as err:  # a name that is too long, for one
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
    except OSError:  # one of them does not exist
        return False


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function to call before each of some steps."""
    with _bar() as show:
        done = itertools.count()
        yield lambda name: show(name, next(done), total)


@contextmanager
def _bar() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that shows what is done next and how much of all is; on a terminal only."""
    tqdm = _tqdm() if sys.stderr.isatty() else None
    if tqdm is None:
        yield lambda name, done, total: None
        return
    form = "{percentage:3.0f}%|{bar:20}| {desc}"
    with tqdm(total=1, file=sys.stderr, leave=False, bar_format=form) as bar:

        def show(name: str, done: int, total: int) -> None:
            bar.n, bar.total = done, total
            bar.set_description_str(name)

        yield show


def _tqdm() -> Any:
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:  # the bar is a nicety: the JSON report works without the extra
        return None
    return tqdm


def _jobs(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value == 0:
        raise argparse.ArgumentTypeError("0 threads do nothing: give 1 or more, or -1 for all")
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
    """``fp=1,fn=5`` as (1.0, 5.0)."""
    parts = dict(part.partition("=")[::2] for part in text.split(","))
    if set(parts) != {"fp", "fn"}:
        raise argparse.ArgumentTypeError(f"{text!r} does not read fp=NUMBER,fn=NUMBER")
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
    """Write text in the stream's own encoding, whatever the data hold; a closed pipe is no error."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        # The interpreter flushes once more at exit, which must find something open.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
