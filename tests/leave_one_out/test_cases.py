"""What leaves together: strata of rows and of groups, and the values of the machines without them."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

from _data import awkward, noisy, three_classes
from _problems import EXACT
from bayes_svm import BayesSVC
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.leave_one_out import read_machine
from bayes_svm.leave_one_out.cases import groups_alone, rows_alone, strata, strata_of_groups
from bayes_svm.leave_one_out.leaving import Leaving
from bayes_svm.leave_one_out.methods import Wanted
from oracles.left_out import train


def machine_for(X, y, weight=None, **options):
    return machine_of(SVC(gamma=0.5, **options), X, y, weight)


def members(leaving, machine):
    """Copies of each class that leave in each case, each stratum of it counted alone."""
    table = np.zeros((leaving.case.max() + 1, len(machine.classes)))
    unit = machine.row_bound / np.maximum(1, np.floor(machine.weight))
    copies = leaving.removed / unit[leaving.part_row]
    np.add.at(table, (leaving.case, machine.y[leaving.part_row]), copies)
    return table


def labels(n, rare, seed=0):
    y = np.where(np.arange(n) < rare, 1, -1)
    return np.random.default_rng(seed).permutation(y)


@pytest.mark.parametrize(("rare", "number"), [(20, 20), (7, 7), (3, 3), (2, 10), (1, 10)])
def test_there_are_as_many_strata_as_rare_members_and_ten_below_three(rare, number):
    X, _ = noisy(n=60)
    y = labels(60, rare)
    machine, _ = machine_for(X, y)
    table = members(strata(machine), machine)
    assert len(table) == number
    assert np.ptp(table, axis=0).max() <= 1
    assert np.ptp(table.sum(axis=1)) <= 1
    np.testing.assert_array_equal(table.sum(axis=0), [60 - rare, rare])


@pytest.mark.parametrize(("rare", "number"), [(3, 10), (12, 12)])
def test_several_classes_have_at_least_ten_strata(rare, number):
    X, _ = noisy(n=60)
    y = np.repeat([0, 1, 2], [rare, 20, 40 - rare])
    machine, _ = machine_of(BayesSVC(gamma=0.5), X, y)
    table = members(strata(machine), machine)
    assert len(table) == number
    assert np.ptp(table, axis=0).max() <= 1


def test_every_row_leaves_once_and_rows_without_weight_never():
    X, y = awkward(n=40)
    weight = np.where(np.arange(40) % 7 == 6, 0.0, 1.0)
    machine, _ = machine_for(X, y, weight)
    for leaving in (strata(machine), strata(machine, 3), rows_alone(machine)):
        np.testing.assert_array_equal(leaving.kind < 0, weight == 0)
        assert leaving.part_weight(weight).sum() == pytest.approx(weight.sum())
        assert leaving.copies.sum() == weight.sum()


def left_out_values(X, y, weight=None, **options):
    model = BayesSVC(gamma=0.5, C=2.0, link="hinge", **options).fit(X, y, sample_weight=weight)
    return model.left_out_decision_values_


def test_permuted_rows_have_the_same_values():
    X, y = awkward(n=40, levels=4)
    order = np.random.default_rng(3).permutation(40)
    np.testing.assert_allclose(left_out_values(X[order], y[order]), left_out_values(X, y)[order], atol=1e-9)


def test_a_weight_is_repetition():
    X, y = noisy(n=30)
    times = np.random.default_rng(0).integers(1, 5, size=30)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(30), times))
    repeated = left_out_values(X[rows], y[rows])
    np.testing.assert_allclose(repeated, left_out_values(X, y, times.astype(float))[rows], atol=1e-9)


def test_sparse_rows_have_the_values_of_dense_ones():
    X, y = awkward(n=40, d=4)
    np.testing.assert_allclose(left_out_values(sparse.csr_matrix(X), y), left_out_values(X, y), atol=1e-9)


def test_a_weight_of_a_million_costs_what_a_row_costs():
    X, y = noisy(n=30)
    weight = np.where(np.arange(30) % 10 == 0, 1e6, 1.0)
    machine, _ = machine_for(X, y, weight)
    assert len(strata(machine).case) <= 30 * 31
    values = left_out_values(X, y, weight)
    assert np.isfinite(values).all()


def case_values(machine, leaving, K, C):
    """Values of each part under the machine trained without its case, by the interior-point oracle."""
    y = np.where(machine.y == 1, 1.0, -1.0)
    values, stable = np.empty(len(leaving.case)), np.empty(len(leaving.case), dtype=bool)
    for case in range(leaving.case.max() + 1):
        own = np.flatnonzero(leaving.case == case)
        bound = machine.row_bound.copy()
        for part in own:  # what leaves of a kind is shared by its rows
            rows = np.flatnonzero(leaving.kind == leaving.part_kind[part])
            bound[rows] -= leaving.removed[part] / len(rows)
        bound[bound < 1e-12 * C] = 0.0
        found = train(K, y, bound)
        values[own], stable[own] = found.values[leaving.part_row[own]], found.width <= 1e-6
    return values, stable


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(8, 24),
    seed=st.integers(0, 10**6),
    levels=st.integers(2, 5),
    C=st.sampled_from([0.05, 1.0, 20.0]),
    weighted=st.booleans(),
    number=st.one_of(st.none(), st.integers(2, 4)),
)
def test_values_are_those_of_machines_trained_without_the_stratum(n, seed, levels, C, weighted, number):
    X, y = awkward(n=n, seed=seed, levels=levels)
    random = np.random.default_rng(seed)
    weight = random.choice([0.5, 1.0, 2.0, 3.5], size=n) if weighted else None
    svc = SVC(C=C, gamma=0.5)
    machine, solutions = machine_of(svc, X, y, weight)
    leaving = strata(machine, number)
    after = np.bincount(machine.y, weights=machine.row_bound) - members_removed(machine, leaving)
    if (after <= 1e-9).any():  # a class leaves whole: its label is the answer, which the oracle does not know
        return
    found, values = read_machine(machine, solutions, leaving, Wanted())
    expected, stable = case_values(machine, leaving, Kernel("rbf", gamma=0.5)(X, X), C)
    exact = stable & np.isin(found.status[leaving.part_row], (*EXACT, "unstable"))
    assert "inexact" not in found.status
    np.testing.assert_allclose(values[exact], expected[exact], atol=1e-5 * max(1.0, np.abs(values).max()))


def members_removed(machine, leaving):
    """The most bound that leaves of each class in one case."""
    table = np.zeros((leaving.case.max() + 1, len(machine.classes)))
    np.add.at(table, (leaving.case, machine.y[leaving.part_row]), leaving.removed)
    return table.max(axis=0)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("leave_out", ["strata", 5])
def test_left_out_values_are_those_of_machines_fitted_to_the_others(several, leave_out):
    X, y = three_classes(n=45) if several else noisy(n=50)
    options = {"C": 2.0, "gamma": 0.5, "link": "hinge"}
    model = BayesSVC(leave_out=leave_out, **options).fit(X, y)
    leaving = strata(machine_of(model, X, y)[0], None if leave_out == "strata" else leave_out)
    for case in range(leaving.case.max() + 1):
        rows = np.isin(leaving.kind, leaving.part_kind[leaving.case == case])
        other = BayesSVC(**options).fit(X[~rows], y[~rows])
        np.testing.assert_allclose(model.left_out_decision_values_[rows], other._margins(X[rows]), atol=1e-7)


def test_balanced_strata_are_not_biased_against_the_label():
    """Rows alone are: with nothing to learn every left-out value has the wrong sign."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40, 2000)), np.repeat([0, 1], 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the values do not separate: there is nothing to learn
        alone, together = BayesSVC(leave_out="rows").fit(X, y), BayesSVC().fit(X, y)
    wrong = [np.mean((m.left_out_decision_values_ > 0) != y) for m in (alone, together)]
    assert wrong[0] == 1.0
    assert 0.25 < wrong[1] < 0.75


def grouped(seed=0, n_groups=20, each=3):
    """Groups of rows that are nearly alike, of one label each."""
    random = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), each)
    y = (np.arange(n_groups) % 2)[groups]
    centres = random.normal(size=(n_groups, 4)) + 0.5 * (np.arange(n_groups) % 2)[:, None]
    return centres[groups] + 0.1 * random.normal(size=(len(groups), 4)), y, groups


def test_groups_leave_whole_and_keep_the_class_ratio():
    X, y, groups = grouped()
    machine, _ = machine_for(X, y)
    leaving = strata_of_groups(machine, groups)
    case = leaving.case[np.argsort(leaving.part_kind)][leaving.kind]
    for group in range(20):
        assert len(np.unique(case[groups == group])) == 1
    table = members(leaving, machine)
    assert table.shape == (10, 2)
    np.testing.assert_array_equal(table, np.full((10, 2), 3.0))


def test_groups_that_have_every_class_leave_alone():
    X, y = noisy(n=40)
    y = np.tile([-1, 1], 20)
    groups = np.repeat(np.arange(10), 4)
    machine, _ = machine_for(X, y)
    leaving = strata_of_groups(machine, groups)
    case = leaving.case[np.argsort(leaving.part_kind)][leaving.kind]
    assert len(np.unique(case)) == 10
    assert len(np.unique(np.column_stack([case, groups]), axis=0)) == 10


def test_groups_do_not_depend_on_their_names_or_the_order_of_rows():
    X, y, groups = grouped()
    model = BayesSVC(gamma=0.3, link="hinge").fit(X, y, groups=groups)
    order = np.random.default_rng(0).permutation(len(y))
    names = np.array([f"patient {17 * g % 20}" for g in groups])
    again = BayesSVC(gamma=0.3, link="hinge").fit(X[order], y[order], groups=names[order])
    np.testing.assert_allclose(
        again.left_out_decision_values_, model.left_out_decision_values_[order], atol=1e-9
    )


def test_values_of_rows_in_groups_are_those_of_machines_without_their_stratum():
    X, y, groups = grouped()
    options = {"C": 2.0, "gamma": 0.3, "link": "hinge"}
    model = BayesSVC(**options).fit(X, y, groups=groups)
    leaving = strata_of_groups(machine_of(model, X, y)[0], groups)
    for case in range(leaving.case.max() + 1):
        rows = np.isin(leaving.kind, leaving.part_kind[leaving.case == case])
        other = BayesSVC(**options).fit(X[~rows], y[~rows])
        np.testing.assert_allclose(
            model.left_out_decision_values_[rows], other.decision_function(X[rows]), atol=1e-7
        )


def test_rows_with_groups_are_groups_one_by_one():
    X, y, groups = grouped()
    model = BayesSVC(gamma=0.3, link="hinge", leave_out="rows").fit(X, y, groups=groups)
    machine, solutions = machine_of(model, X, y)
    found, _ = read_machine(machine, solutions, groups_alone(machine, groups), Wanted())
    np.testing.assert_allclose(model.left_out_decision_values_, found.decision_values, atol=1e-9)


def test_a_class_that_lives_in_one_group_is_named():
    X, y, groups = grouped()
    alone = np.where(y == 1, 99, groups)
    with pytest.raises(ValueError, match="Class 1 lives in one group only"):
        BayesSVC().fit(X, y, groups=alone)


def test_means_of_parts_are_between_them():
    # 0.1 three times and seven times, of which the mean is more than 0.1 to rounding.
    leaving = Leaving(
        np.zeros(10, dtype=int), np.array([0]), np.arange(3), np.zeros(3, dtype=int), np.ones(3),
        np.array([3.0, 7.0, 6.0]), np.ones(3),
    )  # fmt: skip
    for value in (0.1, 1.0, 1.0 / 3.0):
        means = leaving.row_means(np.full((3, 2), value), np.zeros((10, 2)))
        np.testing.assert_array_equal(means, np.full((10, 2), value))


def test_groups_tell_what_rows_do_not():
    """Labels that follow the group: by rows their twins give them away."""
    X, _, groups = grouped(n_groups=40)
    y = np.random.default_rng(5).permutation(np.arange(40) % 2)[groups]
    model = BayesSVC(C=10.0, gamma=1.0)
    by_row = model.fit(X, y).left_out_.error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        by_group = model.fit(X, y, groups=groups).left_out_.error
    assert by_row < 0.1
    assert by_group > 0.3
