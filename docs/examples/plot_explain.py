"""
What does this prediction rest on?
==================================

:meth:`~bayes_svm.BayesSVC.explain` names the training rows that speak most for an answer and against it,
and says what would change without each of them, exactly. The data are two moons, drawn at random.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from bayes_svm import BayesSVC

X, y = make_moons(80, noise=0.25, random_state=2)
model = BayesSVC(C=3, gamma=1).fit(X, y)
point = np.array([0.35, 0.45])
found = model.explain(point, n_rows=2)
print(found)

# %%
# Where these rows are
# --------------------
# The star is the point in question. Rings mark the rows that speak for the answer, squares those against
# it; beside each is the probability of the answer without that row.
figure, axes = plt.subplots(figsize=(7, 4.6))
x0, x1 = np.meshgrid(np.linspace(-1.6, 2.6, 120), np.linspace(-1.2, 1.7, 100))
surface = model.predict_proba(np.c_[x0.ravel(), x1.ravel()])[:, list(model.classes_).index(found.predicted)]
shown = axes.contourf(x0, x1, surface.reshape(x0.shape), np.linspace(0, 1, 11), cmap="PuOr", alpha=0.6)
for label, marker in enumerate("ox"):
    axes.plot(*X[y == label].T, marker, color="black", markersize=4, label=f"class {label}")
axes.plot(*point, "k*", markersize=16, label="the point in question")
for rows, marker, side in ((found.supporting, "o", 9), (found.opposing, "s", -38)):
    for row in rows:
        axes.plot(*X[row.row], marker, markersize=13, fillstyle="none", color="black")
        text = f"{row.probability:.2f}"
        axes.annotate(text, X[row.row], (side, 0), textcoords="offset points", fontweight="bold")
figure.colorbar(shown, label=f"probability of class {found.predicted}")
axes.set(xlabel="first feature", ylabel="second feature", xlim=(-0.7, 1.5), ylim=(-0.4, 1.1))
axes.legend(loc="lower left", framealpha=0.8, frameon=True)
plt.show()
