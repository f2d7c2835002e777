"""The table of links."""

import numpy as np
from sklearn.isotonic import IsotonicRegression

from _values import WEIGHT
from bayes_svm.probability.calibration import fit_sigmoid
from bayes_svm.probability.link import LinkData, Needs
from bayes_svm.probability.links import fit_links, kind_of
from bayes_svm.probability.several import class_log_odds

random = np.random.default_rng(0)


def test_several_columns_get_a_sigmoid_each():
    y = random.integers(0, 3, size=80)
    values = np.eye(3)[y] + random.normal(size=(80, 3))
    links = fit_links("sigmoid", LinkData(values, y, WEIGHT), 0.5)
    assert links == [fit_sigmoid(values[:, k], y == k, WEIGHT, 0.5) for k in range(3)]
    np.testing.assert_array_equal(class_log_odds(links, values, None)[:, 1], links[1].log_odds(values[:, 1]))


def test_links_say_what_they_need():
    assert [kind_of(link).needs for link in ("kwok", "moderated", "sigmoid", "hinge")] == [
        Needs.VARIANCE, Needs.INFORMATION, Needs.NOTHING, Needs.NOTHING,
    ]  # fmt: skip
    assert kind_of(IsotonicRegression()).needs is Needs.NOTHING
