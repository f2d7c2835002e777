"""Reading a table from the user, and deciding what each of its columns is."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bayes_svm.report.errors import InputError
from bayes_svm.report.optional import needs

from .findings import Finding, change_of, done_of, notes_of, weight_of
from .labels import labels_of, positive_of
from .leaks import copied_rows, leak_of, worth_knowing
from .names import counted, listed, resolved, short, unknown_column
from .numerals import only_in_thousands, possible_decimals
from .options import Options
from .parsing import Parsed, parsed
from .source import Source, read_source
from .spellings import as_whole, merged_spellings, plain
from .table import Column, Table
from .values import MARKERS, Values, read_values
from .weights import of_mean_one, weights_in

if TYPE_CHECKING:
    import pandas as pd

    from bayes_svm.utils.types import Indices

__all__ = ["HUGE", "breast_cancer_table", "decimal_of", "read_table", "verbatim"]

# The user says nothing about the table.
AS_IT_IS = Options()
# Largest number in a column. The squares of much larger ones overflow, and so does the variance.
HUGE = 1e150
# Number of different texts of a column that are looked at for decimal marks.
N_LOOKED_AT = 1000
LEADING_ZEROS = re.compile(r"^0+(?=\d)")


def breast_cancer_table() -> Table:
    """Return scikit-learn's embedded breast cancer data (Wisconsin, 569 tumours, 30 measurements)."""
    needs("pandas")
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    labels = np.asarray(data.target_names, dtype=str)[data.target.to_numpy()]
    return Table(
        "breast cancer (Wisconsin, embedded in scikit-learn)",
        "diagnosis",
        data.data,
        labels,
        identifiers=np.arange(1, len(labels) + 1),
        columns=tuple(Column(name, "number") for name in data.data.columns),
    )


@dataclass(frozen=True)
class _Roles:
    """The columns that are no features, and why a column is none."""

    target: str
    special: dict[str, str]
    dropped: dict[str, str]
    kept: frozenset[str]


def read_table(path: str | Path, target: str, options: Options = AS_IT_IS) -> Table:
    """Read a table and check it.

    Parameters
    ----------
    path : str or Path
        A CSV, parquet or Excel file, perhaps packed by gzip; "-" for standard input.
    target : str
        Name of the column with the labels.
    options : Options
        What the user said about the table.

    Returns
    -------
    Table
        The features and labels, with notes on everything that was decided.

    Raises
    ------
    InputError
        If anything is wrong with the file or its columns; the message says what to do.
    """
    needs("pandas")
    source = read_source(path)
    as_text = [name for name in (target, options.id, options.groups) if name is not None]
    file = parsed(source, [*as_text, *options.only], as_text, options)
    frame, notes = file.frame, file.notes
    roles = _roles(frame, target, options, source.name)
    labels, findings = labels_of(frame[target], kept=target in roles.kept, missing=options.missing)
    decimal = decimal_of(source, replace(file, frame=frame.drop(columns=[target, *roles.special])), options)
    if file.padded is not None:
        frame = frame.assign(**file.padded.loc[frame.index])  # what reads the values has to see the zeros
    weights = weights_in(frame, options, decimal, notes)
    if weights is not None and not weights.all():
        notes.append(f"Rows of weight 0 left out: {int((weights == 0).sum())}.")
        frame, labels, weights = frame[weights > 0], labels[weights > 0], weights[weights > 0]
        try:
            labels_of(frame[target], kept=target in roles.kept, missing=options.missing)
        except InputError as err:
            raise InputError(f"without the rows of weight 0, {err}") from None
    if weights is not None and options.counts is None:
        weights = of_mean_one(weights)
    read, found = _features(frame, labels, roles, decimal, options)
    columns = _columns(frame, read, found, roles, options)
    features = {one.name: read[one.name].values for one in columns if one.kind != "left out"}
    groups, merged = _groups(frame, options)
    numbers = frame.index.to_numpy() + 1
    # What may be wrong with the columns comes before how the file was read.
    every = [*findings, *merged, *(one for name in frame.columns for one in found.get(name, []))]
    notes = [*notes_of(sorted(every, key=weight_of)), *notes]
    notes += _check(features, found, target, options.impute)
    learned = _frame(features)
    if groups is not None and options.counts is None and len(np.unique(groups)) == len(groups):
        notes.append(
            f"Every row has a group of its own in {short(str(options.groups))}, so that single rows leave: "
            "give --groups the column that says which rows belong together, such as those of one patient."
        )
    if options.groups is None and options.counts is None:
        notes += copied_rows(learned, labels)
    return Table(
        name=source.name,
        target=target,
        frame=learned,
        labels=labels,
        notes=tuple(notes),
        rows=numbers,
        identifiers=numbers if options.id is None else verbatim(frame[options.id]),
        id_name=options.id,
        decimal=decimal,
        groups=groups,
        weights=weights,
        counted=options.counts is not None,
        positive=positive_of(options.positive, labels, target),
        fingerprint=source.fingerprint,
        columns=tuple(columns),
    )


def decimal_of(source: Source, file: Parsed, options: Options, usual: str | None = None) -> str | None:
    """The decimal mark of all columns, if the columns in which it is clear agree on one.

    Parameters
    ----------
    source : Source
        The file.
    file : Parsed
        Its columns as they were parsed.
    options : Options
        What the user said.
    usual : {".", ","} or None
        The decimal mark of the training table, if it is known.

    Returns
    -------
    {".", ","} or None
        The mark; ``usual`` if it is not clear, and None if columns differ.

    Raises
    ------
    InputError
        If points may separate thousands.
    """
    if options.decimal is not None:
        return options.decimal
    marks, unclear = _marks(file)
    # Where semicolons separate the cells, decimals are usually written with commas.
    commas = usual == "," or (usual is None and file.sep == ";")
    if unclear and (marks == {","} or (commas and not marks)):
        again = parsed(source, unclear, unclear, options).frame
        for name in unclear:
            texts = again[name].dropna().tolist()
            if only_in_thousands(texts):
                example = next(text for text in texts if "." in text)
                raise InputError(
                    f"column {short(name)} has numbers such as {short(example)}: say what the point means "
                    "with --decimal , or --decimal ."
                )
    if unclear:
        marks.add(".")
    return marks.pop() if len(marks) == 1 else None if marks else usual


def _marks(file: Parsed) -> tuple[set[str], list[str]]:
    """Decimal marks that are clear, and columns of numbers whose points could separate thousands."""
    import pandas as pd

    marks: set[str] = set()
    unclear = []
    for name in file.frame.columns:
        column = file.frame[name]
        if pd.api.types.is_float_dtype(column):
            if file.sep is None:
                continue  # a cell that is a number has no mark
            values = column.to_numpy(dtype=float)
            parts = values[np.isfinite(values) & (values != np.round(values))]
            # "0.172" and "1.2345" are no thousands.
            thousands = (parts == np.round(parts, 3)) & (np.abs(parts) >= 1.0) & (np.abs(parts) < 1000.0)
            if parts.size and thousands.all():
                unclear.append(name)
            elif parts.size:
                marks.add(".")
        elif not pd.api.types.is_numeric_dtype(column):
            for text in column.dropna().unique()[:N_LOOKED_AT]:
                possible = possible_decimals([str(text).strip()])
                marks.update(possible if len(possible) == 1 else ())
    return marks, unclear


def _roles(frame: pd.DataFrame, target: str, options: Options, name: str) -> _Roles:
    """What the user said about columns, checked."""
    columns = list(frame.columns)
    if target not in columns:
        raise unknown_column(target, columns, "--target", name)
    special: dict[str, str] = {}
    for one, option, topic in (
        (options.id, "--id", "names rows"),
        (options.groups, "--groups", "groups rows"),
        (options.weights, "--weights", "weighs rows"),
        (options.counts, "--counts", "counts rows"),
    ):
        if one is None:
            continue
        if one not in columns:
            raise unknown_column(one, columns, option, name)
        if one == target:
            raise InputError(f"{option} {short(one)} is the target itself; give another column")
        special.setdefault(one, topic)
    drop, only, keep = (
        resolved(given, columns, option, name)
        for given, option in ((options.drop, "--drop"), (options.only, "--only"), (options.keep, "--keep"))
    )
    for option, given in (("--drop", drop), ("--only", only)):
        if target in given:
            raise InputError(f"{option} names the target {short(target)}; leave it out there")
    both = [one for one in keep if one in drop]
    if both:
        raise InputError(f"--drop and --keep both name {short(both[0])}; name it in one of them")
    dropped = dict.fromkeys(drop, "dropped")
    unread = [one for one in keep if only and one not in {*only, target}]
    if unread:
        raise InputError(f"--keep names {short(unread[0])}, which --only leaves out; name it there too")
    if only:
        spoken_of = {target, *only, *dropped}
        dropped.update({one: "not chosen" for one in columns if one not in spoken_of})
    return _Roles(target, special, dropped, frozenset(keep))


def _features(
    frame: pd.DataFrame, labels: np.ndarray, roles: _Roles, decimal: str | None, options: Options
) -> tuple[dict[str, Values], dict[str, list[Finding]]]:
    """The values of every column that may be a feature, and what was found in every column."""
    y = np.unique(labels, return_inverse=True)[1]
    # Numbers that are too large are refused afterwards.
    with np.errstate(over="ignore", invalid="ignore"):
        return _read_features(frame, y, roles, decimal, options)


def _read_features(
    frame: pd.DataFrame, y: Indices, roles: _Roles, decimal: str | None, options: Options
) -> tuple[dict[str, Values], dict[str, list[Finding]]]:
    """The same, for labels that are numbers of classes."""
    read: dict[str, Values] = {}
    found: dict[str, list[Finding]] = {}
    for name in frame.columns:
        topic = roles.special.get(name) or roles.dropped.get(name)
        if name == roles.target or topic:
            found[name] = [Finding(name, topic)] if topic else []
            continue
        kept = name in roles.kept
        values = read_values(frame[name], decimal=decimal, kept=kept, missing=options.missing)
        leak = None if values.kind == "left out" else leak_of(values.values, name, y, dates=bool(values.date))
        if leak is not None and not (kept and leak != "empty"):
            about = worth_knowing(values.values, name, y, left_out=True)
            read[name] = replace(values, kind="left out")
            spelt = [one for one in values.findings if one.topic == "spelling"]  # which may have made it so
            found[name] = [Finding(name, leak), *about, *spelt]
        else:
            left_out = values.kind == "left out" or kept
            read[name] = values
            found[name] = values.findings + worth_knowing(values.values, name, y, left_out)
    return read, found


def _columns(
    frame: pd.DataFrame,
    read: dict[str, Values],
    found: dict[str, list[Finding]],
    roles: _Roles,
    options: Options,
) -> list[Column]:
    """A record for each column but the target."""
    return [
        Column(
            name=name,
            kind=read[name].kind if name in read else "left out",
            done=done_of(found[name]),
            change=change_of(found[name]),
            date=read[name].date if name in read else "",
            missing=(*options.missing, *(one.example for one in found[name] if one.topic == "marker")),
            per_cent=None if name in roles.kept else any(one.topic == "per cent" for one in found[name]),
        )
        for name in frame.columns
        if name != roles.target
    ]


def _frame(features: dict[str, np.ndarray]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({name: pd.Series(values, dtype=values.dtype) for name, values in features.items()})


def _check(
    features: dict[str, np.ndarray], found: dict[str, list[Finding]], target: str, impute: bool
) -> list[str]:
    """Refuse features that cannot be learned from; return a note on values to be filled in."""
    if not features:
        raise InputError(
            f"no column besides the target {short(target)} is left to learn from; add feature columns, or "
            "take one in with --keep"
        )
    huge = {
        name: int((np.abs(values) > HUGE).sum())
        for name, values in features.items()
        if values.dtype != object
    }
    if any(huge.values()):
        raise InputError(
            f"numbers that are infinite or beyond {HUGE:g} in {counted(huge)}; replace them, or remove the "
            "rows"
        )
    missing = {name: _n_missing(values) for name, values in features.items()}
    if not any(missing.values()):
        return []
    if not impute:
        # The user sees no empty cell where a text was read as missing.
        marks = [one.example for name in features for one in found[name] if one.topic == "marker"]
        how = f" ({listed(list(dict.fromkeys(marks)))} read as missing)" if marks else ""
        raise InputError(
            f"missing values in {counted(missing)}{how}; fill them in, remove them, or add --impute "
            "(median / most frequent value)"
        )
    filled = sum(missing.values())
    return [f"Missing values filled in with the median or most frequent value of their column: {filled}."]


def _n_missing(values: np.ndarray) -> int:
    return int((values != values).sum())


def _groups(frame: pd.DataFrame, options: Options) -> tuple[np.ndarray | None, list[Finding]]:
    """The group of each row, and a finding if spellings were read as one group.

    Parts of one group that leave apart make the result too good; groups that are too large make it careful.
    """
    if options.groups is None:
        return None, []
    groups = verbatim(frame[options.groups])
    marks = set() if options.groups in options.keep else MARKERS | set(options.missing)
    absent = [text for text in groups.tolist() if text == "" or text in marks or text.lower() in marks]
    if absent:
        written = sorted(set(absent) - {""})
        how = f" (written as {listed(written)}; --keep takes these as groups)" if written else ""
        rows = f"{len(absent)} of {len(groups)} rows{how}"
        raise InputError(f"the group {short(options.groups)} is missing in {rows}; fill it in")
    if options.groups in options.keep:
        return groups, []
    texts, merged = merged_spellings([plain(text) for text in groups], options.groups, key=_same_group)
    told = [
        replace(one, topic="groups alike", count=sum(each.count for each in merged)) for one in merged[:1]
    ]
    return np.array(texts, dtype=str), told


def _same_group(text: str) -> str:
    """What spellings of one group have in common: "P1" and "p1"; "1", "1.0" and "001"."""
    return as_whole(LEADING_ZEROS.sub("", text)).casefold()


def verbatim(column: pd.Series) -> np.ndarray:
    """Values as they are written, without blanks around them."""
    texts = ["" if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
    return np.array([text.strip() for text in texts])
