"""`bayes-svm report`: fit a table and write a report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bayes_svm.report.errors import InputError
from bayes_svm.utils.progress import on_terminal, shown, step

from .arguments import add_aims, add_model, add_table, options_of, settings_of
from .output import check_output, installed_version, say, write_file

__all__ = ["add", "add_report", "form_of", "reported"]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.description = (
        "Fit SVMs to a table and write a report: error with intervals, calibration, thresholds, the most "
        "surprising rows. Without a file, the breast cancer data in scikit-learn are used."
    )
    add_table(parser, required=False)
    add_report(parser)
    add_aims(parser)
    add_model(parser, mixture=True)
    parser.set_defaults(run=_run)


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add where the report goes, and in which form."""
    parser.add_argument(
        "--output", metavar="FILE", help="where to write (default bayes-svm-report.html or .json)"
    )
    parser.add_argument(
        "--format",
        choices=("html", "json"),
        help="json by default if FILE ends in .json, otherwise html; the JSON report explains its keys",
    )


def form_of(arguments: argparse.Namespace) -> tuple[str, Path]:
    """Form and file of the report; what can be found wrong without a fit is reported here.

    Parameters
    ----------
    arguments : Namespace
        The arguments of a command that writes a report.

    Returns
    -------
    form : str
        "html" or "json".
    output : Path
        The file.
    """
    from bayes_svm.report.render import check_html

    form = arguments.format or ("json" if (arguments.output or "").lower().endswith(".json") else "html")
    output = Path(arguments.output or f"bayes-svm-report.{form}")
    check_output(output, arguments.data)
    if form == "html":
        check_html()
    return form, output


def reported(arguments: argparse.Namespace, form: str, output: Path) -> tuple[Any, str, str]:
    """Fit a table and write its report.

    Parameters
    ----------
    arguments : Namespace
        The arguments of the command.
    form : str
        "html" or "json".
    output : Path
        The file.

    Returns
    -------
    fitted : FittedTable
        The fit.
    text : str
        The main numbers, for the terminal.
    caution : str
        What to say with every prediction; the empty string if there is nothing.
    """
    from bayes_svm.report import render, terminal
    from bayes_svm.report.tables import reading

    with shown(on_terminal()):
        with step("reading the table"):
            if arguments.data is None:
                table = reading.breast_cancer_table()
            else:
                table = reading.read_table(arguments.data, arguments.target, options_of(arguments))
        from bayes_svm.report.content import make_report
        from bayes_svm.report.model import fit_table
        from bayes_svm.report.words import informative

        fitted = fit_table(table, settings_of(arguments))
        report = make_report(fitted)
    page = render.to_json(report) if form == "json" else render.to_html(report, installed_version())
    write_file(output, page.encode("utf-8"))
    caution = (
        ""
        if informative(report)
        else "the report could not show that this model knows more than how common each class is"
    )
    return fitted, terminal.to_text(report), caution


def _run(arguments: argparse.Namespace) -> int:
    """Mistakes that can be found without the fit are reported before it."""
    if (arguments.data is None) != (arguments.target is None):
        raise InputError("give both a CSV file and --target COL, or neither to use the breast cancer data")
    from bayes_svm.report.tables.options import Options

    if arguments.data is None and options_of(arguments) != Options():
        raise InputError(
            "the breast cancer data are read as they are: give a CSV file for options on columns"
        )
    form, output = form_of(arguments)
    _, text, _ = reported(arguments, form, output)
    say(text + f"Written: {output}\n")
    return 0
