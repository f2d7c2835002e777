"""MultivariateSVC: predictions, errors, warnings, and scikit-learn's checks, none of which may fail."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import RepeatedKFold, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from _data import noisy, three_classes
from bayes_svm import MultivariateSVC
from bayes_svm.multivariate import quadratic


def imbalanced(n=300, seed=0):
    random = np.random.default_rng(seed)
    y = (random.random(n) < 0.1).astype(int)
    return random.normal(size=(n, 4)) + 1.2 * y[:, None], y


def test_f1_is_better_than_by_the_error():
    X, y = imbalanced()
    scores = [
        f1_score(y, MultivariateSVC(loss=loss, C=0.02).fit(X, y).predict(X)) for loss in ("f1", "error")
    ]
    assert scores[0] > scores[1]


def test_area_ranks_and_break_even_predicts_as_many_as_there_are():
    X, y = imbalanced()
    area = MultivariateSVC(loss="roc_area").fit(X, y)
    assert roc_auc_score(y, area.decision_function(X)) > 0.9
    for loss in ("roc_area", "break_even"):
        assert MultivariateSVC(loss=loss, C=0.1).fit(X, y).predict(X).sum() == y.sum()
    model = MultivariateSVC(loss="precision_at_k", k=20, C=0.1).fit(X, y)
    assert model.predict(X).sum() == model.predict_ranked(X).sum() == 20
    np.testing.assert_array_equal(model.predict(X), model.predict_ranked(X))
    assert model.predict_ranked(X[:50], k=7).sum() == 7
    with pytest.raises(ValueError, match="k=20 must be from 1 to the number of rows, 5"):
        model.predict_ranked(X[:5])


@pytest.mark.parametrize("loss", ["f1", "roc_area"])
def test_linear_and_precomputed_kernels_agree(loss):
    X, y = imbalanced(120)
    linear = MultivariateSVC(loss=loss, C=0.05, tol=1e-6).fit(X, y)
    gram = MultivariateSVC(loss=loss, C=0.05, tol=1e-6, kernel="precomputed").fit(X @ X.T, y)
    np.testing.assert_allclose(gram.decision_function(X @ X.T), linear.decision_function(X), atol=2e-3)
    named = MultivariateSVC(loss=loss, kernel="rbf", gamma=0.5).fit(X, y)
    given = MultivariateSVC(loss=loss, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5)).fit(X, y)
    np.testing.assert_allclose(named.decision_function(X), given.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_sparse_gives_what_dense_gives(form):
    X, y = imbalanced()
    X[np.abs(X) < 0.5] = 0.0
    wide = form(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    dense = MultivariateSVC(C=0.1).fit(X, y)
    np.testing.assert_allclose(MultivariateSVC(C=0.1).fit(wide, y).coef_, dense.coef_, rtol=1e-8)


def test_several_classes_and_labels():
    X, y = three_classes()
    names = np.array(["b", "a", "c"])[y]
    model = MultivariateSVC(C=0.5).fit(X, names)
    assert model.decision_function(X).shape == (60, 3)
    assert model.gap_.shape == model.n_planes_.shape == (3,)
    assert model.score(X, names) > 0.6
    with pytest.raises(ValueError, match="more than two"):
        model.predict_ranked(X)
    X, Y = make_multilabel_classification(n_samples=80, n_classes=3, random_state=0)
    several = MultivariateSVC(C=0.1, cv=3).fit(X, Y)
    for j in range(3):
        alone = MultivariateSVC(C=0.1).fit(X, Y[:, j])
        np.testing.assert_allclose(several.decision_function(X)[:, j], alone.decision_function(X))
    assert several.predict(X).shape == several.predict_proba(X).shape == Y.shape


def test_probabilities_from_folds():
    X, y = noisy(n=200)
    model = MultivariateSVC(C=0.1, cv=4).fit(X, y)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    order = np.argsort(model.decision_function(X))
    assert np.all(np.diff(probability[order, 1]) >= 0)
    assert abs(probability[:, 1].mean() - (y > 0).mean()) < 0.05
    assert not hasattr(MultivariateSVC(), "predict_proba")
    X, y = three_classes()
    np.testing.assert_allclose(MultivariateSVC(cv=3).fit(X, y).predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("cv", [5, StratifiedKFold(5)])
@pytest.mark.parametrize("loss", ["precision_at_k", "recall_at_k"])
def test_k_of_a_fold_is_its_share_of_the_weight(loss, cv):
    X, y = imbalanced()
    weight = np.r_[100.0, np.zeros(49), np.ones(250)]
    model = MultivariateSVC(loss, k=300, C=0.01, cv=cv).fit(X, y, sample_weight=weight)
    assert np.isfinite(model.predict_proba(X)).all()


def test_folds_may_repeat_rows_without_weight():
    X, y = imbalanced()
    weight = np.r_[np.zeros(10), np.ones(290)]
    halves = np.arange(10, 300, 2), np.arange(11, 300, 2)
    splits = [(np.r_[:10, one], np.r_[:10, other]) for one, other in (halves, halves[::-1])]
    found = MultivariateSVC(cv=splits).fit(X, y, sample_weight=weight)
    expected = MultivariateSVC(cv=[(a[10:], b[10:]) for a, b in splits]).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-9)


def test_a_warm_start_keeps_the_planes_of_the_same_problem_only():
    X, y = imbalanced()
    warm = MultivariateSVC(C=0.1, warm_start=True).fit(X, y)
    warm.set_params(C=0.2).fit(X, y)
    cold = MultivariateSVC(C=0.2).fit(X, y)
    assert warm.n_planes_ < cold.n_planes_
    assert warm.gap_ <= 1e-3
    other = clone(warm).fit(X, y)
    X_new, y_new = imbalanced(seed=1)
    again = other.fit(X_new, y_new)
    np.testing.assert_array_equal(again.coef_, MultivariateSVC(C=0.2).fit(X_new, y_new).coef_)


def test_weights_are_counts_and_fractions_where_they_mean_something():
    X, y = imbalanced()
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    with pytest.raises(ValueError, match="whole numbers"):
        MultivariateSVC().fit(X, y, sample_weight=weight)
    for loss in ("error", "roc_area"):
        plain, weighted = (MultivariateSVC(loss, C=0.1).fit(X, y, sample_weight=w) for w in (None, weight))
        assert np.abs(plain.coef_ - weighted.coef_).max() > 1e-4


def test_a_gap_that_is_not_reached_is_named():
    X, y = imbalanced()
    with pytest.warns(ConvergenceWarning, match="2 cutting planes left a relative gap of 1"):
        model = MultivariateSVC(max_iter=2).fit(X, y)
    assert model.gap_ > 1e-3
    assert model.n_planes_ == 2
    assert model.history_.shape == (2, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "precision_at_k"}, "k=None"),
        ({"loss": "recall_at_k", "k": 301}, "number of rows, 300; got k=301"),
        ({"loss": "recall_at_k", "k": 0}, "'k' parameter"),
        ({"loss": "f_beta", "beta": 0.0}, "'beta' parameter"),
        ({"beta": 2.0}, "use loss='f_beta'"),
        ({"loss": lambda a, b, c, d: np.where(a == 2, np.nan, 1.0) + 0 * b}, "nan for the contingency table"),
        ({"C": np.inf}, "'C' parameter"),
        ({"cv": [(np.arange(150, 300), np.arange(150))]}, "row 150 0 times: it must leave out each row once"),
        ({"cv": [(np.arange(300), np.arange(300))]}, "cv trains on rows that it leaves out, such as row 0"),
        ({"cv": RepeatedKFold(n_splits=3, n_repeats=2)}, "row 0 2 times: it must leave out each row once"),
        ({"intercept_scaling": 1e200}, "'intercept_scaling' parameter"),
    ],
)  # fmt: skip
def test_bad_parameters(options, message):
    X, y = imbalanced()
    with pytest.raises(ValueError, match=message):
        MultivariateSVC(**options).fit(X, y)


def test_bad_labels():
    X, y = imbalanced()
    with pytest.raises(ValueError, match="one class only"):
        MultivariateSVC().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"no positive rows.*for label 1"):
        MultivariateSVC().fit(X, np.column_stack([y, np.zeros(len(y), dtype=int)]))
    for no, yes in ((-1, 1), (0, 2)):
        labels = np.where(np.column_stack([y, 1 - y]) == 1, yes, no)
        with pytest.raises(ValueError, match=rf"y has columns that hold \[{no}, {yes}\]: columns of labels"):
            MultivariateSVC().fit(X, labels)


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


@pytest.mark.parametrize("loss", ["f1", "error", "roc_area", "break_even"])
@pytest.mark.parametrize(
    ("C", "kernel", "largest"),
    [(1e50, "linear", 1.0), (1e308, "rbf", 1.0), (1.0, "linear", 1e12), (1e3, "poly", 1e6)],
)
def test_a_penalty_beyond_double_precision_is_refused_and_not_solved_wrongly(loss, C, kernel, largest):
    X, y = imbalanced(n=60)
    X[:, 1] *= largest
    with pytest.raises(ValueError, match=r"C=1e?\+?\d* is too large .* Lower C, or scale the features\."):
        MultivariateSVC(loss=loss, C=C, kernel=kernel, gamma=1.0).fit(X, y)
    with pytest.raises(ValueError, match="too large"):
        MultivariateSVC(loss=loss, C=C, kernel=kernel, gamma=1.0).fit(sparse.csr_matrix(X), y)


@pytest.mark.parametrize("loss", ["f1", "error", "roc_area", "break_even"])
def test_the_largest_penalty_that_is_not_refused_gives_the_machine_of_a_large_one(loss):
    X, y = imbalanced(n=60)
    huge, large = (MultivariateSVC(loss=loss, C=C, tol=1e-4).fit(X, y) for C in (1e16, 1e10))
    assert np.isfinite(huge.coef_).all()
    measure = f1_score if loss == "f1" else roc_auc_score
    told = [
        measure(y, model.predict(X) if loss == "f1" else model.decision_function(X))
        for model in (huge, large)
    ]
    assert abs(told[0] - told[1]) < 0.01


@pytest.mark.parametrize("loss", ["roc_area", "break_even", "precision_at_k", "recall_at_k"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_weight_is_a_number_of_rows_where_the_threshold_is_too(loss, kernel):
    X = np.array([[5.0], [4.0], [3.0], [1.0], [0.0], [-1.0], [2.9]])
    y, weight = np.array([1, 1, 0, 1, 0, 0, 0]), np.array([1, 1, 2, 1, 1, 3, 0])
    rows = np.repeat(np.arange(7), weight)
    model = MultivariateSVC(loss=loss, kernel=kernel, gamma=0.3, k=3 if loss.endswith("_k") else None)
    at = np.linspace(-2, 6, 33)[:, None]
    weighted = clone(model).fit(X, y, sample_weight=weight).decision_function(at)
    repeated = clone(model).fit(X[rows], y[rows]).decision_function(at)
    np.testing.assert_allclose(weighted, repeated, atol=1e-2 if kernel == "rbf" else 1e-9)


@pytest.mark.filterwarnings("ignore:25 cutting planes left a relative gap")
def test_elements_do_not_enter_and_leave_by_rounding_over_and_over(monkeypatch):
    steps, move = [], quadratic._Simplex.move_to_best
    monkeypatch.setattr(
        quadratic._Simplex, "move_to_best", lambda face, free: steps.append(len(free)) or move(face, free)
    )
    for seed in (3, 5, 7, 9):
        random = np.random.default_rng(seed)
        X = random.normal(size=(50, 5))
        y = (5 * X[:, 0] + random.normal(size=50) > 0).astype(int)
        unequal = np.round(X) * [1e-3, 1e-4, 1e4, 1e4, 1e-2]
        weight = random.integers(0, 4, size=50)
        model = MultivariateSVC(loss="break_even", C=729, max_iter=25).fit(unequal, y, sample_weight=weight)
        assert np.isfinite(model.coef_).all()
    # They were 13,889 before the steps that gain nothing were counted, and are some 1,300.
    assert len(steps) < 4000


def test_it_ends_where_rounding_keeps_the_gap_open():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3)) * [1e4, 1.0, 1e-3]
    y = (X[:, 1] + random.normal(size=40) > 0).astype(int)
    model = MultivariateSVC(loss="roc_area", C=1e9, max_iter=100_000)
    with pytest.warns(ConvergenceWarning, match=r"^\d{3} cutting planes left .* or scale the features"):
        model.fit(X, y)


@pytest.mark.parametrize("scaling", [0.0, 1.0, 10.0])
@pytest.mark.parametrize(
    ("kernel", "made"),
    [("sigmoid", lambda X: X), ("precomputed", lambda X: -X @ X.T)],
    ids=["name", "matrix"],
)
def test_a_kernel_under_which_the_objective_is_unbounded_is_refused(kernel, made, scaling):
    X, y = imbalanced(60)
    with pytest.raises(ValueError, match=r"not positive semi-definite on the training rows.*choose another"):
        MultivariateSVC(kernel=kernel, intercept_scaling=scaling).fit(made(X), y)


def test_a_kernel_matrix_that_is_definite_up_to_rounding_is_taken():
    X, y = imbalanced(120)
    single = X.astype(np.float32)
    for gram in (X @ X.T, single @ single.T, rbf_kernel(single, gamma=0.1), np.zeros((120, 120))):
        assert np.linalg.eigvalsh(gram.astype(float))[0] < 1e-4
        assert MultivariateSVC(C=0.01, kernel="precomputed").fit(gram, y).gap_ <= 1e-3
    assert MultivariateSVC(C=0.01, kernel="precomputed", intercept_scaling=1e3).fit(X @ X.T, y).gap_ <= 1e-3


def test_rows_of_weight_zero_do_not_make_a_kernel_indefinite():
    X, y = imbalanced(60)
    gram = X @ X.T
    gram[:3] = gram[:, 3:6].T
    weight = np.where(np.arange(60) < 3, 0, 1)
    model = MultivariateSVC(C=0.1, kernel="precomputed").fit(gram, y, sample_weight=weight)
    without = MultivariateSVC(C=0.1, kernel="precomputed").fit(gram[3:, 3:], y[3:])
    np.testing.assert_allclose(model.dual_coef_[0, 3:], without.dual_coef_[0], atol=1e-8)
    assert not model.dual_coef_[0, :3].any()


def test_a_precomputed_kernel_that_is_not_symmetric_is_refused():
    X, y = imbalanced(60)
    gram = X @ X.T
    gram[0, 1] += 1e-12
    assert MultivariateSVC(C=0.1, kernel="precomputed").fit(gram, y).gap_ <= 1e-3
    gram[0, 1] += 1.0
    with pytest.raises(ValueError, match=r"kernel precomputed\(\) is not symmetric.*differ by up to 1\b"):
        MultivariateSVC(C=0.1, kernel="precomputed").fit(gram, y)


def test_a_fit_leaves_nothing_of_the_last_fit():
    X, y = imbalanced(60)
    model = MultivariateSVC(C=0.1).fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert hasattr(model, "coef_")
    model.set_params(kernel="rbf").fit(X, y)
    assert hasattr(model, "dual_coef_")
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "feature_names_in_")
    model.set_params(kernel="linear").fit(X, y)
    assert hasattr(model, "coef_")
    assert not hasattr(model, "dual_coef_")


def test_probabilities_are_there_if_the_fit_made_them():
    X, y = imbalanced(120)
    model = MultivariateSVC(C=0.1, cv=3)
    assert hasattr(model, "predict_proba")
    with pytest.raises(NotFittedError):
        model.predict_proba(X)
    expected = model.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.set_params(cv=None).predict_proba(X), expected)
    model.fit(X, 1 - y).set_params(cv=3)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba") as raised:
        model.predict_proba(X)
    assert "fitted with cv=None, which makes no probabilities: fit it with cv" in str(raised.value.__cause__)
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X), expected)


def test_a_fit_that_fails_leaves_the_last_fit():
    X, y = imbalanced(60)
    model = MultivariateSVC(C=0.1, cv=3).fit(X, y)
    expected = model.predict_proba(X)
    with pytest.raises(ValueError, match="one class only"):
        model.fit(X, np.zeros(60))
    np.testing.assert_array_equal(model.predict_proba(X), expected)


@pytest.mark.parametrize("loss", ["precision_at_k", "recall_at_k"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_if_k_is_the_number_of_rows_all_are_positive(loss, kernel):
    X, y = imbalanced(60)
    for scale in (1e-6, 1.0, 1e6):
        model = MultivariateSVC(loss=loss, k=60, C=0.1, kernel=kernel).fit(scale * X, y)
        assert (model.decision_function(scale * X) > 0).all()
    weight = np.where(np.arange(60) < 30, 2, 0)
    y[:10] = 1
    model = MultivariateSVC(loss=loss, k=60, C=0.1, kernel=kernel).fit(X, y, sample_weight=weight)
    assert (model.decision_function(X[:30]) > 0).all()


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])
def test_several_labels_may_be_a_sparse_matrix(form):
    X, Y = make_multilabel_classification(n_samples=80, n_classes=3, random_state=0)
    dense, found = (MultivariateSVC(C=0.1, cv=3).fit(X, labels) for labels in (Y, form(Y)))
    np.testing.assert_array_equal(found.coef_, dense.coef_)
    np.testing.assert_array_equal(found.predict_proba(X), dense.predict_proba(X))


@pytest.mark.parametrize("k", [2.5, 3.0, "3"])
def test_a_number_of_rows_that_is_not_whole_is_refused(k):
    X, y = imbalanced(60)
    model = MultivariateSVC(C=0.1).fit(X, y)
    with pytest.raises(TypeError, match=r"k=\S+ must be a whole number of rows"):
        model.predict_ranked(X, k=k)
    assert model.predict_ranked(X, k=np.int64(3)).sum() == 3


def test_planes_that_leave_the_gap_as_it_is_for_long_do_not_end_it():
    # The gap stays as it is for some 350 planes here, each of which cuts off its point.
    random = np.random.default_rng(6)
    X = random.normal(size=(300, 60))
    y = (X[:, 1] + 2 * random.normal(size=300) > 1.5).astype(int)
    model = MultivariateSVC(loss="roc_area", C=1e5, tol=1e-4, max_iter=3000).fit(X, y)
    assert model.gap_ <= 1e-4


def test_rows_of_weight_zero_are_in_no_fold():
    X, y = imbalanced()
    weight = (np.arange(len(y)) % 4 > 0).astype(float)
    used = weight > 0
    wrong = np.where(used, y, 1 - y)
    model = MultivariateSVC(C=0.1, cv=3).fit(X, wrong, sample_weight=weight)
    direct = MultivariateSVC(C=0.1, cv=3).fit(X[used], y[used])
    np.testing.assert_allclose(model.predict_proba(X), direct.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("unit", [1.0, 0.5, 0.1, 1 / 120, 10.0])
def test_the_unit_of_the_weights_does_not_move_the_intercept_of_a_ranking(unit):
    X, y = noisy(n=120)
    model = MultivariateSVC(loss="roc_area").fit(X, y, sample_weight=np.full(120, unit))
    assert np.sum(model.decision_function(X) > 0.0) == np.sum(y == model.classes_[1])
