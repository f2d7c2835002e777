import numpy as np
import pytest

from _loops import copied, cut_into_legs, loop, recorded
from _sources import sources
from bayes_svm._core.records import DONE, SETTLED, TOO_MANY_EVENTS

screen, shrink = sources().screen, sources().shrink
shrink_each = shrink.shrink_each


def screened(most=40):
    """Calls whose paths may be followed on few rows."""
    return [call for call in recorded("shrink.shrink_each", most) if len(call[-1].rows)] + cut_into_legs()


def ends_of(call):
    """Where the paths of a call end."""
    call = [copied(argument) for argument in call]
    with np.errstate(all="ignore"):
        shrink_each(*call)
    return call[-2]


def assert_alike(found, expected):
    """Assert that the paths that end well end alike, and return how many they are."""
    ended = np.isin(expected.outcomes, [DONE, SETTLED]) & (expected.kkt < 1e-9)
    np.testing.assert_array_equal(found.outcomes[ended], expected.outcomes[ended])
    done = ended & (expected.outcomes == DONE)
    np.testing.assert_allclose(found.changes[done], expected.changes[done], atol=1e-8)
    np.testing.assert_allclose(found.intercepts[done], expected.intercepts[done], atol=1e-8)
    np.testing.assert_array_equal(found.times[done], 1.0)
    return int(ended.sum())


@pytest.mark.parametrize(
    ("few", "reach", "touch", "slack"),
    [
        (1000, 0.0, 0.0, 0.0),
        (1000, 0.5, 0.0, 0.0),
        (1000, 50.0, 50.0, 0.0),
        (48, 1.5, 0.1, 0.5),
        (5, 1.5, 0.1, 0.5),
        (2, 0.5, 0.0, 0.1),
        (0, 0.0, 0.0, 0.0),
    ],
)
def test_far_rows_join_until_the_path_ends_as_on_all_rows(monkeypatch, few, reach, touch, slack):
    compared = 0
    monkeypatch.setattr(screen, "FEW", few)
    monkeypatch.setattr(screen, "SLACK", slack)
    same = []
    for call in screened():
        monkeypatch.setattr(screen, "REACH", reach)
        monkeypatch.setattr(screen, "TOUCH", touch)
        found = ends_of(call)
        with monkeypatch.context() as everywhere:
            everywhere.setattr(screen, "ROUNDS", 0)
            everywhere.setattr(screen, "FEW", 1000)
            expected = ends_of(call)
        compared += assert_alike(found, expected)
        same.extend(found.events == expected.events)
    assert compared > 100
    # A far row that crosses an end of its interval and comes back has no events.
    assert np.mean(same) > 0.9


def test_paths_of_many_events_are_followed_in_legs(monkeypatch):
    cuts, length = [], screen._length_of_leg

    def watched(m, motion, state, scratch, remaining, shortest):
        found = length(m, motion, state, scratch, remaining, shortest)
        cuts.append(found < remaining)
        return found

    monkeypatch.setattr(screen, "_length_of_leg", watched)
    for call in cut_into_legs():
        compiled = [copied(argument) for argument in call]
        loop("shrink.shrink_each")(*compiled)
        for found, expected in zip(compiled[-2], ends_of(call), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert sum(cuts) > 5


@pytest.mark.parametrize("few", [2, 48])
def test_factors_are_those_of_the_points_that_have_changed(monkeypatch, few):
    monkeypatch.setattr(screen, "FEW", few)
    solved = []

    def checked(base, changed, n_changed, scratch):
        factored, right = scratch.factored[:n_changed], scratch.weights[:n_changed].copy()
        assert (factored == changed[:n_changed]).all() or factored[0] < 0
        solve_changed(base, changed, n_changed, scratch)
        points, inputs = changed[:n_changed], scratch.weights[:n_changed]
        left = inputs @ base.W[np.ix_(points, points)] - right
        size = np.abs(inputs) @ np.abs(base.W[np.ix_(points, points)]) + np.abs(right)
        assert (np.abs(left) <= 1e-8 * size.max(initial=0.0)).all()
        solved.append(n_changed)

    solve_changed = sources().changed_points.solve_changed
    for module in (sources().follow, shrink):
        monkeypatch.setattr(module, "solve_changed", checked)
    for call in screened(12):
        ends_of(call)
    assert len(solved) > 1000
    assert max(solved) > 10


def test_a_limit_of_events_holds_over_all_legs(monkeypatch):
    monkeypatch.setattr(screen, "FEW", 2)
    cut = 0
    for call in screened(12):
        call = [*call[:3], 7, *call[4:]]
        found = ends_of(call)
        with monkeypatch.context() as everywhere:
            everywhere.setattr(screen, "ROUNDS", 0)
            everywhere.setattr(screen, "FEW", 1000)
            expected = ends_of(call)
        assert_alike(found, expected)
        cut += np.count_nonzero(found.outcomes == TOO_MANY_EVENTS)
        assert (found.times[found.outcomes == TOO_MANY_EVENTS] < 1.0).all()
        assert (found.outcomes == TOO_MANY_EVENTS).sum() <= (expected.outcomes == TOO_MANY_EVENTS).sum()
    assert cut > 10


@pytest.mark.parametrize("tie_break", [1e-7, 1e-3])
def test_the_path_goes_on_to_the_exact_targets_where_exchanges_do_not_help(monkeypatch, tie_break):
    calls, helped, compared = cut_into_legs(tie_break), 0, 0
    assert calls
    for call in calls:
        expected = ends_of(call)
        # No violation is rounding: nearly every path goes on.
        call = [*call[:5], 0.0, *call[6:]]
        with monkeypatch.context() as further:
            further.setattr(shrink, "EXCHANGES", 0)
            found = ends_of(call)
            further.setattr(shrink, "_to_exact_targets", lambda *given: (given[6], 0))
            without = ends_of(call)
        compared += assert_alike(found, expected)
        helped += np.count_nonzero((found.kkt < 1e-10) & (without.kkt > 1e-8))
    assert compared > 20
    assert tie_break < 1e-3 or helped > 3


def test_compiled_paths_that_go_on_have_the_bits_of_their_source(monkeypatch):
    went_on, further = [], shrink._to_exact_targets
    monkeypatch.setattr(shrink, "_to_exact_targets", lambda *given: went_on.append(1) or further(*given))
    for call in recorded("shrink.shrink_each") + cut_into_legs() + cut_into_legs(1e-3):
        call = [*call[:5], 0.0, *call[6:]]
        compiled = [copied(argument) for argument in call]
        loop("shrink.shrink_each")(*compiled)
        for found, expected in zip(compiled[-2], ends_of(call), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert len(went_on) > 3


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
