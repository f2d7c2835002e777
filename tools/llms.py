"""Every public name in ``docs/llms.txt``: ``python tools/llms.py`` writes them there again.

Names, signatures and words are those of the package, so that a new name needs no more than this command.
"""

import argparse
import inspect
import re
import sys
from pathlib import Path

from sklearn.base import BaseEstimator

import bayes_svm
import bayes_svm.decision
import bayes_svm.plots
from bayes_svm.report import cli

FILE = Path(__file__).parents[1] / "docs/llms.txt"
FIRST, LAST = "<!-- tools/llms.py writes from here -->", "<!-- to here -->"


def main():
    """Put the names of today between the two marks of the file."""
    before, _, after = parts(FILE.read_text(encoding="utf-8"))
    FILE.write_text(f"{before}{FIRST}{names()}{LAST}{after}", encoding="utf-8")
    return 0


def parts(text):
    """What is before, between and after the two marks."""
    before, _, rest = text.partition(FIRST)
    between, _, after = rest.partition(LAST)
    return before, between, after


def names():
    """A section for each kind of name."""
    public = {name: getattr(bayes_svm, name) for name in bayes_svm.__all__}
    classes = {name: value for name, value in public.items() if inspect.isclass(value)}
    estimators = {name: value for name, value in classes.items() if hasattr(value, "fit")}
    kernels = {name: value for name, value in classes.items() if "__call__" in vars(value)}
    functions = {name: value for name, value in public.items() if name not in classes}
    results = {name: classes[name] for name in classes if name not in {**estimators, **kernels}}
    more = {n: getattr(bayes_svm.decision, n) for n in bayes_svm.decision.__all__ if n not in public}
    displays = {name: getattr(bayes_svm.plots, name) for name in bayes_svm.plots.__all__}
    sections = {
        "Estimators: `from bayes_svm import ...`": estimators,
        "Functions: `from bayes_svm import ...`": functions,
        "What the functions return: `from bayes_svm import ...`": results,
        "Kernels, for `kernel=` of an estimator: `from bayes_svm import ...`": kernels,
        "Curves and scorers: `from bayes_svm.decision import ...`": more,
        "Displays, which need matplotlib: `from bayes_svm.plots import ...`": displays,
    }
    lines = [line for title, members in sections.items() for line in section(title, members)]
    return "\n".join(["", *lines, *commands(), ""])


def section(title, members):
    """A heading, and an entry for each name."""
    yield from ("", f"## {title}", "")
    for name, value in members.items():
        yield f"- `{name}{signature(value)}`: {summary(value)}"
        if inspect.isclass(value):
            yield from (f"  - `{line}" for line in class_members(value))


def class_members(kind):
    """Methods and properties that are ours, and the attributes that the docstring tells."""
    told = attributes(kind)
    for name, value in inspect.getmembers(kind):
        ours = (getattr(value, "__module__", None) or "").startswith("bayes_svm")
        if name.startswith("_") or hasattr(BaseEstimator, name):
            continue
        if isinstance(value, property):
            told.pop(name, None)
            yield f".{name}`: {summary(value)}"
        elif callable(value) and ours:
            yield f".{name}{signature(value)}`: {summary(value)}"
    for name, kind_of_value in told.items():
        yield f".{name}`: {kind_of_value}"


def attributes(kind):
    """Type and words of the entries in the section "Attributes" of a docstring."""
    found = re.search(r"^Attributes\n-+\n(.*?)(?=\n\n\S+\n-+\n|\Z)", inspect.getdoc(kind), re.S | re.M)
    entries = re.findall(r"^(\w[\w, ]*) : (.*)\n((?: +.*\n?)*)", found[1] if found else "", re.M)
    return {
        name: sentence(f"{kind_of_value}. {words}")
        for names, kind_of_value, words in entries
        for name in names.split(", ")
        if name not in ("n_features_in_", "feature_names_in_")
    }


def signature(value):
    """The arguments of a call with their defaults, without types."""
    called = inspect.signature(value)
    given = [p.replace(annotation=p.empty) for p in called.parameters.values() if p.name != "self"]
    return str(called.replace(parameters=given, return_annotation=called.empty))


def summary(value):
    """First paragraph of a docstring."""
    return sentence(inspect.getdoc(value).split("\n\n")[0])


def sentence(text):
    """Words on one line, without the marks of Sphinx."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", " ".join(text.split()))
    return text.replace("``", "`")


def commands():
    """The commands of ``bayes-svm`` and their options."""
    (choice,) = (a for a in cli._parser()._actions if isinstance(a, argparse._SubParsersAction))
    yield from ("", "## Command line: `bayes-svm COMMAND`", "")
    for name, command in choice.choices.items():
        given = [" ".join(argument(action)) for action in command._actions if not action.option_strings]
        yield f"- `{' '.join(['bayes-svm', name, *given])} [OPTIONS]`: {command.description}"
        for action in command._actions:
            shown = " ".join(argument(action))
            if shown != "--help":
                yield f"  - `{shown}`: {action.help % vars(action)}"


def argument(action):
    """How an argument is written: its option, if it has one, and its value."""
    yield from action.option_strings[-1:]
    if action.choices:
        yield "|".join(action.choices)
    elif action.metavar or (action.nargs != 0 and action.option_strings):
        value = action.metavar or action.dest.upper()
        yield f"[{value}]" if action.nargs == "?" else value


if __name__ == "__main__":
    sys.exit(main())
