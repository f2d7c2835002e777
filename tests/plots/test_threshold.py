"""The display draws the chosen threshold on its curve."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from _figures import X, Y, pytestmark  # noqa: F401
from bayes_svm import BayesSVC, BayesSVCSearch, choose_threshold
from bayes_svm.plots import ThresholdDisplay


def test_rows_trained_on_give_left_out_values():
    model = BayesSVC().fit(X, Y)
    display = ThresholdDisplay.from_estimator(model, X, Y, "recall", at_least=0.8)
    chosen = choose_threshold(Y, model.left_out_decision_values_, "recall", at_least=0.8)
    assert display.threshold.threshold == chosen.threshold
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), chosen.curve.recall[:-1])
    assert len(display.ax_.get_legend().get_texts()) == 5


@pytest.mark.parametrize("machine", [BayesSVC, SVC])
def test_new_rows_give_their_decision_values(machine):
    half = len(X) // 2
    model = machine().fit(X[:half], Y[:half])
    display = ThresholdDisplay.from_estimator(model, X[half:], Y[half:], "f1")
    chosen = choose_threshold(Y[half:], model.decision_function(X[half:]), "f1")
    assert display.threshold.threshold == chosen.threshold
    other = model.classes_[0]
    turned = ThresholdDisplay.from_estimator(model, X[half:], Y[half:], "f1", pos_label=other).threshold
    chosen = choose_threshold(Y[half:], -model.decision_function(X[half:]), "f1", pos_label=other)
    assert turned.threshold == chosen.threshold
    assert turned.f1 == chosen.f1


def test_a_threshold_that_shows_nothing_is_not_marked():
    with pytest.warns(UserWarning, match="No threshold shows"):
        display = ThresholdDisplay.from_predictions(
            [0, 1, 0, 1], [0.0, 1.0, 2.0, 3.0], "recall", at_least=0.9
        )
    assert len(display.ax_.get_legend().get_texts()) == 3


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="no decision_function"):
        ThresholdDisplay.from_estimator(RandomForestClassifier(5).fit(X, Y), X, Y)
    three = np.arange(len(X)) % 3
    with pytest.raises(ValueError, match="two classes"):
        ThresholdDisplay.from_estimator(SVC().fit(X, three), X, three)
    named = np.array(["benign", "malignant"])[Y]
    for machine in (BayesSVC, SVC):
        model = machine().fit(X, named)
        with pytest.raises(ValueError, match=r"y holds 0, which is none of the classes \['benign', 'mal"):
            ThresholdDisplay.from_estimator(model, X, Y)


def test_a_row_without_weight_may_have_any_label():
    weight, labels = np.ones(len(Y)), Y.copy()
    weight[3], labels[3] = 0.0, 7
    model = BayesSVC().fit(X, labels, sample_weight=weight)
    for options in ({}, {"sample_weight": weight}):
        shown = ThresholdDisplay.from_estimator(model, X, labels, "f1", **options).threshold
        assert shown.confusion_matrix.sum() == pytest.approx(len(Y) - 1)


def test_options_of_the_lines_come_before_their_names():
    threshold = choose_threshold(Y, X[:, 0])
    assert ThresholdDisplay(threshold).plot(label="x").lines_[2].get_label() == "x"


@pytest.mark.parametrize("machine", [BayesSVC, SVC])
def test_labels_and_weights_of_another_number_than_the_rows_are_refused(machine):
    model, weight = machine().fit(X, Y), np.ones(len(Y))
    for labels in (Y[:-1], np.append(Y, Y[0])):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            ThresholdDisplay.from_estimator(model, X, labels, "f1")
    for wrong in (weight[:-1], np.append(weight, 1.0)):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            ThresholdDisplay.from_estimator(model, X, Y, "f1", sample_weight=wrong)


def test_a_pipeline_or_a_search_gives_left_out_values_and_shuffled_training_rows_are_warned_of():
    model = make_pipeline(StandardScaler(), BayesSVC())
    search = GridSearchCV(model, {"bayessvc__C": [1.0, 10.0]}).fit(X, Y)
    for fitted in (model.fit(X, Y), search):
        last = getattr(fitted, "best_estimator_", fitted)[-1]
        chosen = choose_threshold(Y, last.left_out_decision_values_, "f1")
        assert ThresholdDisplay.from_estimator(fitted, X, Y, "f1").threshold.threshold == chosen.threshold
    for rows in (np.arange(len(Y))[::-1], np.arange(len(Y) // 2)):
        with pytest.warns(UserWarning, match="rows that the estimator was trained on"):
            ThresholdDisplay.from_estimator(model, X[rows], Y[rows], "f1")


@pytest.mark.parametrize("inside", [True, False])
def test_rows_that_a_mixture_was_trained_on_give_left_out_values(inside):
    grid = {"C": [0.1, 10.0], "gamma": [0.01, 1.0]}
    if inside:
        named = {f"bayessvc__{name}": values for name, values in grid.items()}
        model = BayesSVCSearch(make_pipeline(StandardScaler(), BayesSVC()), named, combine="stack").fit(X, Y)
        search = model
    else:
        search = BayesSVCSearch(BayesSVC(), grid, combine="stack")
        model = make_pipeline(StandardScaler(), search).fit(X, Y)
    assert len(search.estimators_) > 1
    shown = ThresholdDisplay.from_estimator(model, X, Y, "f1").threshold
    proba = search.left_out_proba_
    chosen = choose_threshold(Y, np.log(proba[:, 1] / proba[:, 0]), "f1")
    assert shown.threshold == pytest.approx(chosen.threshold)
    assert shown.f1 == chosen.f1
    with pytest.warns(UserWarning, match="X seems to hold rows"):
        ThresholdDisplay.from_estimator(model, X[::-1], Y[::-1], "f1")


@pytest.mark.parametrize("inside", [True, False])
def test_a_stack_of_one_model_that_is_not_the_best_gives_its_left_out_values(inside):
    Z, labels = make_classification(400, 5, flip_y=0.1, random_state=32)
    kernels = [{"kernel": ["linear"]}, {"kernel": ["rbf"], "gamma": [1.0]}, {"kernel": ["poly"]}]
    model = BayesSVC()
    if inside:
        model = make_pipeline(FunctionTransformer(), model)
        kernels = [{f"bayessvc__{name}": values for name, values in one.items()} for one in kernels]
    search = BayesSVCSearch(model, kernels, criterion="class_similarity", combine="stack").fit(Z, labels)
    assert "linear" in search.best_params_.values()
    (kept,) = search.estimators_
    values = (kept[-1] if inside else kept).left_out_decision_values_
    shown = ThresholdDisplay.from_estimator(search, Z, labels, "f1").threshold
    assert shown.threshold == choose_threshold(labels, values, "f1").threshold


def test_weights_count_whatever_the_fit_had():
    """Their scale matters: a recall is shown by the number of positives."""
    aim = {"objective": "recall", "at_least": 0.8, "confidence": 0.9}
    for C, own in ((100.0, 1.0), (0.01, 1.0), (1.0, 1.0 / len(Y))):
        model = BayesSVC(C=C).fit(X, Y, sample_weight=np.full(len(Y), own))
        values = model.left_out_decision_values_
        chosen = choose_threshold(Y, values, **aim)
        for options in ({}, {"sample_weight": np.ones(len(Y))}):
            for _ in range(2):
                shown = ThresholdDisplay.from_estimator(model, X, Y, **aim, **options)
                assert shown.threshold.threshold == chosen.threshold
                model.set_params(C=7.0)  # for a fit to come
    half = (np.arange(len(Y)) % 2).astype(float)
    model = BayesSVC().fit(X, Y, sample_weight=half)
    shown = ThresholdDisplay.from_estimator(model, X, Y, "f1", sample_weight=1.0 - half)
    others = half == 0
    chosen = choose_threshold(Y[others], model.left_out_decision_values_[others], "f1")
    assert shown.threshold.f1 == chosen.f1


def test_a_frozen_pipeline_gives_left_out_values_too():
    piped = make_pipeline(StandardScaler(), BayesSVC()).fit(X, Y)
    expected = ThresholdDisplay.from_estimator(piped, X, Y, "f1").threshold.threshold
    assert ThresholdDisplay.from_estimator(FrozenEstimator(piped), X, Y, "f1").threshold.threshold == expected
