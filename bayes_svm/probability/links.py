"""The links by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from bayes_svm.probability.calibration import SigmoidLink, fit_sigmoid
from bayes_svm.probability.calibrator import CalibratorLink
from bayes_svm.probability.dumais import fit_dumais
from bayes_svm.probability.kwok import ClippedLink, HingeLink, KwokLink
from bayes_svm.probability.link import Link, LinkData, Needs, Sample
from bayes_svm.probability.moderated import ModeratedLink
from bayes_svm.utils.types import Array

__all__ = ["LINKS", "LinkKind", "fit_links", "kind_of"]


class LinkKind(NamedTuple):
    """How links of one name are made.

    Parameters
    ----------
    fit : callable
        From a :class:`Sample` and the smoothing of its targets to the link.
    needs : Needs
        What the link needs of the posterior.
    fitted : bool
        Whether the left-out values decide anything.
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
    """The kind of a link that is given by its name, or as a scikit-learn classifier or regressor."""
    if isinstance(link, str):
        return LINKS[link]
    return LinkKind(lambda sample, _: CalibratorLink.fit(link, sample))


def fit_links(link: Any, data: LinkData, smoothing: float, class_weight: Array | None = None) -> list[Link]:
    """One link for two classes, or one for each of several classes.

    Parameters
    ----------
    link : str or estimator
        One of :data:`LINKS`, or a scikit-learn classifier or regressor of one feature.
    data : LinkData
        Left-out decision values.
    smoothing : float
        Of the sigmoid's targets, as in :func:`bayes_svm.probability.calibration.fit_sigmoid`.
    class_weight : array of shape (n_classes,), optional
        Costs of the classes that the machines were trained with.
    """
    kind = kind_of(link)
    return [kind.fit(sample, smoothing) for sample in data.samples(class_weight)]
