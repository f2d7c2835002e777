"""
Breast cancer, end to end
=========================

From a table to probabilities, their calibration, the error and a threshold, with one fit and no test set.
The data come with scikit-learn: 569 tumours, 30 measurements of each.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import RocCurveDisplay
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayes_svm import BayesSVC, choose_threshold

data = load_breast_cancer()
X, malignant = data.data, 1 - data.target  # the class to find is 1
model = make_pipeline(StandardScaler(), BayesSVC()).fit(X, malignant)
svm = model[-1]

# %%
# How wrong is it?
# ----------------
# Every row was predicted by the machine that had not seen it. These are the errors to expect on new
# tumours.
left_out = svm.left_out_
print(f"error {left_out.error:.1%}, recall {left_out.recall:.1%}, precision {left_out.precision:.1%}")

# %%
# Are its probabilities honest?
# -----------------------------
# The same rows show it: of the tumours that get 80 %, are 80 % malignant? And how well do they rank?
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2))
probability = svm.left_out_proba_[:, 1]
CalibrationDisplay.from_predictions(
    malignant, probability, n_bins=8, strategy="quantile", ax=left, name="left-out probability", color="C0"
)
left.set(xlabel="probability of malignant", ylabel="share that is malignant")
RocCurveDisplay.from_predictions(
    malignant, probability, ax=right, name="left-out", curve_kwargs={"color": "C0"}
)
right.set(xlabel="false alarms, share", ylabel="malignant found, share")
plt.show()

# %%
# Which threshold?
# ----------------
# A missed tumour is worse than a false alarm. Ask for a recall of 97 %, which holds with a probability of
# 90 %:
chosen = choose_threshold(malignant, svm.left_out_decision_values_, "recall", at_least=0.97, confidence=0.9)
print(f"recall {chosen.recall:.1%}, precision {chosen.precision:.1%}, threshold {chosen.threshold:.2f}")
print(f"with a confidence of 90 % the recall is at least {chosen.bound:.1%}")

# %%
# New tumours
# -----------
# Here three of the old ones stand for them. The interval says how well the data know the probability.
for row in (0, 81, 135):
    point = X[[row]]
    low, high = svm.predict_interval(model[:-1].transform(point))[0]
    print(f"row {row}: {model.predict_proba(point)[0, 1]:.2f}, interval {low:.2f} to {high:.2f}")
