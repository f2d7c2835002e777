"""
Digits: probabilities of ten classes
====================================

What ``SVC(probability=True)`` did, and what replaces it: the log loss on new digits, and the digits on
which the model is least sure. The data come with scikit-learn.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayes_svm import BayesSVC

images = load_digits()
train, test = train_test_split(np.arange(len(images.target)), train_size=0.5, random_state=0)
scaler = StandardScaler().fit(images.data[train])
X, X_new = scaler.transform(images.data[train]), scaler.transform(images.data[test])
y, y_new = images.target[train], images.target[test]

# %%
# Log loss
# --------
# The old way warns that it will be removed. The advised way calibrates votes of pairs, which are poor values
# to calibrate.
model = BayesSVC().fit(X, y)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)
    old = SVC(probability=True, random_state=0).fit(X, y)
advised = CalibratedClassifierCV(SVC(), ensemble=False).fit(X, y)
models = {"BayesSVC()": model, "SVC(probability=True)": old, "CalibratedClassifierCV(SVC())": advised}
loss = {name: log_loss(y_new, one.predict_proba(X_new)) for name, one in models.items()}
told = log_loss(y, model.left_out_proba_)

figure, axes = plt.subplots(figsize=(7, 2.4))
bars = axes.barh(list(loss), list(loss.values()), color=["C0", "0.55", "0.55"])
axes.bar_label(bars, fmt="%.3f", label_type="center", color="white", fontweight="bold")
axes.plot(told, 0, "k|", markersize=28, markeredgewidth=2, label="what BayesSVC told before, left out")
axes.legend(loc="upper right")
axes.set(xlabel="log loss on 899 new digits (lower is better)", xlim=(0, 0.45))
axes.invert_yaxis()
plt.show()

# %%
# The digits it is least sure of
# ------------------------------
# Above each image: the truth, and what the model says of it.
proba = model.predict_proba(X_new)
unsure = np.argsort(proba.max(axis=1))[:10]
figure, panels = plt.subplots(2, 5, figsize=(8, 4))
for axes, row in zip(panels.flat, unsure, strict=True):
    axes.imshow(images.images[test[row]], cmap="gray_r")
    first, second = np.argsort(-proba[row])[:2]
    axes.set_title(
        f"is {y_new[row]}\n{first}: {proba[row, first]:.0%}, {second}: {proba[row, second]:.0%}", fontsize=10
    )
    axes.axis("off")
plt.show()
