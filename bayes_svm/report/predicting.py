"""Predictions of new rows: probability, interval, and an answer or the advice to ask a person."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bayes_svm.utils.metaestimators import decided
from bayes_svm.utils.types import Array, Indices

from .saved import SavedModel
from .tables.new_rows import NewRows
from .text import at_most, printable

__all__ = ["ASK", "explained_row", "outside_intervals", "predicted_columns"]

# The answer where the model should not give one.
ASK = "ask a person"
# From this share of the way to what is said where nothing is known, a row is unlike the training data.
UNLIKE = 0.5


def predicted_columns(model: SavedModel, rows: NewRows) -> dict[str, list[Any]]:
    """The columns of the file of predictions.

    Parameters
    ----------
    model : SavedModel
        The model.
    rows : NewRows
        The rows.

    Returns
    -------
    dict of str to list
        Identifier, predicted class, probabilities with their intervals, the answer, and why there is none.
        Cells are empty where a missing value forbids a prediction.
    """
    complete = ~rows.frame.isna().any(axis=1).to_numpy()
    known = np.flatnonzero(complete | model.impute)
    classes, n = np.asarray(model.estimator.classes_), len(complete)
    probability, low, high = (np.full((n, len(classes)), np.nan) for _ in range(3))
    unlike = np.zeros(n, dtype=bool)
    number = np.zeros(n, dtype=np.intp)
    if known.size:
        X = _features(model, rows, known)
        probability[known] = model.estimator.predict_proba(X)
        low[known], high[known] = _intervals(model.estimator, X)
        unlike[known] = _moderation(model.machine, X) >= UNLIKE
        number[known] = _predicted(model, probability[known])
    reasons = [_reason(model, rows, k, probability[k, number[k]], bool(unlike[k])) for k in range(n)]
    labels = [str(label) for label in classes]
    shown = list(range(len(labels)))
    if len(labels) == 2:
        shown = [labels.index(str(model.positive))]
    predicted = ["" if np.isnan(probability[k, 0]) else labels[number[k]] for k in range(n)]
    columns: dict[str, list[Any]] = {"predicted": predicted}
    for c in shown:
        columns[f"probability_{labels[c]}"] = _cells(probability[:, c])
        columns[f"low_{labels[c]}"] = _cells(low[:, c])
        columns[f"high_{labels[c]}"] = _cells(high[:, c])
    columns["answer"] = [ASK if why else one for why, one in zip(reasons, predicted, strict=True)]
    columns["reason"] = reasons
    # The user's column may be named like one of these.
    heading = rows.id_name if rows.id_name not in columns else f"id_{rows.id_name}"
    return {heading: rows.identifiers.tolist(), **columns}


def outside_intervals(columns: dict[str, list[Any]]) -> int:
    """Number of probabilities outside their intervals, as they are printed."""
    found = 0
    for name in [name.removeprefix("probability_") for name in columns if name.startswith("probability_")]:
        if f"low_{name}" in columns:
            cells = zip(*(columns[f"{end}_{name}"] for end in ("low", "probability", "high")), strict=True)
            found += sum(p != "" and not low <= p <= high for low, p, high in cells)
    return found


def _features(model: SavedModel, rows: NewRows, known: Indices) -> Array:
    """What the machine sees of some rows."""
    return np.ascontiguousarray(model.transformer.transform(rows.frame.iloc[known]), dtype=float)


def _intervals(estimator: Any, X: Array) -> tuple[Array, Array]:
    """Lower and upper ends of the probability of every class."""
    found = np.asarray(estimator.predict_interval(X))
    if found.ndim == 2:
        found = np.stack([1.0 - found[:, ::-1], found], axis=1)
    return found[:, :, 0], found[:, :, 1]


def _moderation(machine: Any, X: Array) -> Array:
    """How far each row is from the training data: 0 among them, 1 where they say nothing."""
    reading, logs = machine._reading(X), machine._log_proba(X)
    found = np.zeros(len(X))
    if reading is None:
        return found
    several = len(machine.classes_) > 2
    problem = decided(np.exp(logs), machine.class_weight_) if several else np.zeros(len(X), dtype=np.intp)
    for k in np.unique(problem):
        moderation = machine._probabilities.links[k].moderation(reading.reshape(len(X), -1)[:, k])
        if moderation is not None:
            found[problem == k] = moderation[problem == k]
    return found


def _predicted(model: SavedModel, probability: Array) -> Indices:
    """Numbers of the classes predicted: by the threshold if there is one, otherwise as ``predict`` does."""
    if model.threshold is None:
        return decided(probability, np.asarray(model.estimator.class_weight_))
    positive = np.asarray(model.estimator.classes_).tolist().index(model.positive)
    others = probability.copy()
    others[:, positive] = -1.0
    return np.where(probability[:, positive] >= model.threshold, positive, others.argmax(axis=1))


def _reason(model: SavedModel, rows: NewRows, k: int, confidence: float, unlike: bool) -> str:
    """Why a person should be asked; the empty string if the answer stands."""
    found = at_most(rows.remarks[k])
    if not model.impute:
        missing = at_most([f"missing value in column {printable(name)}" for name in rows.missing[k]])
        found = [*missing, *found]
    if np.isnan(confidence):
        return "; ".join(found)
    if unlike:
        found.append("unlike the training data")
    if model.promise is not None:
        if model.promise["reason"] is not None:
            found.append(f"nothing keeps the risk below {model.promise['max_risk']:g}")
        elif confidence < model.promise["threshold"]:
            least = model.promise["threshold"]
            digits = next(k for k in range(3, 18) if f"{confidence:.{k}g}" != f"{least:.{k}g}")
            found.append(f"probability {confidence:.{digits}g} below {least:.{digits}g}")
    return "; ".join(found)


def _cells(values: Array) -> list[Any]:
    """Numbers with six digits; an empty cell where there is none."""
    return ["" if np.isnan(value) else float(f"{value:.6g}") for value in values]


def explained_row(model: SavedModel, rows: NewRows, k: int) -> Any:
    """What the prediction of one row rests on.

    Parameters
    ----------
    model : SavedModel
        The model.
    rows : NewRows
        The rows.
    k : int
        Number of the row, from 0.

    Returns
    -------
    Explanation
        Of the one machine, or of the machine of largest weight; its training rows have their identifiers.
    """
    X = _features(model, rows, np.array([k]))
    found = model.machine.explain(X)
    probability = np.asarray(model.estimator.predict_proba(X))
    number = int(_predicted(model, probability)[0])
    label = np.asarray(model.estimator.classes_)[number]
    notes = [model.approximate]
    if model.threshold is not None:
        notes.insert(
            0, f"bayes-svm predict says {label}: it says {model.positive} from {model.threshold:.3g} on"
        )
    elif found.predicted != label:
        notes.insert(0, f"bayes-svm predict says {label}")
    unlike = bool(_moderation(model.machine, X)[0] >= UNLIKE)
    if why := _reason(model, rows, k, float(probability[0, number]), unlike):
        notes.insert(0, f"bayes-svm predict asks a person: {why}")
    if hasattr(model.estimator, "weights_"):
        weights = model.estimator.weights_
        heaviest = "only machine" if len(weights) == 1 else f"heaviest of {len(weights)} machines"
        if model.machine.class_weight == "balanced" and np.ptp(model.estimator.class_weight_) == 0.0:
            notes.insert(
                0,
                "in its training mistakes in the rarer class cost more, for the sake of the probability: the "
                "sign of its decision value is no prediction",
            )
        notes.insert(
            0,
            f"this is the {heaviest}, with weight {weights.max():.2f}; the whole gives {label} a probability "
            f"of {probability[0, number]:.3f}",
        )
    named = {
        part: tuple(replace(one, row=model.identifiers[one.row].item()) for one in getattr(found, part))
        for part in ("supporting", "opposing")
    }
    return replace(found, note="; ".join(notes), **named)
