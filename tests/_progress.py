"""A terminal to write to, and the lines that would be shown after each step."""

import io

from bayes_svm.utils import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def lines_of(monkeypatch):
    """The list to which every change of the progress is then written, where it is shown at all."""
    found = []

    def noted(method):
        def noting(step, *arguments):
            result = method(step, *arguments)
            if step._steps is not None:
                found.append(progress._line(list(step._steps), 7.0))
            return result

        return noting

    for name in ("__enter__", "advance"):
        monkeypatch.setattr(progress.step, name, noted(getattr(progress.step, name)))
    return found
