"""Data that several tests share."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification

IDA = (
    "banana", "breast-cancer", "diabetis", "flare-solar", "german", "heart", "image", "ringnorm", "splice",
    "thyroid", "titanic", "twonorm", "waveform",
)  # fmt: skip

# Labels that a page must escape.
THREE = ("<script>alert(1)</script>", "b&b", "c")


def _existing(*place):
    """Path of a file of the data, or skip the test."""
    root = Path(os.environ.get("BAYES_SVM_DATA", Path(__file__).parents[2] / "shared" / "data"))
    path = root.joinpath(*place)
    if not path.exists():
        pytest.skip(f"no data: {path} is absent, and BAYES_SVM_DATA names no folder that has it")
    return path


def attributes(name):
    """Codes of the categorical attributes of a UCI set, whose last column is the class; or skip the test."""
    cells = np.genfromtxt(_existing("uci", f"{name}.csv"), dtype=str, delimiter=",", skip_header=1)
    codes = [np.unique(column, return_inverse=True)[1] for column in cells[:, :-1].T]
    return np.column_stack(codes), cells[:, -1]


def ida(name):
    """Training part of the first split, columns standardised, constant columns 0; or skip the test."""
    path = _existing("ida", f"{name}.npz")
    with np.load(path) as file:
        split = file["train"] if len(file["train"]) else file["train_rand"]
        X, y = file["X"][split[0]], file["y"][split[0]]
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), y


def noisy(n=60, d=3, seed=0, noise=1.0):
    """Two overlapping classes, +1 and -1, no two points alike."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    y = np.where(X[:, 0] + noise * random.normal(size=n) > 0, 1, -1)
    y[:4] = [1, 1, -1, -1]
    return X, y


def three_classes(n=60, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return random.normal(size=(n, 2)) + 1.2 * np.column_stack([np.cos(2.1 * y), np.sin(2.1 * y)]), y


def awkward(n=30, d=2, seed=0, levels=3):
    """An integer grid: duplicate rows, both labels on one x, many points exactly on the margin."""
    random = np.random.default_rng(seed)
    X = random.integers(0, levels, size=(n, d)).astype(float)
    y = np.where(X.sum(axis=1) + random.integers(-1, 2, size=n) > d * (levels - 1) / 2, 1, -1)
    y[:4] = [1, 1, -1, -1]
    return X, y


def flipped(n=600, flip_y=0.1):
    """Two classes, some of their labels redrawn."""
    return make_classification(n, flip_y=flip_y, random_state=0)


def problem(seed, n, levels, weighted):
    """Labels, values with ties, and integer weights, some of them 0."""
    random = np.random.default_rng(seed)
    y = np.r_[0, 1, random.integers(0, 2, n - 2)]
    values = np.round((random.normal(size=n) + y) * levels) / levels
    weight = random.integers(0, 4, n).astype(float) if weighted else np.ones(n)
    weight[:2] = 1.0
    return y, values, weight
