"""The table of links by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from bayes_svm.probability.calibration import fit_sigmoid
from bayes_svm.probability.calibrator import CalibratorLink
from bayes_svm.probability.dumais import fit_dumais
from bayes_svm.probability.kwok import ClippedLink, HingeLink, KwokLink
from bayes_svm.probability.link import Link, LinkData, Needs, Sample
from bayes_svm.probability.moderated import ModeratedLink
from bayes_svm.probability.sigmoid import SigmoidLink
from bayes_svm.utils.types import Array

__all__ = ["LINKS", "LinkKind", "fit_links", "kind_of"]


class LinkKind(NamedTuple):
    """How the links of one name are made.

    Parameters
    ----------
    fit : callable
        Takes a :class:`~bayes_svm.probability.link.Sample` and the smoothing of its targets; returns the
        link.
    needs : Needs, default=Needs.NOTHING
        What the link needs to know of the posterior.
    fitted : bool, default=True
        Whether the link depends on the left-out values. False for Kwok's links, which are formulas.
    """

    fit: Callable[[Sample, float], Link]
    needs: Needs = Needs.NOTHING
    fitted: bool = True


def _sigmoid(sample: Sample, smoothing: float) -> SigmoidLink:
    return fit_sigmoid(
        sample.values, sample.positive, sample.weight, smoothing, sample.boundary, sample.scale
    )


LINKS = {
    "moderated": LinkKind(
        lambda sample, smoothing: ModeratedLink.of(_sigmoid(sample, smoothing), sample), Needs.INFORMATION
    ),
    "sigmoid": LinkKind(_sigmoid),
    "dumais": LinkKind(lambda sample, _: fit_dumais(sample.values, sample.positive, sample.weight)),
    "kwok": LinkKind(lambda sample, _: KwokLink(sample.boundary), Needs.VARIANCE, fitted=False),
    "hinge": LinkKind(lambda sample, _: HingeLink(sample.boundary), fitted=False),
    "clipped": LinkKind(lambda sample, _: ClippedLink(sample.boundary), fitted=False),
}


def kind_of(link: Any) -> LinkKind:
    """The kind of a link that is given by name or as a scikit-learn classifier or regressor."""
    if isinstance(link, str):
        return LINKS[link]
    return LinkKind(lambda sample, _: CalibratorLink.fit(link, sample))


def fit_links(link: Any, data: LinkData, smoothing: float, class_weight: Array | None = None) -> list[Link]:
    """Fit one link for two classes, otherwise one per class.

    Parameters
    ----------
    link : str or estimator
        A name in :data:`LINKS`, or a scikit-learn classifier or regressor of one feature.
    data : LinkData
        Left-out decision values with labels and weights.
    smoothing : float
        Smoothing of the sigmoid's targets: see :func:`bayes_svm.probability.calibration.fit_sigmoid`.
    class_weight : array of shape (n_classes,), optional
        Costs of the classes that the machines were trained with.

    Returns
    -------
    list of Link
        The fitted links, in the order of the machines.
    """
    kind = kind_of(link)
    return [kind.fit(sample, smoothing) for sample in data.samples(class_weight)]
