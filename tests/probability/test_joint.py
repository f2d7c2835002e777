"""The joint link of several classes, beside a general optimiser, explicit folds and repeated rows."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit, log_expit, log_softmax, logit, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression

from bayes_svm import BayesSVC, RejectOptionClassifier
from bayes_svm.leave_one_out.cases import strata
from bayes_svm.probability.joint import STRENGTHS, JointLink, fit_joint
from bayes_svm.probability.multinomial import Multinomial
from bayes_svm.probability.several import log_probabilities, winner_log_probabilities

random = np.random.default_rng(0)
N, K = 120, 3
Y = random.integers(0, K, size=N)
Z = 1.5 * (np.eye(K)[Y] - 0.5) + random.normal(size=(N, K)) @ np.array(
    [[1, 0.5, 0], [0, 1, 0], [0.3, 0, 1.0]]
)
WEIGHT = random.integers(1, 4, size=N).astype(float)
SHARE = np.eye(10)[np.arange(N) % 12 % 10]


def loss(theta, strength, z=Z, y=Y, weight=WEIGHT):
    """The formula of the docstring."""
    n_classes = z.shape[1]
    V, U, b = np.split(theta.reshape(n_classes, 2 * n_classes + 1), [n_classes, 2 * n_classes], axis=1)
    scores = log_expit(z) @ V.T + log_expit(-z) @ U.T + b.ravel()
    one = np.eye(n_classes)
    penalty = np.sum((V - one) ** 2) + np.sum((U + one) ** 2) + np.sum(b**2)
    return -weight @ log_softmax(scores, axis=1)[np.arange(len(y)), y] + strength * penalty


def log_softmax_of(link, z):
    features = np.hstack([log_expit(z), log_expit(-z), np.ones((len(z), 1))])
    return log_softmax(features @ link.weights.T, axis=1)


def test_the_link_minimises_its_penalised_loss():
    link, _ = fit_joint(Z, Y, WEIGHT, SHARE)
    found = minimize(loss, link.weights.ravel() + 0.1, args=(link.strength,), method="BFGS", tol=1e-8)
    own = loss(link.weights.ravel(), link.strength)
    assert own <= found.fun + 1e-9
    np.testing.assert_allclose(approx_fprime(link.weights.ravel(), loss, 1e-6, link.strength), 0.0, atol=2e-3)
    np.testing.assert_allclose(
        link.log_odds(Z), logit(softmax(log_softmax_of(link, Z), axis=1)), rtol=1e-9, atol=1e-9
    )


def test_the_errors_are_those_of_the_inverse_hessian():
    link, _ = fit_joint(Z, Y, WEIGHT, SHARE)

    def gradient(theta):
        return approx_fprime(theta, loss, 1e-5, link.strength)

    hessian = approx_fprime(link.weights.ravel(), gradient, 1e-4)
    np.testing.assert_allclose(np.linalg.inv(hessian), link.covariance, rtol=0.02, atol=1e-4)
    np.testing.assert_allclose(link.standard_errors.ravel() ** 2, np.diag(link.covariance))


def test_a_row_is_told_by_the_link_of_the_other_folds():
    link, crossed = fit_joint(Z, Y, WEIGHT, SHARE)
    for fold in range(10):
        own = SHARE[:, fold] > 0
        found = minimize(
            loss, link.weights.ravel(), args=(link.strength, Z[~own], Y[~own], WEIGHT[~own]), method="BFGS",
            options={"gtol": 1e-7},
        )  # fmt: skip
        other = JointLink(found.x.reshape(K, -1), link.columns, link.strength, link.covariance)
        np.testing.assert_allclose(crossed[own], other.log_odds(Z[own]), atol=1e-3)


def test_the_strength_follows_what_the_folds_say():
    """Values that are the log-odds already need no link; values of which two are exchanged need one."""
    many = np.tile(Z, (5, 1))
    share = np.eye(10)[np.arange(len(many)) % 10]
    exact = np.array([random.choice(K, p=softmax(row)) for row in many])
    weight = np.ones(len(many))
    assert fit_joint(many, exact, weight, share)[0].strength > 10.0
    assert fit_joint(many[:, [1, 0, 2]], exact, weight, share)[0].strength < 3.0
    nothing_known = fit_joint(Z, Y, np.full(N, 1e-9), SHARE)[0]
    assert nothing_known.strength == pytest.approx(np.exp(np.log(STRENGTHS).mean()))


def test_weights_are_repeated_rows_in_any_order():
    rows = random.permutation(np.repeat(np.arange(N), WEIGHT.astype(int)))
    link, crossed = fit_joint(Z, Y, WEIGHT, SHARE)
    again, repeated = fit_joint(Z[rows], Y[rows], np.ones(len(rows)), SHARE[rows])
    np.testing.assert_allclose(link.weights, again.weights, atol=1e-9)
    np.testing.assert_allclose(crossed[rows], repeated, atol=1e-7)


def test_equal_strata_are_dealt_to_the_folds_like_different_ones():
    X, y = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    weight = np.array([7.0, 8, 9, 7, 3, 11, 2, 15])
    machine = BayesSVC()._machine(X, y, weight)
    leaving = strata(machine)
    assert leaving.times.sum() == 31
    assert leaving.times.max() > 1
    for number in (10, 40):
        shares = leaving.part_shares(number, machine)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        of_case = shares[np.unique(leaving.case, return_index=True)[1]]
        strata_of_fold = np.bincount(np.arange(31) % min(number, 31))
        np.testing.assert_allclose(np.sort(leaving.times @ of_case), np.sort(strata_of_fold))
    # Of three equal cases the folds hold what they hold of one case that stands for three.
    apart, _ = fit_joint(
        np.tile(Z, (3, 1)), np.tile(Y, 3), np.ones(3 * N), np.eye(3)[np.repeat(np.arange(3), N)]
    )
    merged, _ = fit_joint(Z, Y, np.full(N, 3.0), np.full((N, 3), 1 / 3))
    assert apart.strength == pytest.approx(merged.strength, rel=1e-9)
    np.testing.assert_allclose(apart.weights, merged.weights, atol=1e-9)


@pytest.mark.parametrize("weight", [1e-6, 1e6, 1e9])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 30.0, 1e3])
def test_any_values_and_weights_have_a_link(weight, scale):
    link, crossed = fit_joint(scale * Z, Y, np.full(N, weight), SHARE)
    for found in (link.weights, link.covariance, crossed, link.log_odds(scale * Z)):
        assert np.isfinite(found).all()
    low, high = link.band(scale * Z)
    assert np.all((low >= 0) & (low <= high) & (high <= 1))


def test_of_many_classes_each_reads_its_own():
    y = np.tile(np.arange(30), 8)
    z = np.eye(30)[y] * 3.0 - 2.0 + random.normal(size=(240, 30))
    link, _ = fit_joint(z, y, np.ones(240), np.eye(8)[np.arange(240) // 30])
    assert link.weights.shape == (30, 3)
    inputs = np.stack([log_expit(z), log_expit(-z), np.ones_like(z)], axis=2)
    scores = np.einsum("ikj,kj->ik", inputs, link.weights)
    np.testing.assert_allclose(
        np.exp(log_probabilities(link.log_odds(z))), softmax(scores, axis=1), atol=1e-12
    )


def test_the_band_holds_the_truth_as_often_as_it_says():
    held = []
    for _ in range(40):
        z = 1.5 * random.normal(size=(300, K))
        y = np.array([random.choice(K, p=row) for row in softmax(z @ np.diag([1.3, 0.8, 1.0]) + 0.2, axis=1)])
        link, _ = fit_joint(z, y, np.ones(300), np.eye(10)[np.arange(300) % 10])
        at = 1.5 * random.normal(size=(50, K))
        low, high = link.band(at, level=0.9)
        truth = softmax(at @ np.diag([1.3, 0.8, 1.0]) + 0.2, axis=1)
        held.append(np.mean((low <= truth) & (truth <= high)))
    assert 0.8 < np.mean(held) < 0.98


def test_the_band_follows_the_derivative():
    link, _ = fit_joint(Z, Y, WEIGHT, SHARE)
    low, high = link.band(Z[:4], level=0.95)
    for i in range(4):
        for k in range(K):

            def log_odds(theta, i=i, k=k):
                moved = JointLink(theta.reshape(K, -1), link.columns, link.strength, link.covariance)
                return moved.log_odds(Z[[i]])[0, k]

            slope = approx_fprime(link.weights.ravel(), log_odds, 1e-6)
            reach = 1.959964 * np.sqrt(slope @ link.covariance @ slope)
            centre = link.log_odds(Z[[i]])[0, k]
            assert [low[i, k], high[i, k]] == pytest.approx(
                [expit(centre - reach), expit(centre + reach)], rel=1e-3
            )
    with pytest.raises(ValueError, match="level=2 is not between 0 and 1"):
        link.band(Z, level=2)


def test_the_winner_keeps_its_own_output():
    z = 2.0 * random.normal(size=(500, 4))
    p = np.exp(winner_log_probabilities(z))
    own, sums = expit(z), expit(z).sum(axis=1)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(p.argmax(axis=1), z.argmax(axis=1))
    np.testing.assert_allclose(p.max(axis=1), np.where(sums > 1, own.max(axis=1), own.max(axis=1) / sums))
    sure = np.exp(winner_log_probabilities(np.array([[np.inf, 0.0, -1.0], [800.0, 1.0, -800.0]])))
    np.testing.assert_allclose(sure, [[1, 0, 0], [1, 0, 0]], atol=1e-300)


@pytest.fixture(scope="module")
def three_classes():
    y = np.repeat([7, 3, 5], [40, 25, 15])
    # Numbers of its own: some draws do not separate the classes, and which tests ran before must not matter.
    X = (
        np.random.default_rng(0).normal(size=(80, 2))
        + 1.5 * np.array([[0, 0], [1, 0], [0, 1]])[np.unique(y, return_inverse=True)[1]]
    )
    return X, y


def test_the_left_out_probabilities_are_by_links_that_did_not_see_the_row(three_classes):
    X, y = three_classes
    model = BayesSVC(link="sigmoid").fit(X, y)
    z = np.column_stack(
        [link.log_odds(model.left_out_decision_values_[:, k]) for k, link in enumerate(model.link_)]
    )
    seen = np.exp(log_probabilities(model.joint_link_.log_odds(z)))
    numbers = np.searchsorted(model.classes_, y)
    own, told = (-np.log(p[np.arange(80), numbers]).mean() for p in (seen, model.left_out_proba_))
    assert own < told < 1.5 * own
    np.testing.assert_allclose(model.left_out_proba_, seen, atol=0.3)


def test_every_way_to_combine_is_to_be_had(three_classes):
    X, y = three_classes
    joint, normalise, winner = (
        BayesSVC(multiclass=way).fit(X, y) for way in ("joint", "normalise", "winner")
    )
    assert joint.joint_link_ is not None
    assert normalise.joint_link_ is None
    assert winner.joint_link_ is None
    for model in (joint, normalise, winner):
        proba = model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
        np.testing.assert_array_equal(model.decision_function(X).argmax(axis=1), proba.argmax(axis=1))
    np.testing.assert_array_equal(winner.predict(X), normalise.predict(X))
    assert np.all(winner.predict_proba(X).max(axis=1) >= normalise.predict_proba(X).max(axis=1) - 1e-12)
    assert BayesSVC().fit(X[y != 5], y[y != 5]).joint_link_ is None


def test_a_link_that_is_a_formula_takes_the_winner(three_classes):
    X, y = three_classes
    model, winner = BayesSVC(link="kwok").fit(X, y), BayesSVC(link="kwok", multiclass="winner").fit(X, y)
    assert model.joint_link_ is None
    np.testing.assert_array_equal(model.predict_proba(X), winner.predict_proba(X))
    own = expit(
        np.column_stack([link.log_odds(model._margins(X)[:, k], model.posterior_variance(X)[:, k])
                         for k, link in enumerate(model.link_)])
    )  # fmt: skip
    sums = own.sum(axis=1)
    np.testing.assert_allclose(
        model.predict_proba(X).max(axis=1), np.where(sums > 1, own.max(axis=1), own.max(axis=1) / sums)
    )
    reject = RejectOptionClassifier(model, threshold=0.6).fit(X, y)
    np.testing.assert_array_equal(reject.rejected(X), model.predict_proba(X).max(axis=1) < 0.6)


def test_far_from_the_data_the_joint_link_goes_to_the_limits_of_the_classes(three_classes):
    X, y = three_classes
    model = BayesSVC().fit(X, y)
    limits = np.array([[link.limit for link in model.link_]])
    expected = np.exp(log_probabilities(limits))
    np.testing.assert_allclose(model.predict_proba(np.array([[1e3, -1e3]])), expected, atol=1e-6)


@pytest.mark.parametrize("leave_out", ["strata", "rows", 4])
@pytest.mark.parametrize("grouped", [False, True])
def test_neither_the_order_of_the_rows_nor_the_names_of_groups_count(three_classes, leave_out, grouped):
    X, y = three_classes
    groups = np.arange(80) // 2 if grouped else None
    order = random.permutation(80)
    model = BayesSVC(leave_out=leave_out).fit(X, y, groups=groups)
    renamed = random.permutation(40)[groups[order]] if grouped else None
    again = BayesSVC(leave_out=leave_out).fit(X[order], y[order], groups=renamed)
    np.testing.assert_allclose(model.predict_proba(X), again.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(model.left_out_proba_[order], again.left_out_proba_, atol=1e-9)


def test_class_weights_that_differ_by_rounding_are_equal():
    y = np.repeat([0, 1, 2], 10)
    X = random.normal(size=(30, 2)) + np.array([[0, 0], [1.5, 0], [0, 1.5]])[y]
    weight = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.1])
    order = np.concatenate([np.arange(20), 20 + np.argsort(weight, kind="stable")])
    fits = [
        BayesSVC(link="hinge", class_weight="balanced").fit(X[rows], y[rows], np.tile(weight, 3)[rows])
        for rows in (np.arange(30), order)
    ]
    np.testing.assert_allclose(fits[0].predict_proba(X), fits[1].predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("with_all", [True, False])
def test_a_fit_that_does_not_converge_says_so_be_it_that_without_a_fold(with_all, monkeypatch):
    minimum = Multinomial.minimum

    def unended(self, strength, theta, without=None, factor=None):
        found, ended = minimum(self, strength, theta, without, factor)
        return found, ended and (without is None) != with_all

    monkeypatch.setattr(Multinomial, "minimum", unended)
    with pytest.warns(ConvergenceWarning, match="joint link's fit did not converge"):
        fit_joint(Z, Y, WEIGHT, SHARE)


def test_a_link_that_is_where_it_should_be_has_converged(three_classes):
    X, y = three_classes
    far = 10.0 * np.eye(3)[np.searchsorted([3, 5, 7], y)] + 0.1 * np.column_stack([X, X[:, 0]])
    model = BayesSVC(link=IsotonicRegression(out_of_bounds="clip")).fit(far, y)
    assert model.left_out_.error == 0.0
    heavy = BayesSVC(C=1e-6).fit(X, y, np.full(80, 1e6))
    assert np.isfinite(heavy.predict_proba(X)).all()


def test_what_a_model_says_is_settled_when_it_is_fitted(three_classes):
    X, y = three_classes
    model = BayesSVC(link="hinge").fit(X, y)
    before = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(multiclass="normalise").predict_proba(X), before)


def test_the_winner_has_no_underflow():
    logs = winner_log_probabilities(np.array([[2000.0, 1500.0, -1.0]]))
    shares = np.log(np.array([1.0, expit(-1.0)]) / (1.0 + expit(-1.0)))
    np.testing.assert_allclose(logs, [[0.0, *(shares - 2000.0)]], rtol=1e-12)
