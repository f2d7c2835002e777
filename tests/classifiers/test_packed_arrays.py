"""Arrays as compressed bytes."""

import pickle
import tracemalloc

import numpy as np
import pytest

from bayes_svm.classifiers.packed_arrays import PackedArrays, _lzma

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
    data = PackedArrays.of({"rows": rng.normal(size=(20, 3))}).data
    with pytest.raises(ValueError, match="The packed arrays are damaged"):
        PackedArrays(b"\xff" + data[1:]).arrays()
    for end in range(len(data) - 1):  # the last byte says no more than that this is the end
        with pytest.raises(ValueError, match=r"The packed arrays end [0-9]+ bytes too early"):
            PackedArrays(data[:end]).arrays()
    with pytest.raises(ValueError, match=r"The packed arrays end [0-9]+ bytes too early"):
        PackedArrays(compressed((100).to_bytes(8, "little") + b"{}")).arrays()


@pytest.mark.parametrize(
    "header",
    [
        *(b"rows", b"\xff", b"[1,2]", b"5", b"null", b'{"a":1}', b"[" * 60_000),
        *(f'{{"a":["{dtype}","|u1",[1000],false]}}'.encode() for dtype in ("<zz", "O", "<U1000000", "V9")),
        *(
            f'{{"a":["<f8","<f8",{shape},false]}}'.encode()
            for shape in ("[-1]", "[1.5]", '"ab"', f"[{2**70}]")
        ),
    ],
)
def test_wrong_headers_are_refused(header):
    data = compressed(len(header).to_bytes(8, "little") + header + bytes(1000))
    with pytest.raises(ValueError, match="The packed arrays are damaged"):
        PackedArrays(data).arrays()


def test_no_more_is_unpacked_than_the_arrays_take():
    """What would become a thousand times as large is not."""
    header = b'{"rows":["<f8","<f8",[60],false]}'
    bomb = compressed(len(header).to_bytes(8, "little") + header + bytes(10**8))
    long = compressed((10**8).to_bytes(8, "little") + bytes(10**8))
    tracemalloc.start()
    assert len(PackedArrays(bomb).arrays()["rows"]) == 60
    with pytest.raises(ValueError, match="The packed arrays are damaged"):
        PackedArrays(long).arrays()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 10**7


def compressed(data):
    module, how = _lzma()
    return module.compress(data, **how)
