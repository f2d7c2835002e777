"""Files of skops: what has to be trusted, and that what is loaded gives the same bits."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _data import awkward, noisy, three_classes
from bayes_svm import (
    AggregationKernel,
    AggregationTransformer,
    BayesSVC,
    BayesSVCSearch,
    ConformalSVC,
    GaussianKernel,
    HypersphereKernel,
    MultivariateSVC,
    PairwiseCouplingClassifier,
    RejectOptionClassifier,
)
from bayes_svm.deployment import TRUSTED_TYPES
from bayes_svm.kernels import choice

sio = pytest.importorskip("skops.io", reason="skops is not installed: pip install bayes_svm[report]")

GRID = {"C": [0.1, 1.0, 10.0]}
PIPELINE = make_pipeline(StandardScaler(), BayesSVC())
MODELS = [
    *(BayesSVC(link=link) for link in ("moderated", "sigmoid", "kwok", "hinge", "clipped", "dumais")),
    BayesSVC(link=IsotonicRegression(out_of_bounds="clip")),
    BayesSVC(kernel="linear", leave_out="rows", class_weight="balanced"),
    BayesSVC(kernel="poly", leave_out=5),
    BayesSVCSearch(BayesSVC(), GRID),
    BayesSVCSearch(PIPELINE, {"bayessvc__C": [0.1, 1.0]}, combine="stack"),
    RejectOptionClassifier(BayesSVC(), cost=0.2),
    RejectOptionClassifier(BayesSVC(), target_risk=0.4, guarantee="risk"),
    RejectOptionClassifier(ConformalSVC(BayesSVC()), target_risk=0.3, guarantee="conformal"),
    *(ConformalSVC(BayesSVC(), score=score) for score in ("margin", "left_out", "jackknife+", "cv+")),
    PairwiseCouplingClassifier(BayesSVC()),
    *(BayesSVC(kernel=kernel) for kernel in (GaussianKernel(2.0), HypersphereKernel("rbf", gamma=0.5))),
]
# Whatever these models have of this is compared.
METHODS = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "predict_interval",
    "posterior_variance", "predict_set", "p_values", "rejected",
)  # fmt: skip


@pytest.fixture(scope="module")
def files():
    """Each model after its fit, to two and three classes in turn, the data, and its file."""
    found = []
    for number, model in enumerate([*MODELS, MODELS[0]]):
        X, y = (noisy, three_classes)[number % 2](n=24)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so few rows give the links little to go by
            fitted = clone(model).fit(X, y)
        found.append((fitted, X, sio.dumps(fitted)))
    X, y = noisy(n=24)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "ALL_AT_ONCE", 10)  # what stands for the kernel matrix of many rows
        for form in (np.asarray, sparse.csr_matrix):
            fitted = ConformalSVC(BayesSVC(gamma=0.5)).fit(form(X), y)
            found.append((fitted, X, sio.dumps(fitted)))
    X, y = awkward()
    codes = np.rint(np.abs(X)).astype(int)
    of_categories = make_pipeline(AggregationTransformer(), BayesSVC())
    again = MultivariateSVC(warm_start=True)
    for model in (BayesSVC(kernel=AggregationKernel()), of_categories, MultivariateSVC(), again):
        fitted = model.fit(codes, y)
        found.append((fitted, codes, sio.dumps(fitted)))
    fitted = clone(again).fit(sparse.csr_matrix(codes), y)
    found.append((fitted, codes, sio.dumps(fitted)))
    for form in (sparse.csr_matrix, sparse.csr_array):
        fitted = BayesSVC().fit(form(X), y)
        found.append((fitted, X, sio.dumps(fitted)))
    return found


@pytest.fixture(scope="module")
def compact_files():
    """Compact models, the data, and their files."""
    found = []
    for make, form in [(noisy, np.asarray), (three_classes, np.asarray), (awkward, sparse.csr_matrix)]:
        X, y = make()
        model = BayesSVC().fit(form(X), y).compact()
        found.append((model, X, sio.dumps(model)))
    return found


def test_exactly_these_types_have_to_be_trusted(files, compact_files):
    asked = {name for _, _, file in [*files, *compact_files] for name in sio.get_untrusted_types(data=file)}
    assert asked == set(TRUSTED_TYPES)


def test_a_compact_model_that_is_loaded_gives_the_same_bits(compact_files):
    for model, X, file in compact_files:
        loaded = sio.loads(file, trusted=TRUSTED_TYPES)
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_what_is_loaded_gives_the_same_bits(files):
    compared = set()
    for model, X, file in files:
        loaded = sio.loads(file, trusted=TRUSTED_TYPES)
        for method in METHODS:
            if hasattr(model, method):
                np.testing.assert_array_equal(getattr(loaded, method)(X[:3]), getattr(model, method)(X[:3]))
                compared.add(method)
        if hasattr(model, "explain"):
            assert repr(loaded.explain(X[0])) == repr(model.explain(X[0]))
    assert compared == set(METHODS)


def test_labels_of_any_type_come_back():
    X, y = noisy()
    for labels in (np.where(y > 0, "b", "a"), y > 0, np.where(y > 0, "b", "a").astype(object)):
        model = BayesSVC().fit(X, labels)
        loaded = sio.loads(sio.dumps(model), trusted=TRUSTED_TYPES)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert loaded.classes_.dtype == model.classes_.dtype
