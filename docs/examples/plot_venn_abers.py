"""
How well is a probability known?
================================

Venn-Abers intervals: two answers of isotonic regression to the left-out values, one for each label that
the new point may have. They are wide where few rows look like the point, and narrow with more rows. The
data are drawn at random.
"""

import matplotlib.pyplot as plt
import numpy as np

from bayes_svm import BayesSVC

random = np.random.default_rng(0)
line = np.linspace(-3, 3, 121)


def truth(x):
    """The probability that the labels are drawn with."""
    return 1 / (1 + np.exp(-2.5 * x))


# %%
figure, panels = plt.subplots(1, 3, sharey=True, figsize=(10, 3.6))
for axes, n in zip(panels, (40, 200, 1000), strict=True):
    x = random.normal(0, 1.2, n)
    y = random.uniform(size=n) < truth(x)
    model = BayesSVC(gamma=0.2).fit(x[:, None], y)
    low, high = model.predict_interval(line[:, None]).T
    axes.fill_between(line, low, high, color="C0", alpha=0.25, linewidth=0, label="interval")
    axes.plot(line, model.predict_proba(line[:, None])[:, 1], "C0", label="predict_proba")
    axes.plot(line, truth(line), "k--", label="truth")
    axes.plot(x[:200], np.where(y, 1.03, -0.03)[:200], "|", color="0.4", markersize=5)
    axes.set(xlabel="x", title=f"{n} rows, mean width {np.mean(high - low):.2f}")
panels[0].set_ylabel("probability")
panels[0].legend(loc="upper left", bbox_to_anchor=(0, 0.95))
plt.show()

# %%
# What the interval promises is about all points together: the frequency of the class lies between the
# means of the two ends. It is no confidence interval of a single point's probability; see
# :doc:`/explanation/conformal`.
