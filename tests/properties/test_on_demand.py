"""A kernel matrix of which rows are computed on demand gives what the whole matrix gives."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from _data import awkward, noisy
from bayes_svm import leave_one_out
from bayes_svm.dual import working_set
from bayes_svm.kernels import choice

EXACT = ("path", "unchanged", "re-trained", "settled")


@st.composite
def problems(draw):
    """Data, weights, a machine, and options of leave_one_out."""
    n, seed = draw(st.integers(8, 120)), draw(st.integers(0, 2**32 - 1))
    X, y = draw(st.sampled_from([noisy, awkward]))(n=n, seed=seed)
    weight = np.random.default_rng(seed).integers(0, 4, n) if draw(st.booleans()) else np.ones(n)
    assume(all(np.sum(y[weight > 0] == label) >= 3 for label in np.unique(y)))  # one a fold
    machine = SVC(
        kernel=draw(st.sampled_from(["rbf", "linear", "poly"])),
        C=10.0 ** draw(st.floats(-3, 3)),
        gamma=10.0 ** draw(st.floats(-2, 1)),
        degree=2,
        coef0=1.0,
    )
    return X, y, weight, machine, draw(st.sampled_from([{}, {"sign_only": True}, {"cv": 3}]))


@settings(deadline=None)
@given(
    problem=problems(),
    first=st.integers(2, 40),
    growth=st.sampled_from([0.05, 0.25, 1.0]),
    kept=st.booleans(),
)
def test_values_and_signs_are_the_same(problem, first, growth, kept):
    X, y, weight, machine, options = problem
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # an inexact value is left out below
        whole = leave_one_out(machine, X, y, sample_weight=weight, **options)
        patch.setattr(choice, "ALL_AT_ONCE", 0)
        patch.setattr(choice, "FEW_FEATURES", 0 if kept else 100)
        patch.setattr(working_set, "MOST", 30)
        patch.setattr(working_set, "FIRST", first)
        patch.setattr(working_set, "FEWEST", 2)
        patch.setattr(working_set, "GROWTH", growth)
        part = leave_one_out(machine, X, y, sample_weight=weight, **options)
    exact = np.isin(whole.status, EXACT) & np.isin(part.status, EXACT)
    scale = max(1.0, np.nanmax(np.abs(whole.decision_values), initial=1.0))
    near = np.abs(whole.decision_values[exact]) < 1e-7 * scale  # a value that is 0 has no sign
    difference = np.abs(whole.decision_values - part.decision_values)[exact]
    assert not np.any(difference > 1e-6 * scale)  # NaN where a sign was settled
    np.testing.assert_array_equal(whole.predictions[exact][~near], part.predictions[exact][~near])
