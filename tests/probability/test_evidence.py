import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from _data import noisy, three_classes
from bayes_svm import BayesSVC, log_evidence
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.probability.curvature import curvature_slope, hinge_curvature

KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 0.4},
    "linear": {"kernel": "linear"},
    "cubic": {"kernel": "poly", "degree": 3, "gamma": 0.5, "coef0": 1.0},
}


def explicit(X, y, C, weight, features):
    """The formula in feature space, from scikit-learn's own tight solution."""
    svc = SVC(C=C, kernel="linear", tol=1e-10).fit(features, y, sample_weight=weight)
    w, values = svc.coef_[0], svc.decision_function(features)
    hessian = np.eye(len(w)) / C + (features.T * (weight * hinge_curvature(y * values))) @ features
    _, logarithm = np.linalg.slogdet(C * hessian)
    slack = weight @ np.maximum(0.0, 1.0 - y * values)
    return -(w @ w) / (2.0 * C) - slack - logarithm / 2.0


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_the_value_is_that_of_the_explicit_feature_map(C):
    X, y = noisy(n=50)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=50)
    found = log_evidence(SVC(C=C, kernel="linear"), X, y, sample_weight=weight)
    assert found.value == pytest.approx(explicit(X, y, C, weight, X), rel=1e-6)


def shifted(kernel, name, step):
    """The parameters with one of them, or its logarithm, moved by ``step``."""
    if name == "coef0":
        return {**kernel, name: kernel[name] + step}
    return {**kernel, name: kernel[name] * np.exp(step)}


def difference(parameters, name, X, y, step=1e-6):
    """Central difference of the log evidence."""
    values = [log_evidence(SVC(**shifted(parameters, name, s)), X, y).value for s in (step, -step)]
    return (values[0] - values[1]) / (2.0 * step)


@pytest.mark.parametrize("C", [0.3, 3.0, 40.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gradient_is_that_of_finite_differences(kernel, C):
    X, y = noisy(n=60)
    parameters = {"C": C, **KERNELS[kernel]}
    gradient = log_evidence(SVC(**parameters), X, y).gradient
    assert set(gradient) == {"C"} | set(parameters) & {"gamma", "coef0"}
    for name, value in gradient.items():
        assert value == pytest.approx(difference(parameters, name, X, y), rel=1e-4, abs=1e-4)


def test_with_no_free_point_the_gradient_is_that_of_finite_differences():
    X, y = noisy(n=40)
    parameters = {"C": 1e-3, **KERNELS["rbf"]}
    y[:20], y[20:] = 1, -1  # equal classes, all at their bounds
    assert next(machine_of(SVC(**parameters), X, y)[1]).n_free == 0
    gradient = log_evidence(SVC(**parameters), X, y).gradient
    for name, value in gradient.items():
        assert value == pytest.approx(difference(parameters, name, X, y), rel=1e-4, abs=1e-6)


def test_length_scales_of_a_gaussian_process_kernel_have_a_gradient_each():
    X, y = noisy(n=60)
    kernel = ConstantKernel(2.0) * RBF([1.0, 2.0, 0.7])
    theta = log_evidence(SVC(C=2.0, kernel=kernel), X, y).gradient["theta"]
    for k in range(4):
        values = []
        for step in (1e-6, -1e-6):
            moved = kernel.theta.copy()
            moved[k] += step
            values.append(log_evidence(SVC(C=2.0, kernel=kernel.clone_with_theta(moved)), X, y).value)
        assert theta[k] == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-4, abs=1e-4)


def test_repeated_rows_are_weights():
    X, y = noisy(n=40)
    weight = np.random.default_rng(0).integers(0, 4, size=40)
    weighted = log_evidence(SVC(gamma=0.5), X, y, sample_weight=weight)
    repeated = log_evidence(SVC(gamma=0.5), np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.value == pytest.approx(repeated.value, rel=1e-9)
    assert weighted.gradient == pytest.approx(repeated.gradient, rel=1e-6)


def test_a_precomputed_kernel_has_the_same_evidence():
    X, y = noisy(n=40)
    given = log_evidence(SVC(kernel="precomputed"), rbf_kernel(X, gamma=0.5), y)
    named = log_evidence(SVC(gamma=0.5), X, y)
    assert given.value == pytest.approx(named.value, rel=1e-9)
    assert set(given.gradient) == {"C"}


def test_several_classes_have_the_sum_of_their_machines():
    X, y = three_classes()
    whole = log_evidence(BayesSVC(gamma=0.5), X, y)
    parts = [log_evidence(SVC(gamma=0.5), X, y == k) for k in range(3)]
    assert whole.value == pytest.approx(sum(part.value for part in parts), rel=1e-9)
    assert whole.gradient["gamma"] == pytest.approx(sum(part.gradient["gamma"] for part in parts), rel=1e-6)


def test_at_the_fixed_point_the_explicit_part_of_the_gradient_vanishes():
    X, y = noisy(n=60)
    C = 1.0
    for _ in range(200):
        C = log_evidence(SVC(C=C, kernel="linear"), X, y).fixed_point
    found = log_evidence(SVC(C=C, kernel="linear"), X, y)
    assert 2.0 * found.weight_norm / C == pytest.approx(found.n_parameters, rel=1e-6)


def test_the_effective_number_of_parameters_is_at_most_the_features():
    X, y = noisy(n=60)
    numbers = [log_evidence(SVC(C=C, kernel="linear"), X, y).n_parameters for C in (1e-4, 1e-2, 1.0, 100.0)]
    assert np.all(np.diff(numbers) > 0)
    assert 0 < numbers[0] < numbers[-1] < 3


def test_what_has_no_evidence_is_refused():
    X, y = noisy(n=40)
    with pytest.raises(ValueError, match="LinearSVC has no evidence here"):
        log_evidence(LinearSVC(loss="hinge"), X, y)
    with pytest.raises(ValueError, match="it has no evidence"):
        log_evidence(SVC(kernel=minus_distance), X, y)
    with (
        pytest.warns(ConvergenceWarning, match="not positive semi-definite"),
        pytest.raises(ValueError, match="it has no evidence"),
    ):
        log_evidence(SVC(kernel="sigmoid", gamma=2.0), X, y)


def test_a_fitted_estimator_with_other_parameters_is_taken_as_it_is_now():
    X, y = noisy(n=40)
    model = BayesSVC(gamma=0.1).fit(X, y).set_params(gamma=1.0)
    assert log_evidence(model, X, y).value == pytest.approx(
        log_evidence(SVC(gamma=1.0), X, y).value, rel=1e-6
    )


def minus_distance(X, Z):
    """Positive only for coefficients that sum to 0."""
    return -((X[:, None, :] - Z[None]) ** 2).sum(axis=2)


def test_the_slope_of_the_curvature_is_its_derivative():
    margin, step = np.linspace(-1, 3, 81), 1e-6
    numeric = (hinge_curvature(margin + step) - hinge_curvature(margin - step)) / (2 * step)
    np.testing.assert_allclose(curvature_slope(margin), numeric, atol=1e-6)


def test_where_no_point_is_near_the_margin_there_is_no_determinant():
    X, y = noisy(n=40)
    y[:20], y[20:] = 1, -1
    found = log_evidence(SVC(C=1e-5), X, y)
    assert found.n_parameters == 0
    assert found.value == pytest.approx(-40.0, rel=1e-3)  # every slack is about 1
    assert found.fixed_point == 0
    assert all(np.isfinite(value) for value in found.gradient.values())
