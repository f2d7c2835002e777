from bayes_svm.utils.types import Array

def most_probable(
    values: Array,
    target: Array,
    other: Array,
    weight: Array,
    centre: float,
    boundary: float,
    scale: float,
    offset: float,
) -> tuple[float, float, bool, float]: ...
def posterior_at(
    values: Array,
    target: Array,
    other: Array,
    weight: Array,
    centre: float,
    boundary: float,
    scale: float,
    log_slope: float,
    offset: float,
) -> tuple[float, float, float, float]: ...
