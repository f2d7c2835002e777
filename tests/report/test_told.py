"""The estimator, the report, `bayes-svm loo` and the plots all show the error of the predictions."""

import csv

import numpy as np
import pytest

from bayes_svm import BayesSVC, compare_estimators
from bayes_svm.leave_one_out.cases import strata
from bayes_svm.report.cli import main
from bayes_svm.report.content import make_report
from bayes_svm.report.model import features_of, fit_table
from bayes_svm.report.record import Settings
from bayes_svm.report.tables.reading import read_table

pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Five overlapping classes of unequal size, for which signs err more often than predictions."""
    random = np.random.default_rng(0)
    y = random.choice(5, size=150, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    X = 1.6 * np.column_stack([np.cos(1.26 * y), np.sin(1.26 * y)]) + random.normal(size=(150, 2))
    path = tmp_path_factory.mktemp("told") / "five.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["u", "v", "kind"])
        writer.writerows([f"{a:.17g}", f"{b:.17g}", "abcde"[k]] for (a, b), k in zip(X, y, strict=True))
    return path


@pytest.fixture(scope="module")
def fitted(table):
    read = read_table(table, "kind")
    _, features = features_of(read, Settings())
    return features, read.labels, BayesSVC().fit(features, read.labels)


def test_the_error_is_that_of_predict_without_the_rows_stratum(fitted):
    X, y, model = fitted
    leaving = strata(model._machine(X, y, None))
    for case in range(0, leaving.case.max() + 1, 3):
        rows = np.isin(leaving.kind, leaving.part_kind[leaving.case == case])
        other = BayesSVC(gamma=model.kernel_.gamma, link="hinge").fit(X[~rows], y[~rows])
        values = other._margins(X[rows])
        np.testing.assert_allclose(values, model.left_out_decision_values_[rows], atol=1e-7)
    predicted = model.classes_[(model.class_weight_ * model.left_out_proba_).argmax(axis=1)]
    assert model.left_out_.error == np.mean(predicted != y)


def test_the_report_tells_the_same(table, fitted):
    *_, model = fitted
    report = make_report(fit_table(read_table(table, "kind"), Settings(quick=True)))
    assert report.performance.name == "left out"
    assert report.performance.error.value == pytest.approx(model.left_out_.error)
    assert report.performance.f1.value == pytest.approx(model.left_out_.f1)
    # The estimates of the literature judge the signs, so they stand apart and have other values.
    assert [row.name for row in report.papers] == ["training", "xi-alpha", "span", "exact leave-one-out"]


def test_the_command_tells_the_same(table, fitted, tmp_path, monkeypatch, capsys):
    *_, model = fitted
    monkeypatch.chdir(tmp_path)
    assert main(["loo", str(table), "--target", "kind", "--output", "out.csv"]) == 0
    assert f"by strata; error {model.left_out_.error:.4f}" in capsys.readouterr().out
    with open("out.csv", newline="") as file:
        wrong = [row["predicted"] != row["label"] for row in csv.DictReader(file)]
    assert np.mean(wrong) == pytest.approx(model.left_out_.error)


def test_comparing_estimates_tells_what_predict_would_have_said(fitted):
    X, y, _ = fitted
    found = compare_estimators(BayesSVC(), X, y, methods=["leave_one_out"])["leave_one_out"]
    alone = BayesSVC(leave_out="rows").fit(X, y)
    assert found.value == alone.left_out_.error


def test_the_figure_rings_what_predict_would_have_got_wrong(fitted):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from bayes_svm.plots import LeaveOneOutDisplay

    X, y, _ = fitted
    y = np.where(y == "a", "a", "other")
    display = LeaveOneOutDisplay.from_estimator(BayesSVC(), X, y)
    model = BayesSVC().fit(X, y)
    rings = display.ax_.collections[2].get_offsets()
    wrong = model.left_out_.predicted != model.left_out_.y
    np.testing.assert_allclose(
        rings, np.c_[model.left_out_.train_decision_values, model.left_out_decision_values_][wrong], atol=1e-9
    )
    matplotlib.pyplot.close("all")
