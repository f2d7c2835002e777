"""Groups and folds: which rows they hold, what is refused, and how it is said."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.svm import SVC

from _data import noisy
from bayes_svm import BayesSVC, BayesSVCSearch, RejectOptionClassifier, leave_one_out
from bayes_svm.leave_one_out.folds import fold_numbers, group_numbers

X, Y = noisy(n=40)


ROWS = np.arange(40)


def halves(train_first=ROWS[20:]):
    return [(train_first, ROWS[:20]), (ROWS[:20], ROWS[20:])]


@pytest.mark.parametrize("cv", [5, KFold(4), StratifiedKFold(3), PredefinedSplit(ROWS % 6), halves()])
def test_folds_are_numbered_in_the_order_of_the_splitter(cv):
    fold = fold_numbers(X, Y, None, cv, "cv")
    splits = cv if isinstance(cv, list) else (StratifiedKFold(5) if cv == 5 else cv).split(X, Y)
    for number, (_, test) in enumerate(splits):
        np.testing.assert_array_equal(np.flatnonzero(fold == number), np.sort(test))


def test_parts_may_be_masks_iterators_or_counted_from_the_end():
    expected = fold_numbers(X, Y, None, halves(), "cv")
    masks = [(ROWS >= 20, ROWS < 20), (ROWS < 20, ROWS >= 20)]
    from_the_end = [(ROWS[20:] - 40, ROWS[:20]), (ROWS[:20], ROWS[20:])]
    for cv in (masks, iter(halves()), from_the_end):
        np.testing.assert_array_equal(fold_numbers(X, Y, None, cv, "cv"), expected)


@pytest.mark.parametrize(
    "cv", [TimeSeriesSplit(4), halves(ROWS[25:]), halves(ROWS[10:]), halves(ROWS[20:21])], ids=str
)
def test_a_train_part_that_is_not_the_rest_is_refused(cv):
    """Its machine is another than that of all other rows."""
    for call in (
        lambda: leave_one_out(SVC(), X, Y, cv=cv),
        lambda: BayesSVC(leave_out=cv).fit(X, Y),
    ):
        with pytest.raises(
            ValueError, match=r"(cv|leave_out) trains fold 0 on other rows than those outside"
        ):
            call()


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (
            [(ROWS[20:], np.append(ROWS[:20], 40))],
            "cv: the test part of fold 0 names row 40, and X has 40 rows",
        ),
        ([(ROWS[20:], np.append(ROWS[:20], -41))], "cv: the test part of fold 0 names row -41"),
        ([(ROWS[20:], ROWS[:20] + 0.5)], "cv: the test part of fold 0 holds float64, not row numbers"),
        ([([], ROWS)], "cv tests every row in fold 0, so that no row is left to train on"),
        ([(ROWS[20:], ROWS[:20])], r"cv does not partition the rows: row 20 is in 0 test folds"),
    ],
)
def test_rows_that_are_none_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        leave_one_out(SVC(), X, Y, cv=cv)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (ROWS[:39], r"groups has shape \(39,\): give one label for each of the 40 rows, shape \(40,\)"),
        (np.zeros((40, 2)), r"groups has shape \(40, 2\): give one label"),
        (np.array([*"ab" * 19, 1, 2], dtype=object), "groups mixes labels of type number, str"),
        ([1, "a"] * 20, "groups mixes labels of type number, str"),
        (np.array([None, *"ab" * 19, "a"], dtype=object), r"groups holds None \(row 0\): give every row one"),
        (np.where(ROWS == 3, np.nan, ROWS // 4), r"groups holds nan \(row 3\)"),
        (np.zeros(40), r"groups holds one group only \(0.0\): at least 2 are needed"),
    ],
)
def test_groups_that_are_none_are_refused(groups, message):
    for call in (
        lambda: leave_one_out(SVC(), X, Y, groups=groups),
        lambda: BayesSVC().fit(X, Y, groups=groups),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_groups_that_can_be_sorted_may_be_of_several_types():
    labels = [True, np.True_, np.False_, False, 0, 1]
    assert group_numbers(labels, 6).tolist() == [1, 1, 0, 0, 0, 1]


PARTED = list(StratifiedKFold(4).split(X, Y))


@pytest.mark.parametrize(
    "call",
    [
        lambda groups: leave_one_out(SVC(), X, Y, groups=groups, cv=PARTED),
        lambda groups: BayesSVC(leave_out=PARTED).fit(X, Y, groups=groups),
        lambda groups: BayesSVCSearch(BayesSVC(leave_out=PARTED), {"C": [1.0, 2.0]}).fit(X, Y, groups=groups),
        lambda groups: RejectOptionClassifier(BayesSVC(leave_out=PARTED)).fit(X, Y, groups=groups),
    ],
)
def test_folds_that_part_a_group_are_refused(call):
    groups = ROWS // 4
    with pytest.raises(ValueError, match=r"parts a group: rows . and .* belong together and are in folds"):
        call(groups)
    fold = np.zeros(40, dtype=int)
    for number, (_, test) in enumerate(PARTED):
        fold[test] = number
    call(fold)


@pytest.mark.parametrize(
    "kind",
    [list, lambda g: g[:, None], lambda g: np.array([f"p{k}" for k in g]), pd.Series, pd.Categorical],
)
def test_groups_may_be_of_any_kind(kind):
    groups = np.arange(40) // 4
    found = group_numbers(kind(groups), 40)
    assert len(np.unique(np.column_stack([found, groups]), axis=0)) == 10
    assert len(np.unique(found)) == 10


def test_cv_is_cross_val_predict():
    X, y = noisy(n=80)
    svc = SVC(C=2.0, gamma=0.5, tol=1e-8)
    ours = leave_one_out(svc, X, y, cv=KFold(8))
    theirs = cross_val_predict(svc, X, y, cv=KFold(8), method="decision_function")
    assert "unstable" not in ours.status
    np.testing.assert_allclose(ours.decision_values, theirs, atol=1e-5)


def test_an_integer_cv_is_stratified_and_groups_go_to_the_splitter():
    X, y = noisy(n=40)
    five = leave_one_out(SVC(), X, y, cv=5)
    np.testing.assert_array_equal(
        five.decision_values, leave_one_out(SVC(), X, y, cv=StratifiedKFold(5)).decision_values
    )
    groups = np.arange(40) // 4
    grouped = leave_one_out(SVC(), X, y, cv=GroupKFold(5), groups=groups)
    folds = np.empty(40, dtype=int)
    for number, (_, test) in enumerate(GroupKFold(5).split(X, y, groups)):
        folds[test] = number
    np.testing.assert_array_equal(
        grouped.decision_values, leave_one_out(SVC(), X, y, groups=folds).decision_values
    )
    np.testing.assert_allclose(
        leave_one_out(SVC(), X, y, cv=LeaveOneOut()).decision_values,
        leave_one_out(SVC(), X, y).decision_values,
        atol=1e-10,
    )


@pytest.mark.parametrize("cv", [ShuffleSplit(3), RepeatedKFold(n_splits=3, n_repeats=2)])
def test_folds_that_do_not_partition_the_rows_are_refused(cv):
    with pytest.raises(ValueError, match=r"does not partition the rows: row \d+ is in \d test folds"):
        leave_one_out(SVC(), *noisy(), cv=cv)


def test_one_group_is_refused():
    X, y = noisy()
    with pytest.raises(ValueError, match="groups holds one group only"):
        leave_one_out(SVC(), X, y, groups=np.zeros(60))


def test_groups_of_another_length_are_refused():
    X, y = noisy()
    with pytest.raises(ValueError, match=r"groups has shape \(59,\): give one label for each of the 60 rows"):
        leave_one_out(SVC(), X, y, groups=np.arange(59))
