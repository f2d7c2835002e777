"""`bayes-svm fit`: fit a table, write its report, and save the model."""

from __future__ import annotations

import argparse
from pathlib import Path

from bayes_svm.report.errors import InputError

from .arguments import add_aims, add_model, add_table
from .output import check_output, say, write_file
from .report import add_report, form_of, reported

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.description = (
        "Fit SVMs to a table, write the report that bayes-svm report writes, and save the model for "
        "bayes-svm predict and bayes-svm explain. What one of --max-risk, --precision, --recall and --cost "
        "asks for is part of the model."
    )
    add_table(parser, required=True)
    parser.add_argument("--save", metavar="FILE", required=True, help="where to save the model (.skops)")
    add_report(parser)
    add_aims(parser)
    add_model(parser, mixture=True)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Mistakes that can be found without the fit are reported before it."""
    from bayes_svm.report.optional import needs

    if arguments.max_risk is not None and (arguments.precision or arguments.recall or arguments.cost):
        raise InputError(
            "--max-risk is about the most probable class, and --precision, --recall and --cost choose "
            "another: give one of them"
        )
    save = Path(arguments.save)
    check_output(save, arguments.data, "--save")
    form, output = form_of(arguments)
    if save.absolute() == output.absolute():
        raise InputError("--save and --output are the same file; give two names")
    needs("skops.io")
    fitted, text, caution = reported(arguments, form, output)
    from bayes_svm.report.saved import model_bytes

    try:
        content = model_bytes(fitted, caution)
    except InputError as err:
        # What was asked for cannot be had: the report says what can.
        raise InputError(f"{err} (the report is written: {str(output)!r})") from None
    write_file(save, content, "--save")
    say(text + f"Written: {output}\nWritten: {save}\n")
    return 0
