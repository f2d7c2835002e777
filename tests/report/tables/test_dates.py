"""Dates as people write them."""

import numpy as np
import pytest

from bayes_svm.report.tables.dates import date_formats, date_of, days

pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("texts", "formats"),
    [
        (["2021-03-04", "2020-12-31"], ("%Y-%m-%d",)),
        (["2021-03-04 12:30", "2020-12-31 00:00"], ("%Y-%m-%d %H:%M",)),
        (["04.03.2021", "31.12.2020"], ("%d.%m.%Y",)),
        (["04/03/2021", "31/12/2020"], ("%d/%m/%Y",)),
        (["04/03/2021", "12/31/2020"], ("%m/%d/%Y",)),
        # Day or month first: nobody knows.
        (["04/03/2021", "05/06/2020"], ("%d/%m/%Y", "%m/%d/%Y")),
        # Both give the same dates.
        (["04/04/2021", "05/05/2020"], ("%d/%m/%Y",)),
        (["4 Mar 2021", "31 Dec 2020"], ("%d %b %Y",)),
        (["2021-03-04T12:30:00Z", "2020-12-31T00:00:00Z"], ("%Y-%m-%dT%H:%M:%S%z",)),
        (["2021-03-04 12:30:00+00:00", "2020-12-31 00:00:00+02:00"], ("%Y-%m-%d %H:%M:%S%z",)),
        (["2021-03-04 12:30:00.5", "2020-12-31 00:00:00.000001"], ("%Y-%m-%d %H:%M:%S.%f",)),
        (["2021-03-04T12:30:00.500-0500"], ("%Y-%m-%dT%H:%M:%S.%f%z",)),
        (["03/04/2021 01:30 PM", "12/31/2020 12:00 AM"], ("%m/%d/%Y %I:%M %p",)),
        (["2021-03-04 25:30:00", "2020-12-31 00:00:00"], ()),
        (["2021-03-04", "unknown1"], ()),
        (["2021-13-04"], ()),
        (["12345678"], ()),
        (["abc"], ()),
        ([], ()),
    ],
)
def test_formats(texts, formats):
    assert date_formats(texts) == formats


def test_days():
    np.testing.assert_array_equal(days(["1970-01-02", "x", "1969-12-31"], "%Y-%m-%d"), [1.0, np.nan, -1.0])
    assert days(["1970-01-01 12:00"], "%Y-%m-%d %H:%M") == [0.5]
    zoned = ["1970-01-02T02:00:00+02:00", "1970-01-01T12:00:00-12:00", "1970-01-02T00:00:00Z"]
    np.testing.assert_array_equal(days(zoned, "%Y-%m-%dT%H:%M:%S%z"), [1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("text", "form"),
    [("2021-03-04", "%Y-%m-%d"), ("1901-12-31", "%Y-%m-%d"), ("2021-03-04 10:30:05", "%Y-%m-%d %H:%M:%S")],
)
def test_days_are_written_as_they_were(text, form):
    assert date_of(float(days([text], form)[0])) == text
