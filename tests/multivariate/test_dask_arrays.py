"""Dask arrays on a cluster of two processes give the same planes as arrays in memory."""

import numpy as np
import pytest

from _data import noisy
from bayes_svm import MultivariateSVC
from bayes_svm.multivariate.cutting_plane import minimise
from bayes_svm.multivariate.dask_arrays import DaskProducts
from bayes_svm.multivariate.losses import loss_of
from bayes_svm.multivariate.planes import Planes
from bayes_svm.multivariate.products import LinearProducts

distributed = pytest.importorskip("distributed")
dask_array = pytest.importorskip("dask.array")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


X, Y = noisy(n=300, d=6)


@pytest.mark.parametrize("name", ["f1", "roc_area", "break_even", "error"])
def test_the_same_planes_as_in_memory(client, name):
    loss, C = loss_of(name, Y > 0), 0.002
    both = LinearProducts(X), DaskProducts(dask_array.from_array(X, chunks=(70, 4)))
    planes = [Planes.none(products) for products in both]
    memory, chunked = (
        minimise(products, loss, C, planes=own) for products, own in zip(both, planes, strict=True)
    )
    assert chunked.n_planes == memory.n_planes > 1
    np.testing.assert_allclose(planes[1].level, planes[0].level, rtol=1e-12)
    gram = planes[0].gram
    np.testing.assert_allclose(planes[1].gram, gram, atol=1e-10 * np.abs(gram).max())
    np.testing.assert_allclose(chunked.w, memory.w, rtol=1e-8, atol=1e-10)


def test_the_estimator_takes_dask_arrays(client):
    in_memory = MultivariateSVC(C=0.01).fit(X, Y)
    chunked = dask_array.from_array(X, chunks=(100, 6))
    model = MultivariateSVC(C=0.01).fit(chunked, dask_array.from_array(Y, chunks=100))
    np.testing.assert_allclose(model.coef_, in_memory.coef_, rtol=1e-8)
    np.testing.assert_array_equal(model.predict(chunked), in_memory.predict(X))
    np.testing.assert_array_equal(model.predict(X), in_memory.predict(X))


def test_what_a_dask_array_cannot_be():
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        MultivariateSVC().fit(dask_array.from_array(bad), Y)
    with pytest.raises(ValueError, match="kernel='linear'"):
        MultivariateSVC(kernel="rbf").fit(dask_array.from_array(X), Y)
    with pytest.raises(ValueError, match="expecting 6 features"):
        MultivariateSVC().fit(X, Y).predict(dask_array.from_array(X[:, :3]))


def test_a_penalty_beyond_double_precision_is_refused(client):
    large = X.copy()
    large[250, 3] = -3e9
    with pytest.raises(ValueError, match="C=1 is too large"):
        MultivariateSVC(C=1.0).fit(dask_array.from_array(large, chunks=(100, 6)), Y)


def test_what_does_not_fit_is_refused_as_of_arrays():
    X, y = noisy(n=40)
    chunks = dask_array.from_array(X, chunks=(10, -1))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MultivariateSVC().fit(chunks, y[:-1])
    model = MultivariateSVC().fit(chunks, y)
    hole = X.copy()
    hole[3, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.predict(dask_array.from_array(hole, chunks=(10, -1)))
    some = X[:, 0] > np.median(X[:, 0])
    unknown = chunks[chunks[:, 0] > np.median(X[:, 0])]
    np.testing.assert_array_equal(model.predict(unknown), model.predict(X[some]))
    given, known = (MultivariateSVC().fit(one, y[some]) for one in (unknown, X[some]))
    np.testing.assert_allclose(given.coef_, known.coef_)
