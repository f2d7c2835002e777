"""The contents of a report."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from . import measures
from .aims import Aims, Decision, Rejection
from .importance import Importance
from .spread import Spread
from .surprises import Surprise
from .trust import Trust

__all__ = [
    "ClassCount",
    "MachineRecord",
    "Made",
    "Member",
    "Model",
    "Performance",
    "Report",
    "Settings",
    "Source",
    "ValueWithInterval",
]


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
    fingerprint : str or None
        SHA-256 hash of the file; None for embedded data.
    columns : tuple of Column
        All columns of the file, with what was done with each.
    weighted : bool
        Whether rows count with weights.
    counted : bool
        Whether the weights are numbers of equal cases.
    n_groups : int or None
        Number of groups in which rows leave; None if they leave by themselves.
    n_cases : int or None
        Number of cases that the rows stand for; None if each is one.
    """

    name: str
    target: str
    n_rows: int
    n_columns: int
    notes: tuple[str, ...]
    fingerprint: str | None = None
    columns: tuple[Any, ...] = ()
    weighted: bool = False
    counted: bool = False
    n_groups: int | None = None
    n_cases: int | None = None

    @property
    def unit(self) -> str:
        """What leaves by itself: "row", or "case" where rows stand for several."""
        return "row" if self.n_cases is None or self.n_groups is not None else "case"

    @property
    def alike(self) -> bool:
        """Whether the rows, or the cases that they stand for, are independent and count alike."""
        return self.n_groups is None and (not self.weighted or self.counted)


@dataclass(frozen=True)
class Made:
    """When and with what a report was made.

    Parameters
    ----------
    date : str
        The day, as 2026-01-31.
    versions : dict
        Version of Python and of each package that the numbers depend on.
    """

    date: str
    versions: dict[str, str]


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
class Member:
    """One fitted setting; a mixture has several.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    C : float
        Cost of a training mistake.
    gamma : str, float or None
        The gamma that was chosen; None for the linear kernel.
    gamma_value : float or None
        Its value; None for the linear kernel.
    weight : float
        Its weight in the mixture; 1 for a single setting.
    balanced : bool
        Whether its mistakes cost more in the rarer class although the user asked for no costs; this was tried
        for the probabilities.
    n_support : int
        Number of rows that are support vectors.
    machines : tuple of MachineRecord
        The single machine of two classes, or one machine per class.
    """

    kernel: str
    C: float
    gamma: str | float | None
    gamma_value: float | None
    weight: float
    balanced: bool
    n_support: int
    machines: tuple[MachineRecord, ...]


@dataclass(frozen=True)
class Model:
    """The fitted model as a whole.

    Parameters
    ----------
    members : tuple of Member
        The single setting, or the members of a mixture.
    mixture : bool
        Whether the settings were chosen, and mixed, by their left-out values.
    n_features : int
        Number of features after encoding.
    classes : tuple of ClassCount
        The classes.
    statuses : dict
        Number of left-out values by the way in which they were found.
    seconds : float
        Wall time of the fit, leaving out included.
    costs : dict
        Cost of a mistake in each class, by which predictions are decided; empty if all are equal.
    """

    members: tuple[Member, ...]
    mixture: bool
    n_features: int
    classes: tuple[ClassCount, ...]
    statuses: dict[str, int]
    seconds: float
    costs: dict[str, float]


@dataclass(frozen=True)
class Report:
    """Everything that a report shows.

    Parameters
    ----------
    source : Source
        Where the rows came from.
    made : Made
        When and with what the report was made.
    model : Model
        The fitted model.
    positive : str or None
        The class that thresholds, recall and precision are about; None if there are more than two classes
        and none was chosen.
    performance : Performance
        Error, recall, precision and F1 of the left-out predictions.
    per_class : tuple of Performance
        The same for each class against the rest; empty for two classes.
    confusion : tuple of tuple of int
        Number of rows of each class, a line each, that were predicted as each class.
    base_label : str
        The most frequent class, by the weights of the rows.
    base_error : float
        Error of always predicting it.
    spreads : tuple of Spread
        How the left-out probabilities of each class are spread.
    trust : Trust
        Whether the probabilities can be taken at their word.
    reliability : Reliability
        Reliability diagram of the left-out probabilities.
    scores : Scores
        Log loss and Brier score of the left-out probabilities.
    thresholds : tuple of ThresholdPoints
        Counts of right and wrong alarms against the threshold, for the positive class or for every class.
    answered : tuple of Answered
        Errors among the most confident rows.
    risk_coverage : RiskCoveragePoints
        Error rate among the rows kept, against their share.
    surprising : tuple of Surprise
        The rows whose own labels are least probable.
    importance : Importance
        Which columns matter.
    papers : tuple of Performance
        Estimates of the literature.
    costs : (float, float) or None
        Costs of a false alarm and of a missed one, if the user gave them.
    decision : Decision or None
        The threshold that the user asked for.
    rejection : Rejection or None
        The rejection that the user asked for.
    """

    source: Source
    made: Made
    model: Model
    positive: str | None
    performance: Performance
    per_class: tuple[Performance, ...]
    confusion: tuple[tuple[int, ...], ...]
    base_label: str
    base_error: float
    spreads: tuple[Spread, ...]
    trust: Trust
    reliability: measures.Reliability
    scores: measures.Scores
    thresholds: tuple[measures.ThresholdPoints, ...]
    answered: tuple[measures.Answered, ...]
    risk_coverage: measures.RiskCoveragePoints
    surprising: tuple[Surprise, ...]
    importance: Importance
    papers: tuple[Performance, ...]
    costs: tuple[float, float] | None = None
    decision: Decision | None = None
    rejection: Rejection | None = None
