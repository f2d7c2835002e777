"""Tables of what Pardi's paper leaves open: its protocols, splice, and another criterion."""

from __future__ import annotations

import numpy as np

from bayes_svm import AggregationKernel
from validation._common import table
from validation._similarity import SIGMA_SETS, WINDOW_SETS, Sweep, rank, regret, symbols_of
from validation._similarity_criteria import MEANINGS, SQUARES, WITH_C, WITHOUT_C

CS = "CS"
# A criterion is chosen on the first half of the sets, by name; the others are looked at once.
CHOSEN_ON = tuple(sorted([*SIGMA_SETS, *WINDOW_SETS])[:3])
SPLICE_WINDOWS = (slice(29, 30), slice(30, 31), slice(31, 32), slice(29, 31), slice(30, 32), slice(29, 32))


def protocols_table(sweeps: list[Sweep]) -> str:
    """CS beside the error measured as in the paper, C = 1."""
    rows = []
    for sweep in sweeps:
        for protocol, error in sweep.protocols.items():
            off = 100 * np.abs(error - sweep.error)
            rows.append(
                [
                    sweep.name, protocol, f"{rank(error, sweep.error):.2f}", f"{off.mean():.2f}",
                    f"{rank(sweep.similarity, error):.2f}", f"{regret(sweep.similarity, error):.2f}",
                ]
            )  # fmt: skip
    head = (
        "set", "error by", "rank correlation with leave-one-out", "mean distance from it, points",
        "rank correlation of CS with this error", "regret",
    )  # fmt: skip
    return table(head, rows, left=2)


def splice_table(data: str, sweep: Sweep) -> str:
    """The windows around the junction: means, spread and error."""
    codes, y = symbols_of(data, sweep.name)
    same = y[:, None] == y
    own, pairs, rows = np.eye(len(y), dtype=bool), ~np.eye(len(y), dtype=bool), []
    for window in SPLICE_WINDOWS:
        K = AggregationKernel()(codes[:, window], codes[:, window])
        W, B, spread = K[same & ~own].mean(), K[~same].mean(), K[pairs].std()
        at = sweep.label.index(
            f"{window.stop}" if window.stop == window.start + 1 else f"{window.start + 1} to {window.stop}"
        )
        rows.append(
            [
                sweep.label[at], f"{W:.3f}", f"{B:.3f}", f"{W - B:.3f}", f"{spread:.3f}",
                f"{(W - B) / spread:.3f}", f"{sweep.similarity[at]:.4f}", f"{sweep.alignment[at]:.4f}",
                f"{100 * sweep.error[at]:.2f}",
            ]
        )  # fmt: skip
    head = (
        "window", "W", "B", "W - B", "standard deviation of k", "W - B in units of it", "CS",
        "minus alignment", "leave-one-out error, %",
    )  # fmt: skip
    return table(head, rows)


def regrets(sweeps: list[Sweep]) -> dict[str, dict[tuple[str, float], tuple[float, float]]]:
    """Rank correlation and regret by criterion, and by set and C."""
    found: dict[str, dict[tuple[str, float], tuple[float, float]]] = {}
    for sweep in sweeps:
        for C, error in sweep.errors.items():
            own = {CS: sweep.similarity}
            own |= {name: sweep.criteria[name, 0.0] for name in WITHOUT_C}
            own |= {name: sweep.criteria[name, C] for name in WITH_C}
            for name, values in own.items():
                found.setdefault(name, {})[sweep.name, C] = rank(values, error), regret(values, error)
    return found


def chosen_criterion(sweeps: list[Sweep], names: tuple[str, ...]) -> str:
    """The criterion of least mean regret on the sets to choose on."""
    found = regrets(sweeps)

    def mean(name: str) -> float:
        return float(np.mean([lost for (own, _), (_, lost) in found[name].items() if own in CHOSEN_ON]))

    return min(names, key=mean)


def criteria_table(sweeps: list[Sweep]) -> str:
    found = regrets(sweeps)
    cases = sorted(next(iter(found.values())), key=lambda case: (case[0] not in CHOSEN_ON, *case))
    rows = [
        [
            name,
            f"{C:g}",
            *(f"{several[name, C][0]:.2f} / {several[name, C][1]:.2f}" for several in found.values()),
        ]
        for name, C in cases
    ]
    for title, inside in (("mean, chosen on", True), ("mean, looked at once", False)):
        chosen = [case for case in cases if (case[0] in CHOSEN_ON) == inside]
        means = [np.mean([several[case] for case in chosen], axis=0) for several in found.values()]
        rows.append([f"**{title}**", "", *(f"**{one:.2f} / {lost:.2f}**" for one, lost in means)])
    return table(("set", "C", *found), rows)


def criteria_text(sweeps: list[Sweep]) -> str:
    """What the criteria are, and which the rule chooses."""
    means = "; ".join(f"**{name}**: {meaning}" for name, meaning in MEANINGS.items())
    cheap = chosen_criterion(sweeps, (CS, *WITHOUT_C, *WITH_C[:1]))
    any_cost = chosen_criterion(sweeps, (CS, *WITHOUT_C, *WITH_C))
    found = regrets(sweeps)

    def outside(name: str) -> tuple[float, float]:
        others = [lost for (own, _), (_, lost) in found[name].items() if own not in CHOSEN_ON]
        return float(np.mean(others)), float(np.max(others))

    told = " ".join(
        f"{name}: {outside(name)[0]:.2f} points in the mean, {outside(name)[1]:.2f} at worst."
        for name in dict.fromkeys((CS, cheap, any_cost, SQUARES))
    )
    worse = ", ".join(
        f"{own} with C = {C:g} ({lost:.2f} instead of {found[CS][own, C][1]:.2f})"
        for (own, C), (_, lost) in found[cheap].items()
        if lost > found[CS][own, C][1]
    )
    return (
        f"{means}. The rule: least mean regret on {', '.join(CHOSEN_ON)}, the first three sets by name. "
        f"Among what costs about as much as CS it chooses **{cheap}**, among all **{any_cost}**. Regret on "
        f"the other three sets, looked at once: {told} {cheap} has more regret than CS on "
        f"{worse or 'no set'}. "
        "So what is missing for windows of attributes is the spread; for one kernel over several C no "
        "criterion without C will do, and the one that takes C as a machine does costs as much as training "
        "it. The package has the exact leave-one-out error for that price, and so none of these. Each cell: "
        "Spearman with the error / regret."
    )
