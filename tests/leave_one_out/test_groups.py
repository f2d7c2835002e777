"""Groups and folds left out whole, and values at other points, against training without them."""

from importlib import import_module

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.svm import SVC

from _data import awkward, ida, noisy, three_classes
from bayes_svm import BayesSVC, leave_one_out
from bayes_svm.kernels.kernel import Kernel
from oracles.left_out import train


def fold_values(svc, X, y, folds, weight=None):
    """Value of each row under the oracle's machine without the row's fold."""
    kernel = Kernel(svc.kernel, gamma=svc.gamma, degree=svc.degree, coef0=svc.coef0)
    weight = np.ones(len(y)) if weight is None else weight
    values = np.empty(len(y))
    for fold in np.unique(folds):
        bound = np.where(folds == fold, 0.0, svc.C * weight)
        values[folds == fold] = train(kernel(X, X), y, bound).values[folds == fold]
    return values


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("make", [noisy, awkward])
@pytest.mark.parametrize("n_groups", [3, 12])
def test_groups_are_left_out_as_by_training_without_them(make, kernel, C, n_groups):
    X, y = make(n=36, seed=3)
    groups = np.random.default_rng(0).permutation(36) % n_groups
    svc = SVC(kernel=kernel, C=C, gamma=0.3)
    paths = leave_one_out(svc, X, y, groups=groups)
    retrained = leave_one_out(svc, X, y, groups=groups, method="retrain")
    scale = max(1.0, np.abs(retrained.decision_values).max())
    np.testing.assert_allclose(paths.decision_values, retrained.decision_values, atol=1e-7 * scale)
    np.testing.assert_allclose(paths.decision_values, fold_values(svc, X, y, groups), atol=2e-6 * scale)
    assert set(paths.status) <= {"path", "unchanged", "unstable", "re-trained"}
    assert "path" in paths.status


@pytest.mark.parametrize("members", [1, 200])
def test_large_groups_have_tableaus_of_their_own(monkeypatch, members):
    monkeypatch.setattr(import_module("bayes_svm.leave_one_out.path"), "MANY_MEMBERS", members)
    X, y = noisy(n=120)
    svc = SVC(C=3.0, gamma=0.3)
    paths = leave_one_out(svc, X, y, cv=5)
    retrained = leave_one_out(svc, X, y, cv=5, method="retrain")
    assert set(paths.status) == {"path"}
    np.testing.assert_allclose(paths.decision_values, retrained.decision_values, atol=1e-9)


def test_a_group_takes_copies_from_points_that_others_share():
    X, y = noisy(n=20)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    groups = np.arange(60) % 3
    svc = SVC(C=0.7, gamma=0.5)
    paths = leave_one_out(svc, X, y, groups=groups)
    np.testing.assert_allclose(paths.decision_values, fold_values(svc, X, y, groups), atol=1e-6)


def test_groups_of_one_are_leave_one_out():
    X, y = noisy(n=40)
    svc = SVC(C=2.0, gamma=0.5)
    alone, plain = leave_one_out(svc, X, y, groups=np.arange(40)), leave_one_out(svc, X, y)
    np.testing.assert_allclose(alone.decision_values, plain.decision_values, atol=1e-10)
    np.testing.assert_array_equal(alone.status, plain.status)


def test_a_group_leaves_with_all_its_weight():
    X, y = noisy(n=30)
    weight, groups = np.random.default_rng(0).choice([0.5, 1.0, 3.0], size=30), np.arange(30) % 6
    svc = SVC(gamma=0.5)
    paths = leave_one_out(svc, X, y, sample_weight=weight, groups=groups)
    np.testing.assert_allclose(paths.decision_values, fold_values(svc, X, y, groups, weight), atol=1e-6)


def test_a_row_of_weight_zero_gets_the_value_without_its_group():
    X, y = noisy(n=30)
    weight, groups = np.where(np.arange(30) % 7 == 3, 0.0, 1.0), np.arange(30) % 5
    paths = leave_one_out(SVC(gamma=0.5), X, y, sample_weight=weight, groups=groups)
    np.testing.assert_allclose(
        paths.decision_values, fold_values(SVC(gamma=0.5), X, y, groups, weight), atol=1e-6
    )


def test_a_group_that_is_a_class_leaves_the_other():
    X, y = noisy(n=20)
    result = leave_one_out(SVC(), X, y, groups=y)
    assert set(result.status) == {"one-class"}
    np.testing.assert_array_equal(result.decision_values, -y)


@pytest.mark.parametrize("name", ["heart", "titanic", "breast-cancer", "banana"])
@pytest.mark.parametrize("folds", [5, 10])
def test_folds_of_a_benchmark_set_are_as_re_trained(name, folds):
    X, y = ida(name)
    cv = StratifiedKFold(folds, shuffle=True, random_state=0)
    for kernel in ("rbf", "linear"):
        svc = SVC(kernel=kernel, C=1.0, gamma="auto")
        paths, retrained = (leave_one_out(svc, X, y, cv=cv, method=m) for m in ("path", "retrain"))
        stable = (paths.status != "unstable") & (retrained.status != "unstable")
        np.testing.assert_allclose(
            paths.decision_values[stable], retrained.decision_values[stable], atol=1e-6
        )
        np.testing.assert_array_equal(paths.predictions[stable], retrained.predictions[stable])
        assert "inexact" not in paths.status


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


@pytest.mark.parametrize("groups", [None, np.arange(30) % 4])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_values_at_other_points_are_those_of_the_machine_without_the_row(kernel, groups):
    X, y = noisy(n=30)
    new = noisy(n=7, seed=1)[0]
    named = Kernel("rbf", gamma=0.5)
    svc = SVC(C=3.0, gamma=0.5, kernel=kernel)
    data, at = (X, new) if kernel == "rbf" else (named(X, X), named(new, X))
    result = leave_one_out(svc, data, y, groups=groups, at=at)
    assert result.values_at.shape == (30, 7)
    assert "unstable" not in result.status
    gone = np.arange(30) if groups is None else groups
    for row in range(0, 30, 3):
        keep = gone != gone[row]
        left = SVC(C=3.0, gamma=0.5, tol=1e-9).fit(X[keep], y[keep])
        np.testing.assert_allclose(result.values_at[row], left.decision_function(new), atol=1e-5)


def test_values_at_the_training_points_contain_the_values():
    X, y = three_classes()
    result = leave_one_out(BayesSVC(C=2.0), X, y, at=X)
    assert result.values_at.shape == (60, 60, 3)
    own = result.values_at[np.arange(60), np.arange(60)]
    np.testing.assert_allclose(own, result.decision_values, atol=1e-10)


def test_points_of_other_features_are_refused():
    X, y = noisy()
    with pytest.raises(ValueError, match="at has 2 features, X has 3"):
        leave_one_out(SVC(), X, y, at=X[:, :2])


def test_values_that_do_not_fit_are_refused(monkeypatch):
    import bayes_svm.utils.memory

    X, y = noisy()
    monkeypatch.setattr(bayes_svm.utils.memory, "ALWAYS_THERE", 0)
    monkeypatch.setattr(bayes_svm.utils.memory, "available_bytes", lambda: 60 * 60 * 9)
    with pytest.raises(MemoryError, match="Kernel values between 900 points and 60 training points needs"):
        leave_one_out(SVC(), X, y, at=np.tile(X, (15, 1)))


@pytest.mark.parametrize("options", [{"cv": 5}, {"groups": np.arange(60) // 2}])
def test_pairs_of_classes_without_a_fold_are_as_trained_without_it(options):
    X, y = three_classes()
    svc = SVC(C=2.0, gamma=0.5, tol=1e-9)
    result = leave_one_out(svc, X, y, **options)
    assert "unstable" not in result.status
    if "cv" in options:
        theirs = cross_val_predict(svc, X, y, cv=5, method="decision_function")
    else:
        theirs = cross_val_predict(
            svc, X, y, cv=GroupKFold(30), groups=options["groups"], method="decision_function"
        )
    np.testing.assert_allclose(result.decision_values, theirs, atol=1e-5)
