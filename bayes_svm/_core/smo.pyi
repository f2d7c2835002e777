from bayes_svm._core.pair_records import Team
from bayes_svm.utils.types import Array, Indices

def move_pairs(
    rows: Array,
    place: Indices,
    diagonal: Array,
    beta: Array,
    gradient: Array,
    lower: Array,
    upper: Array,
    tolerance: float,
    max_steps: int,
    team: Team,
) -> tuple[float, int]: ...
def help_move(
    rows: Array,
    place: Indices,
    diagonal: Array,
    beta: Array,
    gradient: Array,
    lower: Array,
    upper: Array,
    team: Team,
    number: int,
) -> None: ...
