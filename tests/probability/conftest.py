import pytest
from sklearn.svm import SVC

from _data import noisy
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.probability.posterior import posterior_of


@pytest.fixture(params=[0.01, 1.0, 100.0])
def linear(request):
    X, y = noisy(n=40)
    machine, (solution,) = machine_of(SVC(C=request.param, kernel="linear"), X, y)
    posterior = posterior_of(machine, solution, request.param)
    return X, y, machine, solution, posterior, request.param
