"""
Choosing C and gamma without folds
==================================

``GridSearchCV`` fits every setting five times, and once more for the best; with a calibration inside, six
times as often. :class:`~bayes_svm.BayesSVCSearch` fits every setting once, on all data, and reads the
exact left-out log loss. The data are the breast cancer data of scikit-learn, 150 rows of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayes_svm import BayesSVC, BayesSVCSearch

X, y = load_breast_cancer(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, train_size=150, stratify=y, random_state=0)
grid = {"bayessvc__C": np.logspace(-1, 3, 9), "bayessvc__gamma": np.logspace(-4, -1, 7)}
search = BayesSVCSearch(make_pipeline(StandardScaler(), BayesSVC()), grid).fit(X, y)
print({name: round(float(value), 4) for name, value in search.best_params_.items()})
print(
    f"log loss told {search.left_out_log_loss_:.3f}, true {log_loss(y_new, search.predict_proba(X_new)):.3f}"
)

# %%
# What the search saw, and what is true
# -------------------------------------
# On the left the left-out log loss of each setting, on the right the log loss on 419 rows that the search
# has not seen. The ring is the setting that was chosen.
told = -search.cv_results_["mean_test_score"].reshape(9, 7)
true = np.empty_like(told)
for k, C in enumerate(grid["bayessvc__C"]):
    for j, gamma in enumerate(grid["bayessvc__gamma"]):
        model = make_pipeline(StandardScaler(), BayesSVC(C=C, gamma=gamma)).fit(X, y)
        true[k, j] = log_loss(y_new, model.predict_proba(X_new))

figure, panels = plt.subplots(1, 2, sharey=True, figsize=(9, 4))
bounds = {"vmin": min(told.min(), true.min()), "vmax": 0.25}
for axes, values, title in zip(panels, (told, true), ("left out", "new rows"), strict=True):
    shown = axes.pcolormesh(grid["bayessvc__gamma"], grid["bayessvc__C"], values, cmap="viridis", **bounds)
    best = search.best_params_
    axes.plot(
        best["bayessvc__gamma"], best["bayessvc__C"], "o", color="white", markersize=14, fillstyle="none"
    )
    axes.set(xscale="log", yscale="log", xlabel="gamma", title=title)
panels[0].set_ylabel("C")
figure.colorbar(shown, ax=panels, label="log loss", extend="max")
plt.show()
