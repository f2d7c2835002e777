"""Any scikit-learn classifier or regressor of one feature as a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from bayes_svm.probability.link import Link, Sample
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.metaestimators import check_instance
from bayes_svm.utils.types import Array

__all__ = ["CalibratorLink"]

# Decision values are rounded to multiples of the largest times 2 to the power of minus this.
GRID_BITS = 30
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class CalibratorLink(Link):
    """A scikit-learn classifier or regressor of one feature, fitted to tell the positive class.

    Decision values that are equal but for rounding are made equal, in fitting and in predicting: many
    are, at the margin and far from the data, and a calibrator that follows each value would fit
    the rounding.

    Parameters
    ----------
    calibrator : estimator, fitted
    grid : float
        A power of two; values are rounded to its multiples.
    """

    calibrator: Any
    grid: float

    @classmethod
    def fit(cls, calibrator: Any, sample: Sample) -> CalibratorLink:
        """A clone of ``calibrator`` fitted on decision values.

        Raises
        ------
        ValueError
            If rows have different weights and it takes none, or it is a classifier without probabilities.
        """
        check_instance(calibrator, "link")
        if is_classifier(calibrator) and not hasattr(calibrator, "predict_proba"):
            raise ValueError(
                f"link={calibrator} is a classifier without predict_proba: give one that has it."
            )
        values, positive, weight = sample.values, sample.positive, sample.weight
        fitted, used = clone(calibrator), weight > 0
        grid = 2.0 ** np.round(np.log2(max(float(np.abs(values[used]).max()), TINY)) - GRID_BITS)
        features, labels, weight = _rounded(values[used], grid), positive[used].astype(int), weight[used]
        if has_fit_parameter(fitted, "sample_weight"):
            return cls(fitted.fit(features, labels, sample_weight=weight), grid)
        times = weight / weight.min()
        if np.any(np.abs(times - np.round(times)) > 1e-9 * times):
            raise ValueError(f"link={calibrator} takes no sample weights: use another, or equal weights.")
        require_bytes(
            32 * int(times.sum()),
            f"Repeating rows for link={calibrator}",
            "Use one that takes sample weights.",
        )
        rows = np.repeat(np.arange(len(times)), np.round(times).astype(np.intp))
        return cls(fitted.fit(features[rows], labels[rows]), grid)

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """Log-odds of the calibrator's probability, which double precision keeps from 0 and 1."""
        features = _rounded(values, self.grid)
        if hasattr(self.calibrator, "predict_proba"):
            probability = self.calibrator.predict_proba(features)[:, 1]
        else:
            probability = np.asarray(self.calibrator.predict(features), dtype=np.float64).ravel()
            if not np.isfinite(probability).all():
                raise ValueError(
                    f"link={self.calibrator} gives NaN beyond the values it was fitted on: an "
                    'IsotonicRegression needs out_of_bounds="clip".'
                )
        least = np.finfo(float).eps
        return np.asarray(logit(np.clip(probability, least, 1.0 - least)))


def _rounded(values: Array, grid: float) -> Array:
    """Values as a column of features, to the nearest multiples of the grid."""
    with np.errstate(over="ignore"):  # of values so large that they are multiples anyway
        multiples = np.round(values / grid)
        return np.where(np.abs(multiples) < 2.0**52, multiples * grid, values)[:, None]
