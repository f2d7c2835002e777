"""
Conformal sets: all answers that are plausible
==============================================

Instead of one answer, a set that holds the true one with a guaranteed probability. Three kinds of
flowers, two measurements, scikit-learn's iris data.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from bayes_svm import ConformalSVC

iris = load_iris()
X, y = iris.data[:, 2:], iris.target
sets = ConformalSVC(SVC(C=3, gamma=0.5), score="margin").fit(X, y)
print(sets.guarantee_)

# %%
# Ask for more certainty, and the sets grow
# -----------------------------------------
# The colour says how many kinds are plausible for a flower with these measurements.
width, height = np.meshgrid(np.linspace(0.2, 8, 60), np.linspace(-0.5, 3.4, 50))
grid = np.c_[width.ravel(), height.ravel()]
levels = [0.8, 0.95, 0.99]
size = sets.predict_set(grid, confidence_level=levels).sum(axis=1)
shades = ListedColormap(["#ffffff", "#d4e6f1", "#7fb3d5", "#2471a3"])
figure, panels = plt.subplots(1, 3, sharey=True, figsize=(10, 3.6))
for axes, level, sizes in zip(panels, levels, size.T, strict=True):
    shown = axes.pcolormesh(width, height, sizes.reshape(width.shape), cmap=shades, vmin=-0.5, vmax=3.5)
    for kind, marker in enumerate("o^s"):
        own = y == kind
        axes.plot(*X[own].T, marker, color="black", markerfacecolor="none", markersize=3.5, linewidth=0)
    axes.set(xlabel="petal length, cm", title=f"level {level}")
panels[0].set_ylabel("petal width, cm")
figure.colorbar(shown, ax=panels, ticks=range(4), label="kinds in the set")
plt.show()

# %%
# Between the clouds two kinds are plausible. Far from all flowers every kind is equally strange. At the
# level of 0.8 none is plausible then (white), at a higher level all are: the set says that nothing is
# known there.
#
# The p-values behind the sets
# ----------------------------
flowers = np.array([[1.4, 0.2], [4.9, 1.65], [8.0, 0.2]])
for flower, values in zip(flowers, sets.p_values(flowers), strict=True):
    print(flower, dict(zip(iris.target_names.tolist(), values.round(3).tolist(), strict=True)))
