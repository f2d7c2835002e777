import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.class_weight import compute_sample_weight

from _data import three_classes
from bayes_svm.utils.checks import (
    check_members,
    checked_labels,
    checked_weights,
    class_weights,
    encode_classes,
    row_bounds,
    with_narrow_indices,
)

ONES = np.ones(4)


def bounds_of(C, y, weight, class_weight):
    return row_bounds(C, class_weights(class_weight, np.arange(y.max() + 1), y, weight), y, weight)


@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 5.0}, {0: 0.1, 2: 3.0}])
def test_bounds_are_c_times_both_weights(class_weight):
    _, y = three_classes()
    weight = np.random.default_rng(0).random(len(y))
    bounds = bounds_of(2.0, y, weight, class_weight)
    if class_weight == "balanced":
        mass = np.bincount(y, weights=weight)
        factor = (weight.sum() / (3 * mass))[y]
    else:
        factor = compute_sample_weight(class_weight, y)
    np.testing.assert_allclose(bounds, 2.0 * weight * factor)


def test_balanced_counts_a_row_of_weight_two_twice():
    y, weight = np.array([0, 0, 1, 1]), np.array([2.0, 1.0, 1.0, 0.0])
    repeated = bounds_of(1.0, np.array([0, 0, 0, 1]), ONES, "balanced")
    once = bounds_of(1.0, y, weight, "balanced")
    np.testing.assert_allclose(once, [2 * repeated[0], repeated[0], repeated[3], 0])


def test_a_class_weight_for_no_class_is_refused():
    with pytest.raises(ValueError, match=r"class_weight names classes that y does not hold: \['7'\]"):
        bounds_of(1.0, np.array([0, 1]), np.ones(2), {7: 1.0})


def test_where_every_class_has_a_weight_those_of_other_classes_do_not_matter():
    bounds = bounds_of(2.0, np.array([0, 1]), np.ones(2), {0: 3.0, 1: 0.5, 7: 1.0})
    np.testing.assert_array_equal(bounds, [6.0, 1.0])


@pytest.mark.parametrize("factor", [0.0, -1.0, np.inf, np.nan])
def test_a_class_weight_out_of_range_is_refused(factor):
    with pytest.raises(
        ValueError, match=r"class_weight\[1\]=.* is not a weight: give a finite number above 0"
    ):
        bounds_of(1.0, np.array([0, 1]), np.ones(2), {1: factor})


@pytest.mark.parametrize(
    ("C", "weight"),
    [(1e-320, 1.0), (1e-200, 1e-200), (1e307, 1.0), (1e200, 1e200), (1e302, 1.0), (1.0, 1e305)],
)
def test_bounds_beyond_double_precision_are_refused_and_say_what_to_change(C, weight):
    with pytest.raises(
        ValueError, match=r"double precision needs it .* Choose C, sample_weight and class_weight"
    ):
        bounds_of(C, np.array([0, 1] * 20), np.full(40, weight), None)


@pytest.mark.parametrize("C", [1e-307, 1e-300, 1e-20, 1e300])
def test_bounds_within_double_precision_are_kept(C):
    np.testing.assert_array_equal(bounds_of(C, np.array([0, 1]), np.array([1.0, 2.0]), None), [C, 2 * C])


def test_classes_are_sorted_and_those_of_absent_rows_are_unknown():
    classes, numbers = encode_classes(np.array(["b", "a", "c", "a"]), np.array([1.0, 1, 0, 1]))
    assert list(classes) == ["a", "b"]
    assert list(numbers) == [1, 0, -1, 0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1, 1, 1], "one class only"),
        ([0.5, 1.5, 2.5, 3.5], "Unknown label type: continuous"),
        (["a", "b", None, "a"], r"y holds None \(row 2\): give every row one, or leave the row out"),
        (["a", float("nan"), "b", "a"], r"y holds nan \(row 1\)"),
        (["a", "b", "a", pd.NA], r"y holds <NA> \(row 3\)"),
        (["a", 1, "b", "a"], "y mixes labels of type number, str"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(y, message):
    kind = object if isinstance(y[0], str) else None
    with pytest.raises(ValueError, match=message):
        encode_classes(np.array(y, dtype=kind), ONES)


def test_a_class_whose_rows_all_weigh_nothing_is_not_there():
    with pytest.raises(ValueError, match=r"one class only .*among rows of positive weight"):
        encode_classes(np.array([0, 0, 1, 1]), np.array([1.0, 1, 0, 0]))


def test_a_class_of_one_member_is_refused_unless_its_weight_is_two():
    y = np.array([0, 0, 0, 1])
    with pytest.raises(ValueError, match=r"rare.* has 1 member: every class needs at least 2"):
        check_members(np.array(["common", "rare"]), y, ONES)
    check_members(np.array(["common", "rare"]), y, np.array([1.0, 1, 1, 2]))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, -1, 1, 1], "sample_weight holds negative values"),
        ([0, 0, 0, 0], "sample_weight is zero for every row|at least one non-zero"),
        ([1, np.nan, 1, 1], "sample_weight contains NaN"),
        ([1, 1], "sample_weight.shape"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        checked_weights(np.array(weight, dtype=float), np.eye(4))


def test_wide_indices_are_narrowed_and_the_callers_matrix_left_alone():
    X = sparse.csr_matrix(np.eye(3))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    narrow = with_narrow_indices(X)
    assert narrow.indices.dtype == narrow.indptr.dtype == np.int32
    assert X.indices.dtype == np.int64
    np.testing.assert_array_equal(narrow.toarray(), np.eye(3))


def test_a_column_of_labels_is_told_of_at_the_callers_line():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed") as told:
        assert checked_labels(np.array([["a"], ["b"]])).tolist() == ["a", "b"]
    assert told[0].filename == __file__


def test_missing_labels_are_refused_without_a_warning_of_numpy():
    labels = np.array([0.0, 1.0, np.nan])
    with warnings.catch_warnings(action="error"), pytest.raises(ValueError, match="NaN"):
        encode_classes(labels, np.ones(3))
