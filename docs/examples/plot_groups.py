"""
Rows that come in groups
========================

195 voice recordings of 32 people, some of whom have Parkinson's disease (UCI, M. Little 2007, CC BY 4.0).
A person has six or seven recordings, which are much alike. How well does a classifier do on a person it
has never heard?
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import RocCurveDisplay
from sklearn.preprocessing import scale

from bayes_svm import BayesSVC

# The data are in the folder docs/data of the source.
folders = (Path("data"), Path("../data"), Path("docs/data"))
folder = next((path for path in folders if path.is_dir()), folders[0])
voices = pd.read_csv(folder / "parkinsons.csv")
X = scale(voices.drop(columns=["subject", "parkinson"]))
y, subject = voices["parkinson"].to_numpy(), voices["subject"].to_numpy()

# %%
# Recordings leave, or people leave
# ---------------------------------
# If single recordings leave, five others of the same person stay, and give the answer away.
models = {
    "recordings leave": BayesSVC(C=10).fit(X, y),
    "people leave": BayesSVC(C=10).fit(X, y, groups=subject),
}
for name, model in models.items():
    print(f"{name:17} error {model.left_out_.error:.1%}, ROC area {model.left_out_.score('roc_auc'):.2f}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 4.2))
for k, (name, model) in enumerate(models.items()):
    RocCurveDisplay.from_predictions(
        y,
        model.left_out_decision_values_,
        ax=left,
        name=name,
        curve_kwargs={"color": f"C{k}", "linewidth": 2},
    )
left.set(xlabel="false alarms, share", ylabel="recordings of patients found, share")
told = models["people leave"].left_out_proba_[:, 1]
order = np.argsort([told[subject == person].mean() for person in range(32)])
for place, person in enumerate(order):
    own = subject == person
    color = "C1" if y[own][0] else "C0"
    right.plot(np.full(own.sum(), place), told[own], "o", color=color, markersize=4, alpha=0.7)
right.plot([], [], "C1o", label="has Parkinson's disease")
right.plot([], [], "C0o", label="healthy")
right.set(xlabel="person", ylabel="probability of the disease, person left out", xticks=[], ylim=(0, 1))
right.legend()
plt.show()

# %%
# On the right each column of dots is a person. The recordings of one person agree with each other,
# whether they are right or wrong: they are not six pieces of evidence, but little more than one.
