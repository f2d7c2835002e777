"""Confusion matrix and score of a classifier that rejects."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from _data import three_classes
from bayes_svm import RejectOptionClassifier
from bayes_svm.decision import coverage_scorer, neg_selective_risk_scorer, selective_accuracy_scorer


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rule", [{}, {"threshold": 0.8}])
def test_the_confusion_matrix_has_a_column_of_the_rejected(weighted, rule):
    Z, y = three_classes(90)
    y = np.array(["c", "a", "b"])[y]
    weight = np.arange(90) % 3 if weighted else None
    model = RejectOptionClassifier(LogisticRegression(), **rule).fit(Z, y)
    predicted, columns = model.predict(Z), ["a", "b", "c", "reject"]
    counts = np.ones(90) if weight is None else weight
    slow = [[counts[(y == true) & (predicted == one)].sum() for one in columns] for true in columns[:3]]
    np.testing.assert_array_equal(model.confusion_matrix(Z, y, weight), slow)
    assert (np.sum(slow, axis=0)[3] > 0) == bool(rule)
    assert model.score(Z, y, weight) == pytest.approx(np.trace(slow) / np.sum(slow))
    with pytest.raises(ValueError, match="y holds 'd', which is none of"):
        model.confusion_matrix(Z, np.where(y == "a", "d", y))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"], "inconsistent numbers of samples"),
        (["a", "b"] * 44, "inconsistent numbers of samples"),
        ([0, 1] * 45, "[Mm]ix"),
        ([np.nan] * 90, "y and the classes: Input contains NaN"),
        (np.array(["a", np.nan] * 45, dtype=object), "[Mm]ix"),
        ([None] * 90, "mix labels that cannot be compared"),
    ],
)
def test_labels_that_are_not_those_of_the_rows_have_no_score(labels, message):
    Z, y = three_classes(90)
    model = RejectOptionClassifier(LogisticRegression(), threshold=0.8).fit(Z, np.array(["c", "a", "b"])[y])
    scorers = coverage_scorer, selective_accuracy_scorer, neg_selective_risk_scorer
    for score in (RejectOptionClassifier.score, *scorers):
        with pytest.raises(ValueError, match=message):
            score(model, Z, labels)


@pytest.mark.parametrize("label", [None, -1.5])
def test_rows_of_a_class_that_the_model_has_not_seen_are_errors(label):
    Z, y = three_classes(90)
    model = RejectOptionClassifier(LogisticRegression(), threshold=0.8, reject_label=label)
    model.fit(Z, y if label is None else y.astype(float))
    unseen = np.where(y == 0, 7, y)
    assert model.score(Z, unseen) == np.mean(model.predict(Z) == unseen)


@pytest.mark.parametrize("method", ["predict", "rejected", "review_queue"])
def test_before_a_fit_the_error_says_so(method):
    with pytest.raises(NotFittedError):
        getattr(RejectOptionClassifier(LogisticRegression()), method)([[0.0]])
