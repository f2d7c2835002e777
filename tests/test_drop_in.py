"""BayesSVC inside every meta-estimator of scikit-learn, and in every display."""

import inspect

import numpy as np
import pytest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.discovery import all_displays, all_estimators

from _data import noisy, three_classes
from _figures import plt
from bayes_svm import BayesSVC

# In the order of preference: scikit-learn 1.6 has ClassifierChain(base_estimator).
TAKES = ("estimator", "estimators", "base_estimator")
# Those that take a regressor.
REGRESSION = {"RANSACRegressor", "RegressorChain"}
# Meta-estimators with what they need besides the estimator; the others need nothing.
GRID = {"C": [0.1, 1.0]}
ARGUMENTS = {
    "AdaBoostClassifier": {"n_estimators": 3},
    "BaggingClassifier": {"n_estimators": 3, "random_state": 0},
    "ClassifierChain": {"cv": 2},
    "GridSearchCV": {"param_grid": GRID, "cv": 2},
    "HalvingGridSearchCV": {"param_grid": GRID, "cv": 2, "random_state": 0, "min_resources": 30},
    "HalvingRandomSearchCV": {
        "param_distributions": GRID,
        "cv": 2,
        "random_state": 0,
        "n_candidates": 2,
        "min_resources": 30,
    },
    "OutputCodeClassifier": {"random_state": 0},
    "RFE": {"n_features_to_select": 1},
    "RFECV": {"cv": 2},
    "RandomizedSearchCV": {"param_distributions": GRID, "cv": 2, "n_iter": 2, "random_state": 0},
    "SequentialFeatureSelector": {"n_features_to_select": 1, "cv": 2},
    "StackingClassifier": {"final_estimator": BayesSVC(), "cv": 2},
    "TunedThresholdClassifierCV": {"cv": 2},
    "VotingClassifier": {"voting": "soft"},
}
# These read coef_.
LINEAR = {"RFE", "RFECV", "SelectFromModel"}


def metaestimators():
    """Name and class of every meta-estimator that takes a classifier."""
    for name, kind in all_estimators():
        takes = [given for given in TAKES if given in inspect.signature(kind).parameters]
        if takes and not name.endswith("Regressor") and name not in REGRESSION:
            yield name, kind, takes[0]


NAMES = {name: (kind, takes) for name, kind, takes in metaestimators()}


def test_the_known_metaestimators_are_among_them():
    assert NAMES.keys() >= ARGUMENTS.keys() | LINEAR
    assert NAMES.keys() >= {"CalibratedClassifierCV", "OneVsRestClassifier", "OneVsOneClassifier"}


@pytest.mark.filterwarnings("ignore:The decision values do not separate")  # parts of few rows
@pytest.mark.filterwarnings("ignore:Class .* has")
@pytest.mark.parametrize("name", NAMES)
def test_every_metaestimator_takes_it(name):
    kind, takes = NAMES[name]
    several = name in ("OneVsRestClassifier", "OneVsOneClassifier", "OutputCodeClassifier")
    X, y = three_classes(90) if several else noisy(90)
    X, y = X[:, :2], np.unique(y, return_inverse=True)[1]
    inner = BayesSVC(kernel="linear") if name in LINEAR else BayesSVC()
    if name == "FrozenEstimator":
        inner.fit(X, y)
    given = [("a", inner), ("b", BayesSVC(C=0.1))] if takes == "estimators" else inner
    model = kind(**{takes: given}, **ARGUMENTS.get(name, {}))
    target = y
    if name in ("ClassifierChain", "MultiOutputClassifier"):
        target = np.column_stack([y, X[:, 1] > 0]).astype(int)
    if name == "SelfTrainingClassifier":
        target = np.where(np.arange(len(y)) % 3 == 0, -1, y)
    model.fit(X, target)
    if hasattr(model, "predict"):
        predicted = np.asarray(model.predict(X))
        truth = np.column_stack([y, X[:, 1] > 0]).astype(int) if predicted.ndim == 2 else y
        assert np.mean(predicted == truth) > 0.6
    if hasattr(model, "predict_proba") and not isinstance(model.predict_proba(X), list):
        assert np.isfinite(model.predict_proba(X)).all()
    if hasattr(model, "transform") and name not in ("StackingClassifier", "VotingClassifier"):
        assert model.transform(X).shape[1] in (1, 2)


def test_inside_a_frozen_estimator_it_stays_as_it_is():
    X, y = noisy()
    model = BayesSVC().fit(X, y)
    frozen = FrozenEstimator(model).fit(X[:10], y[:10])
    np.testing.assert_array_equal(frozen.predict_proba(X), model.predict_proba(X))


def test_in_a_pipeline_scores_are_better_than_chance():
    X, y = noisy(200)
    scores = cross_val_score(make_pipeline(StandardScaler(), BayesSVC()), X, y, scoring="neg_log_loss")
    other = cross_val_score(LogisticRegression(), X, y, scoring="neg_log_loss")
    assert scores.mean() > other.mean() - 0.1


DISPLAYS = {
    "CalibrationDisplay": {},
    "ConfusionMatrixDisplay": {},
    "DecisionBoundaryDisplay": {},
    "DetCurveDisplay": {},
    "LearningCurveDisplay": {"cv": 2, "train_sizes": [0.5, 1.0]},
    "PartialDependenceDisplay": {"features": [0], "grid_resolution": 5},
    "PrecisionRecallDisplay": {},
    "RocCurveDisplay": {},
    "ValidationCurveDisplay": {"param_name": "C", "param_range": [0.1, 1.0], "cv": 2},
}
WITHOUT_LABELS = {"DecisionBoundaryDisplay", "PartialDependenceDisplay"}


@pytest.mark.parametrize("name", [name for name, _ in all_displays()])
def test_every_display_takes_it(name):
    if name == "PredictionErrorDisplay":
        pytest.skip("shows the errors of a regressor")
    X, y = noisy(80, d=2)
    model = BayesSVC().fit(X, y)
    labels = () if name in WITHOUT_LABELS else (y,)
    display = dict(all_displays())[name].from_estimator(model, X, *labels, **DISPLAYS[name])
    assert display.figure_.axes
    plt.close("all")
