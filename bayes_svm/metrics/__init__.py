"""Measures of decisions, from plain arrays."""
