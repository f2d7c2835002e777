"""Screenshots of the report, by the command, on the tables that tests/tables holds and on breast cancer."""

from __future__ import annotations

import argparse
import io
import shlex
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from bayes_svm.report.cli import main as command
from tests._browser import Browser, started
from validation._common import Page, progress

ABOUT = """\
What `bayes-svm report` shows, in screenshots that this script takes with Chromium: first the whole of one
report, part by part, then the first screen for tables as they come. A table that cannot be used ends in one
line that says what to do."""

TABLES = Path("tests/tables")
WIDTH, SCREEN, PHONE = 1200, 900, 390
# Screenshots have few colours, and with so many of them they are small.
COLOURS = 256
# A part of the page is shown up to this height.
TALLEST = 1100


@dataclass(frozen=True)
class View:
    """A screenshot: of the part with this selector, or of the first screen."""

    name: str
    words: str
    selector: str = ""
    width: int = WIDTH
    dark: bool = False
    before: str = ""


VIEWS = (
    View("first", "The first screen: what was asked, one error, one picture, whether to trust it, what not "
         "knowing buys."),
    View("phone", "The same on a phone.", width=PHONE),
    View("dark", "And at night.", dark=True),
    View("errors", "Where it is right, and where it is wrong.", "#errors"),
    View("reliability", "Whether the probabilities mean what they say.", "#reliability"),
    View("threshold", "The threshold, moved to 30 %; costs can be given.", "#thresholds", before=(
        "const one = document.getElementById('threshold'); one.value = 30;"
        "one.dispatchEvent(new Event('input'))")),
    View("answers", "What saying “I do not know” gains.", "#answers"),
    View("rows", "Rows to look at, and why they surprise.", "#rows", before=(
        "document.querySelectorAll('.case:first-of-type details').forEach((one) => { one.open = true; })")),
    View("columns", "Which columns matter.", "#columns"),
    View("card", "The model card.", "#card"),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A table in tests/tables, and the commands that are given for it, one after the other."""

    file: str
    words: str
    commands: tuple[tuple[str, ...], ...]


CASES = (
    Case("clinic.csv", "Semicolons, decimal commas, umlauts in Windows-1252, dates, a column of names.",
         (("--target", "Befund"),)),
    Case("loans.csv", "Classes that differ by case and blanks, thousands with commas, a copy of the target.",
         (("--target", "decision"),)),
    Case("sorted_noise.csv", "Pure noise, sorted by class, with a number that rises down the file. A model "
         "that is given the number seems to learn something.",
         (("--target", "group"),)),
    Case("gait.csv", "Several rows of each subject.",
         (("--target", "disease"), ("--target", "disease", "--groups", "subject"))),
    Case("census.csv", "A question mark for what is missing.",
         (("--target", "income"), ("--target", "income", "--impute"))),
    Case("lab.csv", "A comma that may be a decimal mark or one of thousands.",
         (("--target", "response"), ("--target", "response", "--decimal", ","))),
    Case("sensors.csv", "-999 for what is missing, and a rare class.",
         (("--target", "fault"), ("--target", "fault", "--impute", "--recall", "0.8"))),
    Case("tickets.csv", "Quoted cells with commas and line ends.", (("--target", "escalated"),)),
    Case("water.csv", "Values below a limit, as in <0.01.", (("--target", "contaminated"),)),
    Case("survey.txt", "UTF-16, tabs, and another alphabet.", (("--target", "ответ"),)),
)  # fmt: skip


def written(arguments: Sequence[str], output: Path) -> str:
    """Run the command; return the line that it ends in if it writes no report, otherwise nothing."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = command(["report", *arguments, "--output", str(output)])
    return err.getvalue().strip() if code else ""


def taken(browser: Browser, report: Path, view: View, target: Path) -> None:
    """Save one screenshot."""
    browser.open(report, width=view.width, dark=view.dark)
    browser.run(view.before or "return 0")
    box = [0, 0, view.width, SCREEN]
    if view.selector:
        found = browser.run(
            "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
            "return [box.top + scrollY, box.height]",
            view.selector,
        )
        box = [0, found[0], view.width, min(found[1], TALLEST)]
    with Image.open(io.BytesIO(browser.picture(box))) as picture:
        picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)
    progress(f"{target.name}: {target.stat().st_size / 1000:.0f} kB")


def toured(browser: Browser, case: Case, report: Path, figures: Path) -> list[str]:
    """The commands for one table, with the line or the first screen that each ends in."""
    parts = [f"## {case.file}", case.words]
    for arguments in case.commands:
        parts.append(f"    {shlex.join(['bayes-svm', 'report', case.file, *arguments])}")
        line = written([str(TABLES / case.file), *arguments], report)
        if line:
            parts.append(f"> {line}")
            continue
        target = figures / f"report_{Path(case.file).stem}{'_groups' if '--groups' in arguments else ''}.png"
        taken(browser, report, View(case.file, case.words), target)
        parts.append(f"![The first screen for {case.file}]({target.name})")
    return parts


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", metavar="FILE", help="write the page to this file too")
    parser.add_argument(
        "--figures", default="docs/results", metavar="DIR", help="where to put the screenshots (%(default)s)"
    )
    parser.add_argument("--data", metavar="DIR", help="not used: the tables are in tests/tables")
    args = parser.parse_args()
    page, figures = (
        Page("validation.report_tour", "A tour of the report", ABOUT),
        Path(args.figures).resolve(),
    )
    with tempfile.TemporaryDirectory() as name, started(Path(name, "browser")) as browser:
        report = Path(name, "report.html")
        page.add("## Breast cancer", "    bayes-svm report")
        if written([], report):
            raise SystemExit("the report of breast cancer was not written")
        for view in VIEWS:
            target = figures / f"report_{view.name}.png"
            taken(browser, report, view, target)
            page.add(view.words, f"![{view.words}]({target.name})")
        for case in CASES:
            page.add(*toured(browser, case, report, figures))
    page.finish(args.output)


if __name__ == "__main__":
    main()
