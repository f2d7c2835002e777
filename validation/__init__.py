"""Scripts that measure what the package claims; run with ``python -m validation.NAME``."""
