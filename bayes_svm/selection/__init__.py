"""Choosing among models, and comparing estimates of their error."""
