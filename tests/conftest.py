"""Settings of all tests."""

import os

# The tests start Python in the root of the repository. What it imports must be the installed package: in the
# folder `bayes_svm` that is there the loops are not compiled.
os.environ["PYTHONSAFEPATH"] = "1"
