"""The figures of Kwok (1999)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from validation._kwok import Outputs, moderated

# Distinct in grey and for the colour-blind.
MAP, SPANNED, FULL = {"c": "k", "ls": ":"}, {"c": "#0072B2", "ls": "--"}, {"c": "#D55E00", "ls": "-"}
POSITIVE, NEGATIVE = "#0072B2", "#D55E00"


def curve(scores: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Recall and precision, most certain first."""
    hits = np.cumsum(truth[np.argsort(-scores, kind="stable")])
    return hits / hits[-1], hits / np.arange(1, len(hits) + 1)


def deferred(log_odds: np.ndarray) -> np.ndarray:
    """Scores that rank every output between 0.4 and 0.6 after all others."""
    undecided = np.abs(expit(log_odds) - 0.5) < 0.1
    return np.where(undecided, log_odds - 2.0 * np.abs(log_odds).max() - 1.0, log_odds)


def pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def draw_link(path: str, X: np.ndarray, y: np.ndarray) -> None:
    """Figures 1 to 3: the probability model, the moderated output, the toy patterns."""
    plt = pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
    a = np.linspace(-3.0, 3.0, 301)
    near, other = np.exp(-np.maximum(0.0, 1.0 - a)), np.exp(-np.maximum(0.0, 1.0 + a))
    axes[0].plot(a, near / (near + other), label="true, equation 7", **FULL)
    axes[0].plot(a, near, label="approximation, equation 8", **SPANNED)
    axes[0].set(title="Figure 1", xlabel="a(x, w)", ylabel="p(y = 1 | x, w)")
    for s, style in ((0.1, ":"), (1.0, "-."), (3.0, "--"), (10.0, "-")):
        axes[1].plot(a, expit(moderated(a, np.full(len(a), s**2))), style, c=FULL["c"], label=f"s = {s:g}")
    axes[1].set(title="Figure 2, cuts of its surface", xlabel="a_MP", ylabel="moderated output")
    for label, colour, mark in ((1.0, POSITIVE, "o"), (-1.0, NEGATIVE, "x")):
        axes[2].scatter(*X[y == label].T, s=14, c=colour, marker=mark, label=f"class {label:+.0f}")
    axes[2].set(title="Figure 3: training patterns", xlabel="first input", ylabel="second", aspect="equal")
    for axis in axes:
        axis.legend()
    figure.savefig(path, dpi=100)
    plt.close(figure)


def draw_text(path: str, counts: np.ndarray, truth: np.ndarray, read: Outputs, large: Outputs) -> None:
    """Figures 5 to 9; ``large`` are the outputs with a large C, which Figure 8 takes."""
    plt = pyplot()
    figure, axes = plt.subplots(2, 4, figsize=(19, 8.5), layout="constrained")
    log_odds = {form: moderated(read.values, variance) for form, variance in read.variances.items()}
    styles = {"eq. 15": SPANNED, "full": FULL}
    for (form, variance), mark in zip(read.variances.items(), "ox", strict=True):
        colour = styles[form]["c"]
        axes[0, 0].loglog(counts, variance.mean(axis=0), mark, c=colour, ms=4, label=form)
        mean = large.variances[form].mean(axis=0)
        output = expit(moderated(large.values, large.variances[form]))
        share = 100 * np.mean((output > 0.4) & (output < 0.5), axis=0)
        axes[1, 0].semilogx(mean, share, mark, c=colour, ms=4, label=form)
    axes[0, 0].set(title="Figure 5", xlabel="training documents of the topic", ylabel="mean variance")
    axes[1, 0].set(title="Figure 8, C = 10", xlabel="mean variance", ylabel="outputs in (0.4, 0.5), %")
    for column, title in ((1, "Figure 6"), (2, "Figure 9, undecided last")):
        for axis, part in zip(axes[:, column], "ab", strict=True):
            axis.plot(*curve(read.values.ravel(), truth.ravel()), label="MAP", **MAP)
            for form, scores in log_odds.items():
                ranked = scores.ravel() if column == 1 else deferred(scores.ravel())
                axis.plot(*curve(ranked, truth.ravel()), label=f"moderated, {form}", **styles[form])
            axis.set(title=f"{title} ({part})", xlabel="recall", ylabel="precision")
        axes[1, column].set(xlim=(0.0, 0.65), ylim=(0.9, 1.002))
    levels = np.linspace(0.02, 0.98, 97)
    for axis, (form, scores) in zip(axes[:, 3], log_odds.items(), strict=True):
        accepted = [expit(scores) >= level for level in levels]
        precision = [truth[part].mean() if part.any() else np.nan for part in accepted]
        axis.plot(levels, precision, label="precision", **FULL)
        axis.plot(levels, [truth[part].sum() / truth.sum() for part in accepted], label="recall", **SPANNED)
        axis.set(title=f"Figure 7, {form}", xlabel="threshold on the moderated output", ylabel="share")
    for axis in axes.ravel():
        axis.legend(loc="best")
    figure.savefig(path, dpi=90)
    plt.close(figure)
