"""
Class similarity and the left-out error
=======================================

Class similarity judges a kernel before anything is trained. Beside it, the exact left-out error of a
machine with each kernel.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from bayes_svm import class_similarity, leave_one_out

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
gammas = np.logspace(-4, 1, 26)
similarity = [class_similarity(X, y, gamma=gamma).value for gamma in gammas]
errors = [100 * leave_one_out(SVC(C=1, gamma=gamma), X, y).error for gamma in gammas]

# %%
figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(6.4, 5))
above.semilogx(gammas, similarity, "C0")
above.plot(gammas[np.argmin(similarity)], min(similarity), "C0o")
above.set_ylabel("class similarity, radians")
below.semilogx(gammas, errors, "C1")
below.plot(gammas[np.argmin(errors)], min(errors), "C1o")
below.set(xlabel="gamma of the rbf kernel", ylabel="left-out error, %")
plt.show()
