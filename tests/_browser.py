"""Debian's Chromium, or another one that is installed, driven by Selenium."""

import base64
import shutil
from contextlib import contextmanager
from pathlib import Path

__all__ = ["Browser", "MissingError", "started"]

# No service of the browser's maker is asked for anything.
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--window-size=1280,900",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")


class MissingError(Exception):
    """There is no browser, or nothing to drive it with; the message says what to install."""


def _program(*names):
    for name in names:
        if path := shutil.which(name):
            return path
    raise MissingError(f"none of these programs is installed: {', '.join(names)}")


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
        self.driver.get(Path(path).resolve().as_uri())

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def complaints(self):
        return self.driver.get_log("browser")

    def pdf(self):
        found = self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        return base64.b64decode(found["data"])

    def picture(self, box):
        """PNG of a part of the page: x, y, width and height in pixels."""
        clip = dict(zip(("x", "y", "width", "height"), box, strict=True), scale=1)
        options = {"format": "png", "captureBeyondViewport": True, "clip": clip}
        return base64.b64decode(self.driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"])


@contextmanager
def started(folder):
    """A browser that keeps its files in a folder."""
    try:
        from selenium import webdriver
    except ModuleNotFoundError:
        raise MissingError("selenium is not installed: pip install selenium") from None
    options = webdriver.ChromeOptions()
    options.binary_location = _program(*NAMES)
    for option in (*OPTIONS, f"--user-data-dir={folder}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=_program("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield Browser(driver)
    finally:
        driver.quit()
