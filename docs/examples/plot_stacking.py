"""
A mixture in place of the best setting
======================================

With few rows no setting of C and gamma is clearly best. ``combine="stack"`` keeps several, with weights from
the left-out values. Nothing is trained again. The data are the breast cancer data of scikit-learn, with 40
rows to learn from, in eight draws.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayes_svm import BayesSVC, BayesSVCSearch

X_all, y_all = load_breast_cancer(return_X_y=True)
pipeline = make_pipeline(StandardScaler(), BayesSVC())
grid = {"bayessvc__C": [0.3, 1, 3, 10], "bayessvc__gamma": [0.003, 0.01, 0.03, 0.1]}
losses = {"default setting": [], "best setting": [], "mixture": []}
for draw in range(8):
    X, X_new, y, y_new = train_test_split(X_all, y_all, train_size=40, stratify=y_all, random_state=draw)
    best = BayesSVCSearch(pipeline, grid).fit(X, y)
    mixture = BayesSVCSearch(pipeline, grid, combine="stack").fit(X, y)
    models = (pipeline.fit(X, y), best, mixture)
    for name, model in zip(losses, models, strict=True):
        losses[name].append(log_loss(y_new, model.predict_proba(X_new)))
print(
    f"the last mixture has {len(mixture.estimators_)} of 16 models, with weights {mixture.weights_.round(2)}"
)

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.4))
for k, found in enumerate(losses.values()):
    axes.plot(found, np.full(8, k) + np.linspace(-0.12, 0.12, 8), "o", color=f"C{k}", alpha=0.6)
    axes.plot(np.mean(found), k, "k|", markersize=30, markeredgewidth=2)
axes.set(yticks=range(3), yticklabels=list(losses), ylim=(2.5, -0.5))
axes.set_xlabel("log loss on 529 new rows (dots: draws; bars: means)")
plt.show()
