"""What was found in columns, told per column and as notes."""

import string

import pytest

from bayes_svm.report.tables.findings import TOPICS, Finding, change_of, done_of, notes_of


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_has_sentences_of_the_name_and_the_example(topic):
    for template in TOPICS[topic]:
        fields = {name for _, name, _, _ in string.Formatter().parse(template) if name}
        assert fields <= {"keep", "drop", "groups", "missing", "example"}
    (note,) = notes_of([Finding("size", topic, 2, "7")])
    assert note.startswith("'size' (2): ")
    assert note.endswith(".")
    assert note.count("\n") == 0


def test_one_note_for_columns_alike():
    found = [Finding("a", "constant"), Finding("b", "marker", 3, "?"), Finding("c", "constant")]
    found += [Finding("d", "marker", 1, "?"), Finding("d", "marker", 2, "NA")]
    assert notes_of(found) == [
        "'a', 'c': left out: the same value in every row (--keep COL takes it in).",
        "'b' (3), 'd' (1): '?' read as missing (--keep COL takes it as a value).",
        "'d' (2): 'NA' read as missing (--keep d takes it as a value).",
    ]


def test_one_column():
    found = [Finding("my dose", "marker", 3, "?"), Finding("my dose", "marker", 1, "NA")]
    assert done_of(found) == "'?' read as missing (3); 'NA' read as missing (1)"
    # The same advice is given once, with the name as a shell takes it.
    assert change_of(found) == '--keep "my dose" takes it as a value'
    assert (done_of([]), change_of([])) == ("", "")
