"""Rows whose label is probably wrong."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _data import three_classes
from bayes_svm import BayesSVC, BayesSVCSearch, find_label_issues, label_quality_scores
from bayes_svm.selection import label_issues

SCORES = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
LABELS = np.array(["z", "a", "m"])


def mislabelled(n=150, seed=0):
    """Three classes in string labels out of order, a tenth of them wrong, and which."""
    X, y = three_classes(n, seed)
    X = X + 2.0 * np.column_stack([np.cos(2.1 * y), np.sin(2.1 * y)])
    wrong = np.random.default_rng(seed).permutation(n)[: n // 10]
    labels = y.copy()
    labels[wrong] = (y[wrong] + 1) % 3
    return X, LABELS[labels], wrong


@pytest.mark.filterwarnings("ignore:The steps before BayesSVC")
@pytest.mark.parametrize(
    "estimator",
    [
        BayesSVC(leave_out_size=20),
        make_pipeline(StandardScaler(), BayesSVC(leave_out_size=20)),
        BayesSVCSearch(BayesSVC(leave_out_size=20), {"C": [0.1, 1.0]}),
        BayesSVCSearch(
            make_pipeline(StandardScaler(), BayesSVC()), {"bayessvc__C": [0.1, 1.0]}, combine="stack"
        ),
    ],
    ids=["svc", "pipeline", "search", "mixture"],
)
def test_wrong_labels_are_found(estimator):
    X, y, wrong = mislabelled()
    mask = find_label_issues(estimator, X, y)
    assert mask.dtype == bool
    assert mask[wrong].mean() >= 0.7
    assert np.delete(mask, wrong).mean() < 0.03
    ranked = find_label_issues(estimator, X, y, return_indices_ranked_by="self_confidence")
    np.testing.assert_array_equal(np.sort(ranked), np.flatnonzero(mask))
    scores = label_quality_scores(estimator, X, y)
    assert np.all(np.diff(scores[ranked]) >= 0)
    assert roc_auc_score(np.isin(np.arange(len(y)), wrong), -scores) > 0.97
    assert not hasattr(estimator, "classes_")  # a clone is fitted


def explicit(proba, given):
    """The rule of confident learning, row by row."""
    found = []
    thresholds = [
        np.mean([p[k] for p, g in zip(proba, given, strict=True) if g == k]) for k in range(proba.shape[1])
    ]
    for p, g in zip(proba, given, strict=True):
        plausible = [k for k in range(len(p)) if p[k] >= thresholds[k]]
        best = max(plausible, key=lambda k: p[k]) if plausible else g
        found.append(best != g and max(range(len(p)), key=lambda k: p[k]) != g)
    return found


def test_the_rule_and_the_scores_are_those_written_down():
    random = np.random.default_rng(0)
    proba, given = random.dirichlet(np.ones(3), size=200), random.integers(0, 3, 200)
    assert label_issues._confidently_other(proba, given).tolist() == explicit(proba, given)
    own = proba[np.arange(200), given]
    rest = np.sort(np.where(np.arange(3) == given[:, None], -1.0, proba), axis=1)[:, -1]
    entropy = -(proba * np.log(proba)).sum(axis=1) / np.log(3)
    expected = {
        "self_confidence": own,
        "normalized_margin": (1 + own - rest) / 2,
        "confidence_weighted_entropy": 1 / (1 + entropy / own),
    }
    for name, score in label_issues.SCORES.items():
        np.testing.assert_allclose(score(proba, given), expected[name])
        sure = score(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 0]))
        np.testing.assert_allclose(sure, [1.0, 0.0])


def test_scores_are_of_the_left_out_probabilities():
    X, y, _ = mislabelled()
    model = BayesSVC(leave_out_size=None).fit(X, y)
    own = model.left_out_proba_[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    np.testing.assert_array_equal(label_quality_scores(BayesSVC(), X, y), own)
    for method in SCORES[1:]:
        assert not np.array_equal(label_quality_scores(BayesSVC(), X, y, method=method), own)


def test_a_search_judges_by_what_it_chose_on_all_rows():
    X, y, _ = mislabelled()
    grid = {"C": [0.1, 1.0, 10.0]}
    rows = np.arange(len(y)), np.searchsorted(np.sort(LABELS), y)
    best = BayesSVCSearch(BayesSVC(), grid).fit(X, y)
    own = best.best_estimator_.left_out_proba_[rows]
    # The search takes the logarithm of each, and its exponential.
    found = label_quality_scores(BayesSVCSearch(BayesSVC(), grid), X, y)
    np.testing.assert_allclose(found, own, rtol=1e-14)
    mixture = BayesSVCSearch(BayesSVC(), grid, combine="stack").fit(X, y)
    product = np.exp((1.0 - mixture.weights_.sum()) * mixture.base_) * np.prod(
        [m.left_out_proba_**w for m, w in zip(mixture.estimators_, mixture.weights_, strict=True)], axis=0
    )
    expected = (product / product.sum(axis=1, keepdims=True))[rows]
    found = label_quality_scores(BayesSVCSearch(BayesSVC(), grid, combine="stack"), X, y)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert not np.allclose(found, mixture.left_out_proba_[rows])


def test_a_search_in_a_pipeline_and_one_without_models():
    X, y, _ = mislabelled()
    search = BayesSVCSearch(BayesSVC(), {"C": [0.1, 1.0]})
    alone = label_quality_scores(search, X, y)
    np.testing.assert_array_equal(label_quality_scores(make_pipeline(search), X, y), alone)
    with pytest.raises(AttributeError, match="fit with refit=True"):
        label_quality_scores(search.set_params(refit=False), X, y)


def test_without_a_doubt_there_is_no_issue():
    X, y = three_classes(60)
    X = X + 20.0 * np.column_stack([np.cos(2.1 * y), np.sin(2.1 * y)])
    assert not find_label_issues(BayesSVC(), X, y).any()
    ranked = find_label_issues(BayesSVC(), X, y, return_indices_ranked_by="normalized_margin")
    assert ranked.tolist() == []
    assert np.issubdtype(ranked.dtype, np.integer)


def test_steps_before_the_last_are_warned_of():
    X, y, _ = mislabelled()
    with pytest.warns(UserWarning, match=r"The steps before BayesSVC \(standardscaler\) are fitted once"):
        find_label_issues(make_pipeline(StandardScaler(), BayesSVC()), X, y)


@pytest.mark.parametrize("call", [find_label_issues, label_quality_scores])
@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), RandomForestClassifier(), make_pipeline(StandardScaler(), LogisticRegression())],
    ids=str,
)
def test_other_classifiers_are_refused(call, estimator):
    X, y, _ = mislabelled()
    with pytest.raises(TypeError, match="has no left-out probabilities: give a BayesSVC, a BayesSVCSearch"):
        call(estimator, X, y)


@pytest.mark.parametrize("estimator", [BayesSVC, None])
def test_what_is_no_estimator_is_refused(estimator):
    X, y, _ = mislabelled()
    with pytest.raises(TypeError, match="estimator"):
        find_label_issues(estimator, X, y)


def test_an_unknown_score_is_refused_before_the_fit():
    with pytest.raises(ValueError, match="return_indices_ranked_by='margin' is not one of"):
        find_label_issues(BayesSVC(), None, None, return_indices_ranked_by="margin")
    with pytest.raises(ValueError, match="method='margin' is not one of"):
        label_quality_scores(BayesSVC(), None, None, method="margin")
