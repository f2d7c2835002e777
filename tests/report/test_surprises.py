import numpy as np
import pytest

from bayes_svm.report.surprises import MOST_CELLS, cells_of, surprising_rows

pd = pytest.importorskip("pandas")


def table():
    """Class 0 has low sizes and is blue, class 1 has high sizes and is red; row 0 is as class 1 are."""
    size = np.r_[10.0, np.arange(1, 20) / 10, 9.0 + np.arange(20) / 10]
    colour = np.where(np.arange(40) < 20, "blue", "red").astype(object)
    colour[0], colour[5] = "red", None
    frame = pd.DataFrame({"same": np.ones(40), "size": size, "colour": colour})
    frame["count"] = np.arange(40) % 4
    return frame, (np.arange(40) >= 20).astype(int)


def test_the_columns_that_tell_against_the_label_come_first_and_are_reasons():
    frame, y = table()
    cells = cells_of(frame, y, 0, 1)
    assert {cell.column for cell in cells[:2]} == {"size", "colour"}
    assert [cell.reason for cell in cells] == [True, True, False, False]
    by_name = {cell.column: cell for cell in cells}
    size = by_name["size"]
    assert size.value == 10.0
    # Of the 19 other rows of its class none is as large.
    assert size.own_share == 0.0
    assert (size.own.low, size.own.high) == pytest.approx((0.55, 1.45))
    assert size.other_share == pytest.approx(
        2 * min(np.mean(frame["size"][20:] >= 10), np.mean(frame["size"][20:] <= 10))
    )
    colour = by_name["colour"]
    assert (colour.own.most, colour.own_share) == ("blue", 0.0)
    assert colour.own.share == pytest.approx(18 / 19)
    assert (colour.other.most, colour.other.share, colour.other_share) == ("red", 1.0, 1.0)
    assert by_name["same"].own_share == by_name["same"].other_share == 1.0


def test_missing_values_are_compared_as_such():
    frame, y = table()
    frame.loc[[1, 2], "size"] = np.nan
    cells = {cell.column: cell for cell in cells_of(frame, y, 1, 1)}
    assert cells["size"].value is None
    assert cells["size"].own_share == pytest.approx(1 / 19)
    assert cells["size"].other_share == 0.0
    cells = {cell.column: cell for cell in cells_of(frame, y, 5, 1)}
    assert cells["colour"].value is None
    assert cells["colour"].own_share == 0.0


def test_a_column_without_any_value_in_a_class():
    frame, y = table()
    frame.loc[:19, "size"] = np.nan
    frame.loc[:19, "colour"] = None
    cells = {cell.column: cell for cell in cells_of(frame, y, 25, 0)}
    assert cells["size"].other.low is None
    assert cells["colour"].other.most is None


def test_the_rows_of_the_least_probable_labels():
    frame, y = table()
    probability = np.column_stack([1.0 - y, y]) * 0.8 + 0.1
    probability[0] = [0.05, 0.95]
    probability[30] = [0.6, 0.4]
    predicted = probability.argmax(axis=1)
    names = np.array([f"patient {k}" for k in range(40)])
    rows = surprising_rows(
        frame,
        ["a", "b"],
        y,
        probability,
        predicted,
        lambda rows: np.full((len(rows), 2), 0.5),
        lambda row: f"of {row}",
        np.arange(100, 140),
        names,
    )
    assert [one.row for one in rows[:2]] == [100, 130]
    assert [one.probability for one in rows] == sorted(one.probability for one in rows)
    first = rows[0]
    assert {one.n_alike for one in rows} == {int((y == k).sum()) - 1 for k in set(y)}
    assert (first.name, first.label, first.predicted, first.other) == ("patient 0", "a", "b", "b")
    assert (first.predicted_probability, first.interval, first.neighbours) == (0.95, (0.5, 0.5), "of 0")
    # A row that is predicted rightly is compared with the next class.
    assert (rows[2].label, rows[2].predicted, rows[2].other) == ("a", "a", "b")


def test_a_wide_table_shows_some_columns_and_counts_the_others():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(20, 80)), columns=[f"c{k}" for k in range(80)])
    y = np.arange(20) % 2
    probability = np.full((20, 2), 0.5)
    rows = surprising_rows(
        frame,
        ["a", "b"],
        y,
        probability,
        y,
        lambda rows: np.zeros((len(rows), 2)),
        lambda row: None,
        np.arange(1, 21),
    )
    assert {len(one.cells) for one in rows} == {MOST_CELLS}
    assert {one.n_left_out for one in rows} == {80 - MOST_CELLS}
    assert rows[0].name is None


def test_quartiles_of_dates_are_dates():
    frame, y = table()
    frame["seen"] = 18000.0 + np.arange(40)
    cells = {cell.column: cell for cell in cells_of(frame, y, 0, 1, {"seen"})}
    assert cells["seen"].date
    assert not cells["size"].date
    for end in (cells["seen"].own.low, cells["seen"].other.high):
        assert end in set(frame["seen"])
