"""Columns that would tell the class without having learned it: row numbers, names, copies of the target."""

from __future__ import annotations

import re
from math import lgamma, log
from typing import TYPE_CHECKING

import numpy as np

from .findings import Finding
from .telling import exceptions_of, few, few_enough

if TYPE_CHECKING:
    import pandas as pd

    from bayes_svm.utils.types import Indices

__all__ = ["copied_rows", "leak_of", "units_in", "worth_knowing"]

# Words that name an identifier as the first or last word of a name, and those that may do so alone.
ID_WORDS = frozenset({"id", "ids", "identifier", "uuid", "guid", "mrn", "barcode", "accession", "rowid"})
ID_NAMES = frozenset({"index", "row", "rows", "rownames", "no", "nr", "number", "key"})
SUBJECT_WORDS = frozenset(
    {"patient", "patients", "subject", "subj", "participant", "person", "donor", "animal", "mouse", "family",
     "household", "customer", "client", "user", "student", "speaker", "author", "pupil", "case", "proband"}
)  # fmt: skip
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Rows of one subject: so many on average, at least and at most this share of all rows.
REPEATS, LARGEST_SHARE = 1.5, 0.1
# A text column with more distinct values than this is more often an identifier than a category.
MANY_TEXTS = 50
# So many texts such as "S07", of one length and with leading zeros, are names of subjects, not of categories.
CODES, CODE, PADDED = 10, re.compile(r"[A-Za-z]{1,5}[-_]?\d{2,8}"), re.compile(r"\D+0")
# So many texts with one beginning, numbered from 0 or 1 on with few gaps ("p1" to "p40"), are so too.
NUMBERED = re.compile(r"([A-Za-z]+[-_ ]?)(\d{1,6})")
# A number with one unit before or after it, and how many different ones a column has at least.
WITH_UNIT = re.compile(r"([^\d\s.,+-]{0,3} ?)[+-]?\d[\d.,'\u2019]*( ?[^\d]{0,8})")
MEASURED = 5
# What stands for a unit beside letters. Numbers that begin with zeros, as those of files do, have none.
CURRENCIES, PADDED_NUMBER = frozenset("$€£¥₹%°"), re.compile(r"-?0\d")
# A column that lacks some values is a copy of the target if so many of each class are there.
COPIED = 5
# So large a share of copies is worth a word, where there are so many more combinations of values than rows.
COPIES, ROOM = 0.01, 10.0
FAR_APART = 0x9E3779B97F4A7C15
# A column in file order would be so by chance less often than this.
BY_CHANCE = 1e-6


def leak_of(values: np.ndarray, name: str, y: Indices, *, dates: bool = False) -> str | None:
    """Why a column is left out.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Floats, or texts as objects; NaN where they are missing.
    name : str
        Name of the column.
    y : ndarray of shape (n,)
        Number of each row's class.
    dates : bool
        Whether the numbers are days.

    Returns
    -------
    str or None
        A topic of the findings; None for a column to learn from.
    """
    codes, n_distinct, there = _codes(values)
    if n_distinct == 0:
        return "empty"
    if not there.all() and np.array_equal(_first_seen(there.astype(int)), _first_seen(y)):
        return "missing by class"
    if n_distinct == 1 and there.all():
        return "constant"
    text, n = values.dtype == object, int(there.sum())
    # "no" and "No", too short to be read as one value, tell the class alike.
    spelled = np.array([str(one).casefold() for one in values], dtype=object) if text else codes
    # A copy may have been lost in some rows; among few others it would be one by chance.
    counts = np.bincount(y[there], minlength=int(y.max()) + 1)
    known = there.all() or (few(len(y) - n, len(y)) and counts.min() >= COPIED)
    same = (np.array_equal(_first_seen(one[there]), _first_seen(y[there])) for one in (codes, spelled))
    if known and any(same):
        return "copy"
    whole = not text and _whole(values)
    # Days are counted from the first, at whatever time of the day; a millionth of a day is below a second.
    numbers = np.round(values - np.nanmin(values), 6) if dates else values
    numbered = (_whole(numbers) if dates else whole) and n_distinct == len(values)
    if numbered and np.ptp(numbers) == len(values) - 1:
        return "daily dates" if dates else "row numbers"
    if text and n_distinct == n:
        return "amounts" if units_in(values[there], name) and _amounts(values[there]) else "all texts"
    if (text or whole) and (_named_like_an_id(name) or (_may_name_an_id(name) and _has_many(codes[there]))):
        return "identifier"
    if not _sorted(y):
        return None
    rising = not text and there.all() and n_distinct > n / 2 and _monotone(values)
    if rising or _in_file_order((codes if text else values)[there], y[there], text):
        return "sorted"
    return None


def worth_knowing(values: np.ndarray, name: str, y: Indices, left_out: bool) -> list[Finding]:
    """What the user should know about a column besides.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Floats, or texts as objects; NaN where they are missing.
    name : str
        Name of the column.
    y : ndarray of shape (n,)
        Number of each row's class.
    left_out : bool
        Whether the column is left out.

    Returns
    -------
    list of Finding
        What was found.
    """
    text = values.dtype == object
    codes, n_distinct, there = _codes(values)
    n = int(there.sum())
    if n == 0:
        return []
    near = [] if left_out else _near_copy(values, name, y)
    if not (text or _whole(values)):
        return near
    found = []
    if not left_out and not text and n_distinct == len(values):
        found.append(Finding(name, "distinct"))
    like_subjects = n_distinct * REPEATS <= n and _has_many(codes[there])
    telling = _named_like_a_subject(name) or (
        text and (n_distinct > MANY_TEXTS or _coded(set(values[there])))
    )
    if like_subjects and telling:
        found.append(Finding(name, "repeats"))
    elif not left_out and text and n_distinct > MANY_TEXTS:
        found.append(Finding(name, "many texts"))
    if not left_out and text:
        found += units_in(values[there], name)
    pairs = len(np.unique(np.column_stack([codes[there], y[there]]), axis=0))
    several = len(np.unique(y)) < n_distinct <= n / 3
    if not left_out and several and pairs == n_distinct:
        found.append(Finding(name, "tells class"))
    else:
        found += near
    return found


def _near_copy(values: np.ndarray, name: str, y: Indices) -> list[Finding]:
    """A finding if a column tells the class of all rows or of nearly all."""
    exceptions = exceptions_of(values, y)
    if not few_enough(exceptions, y):
        return []
    return [Finding(name, "near copy" if exceptions else "splits classes", exceptions)]


def units_in(texts: np.ndarray, name: str) -> list[Finding]:
    """A finding if texts are different numbers with the same unit, such as "45y" and "7y"."""
    different = set(texts)
    units = {match.groups() if (match := WITH_UNIT.fullmatch(text)) else None for text in different}
    if len(different) < MEASURED or len(units) > 1 or not units.isdisjoint({None, ("", "")}):
        return []
    if _coded(different):
        return []
    return [Finding(name, "unit", len(texts), str(texts[0]))]


def _amounts(texts: np.ndarray) -> bool:
    """Whether numbers with a unit are amounts, and not names of files, house numbers or codes."""
    match = WITH_UNIT.fullmatch(texts[0])
    assert match is not None  # they have a unit
    before, after = (part.strip() for part in match.groups())
    if not (before in CURRENCIES if before else after in CURRENCIES or after.isalpha()):
        return False
    numbers = [re.sub(r"[^\d.,-]", "", text) for text in texts]
    if any(PADDED_NUMBER.match(number) or number[-1] in ".," for number in numbers):
        return False
    whole = [int(number) for number in numbers if number.isdecimal()]
    return len(whole) < len(numbers) or min(whole) > 1 or max(whole) >= 2 * len(numbers)


def _coded(different: set[str]) -> bool:
    """Whether texts are codes or numbers, as subjects have them."""
    if len(different) < CODES:
        return False
    one_length = len(set(map(len, different))) == 1
    if one_length and all(map(CODE.fullmatch, different)) and any(map(PADDED.match, different)):
        return True
    numbered = [match for text in different if (match := NUMBERED.fullmatch(text))]
    if len(numbered) < len(different) or len({match[1] for match in numbered}) > 1:
        return False
    numbers = [int(match[2]) for match in numbered]
    return min(numbers) <= 1 and max(numbers) < 2 * len(different)


def _whole(values: np.ndarray) -> bool:
    """Whether there are numbers, and all are whole."""
    known = values[~np.isnan(values)]
    return known.size > 0 and bool((known == np.round(known)).all())


def _codes(values: np.ndarray) -> tuple[Indices, int, np.ndarray]:
    """The number of each value, how many there are, and where there is one."""
    import pandas as pd

    codes, kinds = pd.factorize(values)
    return codes, len(kinds), codes >= 0


def _first_seen(codes: np.ndarray) -> np.ndarray:
    """Codes numbered in the order in which they are first seen: equal for two names of the same thing."""
    import pandas as pd

    return np.asarray(pd.factorize(codes)[0])


def _words(name: str) -> list[str]:
    return [word.lower() for word in WORDS.findall(name)]


def _named_like_an_id(name: str) -> bool:
    words = _words(name)
    return bool(words) and bool(
        ID_WORDS & {words[0], words[-1]}
        or words[0] == "unnamed"
        or (words[-1].endswith("id") and words[-1][:-2] in SUBJECT_WORDS)
    )


def _may_name_an_id(name: str) -> bool:
    """Whether it depends on the values: "student" may hold a name, or yes and no."""
    words = _words(name)
    if len(words) == 2 and words[1] in ("no", "nr"):  # "case_no", but not "no_cases", which counts them
        return words[0] in SUBJECT_WORDS
    return len(words) == 1 and words[0] in ID_NAMES | SUBJECT_WORDS


def _has_many(codes: Indices) -> bool:
    """Whether no value is that of many rows, as names of subjects have it."""
    return bool(np.bincount(codes).max() <= max(2, LARGEST_SHARE * len(codes)))


def _named_like_a_subject(name: str) -> bool:
    return _named_like_an_id(name) or _may_name_an_id(name) or bool(SUBJECT_WORDS & set(_words(name)))


def _sorted(y: Indices) -> bool:
    """Whether each class is one block of the file."""
    return int(np.count_nonzero(np.diff(y))) == len(np.unique(y)) - 1


def _monotone(values: np.ndarray) -> bool:
    steps = np.diff(values)
    return bool((steps >= 0).all() or (steps <= 0).all())


def _in_file_order(values: np.ndarray, y: Indices, text: bool) -> bool:
    """Whether values rise or fall down the file, which those of a shuffled class would not do by chance.

    Texts, which are numbered as they are first seen, have no order but that: each stands in one block.
    """
    if not _monotone(values):
        return False
    pairs, together = np.unique(np.column_stack([y, values]), axis=0, return_counts=True)
    rows, kinds = np.bincount(y), np.bincount(pairs[:, 0].astype(np.intp))
    # The share of the orders within the classes in which equal values stand together: (product of m!) / n!
    # of each class, and for k texts, which may follow each other in any order, k! times as many.
    log_share = _log_factorials(together) - _log_factorials(rows) + (_log_factorials(kinds) if text else 0.0)
    return log_share < log(BY_CHANCE)


def _log_factorials(numbers: np.ndarray) -> float:
    return sum(lgamma(number + 1) for number in numbers)


def copied_rows(frame: pd.DataFrame, labels: np.ndarray) -> list[str]:
    """A note if rows equal others that seem to be copies of them, and would vouch for each other.

    Rows of few different values are equal by chance, and then more of them differ in one column only.

    Parameters
    ----------
    frame : pandas.DataFrame of shape (n, p)
        The features.
    labels : ndarray of shape (n,)
        Class of each row.

    Returns
    -------
    list of str
        The note, if there is one.
    """
    import pandas as pd

    n, own = len(labels), []
    # A row's number is a sum over its columns, so that it can be had without any one of them. The same value
    # has another number in each column.
    for k, one in enumerate([labels, *(frame[name] for name in frame)]):
        number = pd.util.hash_pandas_object(pd.Series(one), index=False).to_numpy()
        own.append(pd.util.hash_array(number + np.uint64(k * FAR_APART % 2**64)))
    rows, first = np.unique(np.sum(own, axis=0), return_index=True)
    copies = n - len(rows)
    room = sum(log(len(np.unique(one))) for one in own)
    if copies < max(2, COPIES * n) or room < log(ROOM * n):
        return []
    if any(len(rows) - len(np.unique(rows - one[first])) >= copies for one in own[1:]):
        return []
    return [
        f"{copies} of {n} rows equal an earlier one in the class and all columns learned from. If they are "
        "copies, not rows that are alike, the error is too hopeful: remove them, or give copies one name in "
        "a column for --groups."
    ]
