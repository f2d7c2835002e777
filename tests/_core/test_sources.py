"""A compiled loop does what its source does when Python runs it: the same bits, in every array."""

import re
from pathlib import Path

import numpy as np
import pytest

import bayes_svm._core
from _loops import NAMES, copied, loop, recorded
from _sources import sources
from bayes_svm._core import check_records, pair_records, records, removals

# Modules whose headers have constants of their own.
OWN = ("informative", "logistic", "optimality", "screen", "shrink", "smo", "team")


def arrays(arguments):
    """Every array among some arguments and in their records."""
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            yield argument
        elif hasattr(argument, "_fields"):
            yield from arrays(argument)


def bits(values):
    """The values as whole numbers, so that NaN is equal to itself."""
    values = np.ascontiguousarray(values)
    return values.view(np.int64) if values.dtype == float else values


@pytest.mark.parametrize("name", NAMES)
def test_it_has_the_bits_of_its_source(name):
    module, function = name.split(".")
    source = getattr(getattr(sources(), module), function)
    calls = recorded(name)
    assert calls
    for call in calls:
        ours, theirs = [[copied(argument) for argument in call] for _ in range(2)]
        found = loop(name)(*ours)
        with np.errstate(all="ignore"):
            expected = source(*theirs)
        for after, wanted in zip(arrays(ours), arrays(theirs), strict=True):
            np.testing.assert_array_equal(bits(after), bits(wanted))
        for one, other in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
            np.testing.assert_array_equal(bits(np.asarray(one)), bits(np.asarray(other)))


@pytest.mark.parametrize("module", [records, check_records, pair_records])
def test_a_struct_has_the_fields_of_its_record(module):
    header = Path(module.__file__).with_suffix(".pxd").read_text()
    for name, body in re.findall(r"cdef struct (\w+):\n((?:    .*\n)+)", header):
        record = getattr(module, name, None) or getattr(removals, name)
        fields = [line.split()[-1] for line in body.splitlines()]
        sizes = [field for field in fields if field not in record._fields]
        assert [field for field in fields if field not in sizes] == list(record._fields)
        assert all(isinstance(getattr(record, size), property) for size in sizes)


@pytest.mark.parametrize("module", [records, pair_records, *(vars(sources())[name] for name in OWN)])
def test_a_constant_has_the_same_value_in_c(module):
    header = Path(module.__file__).with_suffix(".pxd").read_text()
    constants = re.findall(r"#define (\w+) (\S+)", header) + re.findall(r"    (\w+) = (\d+)\n", header)
    assert constants
    for name, value in constants:
        assert getattr(module, name) == float(value)


def test_every_loop_has_a_source():
    folder = Path(bayes_svm._core.__file__).parent
    headers = {path.stem for path in folder.glob("*.pxd")} - {"records", "check_records", "pair_records"}
    assert {*vars(sources())} == headers - {"cpu"}
