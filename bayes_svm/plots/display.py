"""What all displays with one set of axes share; matplotlib is imported when something is drawn."""

from __future__ import annotations

from typing import Any

from bayes_svm.utils.scikit_learn import check_matplotlib_support

__all__ = ["Display"]


class Display:
    """A figure with one set of axes: those given, or new ones.

    Attributes
    ----------
    ax_ : matplotlib axes
        The axes that were drawn on.
    figure_ : matplotlib figure
        The figure of the axes.
    """

    ax_: Any
    figure_: Any

    def _axes_for(self, ax: Any) -> Any:
        """The axes given, or those of a new figure if None; both are stored."""
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        self.ax_ = plt.subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_
