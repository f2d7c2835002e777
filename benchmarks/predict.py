"""Predictions of a fitted classifier, beside those of scikit-learn's calibrated SVC."""

from __future__ import annotations

from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC

from bayes_svm import BayesSVC
from benchmarks.data import noisy


class Predict:
    """Two and five classes; as many rows are predicted as were trained on."""

    param_names = ("n_samples", "n_classes")
    params = ([500, 2000], [2, 5])
    timeout = 600

    def setup(self, n_samples: int, n_classes: int) -> None:
        self.X, y = noisy(n_samples, n_classes)
        self.model = BayesSVC().fit(self.X, y)
        self.calibrated = CalibratedClassifierCV(SVC(), ensemble=False).fit(self.X, y)

    def time_decision_function(self, n_samples: int, n_classes: int) -> None:
        self.model.decision_function(self.X)

    def time_predict_proba(self, n_samples: int, n_classes: int) -> None:
        self.model.predict_proba(self.X)

    def time_predict_proba_of_calibrated_svc(self, n_samples: int, n_classes: int) -> None:
        self.calibrated.predict_proba(self.X)

    def peakmem_predict_proba(self, n_samples: int, n_classes: int) -> None:
        self.model.predict_proba(self.X)
