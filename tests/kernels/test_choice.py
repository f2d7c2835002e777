import pickle
import warnings
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
from bayes_svm.dual.solving import solve
from bayes_svm.dual.working_set import lower_violation
from bayes_svm.kernels import choice, functions
from bayes_svm.kernels.choice import held, kernel_matrix, taken
from bayes_svm.kernels.gram import WholeMatrix
from bayes_svm.kernels.kept_rows import KeptRows
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.kernels.recomputed import Recomputed

KERNELS = [Kernel("rbf", gamma=0.3), Kernel("linear"), Kernel("poly", gamma=0.2, degree=3, coef0=1.0)]
FORMS = [Recomputed, KeptRows]
X, Y = noisy(n=200)


@pytest.fixture(params=FORMS)
def on_demand(request, monkeypatch):
    """Compute the values of every matrix on demand, in tiles of a few rows and columns."""
    monkeypatch.setattr(choice, "ALL_AT_ONCE", 0)
    monkeypatch.setattr(choice, "FEW_FEATURES", 1000 if request.param is Recomputed else 0)
    monkeypatch.setattr(choice, "TOO_LONG", 0 if request.param is Recomputed else 1000)
    monkeypatch.setattr(functions, "ROWS", 64)
    monkeypatch.setattr(functions, "COLUMNS", 128)
    monkeypatch.setattr(working_set, "FIRST", 10)
    monkeypatch.setattr(working_set, "FEWEST", 2)
    monkeypatch.setattr(working_set, "MOST", 40)
    return request.param


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_everything_is_that_of_the_whole_matrix(on_demand, kernel, convert):
    expected = kernel(X, X)
    random = np.random.default_rng(0)
    rows, columns = random.integers(0, 200, 90), random.integers(0, 200, 7)
    weights = random.normal(size=200) * (random.random(200) < 0.5)

    def close(found, wanted):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(expected).max() * 200)

    matrix = kernel_matrix(kernel, convert(X))
    assert isinstance(matrix, on_demand)
    assert matrix.on_demand
    close(matrix.diagonal, np.diagonal(expected))
    close(matrix.block(rows, columns), expected[np.ix_(rows, columns)])
    close(matrix.product(weights), expected @ weights)
    close(matrix.largest_sum(weights), (np.abs(expected) @ np.abs(weights)).max())
    close(matrix.smallest_of(columns), expected[columns].min(axis=1))
    close(matrix.rows(columns), expected[columns])
    close(taken(matrix, rows).whole(), expected[np.ix_(rows, rows)])
    close(matrix.whole(), expected)
    close(matrix.smallest, expected.min())
    single = matrix.single_block(rows, columns)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, matrix.block(rows, columns).astype(np.float32))


@pytest.mark.parametrize("n_features", [2, 40, 500])
@pytest.mark.parametrize("kernel", [*KERNELS, Kernel("rbf", gamma=0.25)], ids=str)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.usefixtures("on_demand")
def test_the_bits_of_a_value_do_not_depend_on_the_others(kernel, convert, n_features):
    # Far from the origin any difference in rounding shows.
    far = np.random.default_rng(0).normal(size=(300, n_features)) + 8192.0
    far[:, 2:] -= 8192.0
    whole = kernel_matrix(kernel, convert(far)).whole()
    np.testing.assert_array_equal(whole, whole.T)
    np.testing.assert_array_equal(np.diagonal(whole), kernel_matrix(kernel, convert(far)).diagonal)
    for seed in range(5):
        matrix, random = kernel_matrix(kernel, convert(far)), np.random.default_rng(seed)
        rows, columns = (random.integers(0, 300, random.integers(1, 300)) for _ in range(2))
        np.testing.assert_array_equal(matrix.block(rows, columns), whole[np.ix_(rows, columns)])
        np.testing.assert_array_equal(matrix.block(rows, rows), whole[np.ix_(rows, rows)])


@pytest.mark.usefixtures("on_demand")
def test_a_solution_far_from_the_origin_is_exact_and_so_are_its_paths():
    far = X + 8192.0
    machine, (solution,) = machine_of(SVC(gamma=0.25), far, Y)
    assert machine.gram.on_demand
    assert solution.exact
    assert set(leave_one_out(SVC(gamma=0.25), far, Y).status) <= {"path", "unchanged"}


@pytest.mark.usefixtures("on_demand")
def test_what_is_found_does_not_depend_on_what_was_asked_for_before():
    _, (solution,) = machine_of(SVC(C=3.0, gamma=0.5), X, Y)
    other, _ = machine_of(SVC(C=3.0, gamma=0.5), X, Y)
    other.gram.rows(np.arange(0, 200, 3))
    again = solve(replace(other.problem(0)))
    assert again.beta.tobytes() == solution.beta.tobytes()
    assert (again.smo_steps, again.pivots) == (solution.smo_steps, solution.pivots)


@pytest.mark.usefixtures("on_demand")
def test_single_precision_overflows_silently_with_null_points_too():
    matrix = kernel_matrix(Kernel("linear"), np.full((3, 2), 1e25), 1)
    everything = np.arange(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = matrix.single_block(everything, everything)
    assert np.isinf(found[:3, :3]).all()
    assert not found[3].any()


@pytest.mark.usefixtures("on_demand")
def test_sparse_rows_stored_in_any_order_give_the_same_bits():
    far = np.random.default_rng(0).normal(size=(150, 30)) + 8192.0
    shuffled = sparse.csr_matrix(far)
    for row in range(150):
        part = slice(shuffled.indptr[row], shuffled.indptr[row + 1])
        order = np.random.default_rng(row).permutation(30)
        shuffled.indices[part] = shuffled.indices[part][order]
        shuffled.data[part] = shuffled.data[part][order]
    shuffled.has_sorted_indices = shuffled.has_canonical_format = False
    kernel = Kernel("rbf", gamma=0.1)
    values = kernel_matrix(kernel, shuffled).whole()
    np.testing.assert_array_equal(values, values.T)
    np.testing.assert_array_equal(values, kernel_matrix(kernel, sparse.csr_matrix(far)).whole())


@pytest.mark.usefixtures("on_demand")
def test_threads_may_ask_for_the_same_rows():
    matrix, expected = kernel_matrix(KERNELS[0], X), kernel_matrix(KERNELS[0], X).whole()
    wanted = [np.random.default_rng(seed).integers(0, 200, 30) for seed in range(40)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(matrix.rows, wanted))
    for points, rows in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(rows, expected[points])


def test_rows_are_kept_once_they_are_asked_for():
    matrix = KeptRows(KERNELS[0], X)
    assert not matrix.known.any()
    matrix.block(np.array([3, 77, 3]), np.arange(5))
    assert set(np.flatnonzero(matrix.known)) == {3, 77}


def test_a_pickled_matrix_holds_the_kept_rows_and_computes_others():
    matrix = KeptRows(KERNELS[0], X)
    matrix.require(np.arange(20))
    copy = pickle.loads(pickle.dumps(matrix))
    assert matrix.__getstate__()["_values"] is matrix.__getstate__()["_values"]  # joblib sends it once
    assert len(pickle.dumps(matrix)) < 8 * 200 * 60
    np.testing.assert_array_equal(copy.known, matrix.known)
    np.testing.assert_array_equal(copy.whole(), matrix.whole())


def test_a_pickled_matrix_holds_no_recomputed_values():
    matrix = Recomputed(KERNELS[0], X)
    matrix.rows(np.arange(200))
    assert len(pickle.dumps(matrix)) < 8 * 200 * 20
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(matrix)).whole(), matrix.whole())


@pytest.mark.usefixtures("on_demand")
def test_null_points_are_at_the_origin():
    matrix = kernel_matrix(KERNELS[1], X, 1)
    assert len(matrix) == 201
    assert matrix.diagonal[-1] == 0
    np.testing.assert_array_equal(matrix.whole()[-1], np.zeros(201))
    np.testing.assert_array_equal(matrix.whole()[:, -1], np.zeros(201))
    some = taken(matrix, np.array([3, 7]))
    assert len(some) == 3
    assert not some.whole()[-1].any()
    weights = np.random.default_rng(0).normal(size=201)
    np.testing.assert_allclose(matrix.product(weights), matrix.whole() @ weights, atol=1e-9)
    np.testing.assert_array_equal(
        matrix.smallest_of(np.array([3, 200])), matrix.whole()[[3, 200]].min(axis=1)
    )
    everything = np.arange(201)
    single = matrix.single_block(everything, everything)
    np.testing.assert_array_equal(single, matrix.whole().astype(np.float32))
    np.testing.assert_array_equal(
        matrix.block(np.array([200, 5]), np.array([1, 200, 7])), matrix.whole()[np.ix_([200, 5], [1, 200, 7])]
    )


def test_small_matrices_and_other_kernels_are_computed_as_a_whole(monkeypatch):
    assert isinstance(kernel_matrix(KERNELS[0], X), WholeMatrix)
    monkeypatch.setattr(choice, "ALL_AT_ONCE", 0)
    for kernel in (Kernel("sigmoid", gamma=0.1), Kernel(lambda A, B: A @ B.T)):
        assert isinstance(kernel_matrix(kernel, X), WholeMatrix)
        np.testing.assert_array_equal(kernel_matrix(kernel, X).whole(), kernel.gram(X))


@pytest.mark.parametrize(
    ("n_features", "convert", "n", "form"),
    [
        (3, np.asarray, 50, Recomputed),
        (300, np.asarray, 50, KeptRows),
        (3, sparse.csr_matrix, 50, KeptRows),
        (300, np.asarray, 150, Recomputed),
        (3, sparse.csr_matrix, 150, Recomputed),
    ],
)
def test_rows_are_kept_where_values_cost_much_and_rows_are_short(monkeypatch, n_features, convert, n, form):
    monkeypatch.setattr(choice, "ALL_AT_ONCE", 40)
    monkeypatch.setattr(choice, "TOO_LONG", 100)
    assert type(kernel_matrix(Kernel("rbf"), convert(np.ones((n, n_features))))) is form


def test_many_problems_share_the_values_of_a_matrix_that_is_not_too_large(monkeypatch):
    monkeypatch.setattr(choice, "ALL_AT_ONCE", 0)
    matrix = kernel_matrix(KERNELS[0], X, 1)
    assert isinstance(matrix, Recomputed)
    for free in (None, 32 * len(matrix) ** 2):
        monkeypatch.setattr(choice, "available_bytes", lambda free=free: free)
        shared = held(matrix)
        assert isinstance(shared, WholeMatrix)
        assert shared.positive_semidefinite
        assert shared.n_null == 1
        assert held(shared) is shared
        np.testing.assert_array_equal(shared.whole(), matrix.whole())
    monkeypatch.setattr(choice, "available_bytes", lambda: 32 * len(matrix) ** 2 - 1)
    assert held(matrix) is matrix
    monkeypatch.setattr(choice, "available_bytes", lambda: None)
    monkeypatch.setattr(choice, "SHARED", len(matrix) - 1)
    assert held(matrix) is matrix


def test_rows_that_are_kept_anyway_are_not_kept_twice(monkeypatch):
    monkeypatch.setattr(choice, "ALL_AT_ONCE", 0)
    matrix = kernel_matrix(Kernel("rbf"), sparse.csr_matrix(np.ones((5, 3))))
    assert held(matrix) is matrix


@pytest.mark.usefixtures("on_demand")
def test_a_row_that_is_not_finite_is_an_error():
    with pytest.raises(ValueError, match="returned NaN or infinity"):
        kernel_matrix(Kernel("poly", gamma=1e40, degree=9, coef0=1.0), X).rows(np.arange(2))


def check_that_no_pair_violates_optimality(machine, C):
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
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("make", [noisy, awkward])
def test_the_working_set_ends_where_no_pair_violates_optimality(make, C):
    machine, _ = machine_of(SVC(C=C, gamma=0.5), *make(n=150))
    assert machine.gram.on_demand
    check_that_no_pair_violates_optimality(machine, C)


@pytest.mark.parametrize("among_all", [0, 1])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("make", [noisy, awkward])
def test_moves_near_the_margin_alone_end_there_too(monkeypatch, make, C, among_all):
    monkeypatch.setattr(working_set, "AMONG_ALL", among_all)
    machine, _ = machine_of(SVC(C=C, gamma=0.5), *make(n=150))
    assert not machine.gram.on_demand
    check_that_no_pair_violates_optimality(machine, C)


@pytest.mark.usefixtures("on_demand")
def test_the_working_set_stops_after_the_allowed_moves():
    machine, _ = machine_of(SVC(C=10.0, gamma=0.5), X, Y)
    problem = machine.problem(0)
    gradient = -problem.label
    violation, steps = lower_violation(problem, np.zeros(200), gradient, 1e-6, 7)
    assert (steps, violation > 1e-6) == (7, True)


def test_far_points_are_never_looked_at(monkeypatch):
    monkeypatch.setattr(choice, "ALL_AT_ONCE", 100)
    monkeypatch.setattr(choice, "FEW_FEATURES", 0)
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
@pytest.mark.usefixtures("on_demand")
def test_leave_one_out_is_that_of_the_whole_matrix(monkeypatch, estimator, make):
    data = make(n=90)
    options = [{}, {"cv": 5, "at": data[0][:4] + 0.1}]
    with monkeypatch.context() as patch:
        patch.setattr(choice, "ALL_AT_ONCE", 10**6)
        expected = [leave_one_out(estimator, *data, **each) for each in options]
    for wanted, each in zip(expected, options, strict=True):
        found = leave_one_out(estimator, *data, **each)
        np.testing.assert_allclose(found.decision_values, wanted.decision_values, atol=1e-7)
        np.testing.assert_array_equal(found.status, wanted.status)
        if "at" in each:
            np.testing.assert_allclose(found.values_at, wanted.values_at, atol=1e-7)
        threaded = leave_one_out(estimator, *data, **each, n_jobs=2)
        assert threaded.decision_values.tobytes() == found.decision_values.tobytes()
