"""A scikit-learn classifier or regressor of one feature as a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from bayes_svm.probability.link import Link, Sample
from bayes_svm.utils.grid import grid_of, on_grid
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.metaestimators import check_instance
from bayes_svm.utils.types import Array

__all__ = ["CalibratorLink"]


@dataclass(frozen=True)
class CalibratorLink(Link):
    """A scikit-learn classifier or regressor that predicts the positive class from the decision value.

    Many decision values are equal but for rounding errors, on the margin and far from the data. A
    calibrator that follows every value, such as isotonic regression, would fit these errors. The values
    are therefore rounded to a grid, in fitting and in predicting.

    Parameters
    ----------
    calibrator : estimator
        The fitted classifier or regressor.
    grid : float
        Spacing of the grid, a power of two.
    """

    calibrator: Any
    grid: float

    @classmethod
    def fit(cls, calibrator: Any, sample: Sample) -> CalibratorLink:
        """Fit a clone of ``calibrator`` to decision values.

        Parameters
        ----------
        calibrator : estimator
            A scikit-learn classifier with ``predict_proba``, or a regressor.
        sample : Sample
            Left-out decision values with labels and weights.

        Returns
        -------
        CalibratorLink
            The link with the fitted clone.

        Raises
        ------
        TypeError
            If the calibrator is a class, not an instance.
        ValueError
            If it is a classifier without ``predict_proba``, takes no sample weights although the weights
            are not multiples of the smallest, or predicts nothing beyond the values that it was fitted to.
        MemoryError
            If it takes no sample weights and the repeated rows do not fit.
        """
        check_instance(calibrator, "link")
        if is_classifier(calibrator) and not hasattr(calibrator, "predict_proba"):
            raise ValueError(f"link={calibrator} is a classifier without predict_proba: use one that has it.")
        values, positive, weight = sample.values, sample.positive, sample.weight
        fitted, used = clone(calibrator), weight > 0
        grid = float(grid_of(values[used])[0])
        features = on_grid(values[used], grid)[:, None]
        labels, weight = positive[used].astype(int), weight[used]
        if has_fit_parameter(fitted, "sample_weight"):
            return cls(fitted.fit(features, labels, sample_weight=weight), grid)._checked(features)
        times = weight / weight.min()
        if np.any(np.abs(times - np.round(times)) > 1e-9 * times):
            raise ValueError(
                f"link={calibrator} takes no sample weights: use an estimator that does, or equal weights."
            )
        require_bytes(
            32 * int(times.sum()),
            f"Repeating rows for link={calibrator}",
            "Use an estimator that takes sample weights.",
        )
        rows = np.repeat(np.arange(len(times)), np.round(times).astype(np.intp))
        return cls(fitted.fit(features[rows], labels[rows]), grid)._checked(features)

    def _checked(self, features: Array) -> CalibratorLink:
        """The link, if it predicts beyond the values that it was fitted to as well."""
        beyond = np.array([features.min() - 1.0, features.max() + 1.0])
        try:
            self.log_odds(beyond)
        except ValueError as error:
            advice = ' Give it out_of_bounds="clip".' if hasattr(self.calibrator, "out_of_bounds") else ""
            raise ValueError(
                f"link={self.calibrator} predicts nothing beyond the decision values that it was fitted to: "
                f"{error}{advice}"
            ) from error
        return self

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """Log-odds of the calibrator's probability, clipped to stay finite."""
        features = on_grid(values, self.grid)[:, None]
        if hasattr(self.calibrator, "predict_proba"):
            probability = self.calibrator.predict_proba(features)[:, 1]
        else:
            probability = np.asarray(self.calibrator.predict(features), dtype=np.float64).ravel()
            if not np.isfinite(probability).all():
                raise ValueError(f"link={self.calibrator} predicts NaN, and must predict everywhere.")
        least = np.finfo(float).eps
        return np.asarray(logit(np.clip(probability, least, 1.0 - least)))
