import importlib

import pytest
from sklearn.svm import SVC

from _data import noisy
from bayes_svm import leave_one_out

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
