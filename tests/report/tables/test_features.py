"""The numbers that a machine sees of a table."""

import numpy as np
import pytest

from bayes_svm.report.tables.features import feature_transformer
from bayes_svm.report.tables.options import Options
from bayes_svm.report.tables.reading import read_table

pd = pytest.importorskip("pandas")


def features(table, **options):
    return feature_transformer(table.frame, **options).fit_transform(table.frame)


def test_numbers_are_standardised_and_texts_encoded():
    frame = pd.DataFrame({"age": [20.0, 22.0, 30.0, 41.0], "sex": ["f", "m", "f", "m"]})
    found = feature_transformer(frame).fit_transform(frame)
    assert found.shape == (4, 3)
    np.testing.assert_allclose(found[:, 0].mean(), 0, atol=1e-12)
    np.testing.assert_allclose(found[:, 0].std(), 1)
    assert found[0, 1:].tolist() == [1, 0]


def test_missing_values_are_filled_in(write):
    text = "a,b,c,y\n1,u,,p\n,u,,q\n3,,,p\n8,v,,q\n"
    found = features(read_table(write(text), "y", Options(impute=True)), impute=True)
    assert np.isfinite(found).all()
    filled = np.array([1, 3, 3, 8])
    np.testing.assert_allclose(found[:, 0], (filled - filled.mean()) / filled.std())
    assert found[:, 1].tolist() == [1, 1, 1, 0]


def test_missing_truth_values_are_filled_in(write):
    table = read_table(write("a,y\nTrue,p\n,q\nTrue,p\nFalse,q\n"), "y", Options(impute=True))
    assert features(table, impute=True)[:, 1].tolist() == [1, 1, 1, 0]


def test_a_column_of_texts_is_refused_before_it_is_encoded(write, small_memory):
    table = read_table(write("name,y\n" + "".join(f"n{k % 250},{k % 3 % 2}\n" for k in range(500))), "y")
    small_memory(16 * 500 * 250 - 1)
    with pytest.raises(MemoryError, match=r"500 rows and 250 columns.* needs 2,000,000 bytes.* Remove"):
        feature_transformer(table.frame)
    small_memory(16 * 500 * 250)
    assert features(table).shape == (500, 250)
