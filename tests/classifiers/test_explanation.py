"""What the probability of one row rests on, against machines that are trained without each row."""

import pickle
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from _data import THREE, awkward, noisy, three_classes
from bayes_svm import BayesSVC, Explanation

pd = pytest.importorskip("pandas")


def rows_of(found):
    return [*found.supporting, *found.opposing]


def without(model, X, y, weight, row):
    """SVC's machines without one row: decision values as a function, each class against the rest."""
    kernel, classes = model.kernel_, model.classes_
    parameters = {name: getattr(kernel, name) for name in ("gamma", "degree", "coef0")}
    costs = dict(zip(classes.tolist(), model.class_weight_, strict=True))
    bound = weight * np.array([costs[label] for label in y.tolist()])
    bound[row] = 0.0
    kept = bound > 0

    def values(x):
        found = []
        for k in [1] if len(classes) == 2 else range(len(classes)):
            svc = SVC(C=model.C, kernel=model.kernel, tol=1e-7, **parameters)
            svc.fit(X[kept], y[kept] == classes[k], sample_weight=bound[kept])
            found.append(svc.decision_function(x)[0])
        return np.array(found)

    return values


CASES = {
    "two": (noisy, {}),
    "repeats": (awkward, {"C": 2.0, "gamma": 0.3}),
    "three": (three_classes, {}),
    "winner": (three_classes, {"multiclass": "winner", "link": "kwok"}),
    "costs": (noisy, {"class_weight": {1: 3.0, -1: 0.5}}),
    "balanced": (three_classes, {"class_weight": "balanced", "kernel": "linear"}),
    "poly": (noisy, {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_leaving_out_a_row_is_training_without_it(case, weighted):
    make, parameters = CASES[case]
    X, y = make()
    weight = (
        np.random.default_rng(3).choice([0.0, 1.0, 1.5, 3.0], size=len(y)) if weighted else np.ones(len(y))
    )
    weight[:6] = 1.0
    model = BayesSVC(**parameters).fit(X, y, sample_weight=weight)
    x = X[[7]] + 0.1
    found = model.explain(x, n_rows=2)
    k = model.classes_.tolist().index(found.predicted)
    problem = k if len(model.classes_) > 2 else 0
    reading = model._reading(x)
    assert 2 <= len(rows_of(found)) <= 4
    for one in rows_of(found):
        assert weight[one.row] > 0
        assert one.label == y[one.row]
        values = without(model, X, y, weight, one.row)(x)
        np.testing.assert_allclose(one.decision_value, values[problem], atol=1e-5)
        margins = values if len(values) == 1 else values[None]
        expected = np.exp(model._probabilities.logs(margins, reading))[0, k]
        np.testing.assert_allclose(one.probability, expected, atol=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_it_agrees_with_the_predictions(case):
    make, parameters = CASES[case]
    X, y = make()
    model, x = BayesSVC(**parameters).fit(X, y), X[[11]]
    found = model.explain(x, n_rows=len(X))
    np.testing.assert_array_equal(found.probabilities, model.predict_proba(x)[0])
    assert found.predicted == model.predict(x)[0]
    k = found.classes.tolist().index(found.predicted)
    assert found.probability == found.probabilities[k]
    interval = model.predict_interval(x)[0]
    two = len(model.classes_) == 2
    expected = interval[k] if not two else interval if k == 1 else 1 - interval[::-1]
    np.testing.assert_array_equal(found.interval, expected)
    # With all rows, the contributions add up to the decision value.
    total = found.intercept + sum(one.contribution for one in rows_of(found))
    np.testing.assert_allclose(total, found.decision_value, atol=1e-9)
    np.testing.assert_allclose(found.decision_value, model._margins(x).reshape(1, -1)[0, 0 if two else k])
    towards = 1.0 if not two or k == 1 else -1.0
    for part, sign in ((found.supporting, towards), (found.opposing, -towards)):
        sizes = [sign * one.contribution for one in part]
        assert min(sizes) > 0
        assert sizes == sorted(sizes, reverse=True)


def test_equal_rows_share_a_coefficient_and_only_one_of_them_leaves():
    X, y = noisy(n=30)
    model = BayesSVC().fit(np.vstack([X, X]), np.append(y, y))
    found = model.explain(X[0], n_rows=2)
    first, second = found.supporting
    assert (first.row + 30, first.contribution) == (second.row, second.contribution)
    assert first.decision_value == second.decision_value
    alone = BayesSVC(gamma=model.kernel_.gamma).fit(
        np.vstack([X, X]), np.append(y, y), groups=np.tile(range(30), 2)
    )
    # The other row of the group stays.
    assert alone.explain(X[0], n_rows=2).supporting[0].decision_value == first.decision_value


def test_one_row_in_any_form_gives_the_same():
    X, y = noisy()
    model, frame = BayesSVC().fit(X, y), pd.DataFrame(X, columns=["a", "b", "c"])
    named = BayesSVC().fit(frame, y)
    expected = repr(model.explain(X[5]))
    for x in (X[[5]], X[5].tolist(), sparse.csr_matrix(X[[5]]), frame.iloc[5]):
        assert repr(model.explain(x)) == expected
    for x in (frame.iloc[5], frame.iloc[[5]]):
        assert repr(named.explain(x)) == expected
    assert repr(BayesSVC().fit(sparse.csr_matrix(X), y).explain(X[5])) == expected
    assert repr(pickle.loads(pickle.dumps(model)).explain(X[5])) == expected


def test_the_caller_may_change_the_data_after_the_fit():
    X, y = noisy(n=250)
    model, x = BayesSVC().fit(X, y), X[5].copy()
    expected = repr(model.explain(x))
    X[:], y[:] = 0.0, 1
    assert repr(model.explain(x)) == expected


def test_a_precomputed_kernel_has_contributions_only():
    X, y = noisy()
    gram = X @ X.T
    found = BayesSVC(kernel="precomputed").fit(gram, y).explain(gram[5])
    expected = BayesSVC(kernel="linear").fit(X, y).explain(X[5])
    assert found.moderation is None
    for one, other in zip(rows_of(found), rows_of(expected), strict=True):
        assert (one.row, one.decision_value, one.probability) == (other.row, None, None)
        np.testing.assert_allclose(one.contribution, other.contribution, atol=1e-8)
    assert "unknown" in repr(found)


def test_far_from_the_data_the_words_say_so():
    X, y = noisy(n=300)
    model = BayesSVC().fit(X, y)
    near, far = model.explain(X[np.abs(X).sum(axis=1).argmin()]), model.explain([9.0, 9.0, 9.0])
    assert (near.moderation, near.distance) == (
        0.0,
        "the row is near the training data",
    )
    assert far.moderation > 0.99
    assert "only the outermost of them count" in far.distance
    along = [model.explain([r, r, r]) for r in np.linspace(0, 6, 40)]
    assert {"at the edge", "is far from"} <= {
        part for one in along for part in ("at the edge", "is far from") if part in one.distance
    }
    np.testing.assert_array_equal(np.diff([one.moderation for one in along]) >= 0, True)
    assert BayesSVC(link="sigmoid").fit(X, y).explain(X[0]).moderation is None


class Cells(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


def test_html_escapes_labels_and_says_what_the_text_says():
    X, y = three_classes()
    found = BayesSVC().fit(X, np.array(THREE)[y]).explain(X[0])
    page = Cells(found._repr_html_())
    assert "script" not in page.tags
    assert page.tags.count("table") == 3
    for one in rows_of(found):
        assert f"{one.contribution:.4g}" in page.text
        assert f"{one.contribution:.4g}" in repr(found)
    assert found.predicted in page.text
    assert found.predicted in repr(found)


def test_no_rows_are_shown_as_none():
    X, y = noisy()
    found = BayesSVC().fit(X, y).explain(X[0], n_rows=0)
    assert isinstance(found, Explanation)
    assert (found.supporting, found.opposing) == ((), ())
    assert repr(found).count("none") == 2


@pytest.mark.parametrize("x", [np.zeros((2, 3)), np.zeros((0, 3)), np.zeros((1, 1, 3)), 3.0])
def test_more_or_less_than_one_row_is_refused(x):
    X, y = noisy()
    with pytest.raises(ValueError, match="explain takes one row at a time"):
        BayesSVC().fit(X, y).explain(x)


@pytest.mark.parametrize("n_rows", [-1, 1.5, None])
def test_a_wrong_number_of_rows_is_refused(n_rows):
    X, y = noisy()
    with pytest.raises(ValueError, match="n_rows="):
        BayesSVC().fit(X, y).explain(X[0], n_rows=n_rows)


def test_before_fit_nothing_is_explained():
    with pytest.raises(NotFittedError):
        BayesSVC().explain([1.0])


def test_another_number_of_features_is_refused():
    X, y = noisy()
    with pytest.raises(ValueError, match="X has 2 features, but BayesSVC is expecting 3"):
        BayesSVC().fit(X, y).explain(X[0, :2])
