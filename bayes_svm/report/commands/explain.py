"""`bayes-svm explain`: say what the prediction of one row rests on."""

from __future__ import annotations

import argparse

from bayes_svm.report.errors import InputError
from bayes_svm.report.text import one_line, printable
from bayes_svm.utils.progress import on_terminal, shown, step

from .output import say
from .predict import WHY_OUTSIDE, add_new_rows, read_both

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.description = (
        "Say what the prediction of one row rests on: its probability with the interval, how far it is from "
        "the training data, the training rows that speak most for and against the class that the machine "
        "says, and what leaving out each of them would change. Of a mixture, the machine of largest weight "
        "is explained."
    )
    add_new_rows(parser)
    parser.add_argument(
        "--row", type=int, metavar="N", required=True, help="number of the row in the file, from 1"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    with shown(on_terminal()):
        model, rows, notes = read_both(arguments)
    numbers = rows.numbers.tolist()
    if arguments.row not in numbers:
        raise InputError(
            f"{rows.name!r} has no row {arguments.row} with values; rows count from 1, without the header, "
            f"to {numbers[-1]}"
        )
    k = numbers.index(arguments.row)
    empty = rows.frame.columns[rows.frame.iloc[k].isna()].tolist()
    if empty and not model.impute:
        unread = [name for name in empty if name not in rows.missing[k]]
        if unread:
            raise InputError(
                f"row {arguments.row}: what is in column {unread[0]!r} cannot be read; correct it"
            )
        raise InputError(
            f"row {arguments.row} has no value in column {empty[0]!r}; fill it in, or fit with --impute"
        )
    from bayes_svm.report.predicting import explained_row

    with shown(on_terminal()), step("explaining"):
        explained = explained_row(model, rows, k)
    between = sorted([*explained.interval, explained.probability])[1] == explained.probability
    outside = [] if between else [f"The probability is outside its interval: it {WHY_OUTSIDE}."]
    caution = [model.about["caution"]] if model.about.get("caution") else []
    remarks = [*caution, *outside]  # those on the row's values are in the explanation
    named = "" if rows.id_name == "row" else f" ({rows.id_name} {rows.identifiers[k]})"
    say(printable(f"Row {arguments.row} of {rows.name}{named}\n{explained!r}\n"))
    say(printable("".join(f"note: {one_line(note)}\n" for note in [*remarks, *notes])), aside=True)
    return 0
