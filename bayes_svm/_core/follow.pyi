from bayes_svm._core.records import Base, Motion, Scratch, State
from bayes_svm.utils.types import Array, Indices

def enter_each(base: Base, candidates: Indices, beta: Array, state: State, scratch: Scratch) -> bool: ...
def follow(
    base: Base, motion: Motion, state: State, n_changed: int, end: float, max_events: int, scratch: Scratch
) -> tuple[int, int, int, float]: ...
