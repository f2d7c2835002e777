"""Dealing many copies against dealing them one by one."""

from collections import Counter

import numpy as np
import pytest

from bayes_svm.utils.dealing import deal


def one_by_one(copies, number):
    """What each hand holds, as a multiset of hands."""
    hands = [Counter() for _ in range(number)]
    place = 0
    for thing, count in enumerate(copies):
        for _ in range(int(count)):
            hands[place % number][thing] += 1
            place += 1
    return Counter(tuple(sorted(hand.items())) for hand in hands)


def hands_of(dealt):
    held = [Counter() for _ in dealt.times]
    for hand, thing, number in zip(dealt.hand, dealt.thing, dealt.number, strict=True):
        held[hand][int(thing)] += int(number)
    found = Counter()
    for hand, times in zip(held, dealt.times, strict=True):
        found[tuple(sorted(hand.items()))] += int(times)
    return found


@pytest.mark.parametrize("largest", [1, 2, 30])
@pytest.mark.parametrize("seed", range(20))
def test_hands_are_those_of_dealing_every_copy(seed, largest):
    random = np.random.default_rng(seed)
    copies = random.integers(1, largest + 1, size=random.integers(1, 12)).astype(float)
    number = int(random.integers(1, copies.sum() + 1))
    dealt = deal(copies, number)
    assert hands_of(dealt) == one_by_one(copies, number)
    assert dealt.times.sum() == number
    assert (np.diff(dealt.hand) >= 0).all()
    assert dealt.number.min() >= 1


def test_a_million_copies_cost_what_a_few_do():
    dealt = deal(np.array([1e6, 3.0, 1e6]), 1000)
    assert len(dealt.hand) <= 9
    total = np.bincount(dealt.thing, weights=dealt.number * dealt.times[dealt.hand])
    np.testing.assert_array_equal(total, [1e6, 3, 1e6])


def test_more_copies_than_can_be_counted_are_refused():
    with pytest.raises(
        ValueError, match=r"stands for 1e\+16 copies.*divide it by a constant, and multiply C"
    ):
        deal(np.array([1e16, 1.0]), 2)


def test_memory_is_counted_first(monkeypatch):
    monkeypatch.setattr("bayes_svm.utils.memory.ALWAYS_THERE", 0)
    monkeypatch.setattr("bayes_svm.utils.memory.available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match=r"Dealing 40 rows of different sample weights to .* strata"):
        deal(np.r_[np.full(20, 1e3 + 1), np.ones(20)], 20)
