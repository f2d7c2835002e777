"""What a reject option promises, in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayes_svm.decision.risk import rounded_up

__all__ = ["NOTHING_ACCEPTED", "guarantee_of_sets", "guarantee_of_threshold", "no_single_labels"]

NOTHING_ACCEPTED = "No point is accepted, because the target risk cannot be shown."


def guarantee_of_sets(estimator: Any, target_risk: float) -> str:
    """What is promised of the points whose conformal set is one label.

    Parameters
    ----------
    estimator : estimator
        Fitted, with ``predict_set``. Its own ``guarantee_``, a sentence, is repeated.
    target_risk : float in (0, 1)
        The complement of the sets' level.

    Returns
    -------
    str
        The promise.
    """
    own = getattr(estimator, "guarantee_", None)
    return (
        "A new point is accepted and answered wrongly at most as often as its set at "
        f"confidence_level={1 - target_risk:.6g} misses the true label. "
        + ("" if own is None else f"{own} ")
        + "Among the accepted points the share of errors can be larger: at most this, divided by the share "
        "of points accepted."
    )


def guarantee_of_threshold(
    source: str, target_risk: float | None, confidence: float | None, grouped: bool
) -> str:
    """What is promised of the points above a threshold.

    Parameters
    ----------
    source : {"left-out", "held-out", "cross-validation", "nothing"}
        What the threshold was chosen on.
    target_risk : float or None
        The largest share of errors wanted; None if the threshold was chosen for something else.
    confidence : float or None
        The confidence of the tests that chose the threshold; None if it is the plain one.
    grouped : bool
        Whether the tests counted one point of each group.

    Returns
    -------
    str
        The promise.
    """
    if target_risk is None:
        return "Nothing is promised of the share of errors among the accepted points."
    if confidence is None:
        return (
            f"Nothing is promised: at most {target_risk:g} of the accepted {source} answers are wrong, and "
            "of new ones often more."
        )
    new = "new points, one drawn from each group," if grouped else "new points"
    if source == "held-out":
        return (
            f"With probability {confidence:g} over the draw of the held-out points, at most {target_risk:g} "
            f"of the accepted {new} are answered wrongly."
        )
    return (
        f"With probability about {confidence:g} over the draw of the data, at most {target_risk:g} of the "
        f"accepted {new} are answered wrongly; an approximation, because {source} answers are not "
        "independent, nor those of the one classifier that is used."
    )


def no_single_labels(target_risk: float, labels: NDArray[Any], within_classes: bool) -> str | None:
    """Why no conformal set can be a single label, unless ties are broken at random.

    Parameters
    ----------
    target_risk : float in (0, 1)
        The complement of the sets' level.
    labels : array of shape (n_samples,)
        Labels of the rows that new points are compared with.
    within_classes : bool
        Whether a label is compared with the rows of its class only.

    Returns
    -------
    str or None
        Two sentences; None if sets can be single labels.
    """
    sizes, rows = np.array([len(labels)]), "rows"
    if within_classes:
        sizes, rows = np.sort(np.unique(labels, return_counts=True)[1]), "rows of a class"
    # For a single label all others must be refused, and so all classes but one.
    size = int(sizes[min(1, len(sizes) - 1)])
    if target_risk * (size + 1) >= 1 - 1e-9:
        return None
    return (
        f"target_risk={target_risk:g} cannot be shown by conformal sets of {size} {rows}, and every point is "
        "rejected, unless ties are broken at random. The smallest risk that can be shown is "
        f"{rounded_up(1 / (size + 1)):g}: ask for a larger risk, or use more rows."
    )
