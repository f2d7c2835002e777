"""The function itself: weights, copies, kernels, classes, threads, bad input."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from _data import awkward, noisy, three_classes
from bayes_svm import BayesSVC, leave_one_out
from bayes_svm.kernels.gamma import resolve_gamma

RBF = SVC(C=5.0, gamma=0.5)


@pytest.mark.parametrize("method", ["path", "retrain"])
@pytest.mark.parametrize("seed", range(3))
def test_integer_weights_are_repeated_rows(seed, method):
    X, y = awkward(n=20, seed=seed)
    weight = np.random.default_rng(seed).integers(1, 4, size=20)
    weighted = leave_one_out(RBF, X, y, sample_weight=weight, method=method)
    repeated = leave_one_out(RBF, np.repeat(X, weight, axis=0), np.repeat(y, weight), method=method)
    np.testing.assert_allclose(
        np.repeat(weighted.decision_values, weight), repeated.decision_values, atol=1e-8
    )
    np.testing.assert_array_equal(np.repeat(weighted.status, weight), repeated.status)


def test_integer_weights_are_repeated_rows_for_bayes_svc():
    X, y = noisy(n=30)
    weight = np.random.default_rng(0).integers(0, 4, size=30)
    weight[:4] = 1
    weighted = BayesSVC().fit(X, y, sample_weight=weight)
    repeated = BayesSVC().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    values = np.repeat(weighted.left_out_decision_values_, weight)
    np.testing.assert_allclose(values, repeated.left_out_decision_values_, atol=1e-8)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("method", ["path", "retrain"])
def test_a_row_of_weight_zero_is_absent_and_gets_the_machines_value(method):
    X, y = noisy(n=40)
    weight = np.where(np.arange(40) < 30, 1.0, 0.0)
    weighted = leave_one_out(RBF, X, y, sample_weight=weight, method=method)
    without = leave_one_out(RBF, X[:30], y[:30], method=method)
    np.testing.assert_allclose(weighted.decision_values[:30], without.decision_values, atol=1e-9)
    machine = BayesSVC(C=5.0, gamma=0.5).fit(X[:30], y[:30])
    np.testing.assert_allclose(weighted.decision_values[30:], machine.decision_function(X[30:]), atol=1e-9)
    assert weighted.error == pytest.approx(without.error)


def test_a_weight_counts_as_its_part_of_c():
    X, y = noisy(n=30)
    by_weight = leave_one_out(SVC(C=2.0, gamma=0.5), X, y, sample_weight=np.full(30, 0.7))
    np.testing.assert_allclose(
        by_weight.decision_values, leave_one_out(SVC(C=1.4, gamma=0.5), X, y).decision_values, atol=1e-9
    )


def test_several_classes_are_one_against_the_rest_for_a_bayes_svc():
    X, y = three_classes()
    several = leave_one_out(BayesSVC(C=5.0, gamma=0.5), X, y)
    for k in range(3):
        binary = leave_one_out(RBF, X, y == k)
        np.testing.assert_allclose(several.decision_values[:, k], binary.decision_values, atol=1e-9)
        np.testing.assert_array_equal(several.status[:, k], binary.status)
        np.testing.assert_allclose(
            several.train_decision_values[:, k], binary.train_decision_values, atol=1e-9
        )


@pytest.mark.parametrize("data", [noisy(n=80), awkward(n=80), three_classes()])
def test_the_number_of_threads_changes_no_bit(data):
    one, two = (leave_one_out(RBF, *data, n_jobs=jobs) for jobs in (1, 2))
    assert one.decision_values.tobytes() == two.decision_values.tobytes()
    assert one.gap.tobytes() == two.gap.tobytes()
    np.testing.assert_array_equal(one.events, two.events)


def test_labels_may_be_strings_in_any_order():
    X, y = noisy()
    strings = leave_one_out(RBF, X, np.where(y > 0, "a", "b"))  # "a" < "b": the sign turns
    np.testing.assert_allclose(strings.decision_values, -leave_one_out(RBF, X, y).decision_values, atol=1e-9)
    assert list(strings.classes) == ["a", "b"]


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_sparse_is_dense(kernel):
    X, y = awkward()
    svc = SVC(kernel=kernel, gamma="scale")
    dense, thin = leave_one_out(svc, X, y), leave_one_out(svc, sparse.csr_matrix(X), y)
    np.testing.assert_allclose(thin.decision_values, dense.decision_values, atol=1e-8)


@pytest.mark.parametrize("make", [noisy, awkward])
def test_a_precomputed_or_callable_kernel_is_the_named_one(make):
    X, y = make()
    named = leave_one_out(RBF, X, y)
    given = leave_one_out(SVC(C=5.0, kernel="precomputed"), rbf_kernel(X, gamma=0.5), y)
    called = leave_one_out(SVC(C=5.0, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5)), X, y)
    np.testing.assert_allclose(given.decision_values, named.decision_values, atol=1e-8)
    np.testing.assert_allclose(called.decision_values, named.decision_values, atol=1e-8)


def test_class_weight_is_a_sample_weight_of_that_class():
    X, y = noisy()
    given = leave_one_out(SVC(gamma=0.5, class_weight={1: 1.9, -1: 0.3}), X, y)
    weights = leave_one_out(SVC(gamma=0.5), X, y, sample_weight=np.where(y > 0, 1.9, 0.3))
    np.testing.assert_allclose(given.decision_values, weights.decision_values, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_fitted_or_not_and_svc_or_bayes_svc_make_no_difference(kernel):
    X, y = noisy()
    svc, ours = SVC(kernel=kernel), BayesSVC(kernel=kernel, leave_out="rows")
    values = [
        leave_one_out(e, X, y).decision_values for e in (svc, clone(svc).fit(X, y), ours, ours.fit(X, y))
    ]
    for other in [*values[1:], ours.left_out_decision_values_]:
        np.testing.assert_allclose(other, values[0], atol=1e-8)


def test_a_fitted_svc_with_rows_of_weight_zero():
    X, y = noisy()
    weight = np.where(np.arange(60) % 3 == 2, 0.0, 1.0)
    svc = SVC(gamma=0.5).fit(X, y, sample_weight=weight)
    fitted, fresh = (leave_one_out(e, X, y, sample_weight=weight) for e in (svc, clone(svc)))
    np.testing.assert_allclose(fitted.decision_values, fresh.decision_values, atol=1e-8)


def test_gamma_scale_of_a_bayes_svc_counts_weights_and_that_of_an_svc_does_not():
    X, y = noisy()
    weight = np.random.default_rng(0).random(60) + 0.1
    for estimator, gamma in (
        (BayesSVC(), resolve_gamma("scale", X, weight)),
        (SVC(), resolve_gamma("scale", X)),
    ):
        named = leave_one_out(estimator, X, y, sample_weight=weight)
        given = leave_one_out(clone(estimator).set_params(gamma=gamma), X, y, sample_weight=weight)
        np.testing.assert_allclose(named.decision_values, given.decision_values, atol=1e-9)


def test_the_data_are_left_as_they_were():
    X, y = noisy()
    before = X.copy(), y.copy()
    leave_one_out(RBF, X, y)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_an_unknown_method_is_refused():
    with pytest.raises(
        ValueError, match=r"method='jackknife' is not one of \('path', 'certified', 'warm', 'retrain'\)"
    ):
        leave_one_out(SVC(), *noisy(), method="jackknife")


def test_a_pipeline_is_refused_with_what_to_do():
    with pytest.raises(TypeError, match="For a pipeline, pass its last step and the transformed X"):
        leave_one_out(make_pipeline(StandardScaler(), SVC()), *noisy())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_x_that_is_not_finite_is_refused(value):
    X, y = noisy()
    X[3, 1] = value
    with pytest.raises(ValueError, match=r"Input contains (NaN|infinity)"):
        leave_one_out(SVC(), X, y)


def test_lengths_that_differ_are_refused():
    X, y = noisy()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        leave_one_out(SVC(), X, y[:-1])


def test_too_few_steps_warn_and_no_value_is_called_exact():
    X, y = noisy()
    with pytest.warns(ConvergenceWarning, match="not exact: stopped after max_iter=2.*relative duality gap"):
        result = leave_one_out(SVC(C=100.0, max_iter=2, tol=1e-9), X, y)
    assert set(result.status) <= {"inexact"}
    assert np.isfinite(result.decision_values).all()
