"""Which settings are tried on all rows of a large table."""

import numpy as np
import pytest

from bayes_svm import BayesSVC
from bayes_svm.report import screening
from bayes_svm.report.model import fit_table
from bayes_svm.report.record import Settings
from bayes_svm.report.screening import promising, quarters_of
from bayes_svm.report.tables.table import Table

pd = pytest.importorskip("pandas")

# So narrow a kernel knows no row but its own.
HOPELESS, GOOD = {"C": 1.0, "gamma": 1e5}, {"C": 1.0, "gamma": 0.5}


LARGE = screening.LARGE


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Tables of 240 rows are large."""
    monkeypatch.setattr(screening, "LARGE", 240)


def two_classes(n=240, shift=2.0, rare=0.5):
    random = np.random.default_rng(0)
    y = np.where(np.arange(n) < rare * n, "b", "a")
    return random.normal(size=(n, 2)) + shift * (y == "b")[:, None], y


def told(monkeypatch, losses):
    """Let the left-out loss of the true class be ``losses(C, rows)``."""

    def logs(model, rows, X, y, *_):
        own = -losses(model.C, rows)
        other = np.log(-np.expm1(own))
        return np.where(np.array(["a", "b"]) == y[rows, None], own[:, None], other[:, None])

    monkeypatch.setattr(screening, "_left_out_logs", logs)


def kept(X, y, costs, weight=None, groups=None):
    found = promising(BayesSVC(), [{"C": C} for C in costs], X, y, weight, groups)
    return [one["C"] for one in found]


def test_a_setting_that_is_clearly_worse_is_not_tried_on_all_rows():
    X, y = two_classes()
    settings = [HOPELESS, GOOD, HOPELESS | {"C": 10.0}, GOOD | {"C": 1.1}]
    assert promising(BayesSVC(), settings, X, y, None, None) == [settings[1], settings[3]]


def test_where_nothing_is_to_be_learnt_no_setting_is_clearly_worse():
    X, _ = two_classes(shift=0.0)
    y = np.random.default_rng(1).permutation(np.repeat(["a", "b"], 120))
    settings = [HOPELESS, GOOD | {"C": 0.1}]
    assert promising(BayesSVC(), settings, X, y, None, None) == settings


def test_a_setting_that_gets_better_with_every_row_is_tried_on_all(monkeypatch):
    # Mean losses above the best one's on a quarter and on half of the rows.
    above = {1.0: (0.0, 0.0), 2.0: (0.5, 0.3), 3.0: (0.6, 0.2), 4.0: (0.5, 0.5), 5.0: (0.1, 0.001)}
    noise = np.random.default_rng(0).normal(size=240)
    told(monkeypatch, lambda C, rows: 0.3 + above[C][len(rows) > 60] + 0.01 * C * np.abs(noise[rows]))
    # By another doubling 0.3 becomes 0.1, and 0.2 turns into -0.2; 0.5 stays, and 0.001 is noise.
    assert kept(*two_classes(), above) == [1.0, 3.0, 5.0]


def test_a_setting_of_use_in_a_mixture_is_tried_on_all(monkeypatch):
    """Each of two settings knows what the other does not; alone, one is clearly worse."""
    X, y = two_classes()
    odd = np.random.default_rng(0).permutation(240) % 10
    told(monkeypatch, lambda C, rows: np.where((odd[rows] < 4) == (C == 1.0), 1.2, 0.05))
    assert kept(X, y, [1.0, 2.0]) == [1.0, 2.0]
    told(monkeypatch, lambda C, rows: np.where((odd[rows] < 4) | (C == 2.0), 1.2, 0.05))
    assert kept(X, y, [1.0, 2.0]) == [1.0]


def test_rows_count_by_their_weights(monkeypatch):
    X, y = two_classes()
    weight = np.where(np.arange(240) % 2, 0.0, 3.0)
    told(monkeypatch, lambda C, rows: 0.3 + 0.5 * ((C == 2.0) & (weight[rows] == 0.0)))
    assert kept(X, y, [1.0, 2.0]) == [1.0]
    assert kept(X, y, [1.0, 2.0], weight) == [1.0, 2.0]


def test_rows_of_groups_are_not_independent(monkeypatch):
    """The setting is worse in an eighth of the groups, which may be chance."""
    X, y = two_classes()
    groups = np.arange(240) // 3
    bad = (np.random.default_rng(0).permutation(80) % 8 == 0)[groups]
    told(monkeypatch, lambda C, rows: 0.3 + 0.5 * ((C == 2.0) & bad[rows]))
    assert kept(X, y, [1.0, 2.0]) == [1.0]
    assert kept(X, y, [1.0, 2.0], None, groups) == [1.0, 2.0]


def test_machines_of_a_part_get_its_weights_and_groups(monkeypatch):
    given = []

    class Spy(BayesSVC):
        def fit(self, X, y, sample_weight=None, groups=None):
            given.append((len(X), len(y), set(sample_weight), set(groups)))
            return super().fit(X, y, sample_weight=sample_weight, groups=groups)

    X, y = two_classes()
    promising(Spy(), [GOOD, {"C": 2.0}], X, y, np.full(240, 0.5), np.arange(240) // 2)
    assert [one[:3] for one in given] == [(60, 60, {0.5}), (120, 120, {0.5})] * 2
    assert all(one[3] <= set(range(120)) and len(one[3]) == one[0] // 2 for one in given)


@pytest.mark.parametrize(("n", "rare"), [(239, 0.5), (240, 39 / 240)])
def test_small_tables_and_rare_classes_try_all(n, rare):
    X, y = two_classes(n, rare=rare)
    assert quarters_of(X, y, None, None) is None
    assert promising(BayesSVC(), [HOPELESS, GOOD], X, y, None, None) == [HOPELESS, GOOD]


def test_a_table_is_large_from_4000_rows_on(monkeypatch):
    monkeypatch.setattr(screening, "LARGE", LARGE)
    assert quarters_of(*two_classes(3999), None, None) is None
    assert [len(part) for part in quarters_of(*two_classes(4000), None, None)] == [1000, 1000]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_quarter_has_the_shares_of_the_classes_whatever_the_order_of_rows_and_columns(weighted):
    X, y = two_classes(rare=0.3)
    X = X.round(0) if weighted else X
    weight = np.arange(240) % 7 + 1.0 if weighted else None
    parts = quarters_of(X, y, weight, None)
    assert not set(parts[0]) & set(parts[1])
    order = np.random.default_rng(2).permutation(len(y))
    moved = None if weight is None else weight[order]
    for change in (lambda Z: Z, lambda Z: Z[:, ::-1], lambda Z: Z if weighted else -Z):
        for rows, again in zip(parts, quarters_of(change(X[order]), y[order], moved, None), strict=True):
            assert (len(rows), np.sum(y[rows] == "b")) == (60, 18)
            counts = [np.ones(240) if weight is None else weight, X[:, 0], X[:, 1]]
            before, after = (
                sorted(zip(*(one[part] for one in counts), strict=True)) for part in (rows, order[again])
            )
            assert before == after


def test_groups_are_in_a_quarter_whole_and_must_be_many():
    X, y = two_classes()
    groups = np.arange(len(y)) // 3
    first, second = quarters_of(X, y, None, groups)
    for part in (first, second):
        assert not set(groups[part]) & set(np.delete(groups, part))
    assert quarters_of(X, y, None, np.arange(len(y)) // 12) is None
    assert promising(BayesSVC(), [HOPELESS, GOOD], X, y, None, groups) == [GOOD]


def test_where_a_large_group_leaves_no_quarters_all_are_tried():
    X, y = two_classes()
    groups = np.where(np.arange(240) % 3 > 0, -1, np.arange(240))
    assert quarters_of(X, y, None, groups) is None


def test_rows_without_weight_do_not_count():
    X, y = two_classes()
    weight = np.ones(len(y))
    assert quarters_of(X, y, weight, None) is not None
    weight[y == "b"] = np.arange(120) < 39
    assert quarters_of(X, y, weight, None) is None


def test_the_mixture_of_a_large_table_is_that_of_what_remains():
    X, y = two_classes(n=480, shift=1.0)
    X = np.column_stack([X, np.random.default_rng(3).normal(size=(480, 20))])
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    fitted = fit_table(Table("rows.csv", "kind", frame, y), Settings())
    tried = fitted.estimator.cv_results_["params"]
    assert 0 < len(tried) < 9


def test_a_class_too_rare_for_quarters_leaves_the_table_whole():
    X, y = two_classes()
    y = np.where(np.arange(len(y)) < 2, "c", y)
    assert quarters_of(X, y, None, None) is None
