import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, LinearSVC

from _data import awkward, noisy, three_classes
from bayes_svm import BayesSVC, leave_one_out
from bayes_svm.dual import working_set
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.dual.solution import solve
from bayes_svm.dual.working_set import lower_violation
from bayes_svm.kernels import gram as kernel_matrix
from bayes_svm.kernels.gram import KernelMatrix
from bayes_svm.kernels.kernel import Kernel

KERNELS = [Kernel("rbf", gamma=0.3), Kernel("linear"), Kernel("poly", gamma=0.2, degree=3, coef0=1.0)]
X, Y = noisy(n=200)


@pytest.fixture
def on_demand(monkeypatch):
    """Compute the rows of every matrix on demand, a few at a time."""
    monkeypatch.setattr(kernel_matrix, "ALL_AT_ONCE", 0)
    monkeypatch.setattr(working_set, "FIRST", 10)
    monkeypatch.setattr(working_set, "FEWEST", 2)


@pytest.mark.usefixtures("on_demand")
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_everything_is_that_of_the_whole_matrix(kernel, convert):
    expected = kernel(X, X)
    random = np.random.default_rng(0)
    rows, columns = random.integers(0, 200, 90), random.integers(0, 200, 7)
    weights = random.normal(size=200) * (random.random(200) < 0.5)

    def close(found, wanted):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(expected).max() * 200)

    matrix = KernelMatrix(kernel, convert(X))
    assert matrix.on_demand
    assert not matrix.known.any()
    close(matrix.diagonal, np.diagonal(expected))
    close(matrix.block(rows, columns), expected[np.ix_(rows, columns)])
    assert set(np.flatnonzero(matrix.known)) == set(rows)
    close(matrix.product(weights), expected @ weights)
    close(matrix.largest_sum(weights), (np.abs(expected) @ np.abs(weights)).max())
    close(matrix.smallest_of(columns), expected[columns].min(axis=1))
    close(matrix.rows(columns), expected[columns])
    close(matrix.take(rows).whole(), expected[np.ix_(rows, rows)])
    close(matrix.whole(), expected)


@pytest.mark.usefixtures("on_demand")
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_the_bits_of_a_row_do_not_depend_on_the_others(kernel, convert):
    whole = KernelMatrix(kernel, convert(X)).whole()
    for seed in range(5):
        matrix, random = KernelMatrix(kernel, convert(X)), np.random.default_rng(seed)
        while not matrix.known.all():
            matrix.require(random.integers(0, 200, random.integers(1, 100)))
        np.testing.assert_array_equal(matrix.whole(), whole)


@pytest.mark.usefixtures("on_demand")
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", [*KERNELS, Kernel("rbf", gamma=0.25)], ids=str)
def test_it_is_symmetric_to_the_bit_however_far_from_the_origin(kernel, convert):
    far = np.random.default_rng(0).normal(size=(300, 4)) + 8192.0
    matrix = KernelMatrix(kernel, convert(far))
    for points in np.array_split(np.random.default_rng(1).permutation(300), 7):
        matrix.require(points)
    values = matrix.whole()
    np.testing.assert_array_equal(values, values.T)
    np.testing.assert_array_equal(np.diagonal(values), matrix.diagonal)


@pytest.mark.usefixtures("on_demand")
def test_a_solution_far_from_the_origin_is_exact_and_so_are_its_paths():
    far = X + 8192.0
    machine, (solution,) = machine_of(SVC(gamma=0.25), far, Y)
    assert machine.gram.on_demand
    assert solution.exact
    assert set(leave_one_out(SVC(gamma=0.25), far, Y).status) <= {"path", "unchanged"}


@pytest.mark.usefixtures("on_demand")
def test_what_is_found_does_not_depend_on_the_rows_that_are_known():
    _, (solution,) = machine_of(SVC(C=3.0, gamma=0.5), X, Y)
    other, _ = machine_of(SVC(C=3.0, gamma=0.5), X, Y)
    other.gram.require(np.arange(0, 200, 3))
    again = solve(replace(other.problem(0)))
    assert again.beta.tobytes() == solution.beta.tobytes()
    assert (again.smo_steps, again.pivots) == (solution.smo_steps, solution.pivots)


@pytest.mark.usefixtures("on_demand")
def test_threads_may_ask_for_the_same_rows():
    matrix, expected = KernelMatrix(KERNELS[0], X), KernelMatrix(KERNELS[0], X).whole()
    wanted = [np.random.default_rng(seed).integers(0, 200, 30) for seed in range(40)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(matrix.rows, wanted))
    for points, rows in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(rows, expected[points])


@pytest.mark.usefixtures("on_demand")
def test_a_pickled_matrix_holds_the_known_rows_and_computes_others():
    matrix = KernelMatrix(KERNELS[0], X)
    matrix.require(np.arange(20))
    copy = pickle.loads(pickle.dumps(matrix))
    assert matrix.__getstate__()["_values"] is matrix.__getstate__()["_values"]  # joblib sends it once
    assert len(pickle.dumps(matrix)) < 8 * 200 * 60
    np.testing.assert_array_equal(copy.known, matrix.known)
    np.testing.assert_array_equal(copy.whole(), matrix.whole())


@pytest.mark.usefixtures("on_demand")
def test_null_points_are_at_the_origin():
    matrix = KernelMatrix(KERNELS[1], X, 1)
    assert len(matrix) == 201
    assert matrix.diagonal[-1] == 0
    np.testing.assert_array_equal(matrix.whole()[-1], np.zeros(201))
    np.testing.assert_array_equal(matrix.whole()[:, -1], np.zeros(201))
    taken = matrix.take(np.array([3, 7]))
    assert len(taken) == 3
    assert not taken.whole()[-1].any()


def test_small_matrices_and_other_kernels_are_computed_as_a_whole(monkeypatch):
    assert KernelMatrix(KERNELS[0], X).known.all()
    monkeypatch.setattr(kernel_matrix, "ALL_AT_ONCE", 0)
    for kernel in (Kernel("sigmoid", gamma=0.1), Kernel(lambda A, B: A @ B.T)):
        assert not KernelMatrix(kernel, X).on_demand
        np.testing.assert_array_equal(KernelMatrix(kernel, X).whole(), kernel.gram(X))


@pytest.mark.usefixtures("on_demand")
def test_a_row_that_is_not_finite_is_an_error():
    with pytest.raises(ValueError, match="returned NaN or infinity"):
        KernelMatrix(Kernel("poly", gamma=1e40, degree=9, coef0=1.0), X).rows(np.arange(2))


@pytest.mark.usefixtures("on_demand")
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("make", [noisy, awkward])
def test_the_working_set_ends_where_no_pair_violates_optimality(make, C):
    machine, _ = machine_of(SVC(C=C, gamma=0.5), *make(n=150))
    problem = machine.problem(0)
    beta = np.zeros(len(problem.label))
    gradient = -problem.label
    violation, steps = lower_violation(problem, beta, gradient, 1e-4, 10**6)
    assert violation <= 1e-4
    assert 0 < steps < 10**6
    assert beta.sum() == pytest.approx(0, abs=1e-9 * C)
    np.testing.assert_allclose(gradient, problem.gram.whole() @ beta - problem.label, atol=1e-9 * max(1, C))
    rising, falling = -gradient[beta < problem.upper], -gradient[beta > problem.lower]
    assert max(0.0, rising.max() - falling.min()) == pytest.approx(violation, abs=1e-12)


@pytest.mark.usefixtures("on_demand")
def test_the_working_set_stops_after_the_allowed_moves():
    machine, _ = machine_of(SVC(C=10.0, gamma=0.5), X, Y)
    problem = machine.problem(0)
    gradient = -problem.label
    violation, steps = lower_violation(problem, np.zeros(200), gradient, 1e-6, 7)
    assert (steps, violation > 1e-6) == (7, True)


def test_far_points_are_never_looked_at(monkeypatch):
    monkeypatch.setattr(kernel_matrix, "ALL_AT_ONCE", 100)
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 4000)
    far = random.normal(size=(4000, 2)) + 5.0 * y[:, None]
    machine, (solution,) = machine_of(SVC(gamma=0.1), far, y)
    assert solution.exact
    assert np.count_nonzero(solution.beta) < 100
    assert machine.gram.known.sum() < 1500


@pytest.mark.parametrize(
    "estimator",
    [SVC(gamma=0.5), SVC(kernel="linear"), SVC(C=100.0, gamma=2.0), LinearSVC(loss="hinge"), BayesSVC()],
    ids=str,
)
@pytest.mark.parametrize("make", [noisy, awkward, three_classes])
def test_leave_one_out_is_that_of_the_whole_matrix(monkeypatch, estimator, make):
    data = make(n=90)
    options = [{}, {"cv": 5, "at": data[0][:4] + 0.1}]
    expected = [leave_one_out(estimator, *data, **each) for each in options]
    monkeypatch.setattr(kernel_matrix, "ALL_AT_ONCE", 0)
    monkeypatch.setattr(working_set, "FIRST", 10)
    monkeypatch.setattr(working_set, "FEWEST", 2)
    for wanted, each in zip(expected, options, strict=True):
        found = leave_one_out(estimator, *data, **each)
        np.testing.assert_allclose(found.decision_values, wanted.decision_values, atol=1e-7)
        np.testing.assert_array_equal(found.status, wanted.status)
        if "at" in each:
            np.testing.assert_allclose(found.values_at, wanted.values_at, atol=1e-7)
        threaded = leave_one_out(estimator, *data, **each, n_jobs=2)
        assert threaded.decision_values.tobytes() == found.decision_values.tobytes()
