"""What links are fitted to."""

import numpy as np
import pytest

from bayes_svm.probability.link import LinkData
from bayes_svm.probability.links import fit_links


def test_a_machine_trained_with_costs_is_undecided_where_they_balance():
    values, y = np.tile([0.1, -0.1], 3), np.array([1, 0, 1, 1, 0, 0])
    costs, weight = np.array([1.0, 50.0]), np.full(6, 1e-3)  # so that only the priors count
    [plain] = fit_links("sigmoid", LinkData(values, y, weight), 0.1)
    [cheap] = fit_links("sigmoid", LinkData(values, y, weight), 0.1, costs)
    assert plain.offset == pytest.approx(0.0, abs=0.01)
    assert cheap.offset == pytest.approx(-np.log(50.0), abs=0.01)
