"""What a threshold is chosen for."""

from statsmodels.stats.proportion import proportion_confint

from _data import problem
from bayes_svm import choose_threshold


def test_lower_bound_is_wilsons_and_harder_to_reach():
    y, values, _ = problem(5, 400, 1000, False)
    plain = choose_threshold(y, values, "recall", at_least=0.8)
    sure = choose_threshold(y, values, "recall", at_least=0.8, confidence=0.95)
    confusion = sure.confusions[0]
    low, _ = proportion_confint(confusion.tp, confusion.tp + confusion.fn, alpha=0.1, method="wilson")
    assert low >= 0.8
    assert sure.threshold < plain.threshold
    assert sure.recall > plain.recall >= 0.8
