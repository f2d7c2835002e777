"""
Two moons: where a classifier should not be sure
================================================

A classifier should be sure where it has seen data of one class, and modest where it has seen nothing. One
fit of :class:`~bayes_svm.BayesSVC` knows both: what the machine decides, and how much the data say about
it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from bayes_svm import BayesSVC
from bayes_svm.plots import ModerationDisplay

X, y = make_moons(120, noise=0.2, random_state=0)
model = BayesSVC(C=3, gamma=2).fit(X, y)

# %%
# Three readings of the same fit
# ------------------------------
# On the left the decision value, from which the answer follows. In the middle its standard deviation in
# Kwok's posterior: small among the data, large away from them. On the right the probability that follows
# from both. Far away it goes to what the labels of the outermost rows say, and never beyond six to one.
ModerationDisplay.from_estimator(model, X, y, eps=1.5)
plt.show()
