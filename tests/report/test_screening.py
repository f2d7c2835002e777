"""Which settings are tried on all rows of a large table."""

import numpy as np
import pytest

from bayes_svm import BayesSVC
from bayes_svm.report import screening
from bayes_svm.report.model import fit_table
from bayes_svm.report.record import Settings
from bayes_svm.report.screening import parts_of, promising
from bayes_svm.report.tables.table import Table

pd = pytest.importorskip("pandas")

# So narrow a kernel knows no row but its own.
HOPELESS, GOOD = {"C": 1.0, "gamma": 1e5}, {"C": 1.0, "gamma": 0.5}


@pytest.fixture
def small_parts(monkeypatch):
    """Tables of 240 rows are large."""
    monkeypatch.setattr(screening, "LARGE", 240)


def two_classes(n=240, shift=2.0, rare=0.5):
    random = np.random.default_rng(0)
    y = np.where(np.arange(n) < rare * n, "b", "a")
    return random.normal(size=(n, 2)) + shift * (y == "b")[:, None], y


@pytest.mark.usefixtures("small_parts")
def test_a_setting_that_is_clearly_worse_is_not_tried_on_all_rows():
    X, y = two_classes()
    settings = [HOPELESS, GOOD, HOPELESS | {"C": 10.0}, GOOD | {"C": 1.1}]
    assert promising(BayesSVC(), settings, X, y, None, None) == [settings[1], settings[3]]


@pytest.mark.usefixtures("small_parts")
def test_where_nothing_is_to_be_learnt_no_setting_is_clearly_worse():
    X, _ = two_classes(shift=0.0)
    y = np.random.default_rng(1).permutation(np.repeat(["a", "b"], 120))
    settings = [HOPELESS, GOOD | {"C": 0.1}]
    assert promising(BayesSVC(), settings, X, y, None, None) == settings


@pytest.mark.parametrize(("n", "rare"), [(239, 0.5), (240, 39 / 240)])
@pytest.mark.usefixtures("small_parts")
def test_small_tables_and_rare_classes_try_all(n, rare):
    X, y = two_classes(n, rare=rare)
    assert parts_of(X, y, None, None) is None
    assert promising(BayesSVC(), [HOPELESS, GOOD], X, y, None, None) == [HOPELESS, GOOD]


def test_a_table_is_large_from_2000_rows_on():
    assert parts_of(*two_classes(1999), None, None) is None
    assert [len(part) for part in parts_of(*two_classes(2000), None, None)] == [500, 500]


@pytest.mark.usefixtures("small_parts")
def test_a_part_has_the_shares_of_the_classes_whatever_the_order_of_the_rows():
    X, y = two_classes(rare=0.3)
    parts = parts_of(X, y, None, None)
    assert not set(parts[0]) & set(parts[1])
    order = np.random.default_rng(2).permutation(len(y))
    for rows, again in zip(parts, parts_of(X[order], y[order], None, None), strict=True):
        assert (len(rows), np.sum(y[rows] == "b")) == (60, 18)
        assert set(order[again]) == set(rows)


@pytest.mark.usefixtures("small_parts")
def test_a_setting_that_gets_better_with_every_row_is_tried_on_all(monkeypatch):
    """Mean losses above the best one's on a quarter and on half of the rows, and whether that is hopeless."""
    above = {1.0: (0.0, 0.0), 2.0: (0.5, 0.3), 3.0: (0.6, 0.2), 4.0: (0.5, 0.5), 5.0: (0.1, 0.001)}
    noise = np.random.default_rng(0).normal(size=240)

    def losses(model, rows, *_):
        return 1.0 + above[model.C][len(rows) > 60] + 0.01 * model.C * noise[rows]

    monkeypatch.setattr(screening, "_losses", losses)
    X, y = two_classes()
    kept = promising(BayesSVC(), [{"C": C} for C in above], X, y, None, None)
    # By another doubling 0.3 becomes 0.1, and 0.2 turns into -0.2; 0.5 stays, and 0.001 is noise.
    assert [one["C"] for one in kept] == [1.0, 3.0, 5.0]


@pytest.mark.usefixtures("small_parts")
def test_groups_are_in_the_part_whole_and_must_be_many():
    X, y = two_classes()
    groups = np.arange(len(y)) // 3
    first, second = parts_of(X, y, None, groups)
    assert not set(groups[first]) & set(np.delete(groups, first))
    assert not set(groups[second]) & set(np.delete(groups, second))
    assert parts_of(X, y, None, np.arange(len(y)) // 12) is None
    assert promising(BayesSVC(), [HOPELESS, GOOD], X, y, None, groups) == [GOOD]


@pytest.mark.usefixtures("small_parts")
def test_rows_without_weight_do_not_count():
    X, y = two_classes()
    weight = np.ones(len(y))
    assert parts_of(X, y, weight, None) is not None
    weight[y == "b"] = np.arange(120) < 39
    assert parts_of(X, y, weight, None) is None


@pytest.mark.usefixtures("small_parts")
def test_the_mixture_of_a_large_table_is_that_of_what_remains():
    X, y = two_classes(n=480, shift=1.0)
    X = np.column_stack([X, np.random.default_rng(3).normal(size=(480, 20))])
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    fitted = fit_table(Table("rows.csv", "kind", frame, y), Settings())
    tried = fitted.estimator.cv_results_["params"]
    assert 0 < len(tried) < 9


@pytest.mark.usefixtures("small_parts")
def test_a_class_too_rare_to_take_a_parts_of_leaves_the_table_whole():
    X, y = two_classes()
    y = np.where(np.arange(len(y)) < 2, "c", y)
    assert parts_of(X, y, None, None) is None
