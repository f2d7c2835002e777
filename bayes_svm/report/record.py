"""The contents of a report, and what the keys of its JSON form mean."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from . import measures
from .aims import Aims, Decision, Rejection

__all__ = [
    "KEYS",
    "ClassCount",
    "MachineRecord",
    "Model",
    "Performance",
    "Report",
    "Settings",
    "Source",
    "Surprise",
    "ValueWithInterval",
    "as_data",
]

# What the keys of the JSON report mean. The report contains this table too.
KEYS = {
    "source": "the data: file name, target column, rows, columns, and notes on how they were read",
    "model": "the fitted machine; `machines` has one entry for two classes, one per class for more",
    "model.machines": "numbers of free and bounded support vectors, KKT residual, relative duality gap; "
    "whether the solution is exact, and the reason if it is not",
    "model.gamma_value": "the kernel width in use; null for a linear kernel",
    "model.statuses": "how the left-out values were found: number of values by status",
    "model.seconds": "wall time of the fit, leaving out included",
    "positive": "the class that recall, precision and thresholds are about; null for more than two classes",
    "performance": "error, recall, precision and F1 of the left-out predictions, each {value, low, high} "
    "with a 95 % Wilson interval. For each prediction the row's stratum is left out: one row of the rarest "
    "class and its share of the others. For more than two classes recall, precision and F1 are averages "
    "over the classes, without intervals",
    "per_class": "the same of each class against the rest (empty for two classes)",
    "papers": "estimates of the literature, which judge the sign of the decision value and not the "
    "prediction: on the training rows, xi-alpha, span, and exact leave-one-out of single rows. For more "
    "than two classes they are averages over the machines, each of one class against the rest",
    "reliability": "bins of the left-out probability (positive class; most probable class for more than "
    "two): rows, mean prediction, observed share, Clopper-Pearson 95 % interval",
    "scores": "log loss and Brier score of the left-out probabilities, and of always predicting the "
    "base rates",
    "thresholds": "precision and recall against the threshold on a class's left-out probability, at "
    f"most {measures.MAX_POINTS} points each",
    "risk_coverage": "error rate among the rows kept if the least confident rows are rejected first; `area` "
    "is the area under that curve",
    "decision": "the threshold for --precision, --recall or --cost, and its decisions on the left-out rows; "
    "null if not asked for; `reason` says why there is no threshold",
    "rejection": "the confidence from which on rows are answered, so that the error stays below --max-risk. "
    "It is chosen as on held-out data, at 90 %; on left-out probabilities this is no guarantee; null if not "
    "asked for",
    "surprising": "the rows whose own labels are least probable when they are left out: `row` counts data "
    "rows from 1 (without the header), `probability` is that of their own label, `interval` is the lower and "
    "upper end of its Venn-Abers probability interval (not a confidence interval), from the left-out "
    "decision values of the other rows, `predicted` is the most probable class",
}


@dataclass(frozen=True)
class Settings:
    """What the user chose.

    Parameters
    ----------
    C : float or None
        Cost of a training mistake; None to try several.
    kernel : str
        Name of the kernel.
    gamma : str, float or None
        "scale", "auto" or a positive number; None to try several.
    impute : bool
        Whether missing values are filled in.
    aims : Aims
        What the user asks of the decisions.
    quick : bool
        Whether one setting is fitted; C and gamma that are None then take their defaults.
    positive : str or None
        The class that recall, precision and thresholds are about, as the user typed it.
    class_weight : str, dict or None
        Costs of the classes by their names, "balanced", or None.
    """

    C: float | None = None
    kernel: str = "rbf"
    gamma: str | float | None = None
    impute: bool = False
    aims: Aims = field(default_factory=Aims)
    quick: bool = False
    positive: str | None = None
    class_weight: str | dict[str, float] | None = None


@dataclass(frozen=True)
class ValueWithInterval:
    """A value with its 95 % interval.

    Parameters
    ----------
    value : float
        The value; NaN if it is not defined.
    low : float
        Lower end of the interval; NaN if there is no interval.
    high : float
        Upper end of the interval; NaN if there is no interval.
    """

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Performance:
    """One row of the table of error, recall, precision and F1.

    Parameters
    ----------
    name : str
        Name of the row: an estimate or a class.
    error : ValueWithInterval
        Share of wrong decisions.
    recall : ValueWithInterval
        Recall.
    precision : ValueWithInterval
        Precision.
    f1 : ValueWithInterval
        F1.
    """

    name: str
    error: ValueWithInterval
    recall: ValueWithInterval
    precision: ValueWithInterval
    f1: ValueWithInterval


@dataclass(frozen=True)
class Source:
    """Where the rows came from.

    Parameters
    ----------
    name : str
        File name, or the name of the embedded data set.
    target : str
        Name of the column with the labels.
    n_rows : int
        Number of rows.
    n_columns : int
        Number of feature columns.
    notes : tuple of str
        What the user should know about the data and the fit.
    """

    name: str
    target: str
    n_rows: int
    n_columns: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ClassCount:
    """A class and its number of rows.

    Parameters
    ----------
    label : str
        Label of the class.
    n : int
        Number of its rows.
    """

    label: str
    n: int


@dataclass(frozen=True)
class MachineRecord:
    """One trained SVM.

    Parameters
    ----------
    label : str
        The class that it tells from the other, or from all others.
    n_free : int
        Number of free support vectors.
    n_bounded : int
        Number of bounded support vectors.
    kkt_residual : float
        Largest violation of the optimality conditions.
    relative_gap : float
        Duality gap relative to the objective.
    exact : bool
        Whether the solution is exact.
    reason : str or None
        Why it is not exact.
    """

    label: str
    n_free: int
    n_bounded: int
    kkt_residual: float
    relative_gap: float
    exact: bool
    reason: str | None


@dataclass(frozen=True)
class Model:
    """The fitted model as a whole.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    C : float
        Cost of a training mistake.
    gamma : str, float or None
        The gamma that the user chose; None for the linear kernel.
    gamma_value : float or None
        Its value; None for the linear kernel.
    n_features : int
        Number of features after encoding.
    classes : tuple of ClassCount
        The classes.
    n_support : int
        Number of rows that are support vectors.
    machines : tuple of MachineRecord
        The single machine of two classes, or one machine per class.
    statuses : dict
        Number of left-out values by the way in which they were found.
    seconds : float
        Wall time of the fit, leaving out included.
    """

    kernel: str
    C: float
    gamma: str | float | None
    gamma_value: float | None
    n_features: int
    classes: tuple[ClassCount, ...]
    n_support: int
    machines: tuple[MachineRecord, ...]
    statuses: dict[str, int]
    seconds: float


@dataclass(frozen=True)
class Surprise:
    """A row whose own label is improbable when the row is left out.

    Parameters
    ----------
    row : int
        Number of the row, from 1, without the header.
    label : str
        Its label.
    probability : float
        Left-out probability of its label.
    interval : tuple of float
        Lower and upper end of the label's probability interval.
    predicted : str
        The most probable class.
    predicted_probability : float
        Left-out probability of that class.
    values : dict
        Values of the first columns, by name.
    """

    row: int
    label: str
    probability: float
    interval: tuple[float, float]
    predicted: str
    predicted_probability: float
    values: dict[str, Any]


@dataclass(frozen=True)
class Report:
    """Everything that a report shows.

    Parameters
    ----------
    source : Source
        Where the rows came from.
    model : Model
        The fitted model.
    positive : str or None
        The positive class; None for more than two classes.
    performance : Performance
        Error, recall, precision and F1 of the left-out predictions.
    per_class : tuple of Performance
        The same for each class against the rest; empty for two classes.
    papers : tuple of Performance
        Estimates of the literature.
    reliability : Reliability
        Reliability diagram of the left-out probabilities.
    scores : Scores
        Log loss and Brier score of the left-out probabilities.
    thresholds : tuple of ThresholdPoints
        Precision and recall against the threshold, for the positive class or for every class.
    risk_coverage : RiskCoveragePoints
        Error rate among the rows kept, against their share.
    surprising : tuple of Surprise
        The rows whose own labels are least probable.
    decision : Decision or None
        The threshold that the user asked for.
    rejection : Rejection or None
        The rejection that the user asked for.
    """

    source: Source
    model: Model
    positive: str | None
    performance: Performance
    per_class: tuple[Performance, ...]
    papers: tuple[Performance, ...]
    reliability: measures.Reliability
    scores: measures.Scores
    thresholds: tuple[measures.ThresholdPoints, ...]
    risk_coverage: measures.RiskCoveragePoints
    surprising: tuple[Surprise, ...]
    decision: Decision | None = None
    rejection: Rejection | None = None


def as_data(value: Any) -> Any:
    """Convert a value to what strict JSON can hold; NaN and infinity become None.

    Parameters
    ----------
    value : object
        Dataclasses, dicts, sequences, arrays, numbers, strings or None, nested in any way.

    Returns
    -------
    object
        Dicts, lists, numbers, strings and None.
    """
    if hasattr(value, "__dataclass_fields__"):
        return {one.name: as_data(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, dict):
        return {str(key): as_data(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [as_data(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
