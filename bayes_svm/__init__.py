"""One SVM fit, many readings: calibrated probabilities, exact leave-one-out, and what follows.

The names below are loaded when they are first used: ``import bayes_svm`` alone loads nothing.
"""

from importlib import import_module
from sys import modules
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayes_svm.classifiers.bayes_svc import BayesSVC
    from bayes_svm.classifiers.explanation import Explanation
    from bayes_svm.classifiers.pairwise_coupling import PairwiseCouplingClassifier
    from bayes_svm.conformal.svc import ConformalSVC
    from bayes_svm.decision import RejectOptionClassifier, Threshold, choose_threshold
    from bayes_svm.kernels.aggregation import AggregationKernel, AggregationTransformer
    from bayes_svm.kernels.hypersphere import GaussianKernel, HypersphereKernel
    from bayes_svm.leave_one_out import LeaveOneOut, leave_one_out
    from bayes_svm.leave_one_out.estimates import Span, XiAlpha, span_estimate, xi_alpha
    from bayes_svm.multivariate import MultivariateSVC
    from bayes_svm.probability.evidence import Evidence, log_evidence
    from bayes_svm.selection.comparison import compare_estimators
    from bayes_svm.selection.label_issues import find_label_issues, label_quality_scores
    from bayes_svm.selection.search import BayesSVCSearch
    from bayes_svm.similarity.class_similarity import ClassSimilarity, class_similarity
    from bayes_svm.similarity.gradient import KernelOptimum, optimize_kernel

__all__ = [
    "AggregationKernel",
    "AggregationTransformer",
    "BayesSVC",
    "BayesSVCSearch",
    "ClassSimilarity",
    "ConformalSVC",
    "Evidence",
    "Explanation",
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
    "find_label_issues",
    "label_quality_scores",
    "leave_one_out",
    "log_evidence",
    "optimize_kernel",
    "span_estimate",
    "xi_alpha",
]

_HOMES = {
    "classifiers.bayes_svc": ("BayesSVC",),
    "classifiers.explanation": ("Explanation",),
    "classifiers.pairwise_coupling": ("PairwiseCouplingClassifier",),
    "conformal.svc": ("ConformalSVC",),
    "decision": ("RejectOptionClassifier", "Threshold", "choose_threshold"),
    "kernels.aggregation": ("AggregationKernel", "AggregationTransformer"),
    "kernels.hypersphere": ("GaussianKernel", "HypersphereKernel"),
    "leave_one_out": ("LeaveOneOut", "leave_one_out"),
    "leave_one_out.estimates": ("Span", "XiAlpha", "span_estimate", "xi_alpha"),
    "multivariate": ("MultivariateSVC",),
    "probability.evidence": ("Evidence", "log_evidence"),
    "selection.comparison": ("compare_estimators",),
    "selection.label_issues": ("find_label_issues", "label_quality_scores"),
    "selection.search": ("BayesSVCSearch",),
    "similarity.class_similarity": ("ClassSimilarity", "class_similarity"),
    "similarity.gradient": ("KernelOptimum", "optimize_kernel"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_SUBPACKAGES = ("decision", "deployment", "multivariate", "plots")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("bayes-svm")
    if name in _SUBPACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBPACKAGES, "__version__"])


class _Package(ModuleType):
    """Keeps the function ``leave_one_out`` in its place.

    When something in the folder of this name is loaded, the import system sets the folder as an attribute.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name == "leave_one_out" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


modules[__name__].__class__ = _Package
