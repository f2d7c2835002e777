"""Exact leave-one-out: rows, groups, signs alone, certified signs."""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC

from bayes_svm import leave_one_out, span_estimate, xi_alpha
from benchmarks.data import noisy


class LeaveOneOut:
    """Every row or group left out of one SVC."""

    param_names = ("n_samples", "C")
    params = ([500, 2000], [1.0, 100.0])
    timeout = 600

    def setup(self, n_samples: int, C: float) -> None:
        self.X, self.y = noisy(n_samples)
        self.groups = np.arange(n_samples) // 10

    def time_rows(self, n_samples: int, C: float) -> None:
        leave_one_out(SVC(C=C), self.X, self.y)

    def peakmem_rows(self, n_samples: int, C: float) -> None:
        leave_one_out(SVC(C=C), self.X, self.y)

    def time_groups(self, n_samples: int, C: float) -> None:
        leave_one_out(SVC(C=C), self.X, self.y, groups=self.groups)

    def time_sign_only(self, n_samples: int, C: float) -> None:
        leave_one_out(SVC(C=C), self.X, self.y, sign_only=True)

    def time_certified(self, n_samples: int, C: float) -> None:
        leave_one_out(SVC(C=C), self.X, self.y, method="certified")


class Estimates:
    """Estimates that leave nothing out."""

    param_names = ("n_samples",)
    params = ([500, 2000],)

    def setup(self, n_samples: int) -> None:
        self.X, self.y = noisy(n_samples)

    def time_xi_alpha(self, n_samples: int) -> None:
        xi_alpha(SVC(), self.X, self.y)

    def time_span_estimate(self, n_samples: int) -> None:
        span_estimate(SVC(), self.X, self.y)
