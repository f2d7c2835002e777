"""What the commands write: files, whole or not at all, and text for the terminal."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import TextIO

from bayes_svm.report.errors import InputError

__all__ = ["check_output", "installed_version", "say", "write_file"]


def check_output(
    output: Path, source: str | None, option: str = "--output", what: str = "the data itself"
) -> None:
    """Raise InputError if a file cannot be written, or is the input itself.

    Parameters
    ----------
    output : Path
        The file to write.
    source : str or None
        The file that is read, if any.
    option : str
        The option that names the output.
    what : str
        What the file that is read is, for the message.
    """
    folder = output.parent
    if str(output) == "-":
        raise InputError(f"{option} - is no file; give {option} a file name")
    try:
        if "\0" in str(output):
            raise ValueError("its name contains a null character")
        if not folder.is_dir():
            raise InputError(f"no such directory: {str(folder)!r}; create it or choose another {option}")
        if output.is_dir():
            raise InputError(f"{str(output)!r} is a directory; give {option} a file name")
        writable = os.access(output if output.exists() else folder, os.W_OK)
    except InputError:
        raise
    except (OSError, ValueError) as err:
        # For instance, the name may be too long, or contain a null character.
        raise _not_written(output, err, option) from None
    if not writable:
        raise _not_written(output, PermissionError(errno.EACCES, "permission denied"), option)
    if source is not None and _same_file(output, source):
        raise InputError(f"{option} {str(output)!r} is {what}; choose another name")


def write_file(output: Path, content: bytes, option: str = "--output") -> None:
    """Write a file so that it is whole or is not there.

    Parameters
    ----------
    output : Path
        The file.
    content : bytes
        What to write.
    option : str
        The option that names the output.

    Raises
    ------
    InputError
        If it cannot be written. What was there before is then still there.
    """
    try:
        if output.exists() and not output.is_file():
            # A device or a pipe would be replaced by a file.
            output.write_bytes(content)
            return
        unfinished = output.with_name(output.name + ".unfinished")
        try:
            unfinished.write_bytes(content)
            os.replace(unfinished, output)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    except OSError as err:
        raise _not_written(output, err, option) from None


def say(text: str, *, aside: bool = False) -> None:
    """Write a text with "?" for characters that the stream cannot encode; a closed pipe is no error.

    Parameters
    ----------
    text : str
        The text.
    aside : bool
        Whether it goes to standard error, where it may be lost; by default it is what was asked for, and
        goes to standard output.

    Raises
    ------
    InputError
        If standard output cannot be written to, for instance because a disk is full, or it is closed.
    """
    stream: TextIO | None = sys.stderr if aside else sys.stdout
    if stream is None or getattr(stream, "closed", False):
        if aside:
            return
        raise InputError("cannot write to standard output: it is closed")
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        _give_up(stream)
    except OSError as err:
        _give_up(stream)
        if not aside:
            raise InputError(f"cannot write to standard output: {err.strerror}") from None


def _give_up(stream: TextIO) -> None:
    """Let the stream end nowhere: the interpreter flushes it once more at exit, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def installed_version() -> str:
    """Version of the package, as it is installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("bayes-svm")
    except PackageNotFoundError:
        return "(not installed)"


def _not_written(output: Path, err: OSError | ValueError, option: str) -> InputError:
    reason = getattr(err, "strerror", None) or err
    return InputError(f"cannot write {str(output)!r}: {reason}; choose another {option}")


def _same_file(one: str | Path, other: str | Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        # One of them does not exist.
        return False
