"""
Is this kernel any good? Class similarity
=========================================

Before anything is trained, the kernel itself can be judged: does it make members of a class alike? The
data are 16 votes of 435 members of Congress (UCI, 1987, CC BY 4.0), many of them unknown.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.svm import SVC

from bayes_svm import AggregationKernel, class_similarity, leave_one_out, optimize_kernel

folders = (Path("data"), Path("../data"), Path("docs/data"))
folder = next((path for path in folders if path.is_dir()), folders[0])
votes = pd.read_csv(folder / "house-votes-84.csv")
y, votes = votes["class"], votes.drop(columns="class")
codes = votes.apply(lambda column: column.map({"n": 0, "y": 1, "?": -1})).to_numpy()

# %%
# A kernel for categories
# -----------------------
# The aggregation kernel counts in how many votes two members agree. An unknown vote agrees with nothing.
plain = AggregationKernel()
found = class_similarity(codes, y, kernel=plain)
print(pd.DataFrame(found.average, found.classes, found.classes).round(2))
print(f"class similarity {found.value:.3f} (lower is better)")

# %%
# Which votes divided the parties?
# --------------------------------
# The class similarity of each vote alone: the lower, the more it makes members of a party alike.
alone = np.array([class_similarity(codes[:, [k]], y, kernel=plain).value for k in range(16)])
order = np.argsort(-alone)
figure, axes = plt.subplots(figsize=(7.5, 4.6))
axes.barh(votes.columns[order], alone[order], color="C0")
axes.axvline(found.value, color="C1", linestyle="--", label="all votes together")
axes.set_xlabel("class similarity of the vote alone, radians (lower is better)")
axes.invert_xaxis()
axes.legend(loc="lower right")
plt.show()

# %%
# A weight for each vote
# ----------------------
# :func:`~bayes_svm.optimize_kernel` finds the weights of lowest class similarity: nearly all of it goes
# to one vote. Does that help? Class similarity is a filter, and the exact left-out error the judge.
optimum = optimize_kernel(codes, y, kernel=plain, factor=30)
weights = optimum.parameters / optimum.parameters.sum()
print(f"{votes.columns[np.argmax(weights)]}: {weights.max():.0%} of the weight")
for name, kernel in {"equal weights": plain, "optimised": optimum.kernel}.items():
    error = leave_one_out(SVC(kernel=kernel), codes, y).error
    print(
        f"{name:14} class similarity {class_similarity(codes, y, kernel=kernel).value:.3f}, error {error:.1%}"
    )
