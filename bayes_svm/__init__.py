"""One SVM fit, many readings: calibrated probabilities, exact leave-one-out, and what follows."""

from importlib.metadata import version

from bayes_svm.hypersphere import GaussianKernel, HypersphereKernel
from bayes_svm.leave_one_out import LeaveOneOut, leave_one_out
from bayes_svm.similarity import ClassSimilarity, class_similarity
from bayes_svm.similarity_gradient import KernelOptimum, optimize_kernel
from bayes_svm.svc import BayesSVC
from bayes_svm.symbolic import AggregationKernel, AggregationTransformer
from bayes_svm.xi_alpha import Span, XiAlpha, span_estimate, xi_alpha

__version__ = version("bayes-svm")

__all__ = [
    "AggregationKernel",
    "AggregationTransformer",
    "BayesSVC",
    "ClassSimilarity",
    "GaussianKernel",
    "HypersphereKernel",
    "KernelOptimum",
    "LeaveOneOut",
    "Span",
    "XiAlpha",
    "class_similarity",
    "leave_one_out",
    "optimize_kernel",
    "span_estimate",
    "xi_alpha",
]
