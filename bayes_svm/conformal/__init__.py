"""Sets of labels with a guarantee, from all labelled points."""
