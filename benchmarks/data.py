"""Data that the benchmarks are run on."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import scale


def noisy(n_samples: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Standardised rows with 20 features, 8 of them informative; a fifth of the labels are random."""
    X, y = make_classification(n_samples, n_informative=8, n_classes=n_classes, flip_y=0.2, random_state=0)
    return scale(X), y
