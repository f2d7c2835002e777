import numpy as np
import pytest

from _loops import copied, recorded
from _sources import sources
from bayes_svm._core.records import DONE, SETTLED

screen, shrink_each = sources().screen, sources().shrink.shrink_each


def ends_of(call):
    """Where the paths of a call end."""
    call = [copied(argument) for argument in call]
    with np.errstate(all="ignore"):
        shrink_each(*call)
    return call[-2]


@pytest.mark.parametrize(
    ("few", "reach", "touch", "slack"),
    [(1000, 0.0, 0.0, 0.0), (1000, 0.5, 0.0, 0.0), (48, 1.5, 0.1, 0.5), (1000, 50.0, 50.0, 0.0)]
    + [(0, 0.0, 0.0, 0.0), (2, 0.5, 0.0, 0.1), (5, 1.5, 0.1, 0.5)],
)
def test_far_rows_join_until_the_path_ends_as_on_all_rows(monkeypatch, few, reach, touch, slack):
    compared = 0
    monkeypatch.setattr(screen, "FEW", few)
    monkeypatch.setattr(screen, "SLACK", slack)
    for call in [call for call in recorded("shrink.shrink_each", 40) if len(call[-1].rows)]:
        monkeypatch.setattr(screen, "REACH", reach)
        monkeypatch.setattr(screen, "TOUCH", touch)
        found = ends_of(call)
        with monkeypatch.context() as everywhere:
            everywhere.setattr(screen, "ROUNDS", 0)
            expected = ends_of(call)
        ended = np.isin(expected.outcomes, [DONE, SETTLED]) & (expected.kkt < 1e-9)
        compared += int(ended.sum())
        np.testing.assert_array_equal(found.outcomes[ended], expected.outcomes[ended])
        done = ended & (expected.outcomes == DONE)
        np.testing.assert_allclose(found.changes[done], expected.changes[done], atol=1e-8)
        np.testing.assert_allclose(found.intercepts[done], expected.intercepts[done], atol=1e-8)
    assert compared > 100


def test_too_many_near_rows_are_all_rows():
    call = recorded("shrink.shrink_each")[-1]
    memory = call[-1]
    few = memory.base._replace(
        W=memory.base.W[:2, :2].copy(),
        **{name: getattr(memory.base, name)[:1].copy() for name in ("is_in", "lower", "upper", "flat")},
    )
    state = memory.state._replace(
        **{
            name: getattr(memory.state, name)[:1].copy()
            for name in ("position", "low", "high", "is_in", "at_upper")
        }
    )
    room = memory.room._replace(goal=np.zeros(2), drift=np.zeros(1), direction=np.zeros(2))
    small = memory._replace(
        rows=memory.rows[:1].copy(), moved=memory.moved[:1].copy(), inputs=memory.inputs[:1].copy(),
        base=few, state=state, room=room,
    )  # fmt: skip
    found, expected = ends_of([*call[:-1], small]), ends_of(call)
    np.testing.assert_array_equal(found.outcomes, expected.outcomes)
    np.testing.assert_allclose(found.changes, expected.changes, atol=1e-9)
