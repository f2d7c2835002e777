"""One SVM fit, many readings: calibrated probabilities, exact leave-one-out, and what follows."""

from importlib.metadata import version

from bayes_svm.coupling import PairwiseCouplingClassifier
from bayes_svm.decision import RejectOptionClassifier, Threshold, choose_threshold
from bayes_svm.evidence import Evidence, log_evidence
from bayes_svm.hypersphere import GaussianKernel, HypersphereKernel
from bayes_svm.leave_one_out import LeaveOneOut, leave_one_out
from bayes_svm.multivariate import MultivariateSVC
from bayes_svm.resampling import compare_estimators
from bayes_svm.search import BayesSVCSearch
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
    "BayesSVCSearch",
    "ClassSimilarity",
    "Evidence",
    "GaussianKernel",
    "HypersphereKernel",
    "KernelOptimum",
    "LeaveOneOut",
    "MultivariateSVC",
    "PairwiseCouplingClassifier",
    "RejectOptionClassifier",
    "Span",
    "Threshold",
    "XiAlpha",
    "choose_threshold",
    "class_similarity",
    "compare_estimators",
    "leave_one_out",
    "log_evidence",
    "optimize_kernel",
    "span_estimate",
    "xi_alpha",
]
