"""The label of a rejected point."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from _data import flipped
from bayes_svm import RejectOptionClassifier

X, Y = flipped()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array(["no", "yes"]), "reject"),
        (np.array(["no", "yes"], dtype=object), "reject"),
        (np.array([1, 2], dtype=np.uint8), -1),
        (np.array([-1, 1], dtype=np.int8), -2),
        (np.array([0, 1], dtype=np.uint64), 2),
        (np.array([2**63, 1], dtype=np.uint64), 2**63 + 1),
        (np.array([-(2**63) + 1, 1]), -(2**63)),
        (np.array([0.0, 1.0]), -1.0),
    ],
)
def test_reject_label_is_of_ys_type(labels, expected):
    model = RejectOptionClassifier(LogisticRegression(), threshold=0.9).fit(X, labels[Y])
    predicted = model.predict(X)
    assert set(predicted.tolist()) == {*labels.tolist(), expected}
    assert type(predicted.tolist()[0]) is type(labels.tolist()[0])


@pytest.mark.parametrize(
    ("labels", "label", "message"),
    [
        (np.array([0, 1]), 1, "one of the classes"),
        (np.array(["reject", "accept"]), None, "one of the classes"),
        (np.array([0, 1]), "reject", "not of the type of y"),
        (np.array(["a", "b"]), -1, "not of the type of y"),
        (np.array([False, True]), None, "no label for a rejected point .*bool: use numbers or strings for y"),
        (
            np.array([0, 2**64 - 1], dtype=np.uint64),
            None,
            "no label for a rejected point .*: set reject_label",
        ),
        (np.array([-(2**63), 1]), None, "no label for a rejected point .*: set reject_label"),
        (np.array([0, 1]), 2**64, "not of the type of y"),
        (np.array([0, 1]), np.inf, "not of the type of y"),
        (np.array([0, 1]), [2], "is not one label"),
        (np.array(["a", "b"]), ["c"], "is not one label"),
    ],
)
def test_reject_labels_that_cannot_be(labels, label, message):
    with pytest.raises(ValueError, match=message):
        RejectOptionClassifier(LogisticRegression(), threshold=0.9, reject_label=label).fit(X, labels[Y])


@pytest.mark.parametrize("label", [7, 7.0])
def test_labels_without_a_sign_keep_their_type_beside_an_own_label(label):
    y = np.array([0, 1], dtype=np.uint64)[Y]
    model = RejectOptionClassifier(LogisticRegression(), threshold=0.9, reject_label=label).fit(X, y)
    predicted = model.predict(X)
    assert predicted.dtype == np.uint64
    assert set(predicted.tolist()) == {0, 1, 7}
    assert 0.0 < model.score(X, y) <= 1.0


def test_own_reject_label():
    y = np.array(["no", "yes"])[Y]
    model = RejectOptionClassifier(LogisticRegression(), threshold=0.9, reject_label="ask a person")
    assert set(model.fit(X, y).predict(X)) == {"no", "yes", "ask a person"}


@pytest.mark.parametrize(
    ("labels", "other", "expected"),
    [
        (np.array(["a", "b"]), "reject", None),
        (np.array([0, 1], dtype=np.uint8), -1, -2),
        (np.array([0, 1]), -3.0, -4),
    ],
)
def test_no_label_of_y_is_the_reject_label(labels, other, expected):
    ready = RejectOptionClassifier(LogisticRegression().fit(X, labels[Y]), threshold=0.9, cv="prefit")
    y = np.concatenate([labels[Y][:-1], [other]])
    if expected is None:
        with pytest.raises(
            ValueError, match="reject_label='reject' is one of the classes or of the labels of y"
        ):
            ready.fit(X, y)
    else:
        assert ready.fit(X, y).reject_label_ == expected
