"""
The exact solution
==================

How far a solution violates the conditions of optimality: LIBSVM as ``tol`` falls, and ``BayesSVC``. The
violation is computed anew from the kernel matrix and the coefficients, in the same way for both.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from bayes_svm import BayesSVC

X, y = load_breast_cancer(return_X_y=True)
X, sign, gamma = scale(X), np.where(y, 1, -1), 0.03
K = rbf_kernel(X, gamma=gamma)


def violation(model):
    """The largest violation over all pairs of rows, as LIBSVM defines it."""
    alpha = np.zeros(len(X))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    residual = sign - K @ (alpha * sign)
    may_rise = np.where(sign > 0, alpha < model.C, alpha > 0)
    may_fall = np.where(sign > 0, alpha > 0, alpha < model.C)
    return residual[may_rise].max() - residual[may_fall].min()


# %%
# LIBSVM does not always reach the tolerance asked for; it is then stopped after ten million steps.
tolerances = np.logspace(-1, -13, 7)
figure, axes = plt.subplots()
for C, color in zip((1, 100), ("C0", "C1"), strict=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machines = [SVC(C=C, gamma=gamma, tol=tol, max_iter=10**7).fit(X, y) for tol in tolerances]
    found = [max(violation(machine), 1e-17) for machine in machines]
    axes.loglog(tolerances, found, "o-", color=color, label=f"SVC, C = {C}")
    ours = max(violation(BayesSVC(C=C, gamma=gamma).fit(X, y)), 1e-17)
    axes.axhline(ours, color=color, linestyle="--", label=f"BayesSVC, C = {C}")
axes.invert_xaxis()
axes.set(xlabel="tol of SVC", ylabel="largest violation of optimality")
axes.legend()
plt.show()
