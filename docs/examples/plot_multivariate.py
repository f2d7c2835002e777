"""
Trained for the measure
=======================

An ordinary SVM minimises a sum over the rows. F1 is no such sum. :class:`~bayes_svm.MultivariateSVC` is
trained for F1, for the precision among the first k, or for the ROC area. The data are drawn at random; 4
% of the rows are positive.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from bayes_svm import BayesSVC, MultivariateSVC, choose_threshold

X, y = make_classification(
    6000, n_features=20, n_informative=8, n_clusters_per_class=1, weights=[0.96], flip_y=0.005, random_state=1
)
X, X_new, y, y_new = train_test_split(X, y, train_size=1500, stratify=y, random_state=0)

# %%
# F1 on new rows, for four values of C
# ------------------------------------
values = np.logspace(-2, 1, 4)
found = {"SVM": [], "SVM, threshold from left-out values": [], "trained for F1": []}
for C in values:
    found["SVM"].append(
        f1_score(y_new, LinearSVC(C=C, loss="hinge", max_iter=10**6).fit(X, y).predict(X_new))
    )
    model = BayesSVC(C=C, kernel="linear").fit(X, y)
    cut = choose_threshold(y, model.left_out_decision_values_, "f1").threshold
    found["SVM, threshold from left-out values"].append(
        f1_score(y_new, model.decision_function(X_new) >= cut)
    )
    found["trained for F1"].append(f1_score(y_new, MultivariateSVC(loss="f1", C=C).fit(X, y).predict(X_new)))

# %%
figure, axes = plt.subplots()
for (name, curve), marker in zip(found.items(), "s^o", strict=True):
    axes.semilogx(values, curve, marker + "-", label=name)
axes.set(xlabel="C", ylabel="F1 on 4500 new rows", ylim=(0, None))
axes.legend()
plt.show()

# %%
# Each fit comes with a certificate: how far it is from the best machine at most, relative to its value.
model = MultivariateSVC(loss="f1").fit(X, y)
print(f"{model.n_planes_} planes, gap at most {model.gap_:.1e}")
