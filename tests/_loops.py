"""The calls that the package makes of its compiled loops, recorded with what they were given."""

import sys
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from unittest import mock

import numpy as np
from sklearn.svm import SVC

from _data import awkward, noisy
from bayes_svm import BayesSVC, ConformalSVC, leave_one_out
from bayes_svm.dual import solving, tableau_path
from bayes_svm.leave_one_out import signs

# Every function of the compiled modules that the package calls.
CALLED = {
    "matrix": (
        "block",
        "largest_sum",
        "minus_distances",
        "mirror_lower",
        "transpose",
        "smallest_of_rows",
        "sum_of_rows",
        "add_sparse_product",
        "coarse_keys",
    ),
    "follow": ("enter_each", "follow"),
    "shrink": ("shrink_each",),
    "grow": ("grow_each",),
    "optimality": ("check_ends", "check_moved"),
    "logistic": ("most_probable", "posterior_at"),
    "informative": ("most_informative",),
    "primal": ("duality_gap", "sensitivity"),
    "smo": ("move_pairs",),
    "certify": ("check_each", "solve_each"),
}
NAMES = [f"{module}.{function}" for module, functions in CALLED.items() for function in functions]


def loop(name):
    """The function of this name."""
    module, function = name.split(".")
    return getattr(import_module(f"bayes_svm._core.{module}"), function)


def copied(argument):
    """A copy of an argument: an array, a record of arrays, or a number."""
    if isinstance(argument, np.ndarray):
        return argument.copy()
    if hasattr(argument, "_fields"):
        return type(argument)(*(copied(entry) for entry in argument))
    return argument


@contextmanager
def _watched(name, calls):
    """Within this context every call of a loop leaves a copy of its arguments."""
    function = loop(name)

    def watched(*arguments):
        calls.append([copied(argument) for argument in arguments])
        return function(*arguments)

    held = [
        (module, key)
        for path, module in list(sys.modules.items())
        if path.startswith("bayes_svm.")
        for key, value in list(vars(module).items())
        if value is function
    ]
    for module, key in held:
        setattr(module, key, watched)
    try:
        yield
    finally:
        for module, key in held:
            setattr(module, key, function)


def _use_everything():
    """A few small problems that use every loop."""
    for X, y in (noisy(40), awkward(36)):
        groups, weight = np.arange(len(y)) // 3, 0.5 + np.arange(len(y)) % 4
        for C in (0.3, 30.0):
            BayesSVC(C=C).fit(X, y)
            leave_one_out(SVC(C=C), X, y, groups=groups)
            with mock.patch.object(signs, "WORTH_A_CHECK", 1):
                leave_one_out(SVC(C=C), X, y, sign_only=True)
            leave_one_out(SVC(C=C), X, y, method="certified")
            leave_one_out(SVC(C=C, kernel="linear"), X, y, sample_weight=weight)
            ConformalSVC(SVC(C=C, gamma=0.5), "margin").fit(X, y).p_values(X[:5] + 0.3)
    X, y = noisy(320)
    leave_one_out(SVC(C=3.0), X, y)
    BayesSVC(C=0.1).fit(X, y)
    with mock.patch.object(tableau_path, "LEAST_ROWS", 0):
        X, y = noisy(60)
        for C in (0.3, 30.0):
            leave_one_out(SVC(C=C), X, y)
            leave_one_out(SVC(C=C), X, y, groups=np.arange(len(y)) // 3)
            with mock.patch.object(signs, "WORTH_A_CHECK", 1):
                leave_one_out(SVC(C=C), X, y, sign_only=True)


@cache
def recorded(name, most=12):
    """Arguments of some of the calls of a loop, spread over all of them."""
    calls = []
    with _watched(name, calls):
        _use_everything()
    chosen = np.unique(np.linspace(0, len(calls) - 1, most).astype(int)) if calls else []
    return [calls[k] for k in chosen]


@cache
def cut_into_legs(*tie_breaks):
    """Arguments of calls of ``shrink.shrink_each`` where some paths have so many events that they are cut.

    With ``tie_breaks``, the perturbed targets are so far from the exact ones.
    """
    calls = []
    with (
        mock.patch.object(tableau_path, "LEAST_ROWS", 0),
        mock.patch.object(solving, "TIE_BREAKS", tie_breaks or solving.TIE_BREAKS),
        _watched("shrink.shrink_each", calls),
    ):
        for n, d, noise, C in ((160, 1, 2.0, 10.0), (240, 2, 0.7, 300.0)):
            X, y = noisy(n, d=d, noise=noise)
            leave_one_out(SVC(C=C, gamma=2.0), X, y, groups=np.arange(n) // 10)
    return calls
