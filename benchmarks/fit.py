"""A fit with calibrated probabilities, beside scikit-learn's way to them."""

from __future__ import annotations

from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC

from bayes_svm import BayesSVC, log_evidence
from benchmarks.data import noisy


class Binary:
    """Two classes."""

    param_names = ("n_samples", "kernel", "C")
    params = ([500, 2000], ["linear", "rbf"], [1.0, 100.0])
    timeout = 600

    def setup(self, n_samples: int, kernel: str, C: float) -> None:
        self.X, self.y = noisy(n_samples)

    def time_bayes_svc(self, n_samples: int, kernel: str, C: float) -> None:
        BayesSVC(kernel=kernel, C=C).fit(self.X, self.y)

    def time_calibrated_svc(self, n_samples: int, kernel: str, C: float) -> None:
        CalibratedClassifierCV(SVC(kernel=kernel, C=C), ensemble=False).fit(self.X, self.y)

    def peakmem_bayes_svc(self, n_samples: int, kernel: str, C: float) -> None:
        BayesSVC(kernel=kernel, C=C).fit(self.X, self.y)


class Multiclass:
    """Five classes, one against the rest and one joint link."""

    param_names = ("n_samples",)
    params = ([500, 1500],)
    timeout = 600

    def setup(self, n_samples: int) -> None:
        self.X, self.y = noisy(n_samples, n_classes=5)

    def time_bayes_svc(self, n_samples: int) -> None:
        BayesSVC().fit(self.X, self.y)

    def time_calibrated_svc(self, n_samples: int) -> None:
        CalibratedClassifierCV(SVC(), ensemble=False).fit(self.X, self.y)


class Evidence:
    """The evidence of C and the kernel, with its gradient."""

    param_names = ("n_samples",)
    params = ([500, 1500],)

    def setup(self, n_samples: int) -> None:
        self.X, self.y = noisy(n_samples)
        self.model = BayesSVC().fit(self.X, self.y)

    def time_log_evidence(self, n_samples: int) -> None:
        log_evidence(self.model, self.X, self.y)
