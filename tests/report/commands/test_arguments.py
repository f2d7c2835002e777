"""What the values of options mean."""

import argparse

import pytest

from bayes_svm.report.commands.arguments import class_weight, costs, gamma, positive, share


def test_values():
    assert positive("2e3") == 2000.0
    assert share("0.5") == 0.5
    assert costs("fn=5,fp=1") == (1.0, 5.0)
    assert (gamma("scale"), gamma("0.5")) == ("scale", 0.5)
    assert class_weight("balanced") == "balanced"
    assert class_weight("yes=5,no=1") == {"yes": 5.0, "no": 1.0}
    assert class_weight("Doe, Ann=5,b=c=1") == {"Doe, Ann": 5.0, "b=c": 1.0}


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (positive, "nan", "is not a number above 0"),
        (share, "1", "is not between 0 and 1"),
        (costs, "fp=1", "is not of the form fp=NUMBER,fn=NUMBER"),
        (costs, "fp=1,fn=-1", "is not a number above 0"),
        (costs, "fp=1,fn=2,fp=3", "is not of the form fp=NUMBER,fn=NUMBER"),
        (gamma, "wide", "is not a number"),
        (class_weight, "yes", "is neither balanced nor of the form"),
        (class_weight, "yes=5,no", "is neither balanced nor of the form"),
        (class_weight, "yes=five", "'five' is not a number"),
        (class_weight, "yes=1,no=2,yes=50", "gives 'yes' two costs; give each class one"),
    ],
)
def test_what_is_refused(reader, text, message):
    with pytest.raises(argparse.ArgumentTypeError, match=message):
        reader(text)
