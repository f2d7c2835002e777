"""Texts that are written in several ways, and which of them mean the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from .findings import Finding

__all__ = ["WHOLE", "as_whole", "by_spelling", "kept_apart", "letters_in", "merged_spellings", "plain"]

# A whole number, perhaps written as a float, with a point or a comma ("1,000" may be a thousand); "007" is a
# code.
WHOLE = re.compile(r"([+-]?(?:0|[1-9]\d{0,17}))(?:\.0*|,00?|,0000+)?")


def plain(text: str) -> str:
    """A text with single blanks, and none around it."""
    return " ".join(text.split())


def as_whole(text: str) -> str:
    """A whole number as it is written as a label: "1" for "1.0"; any other text as it is."""
    found = WHOLE.fullmatch(text.strip())
    return str(int(found[1])) if found else text


def letters_in(texts: Collection[str | None], *, labels: bool = False) -> set[str]:
    """Texts in lower case whose spellings may be alleles or genotypes: "A" and "a", or "AA", "Aa" and "aa".

    That is so of the same letter twice, of two letters if the second alone is large, as in "aB", and of a
    letter if it is in one of these, or if there is no other text. Of labels, which are few, the same letter
    twice is one of these if all are such, or if it is written with one of them large.
    """
    known = {text for text in texts if text is not None}
    folded = {text.casefold() for text in known}
    if len(folded) == 1 and len(min(folded)) == 1 and min(folded).isalpha():
        return folded
    pairs = {text for text in folded if len(text) == 2 and text.isalpha() and text[0] == text[1]}
    if labels and pairs != folded:
        pairs &= {one.casefold() for one in known if one[:1].isupper() and one[1:].islower()}
    pairs |= {one.casefold() for one in known if len(one) == 2 and one[0].islower() and one[1].isupper()}
    return pairs | {text for text in folded if len(text) == 1 and any(text in pair for pair in pairs)}


def kept_apart(texts: list[str | None], letters: set[str], name: str) -> list[Finding]:
    """A finding for each of the letters that is written in several ways."""
    ways: dict[str, list[str]] = {}
    for text in sorted({text for text in texts if text is not None and text.casefold() in letters}):
        ways.setdefault(text.casefold(), []).append(text)
    return [Finding(name, "case", 0, one, tuple(others)) for one, *others in ways.values() if others]


def by_spelling(values: Collection[str]) -> dict[str, str]:
    """Texts by themselves in lower case, where that tells which is meant."""
    letters, found = letters_in(values), dict[str, list[str]]()
    for value in values:
        found.setdefault(value.casefold(), []).append(value)
    return {key: one for key, (one, *others) in found.items() if not others and key not in letters}


def merged_spellings(
    texts: list[str | None],
    name: str,
    *,
    apart: Collection[str] = (),
    key: Callable[[str], str] = str.casefold,
) -> tuple[list[str | None], list[Finding]]:
    """Read texts that differ by case as the most frequent of their spellings.

    Parameters
    ----------
    texts : list of str or None
        The texts.
    name : str
        Name of the column.
    apart : collection of str
        Texts in lower case of which all spellings are left alone.
    key : callable
        What texts that are read as one have in common.

    Returns
    -------
    texts : list of str or None
        The texts with one spelling each.
    findings : list of Finding
        The spellings that were merged.
    """
    counts: dict[str, int] = {}
    for text in texts:
        if text is not None:
            counts[text] = counts.get(text, 0) + 1
    alike: dict[str, list[str]] = {}
    for text in sorted(counts):
        if key(text) not in apart:
            alike.setdefault(key(text), []).append(text)
    spelling: dict[str, str] = {}
    findings = []
    for spellings in alike.values():
        if len(spellings) > 1:
            best = max(spellings, key=lambda one: counts[one])
            spelling.update(dict.fromkeys(spellings, best))
            others = tuple(one for one in spellings if one != best)
            findings.append(Finding(name, "spelling", sum(counts[one] for one in others), best, others))
    return [None if text is None else spelling.get(text, text) for text in texts], findings
