"""Compact models of fewer points and shorter numbers."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression

from _data import three_classes
from bayes_svm import BayesSVC
from bayes_svm.classifiers import shortened
from bayes_svm.classifiers.nested_numbers import numbers_in, with_numbers


def test_numbers_of_24_binary_digits_are_those_of_single_precision():
    numbers = np.random.default_rng(0).normal(size=1000) * 10.0 ** np.arange(-20, 20).repeat(25)
    numbers[:4] = 0.0, -1.0, 1.0 - 2.0**-30, -3.0 * 2.0**40
    np.testing.assert_array_equal(shortened._shorter(numbers, 24), numbers.astype(np.float32).astype(float))
    np.testing.assert_array_equal(shortened._shorter(numbers, 53), numbers)


@pytest.mark.filterwarnings("ignore:The decision values do not separate the classes")
@pytest.mark.parametrize(
    ("n_features", "coef0", "degree", "most"),
    [(1, 0.0, 3, 1), (1, 1.0, 3, 4), (2, 0.0, 3, 4), (2, 1.0, 2, 6)],
)
def test_a_polynomial_of_few_features_is_a_sum_of_as_many_functions_as_monomials(
    n_features, coef0, degree, most
):
    X, y = make_blobs(200, n_features=n_features, centers=4, cluster_std=2.0, random_state=0)
    model = BayesSVC(kernel="poly", coef0=coef0, degree=degree, C=10.0).fit(X, y)
    compact = model.compact()
    assert len(compact.support_) <= most < len(model.support_)
    assert set(compact.support_) <= set(model.support_)
    at = np.vstack([X, 20.0 * X, -3.0 * X])
    np.testing.assert_allclose(
        compact.predict_log_proba(at), model.predict_log_proba(at), rtol=1e-4, atol=1e-5
    )
    # Before anything is rounded, it is the same function up to rounding errors.
    fewer = shortened._of_fewer_points(model, model.support_vectors_)
    np.testing.assert_allclose(fewer._margins(at), model._margins(at), rtol=1e-6, atol=1e-6 * abs(at).max())


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_where_no_digits_are_enough_the_model_is_as_it_was(monkeypatch, form):
    monkeypatch.setattr(shortened, "CLOSE", -1.0)
    X, y = three_classes(n=90)
    model = BayesSVC(kernel="poly").fit(form(X), y)
    again = pickle.loads(pickle.dumps(model.compact()))
    np.testing.assert_array_equal(again.predict_log_proba(5.0 * X), model.predict_log_proba(5.0 * X))


def test_far_away_a_kernel_value_may_be_too_large():
    X, y = three_classes(n=90)
    model = BayesSVC(kernel="poly", degree=200, gamma=0.1, coef0=1.0).fit(X, y)
    with np.errstate(over="ignore"):
        assert not np.isfinite(model.kernel_.formula.diagonal(10.0 * model.support_vectors_)).all()
    compact = model.compact()
    np.testing.assert_allclose(compact.predict_proba(X), model.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("link", ["sigmoid", "hinge", "clipped"])
def test_a_sigmoid_kernel_of_several_classes(link):
    X, y = three_classes(n=90)
    with pytest.warns(UserWarning, match="positive semi-definite"):
        model = BayesSVC(kernel="sigmoid", link=link).fit(X, y)
    compact = model.compact()
    np.testing.assert_array_equal(compact.support_, model.support_)
    np.testing.assert_allclose(compact.predict_log_proba(X), model.predict_log_proba(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("link", ["moderated", "sigmoid", "kwok", "hinge", "clipped", "dumais"])
def test_the_numbers_of_a_link_are_found_and_replaced(link):
    X, y = three_classes(n=90)
    for one in BayesSVC(link=link).fit(X, y)._probabilities.links:
        numbers = numbers_in(one)
        assert all(type(number) is float for number in numbers)
        assert str(with_numbers(one, iter(numbers))) == str(one)
        other = with_numbers(one, iter(np.arange(1.0, len(numbers) + 1).tolist()))
        assert numbers_in(other) == list(range(1, len(numbers) + 1))


def test_a_link_that_holds_an_estimator_is_not_numbers_only():
    X, y = three_classes(n=90)
    model = BayesSVC(link=LogisticRegression()).fit(X, y)
    assert [numbers_in(one) for one in model._probabilities.links] == [None, None, None]
    again = pickle.loads(pickle.dumps(model.compact()))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
