"""What the numbers of a report say, in sentences."""

from __future__ import annotations

from dataclasses import dataclass

from .evidence import WIDER
from .formats import MISSING, counted, number, percent, short, value_of
from .record import Report, ValueWithInterval
from .surprises import Cell, Surprise

__all__ = ["Words", "clearly_below", "informative", "told", "words_of"]

# By so many standard errors the probabilities of noise beat the shares of the classes once in twenty times.
ERRORS = 1.645
# Costs of so many classes are told.
MOST_COSTS = 6


@dataclass(frozen=True)
class Words:
    """The sentences of the first screen.

    Parameters
    ----------
    against_base : str
        The error beside that of always predicting the most frequent class.
    verdict : str
        Whether the probabilities can be trusted.
    evidence : str
        The statistic behind the verdict.
    spread : str
        The picture in words.
    costs : str
        The costs of the classes that predictions depend on; empty if all are equal.
    """

    against_base: str
    verdict: str
    evidence: str
    spread: str
    costs: str


def words_of(report: Report) -> Words:
    """Return the sentences of the first screen.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    Words
        The sentences.
    """
    return Words(_against_base(report), _verdict(report), _evidence(report), _spread(report), _costs(report))


def told(cell: Cell, surprise: Surprise) -> str:
    """Say what is usual for a value in the row's own class and in the one that it looks like."""
    own, other = short(surprise.label), short(surprise.other)
    if cell.value is None or isinstance(cell.value, str):
        return (
            f"So are {percent(cell.own_share)} of the other “{own}” rows and {percent(cell.other_share)} of "
            f"the “{other}” rows."
        )
    return (
        f"Usual for “{own}” is {value_of(cell.own.low, cell.date)} to {value_of(cell.own.high, cell.date)}, "
        f"for “{other}” {value_of(cell.other.low, cell.date)} to {value_of(cell.other.high, cell.date)}."
    )


def clearly_below(error: ValueWithInterval, base: float) -> bool:
    """Whether chance is no explanation for an error below that of always giving the same answer.

    Parameters
    ----------
    error : ValueWithInterval
        The left-out error, with its interval.
    base : float
        The error of always predicting the most frequent class.

    Returns
    -------
    bool
        Whether it is below, by more than columns that say nothing reach in one table of forty.
    """
    return error.value + WIDER * (error.high - error.value) < base


def informative(report: Report) -> bool:
    """Whether the model says more than how common each class is, by its errors or its probabilities.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    bool
        False if chance explains what it seems to know.
    """
    return _says_more(report) or clearly_below(report.performance.error, report.base_error)


def _says_more(report: Report) -> bool:
    """Whether the probabilities are better than the shares of the classes by more than chance."""
    found = report.scores
    return found.base_log_loss - found.log_loss > ERRORS * found.gain_error


def _against_base(report: Report) -> str:
    error, base = report.performance.error, report.base_error
    always = f"Always answering “{short(report.base_label)}” would be wrong on {percent(base)}"
    if clearly_below(error, base):
        return f"{always}."
    if error.value < base - 1e-12:
        return f"{always}, which the model does not clearly beat."
    return f"{always}: the model is no better than that."


def _costs(report: Report) -> str:
    given = report.model.costs
    if not given:
        return ""
    some = ", ".join(f"{short(name)} {number(cost)}" for name, cost in list(given.items())[:MOST_COSTS])
    more = "" if len(given) <= MOST_COSTS else ", ..."
    return f"The class of largest cost times probability is predicted, with the costs {some}{more}."


def _verdict(report: Report) -> str:
    groups, verdict = report.source.n_groups, report.trust.verdict
    cases = report.source.n_cases
    rows = f"{report.source.n_rows:,} rows" if cases is None else counted(cases, "case")
    rows += "" if groups is None else f" of {counted(groups, 'group')}"
    if not _says_more(report):
        worse = report.scores.log_loss >= report.scores.base_log_loss
        if clearly_below(report.performance.error, report.base_error):
            if worse or verdict == "off":
                return (
                    "No: it tells the classes apart, but some of its confident probabilities are badly wrong."
                )
            return f"It tells the classes apart, but {rows} are too few to judge its probabilities."
        off = "No: they are off, and" if verdict == "off" else "They"
        says = "say no more" if worse else "do not clearly say more"
        return f"{off} {says} than how common each class is."
    return {
        "good": f"Yes, as far as {rows} can show.",
        "unclear": f"Nothing speaks against it, but {rows} are too few to tell.",
        "slightly off": "Almost: they are off by a little.",
        "off": "No: use them to rank rows, not as probabilities.",
    }[verdict]


def _evidence(report: Report) -> str:
    trust = report.trust
    bins = "the only bin" if trust.n_bins == 1 else f"all {trust.n_bins} bins together"
    exact = "exact " if report.source.alike else ""
    of = f"of “{short(report.positive)}”" if len(report.model.classes) == 2 else "of being right"
    gap = 100 * trust.visible
    digits = ".0f" if gap >= 1.0 else ".1f"
    were = "1 row was" if trust.n == 1 else f"{trust.n:,} rows were"
    case = (
        f"{were} given a chance {of} of {percent(trust.predicted)} on average, and it came "
        f"true for {percent(trust.observed)} ({exact}95 % interval for {bins}: {100 * trust.low:{digits}} to "
        f"{100 * trust.high:{digits}} %)."
    )
    if trust.verdict in ("off", "slightly off"):
        return f"In the bin of probabilities that is furthest off, {case}"
    of_points = counted(round(gap), "point") if gap >= 1.0 else "1 point"
    return (
        "In no bin of probabilities does what came true differ from what was predicted by more than chance. "
        f"In the largest bin, {case} A gap of {of_points} would have been seen there."
    )


def _spread(report: Report) -> str:
    """How many rows of each class are predicted wrongly."""
    parts = [f"{short(one.label)}: {one.wrong:,} of {one.n:,} rows wrong" for one in report.spreads[:12]]
    return "; ".join(parts) or MISSING
