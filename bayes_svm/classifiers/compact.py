"""A fitted BayesSVC reduced to what its predictions are made from, and how it is pickled."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from bayes_svm.classifiers.packed_arrays import PackedArrays
from bayes_svm.probability.joint import JointLink
from bayes_svm.probability.posterior import Posterior

__all__ = ["Compactable"]

# What predictions are made from, besides the parameters and what scikit-learn stores.
KEPT = (
    "n_features_in_", "feature_names_in_", "classes_", "class_weight_", "kernel_", "intercept_", "_weights",
    "_probabilities", "_link_posteriors", "_read_at",
)  # fmt: skip
# And without weights of the features.
SUPPORT = ("support_", "support_vectors_", "dual_coef_", "_expansion")
# What private attributes that are not kept are for.
NEEDED_FOR = {
    "_joined": "predict_interval", "_venn_abers": "predict_interval", "_posteriors": "posterior_variance",
    "_training": "explain",
}  # fmt: skip
# The covariance of a joint link, which is not needed to predict.
NO_COVARIANCE = np.empty((0, 0))
# What is packed of a joint link, of a posterior, and of sparse rows.
OF_JOINT = ("weights", "columns", "strength")
OF_POSTERIOR = ("numbers", "curvature")
OF_SPARSE = ("data", "indices", "indptr")
DROPPED = (
    *NEEDED_FOR, *SUPPORT, "n_support_", "n_iter_", "solution_", "link_", "joint_link_", "_calibration",
)  # fmt: skip


class Compactable:
    """The method ``compact`` of :class:`bayes_svm.BayesSVC`, and how what it returns differs."""

    def compact(self) -> Self:
        """A small copy for deployment that can only predict: most of what the fit stores is left out.

        ``predict``, ``predict_proba``, ``predict_log_proba`` and ``decision_function`` give the same bits.
        ``explain``, ``predict_interval``, ``posterior_variance`` and attributes that no prediction needs
        raise an AttributeError that says so. Fitted again, it is a whole model: it keeps the parameters, and
        with them a list of splits that was given as ``leave_out``.

        Its pickle is compressed by LZMA, and with an rbf or a linear kernel about as large as that of an SVC.
        With a polynomial or sigmoid kernel and three or more classes it can be over 1.5 times as large,
        because each machine against the rest can have many more support vectors than a machine of two
        classes. With ``link="kwok"``, which reads all training rows near the margin, it often is, and on easy
        data many times as large. A linear machine keeps the weights of the features instead of the support
        vectors, where they are fewer numbers.

        Returns
        -------
        BayesSVC
            The copy; a model that is compact already is returned itself.

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
    # A subclass may set some of the parameters itself.
    own = {name: getattr(model, name) for name in model._parameter_constraints}
    given = model.get_params(deep=False) | own
    kept = KEPT if model._weights is not None else (*KEPT, *SUPPORT)
    small.__dict__ = given | {name: vars(model)[name] for name in kept if name in vars(model)}
    # The joint link's errors and the log-odds that it was fitted to are not needed to predict.
    joint = model._probabilities.joint
    joint = None if joint is None else replace(joint, covariance=NO_COVARIANCE)
    small._probabilities = replace(model._probabilities, joint=joint, crossed=None)
    # Points of the dual problem, which is not kept, are numbered as its rows.
    small._link_posteriors = [replace(one, points=one.numbers) for one in model._link_posteriors]
    small._compact = True
    return small


def missing(name: str) -> str:
    """Message for an attribute that a compact model does not keep."""
    return (
        f"{NEEDED_FOR.get(name, name)} is not available: compact() keeps only what predict, predict_proba "
        "and decision_function need. Use the model that it was called on."
    )


def packed(state: dict[str, Any]) -> dict[str, Any]:
    """State of a compact model to pickle: no training row occurs twice, and the arrays are compressed."""
    # Without weights of the features the class says so.
    state = {name: value for name, value in state.items() if name != "_weights" or value is not None}
    rows = [state.pop("support_vectors_")] if "support_" in state else []
    arrays = {
        name: value for name, value in state.items() if name in (*KEPT, *SUPPORT) and _is_numeric(value)
    }
    state = {name: value for name, value in state.items() if name not in arrays}
    if rows:
        chosen, sums = state.pop("_expansion")
        if not isinstance(chosen, slice):  # else the sums are the coefficients
            arrays |= {"chosen": chosen, "sums": sums}
    probabilities = state["_probabilities"]
    if (joint := probabilities.joint) is not None:
        arrays |= {name: np.asarray(getattr(joint, name)) for name in OF_JOINT}
        state["_probabilities"] = replace(probabilities, joint=None)
    if posteriors := state.pop("_link_posteriors"):
        arrays |= {name: np.concatenate([getattr(one, name) for one in posteriors]) for name in OF_POSTERIOR}
        arrays["sizes"] = np.array([len(one.numbers) for one in posteriors])
        arrays["lam"] = np.array([one.lam for one in posteriors])
        # Most of their rows are support vectors. The others are appended to these; the rows are found again
        # by their numbers in the training data.
        more, first = np.unique(arrays["numbers"], return_index=True)
        new = ~np.isin(more, arrays.get("support_", []))
        arrays["more"] = more[new]
        rows.append(_stacked([one.rows for one in posteriors])[first[new]])
    if rows:
        every = _stacked(rows)
        if sparse.issparse(every):
            arrays |= {name: getattr(every, name) for name in OF_SPARSE}
            state["rows"] = every[:0]  # their class and number of columns
        else:
            arrays["rows"] = every
    return state | {"_arrays": PackedArrays.of(arrays)}


def unpacked(state: dict[str, Any]) -> dict[str, Any]:
    """The state before :func:`packed`."""
    state = state.copy()
    arrays = state.pop("_arrays").arrays()
    state |= {name: array for name, array in arrays.items() if name in (*KEPT, *SUPPORT)}
    rows, support = state.pop("rows", arrays.get("rows")), arrays.get("support_", np.empty(0, dtype=np.intp))
    if sparse.issparse(rows):
        parts = tuple(arrays[name] for name in OF_SPARSE)
        rows = type(rows)(parts, shape=(len(parts[-1]) - 1, rows.shape[1]))
    if "support_" in arrays:
        state["support_vectors_"] = rows[: len(support)]
        state["_expansion"] = arrays.get("chosen", slice(None)), arrays.get("sums", arrays["dual_coef_"])
    if "weights" in arrays:
        joint = JointLink(arrays["weights"], arrays["columns"], float(arrays["strength"]), NO_COVARIANCE)
        state["_probabilities"] = replace(state["_probabilities"], joint=joint)
    state["_link_posteriors"] = []
    if "sizes" in arrays:
        numbers = np.append(support, arrays["more"])
        order = np.argsort(numbers)
        ends = np.cumsum(arrays["sizes"])[:-1]
        own = zip(*(np.split(arrays[name], ends) for name in OF_POSTERIOR), arrays["lam"], strict=True)
        for its_numbers, curvature, lam in own:
            its_rows = rows[order[np.searchsorted(numbers, its_numbers, sorter=order)]]
            posterior = Posterior(state["kernel_"], its_rows, its_numbers, its_numbers, curvature, float(lam))
            state["_link_posteriors"].append(posterior)
    return state


def _is_numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iuf"


def _stacked(rows: list[Any]) -> Any:
    return sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.vstack(rows)
