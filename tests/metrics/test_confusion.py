import numpy as np
import pytest
from sklearn import metrics
from sklearn.exceptions import UndefinedMetricWarning

from bayes_svm.metrics.confusion import Confusion, PerClass, decisions_per_class

random = np.random.default_rng(0)
POSITIVE, VALUES, WEIGHT = random.random(50) < 0.4, random.normal(size=50), random.random(50)


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("error", metrics.zero_one_loss),
        ("recall", metrics.recall_score),
        ("precision", metrics.precision_score),
        ("f1", metrics.f1_score),
    ],
)
def test_measures_are_scikit_learns(name, metric):
    confusion = Confusion.from_decisions(POSITIVE, VALUES, WEIGHT)
    assert getattr(confusion, name) == pytest.approx(metric(POSITIVE, VALUES > 0, sample_weight=WEIGHT))


def test_a_value_of_zero_is_decided_negative():
    assert Confusion.from_decisions([True, False], [0.0, 0.0]) == Confusion(tp=0, fp=0, fn=1, tn=1)


def test_confusions_add_up():
    both = Confusion(1, 2, 3, 4) + Confusion(10, 20, 30, 40)
    assert both == Confusion(11, 22, 33, 44)
    assert PerClass((Confusion(1, 2, 3, 4), Confusion(10, 20, 30, 40))).micro == both


@pytest.mark.parametrize(
    ("measure", "counts"), [("error", (5, 100)), ("recall", (8, 12)), ("precision", (8, 9))]
)
def test_interval_is_wilsons(measure, counts):
    # The ends of Wilson's interval are the two shares p with |count / n - p| = z sqrt(p (1 - p) / n)
    ends = np.array(Confusion(tp=8, fp=1, fn=4, tn=87).interval(measure))
    count, n = counts
    np.testing.assert_allclose(np.abs(count / n - ends), 1.959964 * np.sqrt(ends * (1 - ends) / n), rtol=1e-6)


def test_interval_of_f1_holds_f1():
    confusion = Confusion(tp=8, fp=1, fn=4, tn=87)
    low, high = confusion.interval("f1", confidence=0.5)
    assert low < confusion.f1 < high


def test_interval_of_nothing_is_everything():
    assert Confusion(tp=0, fp=0, fn=0, tn=5).interval("recall") == (0.0, 1.0)


def test_interval_of_an_unknown_measure_is_refused():
    with pytest.raises(ValueError, match="measure='auc' is not one of"):
        Confusion(1, 1, 1, 1).interval("auc")


@pytest.mark.parametrize("measure", ["recall", "precision", "f1"])
def test_a_measure_of_nothing_is_zero_with_a_warning(measure):
    with pytest.warns(UndefinedMetricWarning, match="ill-defined and set to 0.0"):
        assert getattr(Confusion(tp=0, fp=0, fn=0, tn=5), measure) == 0


def test_several_classes_are_averaged():
    y = np.arange(30) % 3
    values = random.normal(size=(30, 3))
    confusions = decisions_per_class(y, 3, values, np.ones(30))
    expected = metrics.recall_score(np.eye(3, dtype=int)[y], values > 0, average="macro")
    assert PerClass(confusions).recall == pytest.approx(expected)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, float("nan")])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(ValueError, match="is not between 0 and 1"):
        Confusion(30, 5, 5, 60).interval("error", confidence=confidence)
