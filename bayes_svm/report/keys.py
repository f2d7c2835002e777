"""The JSON form of a report, and what its keys mean."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from . import measures

__all__ = ["KEYS", "as_data"]

# What the keys of the JSON report mean. The report contains this table too.
KEYS = {
    "source": "the data: file name, target column, rows, columns and what was done with each, notes on "
    "how they were read, SHA-256 hash of the file, whether rows have weights, and in how many groups they "
    "leave, null without groups",
    "made": "the day, and the versions of Python and of the packages",
    "model": "the fitted model; `mixture` says whether its settings were chosen and mixed by their "
    "left-out values. Intervals and promises of a mixture are approximate: the preprocessing and the "
    "choice saw these rows",
    "model.members": "each setting with its weight in the mixture; `gamma_value` is the kernel width in "
    "use, null for a linear kernel; `balanced` says whether mistakes in the rarer class cost more in its "
    "training, though not in the predictions; `machines` has one entry for two classes, one per class for "
    "more: numbers of free and bounded support vectors, KKT residual, relative duality gap; whether the "
    "solution is exact, and the reason if it is not",
    "model.statuses": "how the left-out values were found: number of values by status",
    "model.seconds": "wall time of the fit, leaving out included",
    "model.costs": "cost of a mistake in each class that the user gave: predicted is the class of largest "
    "cost times probability; empty if all are equal, and the most probable class is predicted",
    "positive": "the class that thresholds are about, and for two classes recall and precision; null for "
    "more than two classes of which none was chosen",
    "performance": "error, recall, precision and F1 of the left-out predictions, each {value, low, high} "
    "with a 95 % Wilson interval: with weights that of as many rows as they are worth, with groups one "
    "that holds that of a beta-binomial model too. For each "
    "prediction the row's stratum is left out, one row of the rarest class and its share of the others, or "
    "its group. For more than two classes recall, precision and F1 are "
    "averages over the classes, without intervals",
    "per_class": "the same of each class against the rest (empty for two classes)",
    "confusion": "number of rows of each class, a list each, that were predicted as each class, left out",
    "base_label": "the most frequent class, by the weights of the rows",
    "base_error": "the error of always predicting it",
    "spreads": "for each class, the number of its rows in each of 20 bins of the left-out probability: "
    "that of the positive class, or with more classes that of the row's own class; and how many "
    "are wrong",
    "trust": "whether the probabilities can be taken at their word: `verdict`, and the bin of the "
    "reliability diagram that it is about, with the interval of its observed share that "
    "holds at 95 % for all `n_bins` bins together; `visible` is the gap that would have been seen in the "
    "fullest bin",
    "reliability": "bins of the left-out probability (positive class; most probable class for more than "
    "two): rows, mean prediction, observed share, its Clopper-Pearson 95 % interval, and (`joint_low`, "
    "`joint_high`) the one that holds for all bins together; with weights and groups as in `performance`",
    "scores": "log loss and Brier score of the left-out probabilities, and of always predicting the base "
    "rates; `gain_error` is the standard error of the difference of the log losses",
    "thresholds": "how many rows are rightly (`found`) and wrongly (`false_alarms`) given a label once "
    "its left-out probability reaches 0, 1, ..., 100 %; `n` rows have the label",
    "answered": "errors among the most confident rows: `n` rows with at least this `confidence`, with a "
    "95 % interval of the `risk`",
    "risk_coverage": "error rate among the rows kept if the least confident rows are rejected first, at "
    f"most {measures.MAX_POINTS} points; `area` is the area under that curve",
    "surprising": "the rows whose own labels are least probable when they are left out: `row` counts "
    "data rows from 1 (without the header), `probability` is that of their own label, `interval` is the "
    "lower and upper end of its Venn-Abers probability interval (not a confidence interval), from the "
    "left-out values of the other rows, `predicted` is the class predicted for it",
    "surprising.0.cells": "values of the row beside the quartiles, or the most frequent text, of its own "
    "class and of the `other` class that it looks like; `own_share` and `other_share` say how usual the "
    "value is in each: the share of rows with a value at least as far out, or with the same text; with "
    "`date` the numbers are days since 1970-01-01",
    "surprising.0.neighbours": "the training rows that speak most for (`supporting`) and against "
    "(`opposing`) what the machine trained on all rows says of it: their part of the decision value, and "
    "the probability without each; null with too many rows",
    "importance": "what left-out predictions lose if one column's values are shuffled among the rows: "
    "fall of the probability of the row's own class and rise of the error, each with its standard error "
    "over the rows, or over their groups; `n_skipped` columns, those whose means differ least between the "
    "classes, were not tried",
    "papers": "estimates of the literature, which judge the sign of the decision value and not the "
    "prediction: on the training rows, xi-alpha, span, and exact leave-one-out of single rows. For more "
    "than two classes they are averages over the machines, each of one class against the rest. For a "
    "mixture they are those of the setting of largest weight",
    "costs": "costs of a false alarm and of a missed one; null if not given",
    "decision": "the threshold for --precision, --recall or --cost, and its decisions on the left-out "
    "rows; null if not asked for; `reason` says why there is no threshold",
    "rejection": "the confidence from which on rows are answered, so that the error stays below "
    "--max-risk. It is chosen as on held-out data, at 90 %; on left-out probabilities this is no "
    "guarantee. Of a group one row counts; null if not asked for",
}


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
