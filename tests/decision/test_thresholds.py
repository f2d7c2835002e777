"""Chosen thresholds, compared with a loop over all distinct thresholds."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import FixedThresholdClassifier

from _data import problem
from bayes_svm import choose_threshold

random = np.random.default_rng(0)
COSTS = {"fp": 1.0, "fn": 5.0}


def counts(positive, decided, weight):
    """Weighted counts tp, fn, fp and tn."""
    return [
        float(weight[truth & made].sum())
        for truth, made in itertools.product((positive, ~positive), (decided, ~decided))
    ]


def slow_best(y, values, weight, value_of):
    """Best value over all distinct thresholds, and over deciding no point positive."""
    best = None
    for threshold in [*np.unique(values[weight > 0]), np.inf]:
        found = value_of(*counts(y == 1, values >= threshold, weight))
        best = found if best is None else max(best, found)
    return best


OBJECTIVES = {
    "f1": ({}, lambda tp, fn, fp, tn: 2 * tp / (2 * tp + fp + fn)),
    "f3": ({"beta": 3.0}, lambda tp, fn, fp, tn: 10 * tp / (10 * tp + 9 * fn + fp)),
    "cost": ({"objective": "cost", **COSTS}, lambda tp, fn, fp, tn: -(fp + 5 * fn)),
    "gain": (
        {"objective": "cost", "costs": [[-1, 2], [3, -4]]},
        lambda tp, fn, fp, tn: tn - 2 * fp - 3 * fn + 4 * tp,
    ),
    "rate": (
        {"objective": "rate", "rate": 0.3},
        lambda tp, fn, fp, tn: -abs((tp + fp) / (tp + fn + fp + tn) - 0.3),
    ),
    "break_even": ({"objective": "break_even"}, lambda tp, fn, fp, tn: -abs(fp - fn)),
}


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(OBJECTIVES)),
    st.integers(0, 10**6),
    st.integers(2, 30),
    st.sampled_from([1, 3, 1000]),
    st.booleans(),
)
def test_no_threshold_is_better(name, seed, n, levels, weighted):
    y, values, weight = problem(seed, n, levels, weighted)
    options, value_of = OBJECTIVES[name]
    best = slow_best(y, values, weight, value_of)
    found = choose_threshold(y, values, sample_weight=weight, n_bootstrap=0, **options)
    cells = counts(y == 1, values >= found.threshold, weight)
    assert value_of(*cells) == pytest.approx(best, abs=1e-12)
    (confusion,) = found.confusions
    assert [confusion.tp, confusion.fn, confusion.fp, confusion.tn] == cells
    np.testing.assert_array_equal(found.confusion_matrix, [[cells[3], cells[2]], [cells[1], cells[0]]])


ASKED = {
    "recall": {"objective": "recall", "at_least": 0.7},
    "sure recall": {"objective": "recall", "at_least": 0.7, "confidence": 0.8},
    "precision": {"objective": "precision", "at_least": 0.6},
    "sure precision": {"objective": "precision", "at_least": 0.6, "confidence": 0.8},
}


@pytest.mark.parametrize("name", sorted({**OBJECTIVES, **ASKED}))
def test_a_weight_is_a_row_repeated(name):
    y, values, weight = problem(3, 40, 3, True)
    options = ASKED[name] if name in ASKED else OBJECTIVES[name][0]
    repeats = weight.astype(int)
    weighted = choose_threshold(y, values, sample_weight=weight, **options)
    repeated = choose_threshold(np.repeat(y, repeats), np.repeat(values, repeats), **options)
    assert weighted.threshold == repeated.threshold
    assert weighted.confusions == repeated.confusions


def test_separable_values_are_cut_in_the_gap():
    y, values = [0, 0, 1, 1], [-2.0, -1.0, 3.0, 4.0]
    for options in (
        {},
        {"objective": "recall", "at_least": 0.6},
        {"objective": "precision", "at_least": 0.7},
    ):
        assert choose_threshold(y, values, **options).threshold == 1.0


def test_all_values_equal_leave_all_or_nothing():
    y, values = [0, 0, 0, 1], np.zeros(4)
    assert choose_threshold(y, values).decide(values).tolist() == [1, 1, 1, 1]
    assert choose_threshold(y, values, "cost").decide(values).tolist() == [0, 0, 0, 0]
    with pytest.warns(UserWarning, match=r"precision >= 0.5: the most that one shows is 0.159"):
        assert choose_threshold(y, values, "precision", at_least=0.5).decide(values).tolist() == [0, 0, 0, 0]


def test_no_threshold_divides_what_rounding_alone_tells_apart():
    values = np.array([1.0, np.nextafter(1.0, 2.0)])
    for scale in (1.0, 1e-20, 1e20):
        assert choose_threshold([0, 1], scale * values).decide(scale * values).tolist() == [1, 1]
        apart = scale * np.array([1.0, 1.0 + 1e-9])
        assert choose_threshold([0, 1], apart).decide(apart).tolist() == [0, 1]


def test_labels_of_any_type():
    found = choose_threshold(["spam", "ham", "spam", "ham"], [2.0, -1.0, 1.0, 1.5], "rate", rate=0.25)
    assert found.decide([3.0, 0.0]).tolist() == ["spam", "ham"]


class Scores(ClassifierMixin, BaseEstimator):
    """Its one feature is its decision value."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


def test_f1_is_f_beta():
    y, values, weight = problem(7, 60, 3, True)
    one, other = (choose_threshold(y, values, name, sample_weight=weight) for name in ("f1", "f_beta"))
    assert one.threshold == other.threshold
    assert one.f1 == other.f1


def test_pos_label_is_the_class_of_the_higher_values():
    y, values, _ = problem(5, 60, 3, False)
    names = np.array(["rare", "usual"])  # the positive label sorts first
    for options in ({"objective": "f1"}, {"objective": "cost", "fn": 4.0}):
        plain = choose_threshold(y, values, **options)
        found = choose_threshold(names[1 - y], values, pos_label="rare", **options)
        assert found.threshold == plain.threshold
        assert found.confusions == plain.confusions
        np.testing.assert_array_equal(found.decide(values), names[1 - plain.decide(values)])
        again = choose_threshold(y, values, pos_label=1, **options)
        assert again.expected == plain.expected
    # Rows and columns of the matrix are in the order of the sorted labels.
    plain = choose_threshold(y, values, "cost", costs=[[0, 1], [4, 0]])
    found = choose_threshold(names[1 - y], values, "cost", costs=[[0, 4], [1, 0]], pos_label="rare")
    assert found.threshold == plain.threshold
    with pytest.raises(ValueError, match="needs two classes"):
        choose_threshold([0, 1, 2], np.eye(3), pos_label=1)


def test_rows_of_no_weight_do_not_count():
    y, values, weight = problem(6, 60, 3, True)
    used = weight > 0
    one = choose_threshold(y, values, sample_weight=weight)
    other = choose_threshold(y[used], values[used], sample_weight=weight[used])
    assert (one.threshold, one.expected) == (other.threshold, other.expected)


def test_fixed_threshold_classifier_decides_the_same():
    y, values, _ = problem(2, 60, 3, False)
    found = choose_threshold(y, values, "cost", **COSTS)
    fixed = FixedThresholdClassifier(
        Scores(), threshold=found.threshold, response_method="decision_function"
    ).fit(values[:, None], y)
    np.testing.assert_array_equal(fixed.predict(values[:, None]), found.decide(values))


def test_one_against_the_rest_is_each_class_by_itself():
    y, values = random.integers(0, 3, 90), random.normal(size=(90, 3))
    values[np.arange(90), y] += 1.0
    found = choose_threshold(y, values, n_bootstrap=5, random_state=0)
    assert found.confusion_matrix.shape == (3, 2, 2)
    assert found.standard_error.shape == found.reached.shape == (3,)
    for k in range(3):
        alone = choose_threshold((y == k).astype(int), values[:, k])
        assert found.threshold[k] == alone.threshold
        assert found.confusions[k] == alone.confusions[0]
    np.testing.assert_array_equal(found.decide(values)[:, 1], values[:, 1] >= found.threshold[1])
    with pytest.raises(AttributeError, match="curves"):
        _ = found.curve


def test_two_class_cost_is_reported():
    found = choose_threshold([0, 1, 0, 1], [0.0, 1.0, 2.0, 3.0], "cost", n_bootstrap=0, **COSTS)
    assert found.total_cost == 1.0


def test_standard_error_is_seeded_and_shrinks_with_n():
    def error(n, seed=0):
        y, values, _ = problem(4, n, 10**6, False)
        return choose_threshold(
            y, values, "rate", rate=0.5, n_bootstrap=100, random_state=seed
        ).standard_error

    assert error(100) == error(100) != error(100, seed=1)
    assert error(2000) < error(100) / 2
    assert choose_threshold([0, 1], [0.0, 1.0], n_bootstrap=0).standard_error is None


def test_standard_error_of_a_quantile_is_the_known_one():
    # A rate of 0.5 is reached at the median, whose standard error is 1 / (2 f(0) sqrt(n)) for a density f.
    n = 4000
    values = np.random.default_rng(8).normal(size=n)
    y = np.arange(n) % 2
    found = choose_threshold(y, values, "rate", rate=0.5, n_bootstrap=300, random_state=0)
    assert found.standard_error == pytest.approx(np.sqrt(2 * np.pi) / (2 * np.sqrt(n)), rel=0.2)


def test_resamples_out_of_reach_are_told():
    # The 22 positives on top are just enough: in half of the resamples there are fewer.
    y = np.repeat([1, 0, 1], [22, 60, 60])
    with pytest.warns(UserWarning, match="out of reach in .* of 50 resamples"):
        found = choose_threshold(
            y, -np.arange(142.0), "precision", at_least=0.9, confidence=0.9, n_bootstrap=50, random_state=3
        )
    assert found.reached
    assert found.expected == found.confusions


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "accuracy"}, "objective='accuracy' is not one of"),
        ({"beta": 0.0}, "beta=0.0"),
        ({"beta": 1e200}, "beta=1e\\+200"),
        ({"beta": 1e-200}, "beta=1e-200"),
        ({"sample_weight": np.full(4, 1e308)}, "sample_weight sums to inf"),
        ({"objective": "precision"}, "needs at_least"),
        ({"objective": "recall", "at_least": 1.5}, "needs at_least"),
        ({"at_least": 0.5}, "belong to objective='precision'"),
        ({"objective": "recall", "at_least": 0.5, "confidence": 1.0}, "confidence=1.0"),
        ({"rate": 0.5}, "rate is needed"),
        ({"objective": "rate"}, "rate is needed"),
        ({"objective": "rate", "rate": 2.0}, "not in"),
        ({"fp": 2.0}, "belong to objective='cost'"),
        ({"objective": "cost", "fp": -1.0}, "at least 0"),
        ({"objective": "cost", "fp": 2.0, "costs": [[0, 1], [1, 0]]}, "either"),
        ({"objective": "cost", "costs": [[0, 1]]}, "shape"),
        ({"objective": "cost", "costs": {"fp": 1}}, "one row per true class"),
        ({"objective": "f1", "beta": 2.0}, "beta=2.0 belongs to objective='f_beta', not to 'f1'"),
        ({"objective": "cost", "beta": 2.0}, "beta=2.0 belongs to objective='f_beta', not to 'cost'"),
        ({"pos_label": 2}, "pos_label=2 is not one of"),
        ({"n_bootstrap": 1}, "n_bootstrap=1"),
        ({"sample_weight": [1, -1, 1, 1]}, "negative"),
        ({"sample_weight": [1, 0, 1, 0]}, "one class only"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        choose_threshold([0, 1, 0, 1], [0.0, 1.0, 2.0, 3.0], **options)


@pytest.mark.parametrize(
    ("y", "values", "message"),
    [
        ([0, 0], [1.0, 2.0], "one class only"),
        ([0, 1], [1.0, np.nan], "decision_values"),
        ([0, 1], [[1.0, 2.0], [2.0, 3.0]], r"do not fit 2 classes: give shape \(n_samples,\), such as left"),
        ([0, 1, 2], [1.0, 2.0, 3.0], r"do not fit 3 classes: give shape \(n_samples, 3\)"),
        ([0, 1], [1.0, 2.0, 3.0], "inconsistent"),
    ],
)
def test_data_that_do_not_fit_are_refused(y, values, message):
    with pytest.raises(ValueError, match=message):
        choose_threshold(y, values)


def test_three_classes_need_the_whole_cost_matrix():
    with pytest.raises(ValueError, match="needs cost"):
        choose_threshold([0, 1, 2], np.eye(3), "cost", fp=2.0)


def test_deciding_nothing_positive_is_zero_division_as_in_the_metrics():
    found = choose_threshold([0, 0, 0, 1], np.zeros(4), "cost", n_bootstrap=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UndefinedMetricWarning):
            _ = found.precision


def test_micro_averages_are_those_to_expect():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    values = rng.normal(size=(90, 3)) + 1.0 * (y[:, None] == np.arange(3))
    found = choose_threshold(y, values, "f1")
    total = np.sum([[one.tp, one.fp, one.fn] for one in found.expected], axis=0)
    assert (found.micro.tp, found.micro.fp, found.micro.fn) == pytest.approx(total)
    assert found.micro.f1 == pytest.approx(2 * total[0] / (2 * total[0] + total[1] + total[2]))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_of_next_to_no_rows_no_precision_is_shown():
    with pytest.warns(UserWarning, match="the most that one shows is 0"):
        found = choose_threshold(
            [0, 0, 1, 1],
            [0.0, 1, 2, 3],
            "precision",
            at_least=0.5,
            confidence=0.9,
            sample_weight=np.full(4, 1e-5),
        )
    assert not found.reached


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("beta", "a"),
        ("rate", "a"),
        ("at_least", "x"),
        ("n_bootstrap", None),
        ("n_bootstrap", 2.5),
        ("fp", "x"),
    ],
)
def test_an_argument_of_the_wrong_type_is_named(name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of choose_threshold"):
        choose_threshold([0, 1, 0, 1], [0.0, 1.0, 2.0, 3.0], **{name: value})


def test_values_of_one_column_are_chosen_and_decided_on():
    y, values = np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.4])
    chosen = choose_threshold(y, values[:, None], "f1")
    np.testing.assert_array_equal(chosen.decide(values[:, None]), chosen.decide(values))


def test_nothing_is_decided_of_a_missing_decision_value():
    chosen = choose_threshold([0, 1, 0, 1], [0.0, 1.0, 2.0, 3.0], "f1")
    with pytest.raises(ValueError, match="decision_values contains NaN"):
        chosen.decide([1.0, np.nan])


@pytest.mark.parametrize(
    ("n", "rate", "expected"), [(5, 0.5, 2), (7, 0.5, 3), (11, 0.5, 5), (15, 0.1, 1), (35, 0.1, 3)]
)
def test_of_equally_good_thresholds_rounding_chooses_none_but_the_highest(n, rate, expected):
    values = np.arange(float(n))
    y = (np.arange(n) >= n - 2).astype(int)
    chosen = choose_threshold(y, values, "rate", rate=rate, n_bootstrap=0)
    assert (values >= chosen.threshold).sum() == expected


@pytest.mark.parametrize("false_alarm", [1e4, 1e9, 1e12])
def test_a_large_cost_elsewhere_does_not_hide_small_differences(false_alarm):
    values = random.normal(size=2000)
    y = (values + random.normal(size=2000) > 0).astype(int)
    chosen = choose_threshold(y, values, "cost", fp=false_alarm, fn=1.0, n_bootstrap=0)
    assert (y[values >= chosen.threshold] == 1).all()
    assert (values >= chosen.threshold).sum() == (values > values[y == 0].max()).sum()


def test_costs_that_overflow_are_refused():
    with pytest.raises(ValueError, match="costs times the weights leave double precision"):
        choose_threshold([0, 1, 1], [0.0, 1.0, 2.0], "cost", costs=[[0, 1e308], [-1e308, 0]], n_bootstrap=0)
