"""
Sixty rows, two thousand columns
================================

Gene expression studies have few patients and thousands of genes. The patients are drawn at random here:
in 60 of 2000 genes the two groups differ, in some studies a little and in others more. How well does a
study know its own error?
"""

import matplotlib.pyplot as plt
import numpy as np

from bayes_svm import BayesSVC

random = np.random.default_rng(0)


def patients(n, difference):
    """Expression of 2000 genes, and the group of each patient: a third are ill."""
    ill = (np.arange(n) % 3 == 0).astype(int)
    return random.normal(size=(n, 2000)) + difference * np.outer(ill, np.arange(2000) < 60), ill


# %%
# One study
# ---------
# With more columns than rows every labelling can be separated: the training error is zero and says
# nothing.
X, y = patients(60, 0.7)
X_new, y_new = patients(1000, 0.7)
model = BayesSVC(kernel="linear").fit(X, y)
print(f"training error {1 - model.score(X, y):.2f}")
print(f"left-out error {model.left_out_.error:.2f}")
print(f"new patients   {1 - model.score(X_new, y_new):.2f}")

# %%
# Thirty studies
# --------------
# Each is a dot: the error on 1000 new patients, and what the study said of itself.
true, training, left_out = [], [], []
for difference in np.linspace(0.2, 1.2, 30):
    X, y = patients(60, difference)
    X_new, y_new = patients(1000, difference)
    model = BayesSVC(kernel="linear").fit(X, y)
    true.append(1 - model.score(X_new, y_new))
    training.append(1 - model.score(X, y))
    left_out.append(model.left_out_.error)

figure, axes = plt.subplots(figsize=(5.4, 4.6))
axes.plot([0, 0.45], [0, 0.45], color="0.6", linewidth=1)
axes.plot(true, left_out, "C0o", label="left out, in the same fit")
axes.plot(true, training, "C1s", fillstyle="none", label="training error")
axes.set(xlabel="error on 1000 new patients", ylabel="error told by the study of 60")
axes.legend()
plt.show()
