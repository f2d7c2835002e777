"""The figure of the page on leave-one-out: one point of twelve is left out, and every other one followed.

    python docs/explanation/leave_one_out_figure.py docs/explanation/leave_one_out.png

The path is not asked for: at each of 400 sizes of the coefficient that shrinks, the SVM is solved anew.
"""

from __future__ import annotations

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from bayes_svm import BayesSVC

STEPS, POINTS, OUT = 400, 12, 11
C, GAMMA = 3.0, 0.7


def coefficients(X: np.ndarray, y: np.ndarray, bound: float) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of all points, and y f of each, where that of the point left out is at most ``bound``."""
    weight = np.ones(POINTS)
    weight[OUT] = bound / C
    model = BayesSVC(C=C, gamma=GAMMA, leave_out="rows", link="clipped").fit(X, y, sample_weight=weight)
    alpha = np.zeros(POINTS)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return alpha, y * model.decision_function(X)


def main() -> None:
    """Draw the figure into the file named."""
    random = np.random.default_rng(30)
    y = np.where(np.arange(POINTS) % 2, 1, -1)
    X = random.normal(size=(POINTS, 2)) + 0.7 * y[:, None]
    whole, _ = coefficients(X, y, C)
    bounds = np.linspace(whole[OUT], 0.0, STEPS)
    alpha, margin = (np.array(part) for part in zip(*(coefficients(X, y, b) for b in bounds), strict=True))
    inside = (alpha > 1e-9) & (alpha < C - 1e-9)
    inside[:, OUT] = False
    events = np.flatnonzero(np.any(inside[1:] != inside[:-1], axis=1)) + 1
    mpl.use("Agg")
    figure, (above, below) = plt.subplots(2, 1, figsize=(7.0, 6.4), sharex=True, constrained_layout=True)
    for k in range(POINTS):
        bold = (
            {"color": "black", "linewidth": 2.4} if k == OUT else {"color": plt.cm.tab20(k), "linewidth": 1.4}
        )
        label = "the point left out" if k == OUT else None
        above.plot(bounds, alpha[:, k], label=label, **bold)
        below.plot(bounds, margin[:, k], label=label, **bold)
    for axes in (above, below):
        for event in events:
            axes.axvline(bounds[event], color="0.7", linewidth=0.8, linestyle=":")
    above.set_ylabel(r"coefficient $\alpha_i$")
    below.set_ylabel(r"$y_i f(x_i)$, 1 where a point is in")
    below.axhline(1.0, color="0.4", linewidth=0.8)
    below.axhline(0.0, color="0.8", linewidth=0.8)
    below.set_xlabel(r"coefficient $\alpha_r$ of the point left out (the path runs to the right)")
    below.invert_xaxis()
    above.legend(frameon=False)
    figure.savefig(sys.argv[1], dpi=110, metadata={"Software": None})
    print(f"alpha_r {whole[OUT]:.3f}; events at {np.round(bounds[events], 3).tolist()}; "
          f"y f from {margin[0, OUT]:.3f} to {margin[-1, OUT]:.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
