"""What a search tells of itself, computed by hand fold by fold."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import ParameterGrid
from sklearn.neighbors import KNeighborsClassifier

from _data import noisy, three_classes
from _grid import GRID
from bayes_svm import BayesSVC, BayesSVCSearch
from bayes_svm.leave_one_out.cases import strata, what_leaves
from bayes_svm.probability.calibration import fit_sigmoid
from bayes_svm.probability.joint import fit_joint
from bayes_svm.probability.link import LinkData
from bayes_svm.probability.links import fit_links
from bayes_svm.probability.several import class_log_odds, log_probabilities
from bayes_svm.selection.mixture import pooled, stacking_weights
from bayes_svm.selection.told import first_best
from bayes_svm.selection.trials import FOLDS


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
    X, y = noisy(n=120)
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
            own = [one.left_out_proba_[np.arange(120), numbers] for one in (every, few)]
            losses.append(-np.log(own).mean(axis=0))
    told = np.zeros((120, 2))
    for own in shares.T:
        told += own[:, None] * probas[int((np.array(losses) @ (1.0 - own)).argmin())]
    np.testing.assert_allclose(search.left_out_proba_, told, atol=1e-9)
    wrong = told.argmax(axis=1) != numbers
    assert search.left_out_error_ == pytest.approx(wrong.mean())


def test_a_mixture_is_told_by_weights_and_links_that_have_not_seen_the_fold():
    X, y = noisy(n=120)
    model = BayesSVC(link="sigmoid")
    search = BayesSVCSearch(model, GRID, combine="stack").fit(X, y)
    numbers, shares = (y > 0).astype(int), folds_of(model, X, y)
    fits = [clone(model).set_params(**parameters).fit(X, y) for parameters in ParameterGrid(GRID)]
    logs = np.log([one.left_out_proba_ for one in fits])
    crossed = np.log([without_folds(one, y, shares, by_sigmoid()) for one in fits])
    told = np.zeros((120, 2))
    for own in shares.T:
        weights = stacking_weights(logs, numbers, 1.0 - own, search.base_)
        told += own[:, None] * np.exp(pooled(crossed, weights, search.base_))
    np.testing.assert_allclose(search.left_out_proba_, told, atol=1e-7)


class Steep(LinearRegression):
    """A calibrator that takes no weights."""

    def fit(self, X, y):
        return super().fit(X, y)


@pytest.mark.filterwarnings("ignore:No setting tells the classes apart")  # a calibrator is for more rows
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


def test_a_fold_with_nearly_a_whole_class_is_told_by_the_link_of_all():
    """Of twelve groups two have the second class; without the first of them two of its rows are left."""
    random = np.random.default_rng(5)
    groups = np.repeat(np.arange(12), 4)
    X = random.normal(size=(48, 2))
    y = ((groups == 3) | (groups == 7) & (np.arange(48) % 4 > 1)).astype(int)
    model = BayesSVC(leave_out="rows", link="sigmoid")
    machine = model._machine(X, y, None)
    leaving = what_leaves(machine, "rows", y, groups)
    shares = leaving.row_means(leaving.part_shares(FOLDS, machine, groups=True), np.zeros((48, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the groups do not tell the classes apart
        search = BayesSVCSearch(model, {"C": [1.0]}).fit(X, y, groups=groups)
    own = shares[:, shares[groups == 3][0].argmax()] > 0
    assert not own[groups == 7].any()
    best = search.best_estimator_
    of_all = expit(best.link_.log_odds(best.left_out_decision_values_))
    np.testing.assert_allclose(search.left_out_proba_[own, 1], of_all[own], rtol=1e-12)
    assert not np.allclose(search.left_out_proba_[~own, 1], of_all[~own])


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
    X, y = noisy(n=120)
    # It needs more neighbours than two thirds of the rows.
    search = BayesSVCSearch(BayesSVC(link=KNeighborsClassifier(100)), {"C": [1.0]})
    with pytest.warns(UserWarning, match="by the link fitted to all rows.* n_neighbors"):
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


@pytest.mark.parametrize(
    ("options", "seed"), [({}, 9), ({"combine": "stack"}, 9), ({"criterion": "evidence"}, 48)]
)
def test_no_probability_told_of_weighted_rows_is_above_one(options, seed):
    random = np.random.default_rng(seed)
    X = random.standard_cauchy(size=(60, 1))
    y = (X[:, 0] + 0.3 * random.normal(size=60) > 0).astype(int)
    search = BayesSVCSearch(BayesSVC(kernel="linear"), {"C": [0.001, 0.1, 10.0]}, **options)
    search.fit(X, y, sample_weight=random.integers(1, 1000, 60))
    assert search.left_out_proba_.max() <= 1.0
    np.testing.assert_allclose(search.left_out_proba_.sum(axis=1), 1.0, rtol=1e-15)


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


@pytest.mark.filterwarnings("ignore:No setting tells the classes apart")  # some are clipped to 0
def test_the_log_loss_told_has_the_bound_of_the_criterion():
    random = np.random.default_rng(4)
    y = np.arange(30) % 3
    X = random.normal(size=(30, 3)) + 1.2 * random.normal(size=(3, 3))[y]
    search = BayesSVCSearch(BayesSVC(link="clipped"), {"C": [10.0]}).fit(X, y)
    own = search.left_out_proba_[np.arange(30), y]
    assert search.left_out_log_loss_ == pytest.approx(-np.log(np.maximum(own, np.finfo(float).eps)).mean())


@pytest.mark.parametrize(("n", "few"), [(99, True), (100, False)])
def test_of_few_rows_a_fit_tells_what_links_without_the_fold_say(n, few):
    X, y = noisy(n=n)
    model = BayesSVC(link="sigmoid").fit(X, y)
    told = np.exp(model._probabilities.logs(model.left_out_decision_values_, None))
    if few:
        machine = model._machine(X, y, None)
        leaving = strata(machine)
        shares = leaving.row_means(leaving.part_shares(10, machine), np.zeros((n, 10)))
        told = without_folds(model, y, shares, by_sigmoid())
    np.testing.assert_allclose(model.left_out_proba_, told, atol=1e-9)
    assert model.left_out_.error == np.mean(model.classes_[model.left_out_proba_.argmax(axis=1)] != y)
    # Weights count rows.
    repeated = BayesSVC(link="sigmoid").fit(np.append(X[1:], X[1:2], axis=0), np.append(y[1:], y[1]))
    weighted = BayesSVC(link="sigmoid").fit(X[1:], y[1:], sample_weight=np.append(2.0, np.ones(n - 2)))
    np.testing.assert_allclose(weighted.left_out_proba_, repeated.left_out_proba_[:-1], atol=1e-9)
