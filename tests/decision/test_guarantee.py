"""What a reject option promises, in a sentence."""

from types import SimpleNamespace

import pytest

from bayes_svm.decision.guarantee import guarantee_of_sets, guarantee_of_threshold


@pytest.mark.parametrize(
    ("source", "risk", "confidence", "said", "not_said"),
    [
        ("left-out", None, None, "Nothing is promised", "0.05"),
        ("left-out", 0.05, None, "Nothing is promised", "probability"),
        ("held-out", 0.05, 0.9, "With probability 0.9 over", "approximation"),
        ("left-out", 0.05, 0.9, "With probability about 0.9 over", "held-out"),
        ("cross-validation", 0.05, 0.9, "an approximation, because cross-validation answers", "held-out"),
    ],
)
def test_of_a_threshold(source, risk, confidence, said, not_said):
    sentence = guarantee_of_threshold(source, risk, confidence, False)
    assert said in sentence
    assert not_said not in sentence


@pytest.mark.parametrize("own", [None, "The set holds the true label with probability at least 0.9."])
def test_of_sets(own):
    sets = SimpleNamespace() if own is None else SimpleNamespace(guarantee_=own)
    sentence = guarantee_of_sets(sets, 0.05)
    assert "at confidence_level=0.95 misses the true label" in sentence
    assert (own or "") in sentence
    assert "None" not in sentence
