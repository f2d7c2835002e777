import numpy as np
import pytest
from sklearn import metrics
from sklearn.svm import SVC

from _data import noisy, three_classes
from bayes_svm import BayesSVC, leave_one_out


@pytest.fixture(scope="module")
def binary():
    X, y = noisy()
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0, 0.3], size=60)
    return y, weight, leave_one_out(SVC(C=0.5), X, y, sample_weight=weight)


@pytest.fixture(scope="module")
def several():
    X, y = three_classes()
    return np.array(["c", "a", "b"])[y], leave_one_out(BayesSVC(C=0.5), X, np.array(["c", "a", "b"])[y])


def test_measures_are_those_of_the_predictions(binary):
    y, weight, result = binary
    assert result.error == pytest.approx(metrics.zero_one_loss(y, result.predictions, sample_weight=weight))
    for name in ("recall", "precision", "f1"):
        expected = getattr(metrics, f"{name}_score")(y, result.predictions, sample_weight=weight)
        assert getattr(result, name) == pytest.approx(expected)


def test_predictions_are_the_sign_or_the_largest_column(binary, several):
    _, _, two = binary
    np.testing.assert_array_equal(two.predictions, np.where(two.decision_values > 0, 1, -1))
    labels, three = several
    np.testing.assert_array_equal(
        three.predictions, np.array(["a", "b", "c"])[three.decision_values.argmax(axis=1)]
    )
    assert three.error == pytest.approx(np.mean(three.predictions != labels))
    assert len(three.confusions) == 3


@pytest.mark.parametrize(
    ("name", "metric"),
    [("roc_auc", metrics.roc_auc_score), ("average_precision", metrics.average_precision_score)],
)
def test_score_takes_metrics_of_values(binary, name, metric):
    y, weight, result = binary
    assert result.score(name) == pytest.approx(metric(y, result.decision_values, sample_weight=weight))


def test_score_takes_metrics_of_labels(binary, several):
    y, weight, result = binary
    expected = metrics.balanced_accuracy_score(y, result.predictions, sample_weight=weight)
    assert result.score("balanced_accuracy") == pytest.approx(expected)
    labels, three = several
    assert three.score("f1_macro") == pytest.approx(
        metrics.f1_score(labels, three.predictions, average="macro")
    )


def test_score_takes_a_made_scorer(binary):
    y, weight, result = binary
    scorer = metrics.make_scorer(metrics.fbeta_score, beta=2.0)
    expected = metrics.fbeta_score(y, result.predictions, beta=2.0, sample_weight=weight)
    assert result.score(scorer) == pytest.approx(expected)


def test_score_takes_any_scorer_of_three_arguments():
    X, y = noisy()
    result = leave_one_out(SVC(), X, y)
    assert result.score(lambda estimator, X, y: np.mean(estimator.predict(X) == y)) == 1 - result.error


def test_an_unknown_metric_is_refused(binary):
    with pytest.raises(ValueError, match="'aux' is not a valid scoring value"):
        binary[2].score("aux")


def test_the_result_cannot_be_changed(binary):
    with pytest.raises(AttributeError):
        binary[2].seconds = 0.0


def test_arrays_have_one_shape(several):
    _, result = several
    for name in ("decision_values", "train_decision_values", "status", "events", "kkt_residual", "gap"):
        assert getattr(result, name).shape == (60, 3)
    assert result.seconds > 0
