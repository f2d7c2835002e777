"""
Why strata leave, and not single rows
=====================================

Labels that have nothing to do with the columns: whatever a classifier says, it is wrong in half of the
cases. The error told should be near 50 %, over many data sets.
"""

import matplotlib.pyplot as plt
import numpy as np

from bayes_svm import BayesSVC

random = np.random.default_rng(0)
ways = {"single rows": "rows", "strata (the default)": "strata"}
errors = {name: [] for name in ways}
for _ in range(40):
    X = random.normal(size=(40, 200))
    y = random.permutation(np.repeat([0, 1], 20))
    for name, leave_out in ways.items():
        model = BayesSVC(gamma=1e-3, leave_out=leave_out, link="clipped").fit(X, y)
        errors[name].append(100 * model.left_out_.error)

# %%
figure, axes = plt.subplots(figsize=(6.4, 2.8))
for height, found in enumerate(errors.values()):
    jitter = random.uniform(-0.12, 0.12, len(found))
    axes.plot(found, height + jitter, "o", color=f"C{1 - height}", alpha=0.6, markeredgewidth=0)
    axes.plot(np.mean(found), height, "|", color="black", markersize=34, markeredgewidth=2)
axes.axvline(50, color="0.4", linestyle="--")
axes.annotate("the truth", (50, 1.45), (3, 0), textcoords="offset points", color="0.3")
axes.set(yticks=[0, 1], yticklabels=list(ways), ylim=(-0.5, 1.6), xlim=(0, 102))
axes.set_xlabel("left-out error, % (40 data sets; bars are means)")
plt.show()
