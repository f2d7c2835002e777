"""The classes of a table, from its target column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_svm.report.errors import InputError

from .findings import Finding
from .names import listed, said, short
from .numerals import LIMIT, possible_decimals
from .spellings import WHOLE, as_whole, kept_apart, letters_in, merged_spellings, plain
from .values import MARKERS, STAND_INS, as_texts, blanks_in

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MAX_CLASSES", "labels_of", "positive_of"]

# Largest number of classes. One SVM is trained per class, and nobody reads a page with more of them.
MAX_CLASSES = 50


def labels_of(
    column: pd.Series, *, kept: bool, missing: tuple[str, ...] = ()
) -> tuple[np.ndarray, list[Finding]]:
    """The labels, as whole numbers or texts.

    Parameters
    ----------
    column : pandas.Series
        The target column.
    kept : bool
        Whether the labels are to be taken as they are written.
    missing : tuple of str
        Texts that the user calls missing.

    Returns
    -------
    labels : ndarray of shape (n,)
        Integers or strings.
    findings : list of Finding
        Spellings that were read as one class.

    Raises
    ------
    InputError
        If labels are missing, or if they are no classes.
    """
    target = str(column.name)
    texts: list[str | None] = [
        str(value) if there else None for value, there in zip(column, column.notna(), strict=True)
    ]
    findings: list[Finding] = []
    if not kept:
        texts = as_texts(column)
        findings += blanks_in(texts, column)
        texts = [None if text is not None and text.lower() in MARKERS else text for text in texts]
    texts = [None if text in missing else text for text in texts]
    _check_missing(texts, column)
    merged: list[Finding] = []
    if not kept:
        letters = letters_in(texts, labels=True)
        texts, merged = merged_spellings(texts, target, apart=letters)
        findings += merged + kept_apart(texts, letters, target)
    known = [text for text in texts if text is not None]
    labels = _as_numbers(known, target, kept)
    _check_classes(labels, target, merged)
    if not kept:
        findings += _stand_ins(labels, target)
    return labels, findings


def positive_of(text: str | None, labels: np.ndarray, target: str) -> Any:
    """The label that the user calls positive.

    Parameters
    ----------
    text : str or None
        What the user typed.
    labels : ndarray of shape (n,)
        The labels.
    target : str
        Name of the target column.

    Returns
    -------
    object
        The label; None if the user named none.

    Raises
    ------
    InputError
        If there is no such class.
    """
    if text is None:
        return None
    classes = np.unique(labels).tolist()
    for same in (str.strip, plain, as_whole, str.casefold):
        for label in classes:
            if same(str(label)) == same(text):
                return label
    raise InputError(
        f"--positive {short(text)} is no class of {short(target)}; its classes are {listed(classes, 10)}"
    )


def _check_missing(texts: list[str | None], column: pd.Series) -> None:
    target = short(column.name)
    rows = [k for k, text in enumerate(texts) if text is None]
    if not rows:
        return
    shown = ", ".join(str(column.index[row] + 1) for row in rows[:5]) + (", ..." if len(rows) > 5 else "")
    written = sorted({str(column.iloc[row]).strip() for row in rows if column.notna().iloc[row]} - {""})
    how = f", written as {listed(written)}" if written else ""
    raise InputError(
        f"the target {target} is missing in {len(rows)} of {len(texts)} rows (data rows {shown}{how}); fill "
        "in those labels or remove the rows"
    )


def _as_numbers(texts: list[str], target: str, kept: bool) -> np.ndarray:
    """Labels as integers if all are; unless they are kept, other numbers are no classes."""
    different = set(texts)
    whole = {text: int(found[1]) for text in different if (found := WHOLE.fullmatch(text))}
    if len(whole) == len(different):
        return np.array([whole[text] for text in texts])
    # "<50" and ">=50" are classes.
    numbers = [
        text
        for text in different
        if (possible_decimals([text]) and not LIMIT.match(text)) or text.lower().strip("+-") in ("inf", "nan")
    ]
    if not kept and len(numbers) == len(different) and not all(text.isdigit() for text in different):
        broken = min(text for text in different if text not in whole)
        few = f", or {said('--keep', target)} takes them as classes" if len(different) <= MAX_CLASSES else ""
        raise InputError(
            f"the target {short(target)} has numbers that are not whole, such as {short(broken)}; choose a "
            f"--target column with classes{few}"
        )
    return np.array(texts, dtype=str)


def _stand_ins(labels: np.ndarray, target: str) -> list[Finding]:
    """A finding for each class such as -999, if the others are numbers far from it."""
    classes, counts = np.unique(labels, return_counts=True)
    if labels.dtype.kind != "i" or len(classes) < 3:
        return []
    found = []
    for label, count in zip(classes.tolist(), counts.tolist(), strict=True):
        others = classes[classes != label]
        if label in STAND_INS and np.abs(others - label).min() > np.ptp(others):
            found.append(Finding(target, "stand-in", count, str(label)))
    return found


def _check_classes(labels: np.ndarray, target: str, merged: list[Finding]) -> None:
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) == 1:
        only = short(classes[0])
        if merged:
            raise InputError(
                f"the target {short(target)} has one class only, with {merged[0].shown} read as "
                f"one; {said('--keep', target)} takes them as classes"
            )
        raise InputError(
            f"the target {short(target)} has one class only ({only}); give rows of two or more classes"
        )
    if len(classes) > MAX_CLASSES:
        raise InputError(
            f"the target {short(target)} has {len(classes)} different values in {len(labels)} rows, more "
            f"than the {MAX_CLASSES} classes a table may have; choose a --target with classes, or group them"
        )
    if counts.min() == 1:
        single = [str(label) for label in classes[counts == 1]]
        raise InputError(
            f"the target {short(target)} has classes with one row only: {listed(single)}; leave-one-out "
            "needs two or more rows of each class, so correct or remove these rows, or add more"
        )
