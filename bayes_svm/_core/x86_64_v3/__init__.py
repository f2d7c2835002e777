"""The compiled loops once more, for newer CPUs: ``bayes_svm._core`` chooses."""
