"""Turning the columns of a table into the numbers that a machine sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayes_svm.utils.memory import require_bytes

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = ["feature_transformer", "fitted_features", "numeric_columns"]


def feature_transformer(frame: pd.DataFrame, *, impute: bool = False) -> Any:
    """Return an unfitted ColumnTransformer that turns a frame into a dense matrix of floats.

    Numeric columns are standardised, and the others are one-hot encoded.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns.
    impute : bool
        Whether to fill missing values in first: with the median of a numeric column, and with the most
        frequent value of any other.

    Returns
    -------
    ColumnTransformer
        The transformer.

    Raises
    ------
    MemoryError
        If the matrix does not fit into memory.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numeric = numeric_columns(frame)
    categorical = [name for name in frame.columns if name not in set(numeric)]
    width = len(numeric) + sum(frame[name].nunique() for name in categorical)
    require_bytes(
        # The columns of numbers and of texts, and the matrix of both.
        16 * len(frame) * width,
        f"A table of {len(frame):,} rows and {width:,} columns, one for each value of a column of text,",
        "Remove columns of names or identifiers, or rows.",
    )
    scale = [("scale", StandardScaler())]
    encode = [("encode", OneHotEncoder(handle_unknown="ignore", sparse_output=False))]
    if impute:
        scale.insert(0, ("impute", SimpleImputer(strategy="median")))
        encode.insert(0, ("impute", SimpleImputer(strategy="most_frequent")))
    return ColumnTransformer(
        [("numeric", Pipeline(scale), numeric), ("categorical", Pipeline(encode), categorical)]
    )


def fitted_features(transformer: Any, frame: pd.DataFrame, weight: np.ndarray | None) -> Any:
    """Fit a transformer to a frame whose rows count with weights, and transform the frame.

    Parameters
    ----------
    transformer : ColumnTransformer
        From :func:`feature_transformer`.
    frame : pandas.DataFrame
        The columns.
    weight : ndarray of shape (n,) or None
        How often each row counts in the means and the deviations; once if None. Medians that are filled in
        are those of the rows.

    Returns
    -------
    ndarray of shape (n, n_features)
        The features.
    """
    features, numeric = transformer.fit_transform(frame), numeric_columns(frame)
    if weight is None or not numeric:
        return features
    steps = transformer.named_transformers_["numeric"]
    values = frame[numeric] if len(steps) == 1 else steps[:-1].transform(frame[numeric])
    steps[-1].fit(values, sample_weight=weight)
    return transformer.transform(frame)


def numeric_columns(frame: pd.DataFrame) -> list[str]:
    """Names of the columns of numbers; columns of truth values are none."""
    import pandas as pd

    types = pd.api.types
    return [
        name
        for name in frame.columns
        if types.is_numeric_dtype(frame[name]) and not types.is_bool_dtype(frame[name])
    ]
