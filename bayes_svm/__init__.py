"""One SVM fit, many readings: calibrated probabilities, exact leave-one-out, and what follows."""

from importlib.metadata import version

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.classifiers.pairwise_coupling import PairwiseCouplingClassifier
from bayes_svm.decision import RejectOptionClassifier, Threshold, choose_threshold
from bayes_svm.kernels.aggregation import AggregationKernel, AggregationTransformer
from bayes_svm.kernels.hypersphere import GaussianKernel, HypersphereKernel
from bayes_svm.leave_one_out import LeaveOneOut, leave_one_out
from bayes_svm.leave_one_out.estimates import Span, XiAlpha, span_estimate, xi_alpha
from bayes_svm.multivariate import MultivariateSVC
from bayes_svm.probability.evidence import Evidence, log_evidence
from bayes_svm.selection.comparison import compare_estimators
from bayes_svm.selection.search import BayesSVCSearch
from bayes_svm.similarity.class_similarity import ClassSimilarity, class_similarity
from bayes_svm.similarity.gradient import KernelOptimum, optimize_kernel

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
