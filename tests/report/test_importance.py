import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bayes_svm import BayesSVC, BayesSVCSearch
from bayes_svm.report import importance
from bayes_svm.report.importance import ColumnImportance, Importance, Shuffled, importance_of

pd = pytest.importorskip("pandas")


def table(n=80, n_classes=2):
    """One column that decides, one text that does so a little, noise, and a constant."""
    random = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    frame = pd.DataFrame(
        {
            "noise": random.normal(size=n),
            "decides": y + 0.3 * random.normal(size=n),
            "same": np.ones(n),
            "text": np.where(random.random(n) < 0.3, "?", np.array(["a", "b", "c"])[y]),
        }
    )
    transformer = ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["noise", "decides", "same"]),
            ("texts", OneHotEncoder(sparse_output=False), ["text"]),
        ]
    )
    features = np.asarray(transformer.fit_transform(frame), dtype=float)
    return frame, transformer, features, np.array(["x", "y", "z"])[y]


def found(n_classes=2, **more):
    frame, transformer, features, labels = table(n_classes=n_classes)
    model = BayesSVC().fit(features, labels, **more)
    shuffled = Shuffled([model], features, labels, more, None)
    return importance_of(frame, transformer, shuffled, len(labels)), shuffled, features


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_column_that_decides_comes_first(n_classes):
    result, _, _ = found(n_classes)
    assert [one.name for one in result.columns[:2]] == ["decides", "text"]
    assert {one.name for one in result.columns} == {"decides", "text", "noise"}
    first = result.columns[0]
    assert first.probability_lost > 3 * first.probability_error > 0
    assert first.error_added > 3 * first.error_error > 0
    noise = result.columns[-1]
    assert abs(noise.probability_lost) < 3 * noise.probability_error + 0.02
    assert (result.n_rows, result.n_skipped, result.reason) == (80, 1, None)


def test_it_is_a_shuffle_by_hand():
    result, shuffled, features = found()
    frame, transformer, _, _ = table()
    before, _ = shuffled.judged(features[shuffled.rows])
    random = np.random.default_rng(importance.SEED)
    lost = []
    for _ in range(result.n_shuffles):
        order = random.permutation(len(shuffled.rows))
        other = frame.iloc[shuffled.rows].copy()
        other["text"] = other["text"].to_numpy()[order]
        lost.append(before - shuffled.judged(np.asarray(transformer.transform(other)))[0])
    (text,) = [one for one in result.columns if one.name == "text"]
    assert text.probability_lost == pytest.approx(np.mean(lost))
    of_row = np.mean(lost, axis=0)
    assert text.probability_error == pytest.approx(of_row.std(ddof=1) / np.sqrt(len(of_row)))


def test_before_the_shuffle_the_rows_are_predicted_as_they_were_left_out():
    _, shuffled, features = found()
    model = BayesSVC().fit(features, table()[3])
    _, wrong = shuffled.judged(features[shuffled.rows])
    np.testing.assert_array_equal(wrong, (model.left_out_.predicted != model.left_out_.y)[shuffled.rows])


def test_the_same_data_give_the_same_numbers():
    assert found()[0] == found()[0]


def test_groups_and_weights_are_those_of_the_fit():
    weights = np.tile([1.0, 2.0], 40)
    result, shuffled, _ = found(groups=np.arange(80) // 4, sample_weight=weights)
    assert result.columns[0].name == "decides"
    assert len(shuffled.rows) == 80
    assert result.n_independent == 20


def test_a_mixture_is_shuffled_as_a_whole():
    frame, transformer, features, labels = table()
    search = BayesSVCSearch(BayesSVC(), {"C": [0.1, 10.0]}, combine="stack").fit(features, labels)
    shuffled = Shuffled(search.estimators_, features, labels, {}, search)
    result = importance_of(frame, transformer, shuffled, len(labels))
    assert result.columns[0].name == "decides"
    own, _ = shuffled.judged(features[shuffled.rows])
    assert ((own > 0) & (own < 1)).all()


def test_columns_that_are_not_tried_are_counted(monkeypatch):
    monkeypatch.setattr(importance, "BUDGET", 1.0)
    random = np.random.default_rng(1)
    y = np.arange(40) % 2
    frame = pd.DataFrame(random.normal(size=(40, 12)), columns=[f"c{k}" for k in range(12)])
    frame["c7"] += 3 * y
    transformer = ColumnTransformer([("numbers", StandardScaler(), list(frame.columns))])
    features = np.asarray(transformer.fit_transform(frame))
    shuffled = Shuffled([BayesSVC().fit(features, y)], features, y, {}, None)
    result = importance_of(frame, transformer, shuffled, 40)
    assert (len(result.columns), result.n_skipped, result.n_shuffles) == (5, 7, importance.FEWEST)
    assert result.columns[0].name == "c7"


def test_clear_of_chance_is_more_than_three_errors_where_there_are_many_columns():
    some = [ColumnImportance("a", 0.06, 0.01, 0.0, 0.0), ColumnImportance("b", 0.033, 0.01, 0.0, 0.0)]
    assert Importance(tuple(some), n_independent=60).clear == ("a", "b")
    assert Importance(tuple(some), n_skipped=100, n_independent=60).clear == ("a",)
    # Of two groups nobody knows how far they are from others.
    assert Importance(tuple(some), n_independent=2).clear == ()
    assert Importance((ColumnImportance("c", 0.0, 0.0, 0.0, 0.0),)).clear == ()


def test_of_noise_no_column_is_clear_of_chance():
    said = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        frame = pd.DataFrame(random.normal(size=(60, 8)), columns=[f"c{k}" for k in range(8)])
        transformer = ColumnTransformer([("numbers", StandardScaler(), list(frame.columns))])
        features, y = np.asarray(transformer.fit_transform(frame)), random.integers(0, 2, 60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # noise separates no classes
            model = BayesSVC().fit(features, y)
        said += bool(importance_of(frame, transformer, Shuffled([model], features, y, {}, None), 60).clear)
    assert said <= 1


def test_equal_rows_count_as_often_as_they_occur():
    """Of a table of few different rows the whole expectation is known: every row with every other's value."""
    counts = np.array([30, 5, 10, 25, 8, 12])
    frame = pd.DataFrame({"a": [0.0, 0.0, 1.0, 1.0, 0.0, 1.0], "b": [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]})
    frame = frame.loc[np.repeat(np.arange(6), counts)].reset_index(drop=True)
    labels = np.repeat(["x", "y", "y", "y", "y", "x"], counts)
    transformer = ColumnTransformer([("numbers", StandardScaler(), ["a", "b"])])
    features = np.asarray(transformer.fit_transform(frame), dtype=float)
    model = BayesSVC().fit(features, labels)
    shuffled = Shuffled([model], features, labels, {}, None)
    assert len(shuffled.rows) < len(labels)
    assert shuffled.copies.sum() == len(labels)
    result = importance_of(frame, transformer, shuffled, len(labels))
    assert (result.n_rows, result.n_independent) == (90, 90)
    own, _ = shuffled.judged(features[shuffled.rows])
    for one in result.columns:
        lost = np.zeros(len(own))
        column = frame.columns.get_loc(one.name)
        for value in np.unique(features[:, column]):
            other = features[shuffled.rows].copy()
            other[:, column] = value
            lost += (own - shuffled.judged(other)[0]) * np.mean(features[:, column] == value)
        assert one.probability_lost == pytest.approx(np.average(lost, weights=shuffled.copies))
        spread = np.average((lost - one.probability_lost) ** 2, weights=shuffled.copies)
        assert one.probability_error == pytest.approx(np.sqrt(spread / 89))


def test_copies_in_a_group_count_as_often_as_they_occur():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(40, 2)), columns=["a", "b"])
    labels = np.where(frame["a"] + random.normal(size=40) > 0, "x", "y")
    counts = np.where(np.arange(40) % 4 == 0, 3, 1)
    many = frame.loc[np.repeat(np.arange(40), counts)].reset_index(drop=True)
    transformer = ColumnTransformer([("numbers", StandardScaler(), ["a", "b"])])
    features = np.asarray(transformer.fit_transform(many), dtype=float)
    groups, y = np.repeat(np.arange(40) // 2, counts), np.repeat(labels, counts)
    model = BayesSVC().fit(features, y, groups=groups)
    shuffled = Shuffled([model], features, y, {"groups": groups}, None)
    assert (
        shuffled.copies.tolist()
        == counts[np.searchsorted(np.cumsum(counts), shuffled.rows, "right")].tolist()
    )
    result = importance_of(many, transformer, shuffled, len(y))
    assert (result.n_rows, result.n_independent) == (60, 20)
