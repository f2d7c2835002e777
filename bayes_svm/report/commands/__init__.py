"""The commands of `bayes-svm`, one file each."""
