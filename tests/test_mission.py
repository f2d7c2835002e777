"""From one fit: everything the five papers give, and that it fits together."""

import numpy as np
import pytest
from sklearn.svm import SVC

from _data import noisy
from bayes_svm import (
    BayesSVC,
    MultivariateSVC,
    RejectOptionClassifier,
    choose_threshold,
    class_similarity,
    leave_one_out,
    log_evidence,
    span_estimate,
    xi_alpha,
)
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.probability.curvature import hinge_curvature
from bayes_svm.probability.eigensystem import Eigensystem
from bayes_svm.probability.kwok import KwokLink
from bayes_svm.probability.moderated import ModeratedLink
from bayes_svm.probability.posterior import posterior_of
from bayes_svm.probability.sigmoid import SigmoidLink


def test_the_mission_from_one_fit():
    X, y = noisy(n=120)
    new = noisy(n=300, seed=1)
    C = 2.0
    model = BayesSVC(C=C).fit(X, y)
    machine, (solution,) = machine_of(model, X, y)
    problem = machine.problem(0)

    # Kwok: the eigensystem of the Hessian gives the variance, and the effective number of parameters.
    active = np.flatnonzero(hinge_curvature(problem.label * solution.values) > 0)
    curvature = hinge_curvature(problem.label[active] * solution.values[active])
    gram = problem.gram.block(active, active)
    eigensystem = Eigensystem.of(gram, curvature, 1.0 / C)
    variance = model.posterior_variance(new[0])
    cross = machine.cross(problem, new[0])[:, active]
    np.testing.assert_allclose(eigensystem.variance(np.ones(300), cross), variance, rtol=1e-6)
    assert np.isfinite(log_evidence(model, X, y).value)
    assert 0 < eigensystem.n_parameters < len(active)

    # Kwok: moderated outputs are less certain than unmoderated ones, on the same side.
    values, kwok = model.decision_function(new[0]), KwokLink()
    moderated, plain = kwok.log_odds(values, variance), kwok.log_odds(values)
    assert (moderated * values >= 0).all()
    assert (np.abs(moderated) <= np.abs(plain) + 1e-12).all()
    as_kwok = BayesSVC(C=C, link="kwok").fit(X, y)
    np.testing.assert_allclose(as_kwok.predict_proba(new[0])[:, 1], 1 / (1 + np.exp(-moderated)), atol=1e-9)

    # Rejection at thresholds read off the left-out moderated outputs.
    for base in (as_kwok, model):
        reject = RejectOptionClassifier(base, target_coverage=0.8).fit(X, y)
        assert reject.fitted_on_ == "left-out"
        assert reject.coverage_ >= 0.8
        rejected = reject.rejected(new[0])
        wrong = reject.estimator_.predict(new[0]) != new[1]
        assert wrong[~rejected].mean() < wrong.mean()

    # Platt: the sigmoid is fitted to left-out values, and the moderated link is it among the data.
    assert isinstance(model.link_, ModeratedLink)
    assert isinstance(model.link_.sigmoid, SigmoidLink)
    log_odds = model.link_.sigmoid.log_odds(model.left_out_decision_values_)
    np.testing.assert_allclose(1 / (1 + np.exp(-log_odds)), model.left_out_proba_[:, 1], atol=1e-6)

    # Joachims: xi-alpha bounds the exact leave-one-out errors; the span estimate comes near them.
    exact = leave_one_out(SVC(C=C), X, y)
    bound = xi_alpha(SVC(C=C), X, y)
    assert bound.stable
    assert "unstable" not in exact.status
    assert bound.error >= exact.error
    assert bound.recall <= exact.recall
    assert bound.precision <= exact.precision
    assert bound.f1 <= exact.f1
    assert abs(span_estimate(SVC(C=C), X, y).error - exact.error) <= bound.error - exact.error

    # Franc: the signs of the exact values, proven before the end.
    proven = leave_one_out(SVC(C=C), X, y, method="certified")
    certain = proven.status == "certified"
    assert certain.mean() > 0.5  # the others reach the solver's tolerance before a proof
    np.testing.assert_array_equal(proven.predictions[certain], exact.predictions[certain])

    # Thresholds from left-out values, and a machine trained for F1.
    chosen = choose_threshold(y, model.left_out_decision_values_, "f_beta")
    assert chosen.confusions[0].f1 >= max(chosen.f1, model.left_out_.f1)
    trained = MultivariateSVC(loss="f1", C=C).fit(X, y)
    assert 0 < np.mean(trained.predict(X) == 1) <= 1

    # Pardi: the class similarity of a kernel, without any machine, is lower where it tells classes apart.
    shuffled = np.random.default_rng(0).permutation(y)
    assert class_similarity(X, y).value < class_similarity(X, shuffled).value


@pytest.mark.parametrize("C", [0.1, 100.0])
def test_the_posterior_of_a_fit_is_that_of_its_machine(C):
    X, y = noisy()
    model = BayesSVC(C=C).fit(X, y)
    machine, (solution,) = machine_of(model, X, y)
    np.testing.assert_allclose(posterior_of(machine, solution, C).variance(X), model.posterior_variance(X))
