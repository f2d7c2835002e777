from bayes_svm._core.records import Numbers
from bayes_svm.utils.types import Array

def most_informative(
    gram: Array, curvature: Array, ridge: float, factor: Array, score: Array, chosen: Numbers
) -> int: ...
