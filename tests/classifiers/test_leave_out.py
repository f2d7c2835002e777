"""What leaves when a BayesSVC is fitted, and all that is read off it."""

import warnings
from importlib import import_module

import numpy as np
import pytest
from scipy.special import expit
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from _data import noisy, three_classes
from bayes_svm import BayesSVC, RejectOptionClassifier, leave_one_out
from bayes_svm.leave_one_out.cases import what_leaves
from bayes_svm.probability.link import Sample
from bayes_svm.probability.links import kind_of
from bayes_svm.selection.search import BayesSVCSearch

X, Y = noisy(n=60)
GROUPS = np.arange(60) // 3


def test_rows_are_those_of_leave_one_out():
    model = BayesSVC(C=2.0, leave_out="rows").fit(X, Y)
    np.testing.assert_allclose(
        model.left_out_decision_values_, leave_one_out(SVC(C=2.0), X, Y).decision_values, atol=1e-8
    )


@pytest.mark.parametrize("cv", [KFold(6), list(StratifiedKFold(4).split(X, Y))], ids=["splitter", "list"])
def test_folds_are_those_of_leave_one_out(cv):
    model = BayesSVC(C=2.0, leave_out=cv).fit(X, Y)
    np.testing.assert_allclose(
        model.left_out_decision_values_, leave_one_out(SVC(C=2.0), X, Y, cv=cv).decision_values, atol=1e-8
    )


def test_groups_go_to_a_splitter():
    model = BayesSVC(leave_out=GroupKFold(5)).fit(X, Y, groups=GROUPS)
    expected = leave_one_out(SVC(), X, Y, cv=GroupKFold(5), groups=GROUPS)
    np.testing.assert_allclose(model.left_out_decision_values_, expected.decision_values, atol=1e-8)


def test_leave_one_out_of_a_bayes_svc_still_leaves_single_rows_out():
    by_strata, by_rows = BayesSVC(), BayesSVC(leave_out="rows").fit(X, Y)
    np.testing.assert_allclose(
        leave_one_out(by_strata, X, Y).decision_values, by_rows.left_out_decision_values_, atol=1e-8
    )


@pytest.mark.parametrize("leave_out", ["row", 1, 0, 2.5, None, True])
def test_what_cannot_be_left_out_is_refused(leave_out):
    with pytest.raises(ValueError, match="leave_out"):
        BayesSVC(leave_out=leave_out).fit(X, Y)


def test_more_strata_than_a_class_has_members():
    few = np.where(np.arange(60) < 5, 1, -1)
    with pytest.warns(UserWarning, match="leave_out=8 is more than the 5 members of class 1"):
        model = BayesSVC(leave_out=8).fit(X, few)
    assert np.isfinite(model.left_out_decision_values_).all()
    with pytest.raises(ValueError, match="leave_out=56 is more than the 55 members of the largest class"):
        BayesSVC(leave_out=56).fit(X, few)


def test_more_strata_than_groups_are_refused():
    with pytest.raises(ValueError, match="leave_out=21 asks for more strata than there are groups: 20"):
        BayesSVC(leave_out=21).fit(X, Y, groups=GROUPS)


@pytest.mark.parametrize("several", [False, True])
def test_the_result_says_what_would_have_been_predicted(several):
    data, y = three_classes() if several else (X, Y)
    model = BayesSVC(C=2.0).fit(data, y)
    answers = model.classes_[model.left_out_proba_.argmax(axis=1)]
    np.testing.assert_array_equal(model.left_out_.predictions, answers)
    assert model.left_out_.error == np.mean(answers != y)
    np.testing.assert_array_equal(model.left_out_.decision_values, model.left_out_decision_values_)
    assert -model.left_out_.score("neg_log_loss") == pytest.approx(log_loss(y, model.left_out_proba_))
    assert model.left_out_.score("accuracy") == pytest.approx(1 - model.left_out_.error)
    if several:
        assert 0.5 < model.left_out_.score("roc_auc_ovr") <= 1


def test_without_probabilities_their_score_is_an_error():
    with pytest.raises(AttributeError, match="predict_proba"):
        leave_one_out(SVC(), X, Y).score("neg_log_loss")


@pytest.fixture(scope="module")
def twins():
    """Groups of five rows, nearly alike, whose label is that of the group, by chance."""
    random = np.random.default_rng(1)
    groups = np.repeat(np.arange(40), 5)
    y = random.permutation(np.arange(40) % 2)[groups]
    mixed = random.permutation(200)
    data = random.normal(size=(40, 3))[groups] + 0.05 * random.normal(size=(200, 3))
    return data[mixed], y[mixed], groups[mixed]


def quiet(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # values that do not separate the classes
        return call()


def test_groups_pass_through_pipelines_searches_and_cross_validation(twins):
    data, y, groups = twins
    with config_context(enable_metadata_routing=True):
        svc = BayesSVC(C=10.0, gamma=1.0).set_fit_request(groups=True)
        piped = quiet(lambda: make_pipeline(StandardScaler(), svc).fit(data, y, groups=groups))
        scores = quiet(
            lambda: cross_validate(
                svc, data, y, cv=GroupKFold(4), params={"groups": groups}, scoring="accuracy"
            )
        )
    assert piped[-1].left_out_.error > 0.3
    assert 0.3 < scores["test_score"].mean() < 0.7


def test_a_search_judges_by_groups(twins):
    data, y, groups = twins
    grid = {"C": [1.0, 100.0], "gamma": [0.01, 1.0]}
    by_row = BayesSVCSearch(BayesSVC(), grid, criterion="left_out_error").fit(data, y)
    by_group = quiet(
        lambda: BayesSVCSearch(BayesSVC(), grid, criterion="left_out_error").fit(data, y, groups=groups)
    )
    assert by_row.best_score_ > -0.1
    assert by_group.best_score_ < -0.3


@pytest.mark.parametrize("cv", [None, 0.25, 4])
def test_rejection_keeps_groups_whole(twins, cv):
    data, y, groups = twins
    reject = RejectOptionClassifier(BayesSVC(C=10.0, gamma=1.0), target_coverage=1.0, cv=cv)
    by_row = reject.fit(data, y).selective_risk_
    by_group = quiet(lambda: reject.fit(data, y, groups=groups)).selective_risk_
    assert by_row < 0.1
    assert by_group > 0.25


def test_probabilities_of_groups_are_those_of_new_groups(twins):
    """The sigmoid that sees twins claims what no new group bears out."""
    data, y, groups = twins
    told = [
        -quiet(lambda g=g: BayesSVC(C=10.0, gamma=1.0).fit(data, y, groups=g)).left_out_.score("neg_log_loss")
        for g in (None, groups)
    ]
    assert told[0] < 0.3
    assert told[1] > 0.6


def patients(random, number, rows):
    """Patients of one class each, whose rows are alike."""
    label = np.arange(number) % 2
    each = random.normal(size=(number, 4)) + 1.6 * label[:, None]
    data = np.repeat(each, rows, axis=0) + random.normal(size=(number * rows, 4))
    return data, np.repeat(label, rows), np.repeat(np.arange(number), rows)


def test_probabilities_of_few_patients_are_those_of_new_ones():
    """One link read all of them, and told what it had read."""
    losses = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        data, y, groups = patients(random, 8, 10)
        new, of_new, _ = patients(random, 100, 5)
        model = quiet(lambda data=data, y=y, groups=groups: BayesSVC().fit(data, y, groups=groups))
        told, one_link = (
            model.left_out_proba_[:, 1],
            expit(model.link_.log_odds(model.left_out_decision_values_)),
        )
        losses.append([log_loss(y, told), log_loss(y, one_link), log_loss(of_new, model.predict_proba(new))])
    told, one_link, true = np.mean(losses, axis=0)
    assert 0.85 < told / true < 1.1
    assert one_link / true < 0.8


@pytest.mark.parametrize(("number", "leave_out", "most"), [(4, "strata", 1.25), (8, "rows", 1.1)])
def test_what_is_told_of_groups_of_one_class_is_not_against_them(number, leave_out, most):
    """Without a group of a class the other is more frequent: of noise, that would tell the wrong class."""
    losses = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        data, y, groups = patients(random, number, 10)
        data = random.normal(size=data.shape)
        model = quiet(
            lambda data=data, y=y, groups=groups: BayesSVC(leave_out=leave_out).fit(data, y, groups=groups)
        )
        new = model.predict_proba(random.normal(size=data.shape))
        losses.append([log_loss(y, model.left_out_proba_), log_loss(y, new)])
    told, true = np.mean(losses, axis=0)
    assert 0.9 < told / true < most


@pytest.mark.parametrize("leave_out", ["strata", "rows", 4])
@pytest.mark.parametrize("holders", [2, 3, 4])
def test_each_fold_of_groups_leaves_some_of_a_class_that_few_of_them_hold(holders, leave_out):
    random = np.random.default_rng(holders)
    groups, data = np.repeat(np.arange(12), 10), random.normal(size=(120, 3))
    y = np.isin(groups, random.choice(12, holders, replace=False)) & (np.arange(120) % 2 > 0)
    machine = BayesSVC()._machine(data, y, None)
    leaving = what_leaves(machine, leave_out, y, groups)
    shares = leaving.part_shares(10, machine, groups=True)
    cases = len(np.unique(leaving.case[machine.y[leaving.part_row] == 1]))
    assert shares.shape[1] == cases == min(holders, len(leaving.times))
    np.testing.assert_array_equal(shares.sum(axis=1), 1.0)
    of_class = shares.T @ (machine.y[leaving.part_row] == 1)
    assert of_class.min() == of_class.max()


@pytest.mark.parametrize("leave_out", ["strata", "rows", GroupKFold(4)])
def test_the_link_of_a_group_is_fitted_to_others(leave_out):
    """The links without each fold of the strata, fitted one by one to what they are to read."""
    data, y, groups = patients(np.random.default_rng(5), 10, 4)
    model = BayesSVC(link="dumais", leave_out=leave_out).fit(data, y, groups=groups)
    values = model.left_out_decision_values_
    machine = model._machine(data, y, None)
    leaving = what_leaves(machine, leave_out, y, groups)
    number = {"strata": 5, "rows": 5}.get(str(leave_out), 2)
    shares = leaving.row_means(leaving.part_shares(10, machine, groups=True), np.zeros((len(y), number)))
    for share in shares.T:
        own = share == 1
        others = Sample(values[~own], y[~own] == 1, np.ones(int((~own).sum())))
        told = expit(kind_of("dumais").fit(others, 1.0).log_odds(values[own]))
        np.testing.assert_allclose(model.left_out_proba_[own, 1], told, rtol=1e-9)


def test_a_link_that_is_not_fitted_reads_no_groups():
    data, y, groups = patients(np.random.default_rng(5), 10, 4)
    model = BayesSVC(link="hinge").fit(data, y, groups=groups)
    told = expit(model.link_.log_odds(model.left_out_decision_values_))
    np.testing.assert_allclose(model.left_out_proba_[:, 1], told, rtol=1e-12)


class NeedsThirty(RegressorMixin, BaseEstimator):
    """A calibrator that cannot be fitted to fewer rows."""

    def fit(self, X, y):
        if len(y) < 30:
            raise ValueError("too few rows")
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_a_calibrator_that_cannot_be_fitted_to_the_other_groups_is_told():
    data, y, groups = (one[1:] for one in patients(np.random.default_rng(5), 8, 4))
    with pytest.warns(UserWarning, match=r"without a fold of them link=NeedsThirty\(\) cannot.*too few rows"):
        model = BayesSVC(link=NeedsThirty()).fit(data, y, groups=groups)
    np.testing.assert_allclose(model.left_out_proba_[:, 1], 16 / 31)


def test_a_search_warns_of_such_a_calibrator_for_what_it_keeps_only():
    data, y, groups = (one[1:] for one in patients(np.random.default_rng(5), 8, 4))
    search = BayesSVCSearch(BayesSVC(link=NeedsThirty()), {"C": [0.1, 1.0, 10.0]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(data, y, groups=groups)
    texts = [str(one.message) for one in caught if "link=NeedsThirty()" in str(one.message)]
    assert len(set(texts)) == 1
    assert len(texts) == 2  # of the search, and of its best estimator


@pytest.mark.parametrize("combine", ["best", "stack"])
def test_the_models_of_a_search_tell_of_groups_what_they_would_alone(combine):
    data, y, groups = patients(np.random.default_rng(5), 10, 4)
    search = BayesSVCSearch(BayesSVC(), {"C": [0.1, 1.0, 10.0]}, combine=combine)
    quiet(lambda: search.fit(data, y, groups=groups))
    for model in (*search.estimators_, search.best_estimator_):
        alone = clone(model).fit(data, y, groups=groups)
        np.testing.assert_allclose(model.left_out_proba_, alone.left_out_proba_, atol=1e-9)
        np.testing.assert_array_equal(model.left_out_.predicted, alone.left_out_.predicted)


def test_intervals_of_a_search_of_one_setting_are_those_of_its_model():
    data, y, groups = patients(np.random.default_rng(5), 10, 4)
    search = quiet(lambda: BayesSVCSearch(BayesSVC(), {"C": [1.0]}).fit(data, y, groups=groups))
    alone = BayesSVC().fit(data, y, groups=groups)
    np.testing.assert_allclose(search.predict_interval(2 * data), alone.predict_interval(2 * data), atol=1e-9)


def test_wide_data_have_probabilities_that_tell_something():
    """Few rows, many columns: single rows left out know less than nothing."""
    loss = []
    for seed in range(3):
        random = np.random.default_rng(seed)
        y = np.arange(460) % 2
        wide = random.normal(size=(460, 2000))
        wide[:, :30] += 0.7 * (y[:, None] - 0.5)
        test = slice(60, None)
        together, alone = (
            quiet(lambda o=o, data=(wide[:60], y[:60]): BayesSVC(leave_out=o).fit(*data))
            for o in ("strata", "rows")
        )
        loss.append([log_loss(y[test], model.predict_proba(wide[test])) for model in (together, alone)])
    assert np.mean(loss, axis=0)[0] < 0.62
    assert np.mean(loss, axis=0)[1] > 0.66


@pytest.mark.parametrize("link", ["moderated", "sigmoid", "kwok"])
def test_a_row_of_weight_zero_in_a_group_is_absent_from_it(twins, link):
    data, y, groups = twins
    weight = np.ones(len(y))
    weight[::7] = 0.0
    with_it = quiet(lambda: BayesSVC(link=link).fit(data, y, sample_weight=weight, groups=groups))
    kept = weight > 0
    without = quiet(lambda: BayesSVC(link=link, gamma=with_it.kernel_.gamma).fit(
        data[kept], y[kept], groups=groups[kept]
    ))  # fmt: skip
    np.testing.assert_allclose(
        with_it.left_out_decision_values_[kept], without.left_out_decision_values_, atol=1e-8
    )
    np.testing.assert_allclose(with_it.predict_proba(data), without.predict_proba(data), atol=1e-8)
    assert np.isfinite(with_it.left_out_proba_).all()


@pytest.mark.parametrize("leave_out", ["strata", "rows", 3, GroupKFold(3)])
@pytest.mark.parametrize("link", ["moderated", "sigmoid"])
def test_a_class_that_lives_in_one_group_is_named(twins, leave_out, link):
    data, y, groups = twins
    groups = np.where(y == 1, groups, -1)
    with pytest.raises(ValueError, match="Class 0 lives in one group only"):
        BayesSVC(leave_out=leave_out, link=link).fit(data, y, groups=groups)


def test_rejection_finds_the_groups_of_a_pipelines_step(twins):
    data, y, groups = twins
    model = make_pipeline(StandardScaler(), BayesSVC(C=10.0, gamma=1.0))
    reject = RejectOptionClassifier(model, target_coverage=1.0, cv=0.25)
    assert quiet(lambda: reject.fit(data, y, bayessvc__groups=groups)).selective_risk_ > 0.25


def test_rejection_refuses_a_splitter_that_cuts_groups(twins):
    data, y, groups = twins
    reject = RejectOptionClassifier(BayesSVC(), target_coverage=0.8, cv=StratifiedKFold(4))
    with pytest.raises(ValueError, match="keeps groups whole, such as StratifiedGroupKFold"):
        quiet(lambda: reject.fit(data, y, groups=groups))


def test_the_order_of_rows_on_a_grid_changes_nothing():
    """More points near the margin than the sketch of the posterior keeps, many with the same neighbours."""
    grid = np.array(np.meshgrid(*[np.arange(24.0)] * 2)).reshape(2, -1).T
    random = np.random.default_rng(0)
    y, order, far = random.permutation(576) % 2, random.permutation(576), random.random((100, 2)) * 50 - 12
    one, other = (
        quiet(lambda rows=rows: BayesSVC(gamma=1.0).fit(grid[rows], y[rows]))
        for rows in (np.arange(576), order)
    )
    np.testing.assert_allclose(one.predict_proba(far), other.predict_proba(far), atol=1e-9)


def test_rare_rows_of_another_weight_leave_little_by_little_in_bounded_memory(monkeypatch):
    """Every stratum takes a copy of every common row along: their rates are added up in parts."""
    weight = np.where(Y[0] == Y, 1.0, 1000.0)
    whole = BayesSVC().fit(X, Y, sample_weight=weight).left_out_decision_values_
    monkeypatch.setattr(import_module("bayes_svm.leave_one_out.path"), "DIRECTION_BYTES", 1000)
    np.testing.assert_array_equal(BayesSVC().fit(X, Y, sample_weight=weight).left_out_decision_values_, whole)


@pytest.mark.filterwarnings("ignore:The decision values do not separate")
def test_equal_rows_of_several_groups_have_one_reading_in_whatever_order_they_come():
    random = np.random.default_rng(0)
    for _ in range(20):
        X = np.round(random.normal(size=(24, 1)))
        y, groups = (X[:, 0] + random.normal(size=24) > 0).astype(int), random.integers(0, 9, size=24)
        y[:4], groups[:4] = [0, 1, 0, 1], [0, 1, 2, 3]
        rows = random.permutation(24)
        clf = BayesSVC(C=0.1, gamma=2.0, leave_out=5)
        one, other = (
            clone(clf).fit(X, y, groups=groups),
            clone(clf).fit(X[rows], y[rows], groups=groups[rows]),
        )
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)
        np.testing.assert_allclose(one.left_out_proba_[rows], other.left_out_proba_, atol=1e-9)
