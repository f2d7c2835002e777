"""A stand-in for `BayesSVC`, with numbers that are known and quick to compute, and a table to write."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest

from bayes_svm.report import content, model


class StandIn:
    """Fits nothing: the decision value is the first feature, or falls with its distance from the class."""

    def __init__(self, C=1.0, *, kernel="rbf", gamma="scale", class_weight=None, leave_out_size=2000):
        self.C, self.kernel, self.gamma, self.leave_out_size = C, kernel, gamma, leave_out_size
        self.class_weight = class_weight

    def fit(self, X, y, sample_weight=None, groups=None):
        self.classes_ = np.unique(y)
        k = len(self.classes_)
        positives = self.classes_[1:] if k == 2 else self.classes_
        centres = np.linspace(X[:, 0].min(), X[:, 0].max(), k)
        columns = [X[:, 0]] if k == 2 else [0.5 - (X[:, 0] - centre) ** 2 for centre in centres]
        train = np.column_stack(columns)
        truth = y[:, None] == positives[None, :]
        values = train - 0.1 * np.where(truth, 1.0, -1.0)
        probability = 1.0 / (1.0 + np.exp(-3.0 * values))
        if k == 2:
            self.left_out_proba_ = np.column_stack([1.0 - probability, probability])
        else:
            self.left_out_proba_ = probability / probability.sum(axis=1, keepdims=True)
        self.support_ = np.arange(len(y))[::2]
        machine = SimpleNamespace(
            kkt_residual=1e-13,
            relative_gap=np.nan,
            n_free=3,
            n_bounded=2,
            exact=k == 2,
            reason="<b>reason</b>",
        )
        self.solution_ = machine if k == 2 else [machine] * k
        predicted = self.left_out_proba_.argmax(axis=1)
        decided = predicted[:, None] == np.arange(k)[None, -len(positives) :]
        self.left_out_decision_values_ = values[:, 0] if k == 2 else values
        self.left_out_ = SimpleNamespace(
            train_decision_values=train[:, 0] if k == 2 else train,
            status=np.where(values > 0, "unchanged", "path"),
            confusions=confusions(truth, np.where(decided, 1.0, -1.0)),
            predicted=predicted,
            y=np.searchsorted(self.classes_, y),
        )
        self.signs_ = SimpleNamespace(
            train_decision_values=self.left_out_.train_decision_values,
            confusions=confusions(truth, values),
            predicted=(values[:, 0] > 0).astype(int) if k == 2 else values.argmax(axis=1),
            y=self.left_out_.y,
        )
        return self


def confusions(truth, values):
    from bayes_svm.metrics.confusion import Confusion

    return tuple(Confusion.from_decisions(truth[:, k], values[:, k]) for k in range(values.shape[1]))


@pytest.fixture
def stand_in(monkeypatch):
    def estimate(clf, X, y, rho=2.0):
        return SimpleNamespace(confusions=clf.signs_.confusions)

    def left_out(clf, X, y):
        return clf.signs_

    monkeypatch.setattr(content, "leave_one_out", left_out)
    monkeypatch.setattr(model, "BayesSVC", StandIn)
    monkeypatch.setattr(content, "xi_alpha", estimate)
    monkeypatch.setattr(content, "span_estimate", estimate)
    return StandIn


@pytest.fixture
def report(stand_in):
    """Return a function that makes a report of a few rows, with awkward names of columns and classes."""

    def make(labels=("<script>alert(1)</script>", "well"), n=40, name="data.csv"):
        import pandas as pd

        from bayes_svm.report.record import Settings
        from bayes_svm.report.tables.table import Table

        random = np.random.default_rng(0)
        y = np.arange(n) % len(labels)
        frame = pd.DataFrame(
            {
                '"><img onerror=alert(2)>': y + 0.4 * random.normal(size=n),
                "colour": np.where(y > 0, "<i>", "blue"),
            }
        )
        table = Table(name, "di'ag\"nosis<", frame, np.array(labels)[y], ("note <1>",))
        return content.make_report(model.fit_table(table, Settings(quick=True)))

    return make


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Return a function that writes a CSV with any number of classes and changes to its folder."""
    monkeypatch.chdir(tmp_path)

    def write(n_classes=2, names="abc", missing=False, rows=30):
        random = np.random.default_rng(0)
        lines = [["size", "width", "colour", "kind"]]
        for k in range(rows * n_classes):
            label = k % n_classes
            size = "" if missing and k == 5 else f"{(label == 1) + 0.7 * random.normal():.3f}"
            width = f"{(label == 2) + 0.7 * random.normal():.3f}"
            colour = "red" if random.random() < 0.5 else "blue"
            lines.append([size, width, colour, names[label]])
        with open("data.csv", "w", newline="") as file:
            csv.writer(file).writerows(lines)

    return write
