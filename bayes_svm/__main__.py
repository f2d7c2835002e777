"""``python -m bayes_svm`` is the command ``bayes-svm``."""

import sys

from bayes_svm.report import main

if __name__ == "__main__":
    sys.exit(main())
