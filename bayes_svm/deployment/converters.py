"""Converters of this package's classifiers for skl2onnx."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from skl2onnx import update_registered_converter
from skl2onnx.algebra.onnx_operator import OnnxSubEstimator
from skl2onnx.algebra.onnx_ops import OnnxCast, OnnxIdentity
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
from skl2onnx.proto import onnx_proto
from sklearn.pipeline import Pipeline

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.decision.rejection import RejectOptionClassifier
from bayes_svm.deployment.graph import Graph, log_probabilities
from bayes_svm.selection.search import BayesSVCSearch

__all__ = ["LEAST_OPSET", "register_onnx_converters"]

# From this opset of ONNX on all operators that are used have the same form.
LEAST_OPSET = 18
KERNELS = ("linear", "poly", "rbf", "sigmoid")
# What other classifiers compute in single precision is rounded by less: votes of 9 trees in 10 reach
# a threshold of 0.9.
ROUNDING = 1e-5


def register_onnx_converters() -> None:
    """Teach skl2onnx to convert ``BayesSVC``, ``BayesSVCSearch`` and ``RejectOptionClassifier``.

    Afterwards ``skl2onnx.to_onnx`` takes them alone or in a pipeline. It writes opset 18 or later. The model
    computes in double precision, whatever the type of its input, and its outputs are those of scikit-learn's
    classifiers: label and probabilities, or of a BayesSVC, with the option ``raw_scores``, the values of
    ``decision_function``, for two classes after a column of their negatives (an infinite one of
    ``link="clipped"`` becomes about 1e4). A reject option needs an estimator that skl2onnx converts, and puts
    its reject label in place of the label. Around an estimator that does not end in a BayesSVC or a search,
    whose probabilities may come in single precision, it accepts those up to 1e-5 below its threshold.

    A row that holds NaN or infinity, which ``predict`` refuses, has probabilities of NaN. A reject option
    rejects it; a classifier without one still names a class.

    skl2onnx itself converts :class:`~sklearn.calibration.CalibratedClassifierCV`: right with
    ``method="sigmoid"`` around a BayesSVC, and wrong around a pipeline. Put a scaler before it.

    From float32 input, probabilities are within 1e-5 of those of ``predict_proba`` for the same float32
    numbers. A scaler before the classifier, converted by skl2onnx, computes in the type of the input: give
    double input where features are large compared with their deviation.

    Not converted: callable and precomputed kernels, a scikit-learn calibrator as link, conformal guarantees,
    and the handling of rows so far from the origin that kernel values overflow.

    Raises
    ------
    ImportError
        If skl2onnx is not installed: ``pip install bayes_svm[onnx]``.

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
    for model, convert, more in (
        (BayesSVC, _convert_svc, {"raw_scores": switch}),
        (BayesSVCSearch, _convert_search, {}),
        (RejectOptionClassifier, _convert_reject_option, {}),
    ):
        update_registered_converter(
            model,
            f"BayesSvm{model.__name__}",
            calculate_linear_classifier_output_shapes,
            convert,
            options=options | more,
        )


def _convert_svc(scope: Any, operator: Any, container: Any) -> None:
    """Add the operators of a BayesSVC."""
    model, graph = operator.raw_operator, _graph(scope, container)
    function = model.kernel_.function
    if function not in KERNELS:
        raise NotImplementedError(
            f"kernel={function!r} has no ONNX form: fit BayesSVC with one of {', '.join(KERNELS)}."
        )
    wanted = container.get_options(model, {"raw_scores": False, "nocl": False})
    X = graph.Cast(operator.inputs[0].full_name, to=onnx_proto.TensorProto.DOUBLE)
    values = graph.values(model, X)
    logs = log_probabilities(graph, model, X, values)
    proba = graph.Exp(logs)
    _add_label(graph, proba, operator, wanted["nocl"])
    if not wanted["raw_scores"]:
        _add_probabilities(graph, proba, operator)
    elif len(model.classes_) == 2:
        _add_probabilities(graph, graph.Concat(graph.Neg(values), values, axis=1), operator)
    else:
        weighted = graph.Add(logs, np.log(model.class_weight_)[None])
        _add_probabilities(graph, graph.normalised_log_odds(weighted, len(model.classes_)), operator)


def _convert_search(scope: Any, operator: Any, container: Any) -> None:
    """Add the operators of the models of a BayesSVCSearch, and those that pool their probabilities."""
    model, graph = operator.raw_operator, _graph(scope, container)
    model._require_models()
    answers = [_answers(one, operator.inputs[0], scope, container)[1] for one in model.estimators_]
    each = [graph.Cast(proba, to=onnx_proto.TensorProto.DOUBLE) for proba in answers]
    proba = each[0] if len(each) == 1 else graph.pooled(each, model.weights_, model.base_)
    _add_label(graph, proba, operator, container.get_options(model, {"nocl": False})["nocl"])
    _add_probabilities(graph, proba, operator)


def _convert_reject_option(scope: Any, operator: Any, container: Any) -> None:
    """Add the operators of a RejectOptionClassifier around those of its estimator."""
    model, graph = operator.raw_operator, _graph(scope, container)
    if model._of_sets:
        raise NotImplementedError("guarantee='conformal' has no ONNX form: use guarantee='risk' or None.")
    if container.get_options(model, {"nocl": False})["nocl"]:
        raise NotImplementedError("A rejection has no class number: leave the option 'nocl' out.")
    predicted, proba = _answers(model.estimator_, operator.inputs[0], scope, container)
    proba = graph.Cast(proba, to=onnx_proto.TensorProto.DOUBLE)
    output = operator.outputs[0].full_name
    if model.reject_label_ is None:
        graph.Identity(predicted, output=output)
    else:
        classes = _labels(model.classes_)
        reject = _labels(np.array([model.reject_label_]))  # its type is that of the classes
        is_label = graph.Equal(graph.Unsqueeze(predicted, np.array([1])), classes[None])
        confidence = graph.sum(graph.Where(is_label, proba, np.zeros((1, 1))))
        threshold = model.threshold_ - (0.0 if _is_ours(model.estimator_) else ROUNDING)
        # False where the confidence is NaN.
        accepted = graph.GreaterOrEqual(confidence, np.array([[threshold]]))
        graph.Where(graph.Squeeze(accepted, np.array([1])), predicted, reject, output=output)
    _add_probabilities(graph, proba, operator)


def _is_ours(estimator: Any) -> bool:
    """Whether a classifier is converted here, or a pipeline ends in one that is: both compute in double."""
    if isinstance(estimator, Pipeline):
        return _is_ours(estimator[-1])
    return isinstance(estimator, BayesSVC | BayesSVCSearch)


def _answers(estimator: Any, X: Any, scope: Any, container: Any) -> list[str]:
    """Names of the label and the probabilities that the estimator of a reject option or a search gives."""
    if isinstance(estimator, Pipeline):
        return _answers_of_pipeline(estimator, X, scope, container)
    opset, kind = container.target_opset, X.type
    if _is_ours(estimator):
        # In double precision no probability is rounded across the threshold.
        kind = DoubleTensorType(X.type.shape)
        X = OnnxCast(X, to=onnx_proto.TensorProto.DOUBLE, op_version=opset)
    answered = OnnxSubEstimator(estimator, X, op_version=opset, options={"zipmap": False}, input_types=[kind])
    names: list[str] = [scope.get_unique_variable_name(name) for name in ("answer", "confidence")]
    for place, name in enumerate(names):
        OnnxIdentity(answered[place], op_version=opset, output_names=[name]).add_to(scope, container)
    return names


def _answers_of_pipeline(pipeline: Pipeline, X: Any, scope: Any, container: Any) -> list[str]:
    """The same for a pipeline, which is no single operator: skl2onnx converts it after this converter."""
    if _is_ours(pipeline) and isinstance(X.type, FloatTensorType):
        # The other steps too compute in double precision, so that no probability is rounded.
        given, X = X, scope.declare_local_variable("double", DoubleTensorType(X.type.shape))
        _graph(scope, container).Cast(given.full_name, to=onnx_proto.TensorProto.DOUBLE, output=X.full_name)
        X.init_status(is_fed=True)
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


def _add_label(graph: Graph, proba: str, operator: Any, as_number: bool) -> None:
    """Add the output of the label: that of the largest class weight times probability."""
    model = operator.raw_operator
    costs = (model.class_weight_ / model.class_weight_.max())[None]
    number = graph.ArgMax(graph.Mul(proba, costs), axis=1, keepdims=0)
    classes = np.arange(len(model.classes_)) if as_number else _labels(model.classes_)
    graph.Gather(classes, number, axis=0, output=operator.outputs[0].full_name)


def _add_probabilities(graph: Graph, proba: str, operator: Any) -> None:
    """Add the output of probabilities, in the type of the input: float or double."""
    double = isinstance(operator.inputs[0].type, DoubleTensorType)
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
