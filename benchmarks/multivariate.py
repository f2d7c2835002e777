"""Machines trained for a measure of the whole sample."""

from __future__ import annotations

from bayes_svm import MultivariateSVC
from benchmarks.data import noisy


class Multivariate:
    """A linear machine for each of four losses."""

    param_names = ("n_samples", "loss")
    params = ([2000, 20000], ["error", "f1", "break_even", "roc_area"])
    timeout = 600

    def setup(self, n_samples: int, loss: str) -> None:
        self.X, self.y = noisy(n_samples)

    def time_fit(self, n_samples: int, loss: str) -> None:
        MultivariateSVC(loss=loss, C=0.01).fit(self.X, self.y)

    def peakmem_fit(self, n_samples: int, loss: str) -> None:
        MultivariateSVC(loss=loss, C=0.01).fit(self.X, self.y)
