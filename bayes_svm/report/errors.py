"""Mistakes of whoever gives the command."""

__all__ = ["InputError"]


class InputError(ValueError):
    """A mistake in what the user gave; its message is one line that says what to do."""
