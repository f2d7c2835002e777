import numpy as np
from sklearn.gaussian_process.kernels import RBF

from bayes_svm import BayesSVC, BayesSVCSearch
from bayes_svm.selection.parameter_space import Space


def test_parameters_are_within_the_bounds():
    limits = {"C": (0.1, 10.0), "gamma": (0.003, 0.7)}
    space = Space(BayesSVC(), limits)
    for corner in zip(*space.bounds, strict=True):
        found = space.parameters(np.array(corner))
        assert all(low <= found[name] <= high for name, (low, high) in limits.items())


def test_length_scales_of_features_that_say_nothing_grow():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3))
    y = np.sign(X[:, 0] + 0.3 * random.normal(size=120))
    search = BayesSVCSearch(
        BayesSVC(kernel=RBF(np.ones(3))),
        param_space={"C": (1e-2, 1e3), "kernel": (0.1, 100.0)},
        criterion="evidence",
    ).fit(X, y)
    scales = search.best_params_["kernel"].length_scale
    assert np.all(scales[1:] > 3 * scales[0])
    assert search.score(X, y) > 0.85
