"""Matplotlib without a screen, and data to draw. Test files that import it are skipped without matplotlib."""

import warnings

import pytest
from sklearn.datasets import make_classification

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

# Matplotlib 3.8 calls names that pyparsing 3.3 deprecates.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from matplotlib import pyplot as plt

# Those deprecated names again.
pytestmark = pytest.mark.filterwarnings("ignore:.* deprecated - use:DeprecationWarning")

X, Y = make_classification(120, flip_y=0.2, random_state=0)

__all__ = ["X", "Y", "plt", "pytestmark"]
