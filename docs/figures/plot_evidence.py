"""
Two criteria that need no folds
===============================

The left-out log loss and the evidence, both from one fit for each C, and the log loss on test data: means
over four draws of 100 rows to train on.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from bayes_svm import BayesSVC, log_evidence

X_all, y_all = load_breast_cancer(return_X_y=True)
values = np.logspace(-2, 3, 16)
left_out, test, evidence = np.zeros((3, 4, len(values)))
for draw in range(4):
    X, X_test, y, y_test = train_test_split(X_all, y_all, train_size=100, stratify=y_all, random_state=draw)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    for k, C in enumerate(values):
        model = BayesSVC(C=C, gamma=0.01).fit(X, y)
        left_out[draw, k] = log_loss(y, model.left_out_proba_)
        test[draw, k] = log_loss(y_test, model.predict_proba(X_test))
        evidence[draw, k] = log_evidence(model, X, y).value

# %%
figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(6.4, 5))
for axes, curves, line, label, best in (
    (above, left_out, "C0-", "left out", np.argmin),
    (above, test, "C1--", "469 test rows", np.argmin),
    (below, evidence, "C2-", "evidence", np.argmax),
):
    mean = curves.mean(axis=0)
    axes.semilogx(values, mean, line, label=label)
    axes.plot(values[best(mean)], mean[best(mean)], "o", color=line[:2])
above.set_ylabel("log loss")
below.set(ylabel="log evidence", xlabel="C")
above.legend()
plt.show()
