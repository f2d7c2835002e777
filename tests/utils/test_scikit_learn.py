import numpy as np
import pytest
from sklearn.base import BaseEstimator

from bayes_svm.utils.scikit_learn import fit_context


class Fitted(BaseEstimator):
    _parameter_constraints = {"error": [type, None]}  # noqa: RUF012

    def __init__(self, error=None):
        self.error = error

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Fit."""
        self.n_features_in_ = X.shape[1]
        del self.__dict__["old_"]
        if self.error is not None:
            raise self.error
        self.new_ = X.sum()
        return self


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, MemoryError])
def test_a_fit_that_does_not_end_leaves_the_estimator_as_it_was(error):
    model = Fitted(error)
    model.old_ = 7
    with pytest.raises(error):
        model.fit(np.ones((2, 3)))
    assert vars(model) == {"error": error, "old_": 7}


def test_a_fit_that_ends_is_kept_and_parameters_are_checked():
    model = Fitted()
    model.old_ = 7
    assert vars(model.fit(np.ones((2, 3)))) == {"error": None, "n_features_in_": 3, "new_": 6.0}
    assert Fitted.fit.__doc__ == "Fit."
    with pytest.raises(ValueError, match="'error' parameter"):
        Fitted("no").fit(np.ones((2, 3)))
