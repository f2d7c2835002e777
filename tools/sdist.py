"""What a source distribution has: what is needed to build and to test the package. Meson runs this."""

import os
import shutil
from pathlib import Path

KEPT = {
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "bayes_svm",
    "meson.build",
    "pyproject.toml",
    "tests",
    "tools",
}

for path in Path(os.environ["MESON_DIST_ROOT"]).iterdir():
    if path.name not in KEPT:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
