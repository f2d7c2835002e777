import json
from dataclasses import fields, is_dataclass

import pytest

from _data import THREE
from bayes_svm.report.keys import KEYS
from bayes_svm.report.record import Report
from bayes_svm.report.render import to_json


@pytest.mark.parametrize("labels", [THREE[:2], THREE])
def test_json_is_strict_and_explains_its_keys(report, labels):
    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    data = json.loads(to_json(report(labels)), parse_constant=refuse)
    assert set(data) - {"keys"} == {key.split(".")[0] for key in KEYS}
    assert data["keys"] == KEYS
    for key in KEYS:
        value = data
        for part in key.split("."):
            value = value[int(part) if part.isdigit() else part]
    assert data["positive"] == (labels[1] if len(labels) == 2 else None)
    assert len(data["surprising"]) == 10
    # The averages over three classes have no interval.
    assert (data["performance"]["recall"]["low"] is None) == (len(labels) == 3)


def test_every_part_of_a_report_has_a_key():
    assert is_dataclass(Report)
    assert {one.name for one in fields(Report)} == {key.split(".")[0] for key in KEYS}
