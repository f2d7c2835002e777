"""The fitted settings behind a report: one, or the members of a mixture."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from bayes_svm.kernels.kernel import Kernel

from .model import FittedTable
from .record import ClassCount, MachineRecord, Member, Model

__all__ = ["members_of", "mixture_of", "model_record"]


def mixture_of(fitted: FittedTable) -> Any:
    """Return the mixture, or None if a single setting was fitted."""
    return fitted.estimator if hasattr(fitted.estimator, "estimators_") else None


def members_of(fitted: FittedTable) -> list[Any]:
    """Return the fitted BayesSVCs that predict together."""
    mixture = mixture_of(fitted)
    return [fitted.estimator] if mixture is None else list(mixture.estimators_)


def model_record(fitted: FittedTable, names: list[str]) -> Model:
    """Record the fitted model.

    Parameters
    ----------
    fitted : FittedTable
        The table and what was fitted to it.
    names : list of str
        Labels of the classes.

    Returns
    -------
    Model
        The record.
    """
    members, mixture = members_of(fitted), mixture_of(fitted)
    weights = [1.0] if mixture is None else mixture.weights_.tolist()
    counts = np.bincount(np.searchsorted(fitted.classes, fitted.table.labels), minlength=len(names))
    costs = np.asarray(fitted.estimator.class_weight_, dtype=float)
    statuses: Counter[str] = Counter()
    for one in members:
        statuses.update(np.asarray(one.left_out_.status).astype(str).ravel().tolist())
    return Model(
        members=tuple(
            _member(one, weight, names, tried=fitted.settings.class_weight is None)
            for one, weight in zip(members, weights, strict=True)
        ),
        mixture=mixture is not None,
        n_features=fitted.features.shape[1],
        classes=tuple(ClassCount(name, int(n)) for name, n in zip(names, counts, strict=True)),
        statuses=dict(sorted(statuses.items())),
        seconds=fitted.seconds,
        costs=dict(zip(names, costs.tolist(), strict=True)) if np.ptp(costs) > 0 else {},
    )


def _member(clf: Any, weight: float, names: list[str], *, tried: bool) -> Member:
    solutions = clf.solution_ if isinstance(clf.solution_, list | tuple) else [clf.solution_]
    takes_gamma = Kernel(clf.kernel).takes_gamma
    return Member(
        kernel=str(clf.kernel),
        C=float(clf.C),
        gamma=clf.gamma if takes_gamma else None,
        gamma_value=float(clf.kernel_.gamma) if takes_gamma else None,
        weight=float(weight),
        balanced=tried and clf.class_weight == "balanced",
        n_support=len(clf.support_),
        machines=tuple(
            MachineRecord(
                label=label,
                n_free=int(solution.n_free),
                n_bounded=int(solution.n_bounded),
                kkt_residual=float(solution.kkt_residual),
                relative_gap=float(solution.relative_gap),
                exact=bool(solution.exact),
                reason=solution.reason,
            )
            for label, solution in zip(names if len(solutions) > 1 else names[1:], solutions, strict=True)
        ),
    )
