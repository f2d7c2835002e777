"""Texts of any length, made fit for one line."""

__all__ = ["at_most", "one_line", "printable", "shortened"]


def at_most(texts: list[str], limit: int = 5) -> list[str]:
    """The first texts, and how many more there are."""
    return texts if len(texts) <= limit else [*texts[:limit], f"and {len(texts) - limit} more such"]


def one_line(text: object) -> str:
    """Replace every run of white space, line ends too, by one space."""
    return " ".join(str(text).split())


def shortened(text: str, limit: int) -> str:
    """Cut a text to a number of characters, the last of which is an ellipsis if it was longer."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def printable(text: str) -> str:
    """Replace control characters other than ends of lines, which a terminal would obey."""
    return "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)
