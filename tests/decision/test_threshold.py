"""What a threshold decides, and what it tells."""

import numpy as np
import pytest

from _data import problem
from bayes_svm import choose_threshold


def test_decide_refuses_values_of_another_shape():
    with pytest.raises(ValueError, match="do not fit"):
        choose_threshold([0, 1], [0.0, 1.0]).decide(np.zeros((2, 3)))


def test_measures_are_those_to_expect_and_counts_those_of_the_data():
    y, values, _ = problem(2, 80, 1000, False)
    found = choose_threshold(y, values, "f1")
    (expected,), (counted,) = found.expected, found.confusions
    assert [found.error, found.recall, found.precision, found.f1] == [
        expected.error, expected.recall, expected.precision, expected.f1
    ]  # fmt: skip
    assert counted.f1 == found.curve.f_beta().max()
    assert found.confusion_matrix.sum() == len(y)
    assert expected.tp + expected.fn == pytest.approx(y.sum())


def test_each_class_says_what_it_cannot_show():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [50, 50, 5])
    values = random.normal(size=(105, 3)) + 3 * np.eye(3)[y]
    with pytest.warns(UserWarning, match=r"Class 2: No threshold shows recall"):
        found = choose_threshold(y, values, "recall", at_least=0.95, confidence=0.9)
    assert found.reached.tolist() == [True, True, False]
    assert found.bound[2] is None
    assert min(found.bound[:2]) >= 0.95
    assert found.decide(values)[:, 2].all()


@pytest.mark.parametrize("n_bootstrap", [0, 20])
def test_the_error_of_offsets_is_the_share_of_wrong_labels(n_bootstrap):
    random = np.random.default_rng(0)
    y = random.integers(0, 4, size=200)
    values = random.normal(size=(200, 4)) + 1.5 * np.eye(4)[y]
    found = choose_threshold(y, values, "cost", costs=1.0 - np.eye(4), n_bootstrap=n_bootstrap)
    assert found.error * len(y) == pytest.approx(found.total_cost)
    if n_bootstrap == 0:
        assert found.error == pytest.approx(np.mean(found.decide(values) != y))
    # A threshold for each class decides for any number of them.
    each = choose_threshold(y, values, "f1", n_bootstrap=n_bootstrap)
    assert each.error == pytest.approx(np.mean([one.error for one in each.expected]))
