"""Estimators' HTML leads to their pages, if the site has an address."""

import pytest
from sklearn.svm import SVC

import bayes_svm
from bayes_svm.utils import scikit_learn

ESTIMATORS = {
    "AggregationTransformer": bayes_svm.AggregationTransformer(),
    "BayesSVC": bayes_svm.BayesSVC(),
    "BayesSVCSearch": bayes_svm.BayesSVCSearch(bayes_svm.BayesSVC(), {"C": [1.0]}),
    "ConformalSVC": bayes_svm.ConformalSVC(SVC()),
    "MultivariateSVC": bayes_svm.MultivariateSVC(),
    "PairwiseCouplingClassifier": bayes_svm.PairwiseCouplingClassifier(),
    "RejectOptionClassifier": bayes_svm.RejectOptionClassifier(bayes_svm.BayesSVC()),
}


@pytest.fixture
def urls(monkeypatch):
    """Lines of the metadata, to be filled."""
    lines = []

    class Metadata:
        def get_all(self, name):
            assert name == "Project-URL"
            return lines or None

    monkeypatch.setattr(scikit_learn, "metadata", lambda name: Metadata())
    scikit_learn.documentation.cache_clear()
    yield lines
    scikit_learn.documentation.cache_clear()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_html_links_to_the_page_of_the_estimator(urls, name):
    urls += ["Repository, https://code.example", "Documentation, https://site.example"]
    page = f"https://site.example/reference/generated/bayes_svm.{name}.html"
    assert page in ESTIMATORS[name]._repr_html_()


def test_without_an_address_there_is_no_link(urls):
    assert "reference/generated" not in ESTIMATORS["BayesSVC"]._repr_html_()


def test_classes_of_users_have_no_page(urls):
    urls += ["Documentation, https://site.example"]

    class Own(bayes_svm.BayesSVC):
        pass

    assert "site.example" not in Own()._repr_html_()
