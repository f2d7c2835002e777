import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from _data import noisy, three_classes
from _grid import GRID
from bayes_svm import BayesSVC, BayesSVCSearch, RejectOptionClassifier
from bayes_svm.kernels import choice


def test_results_have_the_columns_of_a_grid_search():
    X, y = noisy(n=120)
    ours = BayesSVCSearch(BayesSVC(), [GRID, {"kernel": ["linear"], "C": [1.0]}]).fit(X, y).cv_results_
    theirs = GridSearchCV(BayesSVC(), [GRID, {"kernel": ["linear"], "C": [1.0]}], cv=2).fit(X, y).cv_results_
    assert set(ours) <= set(theirs)
    assert ours["params"] == theirs["params"]
    np.testing.assert_array_equal(ours["param_C"].data, theirs["param_C"].data)
    assert ours["param_kernel"].mask.tolist() == theirs["param_kernel"].mask.tolist()
    assert ours["rank_test_score"].min() == 1


def test_weights_are_repeated_rows():
    X, y = noisy(n=40)
    weight = np.random.default_rng(0).integers(1, 4, size=40)
    weighted = BayesSVCSearch(BayesSVC(), GRID, combine="stack").fit(X, y, sample_weight=weight)
    repeated = BayesSVCSearch(BayesSVC(gamma=0.1), GRID, combine="stack").fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(
        weighted.cv_results_["mean_test_score"], repeated.cv_results_["mean_test_score"], rtol=1e-6
    )
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


def test_a_mixture_is_at_least_as_likely_as_the_best_and_drops_the_rest():
    X, y = noisy(n=100)
    grid = {"gamma": [0.01, 0.1, 1.0, 10.0], "C": [0.01, 1.0, 100.0]}
    search = BayesSVCSearch(BayesSVC(), grid, combine="stack").fit(X, y)
    assert search.left_out_log_loss_ == pytest.approx(log_loss(y, search.left_out_proba_))
    assert search.left_out_error_ == np.mean(search.classes_[search.left_out_proba_.argmax(axis=1)] != y)
    assert 0.5 < search.weights_.sum() < 2.0
    assert search.weights_.min() > 0.01
    assert 1 < len(search.estimators_) < 12
    parts = zip(search.weights_, search.estimators_, strict=True)
    mixed = np.exp(sum(w * model.predict_log_proba(X) for w, model in parts))
    mixed *= np.mean(y[:, None] == search.classes_, axis=0) ** (1.0 - search.weights_.sum())
    mixed /= mixed.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(search.predict_proba(X), mixed)
    np.testing.assert_array_equal(search.predict(X), search.classes_[mixed.argmax(axis=1)])
    np.testing.assert_allclose(search.decision_function(X), np.log(mixed[:, 1] / mixed[:, 0]), atol=1e-9)
    np.testing.assert_allclose(np.exp(search.predict_log_proba(X)), mixed)


def test_a_mixture_of_several_classes():
    X, y = three_classes()
    search = BayesSVCSearch(BayesSVC(), GRID, combine="stack").fit(X, y)
    assert search.decision_function(X).shape == (60, 3)
    np.testing.assert_allclose(search.predict_proba(X).sum(axis=1), 1.0)


def test_the_number_of_jobs_changes_no_bit():
    X, y = noisy()
    one, two = (BayesSVCSearch(BayesSVC(), GRID, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.predict_proba(X).tobytes() == two.predict_proba(X).tobytes()
    assert one.cv_results_["mean_test_score"].tobytes() == two.cv_results_["mean_test_score"].tobytes()


def test_without_refit_there_is_nothing_to_predict_with():
    X, y = noisy()
    search = BayesSVCSearch(BayesSVC(), GRID, refit=False).fit(X, y)
    assert search.best_params_["C"] in GRID["C"]
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(AttributeError, match="refit=False keeps no model"):
        search.predict(X)


def test_a_search_is_an_estimator_among_others():
    X, y = noisy(noise=0.5)
    y = np.where(y > 0, "yes", "no")
    search = BayesSVCSearch(BayesSVC(), GRID, combine="stack")
    assert cross_val_score(search, X, y, cv=3, scoring="neg_log_loss").min() > -1.0
    fitted = pickle.loads(pickle.dumps(search.fit(X, y)))
    assert set(fitted.predict(X)) == {"yes", "no"}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"estimator": SVC(), "param_grid": GRID}, TypeError, "estimator is a SVC: BayesSVCSearch needs"),
        (
            {"estimator": BayesSVC()},
            ValueError,
            "exactly one of param_grid and param_space: say, param_grid=",
        ),
        (
            {"estimator": BayesSVC(), "param_grid": GRID, "param_space": {}},
            ValueError,
            "exactly one of param_grid",
        ),
        ({"estimator": BayesSVC(), "param_space": {}}, ValueError, "param_space is empty"),
        ({"estimator": BayesSVC(), "param_space": {"C": (1, 0.1)}}, ValueError, "needs 0 < low < high"),
        ({"estimator": BayesSVC(), "param_space": {"C": (0, 1)}}, ValueError, "needs 0 < low < high"),
        ({"estimator": BayesSVC(), "param_space": {"C": 5}}, ValueError, "is not a pair of numbers"),
        ({"estimator": BayesSVC(), "param_space": {"gamma": ("scale", 1)}}, ValueError, "is not a pair"),
        ({"estimator": BayesSVC(), "param_space": {"degree": (1, 5)}}, ValueError, "cannot hold degree"),
        ({"estimator": BayesSVC(), "param_grid": []}, ValueError, "param_grid is empty"),
        (
            {
                "estimator": make_pipeline(PCA(), BayesSVC()),
                "param_space": {"pca__tol": (1e-9, 1)},
                "criterion": "evidence",
            },
            ValueError,
            "no derivative by pca__tol",
        ),
        (
            {"estimator": BayesSVC(), "param_space": {"kernel": (0.1, 1)}, "criterion": "evidence"},
            ValueError,
            "needs a kernel of sklearn.gaussian_process",
        ),
        (
            {"estimator": BayesSVC(), "param_space": {"smoothing": (0.1, 1)}, "criterion": "evidence"},
            ValueError,
            "no derivative by smoothing",
        ),
        (
            {"estimator": BayesSVC(), "param_space": {"C": (0.1, 1)}, "combine": "stack"},
            ValueError,
            "combine='stack' mixes the models of a grid",
        ),
        (
            {"estimator": BayesSVC(), "param_space": {"C": (0.1, 1)}, "prefilter": 0.5},
            ValueError,
            "prefilter=0.5 drops kernels of a grid",
        ),
        ({"estimator": BayesSVC(), "param_grid": {"D": [1]}}, ValueError, "Invalid parameter 'D'"),
        (
            {"estimator": BayesSVC(), "param_grid": GRID, "criterion": "f1"},
            ValueError,
            "'criterion' parameter",
        ),
    ],
)
def test_what_cannot_be_searched_is_refused(arguments, error, message):
    X, y = noisy()
    with pytest.raises(error, match=message):
        BayesSVCSearch(**arguments).fit(X, y)


def test_leave_one_out_probabilities_serve_a_reject_option():
    X, y = noisy(n=80)
    for combine in ("best", "stack"):
        search = BayesSVCSearch(BayesSVC(), GRID, combine=combine)
        model = RejectOptionClassifier(search, target_coverage=0.8).fit(X, y)
        assert model.fitted_on_ == "left-out"
        assert model.coverage_ >= 0.8
        proba = model.estimator_.left_out_proba_
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert log_loss(y, proba) == pytest.approx(model.estimator_.left_out_log_loss_)


@pytest.mark.parametrize(
    "grid",
    [{"link": ["sigmiod"]}, {"C": [-1.0]}, {"class_weight": ["balance"]}, {"smoothing": [-1.0]}],
    ids=str,
)
def test_values_of_a_grid_are_checked_as_the_estimators(grid):
    with pytest.raises(ValueError, match="parameter of BayesSVC must be"):
        BayesSVCSearch(BayesSVC(), grid).fit(*noisy())


def test_a_kernel_with_noise_is_refused():
    with pytest.raises(ValueError, match="differ from its diag"):
        BayesSVC(kernel=RBF() + WhiteKernel()).fit(*noisy())


@pytest.mark.parametrize("label", ["a", "m", "z"])
def test_rows_of_weight_zero_are_absent_whatever_their_label(label):
    X, y = noisy(noise=0.5)
    y = np.where(y > 0, "k", "s")
    search = BayesSVCSearch(BayesSVC(gamma=0.5), {"C": [0.1, 1.0]}, combine="stack")
    expected = clone(search).fit(X, y)
    rows, labels = np.vstack([X, X[:1]]), np.append(y, label)
    found = search.fit(rows, labels, sample_weight=np.append(np.ones(len(y)), 0.0))
    assert found.left_out_log_loss_ == pytest.approx(expected.left_out_log_loss_)
    assert found.left_out_error_ == expected.left_out_error_
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-9)


def test_a_second_fit_forgets_the_first():
    X, y = noisy()
    search = BayesSVCSearch(BayesSVC(), GRID, combine="stack").fit(X, y)
    search.set_params(combine="best", refit=False).fit(X, y)
    assert not hasattr(search, "left_out_log_loss_")
    assert not hasattr(search, "estimators_")


@pytest.mark.parametrize("combine", ["best", "stack"])
def test_labels_that_are_noise_are_told_once(combine):
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.tile([0, 1], 30)
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}
    with pytest.warns(UserWarning, match="No setting tells the classes apart") as caught:
        search = BayesSVCSearch(BayesSVC(), grid, combine=combine).fit(X, y)
    assert [one.filename for one in caught] == [__file__]
    assert search.left_out_log_loss_ >= np.log(2.0)


def test_a_bad_setting_beside_a_good_one_is_no_warning():
    rng = np.random.default_rng(1)
    y = np.tile([0, 1], 20)
    X = np.column_stack([3.0 * y + rng.normal(size=40), rng.normal(size=40)])
    with pytest.warns(UserWarning, match="do not separate the classes"):
        BayesSVC(gamma=1e6).fit(X, y)
    BayesSVCSearch(BayesSVC(), {"gamma": [0.1, 1e6]}).fit(X, y)


def test_costs_share_the_values_of_a_kernel_that_is_computed_on_demand(monkeypatch):
    X, y = noisy(n=120)
    whole = BayesSVCSearch(BayesSVC(), {"C": [0.3, 1.0, 3.0]}).fit(X, y)
    monkeypatch.setattr(choice, "ALL_AT_ONCE", 0)
    asked = []
    for free in (10**9, 1000):
        monkeypatch.setattr(choice, "available_bytes", lambda free=free: asked.append(free) or free)
        found = BayesSVCSearch(BayesSVC(), {"C": [0.3, 1.0, 3.0]}).fit(X, y)
        np.testing.assert_allclose(found.left_out_proba_, whole.left_out_proba_, rtol=1e-8)
        assert found.best_params_ == whole.best_params_
    # Once for each search, and never for a single value of C.
    BayesSVCSearch(BayesSVC(), {"C": [0.3]}).fit(X, y)
    assert asked == [10**9, 1000]
