from bayes_svm._core.records import Base, BaseState, Ends, Guests, Moves, Room, Scratch, State

def grow_each(
    base: Base,
    guests: Guests,
    start: BaseState,
    max_events: int,
    state: State,
    scratch: Scratch,
    room: Room,
    still: Moves,
    ends: Ends,
) -> None: ...
