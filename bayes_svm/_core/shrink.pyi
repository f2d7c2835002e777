from bayes_svm._core.records import Base, BaseState, Ends, Moves, Room, Scratch, Screen, State

def shrink_each(
    base: Base,
    moves: Moves,
    start: BaseState,
    max_events: int,
    margin: float,
    excess: float,
    state: State,
    scratch: Scratch,
    room: Room,
    ends: Ends,
    screen: Screen,
) -> None: ...
