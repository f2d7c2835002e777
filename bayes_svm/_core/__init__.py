"""Compiled loops: they take arrays and numbers, and know nothing of estimators."""
