"""A model in a file: what is loaded is what was saved, and nothing else is loaded."""

import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from bayes_svm.report import saved
from bayes_svm.report.errors import InputError
from bayes_svm.report.model import fit_table
from bayes_svm.report.record import Settings
from bayes_svm.report.saved import load_model, model_bytes
from bayes_svm.report.tables import source
from bayes_svm.report.tables.table import Table

pd = pytest.importorskip("pandas")
sio = pytest.importorskip("skops.io", reason="skops is not installed")


def fit(n_classes=2, **settings):
    random = np.random.default_rng(0)
    y = np.arange(60) % n_classes
    frame = pd.DataFrame({"size": y + random.normal(size=60), "colour": np.array(["red", "blue"])[y % 2]})
    return fit_table(Table("rows.csv", "kind", frame, np.array(["a", "b", "c"])[y]), Settings(**settings))


@pytest.mark.parametrize(
    ("n_classes", "settings"),
    [(2, {"quick": True}), (3, {"quick": True}), (3, {}), (2, {"impute": True, "class_weight": "balanced"})],
)
def test_what_is_loaded_predicts_the_same_bits(tmp_path, n_classes, settings):
    fitted = fit(n_classes, **settings)
    (tmp_path / "m.skops").write_bytes(model_bytes(fitted))
    found, notes = load_model(tmp_path / "m.skops")
    assert notes == []
    X = found.transformer.transform(fitted.table.frame)
    np.testing.assert_array_equal(X, fitted.features)
    for method in ("predict_proba", "predict_interval"):
        np.testing.assert_array_equal(
            getattr(found.estimator, method)(X[:5]), getattr(fitted.estimator, method)(X[:5])
        )
    assert found.positive == ("b" if n_classes == 2 else None)


def test_a_model_of_before_identifiers_were_named_is_loaded(tmp_path):
    content = sio.loads(model_bytes(fit(quick=True)), trusted=saved.TRUSTED)
    del content["id_name"]
    (tmp_path / "m.skops").write_bytes(sio.dumps(content))
    found, notes = load_model(tmp_path / "m.skops")
    assert (found.id_name, notes) == (None, [])


def refused(content, tmp_path):
    """The one line with which it is refused."""
    path = tmp_path / "m.skops"
    path.write_bytes(content if isinstance(content, bytes) else sio.dumps(content))
    with pytest.raises(InputError) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


class Stranger:
    pass


def test_other_files_are_refused(tmp_path):
    assert re.search("is no model: File is not a zip file", refused(b"", tmp_path))
    if Path("/dev/zero").exists():
        with pytest.raises(InputError, match="'/dev/zero' is no model"):
            load_model("/dev/zero")
    assert re.search("is no model of a table", refused({"format": "something else"}, tmp_path))
    assert re.search("is no model of a table", refused(DecisionTreeClassifier(), tmp_path))
    whole = sio.dumps({"format": "bayes-svm model"})
    assert re.search("is no model", refused(whole[: len(whole) // 2], tmp_path))
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as packed:
        packed.writestr("other.json", "{}")
    assert re.search("is no model", refused((tmp_path / "empty.zip").read_bytes(), tmp_path))


def test_types_that_no_model_has_are_not_made(tmp_path):
    assert re.search(
        r"holds .*Stranger, which no model",
        refused({"format": "bayes-svm model", "more": Stranger()}, tmp_path),
    )
    assert re.search(
        r"holds .*, which no model", refused({"format": "bayes-svm model", "more": Path.unlink}, tmp_path)
    )


@pytest.mark.parametrize("change", [{"number": 1}, {"about": {"versions": {"bayes-svm": "7.1.0"}}}])
def test_other_major_versions_are_refused(tmp_path, change):
    content = sio.loads(model_bytes(fit(quick=True)), trusted=saved.TRUSTED)
    content.update(change)
    assert re.search(
        r"was made by bayes-svm \d.*, and this is .*: fit the table again", refused(content, tmp_path)
    )


@pytest.mark.parametrize(
    "change",
    [
        {"about": {"versions": {}}},
        {"columns": 5},
        {"columns": [{"name": "size"}]},
        {"transformer": None},
        {"estimator": DecisionTreeClassifier()},
        {"positive": "c"},
        {"threshold": "high"},
        {"promise": {"threshold": 0.5}},
        {"promise": {"threshold": 0.5, "max_risk": 0.1}},
        {"columns": []},
        {"impute": "yes"},
        {"identifiers": np.array(["a"])},
        {"target": 3},
        {"transformer": StandardScaler().fit(np.eye(2))},
    ],
)
def test_a_model_that_somebody_has_changed_is_refused(tmp_path, change):
    content = sio.loads(model_bytes(fit(quick=True)), trusted=saved.TRUSTED)
    content.update(change)
    assert re.search("is a damaged model: .*; make one with bayes-svm fit", refused(content, tmp_path))


@pytest.mark.parametrize(
    "change",
    [{"kind": "text"}, {"low": "x"}, {"name": "another"}, {"date": 5}],
    ids=lambda change: str(change),
)
def test_a_model_one_of_whose_columns_was_changed_is_refused(tmp_path, change):
    content = sio.loads(model_bytes(fit(quick=True)), trusted=saved.TRUSTED)
    content["columns"] = [{**content["columns"][0], **change}, *content["columns"][1:]]
    assert content["columns"][0]["kind"] == change.get("kind", "number")
    assert re.search("is a damaged model: .*; make one with bayes-svm fit", refused(content, tmp_path))


def test_another_version_of_scikit_learn_is_a_note(tmp_path, monkeypatch):
    path = tmp_path / "m.skops"
    with monkeypatch.context() as patched:
        patched.setattr("sklearn.base.__version__", "1.5.0")
        path.write_bytes(model_bytes(fit(quick=True)))
    _, notes = load_model(path)
    assert any("1.5.0" in note for note in notes)


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "m.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("schema.json", " " * 10_000_000)
    monkeypatch.setattr(source, "available_bytes", lambda: 1_000_000)
    monkeypatch.setattr(source, "ALWAYS_THERE", 0)
    with pytest.raises(InputError, match=r"is too large for the 0.0 GiB"):
        load_model(path)


def test_a_threshold_that_nothing_reaches_is_refused():
    from bayes_svm.report.aims import Aims

    random = np.random.default_rng(1)
    noise = Table("n.csv", "y", pd.DataFrame({"x": random.normal(size=60)}), np.array(["a", "b"] * 30))
    with pytest.raises(InputError, match=r"no model is saved. No threshold shows precision .*; ask for less"):
        model_bytes(fit_table(noise, Settings(quick=True, aims=Aims(precision=0.999))))
