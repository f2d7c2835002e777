import pytest
from scipy.stats import binomtest

from bayes_svm.metrics.intervals import INTERVALS, proportion_interval


@pytest.mark.parametrize(("interval", "method"), [("wilson", "wilson"), ("clopper-pearson", "exact")])
@pytest.mark.parametrize("count", [0, 3, 10])
def test_intervals_are_scipys(interval, method, count):
    assert interval in INTERVALS
    expected = binomtest(count, 10).proportion_ci(0.9, method=method)
    assert proportion_interval(count, 10, alpha=0.1, interval=interval) == pytest.approx(tuple(expected))


@pytest.mark.parametrize("n", [37, 100, 1000])
def test_the_share_is_in_its_interval_despite_rounding(n):
    low, high = proportion_interval([0, n], [n, n])
    assert low[0] == 0.0
    assert high[1] == 1.0
