"""Joint link of several classes: multinomial logistic regression on the log-odds of each against the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, ndtri, softmax
from sklearn.exceptions import ConvergenceWarning

from bayes_svm.probability.multinomial import Multinomial, batches
from bayes_svm.probability.several import normalised_log_odds
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.short_repr import short_repr
from bayes_svm.utils.types import Array, Indices
from bayes_svm.utils.warn import warn

__all__ = ["JointLink", "fit_joint"]


# Strengths of the penalty that are averaged, the largest first.
STRENGTHS = np.array([100.0, 30.0, 10.0, 3.0, 1.0])
# Power of the cross-validated likelihood by which the strengths are weighted.
LIKELIHOOD_POWER = 0.25
# With more parameters than this, above 15 classes, a class reads only its own log-odds.
MOST_PARAMETERS = 500
# Log-odds are clipped to this size.
LARGEST_LOG_ODDS = 50.0


@dataclass(frozen=True)
class JointLink:
    r"""Multinomial logistic regression on the log-odds of each class against the rest.

    .. math:: p = \operatorname{softmax}(\eta), \qquad
              \eta_k = b_k + \sum_j \left( V_{kj} \log \sigma(z_j) + U_{kj} \log \sigma(-z_j) \right)

    where :math:`z_j` are the log-odds of class j by its own link, clipped to [-50, 50], and
    :math:`\sigma(z) = 1 / (1 + e^{-z})`. Special cases are :math:`\operatorname{softmax}(z)`, for V = I,
    U = -I and b = 0, and the probabilities divided by their sum, for V = I, U = 0 and b = 0.

    Parameters
    ----------
    weights : array of shape (n_classes, n_features)
        Coefficients of each class; the last column is b.
    columns : array of int of shape (n_classes, n_features)
        Features that each class reads. They are numbered :math:`\log \sigma(z)` of every class first, then
        :math:`\log \sigma(-z)` of every class, then the constant 1. A class reads all of them, or, with
        more than 15 classes, its own two and the constant.
    strength : float
        Strength :math:`\lambda` of the penalty: see :func:`fit_joint`.
    covariance : array of shape (n_classes * n_features, n_classes * n_features)
        Covariance of the weights, class by class: the inverse Hessian of the penalised loss.
    """

    weights: Array
    columns: Indices
    strength: float
    covariance: Array

    __repr__ = short_repr

    def log_odds(self, z: Array) -> Array:
        """Log-odds of each class against all others, from those of the classes' own links.

        Parameters
        ----------
        z : array of shape (n_samples, n_classes)
            Log-odds of each class by its own link.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Log-odds of probabilities that sum to 1.
        """
        found = np.empty_like(z)
        for part in batches(len(z), self.weights.size):
            found[part] = normalised_log_odds(_scores(self._design(z[part]), self.weights))
        return found

    @property
    def standard_errors(self) -> Array:
        """Standard errors of the weights, shape (n_classes, n_features)."""
        return np.asarray(np.sqrt(np.diagonal(self.covariance)).reshape(self.weights.shape))

    def band(self, z: Array, level: float = 0.95) -> tuple[Array, Array]:
        """Pointwise confidence bands of the probabilities, from the errors of the weights.

        Parameters
        ----------
        z : array of shape (n_samples, n_classes)
            Log-odds of each class by its own link.
        level : float, default=0.95
            Confidence level, between 0 and 1.

        Returns
        -------
        low, high : arrays of shape (n_samples, n_classes)
            Ends of the bands.

        Raises
        ------
        ValueError
            If the level is not between 0 and 1.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level={level} is not between 0 and 1.")
        log_odds = self.log_odds(z)
        reach = np.empty_like(z)
        n_classes = len(self.weights)
        for part in batches(len(z), n_classes * self.weights.size):
            design = self._design(z[part])
            rest = expit(-log_odds[part])
            # The derivative of log(p_k / (1 - p_k)) by eta_j is 1 for j = k, otherwise -p_j / (1 - p_k).
            turn = -expit(log_odds[part])[:, None, :] / np.maximum(rest, np.finfo(float).tiny)[:, :, None]
            turn[:, range(n_classes), range(n_classes)] = 1.0
            slope = (np.maximum(turn, -1.0)[:, :, :, None] * design[:, None]).reshape(*rest.shape, -1)
            reach[part] = np.sqrt(np.sum(slope @ self.covariance * slope, axis=-1))
        reach *= ndtri(0.5 + level / 2.0)
        return np.asarray(expit(log_odds - reach)), np.asarray(expit(log_odds + reach))

    def _design(self, z: Array) -> Array:
        return _features(z)[:, self.columns]


def fit_joint(z: Array, y: Indices, weight: Array, share: Array) -> tuple[JointLink, Array]:
    r"""Fit the joint link to left-out log-odds, and once more without each fold of them.

    .. math:: \min_{V, U, b} \; - \sum_i w_i \log p_{i, y_i}
              + \lambda \left( |V - I|^2 + |U + I|^2 + |b|^2 \right)

    The penalty shrinks the link towards the softmax of the log-odds. Its strength :math:`\lambda` is a
    weighted geometric mean of 100, 30, 10, 3 and 1. The weight of each is the fourth root of its
    cross-validated likelihood, where the link without a fold is one Newton step from the link of all data.
    A mean is used because the folds cannot tell the strengths apart reliably, and a strength between the
    others is never the worst. The minimum is found by Newton's method.

    Parameters
    ----------
    z : array of shape (n_parts, n_classes)
        Log-odds of each class by its own link, at left-out decision values.
    y : array of shape (n_parts,)
        Class number of each part.
    weight : array of shape (n_parts,)
        How often each part counts.
    share : array of shape (n_parts, n_folds)
        Share of each part in each fold, from :meth:`~bayes_svm.leave_one_out.leaving.Leaving.part_shares`.
        Parts that left together are in one fold.

    Returns
    -------
    link : JointLink
        The link fitted to all parts.
    crossed : array of shape (n_parts, n_classes)
        Log-odds of each part by the link of the other folds, which is fitted until convergence.

    Raises
    ------
    MemoryError
        If the Hessian does not fit.
    ValueError
        If the Hessian is not finite, because of huge weights.

    Warns
    -----
    ConvergenceWarning
        If Newton's method does not converge, for all parts or without a fold.
    """
    n_classes = z.shape[1]
    columns, centre = _shape(n_classes)
    # The Hessian, and for its inverse, or for a fold, four more of its size; the features.
    require_bytes(
        40 * centre.size**2 + 16 * z.size,
        f"The joint link of {n_classes} classes",
        'Use multiclass="normalise".',
    )
    whole = Multinomial(np.ascontiguousarray(_features(z).T), columns, centre, y, weight)
    theta, likelihoods = centre, []
    for strength in STRENGTHS:
        theta, _ = whole.minimum(strength, theta)
        told, _ = whole.crossed(strength, theta, share, to_the_end=False)
        likelihoods.append(weight @ told[np.arange(len(y)), y])
    strength = float(np.exp(softmax(LIKELIHOOD_POWER * np.array(likelihoods)) @ np.log(STRENGTHS)))
    theta, ended = whole.minimum(strength, theta)
    covariance = whole.covariance(strength, theta)
    crossed, folds_ended = whole.crossed(strength, theta, share, to_the_end=True)
    if not (ended and folds_ended):
        warn('The joint link\'s fit did not converge: use multiclass="normalise".', ConvergenceWarning)
    return JointLink(theta, columns, strength, covariance), normalised_log_odds(crossed)


def _shape(n_classes: int) -> tuple[Indices, Array]:
    """Features that each class reads, and the weights that the penalty shrinks to."""
    own = np.arange(n_classes)[:, None]
    if n_classes * (2 * n_classes + 1) <= MOST_PARAMETERS:
        columns = np.tile(np.arange(2 * n_classes + 1), (n_classes, 1))
    else:
        columns = np.hstack([own, own + n_classes, np.full_like(own, 2 * n_classes)])
    centre = (columns == own).astype(float) - (columns == own + n_classes)
    return columns, centre


def _features(z: Array) -> Array:
    z = np.clip(z, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    return np.hstack([log_expit(z), log_expit(-z), np.ones((len(z), 1))])


def _scores(design: Array, theta: Array) -> Array:
    return np.einsum("ikj,kj->ik", design, theta)
