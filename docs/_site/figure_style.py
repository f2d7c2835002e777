"""How the figures of the site look: colours that the colour-blind can tell apart, few lines."""

from cycler import cycler
from matplotlib import rcParams

# Okabe and Ito (2008): blue, vermilion, green, purple, orange, sky blue, black.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]


def use(gallery_conf, name):
    """Set the style before each example; sphinx-gallery calls this."""
    rcParams.update(
        {
            "axes.prop_cycle": cycler(color=COLORS),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "figure.constrained_layout.use": True,
            "figure.figsize": (6.4, 4.0),
            "font.size": 10.5,
            "legend.frameon": False,
            "savefig.dpi": 110,
        }
    )
