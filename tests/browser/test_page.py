"""The report in a real browser."""

import io
import json
import re
from itertools import pairwise

import pytest

PAGES = ("two", "three")


@pytest.fixture(params=PAGES)
def page(request):
    return request.getfixturevalue(request.param)


def text(browser, name):
    return browser.run("return document.getElementById(arguments[0]).textContent", name).replace(
        "\u00a0", " "
    )


def slide(browser, name, value):
    browser.run(
        "const slider = document.getElementById(arguments[0]); slider.value = arguments[1];"
        "slider.dispatchEvent(new Event('input'))",
        name,
        value,
    )


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_complained_about_and_nothing_is_loaded(browser, page, dark):
    browser.open(page[0], dark=dark)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    slide(browser, "threshold", 70)
    assert browser.complaints() == []
    loaded = browser.run("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert loaded == []


def test_names_of_the_data_are_text(browser, page):
    browser.open(page[0])
    counts = "return ['img', 'b > b', 'i', 'script'].map((tag) => document.querySelectorAll(tag).length)"
    images, _, italics, scripts = browser.run(counts)
    assert (images, italics, scripts) == (0, 0, 2)
    whole = browser.run("return document.body.textContent")
    for name in ('"><img onerror=alert(2)>', "<script>alert(1)</script>", "<b>file</b>.csv", "<i>red</i>"):
        assert name in whole


def test_the_policy_stops_what_is_not_the_page_s_own(browser, page):
    browser.open(page[0])
    browser.run(
        "const one = document.createElement('script'); one.textContent = 'window.attacked = true';"
        "document.body.append(one);"
        "const other = document.createElement('style'); other.textContent = 'body { display: none }';"
        "document.head.append(other);"
        "const image = document.createElement('img'); image.src = 'http://127.0.0.1:9/x.png';"
        "document.body.append(image);"
    )
    assert browser.run("return window.attacked") is None
    assert browser.run("return getComputedStyle(document.body).display") == "block"
    complaints = " ".join(one["message"] for one in browser.complaints())
    assert complaints.count("Content Security Policy") == 3


def test_the_threshold_s_slider_moves_the_numbers(browser, two):
    path, report = two
    browser.open(path)
    curve = report.thresholds[0]
    for k in (0, 35, 50, 100):
        slide(browser, "threshold", k)
        found, alarms = curve.found[k], curve.false_alarms[k]
        assert text(browser, "threshold-value") == f"{k} %"
        assert text(browser, "out-found") == str(found)
        assert text(browser, "out-missed") == str(curve.n - found)
        assert text(browser, "out-alarms") == str(alarms)
        assert text(browser, "out-spared") == str(curve.n_others - alarms)
        assert text(browser, "out-cost") == str(alarms + curve.n - found)
        assert text(browser, "out-recall") == f"{100 * found / curve.n:.1f} %"
        expected = f"{100 * found / (found + alarms):.1f} %" if found + alarms else "–"
        assert text(browser, "out-precision") == expected
    before = browser.run("return document.getElementById('threshold-cursor').getAttribute('d')")
    slide(browser, "threshold", 20)
    assert browser.run("return document.getElementById('threshold-cursor').getAttribute('d')") != before


def test_the_cheapest_threshold(browser, two):
    path, report = two
    browser.open(path)
    browser.run(
        "const missed = document.getElementById('cost-missed'); missed.value = 5;"
        "missed.dispatchEvent(new Event('input')); document.getElementById('cheapest').click()"
    )
    curve = report.thresholds[0]
    costs = [b + 5 * (curve.n - a) for a, b in zip(curve.found, curve.false_alarms, strict=True)]
    assert text(browser, "out-cost") == str(min(costs))
    assert costs[int(text(browser, "threshold-value").split()[0])] == min(costs)


def test_another_class_has_another_curve(browser, three):
    path, report = three
    browser.open(path)
    line = "return document.getElementById('precision-line').getAttribute('d')"
    before = browser.run(line)
    choose = (
        "const list = document.getElementById('threshold-class'); const k = (list.selectedIndex + 1) % 3;"
        "list.selectedIndex = k; list.dispatchEvent(new Event('change')); return k"
    )
    k = browser.run(choose)
    assert browser.run(line) != before
    assert text(browser, "out-found") == str(report.thresholds[k].found[50])
    assert report.thresholds[k].label in browser.run(
        "return document.querySelector('[data-curve]').textContent"
    )


def test_the_share_of_answers_moves_the_errors(browser, page):
    path, report = page
    browser.open(path)
    slide(browser, "answered", 100)
    assert text(browser, "answered-value") == "100.0 %"
    assert text(browser, "out-risk") == f"{100 * report.risk_coverage.risk[-1]:.1f} %"
    slide(browser, "answered", 50)
    answered, left = int(text(browser, "out-answered")), int(text(browser, "out-left"))
    assert answered + left == report.source.n_rows
    assert answered >= 0.5 * report.source.n_rows
    wrong = int(text(browser, "out-wrong"))
    assert text(browser, "out-risk") == f"{100 * wrong / answered:.1f} %"


def test_tables_are_sorted_by_their_headers(browser, page):
    browser.open(page[0])
    cells = (
        "const table = document.querySelector('#columns table[data-sort]');"
        "return [...table.tBodies[0].rows].map((row) => Number(row.cells[1].dataset.value))"
    )
    press = "document.querySelectorAll('#columns table[data-sort] thead button')[1].click()"
    before = browser.run(cells)
    browser.run(press)
    assert browser.run(cells) == sorted(before)
    browser.run(press)
    assert browser.run(cells) == sorted(before, reverse=True)
    marked = browser.run("return document.querySelectorAll('#columns th[aria-sort=descending]').length")
    assert marked == 1


def test_a_minute_s_reading_fits_the_first_screen(browser, three):
    browser.open(three[0])
    bottom = browser.run("return document.querySelector('.glance').getBoundingClientRect().bottom")
    assert bottom <= 900


def test_without_scripts_everything_is_readable(browser, page):
    path, _ = page
    browser.open(path, scripts=False)
    driver = browser.driver
    from selenium.webdriver.common.by import By

    assert not driver.find_element(By.ID, "threshold-tool").is_displayed()
    assert not driver.find_element(By.ID, "answer-tool").is_displayed()
    rows = driver.find_elements(By.CSS_SELECTOR, "#thresholds table:first-of-type tbody tr")
    assert len([row for row in rows if row.is_displayed()]) == 12
    assert driver.find_element(By.ID, "columns-chart").is_displayed()
    driver.find_element(By.CSS_SELECTOR, "#rows summary").click()
    assert driver.find_element(By.CSS_SELECTOR, "#rows table").is_displayed()


@pytest.mark.parametrize("width", [320, 390, 768])
def test_nothing_scrolls_sideways(browser, page, width):
    browser.open(page[0], width=width)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert browser.run("return document.documentElement.scrollWidth") <= width


def test_large_errors_do_not_run_into_each_other_on_a_phone(browser, three):
    browser.open(three[0], width=390)
    wide = """return [...document.querySelectorAll(".even-columns b")].map((one) => {
        one.textContent = "100.0\\u00a0%";
        return one.scrollWidth - one.clientWidth;
    })"""
    found = browser.run(wide)
    assert len(found) >= 3
    assert max(found) <= 0
    heading = "return document.querySelector('.even-columns tbody th').getClientRects()[0].height"
    # Four words, each on a line of its own at most: none is broken.
    assert browser.run(heading) <= 90


def findings(browser, axe):
    """What axe-core finds serious or critical, with the first place."""
    browser.run(axe + "; window.axe = axe")
    found = browser.driver.execute_async_script(
        "const done = arguments[0]; axe.run().then((found) => done(found.violations))"
    )
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(one["id"], one["nodes"][0]["html"]) for one in grave]


@pytest.mark.parametrize(
    ("name", "width", "dark"),
    [("two", 1280, False), ("two", 390, True), ("three", 1280, True), ("three", 390, False)],
)
def test_axe_has_no_serious_findings(browser, axe, request, name, width, dark):
    path, _ = request.getfixturevalue(name)
    browser.open(path, width=width, dark=dark)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert findings(browser, axe) == []


def test_axe_finds_a_barrier_that_is_put_there(browser, axe, two):
    browser.open(two[0])
    browser.run("document.querySelector('h2').style.color = '#eee'; document.documentElement.lang = ''")
    assert {"color-contrast", "html-has-lang"} <= {name for name, _ in findings(browser, axe)}


def test_headings_and_landmarks(browser, page):
    browser.open(page[0])
    levels = browser.run(
        "return [...document.querySelectorAll('h1, h2, h3')].map((one) => Number(one.tagName[1]))"
    )
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    for name in ("header", "main", "nav", "footer"):
        assert browser.run("return document.querySelectorAll(arguments[0]).length", name) == 1
    bare = browser.run(
        "return [...document.querySelectorAll('table')].filter((one) => !one.caption"
        " || [...one.querySelectorAll('th')].some((head) => !head.scope)).length"
    )
    assert bare == 0
    drawings = browser.run(
        "return [...document.querySelectorAll('svg')].filter((one) => !one.hasAttribute('aria-hidden') && "
        "!(one.querySelector(':scope > title') && one.querySelector(':scope > desc'))).length"
    )
    assert drawings == 0


def test_on_paper_sections_are_whole(browser, two):
    pypdf = pytest.importorskip("pypdf")
    path, report = two
    browser.open(path, media="print")
    style = (
        "return [...document.querySelectorAll(arguments[0])].map((one) => getComputedStyle(one).breakInside)"
    )
    for selector in (".case", "figure", "tr", "section:not(.long)"):
        found = browser.run(style, selector)
        assert found
        assert set(found) == {"avoid"}
    browser.open(path)
    pages = [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(browser.pdf())).pages]
    pages = [re.sub(r"\s+", "", page) for page in pages]

    def on(words):
        return {k for k, page in enumerate(pages) if re.sub(r"\s+", "", words) in page}

    for one in report.surprising:
        assert on(f"Row {one.row}: labelled") & on(f"{100 * one.probability:.1f} %")
    assert on("Do the probabilities mean what they say?") & on("Brier score")
    assert on("What saying “I do not know” would gain") & on("At least as sure as")
    # What is folded away on the screen is printed.
    assert on("xi-alpha")
    assert on("A fourth.")


def test_a_large_table_makes_a_small_file(browser, large):
    path, report = large
    assert report.source.n_rows == 2000
    assert path.stat().st_size < 300_000
    browser.open(path, width=390)
    assert browser.complaints() == []
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    data = json.loads(browser.run("return document.getElementById('data').textContent"))
    assert data["risk"]["n"] == 2000
