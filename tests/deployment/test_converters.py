"""ONNX models, run by onnxruntime, beside the classifiers that they were converted from."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, make_classification
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, OneHotEncoder, OrdinalEncoder, StandardScaler

from _data import awkward, noisy, three_classes
from bayes_svm import BayesSVC, BayesSVCSearch, ConformalSVC, RejectOptionClassifier

REASON = "{} is not installed: pip install bayes_svm[onnx]"
skl2onnx = pytest.importorskip("skl2onnx", reason=REASON.format("skl2onnx"))
onnxruntime = pytest.importorskip("onnxruntime", reason=REASON.format("onnxruntime"))
converters = pytest.importorskip("bayes_svm.deployment.converters")

LINKS = [{"link": link} for link in ("moderated", "sigmoid", "dumais", "hinge", "clipped", "kwok")]
KERNELS = [
    {"kernel": "linear", "link": "kwok"},
    {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0},
    {"kernel": "poly", "link": "kwok"},
    {"kernel": "sigmoid", "gamma": 0.01},
    {"class_weight": "balanced"},
    {"C": 100.0, "gamma": 2.0},
]
SEVERAL = [{"multiclass": way, **link} for way in ("normalise", "winner") for link in LINKS[3:]]


@pytest.fixture(autouse=True)
def _registered():
    converters.register_onnx_converters()


def run(model, X, **options):
    """Label and probabilities by onnxruntime."""
    made = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False}, **options)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: X})


def near_and_far(X, kind):
    """Rows among the data, farther out, and where nothing is known."""
    return np.vstack([X, 4.0 * X, 30.0 * X]).astype(kind)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the sigmoid kernel
@pytest.mark.parametrize(
    ("parameters", "kind"),
    [(one, np.float32) for one in LINKS + KERNELS + SEVERAL] + [(one, np.float64) for one in LINKS[::5]],
    ids=str,
)
def test_probabilities_and_labels_are_ours(parameters, kind):
    for make in (noisy,) if parameters in SEVERAL else (noisy, three_classes):
        X, y = make()
        model, at = BayesSVC(**parameters).fit(X, y), near_and_far(X, kind)
        label, proba = run(model, at)
        assert proba.dtype == kind
        expected = model.predict_proba(at.astype(float))
        np.testing.assert_allclose(proba, expected, atol=1e-6)
        assert np.ptp(expected[:, 0]) > 0.1
        clear = np.diff(np.sort(model.class_weight_ * expected, axis=1))[:, -1] > 1e-6
        np.testing.assert_array_equal(label[clear], model.predict(at.astype(float))[clear])
        # Where nothing is known, classes can be equally probable.
        assert clear[: len(X)].mean() > 0.8


@pytest.mark.parametrize(
    "labels", [np.array(["c", "ä", "b"]), np.array([7, -1, 3]), np.array(["x", "y", "z"], object)]
)
def test_labels_of_other_kinds(labels):
    X, y = three_classes()
    model = BayesSVC().fit(X, labels[y])
    assert run(model, X)[0].tolist() == model.predict(X).tolist()


def test_truth_values_become_whole_numbers():
    X, y = noisy()
    model = BayesSVC().fit(X, y > 0)
    assert run(model, X)[0].tolist() == model.predict(X).astype(int).tolist()


def test_training_data_with_equal_rows_and_zeros():
    X, y = awkward()
    model = BayesSVC().fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(run(model, X)[1], model.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("link", ["moderated", "kwok", "sigmoid"])
@pytest.mark.parametrize("make", [noisy, three_classes])
def test_a_compact_model_gives_the_same(make, link):
    X, y = make()
    model = BayesSVC(link=link).fit(X, y)
    at = near_and_far(X, np.float64)
    for found, whole in zip(run(model.compact(), at), run(model, at), strict=True):
        np.testing.assert_array_equal(found, whole)


def test_a_pipeline_is_converted_whole():
    X, y = noisy()
    model = make_pipeline(StandardScaler(), BayesSVC()).fit(X, y)
    np.testing.assert_allclose(run(model, X)[1], model.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(run(model, X.astype(np.float32))[1], model.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("make", [noisy, three_classes])
@pytest.mark.parametrize("combine", [None, "best", "stack"])
def test_a_calibrated_classifier_calibrates_the_decision_values(combine, make):
    X, y = make()
    X, svc = X.astype(np.float32), BayesSVC(class_weight="balanced")
    if combine is not None:
        svc = BayesSVCSearch(svc, {"C": [0.1, 1.0], "gamma": [0.1, 1.0]}, combine=combine)
    model = CalibratedClassifierCV(svc, cv=3).fit(X, y)
    np.testing.assert_allclose(run(model, X)[1], model.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("make", [noisy, three_classes])
def test_raw_scores_are_the_decision_values(make):
    X, y = make()
    model = BayesSVC(class_weight="balanced").fit(X, y)
    values = model.decision_function(X)
    made = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False, "raw_scores": True})
    label, scores = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"X": X})
    expected = values if values.ndim > 1 else np.column_stack([-values, values])
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    np.testing.assert_array_equal(label, model.predict(X))


OLD_SCIPY = pytest.mark.skipif(
    logsumexp([0.0, -100.0]) == 0.0,
    reason="this SciPy's logsumexp has not the digits by which decision_function tells a winner",
)


@pytest.mark.parametrize("multiclass", ["normalise", pytest.param("winner", marks=OLD_SCIPY)])
def test_raw_scores_of_certain_classes_are_the_decision_values(multiclass):
    X, y = load_iris(return_X_y=True)
    model = BayesSVC(kernel="linear", link="hinge", multiclass=multiclass).fit(X, y)
    at = np.vstack([X, 20.0 * X, -50.0 * X])
    expected = model.decision_function(at)
    assert np.abs(expected).max() > 300
    made = skl2onnx.to_onnx(model, at[:1], options={"zipmap": False, "raw_scores": True})
    scores = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"X": at})[1]
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("combine", ["best", "stack"])
@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("make", [noisy, three_classes])
def test_a_search_is_its_model_or_its_mixture(make, steps, combine, kind):
    X, y = make()
    prefix = "bayessvc__" if steps else ""
    svc = BayesSVC(class_weight="balanced")
    search = BayesSVCSearch(
        make_pipeline(StandardScaler(), svc) if steps else svc,
        {f"{prefix}C": [0.1, 1.0, 10.0], f"{prefix}gamma": [0.01, 0.1, 1.0]},
        combine=combine,
    )
    at = near_and_far(X, kind)
    scaled = make_pipeline(StandardScaler(), search)
    for model in (search, scaled, *(RejectOptionClassifier(one, cost=0.3) for one in (search, scaled))):
        model.fit(X, y)
        label, proba = run(model, at)
        assert proba.dtype == kind
        np.testing.assert_allclose(proba, model.predict_proba(at.astype(float)), atol=1e-6)
        assert label.tolist() == model.predict(at.astype(float)).tolist()
    search.fit(X, y)
    assert (len(search.estimators_) > 1) == (combine == "stack")
    made = skl2onnx.to_onnx(search, at[:1], options={"zipmap": False, "raw_scores": True})
    scores = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"X": at})[1]
    values = search.decision_function(at.astype(float))
    expected = values if values.ndim > 1 else np.column_stack([-values, values])
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("kind", [np.float32, np.int64])
@pytest.mark.parametrize("scaler", ["passthrough", StandardScaler()], ids=str)
def test_steps_before_a_member_compute_in_double_precision(scaler, kind):
    X, y = three_classes()
    X = np.round(100.0 * X) + 1e6
    pipeline = make_pipeline(scaler, StandardScaler(), BayesSVC())
    search = BayesSVCSearch(pipeline, {"bayessvc__C": [0.1, 1.0]}, combine="stack")
    for model in (search, RejectOptionClassifier(pipeline, threshold=0.6)):
        label, proba = run(model.fit(X, y), X.astype(kind))
        np.testing.assert_allclose(proba, model.predict_proba(X), atol=1e-6)
        assert label.tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.float64])
@pytest.mark.parametrize(
    "step",
    [
        OneHotEncoder(sparse_output=False),
        OrdinalEncoder(),
        ColumnTransformer([("codes", OrdinalEncoder(), [0])], remainder=StandardScaler()),
        PCA(2),
    ],
    ids=lambda step: type(step).__name__,
)
def test_steps_that_skl2onnx_computes_in_single_precision(step, kind):
    X, y = three_classes()
    X = np.clip(np.rint(2.0 * X), -2, 2)
    pipeline = make_pipeline(step, BayesSVC())
    search = BayesSVCSearch(pipeline, {"bayessvc__C": [0.1, 1.0]}, combine="stack")
    for model in (pipeline, search, RejectOptionClassifier(pipeline, threshold=0.6)):
        label, proba = run(model.fit(X, y), X.astype(kind))
        np.testing.assert_allclose(proba, model.predict_proba(X), atol=1e-5)
        assert label.tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    "step",
    [
        Binarizer(),
        make_pipeline(Binarizer()),
        ColumnTransformer([("one", Binarizer(), [0])], remainder="passthrough"),
    ],
    ids=lambda step: type(step).__name__,
)
def test_a_step_that_skl2onnx_gets_wrong_is_refused(step):
    X, y = noisy()
    model = RejectOptionClassifier(make_pipeline(step, BayesSVC()), cost=0.3).fit(X, y)
    with pytest.raises(NotImplementedError, match="Binarizer"):
        run(model, X)


@pytest.mark.parametrize("shape", [None, [], [None, None], [None, 3]])
def test_an_input_of_unknown_shape_is_converted(shape):
    X, y = noisy()
    model, kind = BayesSVC().fit(X, y), skl2onnx.common.data_types.FloatTensorType(shape)
    made = skl2onnx.convert_sklearn(model, initial_types=[("X", kind)], options={"zipmap": False})
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    at = X.astype(np.float32)
    np.testing.assert_allclose(session.run(None, {"X": at})[1], model.predict_proba(at), atol=1e-5)


@pytest.mark.parametrize("make", [BayesSVC, lambda: RejectOptionClassifier(LogisticRegression(), cost=0.3)])
def test_another_number_of_columns_is_refused(make):
    X, y = noisy()
    fitted = make().fit(X, y)
    for some in (X[:, :1], X[:, :2]):
        with pytest.raises(ValueError, match=rf"has {some.shape[1]} columns, and .* was fitted to 3"):
            run(fitted, some)


def test_rows_whose_kernel_values_overflow_are_unknown():
    X, y = noisy()
    model = RejectOptionClassifier(BayesSVC(kernel="poly"), threshold=0.6).fit(X, y)
    at = X[:4].copy()
    at[:, 0] = [
        1e30,
        1e90,
        1e100,
        1e110,
    ]  # k(x, x) overflows from the second on, the decision value of the last
    label, proba = run(model, at)
    np.testing.assert_allclose(proba[:3], model.predict_proba(at[:3]), atol=1e-9)
    assert np.isnan(proba[3]).all()
    assert label[3] == model.reject_label_


def test_options_of_a_type_do_not_reach_the_models_inside():
    X, y = three_classes()
    search = BayesSVCSearch(BayesSVC(), {"C": [0.1, 1.0]}, combine="stack").fit(X, y)
    for model in (search, RejectOptionClassifier(BayesSVC(), cost=0.3).fit(X, y)):
        plain = {type(model): {"zipmap": False}}
        given = plain | {BayesSVC: {"raw_scores": True, "nocl": True, "zipmap": False}}
        answers = [
            onnxruntime.InferenceSession(
                skl2onnx.to_onnx(model, X[:1], options=options).SerializeToString()
            ).run(None, {"X": X})
            for options in (plain, given)
        ]
        for one, other in zip(*answers, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("zipmap", [False, True])
def test_without_class_labels_the_label_is_a_number(zipmap):
    X, y = three_classes()
    X = X.astype(np.float32)
    model = BayesSVC().fit(X, np.array(["c", "ä", "b"])[y])
    made = skl2onnx.to_onnx(model, X[:1], options={"zipmap": zipmap, "nocl": True})
    label = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"X": X})[0]
    np.testing.assert_array_equal(model.classes_[label], model.predict(X))


@pytest.mark.parametrize("multiclass", ["joint", "normalise", "winner"])
def test_machines_that_all_rule_their_class_out_give_equal_probabilities(multiclass):
    shares = [0.5] + [0.125] * 4
    X, y = make_classification(
        90, 6, n_informative=4, n_classes=5, n_clusters_per_class=1, weights=shares, random_state=5
    )
    model = BayesSVC(kernel="linear", link="clipped", class_weight="balanced", multiclass=multiclass)
    expected = model.fit(X, y).predict_proba(X)
    assert np.isclose(expected, 1 / 5).all(axis=1).any()
    np.testing.assert_allclose(run(model, X)[1], expected, atol=1e-6)


@pytest.mark.parametrize("opset", [converters.LEAST_OPSET, skl2onnx.get_latest_tested_opset_version()])
@pytest.mark.parametrize("model", [BayesSVC(), RejectOptionClassifier(BayesSVC(), cost=0.3)], ids=str)
def test_every_opset_that_is_named_gives_the_same(model, opset):
    X, y = three_classes()
    model.fit(X, np.array(["c", "ä", "b"])[y])
    assert run(model, X, target_opset=opset)[0].tolist() == model.predict(X).tolist()
    made = skl2onnx.to_onnx(model, X[:1], target_opset=opset)
    assert max(one.version for one in made.opset_import if one.domain == "") <= opset
    np.testing.assert_allclose(run(model, X, target_opset=opset)[1], model.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize(
    "estimator", [BayesSVC(), BayesSVC(class_weight={-1: 1.0, 1: 3.0}), LogisticRegression()], ids=str
)
@pytest.mark.parametrize("labels", [np.array(["no", "yes"]), np.array([-1, 1])])
def test_a_reject_option_rejects_the_same_rows(estimator, labels):
    if labels.dtype.kind == "U" and isinstance(estimator, BayesSVC):
        estimator = BayesSVC()
    X, y = noisy(n=100)
    model = RejectOptionClassifier(estimator, cost=0.3).fit(X, labels[(y > 0).astype(int)])
    at = near_and_far(X, np.float64)
    label, proba = run(model, at)
    expected = model.predict(at)
    assert 0.05 < np.mean(expected == model.reject_label_) < 0.95
    assert label.tolist() == expected.tolist()
    np.testing.assert_allclose(proba, model.predict_proba(at), atol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("labels", [np.array(["no", "yes"]), np.array([-1, 1])])
@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), BayesSVC()),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(make_pipeline(StandardScaler(), StandardScaler()), BayesSVC()),
        make_pipeline(BayesSVC()),
    ],
    ids=["svc", "logistic", "nested", "alone"],
)
def test_a_reject_option_around_a_pipeline_rejects_the_same_rows(estimator, labels, kind):
    X, y = noisy(n=100)
    at = near_and_far(X, kind)
    inner = RejectOptionClassifier(estimator, cost=0.3)
    for model in (inner, make_pipeline(StandardScaler(), inner)):
        model.fit(X, labels[(y > 0).astype(int)])
        label, proba = run(model, at)
        assert proba.dtype == kind
        expected, reject = (
            model.predict_proba(at.astype(float)),
            getattr(model, "steps", [("", model)])[-1][1],
        )
        np.testing.assert_allclose(proba, expected, atol=1e-5)
        clear = np.abs(expected.max(axis=1) - reject.threshold_) > 1e-5
        found = model.predict(at.astype(float))
        assert 0.05 < np.mean(found == reject.reject_label_) < 0.95
        np.testing.assert_array_equal(label[clear], found[clear])


def test_votes_at_the_threshold_are_accepted_in_single_precision():
    X, y = noisy(n=100)
    X = X.astype(np.float32)
    model = RejectOptionClassifier(KNeighborsClassifier(10), cost=0.1).fit(X, y)
    at_threshold = np.isclose(model.predict_proba(X).max(axis=1), 0.9, atol=1e-9)
    assert at_threshold.sum() > 3
    assert run(model, X)[0].tolist() == model.predict(X).tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the sigmoid kernel
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "parameters",
    [
        *({"kernel": kernel} for kernel in ("linear", "poly", "rbf", "sigmoid")),
        *({"kernel": "linear", "link": link} for link in ("hinge", "clipped", "kwok")),
    ],
    ids=str,
)
@pytest.mark.parametrize("steps", [0, 1])
def test_a_reject_option_rejects_what_is_no_number(steps, parameters, value):
    X, y = noisy()
    svc = BayesSVC(**parameters)
    model = RejectOptionClassifier(make_pipeline(StandardScaler(), svc) if steps else svc, cost=0.45)
    at, expected = X[:3].copy(), model.fit(X, y).predict(X[:3])
    assert (expected != model.reject_label_).any()
    at[1, 1], expected[1] = value, model.reject_label_
    label, proba = run(model, at)
    assert label.tolist() == expected.tolist()
    assert np.isnan(proba).any(axis=1).tolist() == [False, True, False]


def test_a_frozen_model_in_a_reject_option():
    X, y = noisy(n=100)
    for frozen in (BayesSVC().fit(X, y), make_pipeline(StandardScaler(), BayesSVC()).fit(X, y)):
        model = RejectOptionClassifier(FrozenEstimator(frozen), cost=0.3).fit(X, y)
        assert run(model, X)[0].tolist() == model.predict(X).tolist()


def test_without_a_rule_nothing_is_rejected():
    X, y = noisy()
    model = RejectOptionClassifier(BayesSVC()).fit(X, y)
    assert run(model, X)[0].tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            BayesSVC(kernel=rbf_kernel),
            "has no ONNX form: fit BayesSVC with one of linear, poly, rbf, sigmoid",
        ),
        (
            BayesSVC(link=IsotonicRegression(out_of_bounds="clip")),
            "has no ONNX form: fit BayesSVC with a link by name",
        ),
        (
            RejectOptionClassifier(ConformalSVC(BayesSVC(gamma=0.1)), target_risk=0.3, guarantee="conformal"),
            "conformal",
        ),
    ],
    ids=["kernel", "link", "conformal"],
)
def test_what_has_no_onnx_form_is_refused(model, message):
    X, y = noisy()
    with pytest.raises(NotImplementedError, match=message):
        run(model.fit(X, y), X)


def test_a_reject_option_has_no_class_numbers():
    X, y = noisy()
    model = RejectOptionClassifier(BayesSVC(), cost=0.3).fit(X, y)
    with pytest.raises(NotImplementedError, match="leave the option 'nocl' out"):
        skl2onnx.to_onnx(model, X[:1], options={"zipmap": False, "nocl": True})


def test_labels_that_onnx_does_not_have_are_refused():
    X, y = noisy()
    with pytest.raises((NotImplementedError, RuntimeError), match=r"classes_|labels"):
        run(BayesSVC().fit(X, y.astype(float)), X)


def test_an_opset_that_is_too_low_is_refused():
    X, y = noisy()
    with pytest.raises(NotImplementedError, match="target_opset=18 is too low: give 19 or more"):
        run(BayesSVC().fit(X, y), X, target_opset=18)


def test_a_frozen_classifier_of_others_inside_a_reject_option():
    X, y = noisy(n=60)
    inner = LogisticRegression().fit(X, y)
    model = RejectOptionClassifier(FrozenEstimator(inner), threshold=0.8).fit(X, y)
    assert run(model, X)[0].tolist() == model.predict(X).tolist()
