"""
From the desk to the place of use
=================================

A model is fitted once and used elsewhere. What has to travel, and does the file give the same answers? The
data are scikit-learn's digits, zeros to fours.
"""

import pickle

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import skops.io
from skl2onnx import to_onnx
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from bayes_svm import BayesSVC
from bayes_svm.deployment import TRUSTED_TYPES, register_onnx_converters

X, y = load_digits(n_class=5, return_X_y=True)
X, X_new, y, y_new = train_test_split(X / 16, y, train_size=600, stratify=y, random_state=0)
model = BayesSVC().fit(X, y)

# %%
# Three ways to take it along
# ---------------------------
# A pickle runs code when it is opened. A skops file does not: it names the types that it holds, and is
# opened only if all of them are trusted. An ONNX model needs no Python where it is used. ``compact``
# leaves behind what only the desk needs.
register_onnx_converters()
compact = model.compact()
opened = skops.io.loads(skops.io.dumps(compact), trusted=TRUSTED_TYPES)
onnx = to_onnx(model, X[:1], options={"zipmap": False}).SerializeToString()
session = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])
sizes = {
    "pickle of the whole model": len(pickle.dumps(model)),
    "pickle, compact": len(pickle.dumps(compact)),
    "skops, compact": len(skops.io.dumps(compact)),
    "ONNX": len(onnx),
}
whole = model.predict_proba(X_new)
print("skops gives the same bits:", np.array_equal(opened.predict_proba(X_new), whole))
by_onnx = session.run(["probabilities"], {session.get_inputs()[0].name: X_new})[0]
print(f"ONNX differs by at most {np.abs(by_onnx - whole).max():.0e}")

figure, axes = plt.subplots(figsize=(6.4, 2.4))
bars = axes.barh(list(sizes), [size / 1e6 for size in sizes.values()], color="C0")
axes.bar_label(bars, fmt="%.2f", padding=4)
axes.set(xlabel="size, MB", xlim=(0, 1.15 * max(sizes.values()) / 1e6))
axes.invert_yaxis()
plt.show()
