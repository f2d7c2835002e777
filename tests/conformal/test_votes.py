"""The vote of the rows on a point."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from _data import awkward
from bayes_svm import ConformalSVC
from bayes_svm.conformal.votes import Votes, vote
from bayes_svm.dual.from_estimator import machine_of


@pytest.fixture
def data():
    X, y = awkward(n=30)
    machine, solutions = machine_of(SVC(gamma=0.5), X, y)
    problem = next(iter(solutions)).problem
    copies = np.bincount(problem.group, minlength=len(problem.label)).astype(float)
    return X, np.where(y == machine.classes[1], 1.0, -1.0), machine, problem, copies


def sums(at, X, signs):
    """The two sums, row by row."""
    kernel = rbf_kernel(at[None], X, 0.5)[0]
    return np.array([kernel @ signs, kernel.sum()])


def test_a_point_does_not_vote_on_itself_but_its_copies_do(data):
    X, signs, machine, problem, copies = data
    votes, rows = Votes.alone(machine, problem, copies), np.arange(len(X))
    expected = [sums(X[i], X[rows != i], signs[rows != i]) for i in rows]
    np.testing.assert_allclose(votes.of(problem.group), expected, atol=1e-12)
    new = np.random.default_rng(0).normal(size=(4, X.shape[1]))
    cross = machine.cross(problem, new)
    np.testing.assert_allclose(votes.at(cross), [sums(x, X, signs) for x in new], atol=1e-12)
    added = [
        [sums(X[i], np.vstack([X[rows != i], x]), np.append(signs[rows != i], -1.0)) for i in rows]
        for x in new
    ]
    np.testing.assert_allclose(votes.of_with(problem.group, cross, -1.0), added, atol=1e-12)


def test_what_leaves_with_a_row_votes_neither_on_it_nor_on_new_points(data):
    X, signs, machine, problem, copies = data
    fold = np.arange(len(X)) % 7
    leaves = sparse.csr_array((np.ones(len(X)), (fold, problem.group)), (7, len(copies)))
    votes = Votes(machine, problem, copies, problem.group, fold, leaves)
    expected = [sums(X[i], X[fold != fold[i]], signs[fold != fold[i]]) for i in range(len(X))]
    np.testing.assert_allclose(votes.of(np.arange(len(X))), expected, atol=1e-12)
    new = np.random.default_rng(0).normal(size=(3, X.shape[1]))
    some = np.array([5, 2, 20])
    expected = [[sums(x, X[fold != fold[i]], signs[fold != fold[i]]) for i in some] for x in new]
    found = votes.at_without(machine.cross(problem, new), some)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_votes_are_at_most_1_and_0_far_from_all_rows(data):
    X, _, machine, problem, copies = data
    votes = Votes.alone(machine, problem, copies)
    assert np.abs(vote(votes.of(problem.group))).max() < 1.0
    far = machine.cross(problem, np.full((1, X.shape[1]), 1e100))
    np.testing.assert_array_equal(vote(votes.at(far)), [0.0])


@pytest.mark.parametrize("score", ["margin", "left_out", "jackknife+", "cv+"])
def test_of_two_places_with_equal_decision_values_the_purer_is_the_less_strange(score):
    """Two places far apart, 30 rows each, with 1 and with 9 rows of class 0: the machine is 1 at both."""
    X = np.repeat([[0.0], [100.0], [200.0]], [30, 30, 30], axis=0)
    y = np.repeat([0, 1, 0, 1, 0], [1, 29, 9, 21, 30])
    model = ConformalSVC(SVC(gamma=1.0), score, False).fit(X, y)
    np.testing.assert_allclose(model.estimator_.fit(X, y).decision_function([[0.0], [100.0]]), 1.0, atol=1e-3)
    p = model.p_values([[0.0], [100.0]])
    assert p[0, 1] > p[1, 1] > 0.1
    assert p[0, 0] < 0.05 < 0.1 < p[1, 0]
