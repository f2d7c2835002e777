"""Penalised multinomial logistic regression on few features, fitted once and once more without each fold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from bayes_svm.utils.lapack import lower_factor, solution_from_factor
from bayes_svm.utils.parallel import equal_parts, in_threads
from bayes_svm.utils.types import Array, Indices

__all__ = ["Multinomial", "batches"]

# Bytes of one block of the products that a Hessian is summed from.
BLOCK_BYTES = 2**23
# Up to so many rows are one block; more are an even number of them. Roughly how many seconds a product takes.
PIECE, SECONDS = 512, 5e-11
# Steps that promise no more than this, relative to the loss plus the total weight, are beyond what the loss
# can tell: it is not looked at. A Newton step of this kind is the last.
SETTLED = 1e-12
# The same with the Hessian of an earlier point is the last if it promises no more than this.
LAST_GAIN = 1e-18
# Such a Hessian is stale if a step promises more than this share of what the step before promised.
STALE = 0.1
# The line search gives up at this share of a Newton step.
SHORTEST_STEP = 1e-10
# Newton's method gives up after so many steps and Hessians.
MOST_STEPS = 200
# A thread of its own for a fold may take so many bytes.
THREAD_BYTES = 2**24


def batches(n_rows: int, n_columns: int, least: int = 1) -> list[slice]:
    """Slices of rows, of each of which ``n_columns`` numbers fit into a block; of ``least`` rows anyway."""
    return list(gen_batches(n_rows, max(least, BLOCK_BYTES // (8 * n_columns)))) if n_rows else []


class _Point(NamedTuple):
    """Weights, the penalised loss there and its gradient, and the probabilities (n_classes, n_rows)."""

    theta: Array
    loss: float
    gradient: Array
    proba: Array


@dataclass(frozen=True)
class Multinomial:
    r"""Penalised multinomial likelihood of weights :math:`\theta` of shape (n_classes, n_own).

    .. math:: L(\theta) = - \sum_i w_i \log p_{i, y_i} + \lambda |\theta - \theta_0|^2, \qquad
              p_i = \operatorname{softmax}_k \Big( \sum_j \theta_{kj} f_{c_{kj}, i} \Big)

    Its minima are found by Newton's method. With ten classes a Hessian costs several times as much as a
    gradient: it serves for further steps while each promises much less than the step before.

    Parameters
    ----------
    features : array of shape (n_features, n_rows)
        The features f.
    columns : array of int of shape (n_classes, n_own)
        The features c that each class reads: all of them in order, or fewer, its own.
    centre : array of shape (n_classes, n_own)
        The weights :math:`\theta_0` that the penalty shrinks to.
    y : array of shape (n_rows,)
        Class numbers.
    weight : array of shape (n_rows,)
        How often each row counts.
    """

    features: Array
    columns: Indices
    centre: Array
    y: Indices
    weight: Array

    def minimum(
        self, strength: float, theta: Array, without: Array | None = None, factor: Array | None = None
    ) -> tuple[Array, bool]:
        """Minimum of the penalised loss, and whether it was reached.

        Parameters
        ----------
        strength : float
            The strength of the penalty.
        theta : array of shape (n_classes, n_own)
            Where to start.
        without : array of shape (n_rows,), optional
            Share of each row that does not count.
        factor : array, optional
            Cholesky factor of the Hessian at some point nearby.
        """
        weight = self.weight if without is None else self.weight * (1.0 - without)
        at, before, total = self._at(strength, theta, weight), np.inf, float(weight.sum())
        for _ in range(MOST_STEPS):
            fresh = factor is None
            if factor is None:
                factor = self._factor(self._hessian(at.proba, weight), strength)
            step = solution_from_factor(factor, at.gradient.ravel()).reshape(theta.shape)
            gain = float(np.vdot(at.gradient, step))
            if not fresh and gain > STALE * before:
                factor = None
                continue
            settled = gain <= SETTLED * (at.loss + total)
            if settled and (fresh or gain <= LAST_GAIN * (at.loss + total)):
                return at.theta - step, True
            to, length = self._at(strength, at.theta - step, weight), 1.0
            if not fresh and not (settled or to.loss <= at.loss):
                factor = None
                continue
            while not settled and not to.loss <= at.loss:
                length /= 2.0
                if length <= SHORTEST_STEP:
                    # Rounding of the loss hides smaller gains.
                    return at.theta, gain <= np.sqrt(SETTLED) * (at.loss + total)
                to = self._at(strength, at.theta - length * step, weight)
            at, before, factor = to, gain, factor if length == 1.0 else None
        return at.theta, False

    def crossed(self, strength: float, theta: Array, share: Array, to_the_end: bool) -> tuple[Array, bool]:
        """Log-probabilities of all classes at each row, with the weights found without the row's fold.

        Those of a row that is in several folds are means, weighted by its shares and normalised.

        Parameters
        ----------
        strength : float
            The strength of the penalty.
        theta : array of shape (n_classes, n_own)
            The minimum with all rows.
        share : array of shape (n_rows, n_folds)
            Share of each row in each fold.
        to_the_end : bool
            Whether the weights without a fold are a minimum, or one Newton step away from ``theta``.

        Returns
        -------
        log_probabilities : array of shape (n_rows, n_classes)
            The log-probabilities.
        ended : bool
            False if a minimum without a fold was asked for and not reached.
        """
        proba = _probabilities(self._scores(theta, slice(None)))
        whole = self._hessian(proba, self.weight)

        def without(number: int) -> tuple[Indices, Array, bool]:
            """The rows of a fold, their log-probabilities times their shares in it, and whether it ended."""
            rows = share[:, number].nonzero()[0]
            own = share[rows, number]
            part = proba[:, rows], self.weight[rows] * own, rows
            factor = self._factor(whole - self._hessian(*part), strength)
            step = solution_from_factor(factor, self._gradient(*part).ravel()).reshape(theta.shape)
            apart, ended = theta + step, True
            if to_the_end:
                apart, ended = self.minimum(strength, apart, share[:, number], factor)
            return rows, own * _log_probabilities(self._scores(apart, rows)), ended

        folds, found = range(share.shape[1]), np.zeros(proba.shape)
        seconds = self._seconds * (len(folds) if to_the_end else 1)
        # A Hessian, one without the fold, and two factors.
        small = 32 * theta.size**2 <= THREAD_BYTES
        told = list(in_threads(without, folds, seconds) if small else map(without, folds))
        for rows, logs, _ in told:
            found[:, rows] += logs
        return np.ascontiguousarray(_log_probabilities(found).T), all(ended for _, _, ended in told)

    def covariance(self, strength: float, theta: Array) -> Array:
        """Inverse of the Hessian of the penalised loss, class by class."""
        proba = _probabilities(self._scores(theta, slice(None)))
        factor = self._factor(self._hessian(proba, self.weight), strength)
        return solution_from_factor(factor, np.eye(theta.size))

    def _at(self, strength: float, theta: Array, weight: Array) -> _Point:
        scores = self._scores(theta, slice(None))
        top = scores.max(axis=0)
        proba = np.exp(scores - top)
        sums = proba.sum(axis=0)
        proba /= sums
        every, away = slice(None), theta - self.centre
        logs = scores[self.y, np.arange(len(self.y))] - top - np.log(sums)
        loss = float(strength * np.vdot(away, away) - weight @ logs)
        gradient = self._gradient(proba, weight, every) + 2.0 * strength * away
        return _Point(theta, loss, gradient, proba)

    def _scores(self, theta: Array, rows: Indices | slice) -> Array:
        """The sums that the softmax is taken of, shape (n_classes, n_rows)."""
        if self._shared:
            return theta @ self.features[:, rows]
        terms = [theta[:, [j]] * self.features[own][:, rows] for j, own in enumerate(self.columns.T)]
        return np.sum(terms, axis=0)

    def _gradient(self, proba: Array, weight: Array, rows: Indices | slice) -> Array:
        """Gradient of minus the log-likelihood of some rows, given their probabilities and weights."""
        pull = proba * weight
        pull[self.y[rows], np.arange(len(weight))] -= weight
        if self._shared:
            return pull @ self.features[:, rows].T
        sums = [np.sum(pull * self.features[own][:, rows], axis=1) for own in self.columns.T]
        return np.stack(sums, axis=1)

    def _hessian(self, proba: Array, weight: Array, rows: Indices | None = None) -> Array:
        r"""Hessian of minus the log-likelihood of some rows, given their probabilities and weights.

        .. math:: H_{kj, lm} = \sum_i w_i \, (\delta_{kl} p_{ik} - p_{ik} p_{il}) f_{c_{kj}, i} f_{c_{lm}, i}
        """
        rows = np.arange(len(weight)) if rows is None else rows
        return (self._hessian_of_all if self._shared else self._hessian_of_own)(proba, weight, rows)

    def _hessian_of_all(self, proba: Array, weight: Array, rows: Indices) -> Array:
        """The same where all classes read all features: pairs of classes times pairs of features."""
        first, second = self._pairs_of_classes

        def of(part: slice) -> Array:
            """The pairs of classes times the pairs of features, shape (n_pairs, n_pairs)."""
            every, some = self._all_products, rows[part]
            products = self._products(some) if every is None else every.take(some, axis=1)
            pull = proba[:, part] * weight[part]
            turn = pull[first] * -proba[:, part][second]
            turn[first == second] += pull
            return np.asarray(turn @ products.T)

        n_pairs = self._n_products
        most = max(1, BLOCK_BYTES // (8 * (len(first) + n_pairs)))
        summed = np.zeros((len(first), n_pairs))
        for one in in_threads(of, equal_parts(len(rows), most, PIECE), self._seconds):
            summed += one
        return np.asarray(summed.ravel()[self._places])

    @cached_property
    def _pairs_of_classes(self) -> tuple[Indices, Indices]:
        return np.triu_indices(len(self.columns))

    @property
    def _n_products(self) -> int:
        """Number of pairs of features."""
        return len(self.features) * (len(self.features) + 1) // 2

    @cached_property
    def _all_products(self) -> Array | None:
        """Products of all pairs of features, which every Hessian needs; None where they would not fit."""
        if 8 * self._n_products * len(self.y) > BLOCK_BYTES:
            return None
        return self._products(np.arange(len(self.y)))

    def _products(self, rows: Indices) -> Array:
        """The same at some rows, shape (n_products, n_rows)."""
        features, n_features = self.features[:, rows], len(self.features)
        products, end = np.empty((self._n_products, len(rows))), 0
        for j in range(n_features):
            start, end = end, end + n_features - j
            np.multiply(features[j], features[j:], out=products[start:end])
        return products

    @cached_property
    def _places(self) -> Indices:
        """Where each value of the Hessian is among the pairs of classes times pairs of features."""
        (n_classes, n_own), size = self.columns.shape, self.columns.size
        pairs = [_numbers_of_pairs(number) for number in (n_classes, n_own)]
        n_pairs = n_own * (n_own + 1) // 2
        return (n_pairs * pairs[0][:, None, :, None] + pairs[1][None, :, None, :]).reshape(size, size)

    def _hessian_of_own(self, proba: Array, weight: Array, rows: Indices) -> Array:
        """The same where each class reads its own features."""
        (n_classes, n_own), size = self.columns.shape, self.columns.size
        hessian = np.zeros((size, size))
        blocks = hessian.reshape(n_classes, n_own, n_classes, n_own)
        # For each block the whole Hessian is written: a block is at least as large.
        for part in batches(len(rows), 2 * size, least=size):
            features = self.features[:, rows[part]][self.columns]
            pull = features * (np.sqrt(weight[part]) * proba[:, part])[:, None]
            pull = pull.reshape(size, -1)
            hessian -= pull @ pull.T
            weighted = features * (weight[part] * proba[:, part])[:, None]
            for k in range(n_classes):
                blocks[k, :, k] += features[k] @ weighted[k].T
        return hessian

    def _factor(self, hessian: Array, strength: float) -> Array:
        """Cholesky factor of a Hessian plus the penalty's, which is added to it.

        If need be, the diagonal is made slightly larger.
        """
        diagonal = np.einsum("ii->i", hessian)
        diagonal += 2.0 * strength
        more = np.finfo(float).eps * float(diagonal.max())
        if not np.isfinite(more):
            raise ValueError(
                "The joint link cannot be fitted, as its Hessian is not finite: make sample_weight smaller."
            )
        while True:
            factor, failed = lower_factor(hessian)
            if not failed:
                return factor
            diagonal += more
            more *= 10.0

    @property
    def _seconds(self) -> float:
        """Roughly how long a Hessian takes."""
        return SECONDS * len(self.y) * self.columns.size**2 / 4

    @cached_property
    def _shared(self) -> bool:
        """Whether all classes read all features."""
        return self.columns.shape[1] == len(self.features)


def _numbers_of_pairs(number: int) -> Indices:
    """The number of each pair in the order of ``triu_indices``, whichever of the two comes first."""
    found = np.empty((number, number), dtype=np.intp)
    first, second = np.triu_indices(number)
    found[first, second] = found[second, first] = np.arange(len(first))
    return found


def _probabilities(scores: Array) -> Array:
    proba = np.exp(scores - scores.max(axis=0))
    return np.asarray(proba / proba.sum(axis=0))


def _log_probabilities(scores: Array) -> Array:
    scores = scores - scores.max(axis=0)
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=0)))
