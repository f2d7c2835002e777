"""How good decisions are, computed from plain arrays."""
