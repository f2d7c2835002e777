"""Which members the page of a class shows: its properties and its own methods, not those of scikit-learn.

Attributes without code are described in the docstring of the class.
"""


def _skipped(app, what, name, member, skip, options):
    """True for what the page leaves out, None for what it shows."""
    if name.startswith("_") or isinstance(member, property):
        return None
    own = callable(member) and (getattr(member, "__module__", None) or "").startswith("bayes_svm")
    return None if own else True


def setup(app):
    """Connect to the event that autosummary asks with."""
    app.connect("autodoc-skip-member", _skipped)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
