"""The manifest of the pages in docs/results, and what README quotes from them."""

import argparse
import os
import shutil
import sys
from dataclasses import replace

import pytest

from _repository import path_of

# At the end: the package itself is the installed one.
sys.path.append(str(path_of("validation").parent))

from validation import _common, pages

PAGE = """# A page

    python -m validation.example --data DIR --jobs 2

* bayes_svm 0.1.0 at commit {commit}{changes}, Python 3.11

| time | 1,234.5 | 0.0649 | 9.4e-11 |

Whole run: 2.5 minutes.
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one file that a page measures, and its commit."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    (tmp_path / "docs/results").mkdir(parents=True)
    (tmp_path / "measured.py").write_text("a = 1\n")
    (tmp_path / "other.py").write_text("a = 1\n")
    git("init", "--quiet")
    return tmp_path, committed()


def git(*arguments):
    done = pages.git("-c", "user.name=tests", "-c", "user.email=tests@localhost", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def committed():
    git("add", "--all")
    git("commit", "--quiet", "--message", "a change")
    return git("rev-parse", "--short", "HEAD")


def page_of(root, commit, changes="", command="validation.example --jobs 2"):
    text = PAGE.format(commit=commit, changes=changes)
    (root / "docs/results/example.md").write_text(text, encoding="utf-8")
    return pages.Page("example.md", command, ("measured.py",))


@pytest.mark.parametrize("measures", [("measured.py",), ("*.py", ":(exclude)other.py")])
def test_a_page_is_up_to_date_until_what_it_measures_changes(repository, measures):
    root, commit = repository
    page = replace(page_of(root, commit), measures=measures)
    assert (page.commit, page.minutes, page.outdated()) == (commit, 2.5, "")
    (root / "other.py").write_text("a = 2\n")
    committed()
    assert page.outdated() == ""
    (root / "measured.py").write_text("a = 2\n")
    committed()
    assert page.outdated() == f"measured.py changed since {commit}"


@pytest.mark.parametrize(
    ("after", "is_old"),
    [
        ('"""Another text."""\n\n\ndef f(x):\n    """And here."""\n    return x  # why\n', False),
        ('"""A text."""\n\n\ndef f(x):\n    return x\n', False),
        ('"""A text."""\n\n\ndef f(x):\n    """What."""\n    return x + 0\n', True),
        ('"""A text."""\n\n\ndef f(x):\n    """What."""\n    return x\n\n\nf("""A text.""")\n', True),
    ],
)
def test_comments_and_docstrings_do_not_make_a_page_old(repository, after, is_old):
    root, _ = repository
    (root / "measured.py").write_text('"""A text."""\n\n\ndef f(x):\n    """What."""\n    return x\n')
    page = page_of(root, committed())
    (root / "measured.py").write_text(after)
    committed()
    assert bool(page.outdated()) == is_old
    assert replace(page, wording=True).outdated()


@pytest.mark.parametrize(
    ("after", "is_old"),
    [("raise ValueError(f'{__name__}: say what to do')\n", False), ("raise TypeError('no')\n", True)],
)
def test_what_an_error_says_does_not_make_a_page_old(repository, after, is_old):
    root, _ = repository
    (root / "measured.py").write_text("raise ValueError('no')\n")
    page = page_of(root, committed())
    (root / "measured.py").write_text(after)
    committed()
    assert bool(page.outdated()) == is_old


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("compiled.py", "import cython  # boundscheck\n", "import cython\n"),
        ("notes.toml", "a = 1  # why\n", "a = 1\n"),
        ("new.py", None, "# nothing\n"),
        ("gone.py", "# nothing\n", None),
    ],
)
def test_every_other_change_makes_a_page_old(repository, name, before, after):
    root, _ = repository
    file = root / name
    if before:
        file.write_text(before)
    (root / "other.py").write_text("a = 3\n")
    page = replace(page_of(root, committed()), measures=(name,))
    file.write_text(after) if after else file.unlink()
    committed()
    assert page.outdated() == f"{name} changed since {page.commit}"


def test_a_page_that_cannot_be_trusted_is_not_up_to_date(repository):
    root, commit = repository
    assert pages.Page("missing.md", "", ()).outdated() == "not printed"
    assert (
        page_of(root, commit, ", with uncommitted changes").outdated() == "printed with uncommitted changes"
    )
    assert page_of(root, "0123abc").outdated() == "commit 0123abc is not known here"
    assert "not printed by python -m" in page_of(root, commit, command="validation.example").outdated()


def test_a_release_prints_what_another_commit_has_printed(repository, capsys):
    root, commit = repository
    page = page_of(root, commit)
    (root / "other.py").write_text("a = 2\n")
    committed()
    assert pages.print_pages([page], "DATA") == []
    assert capsys.readouterr().err == ""
    [failed] = pages.print_pages([page], "DATA", release=True)
    assert failed.startswith("example.md")
    assert f"printed by {commit}" in capsys.readouterr().err


def test_a_quoted_number_must_be_on_its_page(repository):
    root, commit = repository
    page = page_of(root, commit)
    link = "[page](docs/results/example.md)"
    lines = [
        f"| right | 1,234.5 and 0.065, up to 9.4e-11 | {link} |",
        f"| wrong | 0.066 and `0.5` | {link} |",
        "| not from a page | 0.77 | - |",
        f"0.77 in a sentence, {link}",
        "",
        "* **Of a list** 0.065 and 77 rows,",
        f"  and 0.66: {link}",
        "* 0.77 without a page",
    ]
    (root / "README.md").write_text("\n".join(lines), encoding="utf-8")
    assert pages.unsupported("README.md", [page]) == [
        "README.md: 0.066, of 'wrong'",
        "README.md: 0.66, of 'Of a list** 0.065 and 77 rows,'",
    ]


@pytest.mark.parametrize(
    ("number", "printed", "held"),
    [
        ("0.3", "0.25", True),
        ("0.3", "0.349", True),
        ("0.3", "0.351", False),
        ("3.3e-4", "3.3e-04", True),
        ("3.3e-4", "0.000334", True),
        ("3.3e-4", "3.4e-04", False),
        ("12", "12.4", True),
        ("12", "13", False),
    ],
)
def test_a_number_may_be_rounded(number, printed, held):
    assert pages.holds(number, {printed}) == held


def test_the_manifest_names_every_page_and_what_exists():
    found = pages.read_manifest()
    assert pages.unmatched(found) == []
    for page in found:
        assert page.measures
        paths = [path.removeprefix(":(exclude)") for path in page.measures]
        assert all((pages.ROOT / path).exists() for path in paths), page.name
        assert page.command


def test_what_a_page_names_is_not_excluded():
    found = {page.name: page.measures for page in pages.read_manifest()}
    only_of_signs = "bayes_svm/leave_one_out/certified.py"
    assert f":(exclude){only_of_signs}" in found["probabilities.md"]
    assert only_of_signs not in found["probabilities.md"]
    assert only_of_signs in found["certified.md"]
    assert f":(exclude){only_of_signs}" not in found["certified.md"]


@pytest.mark.parametrize("name", pages.QUOTING)
def test_numbers_quoted_are_on_their_pages(name):
    assert pages.unsupported(name, pages.read_manifest()) == []


def test_a_failed_page_is_named_and_the_others_are_printed(repository, monkeypatch, capsys):
    root, commit = repository
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    (root / "validation").mkdir()
    (root / "validation/__init__.py").write_text("")
    (root / "validation/broken.py").write_text("raise SystemExit(3)\n")
    (root / "validation/fine.py").write_text(
        "import sys\nopen(sys.argv[sys.argv.index('--output') + 1], 'w').write('printed')\n"
    )
    broken, fine, lacking = (
        pages.Page("broken.md", "validation.broken", ()),
        pages.Page("fine.md", "validation.fine", ()),
        pages.Page("lacking.md", "validation.fine", (), ("no-such-distribution",)),
    )
    failed = pages.print_pages([broken, fine, lacking, page_of(root, commit)], "DATA")
    assert failed == [
        "lacking.md is not printed: install no-such-distribution",
        "broken.md: validation.broken ended with status 3",
    ]
    assert (root / "docs/results/fine.md").read_text() == "printed"
    assert "example.md" not in capsys.readouterr().err


CORES_OF_A_PAGE = """import os
import sys
from pathlib import Path

there = sorted(page.name for page in Path("docs/results").iterdir())
cores = sorted(os.sched_getaffinity(0))
Path(sys.argv[sys.argv.index("--output") + 1]).write_text(f"{cores} {there}")
"""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="programs cannot be kept to a core here")
def test_pages_are_printed_a_core_each_and_those_of_times_alone_at_the_end(repository, monkeypatch):
    root, _ = repository
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    (root / "validation").mkdir()
    (root / "validation/__init__.py").write_text("")
    (root / "validation/cores.py").write_text(CORES_OF_A_PAGE)
    timed = pages.Page("timed.md", "validation.cores", (), alone=True)
    others = [pages.Page(f"{name}.md", "validation.cores", ()) for name in "abc"]
    assert pages.print_pages([timed, *others], "DATA") == []
    texts = {page.name: page.text for page in (timed, *others)}
    assert texts["timed.md"] == f"{pages.CORES} ['a.md', 'b.md', 'c.md']"
    assert {texts[page.name].partition(" ")[0] for page in others} <= {f"[{core}]" for core in pages.CORES}
    assert sorted(os.sched_getaffinity(0)) == pages.CORES


def test_the_hours_of_all_pages_are_those_of_the_cores(monkeypatch):
    minutes = {"a": 60.0, "b": 30.0, "c": 30.0, "timed": 45.0}
    monkeypatch.setattr(pages.Page, "minutes", property(lambda page: minutes[page.name]))
    monkeypatch.setattr(pages, "CORES", [0, 1])
    beside = [pages.Page(name, "", ()) for name in "abc"]
    timed = pages.Page("timed", "", (), alone=True)
    assert pages.hours([timed, *beside]) == 1.75
    assert pages.hours([timed, *beside[:2]]) == 1.75  # the longest page is not divided
    assert pages.hours([timed]) == 0.75


def test_a_commit_is_named_in_full_and_one_that_is_not_there_is_refused(repository, monkeypatch):
    root, commit = repository
    monkeypatch.setattr(_common, "ROOT", root)
    assert len(_common.full_name("HEAD")) == 40
    assert _common.full_name("HEAD").startswith(commit)
    with pytest.raises(argparse.ArgumentTypeError, match="has no commit 'nosuch'"):
        _common.full_name("nosuch")
