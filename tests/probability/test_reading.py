"""What is read of the posterior, for each link and each kind of kernel."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from _data import noisy
from bayes_svm import BayesSVC
from bayes_svm.dual.solving import solve
from bayes_svm.leave_one_out.cases import rows_alone
from bayes_svm.probability.left_out_posterior import left_out_variance
from bayes_svm.probability.link import Needs
from bayes_svm.probability.posterior import posterior_of
from bayes_svm.probability.reading import READERS, reader_of

X, Y = noisy()


def negative(left, right):
    """A kernel that is not positive semi-definite."""
    return -left @ right.T


def machine(kernel, weight=None):
    return BayesSVC(kernel=kernel, gamma=0.5)._machine(X @ X.T if kernel == "precomputed" else X, Y, weight)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed", negative])
@pytest.mark.parametrize("link", ["sigmoid", "hinge", "clipped", "dumais", IsotonicRegression()], ids=str)
def test_links_that_need_nothing_read_nothing(link, kernel):
    assert reader_of(link, machine(kernel)) is None


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_each_need_has_its_reader(kernel):
    assert reader_of("moderated", machine(kernel)) is READERS[Needs.INFORMATION]
    assert reader_of("kwok", machine(kernel)) is READERS[Needs.VARIANCE]


@pytest.mark.parametrize("kernel", ["linear", "precomputed", negative])
def test_information_that_tells_no_distance_is_not_read(kernel):
    assert reader_of("moderated", machine(kernel)) is None


def test_a_variance_is_read_with_any_kernel_that_knows_new_points():
    assert reader_of("kwok", machine("linear")) is READERS[Needs.VARIANCE]
    with pytest.raises(ValueError, match=r"link='kwok' needs k\(x, x\) of new points"):
        reader_of("kwok", machine("precomputed"))


def test_an_indefinite_kernel_has_no_variance_and_no_information():
    data = machine(negative)
    solution = solve(data.problem(0))
    arguments = data, solution, posterior_of(data, solution, 1.0), rows_alone(data), None
    assert READERS[Needs.INFORMATION].left_out(*arguments) is None
    with pytest.raises(ValueError, match="no posterior variance"):
        READERS[Needs.VARIANCE].left_out(*arguments)


def test_the_variance_of_a_row_is_that_without_it_and_of_a_weightless_row_that_of_a_new_point():
    weight = np.ones(60)
    weight[7] = 0.0
    data = machine("rbf", weight)
    solution, rows = solve(data.problem(0)), rows_alone(data)
    whole = posterior_of(data, solution, 1.0)
    posterior, found = READERS[Needs.VARIANCE].left_out(data, solution, whole, rows, None)
    parts = left_out_variance(data, data.problem(0), posterior, rows.case, rows.part_row, rows.removed)
    used = np.flatnonzero(weight)
    np.testing.assert_allclose(found[rows.part_row], parts)
    assert np.all(found[used] > posterior.variance(X)[used] * (1 - 1e-12))
    assert found[7] == pytest.approx(posterior.variance(X[7:8])[0])


def test_information_of_new_points_is_that_of_a_posterior_of_few_points(monkeypatch):
    monkeypatch.setattr("bayes_svm.probability.reading.SKETCH", 9)
    data = machine("rbf")
    solution = solve(data.problem(0))
    reader = READERS[Needs.INFORMATION]
    whole = posterior_of(data, solution, 1.0)
    posterior, found = reader.left_out(data, solution, whole, rows_alone(data), None)
    assert len(posterior.points) == 9
    assert found.shape == (60,)
    assert np.all(found > 0)
    np.testing.assert_array_equal(reader.at(posterior, X, None), posterior.information(X))
    assert np.all(posterior.information(X) <= whole.information(X) * (1 + 1e-9))
