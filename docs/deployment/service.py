"""Probabilities over HTTP: ``uvicorn service:app`` in this folder, with the model saved in MODEL.

Save it with ``skops.io.dump(model.compact(), "model.skops")``, where ``model`` is a fitted BayesSVC; save a
pipeline whole.
"""

import os

import skops.io
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

from bayes_svm.deployment import TRUSTED_TYPES

model = skops.io.load(os.environ.get("MODEL", "model.skops"), trusted=TRUSTED_TYPES)
app = FastAPI(title="Probabilities of a BayesSVC")


class Rows(BaseModel):
    """Rows to predict, with the features in the order of the training data."""

    rows: list[list[float]] = Field(min_length=1, max_length=1000)


@app.post("/predict")
def predict(query: Rows) -> list[dict[str, float]]:
    """Probability of each class, for each row."""
    try:
        proba = model.predict_proba(query.rows).tolist()
    except ValueError as error:  # another number of features, or a number that is not finite
        raise HTTPException(422, str(error)) from error
    return [dict(zip(map(str, model.classes_.tolist()), row, strict=True)) for row in proba]
