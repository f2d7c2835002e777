"""How much better the left-out probabilities seem than those of new rows are.

python -m validation.left_out_log_loss --data DIR [--jobs N] [--output FILE]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC
from validation._common import SETS, Page, geometric_mean, parse, parser_for, progress, table
from validation._sets import (
    CHOSEN_ON,
    IMBALANCED,
    SEVERAL_ROWS,
    binary_set,
    drawn,
    drawn_several,
    grouped_set,
    halves_of,
    log_loss_of,
)
from validation.report_groups import GROUPED, GROUPED_ASIDE, simulated

ABOUT = """\
Mean log loss of `left_out_proba_` (*told*) beside that of `predict_proba` on new rows (*true*), `BayesSVC`
with its defaults, columns standardised; means over {draws} draws ({few} of several classes). Two classes:
sets of the IDA benchmark and nine with a rare class, training parts of 30, 60 and 200 rows with at least six
rows of the rarer class; test rows weigh so that the classes are as frequent as in training. Several classes:
{several}. Groups: made tables, `groups=` given, tested on rows of new groups; what the settings are is on
[the page of groups](report_groups.md). *Told / true* is the ratio of the means; over sets, the geometric mean
with its standard error. That the links of groups are fitted to the other folds was decided after a print of
this page, with all its groups in sight, and that the link of fewer than 100 rows is, after 20 draws of 30 and
60 rows of all its sets and 100 of the tables drawn at random, both halves in sight; otherwise *put aside* are
the sets, and settings, that no choice of the package was made on. *Groups written down afterwards* are those
of which nothing was known then: made tables with other shares, sizes and tails, each also with a linear
kernel and `C=10`, and the recordings of the named number of persons of parkinsons, drawn {draws} times,
tested on those of the others.

*Rows drawn at random*: made tables of two classes as frequent as each other, normal columns, the mean of some
of which differs by the class; {many} draws, C = 1. There the shares of the classes in training are not those
of new rows. The left-out machines and links know the shares in training, and new rows have others: *true at
these shares* weighs the new rows as the sets above do. Draws with fewer than six rows of a class are drawn
again. Their last part was written down after the choices: other numbers of rows and columns, heavy tails."""
SIZES = (30, 60, 200)
# Groups, share of class 1, columns, degrees of freedom of Student's t (None: normal), standard deviation of
# the rows about their group, rows of a group at least and at most.
WRITTEN_AFTERWARDS = {
    "10 groups, heavy tails": (10, 0.5, 5, 3.0, 0.7, 2, 19),
    "14 groups, 30 % ill": (14, 0.3, 3, None, 0.5, 1, 29),
    "20 groups, 20 % ill": (20, 0.2, 8, 3.0, 1.0, 3, 8),
    "40 groups, 25 % ill": (40, 0.25, 5, None, 0.3, 2, 5),
    "9 groups, 60 columns": (9, 0.45, 60, None, 1.0, 4, 7),
    "30 groups of 5 rows, heavy tails": (30, 0.5, 4, 2.5, 0.4, 5, 5),
}
LINEAR = ", linear"
N_NEW = 200
# Rows, columns, of them those whose mean differs by the class, by how much, kernel, and degrees of freedom of
# Student's t (None: normal).
DRAWN = {
    f"{n} rows, {what}, {kernel}": (n, columns, telling, apart, kernel, None)
    for n in (20, 30, 60)
    for what, columns, telling, apart in (("noise in 3 columns", 3, 0, 0.0), ("3 columns", 3, 3, 1.2))
    for kernel in ("rbf", "linear")
} | {
    f"{n} rows, {columns} columns, linear": (n, columns, 5, 0.8, "linear", None)
    for n, columns in ((60, 30), (60, 100), (200, 100))
}
DRAWN_AFTERWARDS = {
    f"{n} rows, {columns} columns{' with heavy tails' if tail else ''}, {kernel}": (
        n, columns, telling, 0.9, kernel, tail,
    )
    for n, columns, telling, tail in ((24, 6, 2, None), (40, 8, 3, 3.0), (80, 2, 1, 3.0), (90, 12, 4, None))
    for kernel in ("rbf", "linear")
}  # fmt: skip
PERSONS = {f"parkinsons, {n} persons": n for n in (10, 16, 22)}
Pair = tuple[float, float]


def told_and_true(
    X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, share: np.ndarray | None = None,
    groups: np.ndarray | None = None, **params: object,
) -> Pair:  # fmt: skip
    """Both log losses; ``share`` weighs the test rows, ``params`` are the model's."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = BayesSVC(**params).fit(X, y, groups=groups)
    chosen = model.predict_proba(X_test)[np.arange(len(y_test)), y_test]
    true = -np.average(np.log(np.maximum(chosen, 1e-15)), weights=share)
    return log_loss_of(model.left_out_proba_, y), float(true)


def of_two(data: str, name: str, n: int, seed: int) -> Pair:
    """Of a draw of a set of two classes."""
    X, y, X_test, y_test = drawn(*binary_set(data, name), n, seed)
    share = np.where(y_test == 1, y.mean() / y_test.mean(), (1 - y.mean()) / (1 - y_test.mean()))
    return told_and_true(X, y, X_test, y_test, share)


def of_several(data: str, name: str, _: int, seed: int) -> Pair:
    """Of a draw of a set of several classes."""
    return told_and_true(*drawn_several(data, name, seed))


def of_groups(_: str, name: str, __: int, seed: int) -> Pair:
    """Of a made table of groups."""
    (X, labels, group), (X_new, labels_new, _) = simulated((GROUPED | GROUPED_ASIDE)[name], seed)
    scaler = StandardScaler().fit(X)
    y, y_new = (np.searchsorted(["ill", "well"], one) for one in (labels, labels_new))
    return told_and_true(scaler.transform(X), y, scaler.transform(X_new), y_new, groups=group)


def made(rng: np.random.Generator, setting: tuple, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of n groups, their labels 0 and 1, at least two groups of 1, and their groups."""
    _, share, columns, tail, within, fewest, most = setting
    own = np.zeros(n, dtype=int)
    own[: max(2, round(share * n))] = 1
    rng.shuffle(own)
    centre = rng.standard_t(tail, (n, columns)) if tail else rng.normal(size=(n, columns))
    centre[:, 0] += 1.2 * own
    centre[:, 1] += 0.8 * own * np.sign(centre[:, 1])
    group = np.repeat(np.arange(n), rng.integers(fewest, most + 1, size=n))
    return centre[group] + within * rng.normal(size=(len(group), columns)), own[group], group


def of_groups_afterwards(_: str, name: str, __: int, seed: int) -> Pair:
    """Of a made table whose setting was written down after the choice."""
    rng = np.random.default_rng(seed)
    setting = WRITTEN_AFTERWARDS[name.removesuffix(LINEAR)]
    params = {"kernel": "linear", "C": 10.0} if name.endswith(LINEAR) else {}
    (X, y, group), (X_new, y_new, _) = (made(rng, setting, n) for n in (setting[0], N_NEW))
    scaler = StandardScaler().fit(X)
    return told_and_true(scaler.transform(X), y, scaler.transform(X_new), y_new, groups=group, **params)


def of_persons(data: str, name: str, _: int, seed: int) -> Pair:
    """Of a draw of persons of parkinsons, three of each class at least."""
    X, y, person = grouped_set(data, "parkinsons")
    rng = np.random.default_rng(seed)
    while True:
        part = np.isin(person, rng.choice(np.unique(person), PERSONS[name], replace=False))
        if all(len(np.unique(person[part & (y == one)])) >= 3 for one in (0, 1)):
            break
    scaler = StandardScaler().fit(X[part])
    X = scaler.transform(X)
    return told_and_true(X[part], y[part], X[~part], y[~part], groups=person[part])


def of_drawn(name: str, seed: int) -> list[float]:
    """Of rows drawn at random: log loss told, true, and true at the shares in training; error told, true."""
    n, columns, telling, apart, kernel, tail = (DRAWN | DRAWN_AFTERWARDS)[name]
    rng = np.random.default_rng([seed, n, columns, telling])
    labels = np.zeros(n, dtype=int)
    while not 6 <= labels.sum() <= n - 6:
        labels = rng.integers(2, size=n)
    y_new = np.repeat([0, 1], N_NEW)
    X, X_new = (
        (rng.standard_t(tail, (len(y), columns)) if tail else rng.normal(size=(len(y), columns)))
        + apart * y[:, None] * (np.arange(columns) < telling)
        for y in (labels, y_new)
    )
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = BayesSVC(kernel=kernel).fit(X, labels)
    proba = model.predict_proba(X_new)
    losses = -np.log(np.maximum(proba[np.arange(len(y_new)), y_new], 1e-15))
    share = np.where(y_new == 1, labels.mean(), 1.0 - labels.mean())
    told, true = log_loss_of(model.left_out_proba_, labels), float(losses.mean())
    wrong = float(np.mean(model.predict(X_new) != y_new))
    return [told, true, float(np.average(losses, weights=share)), model.left_out_.error, wrong]


def of_all_drawn(names: list[str], draws: int, jobs: int) -> str:
    """A line for each of the made tables whose rows are drawn at random."""
    cases = [(name, seed) for name in names for seed in range(draws)]
    found = Parallel(n_jobs=jobs)(delayed(of_drawn)(name, seed) for name, seed in cases)
    lines = []
    for name, some in zip(names, np.reshape(found, (len(names), draws, 5)), strict=True):
        told, true, at_shares, error, wrong = some.mean(axis=0)
        off = some[:, 3] - some[:, 4]
        lines.append(
            [
                name, f"{told:.3f}", f"{true:.3f}", f"{told / true:.2f}", f"{told / at_shares:.2f}",
                f"{100 * error:.1f}", f"{100 * wrong:.1f}",
                f"{100 * off.mean():+.1f} ± {100 * off.std(ddof=1) / np.sqrt(draws):.1f}",
            ]
        )  # fmt: skip
    head = (
        "table",
        "told",
        "true",
        "told / true",
        "told / true at these shares",
        "error told, %",
        "true",
        "off",
    )
    return table(head, lines)


def means_of(
    case: Callable[[str, str, int, int], Pair], data: str, names: list[str], n: int, draws: int, jobs: int
) -> dict[str, np.ndarray]:
    """Both log losses of each set, means over draws."""
    cases = [(name, seed) for name in names for seed in range(draws)]
    found = Parallel(n_jobs=jobs)(delayed(case)(data, name, n, seed) for name, seed in cases)
    progress(f"{case.__name__} {n or ''}: done")
    return dict(zip(names, np.reshape(found, (len(names), draws, 2)).mean(axis=1), strict=True))


def summary(means: dict[str, np.ndarray], halves: list[tuple[str, list[str]]]) -> str:
    """Ratios over the sets."""
    lines = []
    for part, names in halves:
        ratios = np.array([means[name][0] / means[name][1] for name in names])
        error = geometric_mean(ratios) * np.log(ratios).std(ddof=1) / np.sqrt(len(ratios))
        low, high = int(ratios.argmin()), int(ratios.argmax())
        lines.append(
            [
                part, len(names), f"{geometric_mean(ratios):.3f} ± {error:.3f}",
                f"{ratios[low]:.2f} ({names[low]})", f"{ratios[high]:.2f} ({names[high]})",
            ]
        )  # fmt: skip
    return table(("sets", "number", "told / true", "lowest", "highest"), lines)


def by_set(means: dict[str, np.ndarray], aside: set[str]) -> str:
    """Both log losses of each set."""
    lines = [
        [name, "aside" if name in aside else "", f"{told:.3f}", f"{true:.3f}", f"{told / true:.2f}"]
        for name, (told, true) in means.items()
    ]
    return table(("set", "", "told", "true", "told / true"), lines, left=2)


def main() -> None:
    """Print the page."""
    parser = parser_for(__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=40, metavar="N", help="draws; default: 40")
    parser.add_argument("--few", type=int, default=10, metavar="N", help="of several classes; default: 10")
    parser.add_argument("--many", type=int, default=300, metavar="N", help="of drawn rows; default: 300")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; default: 1")
    args = parse(parser)
    several = ", ".join(f"{name} {n}" for name, n in SEVERAL_ROWS.items())
    about = ABOUT.format(draws=args.draws, few=args.few, several=several, many=args.many)
    page = Page("validation.left_out_log_loss", "How much better left-out probabilities seem", about)
    two = [*args.sets, *(IMBALANCED if set(args.sets) == set(SETS) else ())]
    for n in SIZES:
        means = means_of(of_two, args.data, two, n, args.draws, args.jobs)
        aside = set(two) - CHOSEN_ON
        page.add(f"## Two classes, {n} rows", summary(means, halves_of(two)), by_set(means, aside))
    names = list(SEVERAL_ROWS)
    means = means_of(of_several, args.data, names, 0, args.few, args.jobs)
    page.add("## Several classes", summary(means, halves_of(names)), by_set(means, set(names) - CHOSEN_ON))
    names = [*GROUPED, *GROUPED_ASIDE]
    means = means_of(of_groups, args.data, names, 0, args.draws, args.jobs)
    halves = [("all", names), ("choices made on", [*GROUPED]), ("put aside", [*GROUPED_ASIDE])]
    page.add("## Groups", summary(means, halves), by_set(means, set(GROUPED_ASIDE)))
    names = [name + kernel for name in WRITTEN_AFTERWARDS for kernel in ("", LINEAR)]
    means = means_of(of_groups_afterwards, args.data, names, 0, args.draws, args.jobs)
    means |= means_of(of_persons, args.data, [*PERSONS], 0, args.draws, args.jobs)
    halves = [("made", names), ("parkinsons", [*PERSONS])]
    page.add("## Groups written down afterwards", summary(means, halves), by_set(means, set(means)))
    page.add("## Rows drawn at random", of_all_drawn([*DRAWN], args.many, args.jobs))
    page.add("### Written down afterwards", of_all_drawn([*DRAWN_AFTERWARDS], args.many, args.jobs))
    page.finish(args.output)


if __name__ == "__main__":
    main()
