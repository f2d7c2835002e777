"""Converters of this package's classifiers for skl2onnx."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from skl2onnx import update_registered_converter
from skl2onnx.algebra.onnx_operator import OnnxSubEstimator
from skl2onnx.algebra.onnx_ops import OnnxIdentity
from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
from skl2onnx.proto import onnx_proto
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.decision.rejection import RejectOptionClassifier
from bayes_svm.deployment.graph import Graph, log_probabilities
from bayes_svm.selection.search import BayesSVCSearch
from bayes_svm.utils.metaestimators import unfrozen

__all__ = ["LEAST_OPSET", "register_onnx_converters"]

# From this opset of ONNX on all operators that are used have the same form, and texts can be compared.
LEAST_OPSET = 19
KERNELS = ("linear", "poly", "rbf", "sigmoid")
# Probabilities are rounded by less than this: those that are ours, and those of other classifiers in single
# precision, so that votes of 9 trees in 10 reach a threshold of 0.9.
OUR_ROUNDING, ROUNDING = 1e-7, 1e-5


def register_onnx_converters() -> None:
    """Teach skl2onnx to convert ``BayesSVC``, ``BayesSVCSearch`` and ``RejectOptionClassifier``.

    Afterwards ``skl2onnx.to_onnx`` takes them alone or in a pipeline. It writes opset 19 or later. The model
    computes in double precision, whatever the type of its input, and its outputs are those of scikit-learn's
    classifiers: label and probabilities. With the option ``raw_scores`` (not for a reject option) the second
    output is ``decision_function`` instead; for two classes a column of its negatives comes first. Infinite
    values of ``link="clipped"`` become about 1e4. A reject option needs an estimator that skl2onnx converts,
    and puts its reject label in place of the label. It accepts probabilities up to 1e-7 below its threshold,
    and up to 1e-5 around an estimator that does not end in a BayesSVC or a search: it may compute in single
    precision.

    A row that holds NaN or infinity, which the ``predict`` of a BayesSVC refuses, has probabilities of NaN. A
    reject option with a rule rejects it, unless a step before drops or clips the value; a classifier without
    one still names a class.

    skl2onnx itself converts :class:`~sklearn.calibration.CalibratedClassifierCV`: right with
    ``method="sigmoid"`` around a BayesSVC or a search, and wrong around a pipeline. Put a scaler before it.

    From float32 input, probabilities are within 1e-5 of those of ``predict_proba`` for the same float32
    numbers. A scaler before the classifier, converted by skl2onnx, computes in the type of the input: give
    double input where features are large compared with their deviation.

    The model has one input, of numbers. Put steps that handle texts, have one input for each column, or are
    not converted in double precision by skl2onnx (SimpleImputer, KNNImputer, PolynomialFeatures,
    PowerTransformer, Binarizer) before a search or a reject option, not inside it.

    To import this function needs skl2onnx: ``pip install bayes_svm[onnx]``.

    Not converted: callable and precomputed kernels, a scikit-learn calibrator as link, conformal guarantees,
    labels that are neither whole numbers, truth values (which become 0 and 1) nor strings, and the handling
    of rows so far from the origin that kernel values overflow.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skl2onnx import to_onnx
    >>> from bayes_svm import BayesSVC
    >>> from bayes_svm.deployment import register_onnx_converters
    >>> register_onnx_converters()
    >>> X, y = load_iris(return_X_y=True)
    >>> onnx_model = to_onnx(BayesSVC().fit(X, y), X[:1].astype("float32"), options={"zipmap": False})
    >>> [output.name for output in onnx_model.graph.output]
    ['label', 'probabilities']
    """
    # The options that skl2onnx has for every classifier, and that of one with a decision function, which
    # CalibratedClassifierCV calibrates.
    switch = [True, False]
    options = {"zipmap": [*switch, "columns"], "nocl": switch, "output_class_labels": switch}
    with_scores = options | {"raw_scores": switch}
    for model, convert, taken in (
        (BayesSVC, _convert, with_scores),
        (BayesSVCSearch, _convert, with_scores),
        (RejectOptionClassifier, _convert_reject_option, options),
    ):
        update_registered_converter(
            model,
            f"BayesSvm{model.__name__}",
            calculate_linear_classifier_output_shapes,
            convert,
            options=taken,
        )


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the operators of a BayesSVC or a BayesSVCSearch."""
    model, graph = operator.raw_operator, _graph(scope, container)
    wanted = container.get_options(model, {"raw_scores": False, "nocl": False})
    values, logs = _scores(graph, model, _in_double(graph, _input(operator)))
    proba, n_classes = graph.Exp(logs), len(model.classes_)
    classes = np.arange(n_classes) if wanted["nocl"] else _labels(model.classes_)
    graph.Gather(classes, _decided(graph, model, proba), axis=0, output=operator.outputs[0].full_name)
    if not wanted["raw_scores"]:
        _add_probabilities(graph, proba, operator)
    elif n_classes == 2:
        if values is None:
            values = graph.Sub(graph.column(logs, 1), graph.column(logs, 0))
        _add_probabilities(graph, graph.Concat(graph.Neg(values), values, axis=1), operator)
    else:
        weighted = graph.Add(logs, np.log(model.class_weight_)[None])
        _add_probabilities(graph, graph.normalised_log_odds(weighted, n_classes), operator)


def _convert_reject_option(scope: Any, operator: Any, container: Any) -> None:
    """Add the operators of a RejectOptionClassifier around those of its estimator."""
    model, graph = operator.raw_operator, _graph(scope, container)
    if model._of_sets:
        raise NotImplementedError("guarantee='conformal' has no ONNX form: use guarantee='risk' or None.")
    if container.get_options(model, {"nocl": False})["nocl"]:
        raise NotImplementedError("A rejection has no class number: leave the option 'nocl' out.")
    estimator, classes, X = model.estimator_, _labels(model.classes_), _input(operator)
    if _is_ours(estimator):
        proba, rounding = graph.Exp(_scores(graph, estimator, _in_double(graph, X))[1]), OUR_ROUNDING
        predicted = graph.Gather(classes, _decided(graph, _last(estimator), proba), axis=0)
    else:
        predicted, proba = _answers(estimator, X, scope, container)
        proba, rounding = graph.Cast(proba, to=onnx_proto.TensorProto.DOUBLE), ROUNDING
    output = operator.outputs[0].full_name
    if model.reject_label_ is None:
        graph.Identity(predicted, output=output)
    else:
        reject = _labels(np.array([model.reject_label_]))  # its type is that of the classes
        is_label = graph.Equal(graph.Unsqueeze(predicted, np.array([1])), classes[None])
        confidence = graph.sum(graph.Where(is_label, proba, np.zeros((1, 1))))
        # False where the confidence is NaN.
        accepted = graph.GreaterOrEqual(confidence, np.array([[model.threshold_ - rounding]]))
        graph.Where(graph.Squeeze(accepted, np.array([1])), predicted, reject, output=output)
    _add_probabilities(graph, proba, operator)


def _input(operator: Any) -> Any:
    """The input, unless it is known to have another number of columns: one column would fit any number."""
    given, model = operator.inputs[0], operator.raw_operator
    shape, fitted = given.type.shape or [], getattr(model, "n_features_in_", None)
    columns = shape[1] if len(shape) > 1 else None
    if isinstance(columns, int) and fitted is not None and columns != fitted:
        raise ValueError(
            f"The sample, or the initial type, has {columns} columns, and {type(model).__name__} was fitted "
            f"to {fitted}: give the columns that it was fitted to."
        )
    return given


def _last(estimator: Any) -> Any:
    """The classifier that an estimator is, ends in or has frozen."""
    while isinstance(estimator, Pipeline | FrozenEstimator):
        estimator = estimator[-1] if isinstance(estimator, Pipeline) else estimator.estimator
    return estimator


def _is_ours(estimator: Any) -> bool:
    return isinstance(_last(estimator), BayesSVC | BayesSVCSearch)


def _scores(graph: Graph, estimator: Any, X: Any) -> tuple[Any, Any]:
    """Decision values of two classes, None for a mixture, and log-probabilities of all classes.

    The estimator is ours in the end. Everything before and in it is computed in double precision, so that no
    probability is rounded across a threshold.
    """
    if isinstance(estimator, FrozenEstimator):
        return _scores(graph, estimator.estimator, X)
    if isinstance(estimator, Pipeline):
        return _scores(graph, estimator[-1], _transformed(graph, estimator.steps[:-1], X))
    if isinstance(estimator, BayesSVCSearch):
        each = [_scores(graph, model, X) for model in estimator.estimators_]
        if len(each) == 1:
            return each[0]
        return None, graph.pooled([logs for _, logs in each], estimator.weights_, estimator.base_)
    function = estimator.kernel_.function
    if function not in KERNELS:
        raise NotImplementedError(
            f"kernel={function!r} has no ONNX form: fit BayesSVC with one of {', '.join(KERNELS)}."
        )
    values = graph.values(estimator, X.full_name)
    return values, log_probabilities(graph, estimator, X.full_name, values)


def _in_double(graph: Graph, X: Any) -> Any:
    """A variable in double precision; what is said to be so already may be made in single, by skl2onnx."""
    found = graph.scope.declare_local_variable("double", DoubleTensorType(X.type.shape))
    graph.Cast(X.full_name, to=onnx_proto.TensorProto.DOUBLE, output=found.full_name)
    found.init_status(is_fed=True)
    return found


def _transformed(graph: Graph, steps: list[tuple[str, Any]], X: Any) -> Any:
    """What the steps of a pipeline make of X; skl2onnx converts them after this converter."""
    kept = [(name, step) for name, step in steps if step is not None and not isinstance(step, str)]
    if not kept:
        return X
    before = Pipeline(kept)
    # The parameters name what steps hold too, at any depth.
    if any(isinstance(step, Binarizer) for step in before.get_params().values()):
        raise NotImplementedError(
            "skl2onnx converts Binarizer wrongly in double precision: put it before the search or the reject "
            "option, not in it."
        )
    operator = graph.scope.declare_local_operator("SklearnPipeline", before)
    operator.inputs.append(X)
    found = graph.scope.declare_local_variable("transformed", DoubleTensorType([None, None]))
    operator.outputs.append(found)
    return _in_double(graph, found)


def _decided(graph: Graph, model: Any, proba: Any) -> Any:
    """Numbers of the classes of the largest class weight times probability."""
    costs = (model.class_weight_ / model.class_weight_.max())[None]
    return graph.ArgMax(graph.Mul(proba, costs), axis=1, keepdims=0)


def _answers(estimator: Any, X: Any, scope: Any, container: Any) -> list[str]:
    """Names of the label and the probabilities that an estimator gives which is not ours."""
    estimator = unfrozen(estimator)
    if isinstance(estimator, Pipeline):
        return _answers_of_pipeline(estimator, X, scope, container)
    opset = container.target_opset
    answered = OnnxSubEstimator(
        estimator, X, op_version=opset, options={"zipmap": False}, input_types=[X.type]
    )
    names: list[str] = [scope.get_unique_variable_name(name) for name in ("answer", "confidence")]
    for place, name in enumerate(names):
        OnnxIdentity(answered[place], op_version=opset, output_names=[name]).add_to(scope, container)
    return names


def _answers_of_pipeline(pipeline: Pipeline, X: Any, scope: Any, container: Any) -> list[str]:
    """The same for a pipeline, which is no single operator: skl2onnx converts it after this converter."""
    classes = _labels(pipeline.classes_)
    label = StringTensorType([None]) if classes.dtype.kind == "O" else Int64TensorType([None])
    operator = scope.declare_local_operator("SklearnPipeline", pipeline)
    operator.inputs.append(X)
    for name, kind in (("answer", label), ("confidence", DoubleTensorType([None, len(classes)]))):
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return [output.full_name for output in operator.outputs]


def _graph(scope: Any, container: Any) -> Graph:
    opset = container.target_opset
    if opset < LEAST_OPSET:
        raise NotImplementedError(f"target_opset={opset} is too low: give {LEAST_OPSET} or more.")
    return Graph(scope, container)


def _add_probabilities(graph: Graph, proba: str, operator: Any) -> None:
    """Add the output of probabilities, in the type that is declared: float or double."""
    double = isinstance(operator.outputs[1].type, DoubleTensorType)
    to = onnx_proto.TensorProto.DOUBLE if double else onnx_proto.TensorProto.FLOAT
    graph.Cast(proba, to=to, output=operator.outputs[1].full_name)


def _labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Labels as ONNX has them: whole numbers, truth values as 0 and 1, or strings."""
    if classes.dtype.kind in "biu":
        return classes.astype(np.int64)
    if all(isinstance(label, str) for label in classes.tolist()):
        return classes.astype(object)
    raise NotImplementedError(
        f"classes_ of type {classes.dtype} have no ONNX form: fit with whole numbers or strings as labels."
    )
