"""The iterative methods, as the function offers them."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from _data import awkward, noisy, three_classes
from bayes_svm import BayesSVC, leave_one_out


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("make", [noisy, awkward])
def test_certified_signs_are_the_exact_ones_and_warm_ends_at_tol(make, C):
    X, y = make(n=80)
    svc = SVC(C=C, gamma=0.5, tol=1e-2)
    exact = leave_one_out(svc, X, y)
    certified, warm = (leave_one_out(svc, X, y, method=method) for method in ("certified", "warm"))
    proven = certified.status == "certified"
    assert proven.mean() > 0.3
    np.testing.assert_array_equal(certified.predictions[proven], exact.predictions[proven])
    assert set(certified.status) <= {"certified", "converged"}
    assert set(warm.status) <= {"certified", "converged"}
    assert "converged" in warm.status
    assert warm.kkt_residual.max() <= 1e-2
    assert certified.kernel_columns.sum() > 0
    assert np.all(exact.kernel_columns == 0)
    assert certified.certified_share == pytest.approx(proven.mean())
    assert exact.certified_share == 0.0


def test_warm_values_come_closer_with_the_tolerance():
    X, y = noisy(n=60)
    exact = leave_one_out(SVC(gamma=0.5), X, y).decision_values
    off = []
    for tol in (1e-1, 1e-3, 1e-6):
        warm = leave_one_out(SVC(gamma=0.5, tol=tol), X, y, method="warm")
        solved = warm.status == "converged"
        assert solved.sum() > 10
        off.append(np.abs(warm.decision_values - exact)[solved].max())
    assert off[0] > off[1] > off[2]
    assert off[2] < 1e-5


def test_several_classes():
    X, y = three_classes()
    for estimator in (SVC(gamma=0.5), BayesSVC(gamma=0.5)):
        exact, certified = (leave_one_out(estimator, X, y, method=m) for m in ("path", "certified"))
        proven = certified.status == "certified"
        assert certified.status.shape == (60, 3)
        if isinstance(estimator, BayesSVC):
            agree = np.sign(certified.decision_values) == np.sign(exact.decision_values)
            assert agree[proven].all()


@pytest.mark.parametrize("method", ["certified", "warm"])
def test_what_they_cannot_do_is_refused(method):
    X, y = noisy()
    for options in ({"cv": 5}, {"groups": np.arange(60)}, {"at": X}):
        with pytest.raises(ValueError, match=f"method='{method}' leaves out single points only"):
            leave_one_out(SVC(), X, y, method=method, **options)
    with pytest.raises(ValueError, match=f"method='{method}' needs an intercept that is not regularised"):
        leave_one_out(LinearSVC(loss="hinge"), X, y, method=method)
