"""The frame of rejected points."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from _data import flipped, three_classes
from bayes_svm import BayesSVC, ConformalSVC, RejectOptionClassifier

X, Y = flipped()
COLUMNS = ["row", "answer", "probability", "low", "high", "reason"]


@pytest.mark.parametrize("steps", [(), (StandardScaler(),)])
@pytest.mark.parametrize("names", [np.array([0, 1]), np.array(["yes", "no"])])
def test_the_queue_holds_the_rejected_points(steps, names):
    inner = make_pipeline(*steps, BayesSVC(C=0.1)) if steps else BayesSVC(C=0.1)
    model = RejectOptionClassifier(inner, threshold=0.7).fit(X, names[Y])
    queue = model.review_queue(X)
    rows = np.flatnonzero(model.rejected(X))
    assert list(queue.columns) == COLUMNS
    assert queue.row.tolist() == queue.index.tolist() == rows.tolist()
    plain = model.estimator_
    assert queue.answer.tolist() == plain.predict(X[rows]).tolist()
    np.testing.assert_allclose(queue.probability, plain.predict_proba(X[rows]).max(axis=1))
    of_last = (plain[-1] if steps else plain).predict_interval(
        plain[:-1].transform(X[rows]) if steps else X[rows]
    )
    answers_last = (queue.answer == plain.classes_[1]).to_numpy()
    assert set(answers_last) == {False, True}
    np.testing.assert_allclose(queue.low, np.where(answers_last, of_last[:, 0], 1 - of_last[:, 1]))
    np.testing.assert_allclose(queue.high, np.where(answers_last, of_last[:, 1], 1 - of_last[:, 0]))
    first = queue.iloc[0]
    below = "is below 0.7, the threshold for threshold=0.7"
    assert first.reason == f"the probability of the answer, {first.probability:.4g}, {below}"


def test_of_several_classes_the_interval_is_that_of_the_answer():
    Z, y = three_classes()
    model = RejectOptionClassifier(BayesSVC(), threshold=0.9).fit(Z, y)
    queue = model.review_queue(Z)
    found = model.estimator_.predict_interval(Z[queue.row])[np.arange(len(queue)), queue.answer]
    np.testing.assert_array_equal(queue[["low", "high"]], found)


def test_a_frame_keeps_its_index_and_what_is_not_known_is_missing():
    frame = pd.DataFrame(X, index=[f"patient {k}" for k in range(len(X))]).rename(columns=str)
    model = RejectOptionClassifier(LogisticRegression(), threshold=0.7).fit(frame, Y)
    queue = model.review_queue(frame)
    assert queue.index.tolist() == [f"patient {k}" for k in queue.row]
    assert queue[["low", "high"]].isna().all(axis=None)
    assert queue.probability.notna().all()


@pytest.mark.parametrize("wrapped", [lambda model: model, FrozenEstimator])
def test_a_compact_model_has_no_intervals(wrapped):
    inner = wrapped(BayesSVC(C=0.1).fit(X, Y).compact())
    queue = RejectOptionClassifier(inner, threshold=0.7, cv="prefit").fit(X, Y).review_queue(X)
    assert len(queue) > 0
    assert queue[["low", "high"]].isna().all(axis=None)


def test_an_empty_queue_has_the_same_columns():
    model = RejectOptionClassifier(BayesSVC(C=0.1)).fit(X, Y)
    queue = model.review_queue(X)
    assert list(queue.columns) == COLUMNS
    assert len(queue) == 0
    some = RejectOptionClassifier(BayesSVC(C=0.1), threshold=0.7).fit(X, Y).review_queue(X)
    assert queue.dtypes.drop("reason").tolist() == some.dtypes.drop("reason").tolist()


def test_the_labels_of_a_set_are_the_reason():
    Z, y = three_classes()
    sets = ConformalSVC(SVC(gamma=0.5), class_conditional=False)
    model = RejectOptionClassifier(sets, target_risk=0.3, guarantee="conformal").fit(Z, y)
    far = np.vstack([Z, 0.01 * np.arange(40).reshape(20, 2) - 0.4])
    queue = model.review_queue(far)
    assert queue.probability.isna().all()
    found = model.estimator_.predict_set(far, confidence_level=0.7)
    for row, reason in zip(queue.row, queue.reason, strict=True):
        labels = ", ".join(map(str, np.flatnonzero(found[row])))
        assert reason == (
            f"several labels are plausible at confidence 0.7: {labels}"
            if labels
            else "no label is plausible at confidence 0.7"
        )
    assert len(queue) == np.sum(found.sum(axis=1) != 1) > 0


def test_without_pandas_the_error_says_what_to_do(monkeypatch):
    model = RejectOptionClassifier(LogisticRegression(), threshold=0.7).fit(X, Y)

    class NoPandas:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "pandas":
                raise ImportError(name)

    monkeypatch.delitem(sys.modules, "pandas")
    monkeypatch.setattr(sys, "meta_path", [NoPandas, *sys.meta_path])
    with pytest.raises(ImportError, match="pip install pandas"):
        model.review_queue(X)


def test_a_frozen_pipeline_has_the_intervals_of_its_last_step():
    piped = make_pipeline(StandardScaler(), BayesSVC(C=0.1)).fit(X, Y)
    model = RejectOptionClassifier(FrozenEstimator(piped), threshold=0.7).fit(X, Y)
    plain = RejectOptionClassifier(piped, threshold=0.7, cv="prefit").fit(X, Y)
    pd.testing.assert_frame_equal(model.review_queue(X), plain.review_queue(X))
