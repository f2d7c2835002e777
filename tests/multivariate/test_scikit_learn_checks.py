"""scikit-learn's estimator checks; none is expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from bayes_svm import MultivariateSVC


@parametrize_with_checks(
    [
        MultivariateSVC(),
        MultivariateSVC(loss="error", C=0.5),
        MultivariateSVC(loss="roc_area"),
        MultivariateSVC(loss="break_even", kernel="rbf"),
    ]
)
def test_check_estimator(estimator, check):
    check(estimator)
