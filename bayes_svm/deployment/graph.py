"""Decision values and log-odds as ONNX operators, in double precision."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from skl2onnx.proto import onnx_proto

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.probability.joint import LARGEST_LOG_ODDS, JointLink
from bayes_svm.probability.kwok import ON_MARGIN, ClippedLink, HingeLink, KwokLink
from bayes_svm.probability.link import Link
from bayes_svm.probability.moderated import TIE_BREAK, ModeratedLink
from bayes_svm.probability.posterior import Posterior
from bayes_svm.probability.reading import variance_at
from bayes_svm.probability.sigmoid import SigmoidLink
from bayes_svm.selection.mixture import LOWEST
from bayes_svm.utils.types import Array

__all__ = ["Graph", "log_probabilities"]

# Type of a constant in ONNX, by the kind of its array: all numbers have eight bytes.
ONNX_TYPES = {
    "f": onnx_proto.TensorProto.DOUBLE,
    "i": onnx_proto.TensorProto.INT64,
    "O": onnx_proto.TensorProto.STRING,
}
# Log-odds are cut off at this size: beyond it a probability is 0 or 1 in double precision.
CERTAIN = 1e4
# Logarithm of what is not to count in a sum.
RULED_OUT = -1e9
# Chebyshev coefficients of log(erfcx(z) / t) in t = 1 / (1 + z / 2), for z >= 0 (Numerical Recipes, erfcc).
# The relative error of erfcx is at most 1.2e-7. onnxruntime has no erf in double precision.
ERFCX = (
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587,
    -0.82215223, 0.17087277,
)  # fmt: skip


class Graph:
    """Adds operators to an ONNX graph; ``graph.Add(a, b)`` adds the operator Add, and names its output.

    Operators are added one by one: skl2onnx's own algebra walks through every path of an expression, of
    which there are too many where parts are used more than once.

    Parameters
    ----------
    scope, container
        What skl2onnx hands to a converter.
    """

    def __init__(self, scope: Any, container: Any) -> None:
        self.scope, self.container = scope, container

    def __getattr__(self, name: str) -> Any:
        return partial(self._add, name)

    def _add(self, operator: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """Add an operator whose inputs are names or arrays, and name its output."""
        names = [one if isinstance(one, str) else self._constant(one) for one in inputs]
        output = self.scope.get_unique_variable_name(operator.lower()) if output is None else output
        self.container.add_node(
            operator,
            names,
            [output],
            name=self.scope.get_unique_operator_name(operator),
            op_version=self.container.target_opset,
            **attributes,
        )
        return output

    def _constant(self, value: NDArray[Any]) -> str:
        name: str = self.scope.get_unique_variable_name("constant")
        content = [one.encode() for one in value.ravel()] if value.dtype == object else value.ravel()
        self.container.add_initializer(name, ONNX_TYPES[value.dtype.kind], list(value.shape), content)
        return name

    def sum(self, value: Any, axis: int = 1) -> Any:
        """Sums along an axis, which is kept."""
        return self.ReduceSum(value, np.array([axis], dtype=np.int64), keepdims=1)

    def clip(self, value: Any, low: float, high: float) -> Any:
        """Values moved into an interval."""
        return self.Min(self.Max(value, _number(low)), _number(high))

    def column(self, value: Any, k: int) -> Any:
        """Column k, as a matrix of one column."""
        return self.Gather(value, np.array([k], dtype=np.int64), axis=1)

    def log1p(self, value: Any) -> Any:
        """``log(1 + value)``, of numbers far below the precision of 1 too."""
        # The quotient takes back what was rounded in the sum.
        total = self.Add(value, _number(1.0))
        quotient = self.Div(self.Log(total), self.Sub(total, _number(1.0)))
        return self.Where(self.Equal(total, _number(1.0)), value, self.Mul(value, quotient))

    def log_sigmoid(self, z: Any) -> Any:
        """``log(1 / (1 + exp(-z)))``."""
        return self.Sub(self.Min(z, _number(0.0)), self.log1p(self.Exp(self.Neg(self.Abs(z)))))

    def log_sum_exp(self, value: Any, axis: int = 1) -> Any:
        """``log sum exp`` along an axis, which is kept."""
        top = self.largest(value, axis)
        return self.Add(top, self.Log(self.sum(self.Exp(self.Sub(value, top)), axis)))

    def largest(self, value: Any, axis: int = 1) -> Any:
        """Largest values along an axis, which is kept."""
        return self.ReduceMax(value, np.array([axis], dtype=np.int64), keepdims=1)

    def kernel(self, kernel: Any, X: Any, rows: Array) -> Any:
        """Kernel values between X and training rows, shape (n_samples, n_rows)."""
        if kernel.function == "rbf":
            # Far from 0, squared lengths have no digits for their small difference.
            middle = (rows.min(axis=0) / 2 + rows.max(axis=0) / 2)[None]
            X, rows = self.Sub(X, middle), rows - middle
        product = self.MatMul(X, np.ascontiguousarray(rows.T))
        if kernel.function == "linear":
            return product
        if kernel.function == "rbf":
            lengths = self.Add(self.sum(self.Mul(X, X)), (rows**2).sum(axis=1)[None])
            apart = self.Sub(lengths, self.Mul(product, _number(2.0)))
            return self.Exp(self.Mul(self.Max(apart, _number(0.0)), _number(-kernel.gamma)))
        affine = self.Add(self.Mul(product, _number(kernel.gamma)), _number(kernel.coef0))
        return self.Tanh(affine) if kernel.function == "sigmoid" else self.Pow(affine, _number(kernel.degree))

    def diagonal(self, kernel: Any, X: Any) -> Any:
        """``k(x, x)`` of every row, for the kernels that have a posterior."""
        lengths = self.sum(self.Mul(X, X))
        if kernel.function == "rbf":
            return self.Add(self.zeros(X), _number(1.0))
        if kernel.function == "linear":
            return lengths
        affine = self.Add(self.Mul(lengths, _number(kernel.gamma)), _number(kernel.coef0))
        return self.Tanh(affine) if kernel.function == "sigmoid" else self.Pow(affine, _number(kernel.degree))

    def zeros(self, X: Any) -> Any:
        """One column of zeros, or NaN for a row that holds NaN or infinity."""
        return self.sum(self.Mul(X, _number(0.0)))

    def values(self, model: BayesSVC, X: Any) -> Any:
        """Decision values, shape (n_samples, n_machines); NaN for a row that holds NaN or infinity."""
        constant = self.Add(self.zeros(X), model.intercept_[None])
        if model.kernel_.is_linear:
            weights = np.ascontiguousarray(model._feature_weights().T)
            return self.Add(self.MatMul(X, weights), constant)
        chosen, coefficients = model._expansion
        if len(model.support_) == 0:
            return constant
        rows = _dense(model.support_vectors_)[chosen]
        cross = self.kernel(model.kernel_, X, rows)
        return self.Add(self.MatMul(cross, np.ascontiguousarray(coefficients.T)), constant)

    def reading(self, model: BayesSVC, X: Any, k: int) -> Any:
        """What the link of machine k reads of the posterior, one column; None if it reads nothing."""
        if not model._link_posteriors or model._read_at is None:
            return None
        posterior = model._link_posteriors[k]
        diagonal, explained = self.diagonal(model.kernel_, X), self.explained(posterior, X)
        left = self.Max(self.Sub(diagonal, explained), _number(0.0))
        if model._read_at is variance_at:
            return self.Mul(left, _number(1.0 / posterior.lam))
        share = self.Mul(self.Div(explained, diagonal), _number(posterior.lam))
        # A point without variance is as well known as can be.
        unknown = self.And(self.Greater(left, _number(0.0)), self.Greater(diagonal, _number(0.0)))
        found = self.Where(unknown, self.Div(share, left), _number(np.inf))
        # Of a point so far away that its kernel value overflows nothing is known.
        return self.Where(self.Less(diagonal, _number(np.inf)), found, _number(0.0))

    def explained(self, posterior: Posterior, X: Any) -> Any:
        """Part of ``k(x, x)`` that the data explain, one column."""
        if len(posterior.points) == 0:
            return self.zeros(X)
        half = posterior.half_of(np.eye(len(posterior.points)))
        cross = self.kernel(posterior.kernel, X, _dense(posterior.rows))
        return self.sum(self.Pow(self.MatMul(cross, np.ascontiguousarray(half.T)), _number(2.0)))

    def log_odds(self, link: Link, value: Any, reading: Any) -> Any:
        """Log-odds of one link, one column."""
        if isinstance(link, ModeratedLink):
            return self.moderated(link, self.log_odds(link.sigmoid, value, None), reading)
        if isinstance(link, SigmoidLink):
            return self.Add(self.Mul(self._within(link, value), _number(link.slope)), _number(link.offset))
        if isinstance(link, HingeLink):
            found = self.Add(value, self.clip(value, -1.0, 1.0))
        elif isinstance(link, ClippedLink):
            on_margin = self.Greater(self.Abs(value), _number(1.0 - ON_MARGIN))
            clipped = self.Where(on_margin, self.Sign(value), value)
            share = self.Mul(self.Add(clipped, _number(1.0)), _number(0.5))
            logit = self.Sub(self.Log(share), self.Log(self.Sub(_number(1.0), share)))
            # Cut last: classes that are all ruled out are equally probable, wherever their boundaries are.
            return self.clip(self.Add(logit, _number(link.boundary)), -CERTAIN, CERTAIN)
        elif isinstance(link, KwokLink):
            found = self._kwok(value, reading)
        else:
            raise NotImplementedError(
                f"link={link} has no ONNX form: fit BayesSVC with a link by name, such as link='moderated'."
            )
        return self.Add(found, _number(link.boundary))

    def moderated(self, link: Link, log_odds: Any, reading: Any) -> Any:
        """Log-odds moderated as a link moderates its own, one column."""
        if not isinstance(link, ModeratedLink) or reading is None or link.reference == 0.0:
            return log_odds
        share = self.Min(self.Mul(reading, _number(1.0 / link.reference)), _number(1.0))
        order = self.Div(self.Mul(log_odds, _number(TIE_BREAK)), self.Add(self.Abs(log_odds), _number(1.0)))
        shrunk = self.Add(self.Mul(share, self.Sub(log_odds, _number(link.limit))), _number(link.limit))
        return self.Where(self.Less(share, _number(1.0)), self.Add(shrunk, order), log_odds)

    def joint(self, joint: JointLink, z: Any) -> Any:
        """Log-odds of each class against all others, by the joint link."""
        n_classes = len(joint.weights)
        weights = np.zeros((n_classes, 2 * n_classes + 1))
        np.put_along_axis(weights, joint.columns, joint.weights, axis=1)
        z = self.clip(z, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        features = self.Concat(self.log_sigmoid(z), self.log_sigmoid(self.Neg(z)), axis=1)
        scores = self.Add(
            self.MatMul(features, np.ascontiguousarray(weights[:, :-1].T)), weights[:, -1][None]
        )
        return self.normalised_log_odds(scores, n_classes)

    def normalised_log_odds(self, logs: Any, n_classes: int) -> Any:
        """Log-odds of each class against all others, from logarithms up to a constant in each row."""
        others = self.Add(self.Unsqueeze(logs, np.array([1])), np.diag(np.full(n_classes, RULED_OUT))[None])
        rest = self.Squeeze(self.log_sum_exp(others, axis=2), np.array([2]))
        return self.Sub(logs, rest)

    def pooled(self, each: Any, weights: Array, base: Array) -> Any:
        """Log-probabilities of the logarithmic pool of several models, from theirs."""
        total: Any = ((1.0 - weights.sum()) * base)[None]
        for logs, weight in zip(each, weights, strict=True):
            total = self.Add(total, self.Mul(self.Max(logs, _number(LOWEST)), _number(weight)))
        return self.Sub(total, self.log_sum_exp(total))

    def _within(self, link: SigmoidLink, value: Any) -> Any:
        """Values as the sigmoid saturates them outside its range."""
        if link.slope == 0.0 or not np.isfinite(link.high - link.low):
            return value
        inside = self.clip(value, link.low, link.high)
        away = self.Sub(value, inside)
        beyond = self.Add(self.Mul(self.Abs(away), _number(link.slope)), _number(1.0))
        return self.Add(inside, self.Div(away, beyond))

    def _kwok(self, value: Any, reading: Any) -> Any:
        """Log-odds of the hinge likelihood averaged over the posterior."""
        if reading is None:
            return self.Add(value, self.clip(value, -1.0, 1.0))
        deviation = self.Max(self.Sqrt(reading), _number(1e-9))
        return self.Sub(self._mean(value, deviation), self._mean(self.Neg(value), deviation))

    def _mean(self, a: Any, s: Any) -> Any:
        """Logarithm of the mean of ``exp(-[1 - t]_+)`` over t normal with mean a and deviation s."""
        margin = self.Div(self.Sub(a, _number(1.0)), s)
        x = self.Add(s, margin)
        half = self.Mul(self.Pow(margin, _number(2.0)), _number(-0.5))
        near = self.Add(half, self._log_half_erfcx(self.Max(x, _number(0.0))))
        tail = self.Add(self.Mul(self.Pow(s, _number(2.0)), _number(0.5)), self.Sub(a, _number(1.0)))
        far = self.Add(tail, self._log_ndtr(self.Neg(x)))
        below, above = self.Where(self.Greater(x, _number(0.0)), near, far), self._log_ndtr(margin)
        return self.log_sum_exp(self.Concat(below, above, axis=1))

    def _log_ndtr(self, x: Any) -> Any:
        """Logarithm of the normal distribution function."""
        size = self.Abs(x)
        tail = self.Add(self.Mul(self.Pow(x, _number(2.0)), _number(-0.5)), self._log_half_erfcx(size))
        rest = self.log1p(self.Neg(self.Exp(tail)))
        return self.Where(self.Greater(x, _number(0.0)), rest, tail)

    def _log_half_erfcx(self, x: Any) -> Any:
        """``log(erfcx(x / sqrt(2)) / 2)`` for x at least 0."""
        t = self.Div(_number(1.0), self.Add(self.Mul(x, _number(0.5 / np.sqrt(2.0))), _number(1.0)))
        series: Any = _number(ERFCX[-1])
        for coefficient in ERFCX[-2::-1]:
            series = self.Add(self.Mul(series, t), _number(coefficient))
        return self.Add(self.Log(self.Mul(t, _number(0.5))), series)


def log_probabilities(graph: Graph, model: BayesSVC, X: Any, values: Any) -> Any:
    """Log-probabilities of all classes at decision values, shape (n_samples, n_classes)."""
    probabilities = model._probabilities
    columns = [graph.column(values, k) for k in range(len(model.intercept_))]
    readings = [graph.reading(model, X, k) for k in range(len(columns))]
    if len(columns) == 1:
        z = graph.log_odds(probabilities.links[0], columns[0], readings[0])
        return graph.Concat(graph.log_sigmoid(graph.Neg(z)), graph.log_sigmoid(z), axis=1)
    if probabilities.joint is None:
        machines = zip(probabilities.links, columns, readings, strict=True)
        z = graph.Concat(*(graph.log_odds(*one) for one in machines), axis=1)
        return _winner(graph, z, len(columns)) if probabilities.winner else _normalised(graph, z)
    unmoderated = zip(probabilities.links, columns, strict=True)
    z = graph.Concat(*(graph.log_odds(link.unmoderated, one, None) for link, one in unmoderated), axis=1)
    z = graph.joint(probabilities.joint, z)
    each = [
        graph.moderated(link, graph.column(z, k), readings[k]) for k, link in enumerate(probabilities.links)
    ]
    return _normalised(graph, graph.Concat(*each, axis=1))


def _normalised(graph: Graph, z: Any) -> Any:
    """Log-probabilities of the classes against the rest, divided by their sum."""
    logs = graph.log_sigmoid(z)
    return graph.Sub(logs, graph.log_sum_exp(logs))


def _winner(graph: Graph, z: Any, n_classes: int) -> Any:
    """The most probable class keeps its probability against the rest, if that is larger than its share."""
    shares = _normalised(graph, z)
    top = graph.largest(z)
    own, rest = graph.log_sigmoid(top), graph.log_sigmoid(graph.Neg(top))
    is_top = graph.Equal(graph.ArgMax(z, axis=1, keepdims=1), np.arange(n_classes)[None])
    others = graph.Where(is_top, _number(RULED_OUT), shares)
    mixed = graph.Where(is_top, own, graph.Add(others, graph.Sub(rest, graph.log_sum_exp(others))))
    # Log-odds tell certain classes apart, whose probabilities are 1 in double precision.
    share = graph.largest(graph.normalised_log_odds(graph.log_sigmoid(z), n_classes))
    return graph.Where(graph.Greater(top, share), mixed, shares)


def _number(value: float) -> Array:
    return np.array([value], dtype=np.float64)


def _dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)
