import re
from email.message import Message
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import estimator_html_repr

import bayes_svm
from bayes_svm import BayesSVC
from bayes_svm.utils import scikit_learn
from bayes_svm.utils.scikit_learn import fit_context

SITE = "https://docs.example.org/bayes_svm"
ESTIMATORS = [name for name in bayes_svm.__all__ if hasattr(getattr(bayes_svm, name), "fit")]


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


class Mine(BayesSVC):
    """A class of a user."""


def estimator_named(name):
    kind = getattr(bayes_svm, name)
    return kind(SVC()) if "estimator" in kind._get_param_names() else kind()


def links_to(estimator):
    """Addresses that the HTML of an estimator links to, without the places on a page."""
    found = re.findall(r"href=[\"']([^\"'#]*)", estimator_html_repr(estimator))
    return {address for address in found if address}


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(scikit_learn, "_documentation", lambda: SITE)


@pytest.fixture
def unknown(monkeypatch):
    monkeypatch.setattr(scikit_learn, "_documentation", lambda: "")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_html_of_an_estimator_links_to_its_page_and_to_that_of_what_is_in_it(name, known):
    theirs = SVC()._get_doc_link()
    assert links_to(estimator_named(name)) - {theirs} == {f"{SITE}/reference/generated/bayes_svm.{name}.html"}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_without_an_address_the_html_links_to_nothing_of_ours(name, unknown):
    assert links_to(estimator_named(name)) <= {SVC()._get_doc_link()}


def test_every_step_of_a_pipeline_links_to_its_own_page(known):
    scaler = StandardScaler()
    assert links_to(make_pipeline(scaler, BayesSVC())) >= {
        scaler._get_doc_link(),
        f"{SITE}/reference/generated/bayes_svm.BayesSVC.html",
    }


def test_a_class_of_a_user_has_no_page_of_ours(known):
    assert links_to(Mine()) == set()


def test_every_estimator_in_the_package_is_linked_or_private():
    def below(kind):
        return {kind, *(c for child in kind.__subclasses__() for c in below(child))}

    for name in bayes_svm.__all__:
        getattr(bayes_svm, name)
    linked = {
        c.__name__ for c in below(scikit_learn.LinkedToItsPage) if c.__module__.startswith("bayes_svm.")
    }
    assert linked >= set(ESTIMATORS)
    ours = {c.__name__ for c in below(BaseEstimator) if c.__module__.startswith("bayes_svm.")}
    assert ours - linked == {name for name in ours if name.startswith("_")}


def test_the_address_is_that_in_the_metadata(monkeypatch):
    found = Message()
    found["Project-URL"] = "Source, https://example.org/source"
    found["Project-URL"] = f"Documentation, {SITE}"
    monkeypatch.setattr(scikit_learn, "metadata", lambda name: {"bayes-svm": found}[name])
    assert scikit_learn._documentation.__wrapped__() == SITE
    del found["Project-URL"]
    assert scikit_learn._documentation.__wrapped__() == ""


def test_a_package_that_is_not_installed_has_no_address(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(scikit_learn, "metadata", missing)
    assert scikit_learn._documentation.__wrapped__() == ""
