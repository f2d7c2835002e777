"""Groups and folds: what is refused, and how it is said."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold, TimeSeriesSplit
from sklearn.svm import SVC

from _data import noisy
from bayes_svm import BayesSVC, leave_one_out
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
        (np.array([None, *"ab" * 19, "a"], dtype=object), "groups mixes labels of type NoneType, str"),
        (np.where(ROWS == 3, np.nan, ROWS // 4), "groups holds NaN: every row needs a group"),
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


@pytest.mark.parametrize(
    "kind",
    [list, lambda g: g[:, None], lambda g: np.array([f"p{k}" for k in g]), pd.Series, pd.Categorical],
)
def test_groups_may_be_of_any_kind(kind):
    groups = np.arange(40) // 4
    found = group_numbers(kind(groups), 40)
    assert len(np.unique(np.column_stack([found, groups]), axis=0)) == 10
    assert len(np.unique(found)) == 10
