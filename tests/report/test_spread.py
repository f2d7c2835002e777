import numpy as np

from bayes_svm.report.spread import BINS, spreads


def test_bins_include_their_lower_ends_and_the_last_one_its_upper():
    probability = np.array([0.0, 0.049, 0.05, 0.95, 1.0, 0.5])
    (one,) = spreads(["a"], np.zeros(6, dtype=int), probability, np.zeros(6, dtype=bool))
    expected = np.zeros(BINS, dtype=int)
    expected[[0, 1, 10, 19]] = [2, 1, 1, 2]
    assert one.counts == tuple(expected)
    assert (one.n, one.wrong) == (6, 0)


def test_every_edge_begins_a_bin():
    probability = np.arange(BINS) / BINS
    (one,) = spreads(["a"], np.zeros(BINS, dtype=int), probability, np.zeros(BINS, dtype=bool))
    assert set(one.counts) == {1}


def test_classes_are_counted_apart():
    y = np.array([0, 1, 1])
    first, second = spreads(["a", "b"], y, np.array([0.1, 0.2, 0.9]), np.array([False, True, False]))
    assert (first.label, first.n, first.wrong, sum(first.counts)) == ("a", 1, 0, 1)
    assert (second.label, second.n, second.wrong, sum(second.counts)) == ("b", 2, 1, 2)
