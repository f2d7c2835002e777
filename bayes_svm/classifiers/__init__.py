"""Estimators whose probabilities come from one fit."""
