"""
Text with rare topics
=====================

Documents, thousands of words, topics that few documents have. The documents are drawn at random here:
each topic has words of its own, which occur in other topics too, and most words belong to none.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import average_precision_score, f1_score
from sklearn.svm import SVC

from bayes_svm import BayesSVC, MultivariateSVC, choose_threshold

random = np.random.default_rng(0)
shares = {"earnings": 0.3, "trade": 0.12, "grain": 0.05, "coffee": 0.025}
n, words = 1600, 3000
frequency = 1 / np.arange(1, words + 1)


def documents(topic_words):
    """Counts of words, and the topics of each document."""
    topics = random.uniform(size=(n, len(shares))) < list(shares.values())
    weight = np.tile(frequency, (n, 1))
    for topic, own in enumerate(topic_words):
        weight[np.ix_(topics[:, topic], own)] *= 5
    weight /= weight.sum(axis=1, keepdims=True)
    return csr_matrix(np.array([random.multinomial(random.integers(30, 90), row) for row in weight])), topics


topic_words = [random.choice(words, 120, replace=False) for _ in shares]
counts, topics = documents(topic_words)
new_counts, new_topics = documents(topic_words)
tfidf = TfidfTransformer(sublinear_tf=True).fit(counts)
X, X_new = tfidf.transform(counts), tfidf.transform(new_counts)

# %%
# Four ways for each topic
# ------------------------
# An ordinary SVM says "no" too often where a topic is rare. The probabilities of ``BayesSVC`` correct
# that. A threshold chosen on left-out values aims at F1, and tells what it will reach. A machine that is
# trained for F1 needs no threshold.
found = {"SVC": [], "BayesSVC": [], "BayesSVC and a threshold for F1": [], "trained for F1": []}
told = []
for topic, name in enumerate(shares):
    y, y_new = topics[:, topic], new_topics[:, topic]
    model = BayesSVC(kernel="linear").fit(X, y)
    chosen = choose_threshold(y, model.left_out_decision_values_, "f1")
    answers = (
        SVC(kernel="linear").fit(X, y).predict(X_new),
        model.predict(X_new),
        chosen.decide(model.decision_function(X_new)),
        MultivariateSVC(loss="f1", C=10).fit(X, y).predict(X_new),
    )
    for values, answer in zip(found.values(), answers, strict=True):
        values.append(f1_score(y_new, answer, zero_division=0))
    told.append(chosen.f1)
    average = average_precision_score(y_new, model.predict_proba(X_new)[:, 1])
    print(f"{name:9} {y.sum():3} documents, average precision {average:.2f}")

# %%
figure, axes = plt.subplots()
at = np.arange(len(shares))
for k, (name, values) in enumerate(found.items()):
    axes.bar(at + 0.2 * (k - 1.5), values, 0.18, label=name)
axes.plot(at + 0.1, told, "k_", markersize=18, markeredgewidth=2, label="what the threshold told beforehand")
labels = [f"{name}\n{topics[:, k].sum()} of {n}" for k, name in enumerate(shares)]
axes.set(xticks=at, xticklabels=labels, ylabel="F1 on new documents", ylim=(0, 1))
axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
plt.show()
