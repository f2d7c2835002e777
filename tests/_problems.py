"""What the tests of leave-one-out over awkward data share."""

import numpy as np

from bayes_svm.kernels.kernel import Kernel

EXACT = ("unchanged", "path", "re-trained")


def kernel_matrix(svc, X):
    if svc.kernel == "precomputed":
        return X
    return Kernel(svc.kernel, gamma=svc.gamma, degree=svc.degree, coef0=svc.coef0)(X, X)


def one_copy(weight):
    return weight / np.maximum(1, np.floor(weight))
