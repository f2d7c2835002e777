"""Groups and folds left out whole, against training without them."""

from importlib import import_module

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.model_selection import (
    GroupKFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.svm import SVC

from _data import awkward, ida, noisy, three_classes
from bayes_svm import leave_one_out
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


def test_with_many_free_points_a_large_group_is_solved_anew(monkeypatch):
    X, y = noisy(n=120)
    svc = SVC(C=3.0, gamma=0.3)
    paths = leave_one_out(svc, X, y, cv=5)
    monkeypatch.setattr(import_module("bayes_svm.leave_one_out.path"), "MANY_MEMBERS", 1)
    monkeypatch.setattr(import_module("bayes_svm.leave_one_out.path"), "MANY_FREE", 5)
    anew = leave_one_out(svc, X, y, cv=5)
    assert set(anew.status) == {"re-trained"}
    np.testing.assert_allclose(paths.decision_values, anew.decision_values, atol=1e-9)


@pytest.mark.parametrize("leave", [{"cv": 2}, {"groups": np.arange(1400) % 2}])
def test_a_fold_of_easy_data_may_have_more_rows_than_a_path_has_room_for(leave):
    X, y = make_blobs(1400, centers=2, cluster_std=0.6, random_state=0)
    svc = SVC(C=10.0)
    found = leave_one_out(svc, X, y, **leave)
    direct = leave_one_out(svc, X, y, **leave, method="retrain")
    np.testing.assert_allclose(found.decision_values, direct.decision_values, atol=1e-9)
    assert "inexact" not in found.status


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
