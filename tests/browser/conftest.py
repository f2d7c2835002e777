"""A browser, and pages of reports to open in it."""

import base64
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from _data import THREE

# No service of the browser's maker is asked for anything.
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1280,900",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")


def _program(*names):
    for name in names:
        if path := shutil.which(name):
            return path
    pytest.skip(f"none of these programs is installed: {', '.join(names)}")


class Browser:
    """Opens a page with some width, colours and scripts, and asks it things."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path, *, width=1280, dark=False, scripts=True, media=""):
        command = self.driver.execute_cdp_cmd
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        command("Emulation.setDeviceMetricsOverride", size)
        colours = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        command("Emulation.setEmulatedMedia", {"media": media, "features": colours})
        command("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        self.driver.get_log("browser")
        self.driver.get(Path(path).as_uri())

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def complaints(self):
        return self.driver.get_log("browser")

    def pdf(self):
        found = self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        return base64.b64decode(found["data"])


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    selenium = pytest.importorskip("selenium", reason="selenium is not installed: pip install selenium")
    from selenium import webdriver

    assert selenium.__version__
    options = webdriver.ChromeOptions()
    options.binary_location = _program(*NAMES)
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=_program("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    yield Browser(driver)
    driver.quit()


@pytest.fixture(scope="session")
def axe():
    path = os.environ.get("BAYES_SVM_AXE")
    if not path:
        pytest.skip("BAYES_SVM_AXE does not name axe.min.js: npm install axe-core, and set it")
    return Path(path).read_text(encoding="utf-8")


def _table(labels, n, n_columns, **more):
    import pandas as pd

    from bayes_svm.report.tables.table import Table

    random = np.random.default_rng(0)
    y = np.arange(n) % len(labels)
    values = random.normal(size=(n, n_columns))
    values[:, : len(labels)] += 1.5 * (y[:, None] == np.arange(len(labels)))
    names = [
        '"><img onerror=alert(2)>',
        *(f"a column of numbers, number {k}" for k in range(1, n_columns - 1)),
    ]
    frame = pd.DataFrame(values[:, :-1], columns=names)
    frame["colour </script><script>alert(3)</script>"] = np.where(values[:, -1] > 0.5, "<i>red</i>", "blue")
    return Table("<b>file</b>.csv", "di'ag\"nosis<", frame, np.array(labels)[y], **more)


def _written(folder, table, **settings):
    from bayes_svm.report.content import make_report
    from bayes_svm.report.model import fit_table
    from bayes_svm.report.record import Settings
    from bayes_svm.report.render import to_html

    pytest.importorskip("pandas")
    pytest.importorskip("jinja2")
    report = make_report(fit_table(table, Settings(**settings)))
    path = folder / "report.html"
    path.write_text(to_html(report, "1.0"), encoding="utf-8")
    return path, report


@pytest.fixture(scope="session")
def two(tmp_path_factory):
    """A page and its report: two classes, names that attack the page, a mixture."""
    table = _table(THREE[:2], 120, 6, notes=("A note with </script>.", "Another.", "A third.", "A fourth."))
    return _written(tmp_path_factory.mktemp("two"), table)


@pytest.fixture(scope="session")
def three(tmp_path_factory):
    """The same with three classes, and one setting."""
    return _written(tmp_path_factory.mktemp("three"), _table(THREE, 90, 5), quick=True)


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """A table of 2000 rows and 40 columns."""
    return _written(tmp_path_factory.mktemp("large"), _table(("sick", "well"), 2000, 40), quick=True)
