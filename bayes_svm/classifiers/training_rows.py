"""The training data that a fitted BayesSVC keeps, for what is asked after the fit."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayes_svm.dual.machine import Machine
from bayes_svm.utils.types import Array, Indices

__all__ = ["TrainingRows"]


class TrainingRows(NamedTuple):
    """The training rows. Those that are support vectors the model holds already; the others are kept here.

    Parameters
    ----------
    others : array or CSR matrix of shape (n_samples - n_SV, n_features)
        The rows that are no support vectors. A copy: the caller may change the data after the fit.
    y : array of shape (n_samples,)
        Class numbers of all rows.
    weight : array of shape (n_samples,)
        Sample weights of all rows.
    """

    others: Any
    y: Indices
    weight: Array

    @classmethod
    def of(cls, machine: Machine, support: Indices) -> TrainingRows | None:
        """The rows of a machine; None for a precomputed kernel, whose rows are the kernel matrix."""
        if machine.kernel.precomputed:
            return None
        return cls(machine.X[_not_among(support, len(machine.y))], machine.y, machine.weight)

    def joined(self, support: Indices, vectors: Any) -> Any:
        """All rows in their order, given which of them are support vectors, and these."""
        place = np.argsort(np.append(support, _not_among(support, len(self.y))))
        stacked = partial(sparse.vstack, format="csr") if sparse.issparse(vectors) else np.vstack
        return stacked([vectors, self.others])[place]


def _not_among(support: Indices, n_samples: int) -> Indices:
    outside = np.ones(n_samples, dtype=bool)
    outside[support] = False
    return outside.nonzero()[0]
