"""
Finding wrong labels
====================

A row whose label has a tiny probability by the machine that has not seen the row is either unusual or
mislabelled. Here 30 of 569 labels of scikit-learn's breast cancer data are flipped. Does the left-out
probability find them?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from bayes_svm import BayesSVC, find_label_issues, label_quality_scores

X, truth = load_breast_cancer(return_X_y=True)
X = scale(X)
flipped = np.random.default_rng(0).choice(len(truth), 30, replace=False)
y = truth.copy()
y[flipped] = 1 - y[flipped]

# %%
# The probability of the label that each row has
# ----------------------------------------------
# Trained on the row itself, a machine may have learnt the wrong label. Left out, it has not.
own = label_quality_scores(BayesSVC(), X, y, method="self_confidence")
suspects = np.argsort(own)
is_flipped = np.isin(np.arange(len(y)), flipped)

figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 3.8))
bins = np.linspace(0, 1, 26)
left.hist([own[~is_flipped], own[is_flipped]], bins, stacked=True, color=["0.75", "C1"])
left.set(xlabel="left-out probability of the given label", ylabel="rows", yscale="log", ylim=(0.7, None))
left.legend(["label as it was", "label flipped"], loc="upper center")
looked_at = np.arange(1, 101)
right.plot(looked_at, np.cumsum(is_flipped[suspects])[:100], "C1", label="least probable label first")
right.plot(looked_at, looked_at * 30 / len(y), color="0.5", linestyle="--", label="in any order")
right.set(xlabel="rows that a person has looked at", ylabel="wrong labels found, of 30")
right.legend()
plt.show()

# %%
# Which rows are called issues?
# -----------------------------
# The rule of confident learning draws a line: another class must be the more plausible one.
issues = find_label_issues(BayesSVC(), X, y, return_indices_ranked_by="self_confidence")
hits = is_flipped[issues].sum()
print(f"{len(issues)} rows are called issues; {hits} of them were flipped, of 30")
for row in issues[:5]:
    print(f"row {row:3}: label {y[row]}, left-out probability {own[row]:.3f}")
