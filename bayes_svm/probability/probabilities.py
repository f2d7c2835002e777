"""From left-out decision values to the probabilities of all classes."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from bayes_svm.probability.calibration import LEAST_MEMBERS
from bayes_svm.probability.joint import JointLink, fit_joint
from bayes_svm.probability.link import Link, LinkData
from bayes_svm.probability.links import fit_links, kind_of
from bayes_svm.probability.several import (
    class_log_odds,
    log_probabilities,
    moderated_log_odds,
    winner_log_probabilities,
)
from bayes_svm.probability.sigmoid import INSEPARABLE
from bayes_svm.utils.dealing import copies_of_weight
from bayes_svm.utils.short_repr import short_repr
from bayes_svm.utils.types import Array
from bayes_svm.utils.warn import warn

__all__ = ["Calibration", "Probabilities"]

# Class weights that differ by no more than this, relative to the largest, count as equal.
EQUAL_WEIGHTS = 1e-9


@dataclass(frozen=True)
class Probabilities:
    """Fitted map from decision values to the probabilities of all classes.

    Parameters
    ----------
    links : list of Link
        One for two classes, otherwise one per class.
    joint : JointLink, optional
        The joint link of several classes.
    winner : bool, default=False
        Whether the most probable class keeps its one-versus-rest probability.
    crossed : array of shape (n_parts, n_classes), optional
        Log-odds at the values that the joint link was fitted to, each by the joint link of the other folds.
    """

    links: list[Link]
    joint: JointLink | None = None
    winner: bool = False
    crossed: Array | None = None

    __repr__ = short_repr

    def logs(self, values: Array, reading: Array | None) -> Array:
        """Log-probabilities of all classes at decision values.

        Parameters
        ----------
        values : array of shape (n_samples,) or (n_samples, n_classes)
            Decision values.
        reading : array like ``values``, or None
            What the links need of the posterior.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Logarithms of probabilities that sum to 1.
        """
        if self.joint is not None:
            unmoderated = class_log_odds([link.unmoderated for link in self.links], values, None)
            log_odds = self.joint.log_odds(unmoderated)
            return log_probabilities(moderated_log_odds(self.links, log_odds, reading))
        log_odds = class_log_odds(self.links, values, reading)
        return winner_log_probabilities(log_odds) if self.winner else log_probabilities(log_odds)

    def unmoderated(self, values: Array) -> Array:
        """Log-probabilities of all classes from the decision values alone, shape (n_samples, n_classes)."""
        return replace(self, links=[link.unmoderated for link in self.links]).logs(values, None)

    def crossed_proba(self, reading: Array | None) -> Array:
        """Probabilities at the values that the joint link was fitted to, by the links of the other folds."""
        assert self.crossed is not None  # only called if there is a joint link
        return np.exp(log_probabilities(moderated_log_odds(self.links, self.crossed, reading)))


@dataclass(frozen=True)
class Calibration:
    """How probabilities are fitted to left-out decision values.

    Parameters
    ----------
    link : str or estimator
        A name in :data:`bayes_svm.probability.links.LINKS`, or a scikit-learn calibrator.
    smoothing : float
        Smoothing of the sigmoid's targets.
    multiclass : {"joint", "normalise", "winner"}
        How the log-odds of several classes become probabilities: see :class:`bayes_svm.BayesSVC`.
    class_weight : array of shape (n_classes,)
        Costs of the classes that the machines were trained with.
    """

    link: Any
    smoothing: float
    multiclass: str
    class_weight: Array

    def fit(self, data: LinkData) -> Probabilities:
        """Fit the links, and the joint link if there is to be one, to left-out values."""
        links = fit_links(self.link, data, self.smoothing, self.class_weight)
        if len(links) == 1:
            return Probabilities(links)
        fitted = kind_of(self.link).fitted
        if self.multiclass == "joint" and fitted:
            assert data.folds is not None
            unmoderated = class_log_odds([link.unmoderated for link in links], data.values, None)
            joint, crossed = fit_joint(unmoderated, data.y, data.weight, data.folds)
            return Probabilities(links, joint, crossed=crossed)
        equal = bool(np.ptp(self.class_weight) <= EQUAL_WEIGHTS * self.class_weight.max())
        return Probabilities(links, winner=self.multiclass != "normalise" and equal)

    def proba_across(self, data: LinkData, shares: Array, fitted: Probabilities) -> Array:
        """Probabilities at left-out values, each by links fitted to the values of the other folds.

        Parameters
        ----------
        data : LinkData
            Left-out decision values with labels and weights.
        shares : array of shape (n_samples, n_folds)
            Share of each value in each fold.
        fitted : Probabilities
            Links fitted to all values.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities at all values.

        Warns
        -----
        UserWarning
            If a calibrator cannot be fitted without a fold, or returns NaN for it. The probabilities are
            then by the calibrator fitted to all values; a joint link is still that of the other folds.
        """
        told = np.zeros((len(data.y), len(self.class_weight)))
        try:
            for share in shares.T:
                told += share[:, None] * self.proba_without(data, share, fitted)
        except ValueError as error:
            if isinstance(self.link, str):
                raise
            warn(
                "left_out_proba_ is by the link fitted to all rows, and may look too good: without a fold of "
                f"them link={self.link} cannot be fitted ({error}). Choose another link, or add rows."
            )
            if fitted.joint is not None:
                return fitted.crossed_proba(data.reading)
            return np.exp(fitted.logs(data.values, data.reading))
        return told

    def proba_without(self, data: LinkData, share: Array, fitted: Probabilities) -> Array:
        """Probabilities at left-out values, by links fitted to only a part of these values.

        Parameters
        ----------
        data : LinkData
            Left-out decision values with labels and weights.
        share : array of shape (n_samples,)
            Share of each value's weight that the links are not fitted to.
        fitted : Probabilities
            Links fitted to all values. They are used if a class would have fewer than three members.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities at all values.
        """
        if not isinstance(self.link, str) and not has_fit_parameter(self.link, "sample_weight"):
            # Without sample weights the calibrator sees a row whole or not at all.
            share = (share >= 0.5).astype(float)
        left = data.weighted(data.weight * (1.0 - share))
        copies = np.where(left.weight > 0, copies_of_weight(left.weight), 0.0)
        members = np.bincount(data.y, weights=copies, minlength=len(self.class_weight))
        if members.min() >= LEAST_MEMBERS:
            with warnings.catch_warnings():
                # The links fitted to all values have already warned.
                warnings.filterwarnings("ignore", re.escape(INSEPARABLE))
                fitted = self.fit(left)
        return np.exp(fitted.logs(data.values, data.reading))
