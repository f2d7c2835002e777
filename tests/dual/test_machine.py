import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC

from _data import awkward
from bayes_svm.dual.from_estimator import machine_of


@pytest.mark.parametrize("fitted", [False, True])
def test_values_on_the_training_rows_are_the_decision_function(fitted):
    X, y = awkward(n=40)
    weight = np.where(np.arange(40) % 5 == 4, 0.0, 1.0)
    svc = SVC(C=0.7, gamma=0.5, tol=1e-6).fit(X, y, sample_weight=weight)
    machine, (solution,) = machine_of(svc if fitted else clone(svc), X, y, weight)
    np.testing.assert_allclose(machine.values_on_rows(solution), svc.decision_function(X), atol=1e-4)


def test_equal_rows_of_a_precomputed_kernel_with_unequal_columns_are_two_points():
    K = np.eye(4)
    K[:2, :2] = 1.0
    machine, _ = machine_of(SVC(kernel="precomputed"), K, [1, 1, -1, -1])
    assert len(machine.gram) == 3


@pytest.mark.parametrize("K", [np.ones((4, 3)), np.ones((4, 5))])
def test_a_precomputed_kernel_that_is_not_square_is_refused(K):
    with pytest.raises(ValueError, match=r"square matrix of kernel values between the training points, got"):
        machine_of(SVC(kernel="precomputed"), K, [1, 1, -1, -1])


def test_a_kernel_that_is_not_symmetric_is_refused():
    K = np.eye(4)
    K[3, 0] = 0.5
    with pytest.raises(ValueError, match=r"precomputed\(\) is not symmetric: .* differ by up to 0.5"):
        machine_of(SVC(kernel="precomputed"), K, [1, 1, -1, -1])
