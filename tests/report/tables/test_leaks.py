"""Columns that would tell the class without having learned it."""

import numpy as np
import pytest

from bayes_svm.report.tables.leaks import leak_of, worth_knowing

pytest.importorskip("pandas")
N = 40
HALVES = np.repeat([0, 1], N // 2)
MIXED = np.arange(N) % 2
RANDOM = np.random.default_rng(0)


def texts(values):
    return np.array([str(one) for one in values], dtype=object)


@pytest.mark.parametrize(
    ("values", "name", "y", "leak"),
    [
        (np.arange(N) + 1.0, "x", MIXED, "row numbers"),
        (RANDOM.permutation(N) + 100.0, "x", MIXED, "row numbers"),
        (np.arange(N) * 3.0, "x", MIXED, None),
        (np.arange(N) * 3.0, "x", HALVES, "sorted"),
        (-np.arange(N) * 0.7, "x", HALVES, "sorted"),
        (HALVES + RANDOM.normal(size=N), "x", HALVES, None),
        # Values that are missing, and lots of several rows, hide nothing; few values may be so by chance.
        (np.where(np.arange(N) == 7, np.nan, np.arange(N) * 3.0), "x", HALVES, "sorted"),
        (np.arange(N) // 5 * 1.0, "x", HALVES, "sorted"),
        (10.0 - np.arange(N) // 7, "x", HALVES, "sorted"),
        (texts(np.arange(N) // 7), "x", HALVES, "sorted"),
        (texts(np.arange(N) // 7), "x", MIXED, None),
        (np.where(np.arange(N) > 17, 1.0, 0.0), "x", HALVES, None),
        (texts(RANDOM.integers(0, 4, N)), "x", HALVES, None),
        (texts(np.arange(N) // 2 * 37), "customerid", MIXED, "identifier"),
        (texts(np.arange(N) // 2 * 37), "case_no", MIXED, "identifier"),
        (np.arange(N) // 2 * 37.0, "no_patients", MIXED, None),
        (np.arange(N) // 2 * 37.0, "case_index", MIXED, None),
        (texts(f"${k}.5" for k in range(N)), "x", MIXED, "amounts"),
        (texts(f"{k}.5 kg" for k in range(N)), "x", MIXED, "amounts"),
        *(
            (texts(form.format(k) for k in range(N)), "x", MIXED, "all texts")
            for form in ("K1{:03d}", "{:03d}.jpg", "#{}", "({})", "_{}", "{}th", "{:03d}:", "№{}")
        ),
        # Few known values are in order by chance, and so are texts of which nearly all differ.
        (np.where(np.isin(np.arange(N), [3, 30, 35]), np.arange(N) * 1.0, np.nan), "x", HALVES, None),
        (np.array([["a", np.nan][k % 9 > 0] for k in range(N)], dtype=object), "x", HALVES, None),
        (texts(np.r_[0, 0, 2:N]), "x", HALVES, None),
        (texts(np.arange(N) * 7), "x", MIXED, "all texts"),
        (np.full(N, 5.0), "x", MIXED, "constant"),
        (texts(np.tile(["no", "yes", "No", "Yes"], N // 4)), "x", MIXED, "copy"),
        (texts(np.tile(["aa", "AA", "aA", "Aa"], N // 4)), "x", MIXED, None),
        (np.full(N, np.nan), "x", MIXED, "empty"),
        (np.where(MIXED, 7.5, -2.0), "x", MIXED, "copy"),
        (texts(np.where(MIXED, "ill", "well")), "x", MIXED, "copy"),
        (np.where(MIXED, RANDOM.normal(size=N), np.nan), "died on", MIXED, "missing by class"),
        (RANDOM.permutation(3 * N)[:N] + 0.0, "patient_id", MIXED, "identifier"),
        (np.repeat(np.arange(N // 2), 2) + 0.0, "PatientID", HALVES, "identifier"),
        (np.repeat(np.arange(N // 2), 2) + 0.0, "Unnamed: 0", MIXED, "identifier"),
        (RANDOM.normal(size=N), "id", MIXED, None),
        (np.repeat(np.arange(N // 4), 4) + 0.0, "student", MIXED, "identifier"),
        # Names that identifiers have, of columns that are none.
        (texts(np.where(RANDOM.random(N) < 0.5, "yes", "no")), "student", MIXED, None),
        (RANDOM.integers(2, 9, size=N) + 0.0, "Number", MIXED, None),
        # Counts of genes are whole numbers that are all different.
        (RANDOM.permutation(1000)[:N] + 0.0, "BRCA1", MIXED, None),
        (RANDOM.permutation(1000)[:N] + 0.0, "fatty acid", MIXED, None),
        (texts(RANDOM.integers(3, size=N)), "colour", MIXED, None),
    ],
)
def test_what_is_left_out(values, name, y, leak):
    assert leak_of(values, name, y) == leak


def topics(values, name, y, left_out=False):
    return [one.topic for one in worth_knowing(values, name, y, left_out)]


@pytest.mark.parametrize(
    ("before", "after", "told"), [("", "y", True), ("\u20ac", "", True), ("", " mg/l", True), ("", "", False)]
)
def test_numbers_with_a_unit_are_named(before, after, told):
    ages = [f"{before}{number}{after}" for number in RANDOM.integers(20, 30, size=N)]
    found = [one for one in worth_knowing(texts(ages), "age", MIXED, False) if one.topic == "unit"]
    assert [one.example for one in found] == ([ages[0]] if told else [])


def test_texts_of_several_units_are_not_taken_for_numbers():
    mixed = texts(np.char.add(np.tile([*"34567"], 8), np.repeat(["y", "m"], 20)))
    assert topics(mixed, "age", MIXED) == []


def test_what_is_named():
    assert topics(RANDOM.permutation(1000)[:N] + 0.0, "BRCA1", MIXED) == ["distinct"]
    assert topics(RANDOM.normal(size=N), "x", MIXED) == []
    assert topics(np.full(N, np.nan, dtype=object), "x", MIXED) == []
    assert topics(texts(RANDOM.integers(3, size=N)), "colour", MIXED) == []
    # Codes of which each is in one class only may be known only after the class.
    assert topics(np.array([0.0, 1.0, 2.0, 1.0] * 10), "code", MIXED) == ["tells class"]
    assert topics(texts(np.tile(np.arange(60), 4)), "free text", np.repeat([0, 1], 120)) == ["repeats"]
    assert topics(texts(np.r_[np.arange(60), [0] * 20]), "free text", np.arange(80) % 2) == ["many texts"]


def test_codes_of_subjects_under_any_name():
    assert topics(texts(f"S{k % 20:02}" for k in range(80)), "x", np.arange(80) // 3 % 2) == ["repeats"]
    assert topics(texts(f"{'ABCDE'[k % 5]}{k % 3 + 1}" for k in range(80)), "x", np.arange(80) // 3 % 2) == []
    assert topics(texts(f"p{k % 20}" for k in range(80)), "x", np.arange(80) // 3 % 2) == ["repeats"]
    assert topics(texts(f"p{1 + 9 * (k % 20)}" for k in range(80)), "x", np.arange(80) // 3 % 2) == ["unit"]
    assert topics(texts(f"USD{100 + k % 20}" for k in range(80)), "x", np.arange(80) // 3 % 2) == ["unit"]


def test_subjects_with_several_rows():
    patients = np.repeat(np.arange(10), 4) + 0.0
    assert topics(patients, "patient", MIXED) == ["repeats"]
    assert topics(patients, "patient", MIXED, left_out=True) == ["repeats"]
    assert topics(patients, "score", MIXED) == []


def test_consecutive_dates_are_not_called_numbers():
    days = RANDOM.permutation(N) + 18000.0
    assert leak_of(days, "day", MIXED, dates=True) == "daily dates"
    assert leak_of(2 * days, "day", MIXED, dates=True) is None
    at_ten = days + 10 / 24
    assert leak_of(at_ten, "day", MIXED, dates=True) == "daily dates"
    assert leak_of(at_ten, "score", MIXED) is None
    at_ten[3] += 0.01
    assert leak_of(at_ten, "day", MIXED, dates=True) is None


FIFTIES = np.repeat([0, 1], 50)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (texts(np.where(FIFTIES ^ (np.arange(100) == 7), "ill", "well")), [("near copy", 1)]),
        # A copy, but for a missing value.
        (np.where(np.arange(100) == 7, np.nan, FIFTIES), [("splits classes", 0)]),
        (FIFTIES + np.linspace(0.0, 0.9, 100), [("splits classes", 0)]),
        (-FIFTIES + np.where(np.arange(100) == 70, 5.5, np.linspace(0.0, 0.9, 100)), [("near copy", 1)]),
        # Three exceptions are too many to be named among 50 rows of the rarer class.
        (FIFTIES ^ (np.arange(100) % 40 == 7), []),
        (RANDOM.normal(size=100), []),
    ],
)
def test_near_copies_are_named(values, told):
    y = FIFTIES
    found = worth_knowing(values if values.dtype == object else values + 0.0, "x", y, False)
    assert [(one.topic, one.count) for one in found] == told
    assert worth_knowing(values if values.dtype == object else values + 0.0, "x", y, True) == []


def test_a_copy_that_was_lost_in_a_row_is_a_copy():
    y = (np.arange(N) % 3 == 0).astype(int)
    values = y.astype(float)
    values[7] = np.nan
    assert leak_of(values, "x", y) == "copy"
    assert leak_of(texts(np.where(y, "pos", "neg")), "x", y) == "copy"
    values[8] = values[9] = np.nan
    assert leak_of(values, "x", y) is None
    # Of a few rows it is so by chance.
    assert leak_of(np.array([1.0, np.nan, 1.0, 0.0]), "x", np.array([0, 1, 0, 1])) is None


def test_a_text_for_one_class_and_remarks_on_the_rows_of_the_other_tell_the_class():
    values = texts([f"remark {k}" if k % 2 else "nothing" for k in range(N)])
    assert [one.topic for one in worth_knowing(values, "x", MIXED, False)] == ["splits classes"]
    # Names of all rows tell nothing.
    assert worth_knowing(texts(np.arange(N)), "x", MIXED, False) == []
