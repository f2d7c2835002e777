"""Every code block of the pages runs: `pytest docs`, in the root of the repository."""

from doctest import ELLIPSIS, NORMALIZE_WHITESPACE

import matplotlib as mpl
from sybil import Sybil
from sybil.parsers.myst import PythonCodeBlockParser

mpl.use("Agg")
collect_ignore_glob = ["*.py"]
pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=ELLIPSIS | NORMALIZE_WHITESPACE)],
    patterns=["*.md", "llms.txt"],
).pytest()
