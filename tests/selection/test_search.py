import pickle
import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, ParameterGrid, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from _data import noisy, three_classes
from bayes_svm import (
    BayesSVC,
    BayesSVCSearch,
    RejectOptionClassifier,
    class_similarity,
    log_evidence,
    span_estimate,
    xi_alpha,
)
from bayes_svm.leave_one_out.cases import strata, what_leaves
from bayes_svm.probability.calibration import fit_sigmoid
from bayes_svm.probability.joint import fit_joint
from bayes_svm.probability.link import LinkData
from bayes_svm.probability.links import fit_links
from bayes_svm.probability.several import class_log_odds, log_probabilities
from bayes_svm.selection.mixture import pooled, stacking_weights
from bayes_svm.selection.told import first_best
from bayes_svm.selection.trials import FOLDS

GRID = {"gamma": [0.1, 1.0], "C": [10.0, 0.1, 1.0]}


def criterion_by_hand(criterion, parameters, X, y):
    """The criterion of one setting from the public functions, on a fit of its own."""
    model = BayesSVC(**parameters)
    if criterion == "left_out_log_loss":
        few = clone(model).set_params(leave_out=5).fit(X, y)
        return -(log_loss(y, model.fit(X, y).left_out_proba_) + log_loss(y, few.left_out_proba_)) / 2
    if criterion == "evidence":
        return log_evidence(model, X, y).value
    if criterion == "class_similarity":
        return -class_similarity(X, y, gamma=parameters["gamma"]).value
    if criterion == "left_out_error":
        wrong = model.fit(X, y).classes_[model.left_out_proba_.argmax(axis=1)] != y
        return -float(np.mean(wrong))
    estimate = {"span": span_estimate, "xi_alpha": xi_alpha}[criterion]
    return -estimate(model, X, y).error


@pytest.mark.parametrize(
    "criterion", ["left_out_log_loss", "left_out_error", "evidence", "span", "xi_alpha", "class_similarity"]
)
@pytest.mark.parametrize("make", [noisy, three_classes])
def test_the_best_setting_is_the_one_found_by_hand(make, criterion):
    X, y = make()
    search = BayesSVCSearch(BayesSVC(), GRID, criterion=criterion).fit(X, y)
    expected = [criterion_by_hand(criterion, parameters, X, y) for parameters in ParameterGrid(GRID)]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-6)
    assert search.cv_results_["params"] == list(ParameterGrid(GRID))
    assert search.best_index_ == int(np.argmax(expected))
    assert search.best_params_ == list(ParameterGrid(GRID))[search.best_index_]
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    best = BayesSVC(**search.best_params_).fit(X, y)
    np.testing.assert_allclose(search.predict_proba(X), best.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(search.decision_function(X), best.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(search.predict_log_proba(X), best.predict_log_proba(X), atol=1e-8)


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


def test_a_pipeline_is_searched_as_one():
    X, y = noisy()
    X = 100.0 * X
    pipeline = make_pipeline(StandardScaler(), BayesSVC())
    grid = {"bayessvc__C": [0.1, 1.0], "standardscaler__with_mean": [True, False]}
    weight = np.ones(len(y))
    search = BayesSVCSearch(pipeline, grid).fit(X, y, sample_weight=weight)
    best = clone(pipeline).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_allclose(search.predict_proba(X), best.predict_proba(X), atol=1e-8)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    few = clone(pipeline).set_params(**search.best_params_, bayessvc__leave_out=5).fit(X, y)
    losses = [log_loss(y, one[-1].left_out_proba_) for one in (best, few)]
    np.testing.assert_allclose(search.best_score_, -np.mean(losses))
    assert not hasattr(pipeline[0], "mean_")


def test_steps_that_do_nothing_are_searched_too():
    X, y = noisy()
    pipeline = make_pipeline("passthrough", BayesSVC())
    grid = {"passthrough": [StandardScaler(), "passthrough"], "bayessvc__C": [0.1, 1.0]}
    search = BayesSVCSearch(pipeline, grid).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(X).shape == (len(X),)


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


def test_the_evidence_is_climbed_along_its_gradient():
    X, y = noisy(n=80)
    space = {"C": (1e-3, 1e3), "gamma": (1e-3, 1e2)}
    search = BayesSVCSearch(BayesSVC(), param_space=space, criterion="evidence").fit(X, y)
    grid = {"C": np.geomspace(1e-3, 1e3, 13), "gamma": np.geomspace(1e-3, 1e2, 11)}
    best = max(log_evidence(SVC(**parameters), X, y).value for parameters in ParameterGrid(grid))
    assert search.best_score_ >= best - 0.1
    assert len(search.cv_results_["params"]) <= 60
    assert 1e-3 <= search.best_params_["C"] <= 1e3
    np.testing.assert_allclose(
        search.predict_proba(X), BayesSVC(**search.best_params_).fit(X, y).predict_proba(X)
    )


def test_length_scales_of_features_that_say_nothing_grow():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3))
    y = np.sign(X[:, 0] + 0.3 * random.normal(size=120))
    search = BayesSVCSearch(
        BayesSVC(kernel=RBF(np.ones(3))),
        param_space={"C": (1e-2, 1e3), "kernel": (0.1, 100.0)},
        criterion="evidence",
    ).fit(X, y)
    scales = search.best_params_["kernel"].length_scale
    assert np.all(scales[1:] > 3 * scales[0])
    assert search.score(X, y) > 0.85


@pytest.mark.parametrize("criterion", ["left_out_log_loss", "span"])
def test_other_criteria_are_searched_without_a_gradient(criterion):
    X, y = noisy(n=60)
    search = BayesSVCSearch(
        make_pipeline(StandardScaler(), BayesSVC()),
        param_space={"bayessvc__C": (0.01, 100.0), "bayessvc__gamma": (0.01, 10.0)},
        criterion=criterion,
        max_evaluations=25,
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] <= search.best_score_ == scores.max()
    assert len(scores) <= 25


def test_without_refit_there_is_nothing_to_predict_with():
    X, y = noisy()
    search = BayesSVCSearch(BayesSVC(), GRID, refit=False).fit(X, y)
    assert search.best_params_["C"] in GRID["C"]
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(AttributeError, match="refit=False keeps no model"):
        search.predict(X)


def test_a_search_is_an_estimator_among_others():
    X, y = noisy()
    y = np.where(y > 0, "yes", "no")
    search = BayesSVCSearch(BayesSVC(), GRID, combine="stack")
    assert cross_val_score(search, X, y, cv=3, scoring="neg_log_loss").min() > -1.0
    fitted = pickle.loads(pickle.dumps(search.fit(X, y)))
    assert set(fitted.predict(X)) == {"yes", "no"}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"estimator": SVC(), "param_grid": GRID}, TypeError, "estimator is a SVC: BayesSVCSearch needs"),
        ({"estimator": BayesSVC()}, ValueError, "exactly one of param_grid and param_space"),
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


def test_verbose_prints_every_setting(capsys):
    X, y = noisy()
    BayesSVCSearch(BayesSVC(), {"C": [0.1, 1.0]}, verbose=1).fit(X, y)
    assert capsys.readouterr().err.count("[BayesSVCSearch] C=") == 2


def test_class_similarity_filters_the_kernels():
    X, y = noisy(n=80)
    grid = {"gamma": [1e-3, 0.01, 0.1, 1.0, 10.0, 100.0], "C": [0.1, 1.0]}
    values = {gamma: class_similarity(X, y, gamma=gamma).value for gamma in grid["gamma"]}
    best = sorted(values, key=values.get)[:2]
    search = BayesSVCSearch(BayesSVC(), grid, prefilter=0.3, combine="stack").fit(X, y)
    scores, gammas = search.cv_results_["mean_test_score"], search.cv_results_["param_gamma"]
    assert {gamma for gamma, score in zip(gammas, scores, strict=True) if np.isfinite(score)} == set(best)
    whole = BayesSVCSearch(BayesSVC(), {**grid, "gamma": best}).fit(X, y)
    assert search.best_params_ == whole.best_params_
    assert len(search.estimators_) <= 4


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


def test_a_search_without_a_gradient_leaves_its_start():
    X, y = noisy(n=60)
    search = BayesSVCSearch(BayesSVC(), param_space={"C": (1e-3, 1e3)}, criterion="left_out_log_loss").fit(
        X, y
    )
    tried = [parameters["C"] for parameters in search.cv_results_["params"]]
    assert max(tried) / min(tried) > 4
    grid = BayesSVCSearch(BayesSVC(), {"C": list(np.geomspace(1e-3, 1e3, 25))}).fit(X, y)
    assert search.best_score_ >= grid.best_score_ - 0.02


@pytest.mark.parametrize(
    "grid",
    [{"link": ["sigmiod"]}, {"C": [-1.0]}, {"class_weight": ["balance"]}, {"smoothing": [-1.0]}],
    ids=str,
)
def test_values_of_a_grid_are_checked_as_the_estimators(grid):
    with pytest.raises(ValueError, match="parameter of BayesSVC must be"):
        BayesSVCSearch(BayesSVC(), grid).fit(*noisy())


def test_objects_of_a_grid_are_cloned():
    X, y = noisy()
    model = BayesSVC(link="sigmoid")
    pipeline = make_pipeline(StandardScaler(), BayesSVC())
    search = BayesSVCSearch(pipeline, {"bayessvc": [model], "bayessvc__C": [0.1, 100.0]}).fit(X, y)
    assert search.best_params_["bayessvc__C"] == search.best_estimator_[-1].C
    assert not hasattr(model, "classes_")


def test_kernels_that_print_alike_are_not_one():
    X, y = noisy()
    kernels = [RBF(3.0001), RBF(3.0049)]
    together = BayesSVCSearch(BayesSVC(), {"kernel": kernels}).fit(X, y).cv_results_["mean_test_score"]
    alone = [BayesSVCSearch(BayesSVC(), {"kernel": [kernel]}).fit(X, y).best_score_ for kernel in kernels]
    np.testing.assert_array_equal(together, alone)


def test_a_kernel_with_noise_is_refused():
    with pytest.raises(ValueError, match="differ from its diag"):
        BayesSVC(kernel=RBF() + WhiteKernel()).fit(*noisy())


def test_a_pipeline_of_one_step_and_one_of_text():
    X, y = noisy()
    assert BayesSVCSearch(make_pipeline(BayesSVC()), {"bayessvc__C": [0.1, 1.0]}).fit(X, y).score(X, y) > 0.6
    texts = ["a b"] * 5 + ["b c"] * 5 + ["c d a"] * 5
    labels = np.repeat(["x", "y", "z"], 5)
    model = make_pipeline(TfidfVectorizer(token_pattern=r"\w"), BayesSVC(kernel="linear"))
    search = BayesSVCSearch(model, {"bayessvc__C": [1.0, 10.0]}).fit(texts, labels)
    assert list(search.predict(texts)) == list(labels)


@pytest.mark.filterwarnings("ignore:The solution is not exact")  # a sigmoid kernel has no optimum
def test_without_an_optimum_settings_do_not_start_from_each_other():
    X, y = noisy()
    model = BayesSVC(kernel="sigmoid", gamma=2.0)
    together = BayesSVCSearch(model, {"C": [0.1, 1.0, 10.0]}).fit(X, y).cv_results_["mean_test_score"]
    alone = [BayesSVCSearch(model, {"C": [C]}).fit(X, y).best_score_ for C in (0.1, 1.0, 10.0)]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("label", ["a", "m", "z"])
def test_rows_of_weight_zero_are_absent_whatever_their_label(label):
    X, y = noisy()
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


def folds_of(model, X, y):
    """Which share of each row is in each fold, of rows that differ."""
    machine = model._machine(X, y, None)
    leaving = strata(machine)
    return leaving.row_means(leaving.part_shares(FOLDS, machine), np.zeros((len(y), FOLDS)))


def without_folds(model, y, shares, fit):
    """Left-out probabilities of a fitted model, its link fitted anew for each fold, to the other rows."""
    told = np.zeros((len(y), 2))
    for own in shares.T:
        log_odds = fit(model.left_out_decision_values_, y == model.classes_[1], 1.0 - own)
        told += own[:, None] * np.column_stack([expit(-log_odds), expit(log_odds)])
    return told


def by_sigmoid(boundary=0.0):
    def fit(values, positive, weight):
        return fit_sigmoid(values, positive, weight, BayesSVC().smoothing, boundary).log_odds(values)

    return fit


@pytest.mark.parametrize("criterion", ["left_out_log_loss", "left_out_error"])
def test_each_fold_is_told_by_the_setting_and_the_link_that_the_others_choose(criterion):
    X, y = noisy(n=90)
    model = BayesSVC(link="sigmoid")
    search = BayesSVCSearch(model, GRID, criterion=criterion).fit(X, y)
    numbers, shares = (y > 0).astype(int), folds_of(model, X, y)
    losses, probas = [], []
    for parameters in ParameterGrid(GRID):
        every, few = (
            clone(model).set_params(**parameters, leave_out=what).fit(X, y) for what in ("strata", 5)
        )
        probas.append(without_folds(every, y, shares, by_sigmoid()))
        if criterion == "left_out_error":
            losses.append(every.left_out_.predicted != numbers)
        else:
            own = [one.left_out_proba_[np.arange(90), numbers] for one in (every, few)]
            losses.append(-np.log(own).mean(axis=0))
    told = np.zeros((90, 2))
    for own in shares.T:
        told += own[:, None] * probas[int((np.array(losses) @ (1.0 - own)).argmin())]
    np.testing.assert_allclose(search.left_out_proba_, told, atol=1e-9)
    wrong = told.argmax(axis=1) != numbers
    assert search.left_out_error_ == pytest.approx(wrong.mean())


def test_a_mixture_is_told_by_weights_and_links_that_have_not_seen_the_fold():
    X, y = noisy(n=60)
    model = BayesSVC(link="sigmoid")
    search = BayesSVCSearch(model, GRID, combine="stack").fit(X, y)
    numbers, shares = (y > 0).astype(int), folds_of(model, X, y)
    fits = [clone(model).set_params(**parameters).fit(X, y) for parameters in ParameterGrid(GRID)]
    logs = np.log([one.left_out_proba_ for one in fits])
    crossed = np.log([without_folds(one, y, shares, by_sigmoid()) for one in fits])
    told = np.zeros((60, 2))
    for own in shares.T:
        weights = stacking_weights(logs, numbers, 1.0 - own, search.base_)
        told += own[:, None] * np.exp(pooled(crossed, weights, search.base_))
    np.testing.assert_allclose(search.left_out_proba_, told, atol=1e-7)


class Steep(LinearRegression):
    """A calibrator that takes no weights."""

    def fit(self, X, y):
        return super().fit(X, y)


@pytest.mark.parametrize("link", [IsotonicRegression(out_of_bounds="clip"), Steep()])
def test_a_calibrator_is_told_without_the_fold_too(link):
    X, y = noisy(n=60)
    search = BayesSVCSearch(BayesSVC(link=link), {"C": [1.0]}).fit(X, y)
    model, least = search.best_estimator_, np.finfo(float).eps

    def fit(values, positive, weight):
        used = weight > 0
        fitted = clone(link).fit(values[used, None], positive[used].astype(int))
        return logit(np.clip(fitted.predict(values[:, None]), least, 1.0 - least))

    told = without_folds(model, y, folds_of(model, X, y), fit)
    # Decision values are rounded before a calibrator sees them.
    np.testing.assert_allclose(search.left_out_proba_, told, atol=1e-6)


def test_a_fold_with_a_whole_class_is_told_by_the_link_of_all():
    """Of twelve groups two have the second class, and come into one of the folds."""
    random = np.random.default_rng(5)
    groups = np.repeat(np.arange(12), 4)
    X = random.normal(size=(48, 2))
    for pair in combinations(range(12), 2):
        y = (np.isin(groups, pair) & (np.arange(48) % 4 > 0)).astype(int)
        model = BayesSVC(leave_out="rows", link="sigmoid")
        machine = model._machine(X, y, None)
        leaving = what_leaves(machine, "rows", y, groups)
        shares = leaving.row_means(leaving.part_shares(FOLDS, machine), np.zeros((48, FOLDS)))
        whole = np.flatnonzero(shares[y == 1].all(axis=0))
        if len(whole):
            break
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the groups do not tell the classes apart
        search = BayesSVCSearch(model, {"C": [1.0]}).fit(X, y, groups=groups)
    own = shares[:, whole[0]] > 0
    as_it_is = search.best_estimator_.left_out_proba_
    np.testing.assert_array_equal(search.left_out_proba_[own], as_it_is[own])
    assert not np.allclose(search.left_out_proba_[~own], as_it_is[~own])


def test_what_is_told_of_a_choice_on_noise_is_that_there_is_nothing_to_know():
    """The best of many settings seems better than chance; what is told of it does not."""
    random = np.random.default_rng(0)
    grid = {"gamma": list(np.geomspace(0.01, 10, 7)), "C": [0.1, 1.0, 10.0]}
    seeming, told = [], []
    for _ in range(8):
        X, y = random.normal(size=(40, 3)), random.permutation(np.arange(40) % 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            search = BayesSVCSearch(BayesSVC(), grid, criterion="left_out_error").fit(X, y)
        seeming.append(-search.best_score_)
        told.append(search.left_out_error_)
    assert np.mean(seeming) < 0.42
    assert np.mean(told) > 0.45


def test_a_criterion_that_is_no_mean_over_rows_tells_the_best_by_links_made_anew():
    X, y = noisy()
    model = BayesSVC(link="sigmoid")
    search = BayesSVCSearch(model, GRID, criterion="evidence").fit(X, y)
    told = without_folds(search.best_estimator_, y, folds_of(model, X, y), by_sigmoid())
    np.testing.assert_allclose(search.left_out_proba_, told, atol=1e-9)


@pytest.mark.parametrize("members", [3, 4])
def test_a_tiny_class_is_told_by_links_that_have_seen_it(members):
    """Without a third too few would be left to fit a link to: nothing would be known of a clear case."""
    random = np.random.default_rng(1)
    y = (np.arange(30 + members) < members).astype(int)
    X = random.normal(size=(len(y), 2)) + 6.0 * y[:, None]
    search = BayesSVCSearch(BayesSVC(), {"C": [1.0]}).fit(X, y)
    assert search.left_out_error_ == 0.0
    assert search.left_out_log_loss_ < 0.1


def test_a_calibrator_that_fails_without_a_fold_is_told_as_it_is_with_a_warning():
    X, y = noisy(n=60)
    search = BayesSVCSearch(BayesSVC(link=IsotonicRegression()), {"C": [1.0]})
    with pytest.warns(UserWarning, match="by the link fitted to all rows: .* out_of_bounds"):
        search.fit(X, y)
    np.testing.assert_array_equal(search.left_out_proba_, search.best_estimator_.left_out_proba_)


@pytest.mark.parametrize("n", [90, 30])  # of 30 rows, ten strata, a tenth is all in the third left out
def test_a_joint_link_is_made_anew_for_each_fold(n):
    X, y = three_classes(n=n)
    search = BayesSVCSearch(BayesSVC(link="sigmoid"), {"C": [1.0]}).fit(X, y)
    model = search.best_estimator_
    machine = model._machine(X, y, None)
    leaving = strata(machine)
    rows, tenths = leaving.part_row, leaving.part_shares(10, machine)
    values, label, told = model.left_out_decision_values_[rows], y[rows], np.zeros((n, 3))
    for own in leaving.part_shares(FOLDS, machine).T:
        links = fit_links("sigmoid", LinkData(values, label, 1.0 - own), model.smoothing)
        z = class_log_odds(links, values, None)
        joint, _ = fit_joint(z, label, 1.0 - own, tenths)
        told[rows] += own[:, None] * np.exp(log_probabilities(joint.log_odds(z)))
    np.testing.assert_allclose(search.left_out_proba_, told, atol=1e-9)


def test_scores_that_are_equal_but_for_rounding_are_equal():
    assert first_best(np.array([-2.0, -1.0, -1.0 + 1e-15, -np.inf])) == 1
    assert first_best(np.array([-1.0, -1.0 + 1e-6])) == 1
    assert first_best(np.array([-0.0, 0.0])) == 0


def test_with_class_weights_in_the_grid_each_fold_is_decided_by_its_own():
    random = np.random.default_rng(13)
    X = random.normal(size=(40, 2))
    y = (X[:, 0] + random.normal(size=40) > 0.3).astype(int)
    grid = {"class_weight": [{0: 1, 1: 1}, {0: 1, 1: 1.7}, {0: 1.7, 1: 1}]}
    search = BayesSVCSearch(BayesSVC(link="sigmoid"), grid, criterion="left_out_error").fit(X, y)
    fits = [BayesSVC(class_weight=one, link="sigmoid").fit(X, y) for one in grid["class_weight"]]
    wrong = np.array([one.left_out_.predicted != y for one in fits])
    shares = folds_of(fits[0], X, y)
    told = 0.0
    for own in shares.T:
        one = fits[int((wrong @ (1.0 - own)).argmin())]
        proba = without_folds(one, y, shares, by_sigmoid(np.log(one.class_weight_[0] / one.class_weight_[1])))
        told += own @ ((proba * one.class_weight_).argmax(axis=1) != y)
    assert search.left_out_error_ == pytest.approx(told / 40)


def test_the_log_loss_told_has_the_bound_of_the_criterion():
    random = np.random.default_rng(4)
    y = np.arange(30) % 3
    X = random.normal(size=(30, 3)) + 1.2 * random.normal(size=(3, 3))[y]
    search = BayesSVCSearch(BayesSVC(link="clipped"), {"C": [10.0]}).fit(X, y)
    own = search.left_out_proba_[np.arange(30), y]
    assert search.left_out_log_loss_ == pytest.approx(-np.log(np.maximum(own, np.finfo(float).eps)).mean())
