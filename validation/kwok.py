"""The experiments of Kwok (1999): a toy problem, image segmentation, text categorization."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC
from bayes_svm.probability.kwok import ClippedLink, HingeLink
from validation._common import Page, parse, parser_for, table
from validation._common import progress as say
from validation._kwok import machine_and_solutions, moderated, outputs
from validation._kwok_figures import draw_link, pyplot
from validation._kwok_segmentation import segmentation
from validation._kwok_text import reuters

ABOUT = """\
Kwok, "Moderating the outputs of support vector machine classifiers", IEEE Transactions on Neural Networks
10(5), 1999: its three experiments and all its figures, with its kernel (x'x + 1)^d, its numbers beside ours.
The paper does not say where its five Gaussians are, nor C, nor eta, the sharpness of its smoothed hinge; here
several values are shown. Two things differ from it on purpose. Where the smoothed hinge curves the wrong way,
its curvature is cut to 0: the Hessian would not be positive definite. And beside *eq. 15*, which is the part
of the variance in the span of the points near the margin, there is the *full* variance of equation 9, with
the prior's part outside that span; the package uses the full one, with eta = 3."""

CLASSES = ((1.0, ((-2.0, -1.0), (0.0, 2.0), (2.5, -1.5))), (-1.0, ((-0.5, -0.5), (2.0, 1.0))))
SPREAD, N_TRAIN, DRAWS = 0.6, 500, 20
PENALTIES = 10.0 ** np.arange(-4, 4.5, 0.5)
GRID = np.linspace(-6.0, 6.0, 101)
TOY = f"""\
Medians over {DRAWS} draws of {N_TRAIN} training patterns. The paper's 10201 test patterns are as many as a
plane of 101 x 101 points has: *plane* are such points, from -6 to 6, the more probable class of each being
its label; *drawn* are 10201 draws of the five Gaussians. G is the sum of the log losses of the test patterns
(equation 17). The regularised sigmoid is fitted to the training outputs, kappa chosen on {N_TRAIN} patterns
of the test patterns' kind. In the last columns, how often moderated is the best, and how often all four are
in the paper's order: clipped, unmoderated, regularised, moderated. Where an output is rounded to 1 before
its complement is taken, G becomes infinite, as the paper's unmoderated G is; here it is not rounded. The
cubic kernel of two inputs has ten dimensions, which the points near the margin span: with C = 1 equation 15
leaves out at most the share {{share:.0e}} of the full variance."""
PAPER_G = {"clipped": "infinite", "unmoderated": "infinite", "regularised": "3801", "moderated": "1417"}


def gaussians(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    centres = [(label, centre) for label, several in CLASSES for centre in several]
    chosen = random.integers(len(centres), size=n)
    X = np.array([centres[k][1] for k in chosen]) + SPREAD * random.normal(size=(n, 2))
    return X, np.array([centres[k][0] for k in chosen])


def more_probable(points: np.ndarray) -> np.ndarray:
    """The more probable class at every point."""
    logs = [
        logsumexp([-((points - np.array(c)) ** 2).sum(axis=1) / (2 * SPREAD**2) for c in centres], axis=0)
        for _, centres in CLASSES
    ]
    return np.where(logs[0] > logs[1], CLASSES[0][0], CLASSES[1][0])


def plane() -> np.ndarray:
    """The 101 x 101 points of the figure."""
    return np.stack(np.meshgrid(GRID, GRID), axis=-1).reshape(-1, 2)


def toy_links(
    X: np.ndarray, y: np.ndarray, C: float, valid: tuple[np.ndarray, np.ndarray]
) -> tuple[Callable[[np.ndarray], tuple], dict[str, Callable]]:
    """MAP outputs and variances at points, and the log-odds that each way makes of them.

    ``valid`` are the points and labels that kappa of the regularised sigmoid is chosen on.
    """
    machine, solutions = machine_and_solutions(X, (y > 0).astype(int), 3, C)

    def output_at(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        read = outputs(machine, solutions, C, points)
        return read.values[:, 0], read.full[:, 0]

    slope, offset = regularised_sigmoid(output_at(X)[0], y > 0, output_at(valid[0])[0], valid[1] > 0)
    return output_at, {
        "clipped": lambda values, variance: ClippedLink().log_odds(values),
        "unmoderated": lambda values, variance: HingeLink().log_odds(values),
        "regularised": lambda values, variance: slope * (values + offset),
        "moderated": moderated,
    }


def regularised_sigmoid(
    values: np.ndarray, positive: np.ndarray, valid: np.ndarray, positive_valid: np.ndarray
) -> tuple[float, float]:
    """Slope and offset of the paper's footnote 5: kappa by the squared error of the validation set."""

    def penalised(sigmoid: np.ndarray, kappa: float) -> float:
        slope, offset = sigmoid
        return ((expit(slope * (values + offset)) - positive) ** 2).sum() / 2 + kappa * slope**2

    found = [minimize(penalised, (1.0, 0.0), args=(kappa,)).x for kappa in PENALTIES]
    errors = [((expit(slope * (valid + offset)) - positive_valid) ** 2).sum() for slope, offset in found]
    slope, offset = found[int(np.argmin(errors))]
    return float(slope), float(offset)


def outside_span(C: float) -> float:
    """Largest share of the variance that equation 15 leaves out, on the plane."""
    X, y = gaussians(N_TRAIN, seed=0)
    read = outputs(*machine_and_solutions(X, (y > 0).astype(int), 3, C), C, plane())
    return float(np.max(1.0 - read.spanned / read.full))


def toy(page: Page, figure: str | None, moderation_figure: str | None, link_figure: str | None) -> None:
    """Table I and Figures 1 to 4."""
    names = tuple(PAPER_G)
    rows = []
    for title in ("plane", "drawn"):
        for C in (0.01, 1.0, 100.0):
            sums, errors = toy_sums(title, C)
            ordered = np.all(np.diff(sums, axis=1) <= 0, axis=1)
            best = sums.argmin(axis=1) == names.index("moderated")
            medians = ("infinite" if np.isinf(G) else f"{G:.0f}" for G in np.median(sums, axis=0))
            rows.append([f"{title}, C = {C:g}", f"{np.median(errors):.2f} %", *medians])
            rows[-1] += [f"{best.sum()} of {DRAWS}", f"{ordered.sum()} of {DRAWS}"]
            say(f"toy, {rows[-1]}")
    rows.append(["paper, one draw", "", *PAPER_G.values(), "", ""])
    head = ("", "error", *(f"G, {name}" for name in names), "moderated best", "paper's order")
    page.add("## Toy problem: five Gaussians, d = 3", TOY.format(share=outside_span(1.0)), table(head, rows))
    if link_figure is not None:
        draw_link(link_figure, *gaussians(N_TRAIN, seed=0))
        page.add(
            "Figures 1 to 3. The paper says of the second: the larger s, the more gradual is the change with "
            "a_MP; for very large s the output stays near 0.5; it is 0.5 at a_MP = 0 for every s.",
            f"![figures 1 to 3 of the paper]({Path(link_figure).name})",
        )
    if figure is not None:
        draw_surfaces(*gaussians(N_TRAIN, seed=0), figure)
        page.add(
            "Figure 4. The paper: the MAP output shows no meaningful pattern; clipped and both unmoderated "
            "outputs are confident nearly everywhere, far beyond the data; moderated becomes less certain "
            "away from them.",
            f"![figure 4 of the paper]({Path(figure).name})",
        )
    if moderation_figure is not None:
        draw_moderation(*gaussians(N_TRAIN, seed=0), moderation_figure)
        page.add(
            "The same machine (C = 1) as `ModerationDisplay.from_estimator` draws it, from a fitted "
            '`BayesSVC(link="kwok")`:',
            f"![decision value, posterior deviation, probability]({Path(moderation_figure).name})",
        )


def patterns(title: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Patterns of the plane, or draws of the Gaussians, with their labels."""
    if title == "drawn":
        return gaussians(n, seed)
    points = plane()[np.random.default_rng(seed).permutation(len(plane()))[:n]]
    return points, more_probable(points)


def toy_sums(title: str, C: float) -> tuple[np.ndarray, np.ndarray]:
    """G of every output and the error of every draw of the training patterns."""
    sums, errors = [], []
    X_test, y_test = patterns(title, len(plane()), seed=1)
    for seed in range(DRAWS):
        drawn = gaussians(N_TRAIN, seed=100 + seed)
        output_at, links = toy_links(*drawn, C, patterns(title, N_TRAIN, seed=2))
        values, variance = output_at(X_test)
        sums.append([-float(log_expit(y_test * link(values, variance)).sum()) for link in links.values()])
        errors.append(100 * np.mean((values > 0) != (y_test > 0)))
    return np.array(sums), np.array(errors)


def draw_surfaces(X: np.ndarray, y: np.ndarray, path: str) -> None:
    """The five outputs over the plane, training patterns on top (the paper's Figure 4)."""
    plt = pyplot()
    output_at, links = toy_links(X, y, 1.0, patterns("plane", N_TRAIN, seed=2))
    values, variance = output_at(plane())
    shown = {"MAP output": np.clip(values, -5, 5)}
    shown.update({name: expit(link(values, variance)) for name, link in links.items()})
    figure, axes = plt.subplots(1, 5, figsize=(18, 3.8), sharey=True, layout="constrained")
    for axis, (name, surface) in zip(axes, shown.items(), strict=True):
        image = axis.contourf(GRID, GRID, surface.reshape(101, 101), levels=21, cmap="RdBu")
        axis.scatter(*X[y > 0].T, s=2, c="navy")
        axis.scatter(*X[y < 0].T, s=2, c="darkred")
        axis.set(title=f"{name}, cut at 5" if name == "MAP output" else name, aspect="equal")
        figure.colorbar(image, ax=axis, shrink=0.7)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_moderation(X: np.ndarray, y: np.ndarray, path: str) -> None:
    """Decision value, its posterior deviation and Kwok's probability, by the package's own display."""
    import matplotlib as mpl

    mpl.use("Agg")
    from bayes_svm.plots import ModerationDisplay

    model = BayesSVC(kernel="poly", degree=3, gamma=1.0, coef0=1.0, link="kwok").fit(X, y)
    ModerationDisplay.from_estimator(model, X, y).figure_.savefig(path, dpi=110)


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument(
        "--topics", type=int, default=90, metavar="N", help="most frequent topics; default: 90"
    )
    parser.add_argument("--link-figure", metavar="FILE", help="draw figures 1 to 3 into this file")
    parser.add_argument("--toy-figure", metavar="FILE", help="draw figure 4 into this file")
    parser.add_argument("--moderation-figure", metavar="FILE", help="draw the machine with its variance too")
    parser.add_argument("--text-figure", metavar="FILE", help="draw figures 5 to 9 into this file")
    args = parse(parser)
    page = Page("validation.kwok", "Kwok's experiments", ABOUT)
    with threadpool_limits(1):
        toy(page, args.toy_figure, args.moderation_figure, args.link_figure)
        segmentation(page, args.data)
        if args.topics:
            reuters(page, args)
    page.finish(args.output)


if __name__ == "__main__":
    main()
