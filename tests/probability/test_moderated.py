"""The moderated link: its reference, its limit, and what lies between."""

import numpy as np
import pytest
from scipy.special import expit

from _values import POSITIVE, VALUES
from bayes_svm.probability.calibration import fit_sigmoid
from bayes_svm.probability.link import LinkData
from bayes_svm.probability.links import fit_links
from bayes_svm.probability.moderated import ModeratedLink
from bayes_svm.probability.sigmoid import SigmoidLink

random = np.random.default_rng(0)

INFORMATION = np.array([0.0, 0.01, 0.25, 1.0, 4.0, np.inf])


def moderated(information, weight=None, y=None):
    y = POSITIVE.astype(int) if y is None else y
    weight = np.ones(len(y)) if weight is None else weight
    return fit_links("moderated", LinkData(VALUES[: len(y)], y, weight, information), 0.25)[0]


@pytest.mark.parametrize("limit", [0.0, 1.5])
def test_a_moderated_link_draws_log_odds_to_the_limit_in_proportion_to_the_information(limit):
    link = ModeratedLink(SigmoidLink(2.0, 0.5), reference=1.0, limit=limit)
    share = np.array([0.0, 0.01, 0.25, 1.0, 1.0, 1.0])
    for value, log_odds in ((1.0, 2.5), (-1.0, -1.5), (-0.25, 0.0), (1e12, 2e12)):
        found = link.log_odds(np.full(6, value), INFORMATION)
        np.testing.assert_allclose(found, share * log_odds + (1 - share) * limit, rtol=1e-9, atol=1.001e-9)
    far = link.log_odds(np.array([-9.0, 1.0, 9.0]), np.zeros(3))
    assert np.all(np.diff(far) > 0)  # the order of the decision values stays what it is


def test_the_reference_is_a_twentieth_of_what_all_but_a_hundredth_or_one_row_have():
    information = random.permutation(np.arange(1.0, 81.0))
    link = moderated(information)
    assert link.reference == pytest.approx(0.05 * 2.0)
    outlier = np.where(information == 1.0, 1e-200, information)
    assert moderated(outlier).reference == link.reference
    hundreds = np.full(80, 5.0)  # 1 % of 400 is 4: one row and no more
    assert moderated(information, hundreds).reference == pytest.approx(0.05)
    assert link.sigmoid == fit_sigmoid(VALUES, POSITIVE, np.ones(80), 0.25)
    np.testing.assert_array_equal(link.log_odds(VALUES, information), link.sigmoid.log_odds(VALUES))
    heavy = np.where(information == 80.0, 1e4, 1.0)  # the others are less than a hundredth
    assert moderated(information, heavy).reference == pytest.approx(0.05 * 80)


@pytest.mark.filterwarnings("ignore:The decision values do not separate")  # some labels here are made up
def test_the_limit_is_laplaces_rule_on_the_five_rows_farthest_out():
    information = random.permutation(np.arange(1.0, 81.0))
    positive = int(POSITIVE[np.argsort(information)[:5]].sum())
    assert expit(moderated(information).limit) == pytest.approx((positive + 1) / 7)
    y = np.arange(80) >= 40  # the first forty, equally far, share the five places
    level = np.where(np.arange(80) % 2, 1.0, 1.0 + 1e-13)
    level[[0, 41]] = 0.5, 2.0
    expected = (1.0 + 4 * y[[k for k in range(80) if k not in (0, 41)]].mean()) / 7
    assert expit(moderated(level, y=y.astype(int)).limit) == pytest.approx(expected)
    few = moderated(np.ones(7), np.full(7, 0.5), np.array([1, 0, 0, 1, 0, 1, 0]))
    assert expit(few.limit) == pytest.approx((1.5 + 1) / (3.5 + 2))


def test_reference_and_limit_count_weights_as_repeated_rows():
    information = random.permutation(np.arange(1.0, 81.0))
    weight = random.integers(0, 4, size=80)
    rows = np.repeat(np.arange(80), weight)
    weighted = moderated(information, weight.astype(float))
    [repeated] = fit_links(
        "moderated",
        LinkData(VALUES[rows], POSITIVE[rows].astype(int), np.ones(len(rows)), information[rows]),
        0.25,
    )
    assert weighted.reference == repeated.reference
    assert weighted.limit == pytest.approx(repeated.limit)


def test_without_information_a_moderated_link_is_the_sigmoid():
    link = moderated(None)
    assert link.reference == 0.0
    np.testing.assert_array_equal(link.log_odds(VALUES, None), link.sigmoid.log_odds(VALUES))
    np.testing.assert_array_equal(link.log_odds(np.ones(6), INFORMATION), link.sigmoid.log_odds(np.ones(6)))


@pytest.mark.parametrize("level", [0.0, np.inf], ids=["none known", "all known"])
def test_information_that_tells_nothing_apart_moderates_nothing(level):
    link = moderated(np.full(80, level))
    np.testing.assert_array_equal(link.log_odds(VALUES, np.zeros(80)), link.sigmoid.log_odds(VALUES))


def test_a_few_rows_without_information_leave_the_least_there_is_as_the_reference():
    information = np.where(np.arange(80) < 4, 0.0, 2.0)
    assert moderated(information).reference == pytest.approx(0.05 * 2.0)
