"""The built site in a real browser, served from this machine.

The environment variable BAYES_SVM_SITE names the folder that `.ci/docs` built.
"""

import os
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

SITE = os.environ.get("BAYES_SVM_SITE")
pytestmark = pytest.mark.skipif(
    not SITE, reason="BAYES_SVM_SITE names no site: bash .ci/docs FOLDER builds one"
)
PAGES = (
    "index", "install", "replacing", "guide/index", "guide/reject", "explanation/leave_one_out",
    "gallery/index", "gallery/plot_digits", "reference/index", "reference/generated/bayes_svm.BayesSVC",
    "reference/generated/bayes_svm.LeaveOneOut", "results", "results/speed_fit", "measured",
    "changelog", "glossary",
)  # fmt: skip
PHONE, DESKTOP = 390, 1280


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def visit(browser, address, **look):
    """Open an address, with the width and colours that ``Browser.open`` takes."""
    browser.open(f"{SITE}/_static/site.css", **look)
    browser.complaints()
    browser.driver.get(address)


def complaints(browser):
    """Warnings and errors; the theme also says on the console which colours it takes."""
    return [one for one in browser.complaints() if one["level"] != "INFO"]


def shown(browser, condition, seconds=20):
    """What a script returns, once it returns something true."""
    end = time.monotonic() + seconds
    while not (found := browser.run(f"return {condition}")):
        assert time.monotonic() < end, f"not within {seconds} s: {condition}"
        time.sleep(0.1)
    return found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_sound(browser, address, page, width, dark):
    visit(browser, f"{address}/{page}.html", width=width, dark=dark)
    shown(browser, "document.readyState === 'complete'")
    assert complaints(browser) == []
    loaded = browser.run("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert all(one.startswith((address, "data:")) for one in loaded)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.run("return document.documentElement.dataset.theme") == ("dark" if dark else "light")
    broken = "[...document.images].filter((one) => one.complete && !one.naturalWidth).map((one) => one.src)"
    assert browser.run(f"return {broken}") == []


def test_formulas_are_set(browser, address):
    visit(browser, f"{address}/explanation/leave_one_out.html")
    assert shown(browser, "document.querySelectorAll('math').length") > 10
    assert browser.run("return document.querySelectorAll('.katex-error').length") == 0
    text = browser.run("return document.querySelector('article').innerText")
    assert r"\(" not in text
    assert r"\[" not in text


def test_search_finds_a_page(browser, address):
    visit(browser, f"{address}/search.html?q=reject+option")
    shown(browser, "document.querySelectorAll('#search-results li a').length > 3")
    shown(browser, "document.querySelector('.search-summary, #search-results p')")
    links = browser.run(
        "return [...document.querySelectorAll('#search-results li a')].map((one) => one.href)"
    )
    assert any("RejectOptionClassifier" in link for link in links)
    assert complaints(browser) == []


def test_colours_can_be_switched(browser, address):
    visit(browser, f"{address}/index.html")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(f"return {colour}")
    browser.run("document.querySelector('.theme-change-button[data-mode=dark]').click()")
    shown(browser, "document.documentElement.dataset.theme === 'dark'")
    shown(browser, f"{colour} !== '{light}'")
    assert browser.run(f"return {colour}") != light
    browser.run("localStorage.clear()")
