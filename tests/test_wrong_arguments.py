"""What cannot be done is refused: which argument, what is wrong with it, what to do."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import KFold
from sklearn.svm import SVC, LinearSVC

from _data import noisy, three_classes
from bayes_svm import (
    BayesSVC,
    BayesSVCSearch,
    MultivariateSVC,
    PairwiseCouplingClassifier,
    RejectOptionClassifier,
    choose_threshold,
    class_similarity,
    compare_estimators,
    leave_one_out,
    log_evidence,
    optimize_kernel,
    span_estimate,
    xi_alpha,
)
from bayes_svm.similarity.gradient import GaussianKernel

X, Y = noisy(n=40)

OF_AN_ESTIMATOR = {
    "leave_one_out": lambda estimator: leave_one_out(estimator, X, Y),
    "xi_alpha": lambda estimator: xi_alpha(estimator, X, Y),
    "span_estimate": lambda estimator: span_estimate(estimator, X, Y),
    "log_evidence": lambda estimator: log_evidence(estimator, X, Y),
    "compare_estimators": lambda estimator: compare_estimators(estimator, X, Y),
}


@pytest.mark.parametrize("call", OF_AN_ESTIMATOR.values(), ids=OF_AN_ESTIMATOR)
@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (None, "estimator=None is not a scikit-learn estimator: give one"),
        ("SVC", "estimator='SVC' is not a scikit-learn estimator"),
        (SVC, r"estimator is the class SVC: give an instance, such as SVC\(\)"),
        (BayesSVC, r"estimator is the class BayesSVC: give an instance, such as BayesSVC\(\)"),
    ],
)
def test_what_is_no_estimator(call, estimator, message):
    with pytest.raises(TypeError, match=message):
        call(estimator)


@pytest.mark.parametrize("wrapper", [RejectOptionClassifier, PairwiseCouplingClassifier])
def test_a_class_around_which_nothing_can_be_wrapped(wrapper):
    with pytest.raises(TypeError, match="estimator is the class BayesSVC: give an instance"):
        wrapper(BayesSVC).fit(X, Y)


JOBS = {
    "leave_one_out": lambda n: leave_one_out(SVC(), X, Y, n_jobs=n),
    "compare_estimators": lambda n: compare_estimators(SVC(), X, Y, n_jobs=n),
    "BayesSVC": lambda n: BayesSVC(n_jobs=n).fit(X, Y),
    "BayesSVCSearch": lambda n: BayesSVCSearch(BayesSVC(), {"C": [1.0]}, n_jobs=n).fit(X, Y),
    "PairwiseCouplingClassifier": lambda n: PairwiseCouplingClassifier(n_jobs=n).fit(*three_classes()),
}


@pytest.mark.parametrize("call", JOBS.values(), ids=JOBS)
@pytest.mark.parametrize("n_jobs", [0, "a", 1.5])
def test_numbers_of_jobs_that_are_none(call, n_jobs):
    with pytest.raises((ValueError, TypeError), match="n_jobs"):
        call(n_jobs)


WITHOUT_LABELS = {
    "BayesSVC": lambda: BayesSVC().fit(X, None),
    "MultivariateSVC": lambda: MultivariateSVC().fit(X, None),
    "RejectOptionClassifier": lambda: RejectOptionClassifier(BayesSVC()).fit(X, None),
    "PairwiseCouplingClassifier": lambda: PairwiseCouplingClassifier().fit(X, None),
    "BayesSVCSearch": lambda: BayesSVCSearch(BayesSVC(), {"C": [1.0]}).fit(X, None),
    "leave_one_out": lambda: leave_one_out(SVC(), X, None),
    "xi_alpha": lambda: xi_alpha(SVC(), X, None),
    "span_estimate": lambda: span_estimate(SVC(), X, None),
    "log_evidence": lambda: log_evidence(SVC(), X, None),
    "compare_estimators": lambda: compare_estimators(SVC(), X, None),
    "choose_threshold": lambda: choose_threshold(None, X[:, 0]),
    "optimize_kernel": lambda: optimize_kernel(X, None),
}


@pytest.mark.parametrize("call", WITHOUT_LABELS.values(), ids=WITHOUT_LABELS)
def test_labels_that_are_missing(call):
    with pytest.raises(ValueError, match=r"(requires y to be passed|y is None|y=None).*"):
        call()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "cv=10 is more than the 2 rows of the largest class: lower cv, or leave 'k_fold' out"),
        ({"methods": ["hold_out"], "test_size": 0.1}, "methods: 'hold_out' failed. The test_size = 1 should"),
        ({"methods": ["leave_one_out"]}, None),
        ({"methods": ["training", "632+"], "n_bootstrap": 5}, None),
    ],
)
def test_estimates_of_four_rows(options, message):
    four, labels = X[:4], np.array([0, 0, 1, 1])
    if message is None:
        assert np.isfinite(
            [e.value for e in compare_estimators(SVC(), four, labels, **options).estimates]
        ).all()
        return
    with pytest.raises(ValueError, match=message):
        compare_estimators(SVC(), four, labels, **options)


def test_resamples_that_never_hold_all_classes():
    many = np.repeat(np.arange(60), 2)
    with pytest.raises(ValueError, match=r"'bootstrap' failed. None of 10000 resamples had two rows of each"):
        compare_estimators(SVC(), np.arange(120.0)[:, None], many, methods=["bootstrap"], n_bootstrap=2)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda a, b: (a @ b.T).astype(complex), "returned complex numbers, expected a dense array of real"),
        (lambda a, b: sparse.csr_matrix(a @ b.T), "returned a sparse matrix, expected a dense array"),
        (lambda a, b: (a @ b.T)[:, :3], r"returned shape \(40, 3\), expected \(40, 40\)"),
    ],
    ids=["complex", "sparse", "shape"],
)
def test_kernels_that_return_no_matrix_of_numbers(kernel, message):
    for call in (lambda: BayesSVC(kernel=kernel).fit(X, Y), lambda: leave_one_out(SVC(kernel=kernel), X, Y)):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_kernel_of_a_gaussian_process_takes_no_sparse_rows():
    message = r"takes no sparse X: give X.toarray\(\), or a kernel by name, for example kernel=\"rbf\""
    with pytest.raises(ValueError, match=message):
        BayesSVC(kernel=RBF()).fit(sparse.csr_matrix(X), Y)
    fitted = BayesSVC(kernel=RBF()).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        fitted.predict(sparse.csr_matrix(X))


@pytest.mark.parametrize("call", [BayesSVC(), MultivariateSVC(), MultivariateSVC(kernel="rbf")], ids=str)
def test_features_whose_squares_leave_double_precision(call):
    with pytest.raises(ValueError, match=r"largest feature in X is .*e\+160.*StandardScaler"):
        call.fit(X * 1e160, Y)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf, np.nan, [1.0, 0.0, 1.0]])
def test_length_scales_that_cannot_be_optimised(scale):
    with pytest.raises(ValueError, match=r"length_scale|parameters must be finite and above 0"):
        optimize_kernel(X, Y, kernel=GaussianKernel(scale))


@pytest.mark.parametrize("C", [1e-320, 1e-310, 1e307])
def test_bounds_that_leave_double_precision(C):
    for call in (
        lambda: BayesSVC(C=C).fit(X, Y),
        lambda: leave_one_out(SVC(C=C), X, Y),
        lambda: BayesSVC(C=np.sqrt(C)).fit(X, Y, sample_weight=np.full(40, np.sqrt(C))),
        lambda: BayesSVC(C=np.sqrt(C), class_weight={1: np.sqrt(C), -1: np.sqrt(C)}).fit(X, Y),
    ):
        with pytest.raises(ValueError, match="Choose C, sample_weight and class_weight nearer to 1"):
            call()


@pytest.mark.parametrize("C", [1e-290, 1e-30])
@pytest.mark.parametrize("several", [False, True])
def test_a_tiny_c_predicts_from_the_intercept(C, several):
    data, y = three_classes() if several else (X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (UserWarning, ConvergenceWarning))
        model = BayesSVC(C=C).fit(data, y)
        assert np.isfinite(model.decision_function(data)).all()
        np.testing.assert_allclose(model.predict_proba(data).sum(axis=1), 1.0)


@pytest.mark.parametrize("link", ["moderated", "sigmoid", "kwok"])
def test_no_step_at_all_predicts_from_the_intercept(link):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = BayesSVC(max_iter=0, link=link).fit(X, Y)
        values = model.decision_function(X)
        np.testing.assert_array_equal(values, np.full(40, model.intercept_[0]))
        assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("estimator", [SVC, LinearSVC])
def test_evidence_of_another_kind_of_machine(estimator):
    model = estimator(kernel="precomputed") if estimator is SVC else estimator(loss="hinge")
    with pytest.raises((ValueError, TypeError)):
        log_evidence(model, X, Y)


@pytest.mark.parametrize(
    ("features", "options"),
    [
        (np.repeat(X[:20], 2, axis=0), {"C": 1e12, "kernel": "linear"}),
        (1e8 * X, {"C": 1e10, "kernel": "linear"}),
        (X, {"C": 1e14, "kernel": "poly", "degree": 7, "gamma": 10.0}),
    ],
)
def test_evidence_beyond_double_precision_is_a_number_or_says_so(features, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        told = evidence_or_refusal(SVC(**options), features)
    assert np.isfinite(told) if isinstance(told, float) else "vidence" in told


def evidence_or_refusal(svc, features):
    try:
        return log_evidence(svc, features, Y).value
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: BayesSVC(leave_out=KFold).fit(X, Y),
            TypeError,
            "leave_out is the class KFold: give an inst",
        ),
        (lambda: leave_one_out(SVC(), X, Y, cv=KFold), TypeError, "cv is the class KFold: give an instance"),
        (
            lambda: BayesSVC(leave_out=[1, 2]).fit(X, Y),
            ValueError,
            r"leave_out\[0\] is not a pair",
        ),
        (
            lambda: leave_one_out(SVC(), X, Y, cv=[1, 2]),
            ValueError,
            r"cv\[0\] is not a pair",
        ),
        (
            lambda: BayesSVC(class_weight={1: "a"}).fit(X, Y),
            ValueError,
            r"class_weight\[1\]='a' is not a weight",
        ),
    ],
)
def test_classes_and_values_in_place_of_what_was_meant(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("options", [{"max_iter": 0}, {"C": 1e-200}])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_a_far_row_of_a_machine_without_support_vectors(kernel, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (UserWarning, ConvergenceWarning))
        model = BayesSVC(kernel=kernel, **options).fit(X, Y)
    rows = np.vstack([X[:2], 1e70 * X[:1], 1e200 * X[:1]])
    np.testing.assert_array_equal(model.decision_function(rows), np.full(4, model.intercept_[0]))
    assert np.isfinite(model.predict_proba(rows)).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "call",
    [
        lambda X: leave_one_out(SVC(), X, Y),
        lambda X: xi_alpha(BayesSVC(), X, Y),
        lambda X: span_estimate(BayesSVC(), X, Y),
        lambda X: class_similarity(X, Y),
        lambda X: optimize_kernel(X, Y, kernel=GaussianKernel(1.0)),
        lambda X: BayesSVC().fit(X, Y),
    ],
)
def test_what_is_not_finite_is_named(call, bad):
    spoilt = X.copy()
    spoilt[3, 1] = bad
    with pytest.raises(ValueError, match="Input X contains"):
        call(spoilt)
    with pytest.raises(ValueError, match="Input at contains"):
        leave_one_out(SVC(), X, Y, at=spoilt)


@pytest.mark.parametrize(
    "make",
    [
        BayesSVC,
        MultivariateSVC,
        PairwiseCouplingClassifier,
        lambda: BayesSVCSearch(BayesSVC(), {"C": [1.0]}),
        lambda: RejectOptionClassifier(BayesSVC(), target_risk=0.1),
    ],
)
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", None] * 20, r"y holds None \(row 1\): give every row one, or leave the row out"),
        (["a", 1] * 20, "y mixes labels of type number, str: give all as strings"),
        ([0.0, np.nan] * 20, "NaN"),
    ],
)
def test_labels_that_are_missing_or_mixed(make, labels, message):
    with pytest.raises(ValueError, match=message):
        make().fit(X, np.array(labels, dtype=object if "a" in labels else float))
