"""The frame of rejected points that a person is to answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayes_svm.decision.answers import answers
from bayes_svm.utils.metaestimators import before_last, last_of, unfrozen
from bayes_svm.utils.types import Array, Indices

__all__ = ["review_frame"]


def review_frame(
    estimator: Any, X: Any, rows: Indices, index: Any, reasons: Callable[[Array], list[str]]
) -> Any:
    """Answers, their probabilities and intervals, and why each point is rejected.

    Parameters
    ----------
    estimator : classifier
        Fitted.
    X : array or sparse matrix of shape (n_rejected, n_features)
        The rejected points.
    rows : array of int of shape (n_rejected,)
        Their positions.
    index : sequence of length n_rejected
        Index of the frame.
    reasons : callable
        Why the points are rejected, given the probabilities of their answers.

    Returns
    -------
    pandas.DataFrame
        As :meth:`bayes_svm.RejectOptionClassifier.review_queue` describes it.

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("review_queue returns a pandas frame: pip install pandas.") from error
    if len(rows) == 0:
        answer, probability, interval = estimator.classes_[:0], np.empty(0), np.empty((0, 2))
    elif hasattr(estimator, "predict_proba"):
        answer, probability = answers(estimator, X)
        interval = _intervals(estimator, X, answer)
    else:
        answer = np.asarray(estimator.predict(X))
        probability, interval = np.full(len(rows), np.nan), _intervals(estimator, X, answer)
    columns = {
        "row": rows,
        "answer": answer,
        "probability": probability,
        "low": interval[:, 0],
        "high": interval[:, 1],
        "reason": np.array(reasons(probability) if len(rows) else [], dtype=object),
    }
    return pd.DataFrame(columns, index=index)


def _intervals(estimator: Any, X: Any, answer: NDArray[Any]) -> Array:
    """Interval of the probability of each answer; NaN if the estimator gives none."""
    estimator = unfrozen(estimator)
    last = last_of(estimator)
    if not hasattr(last, "predict_interval") or getattr(last, "_is_compact", False):
        return np.full((len(answer), 2), np.nan)
    found = np.asarray(last.predict_interval(before_last(estimator, X)))
    column = np.searchsorted(estimator.classes_, answer)
    if found.ndim == 3:
        return np.asarray(found[np.arange(len(answer)), column])
    # Of two classes the interval is that of the second.
    return np.where((column == 1)[:, None], found, 1.0 - found[:, ::-1])
