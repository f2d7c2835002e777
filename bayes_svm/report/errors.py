"""Mistakes of the user."""

__all__ = ["InputError"]


class InputError(ValueError):
    """A mistake of the user; the message is one line that says what to do."""
