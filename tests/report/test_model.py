"""The fit of a table, which the report, the saved model and the commands read."""

from dataclasses import replace

import numpy as np
import pytest

from bayes_svm import BayesSVC, BayesSVCSearch
from bayes_svm.report.aims import Aims
from bayes_svm.report.errors import InputError
from bayes_svm.report.model import deciding_as, fit_table, leaving_of, one_machine, weights_of
from bayes_svm.report.record import Settings
from bayes_svm.report.tables.table import Table

pd = pytest.importorskip("pandas")


def table(n_classes=2, n=48, **more):
    random = np.random.default_rng(3)
    y = np.arange(n) % n_classes
    frame = pd.DataFrame({"size": y + 0.8 * random.normal(size=n), "width": random.normal(size=n)})
    return Table("rows.csv", "kind", frame, np.array(["low", "mid", "top"])[y], **more)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_mixture_is_the_default(n_classes):
    data = table(n_classes)
    fitted = fit_table(data, Settings())
    assert isinstance(fitted.estimator, BayesSVCSearch)
    assert fitted.n_machines == len(fitted.estimator.estimators_)
    assert len(fitted.estimator.cv_results_["params"]) == 9
    assert fitted.heaviest is fitted.estimator.estimators_[fitted.estimator.weights_.argmax()]
    np.testing.assert_array_equal(fitted.left_out_proba, fitted.estimator.left_out_proba_)
    wrong = fitted.classes[fitted.predicted] != data.labels
    assert wrong.mean() == pytest.approx(fitted.estimator.left_out_error_)
    # The decision values order the rows as the probabilities do.
    values = fitted.left_out_decision_values.reshape(len(wrong), -1)
    top = fitted.left_out_proba[:, -1]
    assert (np.diff(values[np.argsort(top), -1]) >= 0).all()
    assert fitted.approximate == "approximate: the preprocessing and the choice saw these rows"


def rare(n_rare=12, n=120):
    random = np.random.default_rng(3)
    y = (np.arange(n) < n_rare).astype(int)
    frame = pd.DataFrame({"size": 1.5 * y + random.normal(size=n), "width": random.normal(size=n)})
    return Table("rows.csv", "kind", frame, np.array(["low", "mid"])[y])


def test_with_a_rare_class_half_of_the_settings_are_balanced():
    fitted = fit_table(rare(), Settings())
    tried = fitted.estimator.cv_results_["params"]
    by_weight = {
        weight: sorted({one["C"] for one in tried if one["class_weight"] == weight})
        for weight in (None, "balanced")
    }
    assert by_weight == {None: [1.0, 10.0], "balanced": [0.1, 1.0]}
    assert len(tried) == 12
    assert any(one.class_weight == "balanced" for one in fitted.estimator.estimators_)
    # The most probable class is predicted all the same.
    np.testing.assert_array_equal(fitted.predicted, fitted.left_out_proba.argmax(axis=1))
    X = fitted.features
    best = fitted.estimator.predict_proba(X).argmax(axis=1)
    np.testing.assert_array_equal(fitted.estimator.predict(X), fitted.classes[best])
    told = deciding_as(fitted.estimator)
    np.testing.assert_array_equal(told.predict_proba(X), fitted.heaviest.predict_proba(X))
    np.testing.assert_array_equal(told.predict(X), fitted.classes[told.predict_proba(X).argmax(axis=1)])


@pytest.mark.parametrize(
    ("data", "settings", "weights"),
    [
        (rare(30), Settings(), {None}),
        (rare(), Settings(class_weight="balanced"), {None}),
        (rare(), Settings(C=2.0), {None, "balanced"}),
        (rare(), Settings(gamma=0.5), {None, "balanced"}),
        (table(3), Settings(), {None}),
    ],
)
def test_when_the_costs_of_the_classes_are_tried(data, settings, weights):
    fitted = fit_table(data, settings)
    assert {one.get("class_weight") for one in fitted.estimator.cv_results_["params"]} == weights
    costs = np.asarray(fitted.estimator.class_weight_)
    assert (np.ptp(costs) > 0) == (settings.class_weight is not None)


def test_one_machine_where_asked_for():
    fitted = fit_table(table(), Settings(quick=True))
    assert isinstance(fitted.estimator, BayesSVC)
    assert fitted.heaviest is fitted.estimator
    alone = BayesSVC().fit(fitted.features, table().labels)
    np.testing.assert_array_equal(fitted.left_out_decision_values, alone.left_out_decision_values_)
    np.testing.assert_array_equal(fitted.predicted, alone.left_out_.predicted)
    assert fitted.approximate == "approximate: the preprocessing saw these rows"


@pytest.mark.parametrize(
    ("settings", "tried"),
    [
        (Settings(C=2.0), {"C": [2.0], "gamma": 3}),
        (Settings(gamma=0.5), {"C": 3, "gamma": [0.5]}),
        (Settings(kernel="linear"), {"C": 3, "gamma": ["scale"]}),
        (Settings(C=2.0, gamma=0.5), {"C": [2.0], "gamma": [0.5]}),
        (Settings(C=2.0, kernel="linear"), {"C": [2.0], "gamma": ["scale"]}),
    ],
)
def test_a_setting_that_is_given_is_fixed(settings, tried):
    estimator = fit_table(table(), settings).estimator
    if isinstance(estimator, BayesSVC):
        found = [estimator.get_params()]
    else:
        found = [{**estimator.estimator.get_params(), **one} for one in estimator.cv_results_["params"]]
    for name, values in tried.items():
        used = list(dict.fromkeys(one[name] for one in found))
        assert used == values if isinstance(values, list) else len(used) == values


def test_rows_of_groups_that_are_alike_count_less():
    labels, groups = np.repeat(["low", "mid"], 24), np.arange(48) // 4
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"size": np.repeat([0.0, 1.0], 24) + random.normal(size=48)})
    data = Table("rows.csv", "kind", frame, labels, groups=groups)
    fitted = fit_table(data, Settings())
    np.testing.assert_allclose(fitted.weights, 0.25)
    assert fitted.notes == (
        "rows of a group have the same class more often than others: in the fit these 48 rows count as 12 "
        "independent ones, each with the weight 0.25",
    )
    assert "know of groups only how alike their classes are" in fitted.approximate
    weighted = replace(data, weights=np.full(48, 3.0))
    np.testing.assert_allclose(weights_of(weighted, notes := []), 0.75)
    assert "in the fit each row counts with 0.25 of its weight" in notes[0]


@pytest.mark.parametrize("groups", [np.arange(48), np.arange(48) // 4], ids=["single rows", "mixed"])
def test_rows_of_groups_that_are_not_alike_count_whole(groups):
    weights = np.arange(48) % 3 + 1.0
    assert weights_of(table(groups=groups), notes := []) is None
    given = table(groups=groups // 2, weights=weights)
    assert weights_of(given, notes) is weights
    assert weights_of(table(weights=weights), notes) is weights
    assert notes == []


def test_groups_and_weights_reach_the_fit():
    weights, groups = np.arange(48) % 3 + 1.0, np.arange(48) // 4
    fitted = fit_table(table(groups=groups, weights=weights), Settings(quick=True))
    direct = BayesSVC().fit(fitted.features, table().labels, sample_weight=weights, groups=groups)
    np.testing.assert_array_equal(fitted.left_out_proba, direct.left_out_proba_)


def test_costs_of_the_classes_are_given_by_name():
    fitted = fit_table(table(), Settings(quick=True, class_weight={"mid": 5.0}))
    assert fitted.estimator.class_weight_.tolist() == [1.0, 5.0]
    numbers = Table("rows.csv", "kind", table().frame, np.arange(48) % 2)
    for name in ("1", "1.0"):
        assert one_machine(Settings(class_weight={name: 5.0}), numbers).class_weight == {1: 5.0}
    with pytest.raises(InputError, match="--class-weight names 'high', which is no class of 'kind'"):
        fit_table(table(), Settings(class_weight={"high": 5.0}))
    with pytest.raises(InputError, match="gives a class two costs"):
        one_machine(Settings(class_weight={"1": 5.0, "1.0": 2.0}), numbers)


@pytest.mark.parametrize(
    ("n_classes", "positive", "number"), [(2, None, 1), (2, "low", 0), (3, None, None), (3, "top", 2)]
)
def test_the_positive_class(n_classes, positive, number):
    assert fit_table(table(n_classes, positive=positive), Settings(quick=True)).positive == number


def test_warnings_of_the_fit_are_notes_once():
    frame, labels = 0.0 * table().frame[["width"]], table().labels
    noise = Table("rows.csv", "kind", frame, labels, ("from the table",))
    first, *others = fit_table(noise, Settings()).notes
    assert first == "from the table"
    assert sum("No setting tells the classes apart" in note for note in others) == 1
    assert len(set(others)) == len(others)


def test_weights_are_as_many_rows():
    random = np.random.default_rng(5)
    weights = random.choice([1.0, 4.0], size=48)
    data = table(weights=weights, counted=True)
    rows = np.repeat(np.arange(48), weights.astype(int))
    copies = replace(data, weights=None, frame=data.frame.iloc[rows], labels=data.labels[rows])
    for settings in (Settings(quick=True), Settings(quick=True, impute=True)):
        one, other = fit_table(data, settings), fit_table(copies, settings)
        # A median that is filled in is that of the rows; here nothing is missing.
        np.testing.assert_allclose(one.features[rows], other.features, atol=1e-12)
        np.testing.assert_allclose(one.left_out_proba[rows], other.left_out_proba, atol=1e-8)
    with pytest.raises(InputError, match="--max-risk promises a share of the rows, and --weights"):
        fit_table(data, Settings(aims=Aims(max_risk=0.2)))
    equal = replace(data, weights=np.full(48, 2.0))
    assert fit_table(equal, Settings(quick=True, aims=Aims(max_risk=0.2))).n_machines == 1


def test_a_row_of_any_weight_is_left_out_whole():
    weights = np.where(np.arange(48) % 5 == 0, 4.0, 0.25)
    data = table(weights=weights)
    fitted = fit_table(data, Settings(quick=True))
    direct = BayesSVC(leave_out_size=None).fit(
        fitted.features, data.labels, sample_weight=weights, groups=np.arange(48)
    )
    np.testing.assert_array_equal(fitted.left_out_proba, direct.left_out_proba_)
    copied = fit_table(replace(data, counted=True), Settings(quick=True))
    assert np.abs(copied.left_out_proba - fitted.left_out_proba).max() > 0.1


def test_many_rows_of_different_weights_leave_in_parts_that_have_every_class(monkeypatch):
    weights = np.random.default_rng(1).uniform(0.2, 4.0, 48)
    data = table(3, weights=weights)
    np.testing.assert_array_equal(leaving_of(data), np.arange(48))
    monkeypatch.setattr("bayes_svm.report.model.MOST_DEALT", 100)
    part = leaving_of(data)
    assert {tuple(np.sort(data.labels[part == k])) for k in range(16)} == {("low", "mid", "top")}
    # Whatever the order of the rows.
    order = np.random.default_rng(2).permutation(48)
    moved = replace(data, frame=data.frame.iloc[order], labels=data.labels[order], weights=weights[order])
    np.testing.assert_array_equal(leaving_of(moved), part[order])
    one, other = (fit_table(given, Settings(quick=True)) for given in (data, moved))
    np.testing.assert_allclose(one.left_out_proba[order], other.left_out_proba, atol=1e-6)
    groups = np.arange(48) // 2
    assert leaving_of(replace(data, groups=groups)) is groups
    assert leaving_of(replace(data, counted=True)) is None


def test_columns_of_text_alone_have_no_means():
    data = table(weights=np.repeat([1.0, 2.0], 24))
    frame = pd.DataFrame({"colour": np.where(data.frame["size"] > 0.5, "red", "blue")})
    assert fit_table(replace(data, frame=frame), Settings(quick=True)).features.shape == (48, 2)
