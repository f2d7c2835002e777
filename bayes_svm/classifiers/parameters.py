"""Parameters of BayesSVC: their checks, and how they turn data into a Machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bayes_svm.dual.machine import Machine
from bayes_svm.kernels.functions import KERNEL_NAMES
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.kernels.reach import within_reach
from bayes_svm.probability.links import LINKS
from bayes_svm.utils.checks import (
    check_members,
    checked_square,
    checked_weights,
    class_weights,
    encode_classes,
    row_bounds,
    with_narrow_indices,
)
from bayes_svm.utils.scikit_learn import (
    FixedParameters,
    HasMethods,
    Interval,
    LinkedToItsPage,
    StrOptions,
)

__all__ = ["SVCParameters"]


class SVCParameters(FixedParameters, LinkedToItsPage, ClassifierMixin, BaseEstimator):
    """Parameters of :class:`bayes_svm.BayesSVC`, which documents them."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
        "degree": [Interval(Real, 0.0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "shrinking": ["boolean"],
        "probability": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "decision_function_shape": [StrOptions({"ovr"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
        "link": [StrOptions(set(LINKS)), HasMethods(["fit", "predict"])],
        "leave_out": [
            StrOptions({"strata", "rows"}),
            Interval(Integral, 2, None, closed="left"),
            HasMethods(["split", "get_n_splits"]),
            list,
            tuple,
        ],
        "leave_out_size": [Interval(Integral, 1, None, closed="left"), None],
        "multiclass": [StrOptions({"joint", "normalise", "winner"})],
        "smoothing": [Interval(Real, 0.0, None, closed="neither")],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str | Callable[..., Any] = "rbf",
        degree: float = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict[Any, float] | str | None = None,
        verbose: int = 0,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        link: Any = "moderated",
        leave_out: Any = "strata",
        leave_out_size: int | None = 2000,
        multiclass: str = "joint",
        smoothing: float = 0.1,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.link = link
        self.leave_out = leave_out
        self.leave_out_size = leave_out_size
        self.multiclass = multiclass
        self.smoothing = smoothing
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not Kernel(self.kernel).precomputed
        tags.input_tags.pairwise = Kernel(self.kernel).precomputed
        return tags

    def _machine(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, like: Machine | None = None
    ) -> Machine:
        """Checked training data as a Machine; ``like`` is one with the same data and kernel but another C."""
        X, y = validate_data(
            self, with_narrow_indices(X), y, dtype=np.float64, accept_sparse=_accepted(Kernel(self.kernel))
        )
        if Kernel(self.kernel).precomputed:
            checked_square(X, X.shape[1])
        weight = checked_weights(sample_weight, X)
        classes, numbers = encode_classes(y, weight)
        check_members(classes, numbers, weight)
        kernel = Kernel.of(self, X, weight)
        self.class_weight_ = class_weights(self.class_weight, classes, numbers, weight)
        bounds = row_bounds(self.C, self.class_weight_, numbers, weight)
        if like is not None:
            return replace(like, row_bound=bounds)
        return Machine.build(X, numbers, classes, kernel, weight, bounds)

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        accepted = _accepted(self.kernel_)
        X = validate_data(self, with_narrow_indices(X), dtype=np.float64, accept_sparse=accepted, reset=False)
        return within_reach(
            self.kernel_, X, self.support_vectors_ if self._weights is None else self._weights
        )


def _accepted(kernel: Kernel) -> str | bool:
    """The sparse format that data are taken in."""
    return False if kernel.precomputed else "csr"
