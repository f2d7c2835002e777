from bayes_svm.utils.types import Array

def cross_entropy(
    values: Array, target: Array, other: Array, weight: Array, slope: float, offset: float
) -> tuple[float, float, float, float, float, float]: ...
