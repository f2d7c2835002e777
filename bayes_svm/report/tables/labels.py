"""The classes of a table, from its target column."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_svm.report.errors import InputError

from .findings import Finding
from .names import listed, said, short
from .numerals import LIMIT, possible_decimals
from .values import MARKERS, STAND_INS, as_texts, blanks_in, merged_spellings, plain

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MAX_CLASSES", "as_whole", "labels_of", "positive_of"]

# Largest number of classes. One SVM is trained per class, and nobody reads a page with more of them.
MAX_CLASSES = 50
# A whole number, perhaps written as a float, with a point or a comma ("1,000" may be a thousand); "007" is a
# code.
WHOLE = re.compile(r"([+-]?(?:0|[1-9]\d{0,17}))(?:\.0*|,00?|,0000+)?")


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
        letters = _letters(texts)
        texts, merged = merged_spellings(texts, target, apart=letters)
        findings += merged + _apart(texts, letters, target)
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


def as_whole(text: str) -> str:
    """A whole number as it is written as a label: "1" for "1.0"; any other text as it is."""
    found = WHOLE.fullmatch(text.strip())
    return str(int(found[1])) if found else text


def _letters(texts: list[str | None]) -> set[str]:
    """Texts in lower case whose spellings may be alleles or genotypes: "A" and "a", or "AA", "Aa" and "aa".

    That is so of a letter if there is no other label, and of the same letter twice if all labels are such or
    if it is written with one of them large.
    """
    known = {text for text in texts if text is not None}
    folded = {text.casefold() for text in known}
    twice = {text for text in folded if len(text) == 2 and text.isalpha() and text[0] == text[1]}
    if len(folded) == 1 and len(min(folded)) == 1 and min(folded).isalpha():
        return folded
    mixed = {text.casefold() for text in known if text[:1].isupper() and text[1:].islower()}
    return twice if twice == folded else twice & mixed


def _apart(texts: list[str | None], letters: set[str], target: str) -> list[Finding]:
    """A finding for each of the letters that is written in several ways."""
    ways: dict[str, list[str]] = {}
    for text in sorted({text for text in texts if text is not None and text.casefold() in letters}):
        ways.setdefault(text.casefold(), []).append(text)
    return [Finding(target, "case", 0, one, tuple(others)) for one, *others in ways.values() if others]


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
