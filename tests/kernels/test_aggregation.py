import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayes_svm import AggregationKernel, AggregationTransformer, BayesSVC, leave_one_out


def slow(X, Z, weights, hypersphere):
    """Kernel values computed pair by pair and attribute by attribute; None is unknown."""

    def plain(x, z):
        shared = sum(w for w, a, b in zip(weights, x, z, strict=True) if a is not None and a == b)
        return shared / sum(weights)

    values = np.array([[plain(x, z) for z in Z] for x in X])
    if hypersphere:
        for i, x in enumerate(X):
            for j, z in enumerate(Z):
                length = np.sqrt(plain(x, x) * plain(z, z))
                values[i, j] = values[i, j] / length if length > 0 else 0.0
    return values


def symbols(n=14, d=4, seed=0):
    random = np.random.default_rng(seed)
    return random.choice(np.array([None, "a", "b", "c"], dtype=object), (n, d))


WEIGHTS = [1.0, 0.0, 2.5, 0.3]


@pytest.mark.parametrize("hypersphere", [True, False])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_it_is_the_formula(weights, hypersphere):
    X, Z = symbols(), symbols(n=6, seed=1)
    X[0] = None
    Z[0] = None
    expected = slow(X, Z, weights or [1.0] * 4, hypersphere)
    number = {None: -1, "a": 0, "b": 3, "c": 7}
    codes = [np.vectorize(number.get)(rows).astype(float) for rows in (X, Z)]
    kernel = AggregationKernel(weights, hypersphere)
    np.testing.assert_allclose(kernel(*codes), expected, atol=1e-14)
    codes = [np.where(rows < 0, np.nan, rows) for rows in codes]
    np.testing.assert_allclose(kernel(*codes), expected, atol=1e-14)
    np.testing.assert_allclose(
        kernel(codes[0], np.where(np.isnan(codes[1]), -5, codes[1])), expected, atol=1e-14
    )
    found = AggregationTransformer(weights, hypersphere=hypersphere).fit(Z).transform(X)
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_one_hot_columns_have_the_kernel_as_their_product():
    codes = np.array([[0, 5, -1, 2], [0, -1, -1, 2], [1, 5, -1, 0], [-1, -1, -1, -1]])
    columns, attribute = AggregationKernel(WEIGHTS).one_hot(codes)
    expected = AggregationKernel(WEIGHTS, hypersphere=False)(codes, codes) * sum(WEIGHTS)
    np.testing.assert_allclose((columns @ columns.T).toarray(), expected, atol=1e-14)
    assert attribute.tolist() == [0, 0, 1, 3, 3]


@pytest.mark.parametrize("machine", [SVC, BayesSVC])
def test_a_machine_takes_it_as_its_kernel(machine):
    codes = np.random.default_rng(0).integers(-1, 3, (60, 4))
    y = np.where(codes[:, 0] == 1, "yes", "no")
    callable_ = machine(kernel=AggregationKernel(WEIGHTS)).fit(codes, y)
    pipeline = make_pipeline(AggregationTransformer(WEIGHTS, unknown=-1), machine(kernel="precomputed"))
    values = pipeline.fit(codes, y).decision_function(codes)
    np.testing.assert_allclose(callable_.decision_function(codes), values, atol=1e-8)
    again = pickle.loads(pickle.dumps(clone(callable_).fit(codes, y)))
    np.testing.assert_array_equal(again.decision_function(codes), callable_.decision_function(codes))


def test_a_grid_may_hold_kernels_with_arrays():
    codes = np.random.default_rng(0).integers(-1, 3, (60, 4))
    y = np.where(codes[:, 0] == 1, "yes", "no")
    kernels = [AggregationKernel(np.array(weights)) for weights in ([0.0, 1, 1, 1], [1.0, 0, 0, 0])]
    assert GridSearchCV(SVC(), {"kernel": kernels}, cv=3).fit(codes, y).best_index_ == 1


def test_leave_one_out_takes_it():
    codes = np.random.default_rng(0).integers(-1, 3, (40, 4))
    y = np.where(codes[:, 0] == 1, 1, -1)
    K = AggregationKernel()(codes, codes)
    found = leave_one_out(SVC(kernel=AggregationKernel()), codes, y).decision_values
    expected = leave_one_out(SVC(kernel="precomputed"), K, y).decision_values
    np.testing.assert_allclose(found, expected, atol=1e-8)


class TestColumns:
    values = ("x", "y", None, "?", "x")
    codes = (0, 1, -1, -1, 0)

    @pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
    @pytest.mark.parametrize("dtype", [object, "category", "string"])
    def test_of_every_kind_of_pandas(self, dtype, missing):
        column = [missing if value is None else value for value in self.values]
        frame = pd.DataFrame({"one": pd.Series(column, dtype=dtype), "two": [1, 1, 2, 2, 3]})
        fitted = AggregationTransformer().fit(frame)
        np.testing.assert_array_equal(fitted.codes_[:, 0], self._numbered(fitted))
        assert fitted.codes_[:, 1].tolist() == [0, 0, 1, 1, 2]
        assert fitted.feature_names_in_.tolist() == ["one", "two"]
        assert fitted.transform(frame).shape == (5, 5)
        assert [list(known) for known in fitted.categories_] == [["x", "y"], [1, 2, 3]]

    def _numbered(self, fitted):
        """Codes number all categories, including the marker of unknown values."""
        shift = int("?" in fitted._encoder.categories_[0])
        return [code + shift if code >= 0 else -1 for code in self.codes]

    def test_of_numbers_and_truth(self):
        frame = pd.DataFrame({"a": pd.array([1, None, 1], dtype="Int64"), "b": [True, False, None]})
        np.testing.assert_array_equal(AggregationTransformer(hypersphere=False).fit_transform(frame), [
            [1, 0, 0.5], [0, 0.5, 0], [0.5, 0, 0.5],
        ])  # fmt: skip

    def test_of_a_marker_that_is_a_number(self):
        X = np.array([[0, 9], [9, 9], [0, 1]])
        found = AggregationTransformer(unknown=9, hypersphere=False).fit_transform(X)
        np.testing.assert_array_equal(found, [[0.5, 0, 0.5], [0, 0, 0], [0.5, 0, 1]])

    def test_without_a_marker(self):
        found = AggregationTransformer(unknown=None).fit_transform([["?", "a"], ["?", "b"]])
        np.testing.assert_allclose(found, [[1, 0.5], [0.5, 1]])


def test_a_value_not_seen_in_fit_matches_nothing_but_counts_in_the_length():
    fitted = AggregationTransformer(hypersphere=False).fit([["a", "u"], ["b", "u"]])
    np.testing.assert_array_equal(fitted.transform([["new", "u"], ["new", "new"]]), [[0.5, 0.5], [0, 0]])


@pytest.mark.parametrize(
    ("fitted", "new"),
    [([[1], [2]], [["1"], ["3"]]), ([["a"], ["b"]], [[1], [2]]), ([["a"], ["b"]], [[np.nan], [np.nan]])],
)
def test_values_of_another_type_match_nothing(fitted, new):
    transformer = AggregationTransformer().fit(np.array(fitted))
    np.testing.assert_array_equal(transformer.transform(np.array(new)), np.zeros((2, 2)))
    np.testing.assert_array_equal(transformer.transform(np.array(fitted)), np.eye(2))


@pytest.mark.parametrize("unit", ["D", "us", "ns"])
def test_times_match_themselves(unit):
    X = np.array([["2020-01-01", "2021-01-01"], ["2020-01-02", "2021-01-01"]], dtype=f"datetime64[{unit}]")
    found = AggregationTransformer(hypersphere=False).fit(X).transform(X)
    np.testing.assert_array_equal(found, [[1.0, 0.5], [0.5, 1.0]])


class TestUnknownValuesOfNewRows:
    """In a column that had none in training they are unknown as well."""

    half = ((0.5**0.5, 0.0),)

    @pytest.mark.parametrize("value", ["?", None, np.nan])
    def test_among_strings(self, value):
        fitted = AggregationTransformer().fit([["red", "round"], ["green", "long"]])
        for rows in ([["red", value]], np.array([["red", value]], dtype=object)):
            np.testing.assert_allclose(fitted.transform(rows), self.half)

    @pytest.mark.parametrize("value", ["?", None, np.nan, pd.NA])
    @pytest.mark.parametrize("dtype", [object, "category", "string"])
    def test_in_a_frame(self, dtype, value):
        fitted = AggregationTransformer().fit(pd.DataFrame({"a": ["x", "y"], "b": ["u", "v"]}, dtype=dtype))
        new = pd.DataFrame({"a": ["x"], "b": pd.Series([value], dtype=object)}).astype(dtype)
        np.testing.assert_allclose(fitted.transform(new), self.half)

    @pytest.mark.parametrize("value", [-1, None, np.nan])
    def test_among_numbers(self, value):
        fitted = AggregationTransformer(unknown=-1).fit([[0, 1], [1, 2]])
        np.testing.assert_allclose(fitted.transform([[0, value]]), self.half)
        np.testing.assert_allclose(fitted.transform(np.array([[0, value]], dtype=float)), self.half)

    def test_of_another_kind_than_in_training(self):
        fitted = AggregationTransformer().fit(np.array([["red", None], ["green", "long"]], dtype=object))
        for value in (np.nan, "?", pd.NA):
            np.testing.assert_allclose(fitted.transform(np.array([["red", value]], dtype=object)), [[1, 0]])

    def test_beside_new_values(self):
        fitted = AggregationTransformer(unknown=-1).fit([[0, 1], [1, 2]])
        np.testing.assert_allclose(fitted.transform([[0, 7], [-1, 1], [9, -1]]), [
            [0.5, 0.0], [0.5**0.5, 0.0], [0.0, 0.0],
        ])  # fmt: skip


def test_names_of_the_output():
    fitted = AggregationTransformer().set_output(transform="pandas").fit([["a"], ["b"]])
    out = fitted.transform([["a"]])
    assert out.columns.tolist() == ["aggregationtransformer0", "aggregationtransformer1"]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "one weight for each"),
        ([1.0, -1.0, 1.0], "at least 0"),
        ([0.0, 0.0, 0.0], "not all 0"),
        ([1.0, np.inf, 1.0], "finite"),
    ],
)
def test_weights_that_do_not_fit(weights, message):
    codes = np.zeros((4, 3))
    with pytest.raises(ValueError, match=message):
        AggregationKernel(weights)(codes, codes)
    with pytest.raises(ValueError, match=message):
        AggregationTransformer(weights).fit(codes)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([[0.5, 1.0]], "integer codes, but X holds 0.5"),
        ([["a", "b"]], "AggregationTransformer makes them"),
        ([1, 2], "1 dimensions"),
        (sparse.eye(2, format="csr"), "takes a dense array"),
        ([[np.inf, 1.0]], "holds inf"),
    ],
)
def test_codes_that_are_none(codes, message):
    with pytest.raises(ValueError, match=message):
        AggregationKernel()(codes, codes)


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_large_codes_in_an_array_of_integers_are_compared_exactly(kind):
    codes = np.array([[2**53], [2**53 + 1], [2**63 - 1], [2**63 - 2]], dtype=kind)
    np.testing.assert_array_equal(AggregationKernel()(codes, codes), np.eye(4))
    assert AggregationKernel().one_hot(codes)[0].shape == (4, 4)


@pytest.mark.parametrize(
    "codes",
    [
        np.array([[2**63], [1]], dtype=np.uint64),
        np.array([[2.0**53], [1.0]]),
        [[2**53 + 1], [np.nan]],
        [[2**70], [1]],
        pd.DataFrame({"a": [2**53 + 1, 2**53], "b": [0.0, 1.0]}),
    ],
    ids=["unsigned", "float", "list", "larger", "frame"],
)
def test_codes_that_their_type_does_not_tell_apart_are_refused(codes):
    with pytest.raises(
        ValueError, match=r"takes codes below 2\*\*53, or below 2\*\*63 in an array of integers"
    ):
        AggregationKernel()(codes, codes)


def test_codes_without_attributes_are_refused():
    with pytest.raises(ValueError, match="compares attributes, but X has 0 of them"):
        AggregationKernel()(np.zeros((2, 0)), np.zeros((2, 0)))


def test_numbers_of_attributes_that_differ():
    with pytest.raises(ValueError, match="X has 2 attributes, but Z has 3"):
        AggregationKernel()(np.zeros((2, 2)), np.zeros((2, 3)))


def test_strings_among_numbers_are_refused():
    with pytest.raises(TypeError, match="uniformly strings or numbers"):
        AggregationTransformer().fit(pd.DataFrame({"a": ["x", 1, 2]}))


@pytest.mark.parametrize("kind", [pd.DataFrame, np.asarray, lambda values: np.asarray(values, dtype=object)])
def test_numbers_in_a_frame_or_an_array_are_the_same_values(kind):
    numbers = [[1.0, 2.0], [1.0, 3.0], [np.nan, 3.0]]
    transformer = AggregationTransformer().fit(kind(numbers))
    expected = AggregationTransformer().fit_transform(np.array(numbers))
    for given in (numbers, np.array(numbers), np.array(numbers, dtype=object)):
        # A DataFrame of numbered columns has no names that an array could lack.
        np.testing.assert_array_equal(transformer.transform(given), expected)


def test_columns_of_other_names_are_refused():
    fitted = AggregationTransformer().fit(pd.DataFrame({"a": ["x", "y"]}))
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(pd.DataFrame({"b": ["x", "y"]}))


@parametrize_with_checks([AggregationTransformer(), AggregationTransformer(hypersphere=False)])
def test_check_estimator(estimator, check):
    check(estimator)
