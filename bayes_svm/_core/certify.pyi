from bayes_svm._core.pair_records import Rules, SignsFound, Whole, Work
from bayes_svm.utils.types import Array, Indices, Mask

def solve_each(
    whole: Whole, points: Indices, rest: Array, rules: Rules, work: Work, found: SignsFound
) -> None: ...
def check_each(whole: Whole, points: Indices, rest: Array, work: Work, proven: Mask) -> None: ...
