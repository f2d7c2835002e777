import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC

from _data import awkward, noisy, three_classes
from bayes_svm import BayesSVC
from bayes_svm.probability.kwok import KwokLink
from bayes_svm.probability.moderated import ModeratedLink
from bayes_svm.probability.sigmoid import SigmoidLink


@pytest.fixture(scope="module", params=["linear", "rbf", "poly"])
def pair(request):
    X, y = noisy(n=100)
    parameters = {"C": 0.8, "kernel": request.param, "gamma": 0.3, "coef0": 1.0, "degree": 2}
    return X, BayesSVC(**parameters).fit(X, y), SVC(**parameters, tol=1e-6).fit(X, y)


def test_binary_attributes_are_svcs(pair):
    _, ours, svc = pair
    np.testing.assert_array_equal(ours.support_, svc.support_)
    np.testing.assert_array_equal(ours.n_support_, svc.n_support_)
    np.testing.assert_array_equal(ours.support_vectors_, svc.support_vectors_)
    np.testing.assert_allclose(ours.dual_coef_, svc.dual_coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, svc.intercept_, atol=1e-3)
    np.testing.assert_array_equal(ours.classes_, svc.classes_)


def test_binary_decision_function_is_svcs(pair):
    X, ours, svc = pair
    other = X + 0.3
    np.testing.assert_allclose(ours.decision_function(other), svc.decision_function(other), atol=1e-3)


def test_coef_is_svcs_and_only_a_linear_kernels(pair):
    X, ours, svc = pair
    if ours.kernel == "linear":
        np.testing.assert_allclose(ours.coef_, svc.coef_, atol=1e-3)
        np.testing.assert_allclose(X @ ours.coef_[0] + ours.intercept_, ours.decision_function(X))
    else:
        with pytest.raises(AttributeError, match="only available when using a linear kernel"):
            _ = ours.coef_


def test_equal_rows_share_what_svc_gives_to_some():
    X, y = awkward(n=40)
    ours, svc = BayesSVC(gamma=0.5).fit(X, y), SVC(gamma=0.5, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=1e-3)


LINKS = {"moderated": ModeratedLink, "sigmoid": SigmoidLink, "kwok": KwokLink}


@pytest.fixture(scope="module", params=[(link, k) for link in LINKS for k in (2, 3)], ids=str)
def model(request):
    link, n_classes = request.param
    X, y = noisy() if n_classes == 2 else three_classes()
    return BayesSVC(link=link, gamma=0.5).fit(X, y), X, y


def test_the_prediction_is_the_most_probable_class(model):
    clf, X, _ = model
    X = np.vstack([X, 3 * X, X[::-1] + 1])
    probability = clf.predict_proba(X)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[probability.argmax(axis=1)])
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(clf.predict_log_proba(X), np.log(probability))


def test_more_than_two_decision_values_have_the_predicted_class_on_top(model):
    clf, X, _ = model
    values = clf.decision_function(X)
    if len(clf.classes_) > 2:
        np.testing.assert_array_equal(clf.classes_[values.argmax(axis=1)], clf.predict(X))
    else:
        assert values.shape == (len(X),)


def test_left_out_probabilities_are_the_links_at_the_left_out_values(model):
    clf, X, _ = model
    assert clf.left_out_proba_.shape == (len(X), len(clf.classes_))
    np.testing.assert_allclose(clf.left_out_proba_.sum(axis=1), 1.0, rtol=1e-12)
    assert clf.left_out_decision_values_.shape == (len(X),) if len(clf.classes_) == 2 else (len(X), 3)
    links = clf.link_ if isinstance(clf.link_, list) else [clf.link_]
    assert all(isinstance(link, LINKS[clf.link]) for link in links)


def test_the_sigmoid_sees_left_out_values_only():
    X, y = noisy(n=40, d=30)  # more features than the noise needs: the machine itself separates these
    clf = BayesSVC(C=100.0, kernel="linear").fit(X, y)
    own = np.where(y > 0, clf.left_out_proba_[:, 1], clf.left_out_proba_[:, 0])
    assert np.all(y * clf.decision_function(X) > 0.99)
    assert 0.4 < np.mean(own) < 0.8


@pytest.mark.parametrize(
    "copy", [lambda m: pickle.loads(pickle.dumps(m)), lambda m: m], ids=["pickle", "same"]
)
def test_a_copy_gives_identical_predictions(model, copy):
    clf, X, y = model
    expected = clf.predict_proba(X)
    np.testing.assert_array_equal(copy(clf).predict_proba(X), expected)
    np.testing.assert_array_equal(clone(clf).fit(X, y).predict_proba(X), expected)


def test_a_file_of_joblib_gives_identical_predictions(model, tmp_path):
    clf, X, _ = model
    joblib.dump(clf, tmp_path / "model")
    np.testing.assert_array_equal(joblib.load(tmp_path / "model").predict_proba(X), clf.predict_proba(X))


@pytest.mark.parametrize(
    "labels", [["b", "a"], [True, False], [-1, -5], [10, 2], np.array(["no", "yes"], dtype=object)], ids=str
)
def test_labels_of_any_type_and_order(labels):
    X, y = noisy()
    named = np.asarray(labels)[(y > 0).astype(int)]
    clf = BayesSVC().fit(X, named)
    assert list(clf.classes_) == sorted(set(labels))
    assert clf.predict(X).dtype == named.dtype
    turn = 1 if labels[1] > labels[0] else -1
    np.testing.assert_allclose(
        clf.decision_function(X), turn * BayesSVC().fit(X, y).decision_function(X), atol=1e-9
    )
    assert clf.score(X, named) > 0.7


def test_feature_names_are_kept_and_checked():
    X, y = noisy()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    clf = BayesSVC().fit(frame, y)
    assert list(clf.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(clf.predict_proba(frame), BayesSVC().fit(X, y).predict_proba(X), rtol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame[["c", "b", "a"]])


def test_in_a_pipeline_and_a_grid_search():
    X, y = noisy()
    pipeline = make_pipeline(StandardScaler(), BayesSVC())
    grid = GridSearchCV(pipeline, {"bayessvc__C": [0.01, 1.0]}, scoring="neg_log_loss", cv=3).fit(X, y)
    assert grid.best_params_["bayessvc__C"] in (0.01, 1.0)
    assert cross_val_score(pipeline, X, y, cv=3, n_jobs=2).mean() > 0.6


@pytest.mark.parametrize("n_classes", [2, 3])
def test_two_members_of_each_class_are_enough(n_classes):
    y = np.repeat(np.arange(n_classes), 2)
    X = np.column_stack([y, y % 2]) + 0.1 * np.random.default_rng(0).normal(size=(2 * n_classes, 2))
    with pytest.warns(UserWarning, match="two members, too few to calibrate on"):
        clf = BayesSVC(C=10.0, gamma=1.0).fit(X, y)
    np.testing.assert_array_equal(clf.predict(X), y)
    np.testing.assert_allclose(clf.predict_proba(X), 1.0 / n_classes, atol=1e-5)


def test_a_class_of_two_has_its_prior_and_no_certainty():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.repeat([1, 0], [2, 58])
    X[:2] += 6.0
    with pytest.warns(UserWarning, match="two members, too few to calibrate on"):
        clf = BayesSVC().fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], 2 / 60, rtol=1e-4)
    assert clf.predict_proba(X)[:2, 1].min() > clf.predict_proba(X)[2:, 1].max()


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3])
def test_features_that_do_not_vary_give_the_prior_and_a_warning(value):
    X, y = np.full((10, 2), value), np.repeat([0, 1], [3, 7])
    with pytest.warns(UserWarning, match="do not separate the classes"):
        clf = BayesSVC().fit(X, y)
    probability = clf.predict_proba(X[:2])[:, 1]
    np.testing.assert_allclose(probability, 0.7)


@pytest.mark.parametrize("convert", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array])
def test_sparse_is_dense(convert):
    X, y = awkward(n=40)
    dense, thin = BayesSVC().fit(X, y), BayesSVC().fit(convert(X), y)
    np.testing.assert_allclose(thin.predict_proba(convert(X)), dense.predict_proba(X), atol=1e-8)
    assert sparse.issparse(thin.support_vectors_)


def test_sparse_indices_of_64_bits_work():
    X, y = awkward(n=40)
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    clf = BayesSVC().fit(wide, y)
    np.testing.assert_allclose(clf.predict_proba(wide), BayesSVC().fit(X, y).predict_proba(X), atol=1e-8)


def test_a_precomputed_kernel_is_the_named_one():
    X, y = noisy()
    K = rbf_kernel(X, gamma=0.5)
    # What forms a stratum follows from what a row holds, features or kernel values: rows alone compare.
    named = BayesSVC(gamma=0.5, link="sigmoid", leave_out="rows").fit(X, y)
    given = BayesSVC(kernel="precomputed", leave_out="rows").fit(K, y)
    other = rbf_kernel(X[:7] + 0.1, X, gamma=0.5)
    np.testing.assert_allclose(given.predict_proba(other), named.predict_proba(X[:7] + 0.1), atol=1e-8)
    np.testing.assert_array_equal(given.support_, named.support_)
    assert cross_val_score(given, K, y, cv=3).shape == (3,)  # rows and columns are split


def test_a_callable_kernel_is_the_named_one_also_after_pickling():
    X, y = noisy()
    clf = pickle.loads(pickle.dumps(BayesSVC(kernel=rbf_kernel).fit(X, y)))
    named = BayesSVC(gamma=1 / 3).fit(X, y)  # the default of rbf_kernel
    np.testing.assert_allclose(clf.predict_proba(X), named.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
def test_weights_are_repeated_rows_in_everything(link):
    X, y = noisy(n=30)
    weight = np.random.default_rng(0).integers(0, 3, size=30)
    weight[:4] = 2
    weighted = BayesSVC(link=link, class_weight="balanced").fit(X, y, sample_weight=weight)
    repeated = BayesSVC(link=link, class_weight="balanced").fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)
    np.testing.assert_allclose(
        np.repeat(weighted.left_out_proba_, weight, axis=0), repeated.left_out_proba_, atol=1e-7
    )


@pytest.mark.parametrize(
    "parameters",
    [{"C": 0.1}, {"class_weight": {0: 0.7, 1: 1.1}}, {"class_weight": "balanced", "C": 0.3}],
)
def test_rows_that_are_equal_with_different_weights_are_repeated_rows_too(parameters):
    """C times a weight, divided by the weight, need not be C."""
    random = np.random.RandomState(0)
    X = np.round(random.randn(30, 2))
    y = (X[:, 0] + random.randn(30) > 0).astype(int)
    weight = random.randint(1, 4, 30)
    rows = np.repeat(np.arange(30), weight)
    model = BayesSVC(gamma=0.5, **parameters)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X[rows], y[rows])
    for name in ("left_out_proba_", "left_out_decision_values_"):
        np.testing.assert_allclose(getattr(weighted, name)[rows], getattr(repeated, name), atol=1e-12)


def test_features_far_from_zero_change_no_probability():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = np.round((random.normal(size=(120, 3)) + y[:, None]) * 2**20) / 2**20
    near, far = BayesSVC().fit(X, y), BayesSVC().fit(X + 2.0**27, y)
    proba = far.predict_proba(X + 2.0**27)
    np.testing.assert_allclose(proba, near.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(far.left_out_proba_, near.left_out_proba_, atol=1e-9)
    alone = np.vstack([far.predict_proba(row[None]) for row in X + 2.0**27])
    np.testing.assert_allclose(alone, proba, atol=1e-12)


def test_fitting_again_forgets_the_first_fit():
    X, y = noisy()
    clf = BayesSVC().fit(*three_classes())
    np.testing.assert_array_equal(clf.fit(X, y).predict_proba(X), BayesSVC().fit(X, y).predict_proba(X))


def test_verbose_says_what_the_fit_did(capsys):
    BayesSVC(verbose=True).fit(*noisy())
    assert "[BayesSVC] problem 0:" in capsys.readouterr().out


def test_the_number_of_threads_changes_no_bit():
    X, y = load_breast_cancer(return_X_y=True)
    one, two = (BayesSVC(n_jobs=jobs).fit(scale(X), y).left_out_proba_ for jobs in (1, 2))
    assert one.tobytes() == two.tobytes()


@pytest.mark.filterwarnings("ignore:.*probability.*:FutureWarning")  # SVC's, from scikit-learn 1.9 on
@pytest.mark.parametrize("C", [1.0, 10.0])
def test_digits_are_better_calibrated_than_by_scikit_learn(C):
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    ours = log_loss(y_test, BayesSVC(C=C).fit(X, y).predict_proba(X_test))
    folds = CalibratedClassifierCV(SVC(C=C), ensemble=False).fit(X, y)
    platt = SVC(C=C, probability=True, random_state=0).fit(X, y)
    assert ours <= 0.14
    assert ours < log_loss(y_test, folds.predict_proba(X_test))
    assert ours < log_loss(y_test, platt.predict_proba(X_test))


@pytest.mark.filterwarnings("ignore:The decision values do not separate")  # two steps are no machine
def test_too_few_steps_warn_with_the_gap_and_what_to_do():
    message = (
        "stopped after max_iter=2 .* raise max_iter, scale the features, or lower C.* relative duality gap"
    )
    with pytest.warns(ConvergenceWarning, match=message):
        clf = BayesSVC(C=100.0, max_iter=2, tol=1e-9).fit(*noisy())
    assert not clf.solution_.exact
    assert clf.n_iter_[0] >= 1


def test_a_kernel_value_that_overflows_names_kernel_and_parameters():
    X, y = noisy()
    with pytest.raises(ValueError, match=r"poly\(gamma=1, degree=30, coef0=0\) returned NaN or infinity"):
        BayesSVC(kernel="poly", degree=30, gamma=1.0).fit(1e12 * X, y)


def test_nan_of_a_callable_kernel_is_refused():
    def gap(X, Z):
        return np.full((len(X), len(Z)), np.nan)

    with pytest.raises(ValueError, match="callable 'gap' returned NaN or infinity"):
        BayesSVC(kernel=gap).fit(*noisy())


def test_a_callable_kernel_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"callable .* returned shape \(60,\), expected \(60, 60\)"):
        BayesSVC(kernel=lambda X, Z: X[:, 0]).fit(*noisy())


def test_kwoks_link_needs_a_kernel_that_can_be_evaluated():
    X, y = noisy()
    with pytest.raises(ValueError, match="link='kwok' needs k\\(x, x\\) of new points"):
        BayesSVC(kernel="precomputed", link="kwok").fit(X @ X.T, y)


def test_among_the_data_a_moderated_link_is_the_sigmoid():
    X, y = noisy()
    moderated, sigmoid = (BayesSVC(link=link).fit(X, y) for link in ("moderated", "sigmoid"))
    assert np.mean(np.abs(moderated.left_out_proba_ - sigmoid.left_out_proba_) < 1e-12) > 0.95
    assert np.mean(np.abs(moderated.predict_proba(X) - sigmoid.predict_proba(X)) < 1e-12) > 0.95


@pytest.mark.parametrize("link", ["hinge", "clipped", "dumais", IsotonicRegression(out_of_bounds="clip")])
def test_every_link_gives_probabilities(link):
    for X, y in (noisy(), three_classes()):
        clf = BayesSVC(link=link).fit(X, y)
        probability = clf.predict_proba(X)
        assert np.all(np.isfinite(probability))
        np.testing.assert_allclose(probability.sum(axis=1), 1.0)
        assert clf.score(X, y) > 0.6


def test_kernels_of_gaussian_processes_are_kernels_here():
    X, y = noisy()
    process, named = BayesSVC(kernel=RBF(1.0)).fit(X, y), BayesSVC(gamma=0.5).fit(X, y)
    np.testing.assert_allclose(process.predict_proba(X), named.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(process.posterior_variance(X), named.posterior_variance(X), rtol=1e-6)


def test_the_order_of_the_rows_changes_nothing():
    X, y = noisy(n=600)
    order = np.random.default_rng(1).permutation(600)
    at = 3.0 * np.random.default_rng(2).normal(size=(200, 3))
    one, two = (BayesSVC(gamma=0.5).fit(X[rows], y[rows]) for rows in (np.arange(600), order))
    np.testing.assert_allclose(one.predict_proba(at), two.predict_proba(at), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_weight_0_in_groups_do_not_bring_the_order_of_the_rows_in(seed):
    random = np.random.default_rng(seed)
    X, y = three_classes()
    weight = random.choice([0.0, 1.0, 2.0], size=len(y))
    groups, order = random.integers(0, len(y) // 3, size=len(y)), random.permutation(len(y))
    model = BayesSVC(leave_out="rows").fit(X, y, sample_weight=weight, groups=groups)
    other = clone(model).fit(X[order], y[order], sample_weight=weight[order], groups=groups[order])
    np.testing.assert_allclose(other.left_out_proba_, model.left_out_proba_[order], atol=1e-7)
    np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), atol=1e-7)


def test_an_outlier_does_not_switch_the_moderation_off():
    X, y = noisy()
    outlier, label = np.vstack([X, np.full((1, 3), 1e3)]), np.append(y, 1)
    for weight in (0.0, 1.0):
        clf = BayesSVC(gamma=0.5).fit(outlier, label, sample_weight=np.append(np.ones(len(y)), weight))
        assert clf.link_.log_odds(
            np.array([9.0]), clf._link_posteriors[0].information(np.full((1, 3), 100.0))
        ) == (pytest.approx(clf.link_.limit, abs=1e-6))


def test_the_size_of_class_weights_does_not_count_only_their_ratio():
    X, y = noisy()
    plain = BayesSVC(C=2.0).fit(X, y)
    scaled = BayesSVC(C=200.0, class_weight={-1: 0.01, 1: 0.01}).fit(X, y)
    np.testing.assert_allclose(plain.left_out_proba_, scaled.left_out_proba_, atol=1e-6)


def test_what_the_variance_is_computed_with_is_not_pickled():
    X, y = noisy(n=600)
    clf = BayesSVC().fit(X, y)
    before = len(pickle.dumps(clf))
    expected = clf.posterior_variance(X[:3])
    clf.predict_proba(X)
    assert len(pickle.dumps(clf)) <= before
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).posterior_variance(X[:3]), expected)


def test_a_fitted_estimator_does_not_keep_the_kernel_matrix():
    X, y = noisy(n=200)
    model = BayesSVC().fit(X, y)
    assert len(pickle.dumps(model)) < 8 * len(X) ** 2
    with pytest.raises(AttributeError, match="not kept after the fit: pass the estimator with X and y"):
        model.solution_.problem.gram.block(np.arange(2), np.arange(2))


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_values_that_only_rounding_tells_apart_are_equal_for_the_link(C):
    # No line separates the inner points from the outer ones: the machine is -1 everywhere, but for rounding.
    X = 100.0 * np.r_[np.linspace(-3, 3, 25), np.linspace(3, -3, 25)][:, None]
    y = (np.abs(X[:, 0]) < 100).astype(int)
    for link in ("moderated", "sigmoid", "dumais"):
        with pytest.warns(UserWarning, match="do not separate"):
            model = BayesSVC(C=C, kernel="linear", link=link).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean(), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:The decision values do not separate")
def test_probabilities_do_not_depend_on_the_rounding_of_a_machine_that_is_constant():
    # No line separates the class in the middle from the others.
    rng = np.random.RandomState(0)
    X = 10 * np.r_[rng.uniform(0, 1, 30), rng.uniform(1, 2, 30), rng.uniform(2, 3, 30)][:, None]
    y, order = np.repeat([0, 1, 2], 30), rng.permutation(90)
    model = BayesSVC(C=10.0, kernel="linear").fit(X, y)
    of_batch = model.predict_proba(X)
    np.testing.assert_allclose(np.vstack([model.predict_proba(row[None]) for row in X]), of_batch, atol=1e-9)
    again = BayesSVC(C=10.0, kernel="linear").fit(X[order], y[order])
    np.testing.assert_allclose(again.predict_proba(X), of_batch, atol=1e-9)
