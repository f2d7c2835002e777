"""The rules by which points are rejected: parameters of which one is given."""

from __future__ import annotations

from typing import Any

from bayes_svm.utils.metaestimators import check_instance

__all__ = ["check_rules", "fixed_threshold", "rule_in_words"]

# The parameters that decide which points are rejected, of which at most one is given.
RULES = ("threshold", "cost", "target_risk", "target_coverage")


def check_rules(model: Any) -> None:
    """Raise ValueError if the parameters of a RejectOptionClassifier exclude each other, or need others.

    Parameters
    ----------
    model : RejectOptionClassifier
        It need not be fitted.

    Raises
    ------
    ValueError
        If more than one rule is given, or a guarantee without ``target_risk``; or if the estimator cannot
        give what the rule needs.
    """
    check_instance(model.estimator)
    given = [name for name in RULES if getattr(model, name) is not None]
    if len(given) > 1:
        raise ValueError(f"Give only one of {', '.join(RULES)}: got {' and '.join(given)}.")
    if model.guarantee is not None and model.target_risk is None:
        raise ValueError(f"guarantee={model.guarantee!r} needs target_risk, the risk to promise.")
    kind = type(model.estimator).__name__
    if model.guarantee == "conformal":
        if not hasattr(model.estimator, "predict_set"):
            raise ValueError(
                f"{kind} has no predict_set, which guarantee='conformal' asks: wrap the machine in "
                "bayes_svm.ConformalSVC, with the steps of a pipeline inside."
            )
        if model.cv is not None and not isinstance(model.cv, str):
            raise ValueError("guarantee='conformal' chooses nothing on other data: leave cv out.")
    elif not hasattr(model.estimator, "predict_proba"):
        raise ValueError(
            f"{kind} has no predict_proba: rejection needs probabilities. "
            "Use bayes_svm.BayesSVC, or wrap it in sklearn.calibration.CalibratedClassifierCV."
        )


def fixed_threshold(model: Any) -> float:
    """The threshold of a RejectOptionClassifier that no data decide.

    Parameters
    ----------
    model : RejectOptionClassifier
        It need not be fitted.

    Returns
    -------
    float
        The threshold; 0, at which nothing is rejected, if neither is given.
    """
    if model.cost is not None:
        return 1.0 - float(model.cost)
    return 0.0 if model.threshold is None else float(model.threshold)


def rule_in_words(model: Any) -> str | None:
    """The rule that the parameters of a RejectOptionClassifier give.

    Parameters
    ----------
    model : RejectOptionClassifier
        It need not be fitted.

    Returns
    -------
    str or None
        The parameter and its value; None if no rule is given.
    """
    given = {name: getattr(model, name) for name in RULES}
    return next((f"{name}={value:g}" for name, value in given.items() if value is not None), None)
