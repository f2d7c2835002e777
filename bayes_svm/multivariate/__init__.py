"""SVMs trained for a multivariate performance measure."""

from bayes_svm.multivariate.svc import MultivariateSVC

__all__ = ["MultivariateSVC"]
