"""
From the desk to the place of use
=================================

A model is fitted once and used elsewhere. What has to travel, what does a prediction cost there, and does
the file give the same answers? The data are scikit-learn's digits, zeros to fours.
"""

import pickle
import time

import matplotlib.pyplot as plt
import numpy as np
import skops.io
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from bayes_svm import BayesSVC
from bayes_svm.deployment import TRUSTED_TYPES

X, y = load_digits(n_class=5, return_X_y=True)
X, X_new, y, y_new = train_test_split(X / 16, y, train_size=600, stratify=y, random_state=0)
model = BayesSVC().fit(X, y)

# %%
# A file that runs no code
# ------------------------
# A pickle can run any code when it is opened. A skops file cannot: it names the types that it holds, and
# is opened only if all of them are trusted. Those of this package are in one list.
saved = skops.io.dumps(model)
opened = skops.io.loads(saved, trusted=TRUSTED_TYPES)
same = np.array_equal(opened.predict_proba(X_new), model.predict_proba(X_new))
print(
    f"skops {len(saved) / 1e6:.1f} MB, pickle {len(pickle.dumps(model)) / 1e6:.1f} MB; same answers: {same}"
)

# %%
# How long does a prediction take?
# --------------------------------
# It takes as long as the kernel values between the new rows and the support vectors do. Many rows at a
# time are cheaper than one after the other.
sizes = np.array([1, 3, 10, 30, 100, 300])
seconds = []
for size in sizes:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        opened.predict_proba(X_new[:size])
        times.append(time.perf_counter() - start)
    seconds.append(min(times))

figure, axes = plt.subplots()
axes.loglog(sizes, 1e3 * np.array(seconds) / sizes, "o-")
axes.set(xlabel="rows in a call of predict_proba", ylabel="milliseconds a row")
axes.set_title(f"{len(model.support_)} support vectors, {len(model.classes_)} classes", fontsize=11)
plt.show()
