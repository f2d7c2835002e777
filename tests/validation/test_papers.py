"""What the pages on the papers compute beside the package."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.datasets import make_classification
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from bayes_svm import AggregationKernel, GaussianKernel, class_similarity
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.probability.curvature import hinge_curvature

# At the end: the package itself is the installed one.
sys.path.append(str(Path(__file__).parents[2]))

from validation._kwok import machine_and_solutions, outputs
from validation._kwok_figures import deferred
from validation._kwok_text import break_even
from validation._similarity_criteria import (
    criteria,
    features_of,
    least_squares_error,
    left_out_distances,
    margins,
    over_spread,
)
from validation._similarity_protocols import protocols_of, window_error
from validation.stopping import solved_to


def three_classes(n=40, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n)
    return random.normal(size=(n, 2)) + y[:, None], y


def test_all_undecided_outputs_come_last_and_the_others_keep_their_order():
    output = np.array([0.45, 0.9, 0.55, 0.1, 0.61, 0.39, 0.5])
    ranked = np.argsort(-deferred(logit(output)))
    assert output[ranked].tolist() == [0.9, 0.61, 0.39, 0.1, 0.55, 0.5, 0.45]


def test_break_even_is_precision_at_the_number_of_positives():
    assert break_even(np.array([3.0, 2.0, 1.0, 0.0]), np.array([True, False, True, False])) == 0.5


def test_equation_15_is_the_part_of_the_variance_in_the_span():
    X, y = make_classification(n_samples=40, n_features=30, random_state=0)
    C, sharpness = 2.0, 30.0
    machine, [solution] = machine_and_solutions(X, y, 1, C)
    read = outputs(machine, [solution], C, X + 0.1, sharpness)
    assert np.all(read.spanned <= read.full + 1e-12)
    # Few rows near the margin do not span 31 dimensions.
    assert np.any(read.spanned < 0.9 * read.full)
    # Against the Hessian itself, in the space of the features.
    Z, points = (np.column_stack([part, np.ones(len(part))]) for part in (X, X + 0.1))
    curvature = hinge_curvature(solution.problem.label * solution.values, "swish", sharpness)
    rows = Z[solution.problem.first_row]
    hessian = np.eye(31) / C + (rows * curvature[:, None]).T @ rows
    expected = np.einsum("ij,jk,ik->i", points, np.linalg.inv(hessian), points)
    np.testing.assert_allclose(read.full[:, 0], expected, rtol=1e-7)


def test_distances_to_class_means_are_those_without_the_row():
    X, y = three_classes()
    K = GaussianKernel(1.0)(X, X)
    points, found = features_of(K), left_out_distances(K, np.eye(3)[y], np.ones(len(y)))
    for i in range(len(y)):
        for c in range(3):
            others = points[(y == c) & (np.arange(len(y)) != i)].mean(axis=0)
            assert found[i, c] == pytest.approx(np.sum((points[i] - others) ** 2) - K[i, i], abs=1e-6)
    own = margins(found, y)
    np.testing.assert_array_equal(own > 0, found.argmin(axis=1) == y)


def test_the_spread_criterion_has_the_means_of_class_similarity():
    X, y = three_classes()
    kernel = GaussianKernel(1.0)
    K, found = kernel(X, X), class_similarity(X, y, kernel=kernel)
    pairs = K[~np.eye(len(y), dtype=bool)]
    expected = -(found.within - found.between) / pairs.std()
    assert over_spread(K, np.eye(3)[y], np.ones(len(y))) == pytest.approx(expected)


def test_least_squares_left_out_by_the_hat_matrix_is_training_again():
    X, y = three_classes(n=25)
    C, member = 3.0, np.eye(3)[y]
    wrong = 0
    for i in range(len(y)):
        kept = np.arange(len(y)) != i
        again = Ridge(alpha=1.0 / C).fit(X[kept], 2.0 * member[kept] - 1.0)
        wrong += again.predict(X[i : i + 1]).argmax() != y[i]
    assert 0 < wrong < len(y)
    assert least_squares_error(X, member, y, C, np.ones(len(y))) == pytest.approx(wrong / len(y))


def test_a_row_with_a_count_is_as_many_rows():
    X, y = three_classes(n=15)
    count = np.random.default_rng(0).integers(1, 4, size=len(y))
    K, repeated = X @ X.T, np.repeat(np.arange(len(y)), count)
    once = criteria(K, X, y, (1.0, 10.0), count.astype(float))
    all_rows = criteria(
        K[np.ix_(repeated, repeated)], X[repeated], y[repeated], (1.0, 10.0), np.ones(count.sum())
    )
    assert once == pytest.approx(all_rows)


@pytest.mark.parametrize("name", ["house-votes-84", "kr-vs-kp"])
def test_counted_rows_give_the_error_of_all_rows(name):
    random = np.random.default_rng(0)
    codes = random.integers(-1, 3, size=(120, 3))
    y = np.where(codes[:, 0] + random.normal(size=120) > 0.5, "won", "nowin")
    for splits in protocols_of(name, y).values():
        kernel, wrong, total = AggregationKernel(), 0, 0
        for train, test in splits:
            machine = SVC(kernel="precomputed", tol=1e-6).fit(kernel(codes[train], codes[train]), y[train])
            wrong += np.sum(machine.predict(kernel(codes[test], codes[train])) != y[test])
            total += len(test)
        found = window_error(codes, y, splits, 1.0, one_vs_rest=False)
        assert found == pytest.approx(wrong / total, abs=0.02)


def test_ties_of_each_class_against_the_rest_go_to_the_most_frequent_class():
    codes, y = np.zeros((40, 1), dtype=int), np.repeat(["b", "a", "c"], [16, 12, 12])
    splits = protocols_of("splice", y)["2 folds"]
    assert window_error(codes, y, splits, 1.0, one_vs_rest=True) == pytest.approx(24 / 40)


def test_a_problem_is_solved_to_epsilon_and_no_better():
    X, y = make_classification(n_samples=80, flip_y=0.2, random_state=0)
    _, [solution] = machine_of(SVC(C=10.0), X, y, None)
    violations = [solved_to(solution, epsilon).kkt_residual for epsilon in (1.0, 1e-2, 1e-4)]
    assert violations[0] > violations[1] > violations[2]
    np.testing.assert_array_less(violations, [1.0 + 1e-12, 1e-2 + 1e-12, 1e-4 + 1e-12])
    near = solved_to(solution, 1e-6)
    np.testing.assert_allclose(near.values, solution.values, atol=1e-3)
    assert not near.exact
    assert expit(near.intercept) == pytest.approx(expit(solution.intercept), abs=1e-3)
