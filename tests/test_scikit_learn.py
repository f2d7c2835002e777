"""scikit-learn's own checks, none of them expected to fail."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from _data import noisy
from bayes_svm import (
    BayesSVC,
    BayesSVCSearch,
    ConformalSVC,
    MultivariateSVC,
    PairwiseCouplingClassifier,
    RejectOptionClassifier,
)


# Some checks have labels of pure noise.
@pytest.mark.filterwarnings(
    "ignore:The decision values do not separate", "ignore:No setting tells the classes apart"
)
@parametrize_with_checks(
    [
        BayesSVC(),
        BayesSVC(kernel="linear", link="kwok"),
        BayesSVCSearch(BayesSVC(), {"C": [0.1, 1.0]}),
        BayesSVCSearch(BayesSVC(), {"C": [0.1, 1.0], "gamma": [0.1, 1.0]}, combine="stack"),
    ]
)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")  # the checks are only named here
def test_both_checks_that_weights_are_repeated_rows_are_among_them():
    names = {getattr(check, "func", check).__name__ for _, check in estimator_checks_generator(BayesSVC())}
    assert {
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    } <= names


@pytest.mark.parametrize(
    "estimator",
    [
        BayesSVC(),
        BayesSVC(kernel="linear", link="kwok"),
        BayesSVCSearch(BayesSVC(), {"C": [0.1, 1.0], "gamma": [0.1, 1.0]}, combine="stack"),
        ConformalSVC(BayesSVC(gamma=0.5)),
        MultivariateSVC(kernel="rbf"),
        MultivariateSVC(kernel="poly", cv=3),
        PairwiseCouplingClassifier(),
        RejectOptionClassifier(BayesSVC(), target_risk=0.2),
    ],
    ids=lambda estimator: f"{type(estimator).__name__}-{getattr(estimator, 'kernel', '')}",
)
@pytest.mark.parametrize("kind", [np.array, pd.DataFrame, sparse.csr_array])
def test_what_the_caller_does_to_the_data_later_changes_no_model(estimator, kind):
    X, y = noisy(60)
    given, labels = kind(X.copy()), y.copy()
    fitted = estimator.fit(given, labels)
    before, values = fitted.predict(kind(X)), getattr(fitted, "decision_function", fitted.predict)(kind(X))
    if kind is pd.DataFrame:
        given.iloc[:] = 0.0
    elif kind is np.array:
        given[:] = 0.0
    else:
        given.data[:] = 0.0
    labels[:] = labels[0]
    np.testing.assert_array_equal(fitted.predict(kind(X)), before)
    np.testing.assert_array_equal(getattr(fitted, "decision_function", fitted.predict)(kind(X)), values)
