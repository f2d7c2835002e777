"""
Probabilities far from the data
===============================

Two classes on a line, and what is said of points between and beyond them, with an rbf and a cubic kernel.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC

from bayes_svm import BayesSVC

random = np.random.default_rng(3)
X = np.r_[random.normal(-1.2, 1, 40), random.normal(1.2, 1, 40)][:, None]
y = np.repeat([0, 1], 40)
line = np.linspace(-25, 25, 800)[:, None]

# %%
figure, panels = plt.subplots(1, 2, sharey=True, figsize=(8.4, 3.8))
for axes, kernel in zip(panels, ({"gamma": 0.3}, {"kernel": "poly", "gamma": 0.5, "coef0": 1}), strict=True):
    models = {
        'link="moderated"': BayesSVC(**kernel),
        'link="sigmoid"': BayesSVC(link="sigmoid", **kernel),
        'link="kwok"': BayesSVC(link="kwok", **kernel),
        "CalibratedClassifierCV": CalibratedClassifierCV(SVC(**kernel), ensemble=False),
    }
    axes.axvspan(X.min(), X.max(), color="0.93")
    for (name, model), style in zip(models.items(), ("-", "--", "-.", ":"), strict=True):
        axes.plot(line, model.fit(X, y).predict_proba(line)[:, 1], style, linewidth=2, label=name)
    axes.plot(X[y == 0], np.full(40, -0.03), "|", color="black")
    axes.plot(X[y == 1], np.full(40, 1.03), "|", color="black")
    axes.set(xlabel="x (the data are in the grey part)", ylim=(-0.06, 1.06))
    axes.set_title("cubic kernel" if "kernel" in kernel else "rbf kernel")
panels[0].set_ylabel("probability of the class on the right")
panels[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
