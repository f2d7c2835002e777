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
) -> tuple[float, int]: ...
