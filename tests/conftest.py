"""Settings of all tests."""

import os
import signal

# What a shell started in the background ignores Ctrl-C, and so would what the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The tests start Python in the root of the repository. What it imports must be the installed package: in the
# folder `bayes_svm` that is there the loops are not compiled.
os.environ["PYTHONSAFEPATH"] = "1"

# With `pytest -n 2` every process has a core to itself: threads for BLAS would wait for those of the other.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
