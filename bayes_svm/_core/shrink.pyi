from bayes_svm._core.records import Base, BaseState, Ends, Moves, Room, Scratch, State

def shrink_each(
    base: Base,
    moves: Moves,
    start: BaseState,
    max_events: int,
    margin: float,
    state: State,
    scratch: Scratch,
    room: Room,
    ends: Ends,
) -> None: ...
