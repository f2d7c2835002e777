"""Arrays as compressed bytes."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from bayes_svm.classifiers.packed_arrays import PackedArrays

rng = np.random.default_rng(0)
ARRAYS = {
    "numbers": np.arange(300),
    "negative": np.array([-3, 4, 200]),
    "largest": np.array([2**64 - 1, 0], dtype=np.uint64),
    "small type": np.array([1, 2, 3], dtype=np.int32),
    "single precision": rng.normal(size=7).astype(np.float32),
    "columns first": np.asfortranarray(rng.normal(size=(4, 3))),
    "rows first": rng.normal(size=(4, 3)),
    "every other": rng.normal(size=(8, 6))[::2, ::3],
    "awkward": np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324]),
    "no rows": np.empty((0, 5)),
    "none": np.empty(0, dtype=np.intp),
}


def test_the_arrays_come_back_with_the_same_bits_types_and_layout():
    packed = pickle.loads(pickle.dumps(PackedArrays.of(ARRAYS)))
    found = packed.arrays()
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()
        assert found[name].flags.writeable
    assert found["columns first"].flags.f_contiguous
    assert found["rows first"].flags.c_contiguous
    assert PackedArrays.of({}).arrays() == {}


def test_integers_and_what_repeats_take_little():
    assert len(PackedArrays.of({"numbers": np.arange(250)}).data) < 400
    assert len(PackedArrays.of({"rows": np.tile(rng.normal(size=10), (500, 1))}).data) < 2000


def test_other_bytes_are_refused():
    packed = PackedArrays.of({"rows": rng.normal(size=(20, 3))})
    with pytest.raises(ValueError, match="The packed arrays are damaged"):
        replace(packed, data=b"\xff" + packed.data[1:]).arrays()
    with pytest.raises(ValueError, match=r"The packed arrays need 480 bytes, and there are [0-9]+"):
        replace(packed, data=packed.data[: len(packed.data) // 2]).arrays()
    # What would become a thousand times as large as the arrays is not unpacked.
    bomb = PackedArrays.of({"rows": np.zeros(60_000)})
    small = replace(bomb, kinds={"rows": ("<f8", "<f8", (60,), False)})
    assert len(small.arrays()["rows"]) == 60
