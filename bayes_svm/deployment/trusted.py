"""The types that skops has to trust in a file of one of this package's classifiers."""

from __future__ import annotations

__all__ = ["TRUSTED_TYPES"]

# Names in this package, by module. All of them hold data only: none runs code when it is made.
_BY_MODULE = {
    "classifiers.bayes_svc": ("BayesSVC",),
    "classifiers.packed_arrays": ("PackedArrays",),
    "classifiers.pairwise_coupling": ("PairwiseCouplingClassifier",),
    "classifiers.training_rows": ("TrainingRows",),
    "conformal.adding": ("Adder",),
    "conformal.scores": ("KeptScores", "LeftOutScores", "MarginScores", "_Parts"),
    "conformal.svc": ("ConformalSVC",),
    "conformal.venn_abers": ("VennAbers",),
    "conformal.votes": ("Votes",),
    "decision.rejection": ("RejectOptionClassifier",),
    "dual.machine": ("Machine",),
    "dual.problem": ("DualProblem", "_NoKernelMatrix"),
    "dual.solution": ("DualSolution",),
    "dual.tableau": ("FreeSystem",),
    "kernels.aggregation": ("AggregationKernel", "AggregationTransformer"),
    "kernels.functions": ("Features",),
    "kernels.gram": ("WholeMatrix",),
    "kernels.hypersphere": ("GaussianKernel", "HypersphereKernel"),
    "kernels.kept_rows": ("KeptRows",),
    "kernels.kernel": ("Kernel",),
    "kernels.recomputed": ("Recomputed",),
    "leave_one_out.machines": ("LeftOutMachines",),
    "leave_one_out.outcomes": ("Outcomes", "Remainders"),
    "leave_one_out.result": ("LeaveOneOut",),
    "metrics.risk_coverage": ("RiskCoverageCurve",),
    "multivariate.planes": ("Planes",),
    "multivariate.rows": ("DenseRows", "SparseRows"),
    "multivariate.svc": ("MultivariateSVC",),
    "multivariate.training": ("Memory",),
    "probability.calibrator": ("CalibratorLink",),
    "probability.joint": ("JointLink",),
    "probability.kwok": ("ClippedLink", "HingeLink", "KwokLink"),
    "probability.moderated": ("ModeratedLink",),
    "probability.posterior": ("Posterior",),
    "probability.probabilities": ("Calibration", "Probabilities"),
    "probability.reading": ("information_at", "variance_at"),
    "probability.sigmoid": ("SigmoidLink",),
    "selection.search": ("BayesSVCSearch",),
}

#: Types in a skops file of a fitted classifier of this package or of an ``AggregationTransformer``, for
#: ``skops.io.load(file, trusted=TRUSTED_TYPES)``. A function of your own as kernel, and the types of a
#: kernel of scikit-learn's Gaussian processes, of a calibrator as link, of a splitter, or of dates and
#: intervals as categories, are not among them: add them if you trust them.
TRUSTED_TYPES = [
    *(f"bayes_svm.{module}.{name}" for module, names in _BY_MODULE.items() for name in names),
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
]
