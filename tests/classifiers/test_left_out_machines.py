import numpy as np
import pytest
from scipy import sparse

from _data import noisy, three_classes
from bayes_svm import BayesSVC
from bayes_svm.classifiers.left_out_machines import LeftOutMachines


def weighted():
    X, y = noisy(40)
    return X, y, {"sample_weight": np.tile([1.0, 2.0, 0.0, 1.0], 10)}


def grouped():
    X, y = noisy(60)
    return X, y, {"groups": np.arange(60) % 20}


CASES = {
    "two classes": lambda: (*noisy(60), {}),
    "three classes": lambda: (*three_classes(60), {}),
    "equal rows": lambda: (np.tile(noisy(30)[0], (2, 1)), np.tile(noisy(30)[1], 2), {}),
    "weights": weighted,
    "groups": grouped,
}


@pytest.mark.parametrize("name", CASES)
def test_at_their_own_rows_they_give_the_left_out_values(name):
    X, y, given = CASES[name]()
    model = BayesSVC().fit(X, y, **given)
    machines = LeftOutMachines(model, X, y, **given)
    expected = model._probabilities.unmoderated(model.left_out_decision_values_[machines.rows])
    if name not in ("equal rows", "weights"):
        np.testing.assert_allclose(machines.log_proba(X[machines.rows]), expected, atol=1e-9)
    else:
        # A row that stands for copies in several strata has the mean of their values.
        assert np.abs(np.exp(machines.log_proba(X[machines.rows])) - np.exp(expected)).max() < 0.05
    assert set(y[machines.rows]) == set(y)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_elsewhere_they_are_the_machines_trained_without_the_group(kind):
    X, y, given = grouped()
    groups = given["groups"]
    model = BayesSVC(leave_out="rows", gamma=0.3).fit(kind(X), y, groups=groups)
    machines = LeftOutMachines(model, kind(X), y, groups=groups)
    points = X[machines.rows][::-1].copy()
    found = machines.log_proba(kind(points))
    for group in range(0, 20, 5):
        other = BayesSVC(link="hinge", gamma=0.3).fit(X[groups != group], y[groups != group])
        mine = groups[machines.rows] == group
        expected = model._probabilities.unmoderated(other.decision_function(points[mine]))
        np.testing.assert_allclose(found[mine], expected, atol=1e-7)


def test_some_rows_of_every_class():
    X, y = noisy(100)
    model = BayesSVC().fit(X, y)
    machines = LeftOutMachines(model, X, y, size=10)
    assert len(machines.rows) == 10
    assert set(y[machines.rows]) == {-1, 1}
    every = LeftOutMachines(model, X, y)
    place = np.searchsorted(np.sort(every.rows), machines.rows)
    whole = every.log_proba(X[every.rows])[np.argsort(every.rows)][place]
    np.testing.assert_allclose(machines.log_proba(X[machines.rows]), whole)


def test_a_wrong_number_of_points_is_refused():
    X, y = noisy(30)
    machines = LeftOutMachines(BayesSVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="give one for each of the 30 rows"):
        machines.log_proba(X[:5])
