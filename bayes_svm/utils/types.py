"""Types of arrays: floats, row or class numbers, and booleans."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Indices", "Mask"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
