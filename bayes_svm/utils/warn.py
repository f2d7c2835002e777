"""Warnings that point to the line of the user's code."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import joblib
import sklearn

__all__ = ["warn"]

LIBRARIES = tuple(
    f"{folder}{os.sep}"
    for folder in (Path(__file__).parents[1], Path(joblib.__file__).parent, Path(sklearn.__file__).parent)
)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside this package, joblib and scikit-learn.

    Parameters
    ----------
    message : str
        Text of the warning.
    category : type of Warning, default=UserWarning
        Class of the warning.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(LIBRARIES):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
