"""A fitted BayesSVC reduced to what its predictions are made from, and how it is pickled."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from bayes_svm.probability.posterior import Posterior

__all__ = ["Compactable"]

# What predictions are made from, besides the parameters and what scikit-learn stores.
KEPT = (
    "n_features_in_", "feature_names_in_", "classes_", "class_weight_", "kernel_", "support_",
    "support_vectors_", "n_support_", "dual_coef_", "intercept_", "n_iter_", "_expansion", "_probabilities",
    "_link_posteriors", "_read_at",
)  # fmt: skip
# What private attributes that are not kept are for.
NEEDED_FOR = {
    "_joined": "predict_interval", "_venn_abers": "predict_interval", "_posteriors": "posterior_variance",
    "_training": "explain",
}  # fmt: skip
DROPPED = (*NEEDED_FOR, "solution_", "link_", "joint_link_", "_calibration")


class Compactable:
    """The method ``compact`` of :class:`bayes_svm.BayesSVC`, and how what it returns differs."""

    def compact(self) -> Self:
        """A copy that predicts and no more, to deploy: most of what the fit stores is left out.

        ``predict``, ``predict_proba``, ``predict_log_proba`` and ``decision_function`` give the same bits.
        ``explain``, ``predict_interval``, ``posterior_variance`` and the left-out values raise an
        AttributeError that says so. Fitted again, it is a whole model. With some hundred support vectors its
        pickle is at most one and a half times that of an SVC; ``link="kwok"`` needs more.

        Returns
        -------
        BayesSVC
            The copy.

        Examples
        --------
        >>> import pickle
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from bayes_svm import BayesSVC
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = BayesSVC().fit(scale(X), y)
        >>> len(pickle.dumps(model.compact())) < len(pickle.dumps(model)) / 3
        True
        """
        check_is_fitted(self)
        return self if self._is_compact else compacted(self)

    @property
    def _is_compact(self) -> bool:
        return "_compact" in vars(self)

    def __getattr__(self, name: str) -> Any:
        if "_compact" in vars(self) and (name.startswith("left_out_") or name in DROPPED):
            raise AttributeError(missing(name))
        return object.__getattribute__(self, name)  # raises the error that led here

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return packed(state) if self._is_compact else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(unpacked(state) if "_compact" in state else state)  # type: ignore[misc]


def compacted(model: Any) -> Any:
    """A copy of a fitted model with what its predictions need, and no more."""
    small = copy(model)
    given = model.get_params(deep=False)
    small.__dict__ = given | {name: vars(model)[name] for name in KEPT if name in vars(model)}
    # The joint link's errors and the log-odds that it was fitted to are not needed to predict.
    joint = model._probabilities.joint
    joint = None if joint is None else replace(joint, covariance=np.empty((0, 0)))
    small._probabilities = replace(model._probabilities, joint=joint, crossed=None)
    small._compact = True
    return small


def missing(name: str) -> str:
    """Message for an attribute that a compact model does not keep."""
    return (
        f"{NEEDED_FOR.get(name, name)} is not available: compact() keeps only what predict, predict_proba "
        "and decision_function need. Use the model that it was called on."
    )


def packed(state: dict[str, Any]) -> dict[str, Any]:
    """State of a compact model to pickle, in which no training row occurs twice.

    Most rows of the posteriors are support vectors. The others are appended to these; the rows are found
    again by their numbers in the training data.
    """
    posteriors, support = state["_link_posteriors"], state["support_"]
    numbers = np.concatenate([np.empty(0, dtype=np.intp), *(one.numbers for one in posteriors)])
    more, first = np.unique(numbers, return_index=True)
    new = ~np.isin(more, support)
    rows = state["support_vectors_"]
    if new.any():
        every = _stacked(rows)([one.rows for one in posteriors])
        rows = _stacked(rows)([rows, every[first[new]]])
    bare = [replace(one, rows=None) for one in posteriors]
    return state | {"support_vectors_": rows, "_link_posteriors": bare, "_more": more[new]}


def unpacked(state: dict[str, Any]) -> dict[str, Any]:
    """The state before :func:`packed`."""
    state = state.copy()
    rows, support, more = state["support_vectors_"], state["support_"], state.pop("_more")
    numbers = np.append(support, more)
    order = np.argsort(numbers)

    def with_rows(one: Posterior) -> Posterior:
        places = order[np.searchsorted(numbers, one.numbers, sorter=order)]
        return replace(one, rows=rows[places])

    posteriors = [with_rows(one) for one in state["_link_posteriors"]]
    return state | {"support_vectors_": rows[: len(support)], "_link_posteriors": posteriors}


def _stacked(rows: Any) -> Any:
    return partial(sparse.vstack, format="csr") if sparse.issparse(rows) else np.vstack
