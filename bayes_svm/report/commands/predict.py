"""`bayes-svm predict`: predict the rows of a new table with a saved model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bayes_svm.report.text import one_line, printable
from bayes_svm.utils.progress import on_terminal, shown, step

from .arguments import DATA_HELP, add_how_to_read, options_of
from .output import check_output, say, write_file

__all__ = ["WHY_OUTSIDE", "add", "add_new_rows", "read_both"]

WHY_OUTSIDE = (
    "comes from a smooth curve through all training rows, and the interval from those most like the row"
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.description = (
        "Predict the rows of a new table. The CSV has one line for each row: identifier, predicted class, "
        "probability with its interval (of each class, if there are more than two), answer, and reason. The "
        "answer is the predicted class or 'ask a person'. Reasons to ask a person are a missing value "
        "(unless the model was fitted with --impute), an unknown value, a number outside the training range "
        "(with more than 20 columns of numbers: more of them than chance explains, or one far outside), a "
        "row unlike the training data, and a probability too low for the --max-risk of the fit. A "
        f"probability may lie outside its interval: it {WHY_OUTSIDE}. Columns are matched by name. A text "
        "that a spreadsheet would take for a formula begins with an apostrophe."
    )
    add_new_rows(parser)
    parser.add_argument("--output", metavar="FILE", help="where to write (default, and -: standard output)")
    parser.set_defaults(run=_run)


def add_new_rows(parser: argparse.ArgumentParser) -> None:
    """Add the new table and the model."""
    parser.add_argument("data", metavar="new.csv", help=DATA_HELP)
    parser.add_argument("--model", metavar="FILE", required=True, help="the model that bayes-svm fit saved")
    parser.add_argument(
        "--id", metavar="COL", help="the column that names the rows (default: that of the fit)"
    )
    add_how_to_read(parser)


def read_both(arguments: argparse.Namespace) -> tuple[Any, Any, list[str]]:
    """Read the model and the new table.

    Parameters
    ----------
    arguments : Namespace
        The arguments of the command.

    Returns
    -------
    model : SavedModel
        The model.
    rows : NewRows
        The rows.
    notes : list of str
        What the user should know of both.
    """
    from bayes_svm.report.saved import load_model
    from bayes_svm.report.tables.new_rows import read_new_rows

    with step("reading the model"):
        model, notes = load_model(arguments.model)
    ignored = (*model.ignored, model.target)
    options = options_of(arguments)
    with step("reading the table"):
        rows = read_new_rows(
            arguments.data,
            model.columns,
            ignored,
            options,
            model.id_name,
            model.decimal,
            model.about["n_rows"],
        )
    return model, rows, [*notes, *rows.notes]


def _run(arguments: argparse.Namespace) -> int:
    from bayes_svm.report.csv_text import csv_text

    output = None if arguments.output in (None, "-") else Path(arguments.output)
    if output is not None:
        check_output(output, arguments.data)
        check_output(output, arguments.model, what="the model itself")
    with shown(on_terminal()):
        model, rows, notes = read_both(arguments)
        from bayes_svm.report.predicting import outside_intervals, predicted_columns

        with step("predicting"):
            columns = predicted_columns(model, rows)
    text = csv_text(columns)
    if output is None:
        say(text)
    else:
        write_file(output, text.encode("utf-8"))
    n_asked = sum(why != "" for why in columns["reason"])
    n = len(columns["answer"])
    rows_of = "1 row" if n == 1 else f"{n} rows"
    about = f"{rows_of}: {n - n_asked} answered, {n_asked} for a person ({model.approximate})"
    interval = (
        "low and high say how training rows like the row are labelled; they are not a confidence interval"
    )
    if outside := outside_intervals(columns):
        lies = "1 probability does" if outside == 1 else f"{outside} probabilities do"
        interval += f", and {lies} not lie between them: a probability {WHY_OUTSIDE}"
    filled = rows.numbers[rows.frame.isna().any(axis=1).to_numpy()].tolist()
    if model.impute and filled:
        where = "row" if len(filled) == 1 else "rows"
        some = ", ".join(map(str, filled[:5])) + (", ..." if len(filled) > 5 else "")
        notes = [
            f"missing values filled in as in training: {where} {some} ({len(filled)} of {n})",
            *notes,
        ]
    if model.threshold is not None:
        notes = [
            f"the answer is {model.positive} from a probability of {model.threshold:.3g} on, as the fit was "
            "asked",
            *notes,
        ]
    caution = [model.about["caution"]] if model.about.get("caution") else []
    notes = [*caution, about, interval, *notes, *([f"Written: {output}"] if output else [])]
    say(printable("".join(f"note: {one_line(note)}\n" for note in notes)), aside=True)
    return 0
