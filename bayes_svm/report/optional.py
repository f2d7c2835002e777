"""Optional dependencies of the command."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import InputError
from .text import one_line

__all__ = ["needs"]


def needs(module: str, extra: str = "bayes-svm[report]") -> Any:
    """Import an optional dependency of the command.

    Parameters
    ----------
    module : str
        Name of the module.
    extra : str
        What pip installs it with.

    Returns
    -------
    module
        The module, loaded.

    Raises
    ------
    InputError
        If it is not installed, or does not go with what is installed; the message says what to do.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as err:
        if err.name != module:
            raise
        raise InputError(f"this command needs {module}: run pip install '{extra}'") from None
    except ImportError as err:
        raise InputError(f"this command needs {module}, which cannot be loaded: {one_line(err)}") from None
