"""
Cutting planes close the gap
============================

``MultivariateSVC`` knows two numbers after each plane: the best value reached, and a bound below which no
machine can get. The optimum is between them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from bayes_svm import MultivariateSVC

X, y = make_classification(2000, weights=[0.95], n_informative=6, flip_y=0.02, random_state=0)
model = MultivariateSVC(loss="f1", C=1, tol=1e-4).fit(X, y)
reached, bound, _ = model.history_.T

# %%
figure, axes = plt.subplots()
planes = range(1, len(reached) + 1)
axes.plot(planes, reached, "C1", label="value reached")
axes.plot(planes, bound, "C0", label="lower bound of the optimum")
axes.fill_between(planes, bound, reached, color="0.92", label="the optimum is in here")
axes.set(xlabel="cutting planes", ylabel="objective", ylim=(0, 1.3 * reached[min(3, len(reached) - 1)]))
axes.legend()
plt.show()
