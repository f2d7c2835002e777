"""SVMs trained for a multivariate performance measure."""
