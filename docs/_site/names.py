"""The list of public names in docs/llms.txt, from the package itself: `python docs/_site/names.py` writes it.

A test compares the file with the package, so that it cannot go stale.
"""

import inspect
import re
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

FILE = Path(__file__).parents[1] / "llms.txt"
BEGIN = "## Every public name\n"
MODULES = ("bayes_svm", "bayes_svm.decision", "bayes_svm.plots", "bayes_svm.deployment")
ROLE = re.compile(r":\w+:`~?(?:bayes_svm\.)?(.+?)`")


def first_sentence(member):
    """The summary of a docstring on one line, without markup."""
    summary = " ".join(inspect.getdoc(member).split("\n\n")[0].split())
    return ROLE.sub(r"\1", summary).replace("``", "`")


def signature(member):
    """The parameters and their defaults, without types and ``self``."""
    found = inspect.signature(member)
    bare = [one.replace(annotation=one.empty) for name, one in found.parameters.items() if name != "self"]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


def methods(kind):
    """Methods and properties that the package itself gives a class."""
    for name, member in inspect.getmembers(kind):
        if name.startswith("_") or name in ("get_params", "get_metadata_routing"):
            continue
        if callable(member) and (getattr(member, "__module__", None) or "").startswith("bayes_svm"):
            yield f".{name}{signature(member)}"


def attributes(kind):
    """What an object that the package returns can be asked for."""
    properties = [name for name, one in inspect.getmembers(kind) if isinstance(one, property)]
    return [one.name for one in fields(kind)] + [name for name in properties if not name.startswith("_")]


def line(name, member):
    """One name, its signature and its summary, and what a class offers."""
    if not callable(member):
        return f"- `{name}`: a list of names for `skops.io.load(file, trusted=...)`."
    if not isinstance(member, type):
        return f"- `{name}{signature(member)}`: {first_sentence(member)}"
    made_here = is_dataclass(member) and not any("__call__" in vars(one) for one in member.__mro__)
    text = f"- `{name}{'' if made_here else signature(member)}`: {first_sentence(member)}"
    if made_here:
        text += f" Attributes: {', '.join(f'`{one}`' for one in attributes(member))}."
    offered = ", ".join(f"`{one}`" for one in methods(member))
    return f"{text} Methods: {offered}." if offered else text


def listing():
    """All public names, module by module; a name is listed where it is imported from first."""
    seen, found = set(), []
    for module in MODULES:
        names = {name: getattr(import_module(module), name) for name in import_module(module).__all__}
        found.append(f"\nFrom `{module}`:\n")
        found += [line(name, member) for name, member in names.items() if name not in seen]
        seen |= names.keys()
    return "\n".join(found) + "\n"


def written(text):
    """The text of the file with the list of today."""
    return text.partition(BEGIN)[0] + BEGIN + listing()


if __name__ == "__main__":
    FILE.write_text(written(FILE.read_text(encoding="utf-8")), encoding="utf-8")
