"""Whatever array a loop is given, it answers with a result or a Python error that names the array."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _loops import NAMES, copied, loop, recorded


def entries(arguments):
    """Where the arrays among some arguments and in their records are: ``(argument, field or None)``."""
    for a, argument in enumerate(arguments):
        if isinstance(argument, np.ndarray):
            yield a, None
        elif hasattr(argument, "_fields"):
            for field in argument._fields:
                if isinstance(getattr(argument, field), np.ndarray):
                    yield a, field


def entry(arguments, place):
    a, field = place
    return arguments[a] if field is None else getattr(arguments[a], field)


def with_entry(arguments, place, value):
    """A copy of the arguments with another value in one place."""
    a, field = place
    out = [copied(argument) for argument in arguments]
    out[a] = value if field is None else out[a]._replace(**{field: value})
    return out


def misaligned(array):
    """The same values, one byte away from where they should be."""
    memory = np.empty(array.nbytes + 1, dtype=np.uint8)
    moved = memory[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def apart(array):
    """The same values with gaps between them."""
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), dtype=array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


WRONG = {
    "a list": lambda array: array.tolist(),
    "nothing": lambda array: None,
    "text": lambda array: "abc",
    "bytes": lambda array: array.tobytes(),
    "another type": lambda array: array.astype(np.int16 if array.dtype.kind == "i" else np.float16),
    "complex": lambda array: array.astype(complex),
    "objects": lambda array: array.astype(object),
    "bytes in the wrong order": lambda array: array.astype(array.dtype.newbyteorder()),
    "one dimension more": lambda array: array[..., None].copy(),
    "one dimension less": lambda array: array[0],
    "one row more": lambda array: np.concatenate([array, array[:1]]),
    "one row less": lambda array: array[:-1].copy(),
    "one column less": lambda array: array[..., :-1].copy() if array.ndim == 2 else array[:-1].copy(),
    "empty": lambda array: array[:0].copy(),
}
UNUSUAL = {"misaligned": misaligned, "apart": apart, "read-only": read_only}


def is_refused(name, arguments):
    """Whether a loop refuses the arguments, by an error that says something."""
    try:
        loop(name)(*arguments)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        if not str(error):
            raise
        return True
    return False


# Loops that are given indices. Those that -1 stands for nothing in do not refuse it.
INDEXED = {
    "matrix.block",
    "matrix.largest_sum",
    "matrix.smallest_of_rows",
    "matrix.sum_of_rows",
    "follow.enter_each",
    "shrink.shrink_each",
    "grow.grow_each",
    "optimality.check_moved",
    "certify.check_each",
    "certify.solve_each",
}
# A size that no other array has is right whatever it is.
SIZES = {"one row more", "one row less", "one column less", "empty"}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_array_is_a_python_error(name, wrong):
    call, refused, tried = recorded(name)[-1], 0, 0
    for place in entries(call):
        array = entry(call, place)
        if array.size == 0 or (array.dtype == bool and wrong == "bytes in the wrong order"):
            continue
        tried += 1
        # What a loop writes to was never filled: it may hold NaN that signal.
        with np.errstate(over="ignore", invalid="ignore"):
            value = WRONG[wrong](array)
        refused += is_refused(name, with_entry(call, place, value))
    assert refused == tried or wrong in SIZES


@pytest.mark.parametrize("unusual", UNUSUAL)
@pytest.mark.parametrize("name", NAMES)
def test_an_unusual_array_gives_the_same_or_is_refused(name, unusual):
    call = recorded(name)[-1]
    expected = [copied(argument) for argument in call]
    value = loop(name)(*expected)
    for place in entries(call):
        if entry(call, place).size == 0:
            continue
        given = with_entry(call, place, UNUSUAL[unusual](entry(call, place)))
        try:
            found = loop(name)(*given)
        except ValueError as error:
            if "writable" in str(error) or "aligned" in str(error):
                continue
            raise
        for one, other in zip(np.atleast_1d(found), np.atleast_1d(value), strict=True):
            np.testing.assert_array_equal(one, other)
        for where in entries(call):
            np.testing.assert_array_equal(entry(given, where), entry(expected, where))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324])
@pytest.mark.parametrize("name", NAMES)
def test_no_number_breaks_a_loop(name, value):
    random, tried = np.random.default_rng(0), 0
    for call in recorded(name, 3):
        # A path that numbers drive in circles ends after so many events.
        call = [min(a, 500) if isinstance(a, int) else a for a in call]
        for place in entries(call):
            array = entry(call, place)
            if array.dtype.kind != "f" or array.size == 0:
                continue
            for share in (0.0, 0.2, 1.0):
                changed = array.copy()
                hit = random.random(array.shape) < share
                hit.flat[random.integers(array.size)] = True
                with np.errstate(over="ignore"):
                    changed[hit] = value
                loop(name)(*with_entry(call, place, changed))
                tried += 1
    assert tried > 0


@pytest.mark.parametrize("value", [-(2**62), -2, -1, 10**6, 2**62])
@pytest.mark.parametrize("name", NAMES)
def test_an_index_out_of_range_is_refused_or_not_read(name, value):
    refused = 0
    for call in recorded(name, 3):
        for place in entries(call):
            array = entry(call, place)
            if array.dtype.kind != "i" or array.size == 0:
                continue
            for k in {0, array.size // 2, array.size - 1}:
                changed = array.copy()
                changed.flat[k] = value
                refused += is_refused(name, with_entry(call, place, changed))
    assert refused > 0 or name not in INDEXED or value == -1


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("name", NAMES)
def test_mixtures_of_wrong_arrays_are_survived(name, data):
    call = recorded(name)[data.draw(st.integers(0, len(recorded(name)) - 1))]
    places = list(entries(call))
    given = [copied(argument) for argument in call]
    for place in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=4, unique=True)):
        array = entry(given, place)
        if not isinstance(array, np.ndarray) or array.size == 0 or array.ndim == 0:
            continue
        change = data.draw(st.sampled_from([*WRONG.values(), *UNUSUAL.values()]))
        with np.errstate(over="ignore", invalid="ignore"):
            given = with_entry(given, place, change(array))
    is_refused(name, given)
    # Whatever it was given, it has written nowhere else.
    right = recorded(name)[0]
    found, again = ([copied(argument) for argument in right] for _ in range(2))
    value, expected = loop(name)(*found), loop(name)(*again)
    np.testing.assert_equal(found, again)
    np.testing.assert_equal(value, expected)
