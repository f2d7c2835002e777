import numpy as np
import pytest

from _data import noisy, three_classes
from bayes_svm import BayesSVC
from bayes_svm.report.neighbours import N_EACH, neighbours_of


@pytest.mark.parametrize("data", [noisy, three_classes])
def test_the_rows_that_a_prediction_rests_on(data):
    X, y = data(60)
    names = np.array([f"row {k}" for k in range(60)])
    model = BayesSVC(gamma=0.5).fit(X, y)
    row = int(model.support_[0])
    found = neighbours_of(model, X, row, np.arange(1, 61), names)
    assert found.about == str(model.predict(X[[row]])[0])
    assert found.probability == pytest.approx(model.predict_proba(X[[row]]).max())
    both = found.supporting + found.opposing
    assert 0 < len(found.supporting) <= N_EACH
    assert row + 1 not in {one.row for one in both}
    assert {one.label for one in found.supporting} == {found.about}
    assert [one.weight for one in found.supporting] == sorted(one.weight for one in found.supporting)[::-1]
    for one in both:
        assert one.name == f"row {one.row - 1}"
        assert one.label == str(y[one.row - 1])


def test_without_the_first_of_them_the_probability_is_another_one():
    X, y = noisy(60)
    model = BayesSVC(gamma=0.5).fit(X, y)
    found = neighbours_of(model, X, 7, np.arange(1, 61))
    first = found.supporting[0]
    left = np.arange(60) != first.row - 1
    value = BayesSVC(gamma=0.5).fit(X[left], y[left]).decision_function(X[[7]])
    reading = model._reading(X[[7]])
    probability = np.exp(model._probabilities.logs(value, None if reading is None else reading))
    assert first.probability == pytest.approx(probability.max(), abs=1e-6)
    assert first.name is None
