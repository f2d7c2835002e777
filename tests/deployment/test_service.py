"""The web service of the documentation."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest

from _data import three_classes
from bayes_svm import BayesSVC

REASON = "{} is not installed: pip install skops fastapi httpx"
sio = pytest.importorskip("skops.io", reason=REASON.format("skops"))
pytest.importorskip("fastapi", reason=REASON.format("fastapi"))
pytest.importorskip("httpx", reason=REASON.format("httpx"))
SERVICE = Path(__file__).parents[2] / "docs/deployment/service.py"


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A model and a client of its service."""
    if not SERVICE.exists():
        pytest.skip(f"no documentation: {SERVICE} is absent")
    X, y = three_classes()
    model = BayesSVC().fit(X, np.array(["a", "b", "c"])[y])
    sio.dump(model.compact(), tmp_path / "model.skops")
    monkeypatch.setenv("MODEL", str(tmp_path / "model.skops"))
    spec = importlib.util.spec_from_file_location("service", SERVICE)
    service = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of FastAPI and its client
        from fastapi.testclient import TestClient

        spec.loader.exec_module(service)
        yield X, model, TestClient(service.app)


def test_it_answers_with_the_probabilities_of_the_model(served):
    X, model, client = served
    answer = client.post("/predict", json={"rows": X[:3].tolist()})
    assert answer.status_code == 200
    for found, expected in zip(answer.json(), model.predict_proba(X[:3]), strict=True):
        assert list(found) == ["a", "b", "c"]
        np.testing.assert_array_equal(list(found.values()), expected)


@pytest.mark.parametrize("rows", [[[1.0]], [], [[1.0, "x"]], [[1.0, 2.0], [1.0]], "nothing"])
def test_what_is_no_row_is_refused(served, rows):
    _, _, client = served
    assert client.post("/predict", json={"rows": rows}).status_code == 422


def test_a_number_that_is_not_finite_is_refused(served):
    _, _, client = served
    headers = {"content-type": "application/json"}
    assert client.post("/predict", content='{"rows": [[NaN, 1.0]]}', headers=headers).status_code == 422
