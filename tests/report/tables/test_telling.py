"""How nearly one column alone tells the class."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from bayes_svm.report.tables.telling import exceptions_of, few_enough

pytest.importorskip("pandas")


def by_every_cut(values, y):
    """The fewest rows outside their interval, over all cuts."""
    classes = sorted(set(y), key=lambda one: values[y == one].mean())
    cuts = [-np.inf, *np.unique(values)]
    return min(
        int((np.array(classes)[np.searchsorted(chosen, values, side="left")] != y).sum())
        for chosen in combinations_with_replacement(cuts, len(classes) - 1)
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("digits", [1, 8])
def test_numbers_are_cut_where_fewest_rows_are_wrong(n_classes, digits):
    for seed in range(20):
        random = np.random.default_rng(seed)
        y = np.arange(12) % n_classes
        values = np.round(y + random.normal(size=12), digits)
        found = exceptions_of(values, y)
        if len(np.unique(values)) > 4:
            assert found == by_every_cut(values, y)
        else:
            assert found <= by_every_cut(values, y)


def test_a_value_stands_for_its_most_frequent_class():
    y = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    codes = np.array([5.0, 5.0, 5.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0])
    assert exceptions_of(codes, y) == 1
    assert exceptions_of(codes.astype(str).astype(object), y) == 1
    # Every text is another one: nothing is learned from that.
    assert exceptions_of(np.array(list("abcdefghi"), dtype=object), y) == 9


def test_a_missing_value_is_a_value():
    y = np.repeat([0, 1], 6)
    values = np.where(y, 1.0, np.nan)
    assert exceptions_of(values, y) == 0
    values[3] = 1.0
    assert exceptions_of(values, y) == 1


@pytest.mark.parametrize(
    ("exceptions", "counts", "enough"),
    [
        (1, (100, 100), True),
        (3, (100, 100), True),
        (4, (100, 100), False),
        (1, (500, 20), True),
        (2, (500, 20), False),
        (0, (500, 19), False),
    ],
)
def test_few_enough_is_a_share_of_the_rows_outside_the_largest_class(exceptions, counts, enough):
    assert few_enough(exceptions, np.repeat([0, 1], counts)) is enough
