from _ctypes import FUNCFLAG_PYTHONAPI

import numpy as np
import pytest
from scipy.linalg import blas, cython_blas, cython_lapack
from scipy.linalg import lapack as of_scipy

from bayes_svm.utils import lapack
from bayes_svm.utils.lapack import (
    inverse_from_factor,
    lower_factor,
    solution_from_factor,
    triangular_solution,
)
from bayes_svm.utils.triangular import half_solved

SIZE = 40


@pytest.fixture(params=["as exported to Cython", "SciPy's own"])
def routines(request, monkeypatch):
    if request.param == "as exported to Cython":
        monkeypatch.setattr(lapack, "LARGE", 1)
    else:
        for name in ("_potrf", "_potri", "_potrs", "_trsm"):
            monkeypatch.setattr(lapack, name, None)


@pytest.fixture
def matrix():
    A = np.random.default_rng(0).normal(size=(SIZE, SIZE + 3))
    return A @ A.T


def views(array):
    """The array in both orders, and as part of a larger one in both orders."""
    rows, columns = array.shape
    for order in "CF":
        yield np.array(array, order=order)
        larger = np.full((rows + 3, columns + 2), np.nan, order=order)
        larger[2:-1, 1:-1] = array
        yield larger[2:-1, 1:-1]


def test_factor_and_inverse_have_the_bits_of_scipy(routines, matrix):
    wanted, _ = of_scipy.dpotrf(matrix, lower=1, clean=1)
    inverse, _ = of_scipy.dpotri(wanted, lower=1)
    for given in views(matrix):
        before = given.copy()
        factor, info = lower_factor(given)
        assert info == 0
        np.testing.assert_array_equal(factor, wanted)
        np.testing.assert_array_equal(given, before)
    for given in views(wanted):
        np.testing.assert_array_equal(np.tril(inverse_from_factor(given)), np.tril(inverse))
        np.testing.assert_array_equal(given, wanted)


def test_the_first_column_that_is_not_definite_is_told(routines, matrix):
    matrix[7, 7] = -1.0
    assert lower_factor(matrix)[1] == 8


@pytest.mark.parametrize("columns", [0, 1, 5])
def test_solutions_have_the_bits_of_scipy(routines, matrix, columns):
    factor, _ = of_scipy.dpotrf(matrix, lower=1, clean=1)
    right = np.random.default_rng(1).normal(size=(SIZE, columns))
    wanted = of_scipy.dpotrs(factor, right, lower=1)[0] if columns else right
    for given in views(factor):
        for one in views(right):
            np.testing.assert_array_equal(solution_from_factor(given, one), wanted)
            np.testing.assert_array_equal(one, right)
        if columns:
            one, alone = right[:, 0], of_scipy.dpotrs(factor, right[:, 0], lower=1)[0]
            np.testing.assert_array_equal(solution_from_factor(given, one), alone)


@pytest.mark.parametrize("columns", [1, 5])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("transposed", [False, True])
def test_triangular_solutions_have_the_bits_of_scipy(routines, matrix, columns, side, transposed):
    factor, _ = of_scipy.dpotrf(matrix, lower=1, clean=1)
    right = np.random.default_rng(1).normal(size=(columns, SIZE) if side else (SIZE, columns))
    wanted = blas.dtrsm(1.0, factor, right, side=side, lower=1, trans_a=transposed)
    how = {"side": side, "transposed": transposed}
    for given in views(factor):
        for one in views(right):
            np.testing.assert_array_equal(triangular_solution(given, one, **how), wanted)
            np.testing.assert_array_equal(one, right)
        one = np.array(right, order="F")
        np.testing.assert_array_equal(triangular_solution(given, one, overwrite=True, **how), wanted)
        np.testing.assert_array_equal(one, wanted)


def test_without_rows_there_is_nothing_to_solve(routines, matrix):
    factor, _ = of_scipy.dpotrf(matrix, lower=1, clean=1)
    assert triangular_solution(factor, np.empty((0, SIZE)), side=1, overwrite=True).shape == (0, SIZE)
    assert triangular_solution(factor, np.empty((SIZE, 0))).shape == (SIZE, 0)


def test_routines_with_other_numbers_are_not_called():
    assert lapack._exported(cython_lapack, "dpotrf") is not None
    # A function of numbers alone, and one that takes floats before its pointers.
    assert lapack._exported(cython_blas, "dcabs1") is None
    assert lapack._exported(cython_lapack, "dlamch") is None


def test_other_threads_go_on_meanwhile():
    # What is called as a part of Python itself holds the interpreter's lock.
    for routine in (lapack._potrf, lapack._potri, lapack._potrs, lapack._trsm):
        assert not routine._flags_ & FUNCFLAG_PYTHONAPI


@pytest.mark.parametrize("size", [255, 256])
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("order", ["C", "F"])
def test_systems_of_either_size_are_solved_in_place(size, columns, order):
    factor = np.asfortranarray(
        np.tril(np.random.default_rng(0).normal(size=(size, size))) + 30.0 * np.eye(size)
    )
    right = np.random.default_rng(1).normal(size=(size, columns))
    for transposed in (False, True):
        given = np.array(right, order=order)
        found = half_solved(factor, given, transposed)
        assert np.shares_memory(found, given)
        np.testing.assert_allclose(
            (factor.T if transposed else factor) @ given, right, rtol=1e-10, atol=1e-12
        )


def test_an_array_that_may_not_be_written_to_is_copied():
    factor, right = 2.0 * np.eye(256, order="F"), np.ones((256, 2), order="F")
    right.flags.writeable = False
    np.testing.assert_array_equal(triangular_solution(factor, right, overwrite=True), right / 2.0)
    assert (right == 1.0).all()
