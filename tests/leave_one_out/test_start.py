import importlib
from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import SVC

from _data import noisy
from bayes_svm import leave_one_out
from bayes_svm.dual.from_estimator import machine_of

base = importlib.import_module("bayes_svm.leave_one_out.start")


def test_no_memory_for_the_tableau_is_said(monkeypatch):
    X, y = noisy(n=50)

    def refuse(needed, purpose, advice):
        raise MemoryError(f"{purpose} needs {needed:,} bytes. {advice}")

    monkeypatch.setattr(base, "require_bytes", refuse)
    with pytest.raises(
        MemoryError, match=r"leave-one-out tableau of \d+ points needs .* bytes.*Fit on fewer"
    ):
        leave_one_out(SVC(), X, y)


@pytest.mark.parametrize("end", ["lowest", "highest"])
def test_an_end_at_which_no_coefficient_can_move(end):
    _, (solution,) = machine_of(SVC(), *noisy(n=30))
    problem = solution.problem
    everywhere = problem.upper if end == "lowest" else problem.lower
    stuck = replace(solution, beta=everywhere.copy(), free=np.empty(0, dtype=np.intp))
    origin = base.Origin(stuck, stuck.tie_break, False, end)
    assert len(origin.system.free) == 1
    assert np.isfinite(origin.residual).all()
