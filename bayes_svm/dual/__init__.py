"""The dual problem of an SVM, and its exact solution."""
