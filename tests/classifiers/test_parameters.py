"""Bad input to a BayesSVC, and what is said about it."""

import numpy as np
import pytest
from scipy import sparse

from _data import noisy
from bayes_svm import BayesSVC
from bayes_svm.utils.scikit_learn import validate_parameter_constraints


def test_the_defaults_which_a_fit_does_not_validate_are_valid():
    parameters = BayesSVC().get_params()
    assert set(parameters) == set(BayesSVC._parameter_constraints)
    validate_parameter_constraints(BayesSVC._parameter_constraints, parameters, "BayesSVC")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_x_that_is_not_finite_is_refused(value):
    X, y = noisy()
    X[3, 1] = value
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        BayesSVC().fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: np.ones(60), "one class only"),
        (
            lambda y: np.where(np.arange(60) == 5, 7, y),
            r"Class 7 has 1 member: every class needs at least 2",
        ),
        (lambda y: y + 0.5 * np.random.default_rng(0).random(60), "Unknown label type: continuous"),
        (lambda y: y[:-1], "inconsistent numbers of samples"),
        (lambda y: None, "requires y to be passed"),
    ],
)
def test_y_that_cannot_be_learned_is_refused(change, message):
    X, y = noisy()
    with pytest.raises(ValueError, match=message):
        BayesSVC().fit(X, change(y))


def test_x_without_features_is_refused():
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\)"):
        BayesSVC().fit(np.empty((6, 0)), [0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((6, 5)), r"square matrix of kernel values between the training points, got shape \(6, 5\)"),
        (np.triu(np.ones((6, 6))), r"precomputed\(\) is not symmetric"),
        (sparse.csr_matrix(np.eye(6)), "[Ss]parse"),
    ],
)
def test_a_precomputed_kernel_that_is_none_is_refused(K, message):
    with pytest.raises((ValueError, TypeError), match=message):
        BayesSVC(kernel="precomputed").fit(K, [0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(60), "sample_weight holds negative values: weights must be at least 0"),
        (np.zeros(60), "sample_weight is zero for every row|at least one non-zero"),
        (np.full(60, np.nan), "sample_weight contains NaN"),
        (np.ones(59), "sample_weight.shape"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        BayesSVC().fit(*noisy(), sample_weight=weight)


@pytest.mark.parametrize(
    "parameters",
    [
        {"C": 0.0}, {"C": -1.0}, {"C": np.nan}, {"C": np.inf}, {"kernel": "rbv"}, {"gamma": -1.0},
        {"gamma": "large"}, {"degree": -1}, {"tol": 0.0}, {"smoothing": 0.0}, {"link": "probit"},
        {"max_iter": -2}, {"decision_function_shape": "ovo"}, {"class_weight": "even"}, {"n_jobs": 1.5},
    ],
    ids=str,
)  # fmt: skip
def test_a_parameter_out_of_range_is_named(parameters):
    with pytest.raises(ValueError, match=f"The '{next(iter(parameters))}' parameter of BayesSVC must be"):
        BayesSVC(**parameters).fit(*noisy())


def test_a_class_weight_for_no_class_is_refused():
    with pytest.raises(ValueError, match=r"class_weight names classes that y does not hold: \['3'\]"):
        BayesSVC(class_weight={3: 2.0}).fit(*noisy())
