"""Pairwise coupling against its definition, and the meta-estimator around it."""

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from _data import three_classes
from bayes_svm import BayesSVC, BayesSVCSearch, PairwiseCouplingClassifier, RejectOptionClassifier
from bayes_svm.classifiers import pairwise_coupling as module
from bayes_svm.classifiers.pairwise_coupling import LEAST_PROBABILITY as LEAST
from bayes_svm.classifiers.pairwise_coupling import couple

X, Y = three_classes(60)


@pytest.mark.filterwarnings("ignore:The decision values do not separate")  # some checks' labels are noise
@parametrize_with_checks([PairwiseCouplingClassifier(), PairwiseCouplingClassifier(LogisticRegression())])
def test_check_estimator(estimator, check):
    check(estimator)


def ratios(first, n_classes):
    """r[i, j] of one point, from the probabilities of the first of each pair."""
    r = np.zeros((n_classes, n_classes))
    for (i, j), probability in zip(combinations(range(n_classes), 2), first, strict=True):
        r[i, j], r[j, i] = probability, 1 - probability
    return r


def objective(p, r):
    return sum((r[j, i] * p[i] - r[i, j] * p[j]) ** 2 for i in range(len(p)) for j in range(len(p)) if i != j)


def iterated(r):
    """LIBSVM's iteration (Wu, Lin and Weng, algorithm 2), plainly."""
    n = len(r)
    Q = -r.T * r
    for i in range(n):
        Q[i, i] = sum(r[s, i] ** 2 for s in range(n) if s != i)
    p = np.full(n, 1 / n)
    for _ in range(100_000):
        if np.max(np.abs(Q @ p - p @ Q @ p)) < 1e-14:
            break
        for t in range(n):
            p[t] = (-(Q[t] @ p - Q[t, t] * p[t]) + p @ Q @ p) / Q[t, t]
            p /= p.sum()
    return p


@pytest.mark.parametrize("n_classes", [3, 4, 7])
def test_coupling_is_the_minimum_by_two_other_ways(n_classes):
    random = np.random.default_rng(n_classes)
    first = random.uniform(0.02, 0.98, (6, n_classes * (n_classes - 1) // 2))
    found = couple(first, n_classes)
    for p, row in zip(found, first, strict=True):
        r = ratios(row, n_classes)
        np.testing.assert_allclose(p, iterated(r), rtol=0, atol=1e-8)
        slow = minimize(
            objective,
            np.full(n_classes, 1 / n_classes),
            (r,),
            method="SLSQP",
            bounds=[(0, 1)] * n_classes,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        assert objective(p, r) <= slow.fun + 1e-12
        np.testing.assert_allclose(p, slow.x, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3, 5, 20])
def test_consistent_pairs_give_their_classes_back(n_classes):
    p = np.random.default_rng(0).dirichlet(np.full(n_classes, 0.7), 30)
    p = (p + 1e-4) / (p + 1e-4).sum(axis=1, keepdims=True)
    i, j = np.triu_indices(n_classes, 1)
    np.testing.assert_allclose(couple(p[:, i] / (p[:, i] + p[:, j]), n_classes), p, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [3, 4, 10, 30])
def test_extremes_stay_probabilities(n_classes):
    shape = (200, n_classes * (n_classes - 1) // 2)
    random = np.random.default_rng(n_classes)
    certain = random.integers(0, 2, shape).astype(float)
    some = np.where(random.random(shape) < 0.5, certain, random.random(shape))
    # The same class wins each of its pairs, the next each of its others, and so on.
    ordered = np.ones((1, shape[1]))
    for first in (certain, some, ordered, 1 - ordered):
        p = couple(first, n_classes)
        assert np.isfinite(p).all()
        assert (p > 0).all()
        assert (p < 1).all()
        np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(couple(ordered, n_classes).argmax(axis=1), 0)
    np.testing.assert_array_equal(couple(ordered, n_classes), couple(ordered - LEAST / 2, n_classes))


def test_rare_classes_are_exact_to_their_last_digits():
    """Classes of probability 1e-7: beside mpmath, at whose precision nothing is lost."""
    mpmath = pytest.importorskip("mpmath")
    first = np.array([[1 - LEAST, 1 - LEAST, 0.3], [LEAST, 0.4, 1 - LEAST], [LEAST, LEAST, LEAST]])
    for row, p in zip(first, couple(first, 3), strict=True):
        with mpmath.workdps(50):
            r = mpmath.matrix(3, 3)
            for (i, j), value in zip(combinations(range(3), 2), row, strict=True):
                r[i, j], r[j, i] = mpmath.mpf(float(value)), 1 - mpmath.mpf(float(value))
            system = mpmath.ones(4)
            for i in range(3):
                for j in range(3):
                    system[i, j] = -r[j, i] * r[i, j]
                system[i, i] = sum(r[s, i] ** 2 for s in range(3) if s != i)
            system[3, 3] = 0
            exact = mpmath.lu_solve(system, mpmath.matrix([0, 0, 0, 1]))
            np.testing.assert_allclose(p, [float(exact[i]) for i in range(3)], rtol=1e-8)


def test_blocks_do_not_matter(monkeypatch):
    first = np.random.default_rng(1).random((50, 6))
    whole = couple(first, 4)
    monkeypatch.setattr(module, "BLOCK_BYTES", 1)
    np.testing.assert_array_equal(couple(first, 4), whole)


def test_two_classes_have_the_estimators_own_probabilities():
    two = Y < 2
    model = PairwiseCouplingClassifier(BayesSVC()).fit(X[two], Y[two])
    own = BayesSVC().fit(X[two], Y[two])
    np.testing.assert_array_equal(model.predict_proba(X), own.predict_proba(X))
    np.testing.assert_array_equal(model.left_out_proba_, own.left_out_proba_)
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X) == 1)
    certain = PairwiseCouplingClassifier(LogisticRegression()).fit(X[two], Y[two])
    assert np.isfinite(certain.decision_function(1e6 * X)).all()


def test_each_pair_is_fitted_to_its_classes_alone():
    names = np.array(["pear", "apple", "fig"])[Y]
    model = PairwiseCouplingClassifier(LogisticRegression()).fit(X, names)
    assert model.classes_.tolist() == ["apple", "fig", "pear"]
    proba = np.empty((len(X), 3))
    for k, (a, b) in enumerate(combinations(model.classes_, 2)):
        pair = np.isin(names, [a, b])
        own = LogisticRegression().fit(X[pair], names[pair])
        assert model.estimators_[k].classes_.tolist() == [a, b]
        proba[:, k] = own.predict_proba(X)[:, 0]
    np.testing.assert_array_equal(model.predict_proba(X), couple(proba, 3))
    assert np.mean(model.predict(X) == names) > 0.6
    values = model.decision_function(X)
    np.testing.assert_allclose(1 / (1 + np.exp(-values)), model.predict_proba(X))
    assert not hasattr(model, "left_out_proba_")


def test_leave_one_out_is_training_without_the_row():
    """With nothing fitted to the decision values, exactly; the slow way is to train it all again."""
    base = PairwiseCouplingClassifier(BayesSVC(C=2.0, gamma=0.5, link="hinge", leave_out="rows"))
    X, y = three_classes(24, seed=3)
    found = base.fit(X, y).left_out_proba_
    for row in range(len(X)):
        others = np.arange(len(X)) != row
        slow = clone(base).fit(X[others], y[others]).predict_proba(X[[row]])[0]
        np.testing.assert_allclose(found[row], slow, rtol=0, atol=1e-8)


def test_leave_one_out_with_the_default_link_is_close_to_training_without_the_row():
    model = PairwiseCouplingClassifier(BayesSVC(gamma=0.5)).fit(X, Y)
    slow = np.empty_like(model.left_out_proba_)
    for row in range(len(X)):
        others = np.arange(len(X)) != row
        slow[row] = clone(model).fit(X[others], Y[others]).predict_proba(X[[row]])[0]
    trained = np.abs(model.predict_proba(X) - slow).mean()
    assert np.abs(model.left_out_proba_ - slow).mean() < 0.02 < trained


def test_rejection_reads_leave_one_out_off_one_fit():
    fits = []

    class Counted(BayesSVC):
        def fit(self, X, y, sample_weight=None):
            fits.append(len(y))
            return super().fit(X, y, sample_weight)

    model = RejectOptionClassifier(PairwiseCouplingClassifier(Counted()), target_coverage=0.8).fit(X, Y)
    assert fits == [40, 40, 40]
    assert model.fitted_on_ == "left-out"
    proba = model.estimator_.left_out_proba_
    accepted = proba.max(axis=1) >= model.threshold_
    assert model.coverage_ == accepted.mean() >= 0.8
    assert model.selective_risk_ == pytest.approx(np.mean(proba.argmax(axis=1)[accepted] != Y[accepted]))
    assert set(model.predict(X).tolist()) == {-1, 0, 1, 2}


@pytest.mark.parametrize(
    "inner",
    [make_pipeline(StandardScaler(), BayesSVC()), BayesSVCSearch(BayesSVC(), {"C": [1.0, 3.0]})],
)
def test_leave_one_out_of_other_estimators_that_have_it(inner):
    model = PairwiseCouplingClassifier(inner).fit(X, Y)
    assert model.left_out_proba_.shape == (60, 3)
    model.set_params(estimator=LogisticRegression()).fit(X, Y)
    assert not hasattr(model, "left_out_proba_")


def test_weights_are_repeated_rows_and_zero_is_absent():
    weight = np.arange(len(Y)) % 4
    base = PairwiseCouplingClassifier(BayesSVC(gamma=0.5))
    model = clone(base).fit(X, Y, sample_weight=weight)
    repeated = clone(base).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    np.testing.assert_allclose(model.predict_proba(X), repeated.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(model.left_out_proba_[weight == 0], model.predict_proba(X[weight == 0]))
    np.testing.assert_allclose(
        np.repeat(model.left_out_proba_, weight, axis=0), repeated.left_out_proba_, rtol=1e-6, atol=1e-9
    )
    fewer = clone(base).fit(X, Y, sample_weight=(Y != 1).astype(float))
    assert fewer.classes_.tolist() == [0, 2]
    np.testing.assert_array_equal(
        fewer.predict_proba(X), clone(base).fit(X[Y != 1], Y[Y != 1]).predict_proba(X)
    )


def test_weights_where_the_estimator_takes_none():
    piped = make_pipeline(StandardScaler(), LogisticRegression())
    weight = np.ones(len(Y))
    with pytest.raises(ValueError, match="takes no sample_weight"):
        PairwiseCouplingClassifier(piped).fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("piped", [False, True])
def test_class_weights_of_some_classes_go_to_every_pair(piped):
    X, y = three_classes()
    y = np.array(["a", "b", "c"])[y]
    found = []
    for weights in ({"b": 5.0}, {"a": 1.0, "b": 5.0, "c": 1.0}):
        model = BayesSVC(class_weight=weights)
        estimator = make_pipeline(StandardScaler(), model) if piped else model
        coupled = PairwiseCouplingClassifier(estimator).fit(X, y)
        found.append(coupled.predict_proba(X))
        assert model.class_weight is weights
        held_out = RejectOptionClassifier(model, target_coverage=0.8, cv=0.3).fit(X, y).estimator_
        assert held_out.class_weight == weights  # as all classes that it names were seen
    np.testing.assert_array_equal(*found)
    with pytest.raises(ValueError, match=r"classes that y does not hold: \['B'\]"):
        PairwiseCouplingClassifier(BayesSVC(class_weight={"B": 5.0})).fit(X, y)


def test_class_weights_of_all_classes_go_to_every_pair():
    X, y = three_classes(60)
    weighted = PairwiseCouplingClassifier(BayesSVC(class_weight={0: 1.0, 1: 5.0, 2: 1.0})).fit(X, y)
    one = BayesSVC(class_weight={0: 1.0, 1: 5.0}).fit(X[y < 2], y[y < 2])
    np.testing.assert_allclose(weighted.estimators_[0].predict_proba(X), one.predict_proba(X))


def test_metadata_is_routed():
    weight = np.arange(len(Y)) % 3 + 1.0
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        model = PairwiseCouplingClassifier(inner).set_fit_request(sample_weight=True)
        model.fit(X, Y, sample_weight=weight)
        outer = RejectOptionClassifier(model, threshold=0.5).set_fit_request(sample_weight=True)
        outer.fit(X, Y, sample_weight=weight)
    pair = Y < 2
    direct = LogisticRegression().fit(X[pair], Y[pair], sample_weight=weight[pair])
    np.testing.assert_array_equal(model.estimators_[0].coef_, direct.coef_)
    np.testing.assert_array_equal(outer.estimator_.estimators_[0].coef_, direct.coef_)


def test_precomputed_kernels_are_cut_on_both_sides():
    iris, species = load_iris(return_X_y=True)
    base = BayesSVC(kernel="linear", link="sigmoid", leave_out="rows")
    linear = PairwiseCouplingClassifier(base).fit(iris, species)
    gram = iris @ iris.T
    pre = PairwiseCouplingClassifier(clone(base).set_params(kernel="precomputed")).fit(gram, species)
    np.testing.assert_allclose(pre.predict_proba(gram[:30]), linear.predict_proba(iris[:30]), atol=1e-8)
    np.testing.assert_allclose(pre.left_out_proba_, linear.left_out_proba_, atol=1e-8)
    assert pre.n_features_in_ == 150
    with pytest.raises(ValueError, match="149 features"):
        pre.predict_proba(gram[:, 1:])
    with pytest.raises(ValueError, match="square"):
        clone(pre).fit(gram[:, 1:], species)


def test_data_frames_and_sparse_matrices():
    plain = PairwiseCouplingClassifier(BayesSVC(gamma=0.5)).fit(X, Y)
    frame = pd.DataFrame(X, columns=["a", "b"])
    framed = clone(plain).fit(frame, pd.Series(Y))
    assert framed.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(framed.predict_proba(frame), plain.predict_proba(X))
    with pytest.raises(ValueError, match="feature names"):
        framed.predict_proba(frame[["b", "a"]])
    assert not hasattr(framed.fit(X, Y), "feature_names_in_")
    for kind in (sparse.csr_matrix, sparse.coo_array):
        thin = clone(plain).fit(kind(X), Y)
        np.testing.assert_allclose(thin.predict_proba(kind(X)), plain.predict_proba(X), atol=1e-8)
        np.testing.assert_allclose(thin.left_out_proba_, plain.left_out_proba_, atol=1e-8)


def test_same_at_any_number_of_jobs():
    a, b = (PairwiseCouplingClassifier(n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    np.testing.assert_array_equal(a.left_out_proba_, b.left_out_proba_)
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(b)).predict(X), a.predict(X))


@pytest.mark.parametrize(
    ("inner", "y", "message"),
    [
        (BayesSVC(), np.zeros(60), "one class only"),
        (BayesSVC(), np.where(np.arange(60) == 7, 5, Y), "has 1 member"),
        (LinearSVC(), Y, "LinearSVC has no predict_proba"),
        ("svc", Y, "estimator"),
    ],
)
def test_what_cannot_be_is_refused(inner, y, message):
    with pytest.raises(ValueError, match=message):
        PairwiseCouplingClassifier(inner).fit(X, y)


def test_memory_is_counted_first(monkeypatch):
    model = PairwiseCouplingClassifier(LogisticRegression()).fit(X, Y)
    monkeypatch.setattr("bayes_svm.utils.memory.ALWAYS_THERE", 0)
    monkeypatch.setattr("bayes_svm.utils.memory.available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match="3 classes for 60 points"):
        model.predict_proba(X)


@pytest.mark.parametrize("within", [lambda svc: svc, lambda svc: make_pipeline(StandardScaler(), svc)])
def test_all_rows_of_a_pair_leave_whatever_the_size_of_a_sample(within):
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 520)
    X = 4.0 * random.normal(size=(4, 3))[y] + random.normal(size=(len(y), 3))
    model = PairwiseCouplingClassifier(within(BayesSVC(leave_out_size=1, kernel="linear"))).fit(X, y)
    assert np.isfinite(model.left_out_proba_).all()
    # The estimator that was given stays as it is.
    assert 1 in [size for name, size in model.get_params().items() if name.endswith("leave_out_size")]


@pytest.mark.parametrize("name", ["groups", "sample_weight"])
def test_weights_and_groups_are_one_for_each_row(name):
    X, y = three_classes()
    some = np.ones(len(np.flatnonzero(y < 2)))  # as many as the first pair has rows
    with pytest.raises(ValueError, match=f"{name} has {len(some)} entries|inconsistent|sample_weight.shape"):
        PairwiseCouplingClassifier(BayesSVC()).fit(X, y, **{name: some})
