"""
Ways to estimate an error, side by side
=======================================

How large is the error of a classifier? Hold-out, cross-validation, the bootstrap and leave-one-out answer
with different numbers of fits, and different intervals. The breast cancer data of scikit-learn, 120 rows
of them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayes_svm import compare_estimators
from bayes_svm.plots import EstimateComparisonDisplay

X, y = load_breast_cancer(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, train_size=120, stratify=y, random_state=0)
scaler = StandardScaler().fit(X)
X, X_new = scaler.transform(X), scaler.transform(X_new)

# %%
# Leave-one-out takes one fit, because the rows are left out exactly along paths.
found = compare_estimators(SVC(), X, y, n_bootstrap=30)
print(found)

# %%
# The dashed line is the error on the 449 rows that were put aside.
display = EstimateComparisonDisplay(found).plot()
display.ax_.axvline(1 - SVC().fit(X, y).score(X_new, y_new), color="0.4", linestyle="--")
plt.show()
