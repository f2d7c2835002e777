from dataclasses import replace

import numpy as np
import pytest

from bayes_svm.report.record import ValueWithInterval
from bayes_svm.report.render import to_html
from bayes_svm.report.surprises import Cell, Surprise, Typical
from bayes_svm.report.terminal import to_text
from bayes_svm.report.words import informative, told, words_of


@pytest.mark.parametrize(
    ("error", "high", "ending"),
    [
        (0.1, 0.2, "would be wrong on 50.0\u00a0%."),
        (0.4, 0.45, "would be wrong on 50.0\u00a0%."),
        # Noise has such an error too often.
        (0.4, 0.48, "which the model does not clearly beat."),
        (0.4, 0.6, "which the model does not clearly beat."),
        (0.5, 0.6, "the model is no better than that."),
    ],
)
def test_the_error_stands_beside_that_of_the_most_frequent_class(report, error, high, ending):
    made = report()
    made = replace(made, performance=replace(made.performance, error=ValueWithInterval(error, 0.0, high)))
    assert words_of(made).against_base.endswith(ending)


def test_the_most_frequent_class_is_that_of_the_weights(report):
    made = report(("few", "many"), n=40, more={"weights": np.tile([3.0, 0.5], 20)})
    always = f"Always answering “few” would be wrong on {100 * 0.5 / 3.5:.1f}\u00a0%"
    assert words_of(made).against_base.startswith(always)


def test_costs_that_decide_are_told_wherever_an_error_is(report):
    plain, made = report(("a", "b")), report(("a", "b"), class_weight={"a": 1.0, "b": 5.0})
    told = "The class of largest cost times probability is predicted, with the costs a 1, b 5."
    assert (words_of(plain).costs, plain.model.costs) == ("", {})
    assert words_of(made).costs == told
    assert made.model.costs == {"a": 1.0, "b": 5.0}
    assert told in to_text(made)
    assert to_html(made).count(told) == 2


def test_the_verdict_follows_from_the_statistic(report):
    made = report()

    def words(**changes):
        return words_of(replace(made, trust=replace(made.trust, **changes)))

    given = {
        "n_bins": 7,
        "predicted": 0.8,
        "observed": 0.6,
        "low": 0.51,
        "high": 0.69,
        "n": 1234,
        "visible": 0.09,
    }
    good, off = words(verdict="good", **given), words(verdict="off", **given)
    assert good.verdict == f"Yes, as far as {made.source.n_rows} rows can show."
    assert "A gap of 9 points would have been seen" in good.evidence
    assert off.verdict.startswith("No")
    for text in ("1,234 rows", "80.0\u00a0%", "60.0\u00a0%", "all 7 bins together: 51 to 69 %"):
        assert text in off.evidence
    assert words(verdict="unclear", **given).verdict.startswith("Nothing speaks against it")
    assert words(verdict="slightly off", **given).verdict.startswith("Almost")
    assert "1 row was given" in words(verdict="off", **{**given, "n": 1}).evidence


def test_right_probabilities_that_say_nothing_are_no_yes(report):
    made = report()
    made = replace(made, performance=replace(made.performance, error=ValueWithInterval(0.49, 0.4, 0.6)))

    def verdict(log_loss, verdict, gain_error=0.02):
        scores = replace(made.scores, log_loss=log_loss, base_log_loss=0.69, gain_error=gain_error)
        return words_of(replace(made, scores=scores, trust=replace(made.trust, verdict=verdict))).verdict

    nothing = "They say no more than how common each class is."
    for one in ("good", "unclear", "slightly off"):
        assert verdict(0.7, one) == nothing
        # A gain that chance explains is none.
        assert verdict(0.67, one) == "They do not clearly say more than how common each class is."
        assert verdict(0.6, one) != nothing
    assert verdict(0.7, "off") == "No: they are off, and say no more than how common each class is."
    assert verdict(0.6, "off") == "No: use them to rank rows, not as probabilities."


def test_a_model_that_ranks_well_may_have_probabilities_that_are_badly_wrong(report):
    made = report()
    made = replace(made, performance=replace(made.performance, error=ValueWithInterval(0.1, 0.05, 0.2)))
    made = replace(made, scores=replace(made.scores, log_loss=0.72, base_log_loss=0.67, gain_error=0.05))
    assert informative(made)
    assert words_of(made).verdict.startswith("No: it tells the classes apart, but some of its confident")
    made = replace(
        made, scores=replace(made.scores, log_loss=0.62), trust=replace(made.trust, verdict="unclear")
    )
    assert words_of(made).verdict.startswith("It tells the classes apart, but 40 rows are too few to judge")


def test_of_noise_nothing_is_known(report):
    made = report()
    made = replace(made, performance=replace(made.performance, error=ValueWithInterval(0.45, 0.4, 0.5)))
    made = replace(made, scores=replace(made.scores, log_loss=0.685, base_log_loss=0.69, gain_error=0.01))
    assert not informative(made)
    assert "columns that matter: not told, as the model does not clearly know more" in to_text(made)
    assert "is not clearly better than the shares of the classes" in to_html(made, "0")


def test_why_a_value_surprises():
    surprise = Surprise(1, None, "sick", 0.1, (0.0, 0.2), "well", 0.9, "well", (), 0, 20)
    size = Cell("size", 3.0, Typical(low=5.0, high=8.0), Typical(low=1.0, high=4.0), 0.0, 0.9, True)
    assert told(size, surprise) == "Usual for “sick” is 5 to 8, for “well” 1 to 4."
    colour = Cell(
        "colour", "red", Typical(most="blue", share=1.0), Typical(most="red", share=0.5), 0.02, 0.5, True
    )
    assert told(colour, surprise) == (
        "So are 2.0\u00a0% of the other “sick” rows and 50.0\u00a0% of the “well” rows."
    )
    gone = Cell("size", None, Typical(), Typical(low=1.0, high=2.0), 0.0, 0.25, True)
    assert told(gone, surprise).startswith("So are 0.0\u00a0%")


def test_groups_are_counted_in_the_verdict(report):
    made = report(("a", "b"), more={"groups": np.arange(40) // 4})
    made = replace(made, trust=replace(made.trust, verdict="good"))
    made = replace(made, scores=replace(made.scores, log_loss=0.1, base_log_loss=0.69))
    assert words_of(made).verdict == "Yes, as far as 40 rows of 10 groups can show."


def test_dates_are_told_as_dates():
    surprise = Surprise(1, None, "sick", 0.1, (0.0, 0.2), "well", 0.9, "well", (), 0, 20)
    seen = Cell("seen", 18690.0, Typical(18680.0, 18681.0), Typical(18690.0, 18691.0), 0.0, 0.9, True, True)
    assert told(seen, surprise) == (
        "Usual for “sick” is 2021-02-22 to 2021-02-23, for “well” 2021-03-04 to 2021-03-05."
    )


def test_cases_are_counted_where_rows_stand_for_several(report):
    made = report(("few", "many"), n=40, more={"weights": np.full(40, 50.0), "counted": True})
    assert made.source.n_cases == 2000
    made = replace(made, trust=replace(made.trust, verdict="good"))
    assert words_of(made).verdict == "Yes, as far as 2,000 cases can show."
    assert "2,000 cases, each column shuffled" in to_html(made)


def test_a_gap_below_a_point_is_told_as_one(report):
    made = report(("few", "many"), n=40)
    fine = replace(made.trust, verdict="good", visible=0.003, low=0.0, high=0.003)
    said = words_of(replace(made, trust=fine)).evidence
    assert "0.0 to 0.3 %" in said
    assert "A gap of 1 point would have been seen there." in said
