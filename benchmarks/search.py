"""The choice of C and gamma, beside scikit-learn's GridSearchCV."""

from __future__ import annotations

from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from bayes_svm import BayesSVC, BayesSVCSearch
from benchmarks.data import noisy

GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.05, 0.25]}


class Search:
    """A grid of nine settings, by each criterion, and two other ways to search."""

    param_names = ("n_samples",)
    params = ([300, 1000],)
    timeout = 600

    def setup(self, n_samples: int) -> None:
        self.X, self.y = noisy(n_samples)

    def time_left_out_log_loss(self, n_samples: int) -> None:
        BayesSVCSearch(BayesSVC(), GRID).fit(self.X, self.y)

    def time_left_out_error(self, n_samples: int) -> None:
        BayesSVCSearch(BayesSVC(), GRID, criterion="left_out_error").fit(self.X, self.y)

    def time_evidence(self, n_samples: int) -> None:
        BayesSVCSearch(BayesSVC(), GRID, criterion="evidence").fit(self.X, self.y)

    def time_mixture(self, n_samples: int) -> None:
        BayesSVCSearch(BayesSVC(), GRID, combine="stack").fit(self.X, self.y)

    def time_space(self, n_samples: int) -> None:
        space = {"C": (0.1, 10.0), "gamma": (0.01, 0.25)}
        search = BayesSVCSearch(BayesSVC(), param_space=space, criterion="evidence", max_evaluations=20)
        search.fit(self.X, self.y)

    def time_grid_search_cv(self, n_samples: int) -> None:
        grid = {f"estimator__{name}": values for name, values in GRID.items()}
        calibrated = CalibratedClassifierCV(SVC(), ensemble=False)
        GridSearchCV(calibrated, grid, scoring="neg_log_loss").fit(self.X, self.y)

    def peakmem_left_out_log_loss(self, n_samples: int) -> None:
        BayesSVCSearch(BayesSVC(), GRID).fit(self.X, self.y)
