"""What CONTRIBUTING.md says of the folders is so."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if not (ROOT / "CONTRIBUTING.md").is_file():
    pytest.skip("the tests run without the rest of the repository", allow_module_level=True)
LINE = re.compile(r"^\| (\d+) \| `(\w+)/` \|", re.MULTILINE)
IMPORT = re.compile(r"^ *(?:from|import) bayes_svm\.(\w+)", re.MULTILINE)
FOLDERS = {path.parent.name for path in (ROOT / "bayes_svm").glob("*/__init__.py")}


def test_each_folder_imports_from_lower_floors_only():
    floors = {name: int(floor) for floor, name in LINE.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))}
    assert set(floors) == FOLDERS
    for name in FOLDERS:
        for path in (ROOT / "bayes_svm" / name).rglob("*.py"):
            for other in IMPORT.findall(path.read_text("utf-8")):
                assert other == name or floors[other] < floors[name], f"{path} imports from {other}"
