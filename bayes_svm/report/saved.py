"""A fitted table in a file: everything that predicting new rows needs, stored without pickle."""

from __future__ import annotations

import io
import platform
import zipfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.utils.validation import check_is_fitted

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.deployment import TRUSTED_TYPES
from bayes_svm.selection.search import BayesSVCSearch

from .aims import CONFIDENCE, decision_for, rejection_for
from .errors import InputError
from .model import FittedTable, deciding_as
from .optional import needs
from .refusals import as_notes
from .tables.features import numeric_columns
from .tables.new_rows import Seen
from .tables.source import memory_limit
from .tables.table import Column
from .text import one_line

__all__ = ["TRUSTED", "SavedModel", "load_model", "model_bytes"]

# What a file says that it is. The number rises when older versions could no longer read it.
FORMAT, FORMAT_NUMBER = "bayes-svm model", 2
# What the transformer holds besides, data only: SimpleImputer the type of its columns, and ColumnTransformer,
# before scikit-learn 1.8, a list of the columns that are left.
TRUSTED = [*TRUSTED_TYPES, "numpy.dtype", "sklearn.compose._column_transformer._RemainderColsList"]
# How such a file begins.
ZIP = b"PK\x03\x04"
# Numbers of a column with at most so many different ones are codes, or counts.
CODED = 10
# Packages that the numbers depend on.
PACKAGES = ("bayes-svm", "scikit-learn", "numpy", "scipy")


@dataclass(frozen=True)
class SavedModel:
    """A model that was read from a file.

    Parameters
    ----------
    transformer : ColumnTransformer
        What turns columns into features, fitted.
    estimator : BayesSVC or BayesSVCSearch
        The fitted machine or mixture.
    columns : tuple of Seen
        The columns that it needs.
    ignored : tuple of str
        Columns of the training table that it does not need.
    identifiers : ndarray of shape (n,)
        Identifiers of the training rows.
    id_name : str or None
        The column that they are from.
    decimal : {".", ","} or None
        Decimal mark of the training table.
    target : str
        Name of the target column.
    positive : object
        The class that the printed probability of two classes is about, and the threshold.
    impute : bool
        Whether missing values are filled in.
    threshold : float or None
        Probability from which on a row is called positive, if the user asked for a threshold.
    promise : dict or None
        What ``--max-risk`` asked for and found.
    approximate : str
        Why intervals and promises hold approximately only.
    about : dict
        Where the model came from: file, fingerprint, date, versions, settings, number of rows, error; and a
        caution to say with its predictions.
    """

    transformer: Any
    estimator: Any
    columns: tuple[Seen, ...]
    ignored: tuple[str, ...]
    identifiers: np.ndarray
    id_name: str | None
    decimal: str | None
    target: str
    positive: Any
    impute: bool
    threshold: float | None
    promise: dict[str, Any] | None
    approximate: str
    about: dict[str, Any]

    @property
    def machine(self) -> Any:
        """The one machine, or that of largest weight in the mixture, which decides as the mixture does."""
        return deciding_as(self.estimator)


def model_bytes(fitted: FittedTable, caution: str = "") -> bytes:
    """The content of the file of a fitted table.

    Parameters
    ----------
    fitted : FittedTable
        The fit.
    caution : str
        What to say with every prediction; the empty string if there is nothing.

    Returns
    -------
    bytes
        A file of skops.

    Raises
    ------
    InputError
        If skops is missing, or if no threshold reaches what the user asked for.
    """
    sio = needs("skops.io", "bayes-svm[report]")
    table, settings = fitted.table, fitted.settings
    y = np.searchsorted(fitted.classes, table.labels)
    wrong = fitted.predicted != y
    confidence = fitted.left_out_proba[np.arange(len(y)), fitted.predicted]
    promise = rejection_for(settings.aims, confidence, wrong, table.groups)
    content = {
        "format": FORMAT,
        "number": FORMAT_NUMBER,
        "transformer": fitted.transformer,
        "estimator": fitted.estimator,
        "columns": [asdict(one) for one in _seen(fitted)],
        "ignored": [one.name for one in table.columns if one.kind == "left out"],
        "identifiers": np.arange(1, len(y) + 1) if table.identifiers is None else table.identifiers,
        "id_name": table.id_name,
        "decimal": table.decimal,
        "target": table.target,
        "positive": None if fitted.positive is None else fitted.classes[fitted.positive].item(),
        "impute": settings.impute,
        "threshold": _threshold(fitted, y),
        "promise": None if promise is None else {**asdict(promise), "confidence": CONFIDENCE},
        "approximate": fitted.approximate,
        "about": {
            "file": table.name,
            "fingerprint": table.fingerprint,
            "date": datetime.now(UTC).date().isoformat(),
            "versions": {"python": platform.python_version(), **{one: version(one) for one in PACKAGES}},
            "settings": asdict(settings),
            "n_rows": len(y),
            "error": float(np.average(wrong, weights=table.weights)),
            "caution": caution,
        },
    }
    found: bytes = sio.dumps(content, compression=zipfile.ZIP_DEFLATED)
    return found


def load_model(path: str | Path) -> tuple[SavedModel, list[str]]:
    """Read a model from a file; only types of scikit-learn, NumPy and this package are made.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    model : SavedModel
        The model.
    notes : list of str
        What the user should know, such as that scikit-learn has another version now.

    Raises
    ------
    InputError
        If the file cannot be read, is no model, has types that a model does not have, or was made by
        another major version.
    """
    sio = needs("skops.io", "bayes-svm[report]")
    name = str(path)
    try:
        raw = _content(Path(path))
    except (OSError, ValueError) as err:
        reason = getattr(err, "strerror", None) or err
        raise InputError(f"cannot read the model {name!r}: {reason}; check --model") from None
    notes: list[str] = []
    try:
        _check_size(raw, name)
        unknown = [one for one in sio.get_untrusted_types(data=raw) if one not in set(TRUSTED)]
        if unknown:
            raise InputError(
                f"{name!r} holds {unknown[0]}, which no model of this version has; it was not loaded: use a "
                "model that bayes-svm fit has made"
            )
        with as_notes(notes):
            content = sio.loads(raw, trusted=TRUSTED)
    except InputError:
        raise
    except Exception as err:
        # skops raises errors of many kinds for a file that is damaged or is none of its own.
        raise InputError(f"{name!r} is no model: {one_line(err)}; make one with bayes-svm fit") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{name!r} is no model of a table; make one with bayes-svm fit ... --save {name}")
    try:
        _check_version(content, name)
        return _model_of(content), notes
    except InputError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as err:
        # Somebody has written another thing into the file.
        raise InputError(
            f"{name!r} is a damaged model: {one_line(err)}; make one with bayes-svm fit"
        ) from None


def _content(path: Path) -> bytes:
    """The bytes of a file; of one that is no ZIP archive, which may be a device without end, the first."""
    with path.open("rb") as file:
        first = file.read(len(ZIP))
        return first + file.read() if first == ZIP else first


def _model_of(content: dict[str, Any]) -> SavedModel:
    """The model with this content; an error of some kind if it is none, or if it cannot read a row."""
    import pandas as pd

    # Older files do not name the column of the identifiers, nor the decimal mark.
    content = {"id_name": None, "decimal": None, **content}
    fields = {key: content[key] for key in SavedModel.__dataclass_fields__}
    fields["columns"] = tuple(
        Seen(**{**one, "values": tuple(one["values"]), "missing": tuple(one["missing"])})
        for one in content["columns"]
    )
    fields["ignored"] = tuple(content["ignored"])
    found = SavedModel(**fields)
    _check_types(found)
    check_is_fitted(found.transformer)
    check_is_fitted(found.machine)
    row = {one.name: [one.low if one.kind == "number" else one.values[0]] for one in found.columns}
    found.machine.decision_function(found.transformer.transform(pd.DataFrame(row)))
    promise = found.promise
    numbers = [found.threshold, *([promise["threshold"], promise["max_risk"]] if promise else [])]
    if not all(one is None or isinstance(one, float) for one in numbers):
        raise TypeError("its thresholds are no numbers")
    if found.positive is not None and found.positive not in found.estimator.classes_.tolist():
        raise ValueError("its positive class is none of its classes")
    return found


def _check_types(model: SavedModel) -> None:
    """Raise TypeError if something is of another type than what `bayes-svm fit` writes."""
    texts = [model.target, model.approximate, *model.ignored, *(one.name for one in model.columns)]
    numbers = [end for one in model.columns for end in (one.low, one.high)]
    promised = {"reason", "threshold", "max_risk"}
    right = (
        len(model.columns) > 0
        and all(isinstance(text, str) for text in texts)
        and all(isinstance(number, float) for number in numbers)
        and all(one.kind in ("number", "text") and isinstance(one.date, str) for one in model.columns)
        and isinstance(model.impute, bool)
        and isinstance(model.about.get("caution", ""), str)
        and (model.promise is None or promised <= set(model.promise))
        and isinstance(model.transformer, ColumnTransformer)
        and isinstance(model.estimator, BayesSVC | BayesSVCSearch)
        and isinstance(model.identifiers, np.ndarray)
        and model.identifiers.shape == (model.about["n_rows"],)
    )
    if not right:
        raise TypeError("its parts are not of the types that a model has")


def _check_size(raw: bytes, name: str) -> None:
    """Refuse what unpacks to more than fits into memory."""
    limit = memory_limit()
    with zipfile.ZipFile(io.BytesIO(raw)) as packed:
        needed = sum(one.file_size for one in packed.infolist())
    if limit is not None and needed > limit:
        raise InputError(f"{name!r} is too large for the {limit / 2**30:.1f} GiB of memory that are free")


def _check_version(content: dict[str, Any], name: str) -> None:
    made, now = content["about"]["versions"]["bayes-svm"], version("bayes-svm")
    if content["number"] != FORMAT_NUMBER or made.split(".")[0] != now.split(".")[0]:
        # A version that is being developed may write another format than it did.
        instead = ", or install that version" if made != now else ", for its format is another"
        raise InputError(
            f"{name!r} was made by bayes-svm {made}, and this is {now}: fit the table again{instead}"
        )


def _seen(fitted: FittedTable) -> list[Seen]:
    """What is known of each column of features."""
    frame, columns = fitted.table.frame, {one.name: one for one in fitted.table.columns}
    numeric = set(numeric_columns(frame))
    found = []
    for name in frame.columns:
        column = columns.get(name, Column(name, ""))
        missing = column.missing
        if name in numeric:
            values = frame[name].to_numpy(dtype=float)
            low, high = float(np.nanmin(values)), float(np.nanmax(values))
            coded = len(np.unique(values[~np.isnan(values)])) <= CODED
            found.append(Seen(name, "number", column.date, low, high, (), missing, column.per_cent, coded))
        else:
            texts = tuple(sorted(set(frame[name].dropna())))
            found.append(Seen(name, "text", values=texts, missing=missing))
    return found


def _threshold(fitted: FittedTable, y: np.ndarray) -> float | None:
    """The threshold of the positive class that the user asked for."""
    positive, aims = fitted.positive, fitted.settings.aims
    if aims.decision is None or positive is None:
        return None
    label = str(fitted.classes[positive])
    probability = fitted.left_out_proba[:, positive]
    found = decision_for(aims, label, y == positive, probability, fitted.table.weights)
    assert found is not None  # a threshold was asked for
    if found.reason is not None:
        raise InputError(f"no model is saved. {found.reason}; ask for less, or for no threshold")
    return found.threshold
