"""What a report holds: frozen values only, and what they are called in its JSON form."""

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

# What the keys of the JSON report mean; it carries this table itself.
KEYS = {
    "source": "the data: file name, target column, rows, columns, and notes on how they were read",
    "model": "the fitted machine; `machines` has one entry for two classes, one per class for more",
    "model.machines": "free and bounded support vectors, KKT residual, relative duality gap; `exact` and the "
    "reason if not",
    "model.gamma_value": "the kernel width in use; null for a linear kernel",
    "model.statuses": "how the left-out values were found: number of values by status",
    "model.seconds": "wall time of the fit, leaving out included",
    "positive": "the class that recall, precision and thresholds are about; null for more than two classes",
    "performance": "error, recall, precision, F1 of what the model predicts for each row when the row's "
    "stratum (one row of the rarest class and its share of the others) is left out, each {value, low, high} "
    "with a 95 % interval (Wilson); for more than two classes recall, precision and F1 are averages over "
    "the classes, without intervals",
    "per_class": "the same of each class against the rest (empty for two classes)",
    "papers": "estimates of the literature, which are of the sign of the decision value and not of the "
    "prediction: on the training rows, xi-alpha, span, exact leave-one-out of single rows; for more than two "
    "classes averages over machines of one class against the rest",
    "reliability": "bins of the left-out probability (positive class; most probable class for more than "
    "two): rows, mean prediction, observed share, Clopper-Pearson 95 % interval",
    "scores": "log loss and Brier score of the left-out probabilities, and of always predicting the "
    "base rates",
    "thresholds": "precision and recall against the threshold on a class's left-out probability, at "
    f"most {measures.MAX_POINTS} points each",
    "risk_coverage": "error rate among the rows kept, rejecting the least confident first; `area` is under "
    "that curve",
    "decision": "the threshold for --precision, --recall or --cost, and what the rows come to at it, each "
    "left out; null if not asked for; `reason` says why there is none",
    "rejection": "the confidence from which on the error stays below --max-risk: chosen as on held-out data "
    "at 95 %, but on left-out probabilities, for which that is no guarantee; null if not asked for",
    "surprising": "the rows least expected under the others: `row` counts data rows from 1 (without the "
    "header), `probability` is that of their own label, `predicted` what the model would have said",
}


@dataclass(frozen=True)
class Settings:
    """What the user chose: `gamma` is "scale", "auto" or a positive number."""

    C: float = 1.0
    kernel: str = "rbf"
    gamma: str | float = "scale"
    impute: bool = False
    aims: Aims = field(default_factory=Aims)


@dataclass(frozen=True)
class ValueWithInterval:
    """A value with its 95 % interval; NaN where there is none."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Performance:
    """One row of a table of error, recall, precision and F1."""

    name: str
    error: ValueWithInterval
    recall: ValueWithInterval
    precision: ValueWithInterval
    f1: ValueWithInterval


@dataclass(frozen=True)
class Source:
    """Where the rows came from."""

    name: str
    target: str
    n_rows: int
    n_columns: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ClassCount:
    """A class and its number of rows."""

    label: str
    n: int


@dataclass(frozen=True)
class MachineRecord:
    """One trained SVM: the two-class one, or one class against the rest."""

    label: str
    n_free: int
    n_bounded: int
    kkt_residual: float
    relative_gap: float
    exact: bool
    reason: str | None


@dataclass(frozen=True)
class Model:
    """The fitted model as a whole."""

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
    """A row whose own label was improbable once the row was left out."""

    row: int
    label: str
    probability: float
    predicted: str
    predicted_probability: float
    values: dict[str, Any]


@dataclass(frozen=True)
class Report:
    """Everything a report shows; `KEYS` says what each part is."""

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
    """Return dataclasses, arrays and numbers as what strict JSON can hold: no NaN, no tuples, no numpy."""
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
