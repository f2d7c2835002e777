"""Probabilities far from the data and beyond double precision, posterior variances, and what is refused."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.tree import DecisionTreeClassifier

from _data import awkward, noisy, three_classes
from bayes_svm import BayesSVC, leave_one_out
from bayes_svm.conformal.scores import LeftOutScores
from bayes_svm.probability.several import log_probabilities

METHODS = ("predict", "predict_proba", "predict_interval", "decision_function", "posterior_variance")


@pytest.mark.parametrize("method", METHODS)
def test_before_fit_nothing_is_predicted(method):
    with pytest.raises(NotFittedError, match="BayesSVC instance is not fitted yet"):
        getattr(BayesSVC(), method)(np.eye(3))


@pytest.mark.parametrize("method", METHODS)
def test_another_number_of_features_is_refused(method):
    X, y = noisy()
    with pytest.raises(ValueError, match="X has 2 features, but BayesSVC is expecting 3 features"):
        getattr(BayesSVC().fit(X, y), method)(X[:, :2])


@pytest.mark.parametrize("kernel", [{"gamma": 0.5}, {"kernel": "poly", "coef0": 1.0, "gamma": 0.5}], ids=str)
@pytest.mark.parametrize("make", [noisy, three_classes])
def test_far_from_the_data_nothing_is_certain(make, kernel):
    X, y = make()
    clf = BayesSVC(**kernel).fit(X, y)
    direction = np.random.default_rng(0).normal(size=(50, X.shape[1]))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    top = [clf.predict_proba(X.std() * r * direction).max(axis=1).mean() for r in (30, 100, 1000, 1e4)]
    assert np.ptp(top[-2:]) < 0.02
    links = clf.link_ if len(clf.classes_) > 2 else [clf.link_]
    for link in links:
        assert np.log(1 / 6) - 1e-12 <= link.limit <= np.log(6) + 1e-12
    limits = np.array([[link.limit for link in links]])
    expected = np.exp(log_probabilities(limits if len(links) > 1 else limits[0]))
    far = clf.predict_proba(X.std() * 1e6 * direction)
    np.testing.assert_allclose(far, np.tile(expected, (50, 1)), atol=1e-3)
    np.testing.assert_array_equal(
        clf.predict(100 * direction), clf.classes_[clf.predict_proba(100 * direction).argmax(axis=1)]
    )


def test_a_linear_machine_is_little_more_certain_than_of_the_most_certain_row():
    X, y = noisy()
    clf = BayesSVC(kernel="linear").fit(X, y)
    far = clf.predict_log_proba(X.std() * 1e6 * np.random.default_rng(0).normal(size=(50, X.shape[1])))
    most = logit(clf.left_out_proba_).max()
    assert (far[:, 1] - far[:, 0]).max() <= most + 1.0
    # What no feature of the training rows tells is nothing that it is unsure of.
    wide = np.hstack([X, np.zeros((len(X), 5))])
    clf = BayesSVC(kernel="linear").fit(wide, y)
    beside = wide + np.r_[np.zeros(X.shape[1]), np.full(5, 1e3)]
    np.testing.assert_allclose(clf.predict_proba(beside), clf.predict_proba(wide), atol=1e-9)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("link", ["moderated", "sigmoid", "kwok"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_a_row_too_far_for_double_precision_has_its_limit_and_harms_no_other(kernel, link, convert):
    X, y = noisy()
    clf = BayesSVC(kernel=kernel, link=link).fit(convert(X), y)
    far = np.vstack([np.full((1, 3), 1e200), -np.full((1, 3), 1e300), [[1e308, -1e308, 0.0]]])
    near = clf.predict_proba(convert(X[:5]))
    both = clf.predict_proba(convert(np.vstack([far, X[:5]])))
    np.testing.assert_allclose(both[3:], near, atol=1e-12)
    # A third of the exponent away nothing changes any more.
    np.testing.assert_allclose(both[:3], clf.predict_proba(convert(far * 1e-170)), atol=1e-6)
    values = clf.decision_function(convert(far))
    assert np.isfinite(values).all()
    if kernel == "linear":
        np.testing.assert_array_equal(np.sign(values), np.sign((far * 1e-300) @ np.ravel(_dense(clf.coef_))))


def _dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def test_a_kernel_that_is_never_finite_is_refused_at_prediction_too():
    X, y = noisy()
    clf = BayesSVC(kernel=lambda A, B: np.where(A[:, :1] > 1e3, np.nan, rbf_kernel(A, B))).fit(X, y)
    assert np.isfinite(
        clf.predict_proba(np.full((1, 3), 1e40))
    ).all()  # on the way to it the kernel is a number
    with pytest.raises(ValueError, match="returned NaN or infinity"):
        clf.predict_proba(np.full((1, 3), 2e3))


def test_where_there_is_no_variance_a_moderated_link_is_the_sigmoid():
    X, y = noisy()
    for parameters in ({"kernel": "precomputed"}, {"kernel": cosine_distance}):
        K = rbf_kernel(X) if parameters["kernel"] == "precomputed" else X
        moderated, sigmoid = (
            BayesSVC(link=link, **parameters).fit(K, y) for link in ("moderated", "sigmoid")
        )
        np.testing.assert_array_equal(moderated.predict_proba(K), sigmoid.predict_proba(K))


def cosine_distance(X, Z):
    """Minus a squared distance: positive only for coefficients that sum to 0."""
    return -((X[:, None, :] - Z[None]) ** 2).sum(axis=2)


def test_the_variance_of_a_kernel_that_has_none_is_an_error():
    X, y = noisy()
    clf = BayesSVC(kernel=cosine_distance).fit(X, y)
    with pytest.raises(ValueError, match="no posterior variance"):
        clf.posterior_variance(X)


def test_parameters_set_after_the_fit_change_no_prediction():
    X, y = noisy()
    clf = BayesSVC().fit(X, y)
    before = clf.predict_proba(2 * X)
    np.testing.assert_array_equal(clf.set_params(C=1e-3).predict_proba(2 * X), before)


@pytest.mark.parametrize("data", [noisy, three_classes])
def test_what_is_changed_inside_a_parameter_after_the_fit_changes_nothing(data):
    X, y = data()
    costs, kernel = {y[0]: 3.0}, RBF(1.0)
    clf = BayesSVC(kernel=kernel, class_weight=costs).fit(X, y)
    small = clf.compact()
    before = clf.predict_proba(2 * X), clf.predict_interval(X[:3])
    costs[y[0]] = 100.0
    clf.set_params(kernel__length_scale=9.0)
    for found, expected in zip((clf.predict_proba(2 * X), clf.predict_interval(X[:3])), before, strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(small.predict_proba(2 * X), before[0])


def test_the_log_odds_of_what_is_impossible_are_finite():
    X, y = three_classes()
    clf = BayesSVC(link="clipped").fit(X, y)
    assert clf.predict_proba(X).min() == 0.0
    values = clf.decision_function(X)
    assert np.isfinite(values.astype(np.float32)).all()
    np.testing.assert_array_equal(clf.classes_[values.argmax(axis=1)], clf.predict(X))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-2, 0.5])
def test_a_truncated_variance_is_as_near_as_it_says(kernel, tolerance):
    X, y = noisy(n=200)
    model = BayesSVC(kernel=kernel, C=3.0).fit(X, y)
    at = np.concatenate([X, 3.0 * X])
    exact, truncated = model.posterior_variance(at), model.posterior_variance(at, tolerance=tolerance)
    assert np.all(truncated >= exact * (1.0 - 1e-9))
    assert np.all(truncated <= exact * (1.0 + tolerance + 1e-9))


def test_a_truncated_variance_of_several_classes_has_their_columns():
    X, y = three_classes()
    assert BayesSVC().fit(X, y).posterior_variance(X, tolerance=0.01).shape == (len(X), 3)


def test_a_tolerance_below_0_is_refused():
    X, y = noisy()
    with pytest.raises(ValueError, match=r"tolerance=-1\.0 must be at least 0"):
        BayesSVC().fit(X, y).posterior_variance(X, tolerance=-1.0)


def two_regressions(values, positive, weight, at):
    """The Venn-Abers interval by definition."""
    ends = [
        IsotonicRegression()
        .fit(np.append(values, at), np.append(positive, trial), sample_weight=np.append(weight, 1.0))
        .predict([at])[0]
        for trial in (0.0, 1.0)
    ]
    return sorted(ends)


@pytest.mark.parametrize("leave_out", ["strata", "rows", 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_with_many_rows_an_interval_is_that_of_the_left_out_values(leave_out, weighted, monkeypatch):
    monkeypatch.setattr("bayes_svm.classifiers.predictions.TRANSDUCTIVE", 10)
    X, y = noisy(n=50)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 1.7], size=50) if weighted else np.ones(50)
    clf = BayesSVC(leave_out=leave_out).fit(X, np.where(y > 0, "a", "b"), sample_weight=weight)
    at = np.random.default_rng(1).normal(size=(20, 3))
    used = weight > 0
    sample = clf.left_out_decision_values_[used], y[used] < 0, weight[used]
    expected = [two_regressions(*sample, value) for value in clf.decision_function(at)]
    np.testing.assert_allclose(clf.predict_interval(at), expected, atol=1e-9)


def test_intervals_of_several_classes_are_those_of_their_machines(monkeypatch):
    monkeypatch.setattr("bayes_svm.classifiers.predictions.TRANSDUCTIVE", 10)
    X, y = three_classes()
    clf = BayesSVC().fit(X, y[::-1] + 5)
    at = np.random.default_rng(1).normal(size=(20, 2))
    found = clf.predict_interval(at)
    assert found.shape == (20, 3, 2)
    for k, own in enumerate(clf.classes_):
        values = clf._margins(at)[:, k]
        sample = clf.left_out_decision_values_[:, k], y[::-1] + 5 == own, np.ones(60)
        expected = [two_regressions(*sample, value) for value in values]
        np.testing.assert_allclose(found[:, k], expected, atol=1e-9)


@pytest.mark.parametrize("few", [10, 200])
@pytest.mark.parametrize("make", [noisy, three_classes])
def test_an_interval_depends_on_neither_weights_of_rows_nor_batch_nor_order_nor_storage(
    make, few, monkeypatch
):
    monkeypatch.setattr("bayes_svm.classifiers.predictions.TRANSDUCTIVE", few)
    X, y = make()
    times = np.random.default_rng(0).integers(1, 4, size=60)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(60), times))
    clf = BayesSVC(gamma=0.3).fit(X, y, sample_weight=times)
    at = np.vstack([X[:10], np.full((1, X.shape[1]), 1e200)])
    found = clf.predict_interval(at)
    assert np.all((found >= 0.0) & (found <= 1.0))
    repeated = BayesSVC(gamma=0.3).fit(X[rows], y[rows])
    np.testing.assert_allclose(repeated.predict_interval(at), found, atol=1e-9)
    np.testing.assert_array_equal(np.concatenate([clf.predict_interval(one[None]) for one in at]), found)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_interval(at), found)
    thin = BayesSVC(gamma=0.3).fit(sparse.csr_matrix(X), y, sample_weight=times)
    np.testing.assert_allclose(thin.predict_interval(sparse.csr_matrix(at)), found, atol=1e-9)


@pytest.mark.parametrize("make", [noisy, three_classes, awkward])
def test_with_few_rows_an_interval_is_that_of_all_points_left_out_in_turn(make):
    X, y = make(n=24)
    clf = BayesSVC(C=2.0, gamma=0.5).fit(X, y)
    new = np.random.default_rng(1).normal(size=(3, X.shape[1]))
    found = clf.predict_interval(new).reshape(3, -1, 2)
    for k, own in enumerate(clf.classes_[-found.shape[1] :]):
        for x, interval in zip(new, found[:, k], strict=True):
            ends = []
            for trial in (0, 1):
                bag, labels = np.vstack([X, x]), np.append(y == own, trial).astype(int)
                values = leave_one_out(clone(clf), bag, labels, method="retrain").decision_values
                # Values that differ by rounding errors only are tied.
                values = np.round(values, 9)
                fitted = IsotonicRegression().fit(values, labels).predict(values[-1:])
                ends.append(fitted[0])
            np.testing.assert_allclose(interval, sorted(ends), atol=1e-9)


@pytest.mark.parametrize("make", [noisy, three_classes])
def test_where_a_value_of_the_bag_is_not_exact_the_interval_is_that_of_the_fit(make, monkeypatch):
    X, y = make(n=24)
    clf = BayesSVC(gamma=0.5).fit(X, y)
    new = np.random.default_rng(1).normal(size=(3, X.shape[1]))
    exact, find = clf.predict_interval(new), LeftOutScores._values_of

    def spoilt(*args):
        values, own, statuses = find(*args)
        values[1, 5], statuses[1, 5] = 36293.0, "inexact"
        return values, own, statuses

    monkeypatch.setattr(LeftOutScores, "_values_of", spoilt)
    with pytest.warns(
        ConvergenceWarning, match="With 1 of the 3 points as one more row.*X needs scaling"
    ) as warned:
        found = clf.predict_interval(new)
    assert [one.filename for one in warned] == [__file__]
    monkeypatch.setattr(clf, "_joined", None)
    exact[1] = clf.predict_interval(new)[1]
    np.testing.assert_array_equal(found, exact)


def test_with_class_weights_of_several_classes_every_other_class_is_a_trial_label():
    X, y = three_classes(n=24)
    clf = BayesSVC(gamma=0.5, class_weight={0: 0.2, 1: 1.0, 2: 5.0}).fit(X, y)
    new = np.random.default_rng(1).normal(size=(3, X.shape[1]))
    found = clf.predict_interval(new)
    np.testing.assert_allclose(clone(clf).fit(X[::-1], y[::-1]).predict_interval(new), found, atol=1e-9)
    for x, intervals in zip(new, found, strict=True):
        ends = []
        for trial in clf.classes_:
            bag, labels = np.vstack([X, x]), np.append(y, trial)
            values = np.round(leave_one_out(clone(clf), bag, labels, method="retrain").decision_values, 9)
            ends.append(
                [
                    IsotonicRegression().fit(values[:, k], labels == k).predict(values[-1:, k])[0]
                    for k in range(3)
                ]
            )
        np.testing.assert_allclose(intervals, np.column_stack([np.min(ends, 0), np.max(ends, 0)]), atol=1e-9)


def test_intervals_are_those_of_the_fit_whatever_is_set_or_changed_later():
    X, y = noisy(n=40)
    given, new = X.copy(), np.random.default_rng(1).normal(size=(3, 3))
    clf = BayesSVC(gamma=0.5).fit(given, y)
    found = clf.predict_interval(new)
    given[:] = 0.0
    clf.set_params(C=-1.0, gamma=5.0)
    np.testing.assert_array_equal(clf.predict_interval(new), found)


def test_over_new_points_the_interval_holds_the_frequency():
    X, y = noisy(n=2000, noise=0.7)
    clf = BayesSVC().fit(X[:100], y[:100])
    low, high = clf.predict_interval(X[100:]).mean(axis=0)
    assert low <= np.mean(y[100:] > 0) <= high
    assert high - low < 0.15


def test_with_class_weights_the_intervals_are_those_of_the_data():
    X, y = noisy(n=3000)
    y = np.where(X[:, 0] + 0.7 * X[:, 1] > 1.3, 1, -1)
    clf = BayesSVC(kernel="linear", class_weight={1: 10.0, -1: 1.0}).fit(X[:300, :1], y[:300])
    low, high = clf.predict_interval(X[300:, :1]).mean(axis=0)
    frequency = np.mean(y[300:] > 0)
    assert frequency < 0.2
    assert low - 0.02 <= frequency <= high + 0.02


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_interval_very_far_away_does_not_warn_of_an_overflow():
    # The new point has a kernel value of 1e48, and the gap of some bag without a row has no bound.
    X = np.array(
        [
            [1.0, 0.1],
            [3.3, 3.0],
            [0.6, 2.1],
            [-0.1, -1.6],
            [4.0, 3.9],
            [-0.8, 1.6],
            [-1.0, 0.3],
            [0.0, 1.2],
            [1.7, 3.4],
            [1.3, 1.7],
            [3.6, 4.0],
            [3.7, 4.3],
            [3.3, 3.8],
            [2.1, 3.0],
            [2.7, 2.8],
            [2.8, 2.9],
        ]
    )
    y = np.array([1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0])
    model = BayesSVC(C=2.5, kernel="poly", class_weight={0: 57.0, 1: 0.3}).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="very far from the training data"):
        low, high = model.predict_interval(1e8 * np.array([[1.0, -1.0]]))[0]
    assert 0 <= low <= high <= 1


@pytest.mark.parametrize("multiclass", ["joint", "normalise"])
def test_the_largest_log_odds_are_those_of_the_prediction_where_probabilities_are_equal(multiclass):
    random = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = random.normal(size=(90, 2)) + 1.5 * np.column_stack([y, np.zeros(90)])
    clf = BayesSVC(link=DecisionTreeClassifier(random_state=0), multiclass=multiclass).fit(X, y)
    np.testing.assert_array_equal(clf.decision_function(X).argmax(axis=1), clf.predict(X))


def test_weights_of_features_are_those_of_the_fitted_kernel():
    X, y = noisy()
    linear = BayesSVC(kernel="linear").fit(X, y)
    expected = linear.coef_
    np.testing.assert_array_equal(linear.set_params(kernel="rbf").coef_, expected)
    curved = BayesSVC().fit(X, y).set_params(kernel="linear")
    assert not hasattr(curved, "coef_")


def test_sparse_rows_are_taken_as_the_fitted_kernel_takes_them():
    X, y = noisy()
    clf = BayesSVC().fit(sparse.csr_array(X), y).set_params(kernel="precomputed")
    assert clf.predict(sparse.csr_array(X)).shape == y.shape
