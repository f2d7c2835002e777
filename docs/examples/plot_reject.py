"""
A reject option, and the queue for a person
===========================================

Answer what is clear, and hand the rest to a person, with the reasons. The data are the breast cancer data
of scikit-learn, of which half stand for new patients.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from bayes_svm import BayesSVC, RejectOptionClassifier
from bayes_svm.plots import RiskCoverageDisplay

data = load_breast_cancer(as_frame=True)
names = data.target.map(dict(enumerate(data.target_names)))
X, X_new, y, y_new = train_test_split(data.data, names, test_size=0.5, stratify=names, random_state=1)
scaler = StandardScaler().set_output(transform="pandas").fit(X)
X, X_new = scaler.transform(X), scaler.transform(X_new)

# %%
# Say how many answers may be wrong
# ---------------------------------
model = RejectOptionClassifier(BayesSVC(), target_risk=0.03, guarantee="risk").fit(X, y)
print(f"accepted {model.coverage_:.1%}, of these wrong {model.selective_risk_:.1%}")
print(model.guarantee_)

# %%
# The fewer answers, the fewer errors
# -----------------------------------
# From left to right more points are answered, the surest first. The dot is the rule that was chosen.
display = RiskCoverageDisplay.from_estimator(model, X_new, y_new, name="new patients")
display.ax_.axhline(0.03, color="0.5", linestyle=":")
display.ax_.annotate("the risk allowed", (0.02, 0.03), (0, 4), textcoords="offset points", color="0.4")
plt.show()

# %%
# The queue
# ---------
# What a person sees: the answer that was too uncertain, its probability, an interval for it, and why it
# is here.
queue = model.review_queue(X_new)
queue["truth"] = y_new.loc[queue.index]
print(queue.drop(columns="reason").round(2).to_string(index=False))
print()
print(queue["reason"].iloc[0])

# %%
# The columns are benign, malignant and rejected, the rows the truth:
print(model.confusion_matrix(X_new, y_new))
