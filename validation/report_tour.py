"""Screenshots of the report, by the command, on the tables that tests/tables holds and on breast cancer."""

from __future__ import annotations

import argparse
import io
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

WIDTH, SCREEN, PHONE = 1200, 860, 390
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
    page.finish(args.output)


if __name__ == "__main__":
    main()
