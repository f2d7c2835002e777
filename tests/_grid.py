"""A grid that several tests search."""

GRID = {"gamma": [0.1, 1.0], "C": [10.0, 0.1, 1.0]}
