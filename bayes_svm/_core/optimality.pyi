from bayes_svm._core.check_records import Checked, Measured, Points, Tolerance
from bayes_svm._core.removals import Removals
from bayes_svm.utils.types import Array

def check_ends(beta: Array, values: Array, label: Array, bounds: Array, tolerance: Tolerance) -> Checked: ...
def check_moved(
    points: Points,
    removals: Removals,
    delta: Array,
    moved: Array,
    shift: Array,
    tolerance: Tolerance,
    measured: Measured,
) -> None: ...
