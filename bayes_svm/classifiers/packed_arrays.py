"""Arrays as one compressed string of bytes, to store them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PackedArrays"]

# Bytes of a number, and of the longest header that is read.
WORD, LONGEST_HEADER = 8, 2**16
# Kinds of types that are packed, and more numbers than any array has.
NUMERIC, MOST = "biuf", 2**48
DAMAGED = "The packed arrays are damaged."


@dataclass(frozen=True)
class PackedArrays:
    """Numeric arrays whose bytes follow each other, compressed by LZMA.

    Parameters
    ----------
    data : bytes
        The compressed bytes: the length of the header in eight bytes, the header, and the arrays. The header
        is JSON: by the name of each array its type, the type that it is stored as, its shape, and whether
        its first axis runs fastest.
    """

    data: bytes

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> PackedArrays:
        """The arrays, compressed. Integers that are not negative are stored as the smallest type."""
        stored = {name: _narrow(array) for name, array in arrays.items()}
        # Numbers of eight bytes begin at a multiple of eight.
        order = sorted(stored, key=lambda name: -stored[name].itemsize)
        kinds = {
            name: (arrays[name].dtype.str, stored[name].dtype.str, arrays[name].shape, arrays[name].flags.fnc)
            for name in order
        }
        header = json.dumps(kinds, separators=(",", ":")).encode()
        header += b" " * (-len(header) % WORD)
        parts = [len(header).to_bytes(WORD, "little"), header]
        parts += [stored[name].tobytes(order="A") for name in order]
        lzma, how = _lzma()
        return cls(lzma.compress(b"".join(parts), **how))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays again, in the same layout.

        Raises
        ------
        ValueError
            If the bytes are not those of such arrays.
        """
        read = _reader(self.data)
        length = int.from_bytes(read(WORD), "little")
        if length > LONGEST_HEADER:
            raise ValueError(DAMAGED)
        found = {}
        for name, dtype, stored, shape, first in _kinds(read(length)):
            flat = np.frombuffer(read(stored.itemsize * prod(shape)), dtype=stored).astype(dtype)
            found[name] = flat.reshape(shape, order="F" if first else "C")
        return found


def _kinds(header: bytes) -> Iterator[tuple[str, np.dtype[Any], np.dtype[Any], tuple[int, ...], bool]]:
    """Name, type, stored type and shape of each array, and whether its first axis runs fastest."""
    try:
        for name, (dtype, stored, shape, first) in json.loads(header).items():
            types = np.dtype(dtype), np.dtype(stored)
            axes = tuple(index(one) for one in shape)
            numeric = all(one.kind in NUMERIC for one in types) and np.can_cast(*types[::-1], "same_kind")
            if not numeric or min(axes, default=0) < 0 or prod(axes) > MOST:
                raise ValueError(DAMAGED)
            yield name, *types, axes, bool(first)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(DAMAGED) from error


def _reader(data: bytes) -> Callable[[int], bytes]:
    """A function that returns the next so many uncompressed bytes, and never makes more of them."""
    lzma, how = _lzma()
    decompressor = lzma.LZMADecompressor(**how)

    def read(size: int) -> bytes:
        nonlocal data
        try:
            part = decompressor.decompress(data, max_length=size) if size else b""
        except (lzma.LZMAError, EOFError) as error:
            raise ValueError(DAMAGED) from error
        if len(part) != size:
            raise ValueError(f"The packed arrays end {size - len(part)} bytes too early.")
        data = b""  # the decompressor keeps what it has not read
        return part

    return read


def _lzma() -> tuple[Any, dict[str, Any]]:
    """The module, which some builds of Python lack, and its fastest setting for numbers of eight bytes."""
    import lzma

    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "lc": 0, "lp": 3, "pb": 3}]
    return lzma, {"format": lzma.FORMAT_RAW, "filters": filters}


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in "iu" or array.min(initial=0) < 0:
        return array
    return array.astype(np.min_scalar_type(array.max(initial=0)))
