"""The VC bound of a training error against the formula with dimensions counted by hand."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from bayes_svm import BayesSVC
from bayes_svm.selection.bounds import training_bound

X, Y = make_classification(80, flip_y=0.2, random_state=0)


@pytest.mark.parametrize(
    ("svc", "dimension"),
    [
        (SVC(kernel="linear"), 4),  # half-spaces of three features
        (SVC(kernel="poly", degree=2, coef0=1.0), 10),  # 1, x, x^2: 1 + 3 + 6
        (SVC(kernel="poly", degree=2), 7),  # x^2 and the intercept: 6 + 1
    ],
)
def test_vc_bound_of_the_training_error(svc, dimension):
    bound, note = training_bound(svc, X[:, :3], Y, 0.2, delta=0.1)
    capacity = dimension * (np.log(160 / dimension) + 1) - np.log(0.1 / 4)
    assert bound == pytest.approx(0.2 + 2 * np.sqrt(capacity / 80))
    assert note == f"VC dimension {dimension}"


@pytest.mark.parametrize(
    ("estimator", "labels", "why"),
    [
        (SVC(), Y, "the VC dimension is infinite"),
        (SVC(kernel="sigmoid"), Y, "of this kernel is not known"),
        (SVC(kernel=lambda a, b: a @ b.T), Y, "of this kernel is not known"),
        (BayesSVC(kernel="linear"), Y, "for an SVC only"),
        (LogisticRegression(), Y, "for an SVC only"),
        (SVC(kernel="linear"), np.arange(80) % 3, "for two classes"),
        (SVC(kernel="poly", degree=3), Y, "is 1541, not below the 80 rows"),
    ],
)
def test_why_a_training_error_has_no_bound(estimator, labels, why):
    bound, note = training_bound(estimator, X, labels, 0.2, delta=0.1)
    assert bound is None
    assert note.startswith("no bound: ")
    assert why in note
