import numpy as np
import pytest
from scipy.stats import binom

from bayes_svm.metrics import bounds


def test_hoeffding_covers_the_binomial_and_solves_its_equation():
    for k, delta in [(20, 0.05), (500, 0.1)]:
        epsilon = bounds.hoeffding_bound(k, delta)
        assert 2 * np.exp(-2 * k * epsilon**2) == pytest.approx(delta)
        for error in (0.1, 0.5):
            outside = binom.cdf(np.ceil(k * (error - epsilon)) - 1, k, error)
            outside += binom.sf(np.floor(k * (error + epsilon)), k, error)
            assert outside <= delta


def test_hold_out_deviation_is_the_binomials_at_one_half():
    assert bounds.hold_out_deviation(100) == pytest.approx(binom.std(100, 0.5) / 100)


def test_vc_bounds_by_hand():
    # With d = 2n / e the term ln(2n / d) + 1 is 2.
    n = 1000
    d = 2 * n / np.e
    with pytest.raises(ValueError, match="vc_dimension"):
        bounds.vc_bound(0.0, n, 2 * n)
    assert bounds.vc_bound(0.1, n, d, delta=4 / np.e**2 / 1) == pytest.approx(
        0.1 + 2 * np.sqrt((2 * d + 2) / n)
    )
    d = 9 * n / np.e**10
    assert bounds.leave_one_out_vc_bound(n, d, 0.5) == pytest.approx(16 * np.sqrt((d + 1) * 12 / n))


def test_leave_one_out_deviation_by_hand():
    assert bounds.leave_one_out_deviation(100, 0.005) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.hoeffding_bound(0), "n=0"),
        (lambda: bounds.hoeffding_bound(10, 1.0), "delta=1.0"),
        (lambda: bounds.leave_one_out_deviation(10, 1.5), "disagreement=1.5"),
        (lambda: bounds.leave_one_out_vc_bound(10, 0), "vc_dimension=0"),
        (lambda: bounds.vc_bound(-1.0, 100, 20), r"training_error=-1.0 is not in \[0, 1\]"),
        (lambda: bounds.vc_bound(np.nan, 100, 20), "training_error=nan"),
        (lambda: bounds.vc_bound(0.1, np.inf, 20), "n=inf must be at least 1, and finite"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
