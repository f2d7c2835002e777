"""`bayes-svm loo`: leave out the rows of a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from bayes_svm.report.errors import InputError
from bayes_svm.utils.progress import on_terminal, shown, step

from .arguments import add_model, add_table, options_of, settings_of
from .output import check_output, installed_version, say

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.description = (
        "Leave the rows of a table out, one stratum at a time (with --groups, whole groups at a time), of "
        "one machine, that of fit and report with --quick. A stratum is one row of the rarest class and its "
        "share of the others. The CSV has one line for each row: its label, its decision "
        "values by the machine trained on all rows and by the machine trained without its stratum, its "
        "probability, the predicted class, and how the value was found. For two classes the decision values "
        "and the probability are those of the class in the probability's name; for more classes there is a "
        "column for each class. Finished values are kept in FILE.partial until all are known. FILE itself is "
        "written last, and does not depend on interruptions."
    )
    add_table(parser, required=True)
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
    add_model(parser, mixture=False)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Mistakes that can be found without the fit are reported before it."""
    from bayes_svm.report.loo_table import check_partial, complete_of, partial_of, write_loo
    from bayes_svm.report.tables import reading

    output = Path(arguments.output)
    for path in (output, partial_of(output), complete_of(output)):
        check_output(path, arguments.data)
    # Anything else, such as a device, would be replaced by a file.
    if output.exists() and not output.is_file():
        raise InputError(f"{str(output)!r} is not a regular file; give --output a file name")
    check_partial(output, arguments.resume)
    settings = settings_of(arguments)
    try:
        with shown(on_terminal()):
            with step("reading the table"):
                table = reading.read_table(arguments.data, arguments.target, options_of(arguments))
            summary = write_loo(table, settings, output, version=installed_version(), n_jobs=arguments.n_jobs)
    except KeyboardInterrupt:
        if not partial_of(output).exists():
            raise
        kept = str(partial_of(output))
        raise KeyboardInterrupt(
            f"interrupted; finished values are in {kept!r}: repeat the command with --resume to continue"
        ) from None
    say(summary + f"Written: {output}\n")
    return 0


def _jobs(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value == 0:
        raise argparse.ArgumentTypeError("0 threads do nothing: give 1 or more, or -1 for all cores")
    return value
