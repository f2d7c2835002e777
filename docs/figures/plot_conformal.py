"""
Conformal sets keep their promise
=================================

How often a set does not hold the true label, against how often that may happen. The rows are drawn anew
each time, 60 to learn from and 40 to try; the labels of a fifth are noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from bayes_svm import ConformalSVC

epsilon = np.linspace(0.02, 0.5, 25)
scores = ("margin", "jackknife+")
missed = {score: [] for score in scores}
for seed in range(20):
    X, y = make_classification(100, n_features=5, flip_y=0.2, random_state=seed)
    for score in scores:
        sets = ConformalSVC(SVC(gamma=0.1), score=score).fit(X[:60], y[:60])
        held = sets.predict_set(X[60:], confidence_level=list(1 - epsilon))
        missed[score].append(~held[np.arange(40), y[60:]])

# %%
figure, axes = plt.subplots(figsize=(4.6, 4.4))
axes.plot([0, 0.5], [0, 0.5], color="0.5", label="the level asked for")
for score, marker in zip(scores, "os", strict=True):
    axes.plot(epsilon, np.mean(missed[score], axis=(0, 1)), marker, markersize=4, label=f'score="{score}"')
axes.set(xlabel="error rate allowed, 1 - confidence_level", ylabel="share of sets without the true label")
axes.legend()
plt.show()
