"""Kernel functions, and kernel matrices whose rows are computed on demand."""
