"""From left-out values to the probabilities of all classes: which way is taken when."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.neighbors import KNeighborsClassifier

from bayes_svm.probability.joint import fit_joint
from bayes_svm.probability.link import LinkData
from bayes_svm.probability.links import fit_links
from bayes_svm.probability.probabilities import Calibration
from bayes_svm.probability.several import (
    class_log_odds,
    log_probabilities,
    winner_log_probabilities,
)

random = np.random.default_rng(0)
N = 90
Y = np.arange(N) % 3
VALUES = 2.0 * np.eye(3)[Y] - 1.0 + random.normal(size=(N, 3))
FOLDS = np.eye(5)[np.arange(N) // 3 % 5]
DATA = LinkData(VALUES, Y, np.ones(N), folds=FOLDS)
TWO = LinkData(VALUES[:, 0], (Y == 0).astype(int), np.ones(N))


def calibration(link="sigmoid", multiclass="joint", class_weight=(1.0, 1.0, 1.0)):
    return Calibration(link, 0.1, multiclass, np.array(class_weight))


@pytest.mark.parametrize("multiclass", ["joint", "normalise", "winner"])
def test_two_classes_have_one_link_whatever_several_would_have(multiclass):
    fitted = calibration(multiclass=multiclass, class_weight=(1.0, 1.0)).fit(TWO)
    [link] = fit_links("sigmoid", TWO, 0.1)
    assert fitted.links == [link]
    assert fitted.joint is None
    np.testing.assert_allclose(np.exp(fitted.logs(TWO.values, None))[:, 1], expit(link.log_odds(TWO.values)))


def test_the_joint_link_is_fitted_to_the_log_odds_of_the_links():
    fitted = calibration().fit(DATA)
    log_odds = class_log_odds(fitted.links, VALUES, None)
    joint, crossed = fit_joint(log_odds, Y, DATA.weight, FOLDS)
    np.testing.assert_array_equal(fitted.joint.weights, joint.weights)
    np.testing.assert_array_equal(fitted.logs(VALUES, None), log_probabilities(joint.log_odds(log_odds)))
    np.testing.assert_array_equal(fitted.crossed_proba(None), np.exp(log_probabilities(crossed)))


def test_the_joint_link_is_fitted_unmoderated_and_moderated_afterwards():
    information = np.where(np.arange(N)[:, None] < 6, 1e-9, 1.0) * np.ones((N, 3))
    data = replace(DATA, reading=information)
    fitted, plain = calibration("moderated").fit(data), calibration().fit(DATA)
    np.testing.assert_array_equal(fitted.joint.weights, plain.joint.weights)
    far, near = (fitted.logs(VALUES, np.full((N, 3), level)) for level in (0.0, 1.0))
    np.testing.assert_array_equal(near, plain.logs(VALUES, None))
    limits = log_probabilities(np.array([[link.limit for link in fitted.links]]))
    np.testing.assert_allclose(far, np.repeat(limits, N, axis=0), atol=1e-8)


@pytest.mark.parametrize(
    ("link", "multiclass", "class_weight", "combine"),
    [
        ("sigmoid", "normalise", (1.0, 1.0, 1.0), log_probabilities),
        ("sigmoid", "winner", (1.0, 1.0, 1.0), winner_log_probabilities),
        ("sigmoid", "winner", (1.0, 1.0, 5.0), log_probabilities),
        ("kwok", "joint", (1.0, 1.0, 1.0), winner_log_probabilities),
        ("kwok", "joint", (2.0, 2.0, 2.0 + 1e-12), winner_log_probabilities),
        ("kwok", "joint", (1.0, 1.0, 5.0), log_probabilities),
        ("kwok", "normalise", (1.0, 1.0, 1.0), log_probabilities),
    ],
)
def test_log_odds_without_a_joint_link_are_normalised_or_the_winners(link, multiclass, class_weight, combine):
    fitted = calibration(link, multiclass, class_weight).fit(DATA)
    assert fitted.joint is None
    log_odds = class_log_odds(fitted.links, VALUES, None)
    np.testing.assert_array_equal(fitted.logs(VALUES, None), combine(log_odds))


def test_probabilities_without_a_share_are_those_fitted_to_the_rest():
    share = np.tile([1.0, 0.5, 0.0], N // 3)[np.argsort(np.argsort(random.random(N)))]
    own = calibration(multiclass="normalise")
    found = own.proba_without(DATA, share, own.fit(DATA))
    rest = own.fit(DATA.weighted(1.0 - share))
    np.testing.assert_array_equal(found, np.exp(rest.logs(VALUES, None)))


@pytest.mark.parametrize(("n_kept", "refitted"), [(3, True), (2, False)])
def test_where_too_few_members_of_a_class_are_left_the_links_have_seen_it_whole(n_kept, refitted):
    share = np.zeros(N)
    share[np.flatnonzero(Y == 1)[n_kept:]] = 1.0
    own = calibration(multiclass="normalise")
    whole = own.fit(DATA)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = own.proba_without(DATA, share, whole)
    assert np.array_equal(found, np.exp(whole.logs(VALUES, None))) == (not refitted)


def test_values_that_separate_nothing_have_been_warned_of_once():
    data = replace(TWO, values=-TWO.values)
    own = calibration(class_weight=(1.0, 1.0))
    with pytest.warns(UserWarning, match="do not separate the classes"):
        whole = own.fit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own.proba_without(data, np.tile([1.0, 0.0], N // 2), whole)


@pytest.mark.parametrize("link", [KNeighborsClassifier(), IsotonicRegression(out_of_bounds="clip")], ids=str)
def test_only_a_calibrator_that_takes_weights_is_fitted_to_parts_of_rows(link):
    share = np.tile([0.4, 0.6, 0.0], N // 3)
    own = calibration(link, class_weight=(1.0, 1.0))
    whole_rows = np.round(share) if isinstance(link, KNeighborsClassifier) else share
    rest = own.fit(TWO.weighted(1.0 - whole_rows))
    found = own.proba_without(TWO, share, own.fit(TWO))
    np.testing.assert_array_equal(found, np.exp(rest.logs(TWO.values, None)))
