import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

from _data import noisy
from bayes_svm import BayesSVC, leave_one_out
from bayes_svm.dual.from_estimator import machine_of


def test_the_callers_precomputed_kernel_is_left_alone():
    X, y = noisy()
    K = X @ X.T
    K[0, 1] += 1e-12
    before = K.copy()
    machine_of(SVC(kernel="precomputed"), K, y)
    np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize(
    "estimator",
    [make_pipeline(StandardScaler(), SVC()), StandardScaler(), NuSVC(), OneClassSVM(), SVR()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_what_is_not_an_svc_is_refused(estimator):
    X, y = noisy()
    with pytest.raises(TypeError, match=f"{type(estimator).__name__} is not an SVC, BayesSVC or LinearSVC"):
        machine_of(estimator, X, y)


class Narrow(BayesSVC):
    """A subclass with a parameter less."""

    def __init__(self, C=1.0):
        super().__init__(C=C, gamma=0.5)


class NarrowSVC(SVC):
    """The same of scikit-learn's."""

    def __init__(self, C=1.0):
        super().__init__(C=C, gamma=0.5)


def test_a_subclass_with_fewer_parameters_is_a_machine():
    X, y = noisy()
    model, own = Narrow(C=2.0).fit(X, y), BayesSVC(C=2.0, gamma=0.5).fit(X, y)
    np.testing.assert_array_equal(model.predict_interval(X), own.predict_interval(X))
    assert str(model.explain(X[:1])) == str(own.explain(X[:1]))
    np.testing.assert_array_equal(model.compact().predict_proba(X), own.predict_proba(X))
    for one, other in ((Narrow(C=2.0), own), (NarrowSVC(C=2.0), SVC(C=2.0, gamma=0.5))):
        values = leave_one_out(one, X, y).decision_values
        np.testing.assert_array_equal(values, leave_one_out(other, X, y).decision_values)


def test_a_search_is_asked_for_what_it_found():
    X, y = noisy()
    search = GridSearchCV(SVC(), {"C": [1.0, 10.0]}).fit(X, y)
    with pytest.raises(TypeError, match="of a fitted search, its best_estimator_"):
        machine_of(search, X, y)
    machine, _ = machine_of(search.best_estimator_, X, y)
    assert len(machine.y) == len(y)


@pytest.mark.parametrize("estimator", [SVC, BayesSVC])
@pytest.mark.parametrize(
    "parameter", [{"C": 0.0}, {"C": -1.0}, {"C": np.nan}, {"tol": -1.0}, {"gamma": -1.0}]
)
def test_a_parameter_out_of_range_is_named(estimator, parameter):
    X, y = noisy()
    (name,) = parameter
    with pytest.raises(ValueError, match=rf"{name}\b"):
        machine_of(estimator(**parameter), X, y)


def test_other_data_than_the_machine_was_fitted_on_are_refused():
    X, y = noisy()
    with pytest.raises(ValueError, match="not what the estimator was fitted on"):
        machine_of(SVC().fit(X, y), X[:, :2], y)
    with pytest.raises(ValueError, match="fewer rows than the estimator was fitted on"):
        list(machine_of(SVC().fit(X, y), X[:20], y[:20])[1])
    with pytest.raises(ValueError, match="do not fit y: pass the X and y"):
        list(machine_of(SVC().fit(X, y), X, -y)[1])


def test_gamma_of_a_fitted_svc_is_what_its_parameter_says_now():
    X, y = noisy()
    svc = SVC(gamma=0.1).fit(X, y)
    assert machine_of(svc, X, y)[0].kernel.gamma == 0.1
    assert machine_of(svc.set_params(gamma=0.7), X, y)[0].kernel.gamma == 0.7
    assert machine_of(svc.set_params(gamma="scale"), X, y)[0].kernel.gamma == pytest.approx(
        SVC().fit(X, y)._gamma
    )
    ours = BayesSVC(gamma=0.1).fit(X, y).set_params(gamma="scale")
    assert machine_of(ours, X, y)[0].kernel.gamma == pytest.approx(SVC().fit(X, y)._gamma)


def test_class_weights_of_a_fitted_svc_are_what_its_parameter_says_now():
    X, y = noisy()
    svc = SVC(class_weight={1: 0.5}).fit(X, y).set_params(class_weight={1: 2.0})
    np.testing.assert_array_equal(machine_of(svc, X, y)[0].row_bound, np.where(y > 0, 2.0, 1.0))
    machine, [solution] = machine_of(svc.set_params(class_weight={1: 0.01}), X, y)
    anew = next(machine_of(SVC(class_weight={1: 0.01}), X, y)[1])
    np.testing.assert_array_equal(machine.row_bound, np.where(y > 0, 0.01, 1.0))
    np.testing.assert_allclose(solution.values, anew.values, atol=1e-9)


def test_a_lower_c_of_a_fitted_svc_is_what_its_parameter_says_now():
    X, y = noisy()
    [solution] = machine_of(SVC(C=10.0).fit(X, y).set_params(C=0.01), X, y)[1]
    np.testing.assert_allclose(solution.values, next(machine_of(SVC(C=0.01), X, y)[1]).values, atol=1e-9)


def test_balanced_class_weights_of_an_svc_count_rows_and_ours_weights():
    X, y = noisy()
    weight = np.where(y > 0, 3.0, 1.0)
    svc = SVC(class_weight="balanced").fit(X, y, sample_weight=weight)
    bounds = machine_of(svc, X, y, weight)[0].row_bound
    np.testing.assert_allclose(bounds, weight * svc.class_weight_[(y > 0).astype(int)])
    ours = machine_of(BayesSVC(class_weight="balanced"), X, y, weight)[0].row_bound
    assert ours[y > 0].sum() == pytest.approx(ours[y < 0].sum())
