"""scikit-learn's own checks, none of them expected to fail."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from bayes_svm import BayesSVC, BayesSVCSearch


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
