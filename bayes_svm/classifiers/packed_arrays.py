"""Arrays as one compressed string of bytes, to store them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PackedArrays"]


@dataclass(frozen=True)
class PackedArrays:
    """Numeric arrays whose bytes follow each other, compressed by LZMA.

    Parameters
    ----------
    kinds : dict of (str, str, tuple of int, bool)
        By the name of each array its type, the type that it is stored as, its shape, and whether its first
        axis runs fastest.
    data : bytes
        The compressed bytes.
    """

    kinds: dict[str, tuple[str, str, tuple[int, ...], bool]]
    data: bytes

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> PackedArrays:
        """The arrays, compressed. Integers that are not negative are stored as the smallest type."""
        stored = {name: _narrow(array) for name, array in arrays.items()}
        # Numbers of eight bytes begin at a multiple of eight.
        order = sorted(stored, key=lambda name: -stored[name].itemsize)
        kinds = {
            name: (_code(arrays[name]), _code(stored[name]), arrays[name].shape, arrays[name].flags.fnc)
            for name in order
        }
        lzma, how = _lzma()
        return cls(kinds, lzma.compress(b"".join(stored[name].tobytes(order="A") for name in order), **how))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays again, in the same layout.

        Raises
        ------
        ValueError
            If the bytes are not those of such arrays.
        """
        sizes = [np.dtype(stored).itemsize * prod(shape) for _, stored, shape, _ in self.kinds.values()]
        # No more than the arrays take, whatever the bytes would become.
        lzma, how = _lzma()
        try:
            every = lzma.LZMADecompressor(**how).decompress(self.data, max_length=sum(sizes))
        except lzma.LZMAError as error:
            raise ValueError("The packed arrays are damaged.") from error
        if len(every) != sum(sizes):
            raise ValueError(f"The packed arrays need {sum(sizes)} bytes, and there are {len(every)}.")
        found = {}
        ends = np.cumsum(sizes)
        for (name, kind), end, size in zip(self.kinds.items(), ends, sizes, strict=True):
            dtype, stored, shape, first = kind
            flat = np.frombuffer(every[end - size : end], dtype=stored).astype(dtype)
            found[name] = flat.reshape(shape, order="F" if first else "C")
        return found


def _lzma() -> tuple[Any, dict[str, Any]]:
    """The module, which some builds of Python lack, and its fastest setting for numbers of eight bytes."""
    import lzma

    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "lc": 0, "lp": 3, "pb": 3}]
    return lzma, {"format": lzma.FORMAT_RAW, "filters": filters}


def _code(array: NDArray[Any]) -> str:
    """The type as text; equal ones are one object, which is pickled once."""
    return sys.intern(array.dtype.str)


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in "iu" or array.min(initial=0) < 0:
        return array
    return array.astype(np.min_scalar_type(array.max(initial=0)))
