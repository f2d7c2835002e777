"""
Every row left out
==================

The decision value of each row by the machine trained without it, beside that of the machine trained on
all rows. Where the two differ, the machine has learnt the row by heart. The data are the breast cancer
data of scikit-learn.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from bayes_svm import leave_one_out
from bayes_svm.plots import LeaveOneOutDisplay

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
result = leave_one_out(SVC(C=10, gamma=0.03), X, y)
training_error = np.mean((result.train_decision_values > 0) != y)
print(f"training error {training_error:.1%}, left-out error {result.error:.1%}")

# %%
LeaveOneOutDisplay(result).plot()
plt.show()

# %%
# How the values were obtained
# ----------------------------
# Most rows are no support vectors: nothing changes without them. The others were followed along a path,
# whose end is checked on all rows. On average a path has few events.
for status, count in zip(*np.unique(result.status, return_counts=True), strict=True):
    events = result.events[result.status == status].mean()
    print(f"{status:10} {count:4} rows, {events:.1f} events each")
print(f"largest violation of the optimality conditions: {result.kkt_residual.max():.0e}")

# %%
# The same values by training again without the row, for ten rows:
rows = np.flatnonzero(result.status == "path")[:10]
again = [
    SVC(C=10, gamma=0.03, tol=1e-8).fit(np.delete(X, r, 0), np.delete(y, r)).decision_function(X[[r]])[0]
    for r in rows
]
print(np.abs(result.decision_values[rows] - again).max())
