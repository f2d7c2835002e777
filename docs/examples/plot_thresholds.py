"""
A rare class, and the threshold for it
======================================

51 of 1484 proteins are of the membrane type ME2 (UCI Yeast, K. Nakai 1996, CC BY 4.0). The most probable
answer is nearly always "no". Which threshold finds them?
"""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayes_svm import BayesSVC, choose_threshold
from bayes_svm.plots import ThresholdDisplay

# The data are in the folder docs/data of the source.
folders = (Path("data"), Path("../data"), Path("docs/data"))
folder = next((path for path in folders if path.is_dir()), folders[0])
proteins = pd.read_csv(folder / "yeast_me2.csv")
X, X_new, y, y_new = train_test_split(
    proteins.drop(columns="me2"), proteins["me2"], test_size=0.4, stratify=proteins["me2"], random_state=0
)
model = make_pipeline(StandardScaler(), BayesSVC(C=10)).fit(X, y)
svm = model[-1]
print(f"{y.sum()} of {len(y)}; error {svm.left_out_.error:.1%}, recall {svm.left_out_.recall:.0%}")

# %%
# Every threshold at once
# -----------------------
# The curves are those of the left-out values. The line is the threshold of the best F2, which weighs
# recall more.
ThresholdDisplay.from_predictions(y, svm.left_out_decision_values_, "f_beta", beta=2)
plt.show()

# %%
# What is told, and what comes true
# ---------------------------------
# What a threshold reaches on the data it was chosen on is too good. What
# :func:`~bayes_svm.choose_threshold` tells allows for the choice.
aims = {
    "best F1": {"objective": "f1"},
    "best F2": {"objective": "f_beta", "beta": 2},
    "recall 0.8": {"objective": "recall", "at_least": 0.8},
    "a miss costs 20": {"objective": "cost", "fn": 20},
}
values = model.decision_function(X_new)
print(f"{'':16} {'told':>18}  {'true, new proteins':>20}")
for name, aim in aims.items():
    chosen = choose_threshold(y, svm.left_out_decision_values_, **aim)
    called = chosen.decide(values).astype(bool)
    hits = (called & (y_new == 1)).sum()
    recall, precision = hits / y_new.sum(), hits / max(called.sum(), 1)
    print(f"{name:16} recall {chosen.recall:.2f}, precision {chosen.precision:.2f}", end="   ")
    print(f"recall {recall:.2f}, precision {precision:.2f}")
