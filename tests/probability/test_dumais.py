"""Dumais' sigmoid, beside a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from _values import SHIFTED_POSITIVE as POSITIVE
from _values import SHIFTED_VALUES as VALUES
from _values import SHIFTED_WEIGHT as WEIGHT
from bayes_svm.probability.calibration import fit_sigmoid
from bayes_svm.probability.dumais import fit_dumais

random = np.random.default_rng(1)


def regularised_squares(slope, offset, penalty):
    return 0.5 * WEIGHT @ (expit(slope * VALUES + offset) - POSITIVE) ** 2 + penalty * slope**2


def test_dumais_sigmoid_minimises_its_squares_for_one_of_the_penalties():
    link = fit_dumais(VALUES, POSITIVE, WEIGHT)
    gaps = []
    for penalty in 10.0 ** np.arange(-6, 4):
        found = regularised_squares(link.slope, link.offset, penalty)
        best = minimize(
            lambda p, kappa=penalty: regularised_squares(p[0], p[1] - p[0] * 40.0, kappa),
            [link.slope, link.offset + link.slope * 40.0],
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000, "maxfev": 8000},
        )
        gaps.append(found - best.fun)
    assert min(gaps) < 1e-7


@pytest.mark.parametrize("members", [1, 2])
def test_dumais_sigmoid_of_a_tiny_class(members):
    positive = np.arange(30) < members
    link = fit_dumais(np.where(positive, 1.0, -1.0) + 0.1 * random.normal(size=30), positive, np.ones(30))
    assert link.slope > 0
    assert np.isfinite(link.offset)


@pytest.mark.parametrize("fit", [lambda *a: fit_sigmoid(*a, 0.25), fit_dumais], ids=["sigmoid", "dumais"])
def test_values_that_do_not_differ_give_the_prior(fit):
    with pytest.warns(UserWarning, match="hardly differ from the class prior"):
        link = fit(np.full(90, 3.0), POSITIVE, WEIGHT)
    np.testing.assert_allclose(
        expit(link.log_odds(np.array([-1e3, 0.0, 1e3]))), np.average(POSITIVE, weights=WEIGHT)
    )


def test_dumais_sigmoid_of_values_that_rank_the_wrong_way_is_the_prior():
    with pytest.warns(UserWarning, match="hardly differ from the class prior"):
        link = fit_dumais(-VALUES, POSITIVE, WEIGHT)
    assert link.slope == 0.0


def test_dumais_folds_count_weights_as_repeated_rows_in_any_order():
    weight = random.integers(0, 4, size=90)
    rows = random.permutation(np.repeat(np.arange(90), weight))
    weighted = fit_dumais(VALUES, POSITIVE, weight.astype(float))
    repeated = fit_dumais(VALUES[rows], POSITIVE[rows], np.ones(len(rows)))
    assert weighted.slope == pytest.approx(repeated.slope, rel=1e-4)
    assert weighted.offset == pytest.approx(repeated.offset, rel=1e-4)
