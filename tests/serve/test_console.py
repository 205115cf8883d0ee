"""The console in a headless browser: `make console` runs this, `make test` does not.

`TAMIS_CONSOLE` names a folder with axe-core (`package/axe.min.js`), where screenshots go, too.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tamis.serve import Settings

from .server import Running, running, wait_until

FOLDER = os.environ.get("TAMIS_CONSOLE")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="needs a browser: make console"),
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="there is no Chromium with its driver"),
]
TOKEN = "w" * 20


class Page:
    """The console in a browser."""

    def __init__(self, driver: Any, url: str) -> None:
        self.driver = driver
        driver.get(url)

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.driver.find_elements("css selector", selector)
        return found

    def type(self, selector: str, text: str) -> None:
        field = self.find(selector)
        field.clear()
        field.send_keys(text)

    def click(self, selector: str) -> None:
        self.find(selector).click()

    def tab(self, name: str) -> None:
        self.click(f"#tab-{name}")

    def wait(self, selector: str, told: Callable[[str], bool]) -> str:
        """Wait until the text of an element satisfies a condition; returns the text."""
        wait_until(lambda: told(self.find(selector).text))
        return str(self.find(selector).text)

    def shoot(self, name: str) -> None:
        self.driver.save_screenshot(f"{FOLDER}/{name}.png")

    def check(self) -> None:
        """Fail if something is not accessible, or if the browser logs errors."""
        self.driver.execute_script(Path(f"{FOLDER}/package/axe.min.js").read_text("utf-8"))
        script = "const done = arguments[0]; axe.run().then((found) => done(found.violations));"
        found = self.driver.execute_async_script(script)
        told = [(one["id"], one["impact"], one["nodes"][0]["html"]) for one in found]
        assert not [one for one in told if one[1] in ("serious", "critical")], told
        self.check_log()

    def check_log(self) -> None:
        """Fail if the browser logs errors, apart from responses that the test provokes."""
        log = [line for line in self.driver.get_log("browser") if line["level"] == "SEVERE"]
        assert not [line for line in log if "status of 4" not in line["message"]], log


@pytest.fixture(params=["light", "dark"])
def driver(request: pytest.FixtureRequest) -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for option in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "window-size=1200,900"):
        options.add_argument(f"--{option}")
    options.binary_location = CHROMIUM or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver: Any = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    feature = {"name": "prefers-color-scheme", "value": request.param}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    driver.theme = request.param
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture
def owned(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "index", Settings(own=True)) as server:
        with server.client() as client:
            items: list[dict[str, Any]] = [
                {"id": f"rule-{n}", "expression": f"n > {n}", "metadata": {"tier": n % 3}}
                for n in range(60)
            ]
            items += [
                {"id": "young-west", "expression": "age between 18 and 25 and state in ('CA')"},
                {"id": 7, "expression": "age > 20 or not vip = true"},
                {"id": "again", "expression": "n > 5"},
                {"id": "always", "expression": "true"},
                {"id": "<b>bold</b>", "expression": "tag = '<img src=x onerror=alert(1)>'"},
            ]
            assert client.post("/subscriptions", json=items).is_success
        yield server


def test_everything(owned: Running, driver: Any) -> None:
    page = Page(driver, owned.url)
    theme = driver.theme

    page.wait("#served", lambda text: text.startswith("65 subscriptions"))
    page.wait("#count", lambda text: text == "50 shown, 65 in all")
    page.shoot(f"subscriptions-{theme}")
    page.check()
    page.click("#more")
    page.wait("#count", lambda text: text == "65 shown, 65 in all")
    assert not page.all("#rows b, #rows img"), "ids and expressions are text, not markup"
    page.type("#search [name=text]", "YOUNG")
    page.click("#search button")
    page.wait("#count", lambda text: text.startswith("1 shown"))
    page.type("#search [name=text]", "rule-")
    page.type("#search [name=where]", "tier = 2")
    page.click("#search button")
    page.wait("#count", lambda text: text.startswith("20 shown"))
    page.type("#search [name=where]", "tier =")
    page.click("#search button")
    assert "expected" in page.wait("#failure", bool)
    page.check()

    page.tab("write")
    assert page.find("#failure").text == ""
    page.type("#expression", "age > 20\nand state ~ 'CA'")
    verdict = page.wait("#verdict", lambda text: "line 2, column 11" in text)
    assert "expected" in verdict
    assert page.find("#underline mark").get_attribute("textContent").strip() == "~"
    page.shoot(f"error-{theme}")
    page.check()
    page.type("#expression", "state IN ('CA') AND (age>20)")
    page.wait("#verdict", lambda text: text == "Valid")
    assert page.find("#canonical").text == "state in ('CA') and age > 20"
    assert not page.all("#underline mark")
    page.click("#save")
    assert "needs an id" in page.wait("#failure", bool)
    page.type("#editor [name=id]", "new one")
    page.type("#metadata", "{")
    page.click("#save")
    assert "invalid JSON" in page.wait("#failure", bool)
    page.type("#metadata", '{"owner": "ada"}')
    page.click("#save")
    page.wait("#saved", lambda text: text == "Saved, version 2")
    assert owned.service.held.index["new one"].metadata == {"owner": "ada"}
    page.click("#remove")
    page.wait("#saved", lambda text: text == "Removed, version 3")
    page.click("#remove")
    assert "new one" in page.wait("#failure", bool)
    page.check()

    page.tab("subscriptions")
    page.type("#search [name=text]", "vip")
    page.type("#search [name=where]", " ")
    page.find("#search [name=where]").clear()
    page.click("#search button")
    page.wait("#count", lambda text: text.startswith("1 shown"))
    page.click("#rows button")
    page.wait("#canonical", lambda text: text.startswith("age > 20"))
    page.click("#save")
    page.wait("#saved", lambda text: text == "Saved, version 4")
    assert 7 in owned.service.held.engine, "an integer stays an integer"
    assert "7" not in owned.service.held.engine

    with owned.client() as client:
        client.post("/match", json={"n": 3, "who": "<i>"})
    page.tab("try")
    wait_until(lambda: len(page.all("#recent option")) > 1)
    page.find("#recent").send_keys("4")
    wait_until(lambda: page.find("#event").get_attribute("value"))
    page.type("#event", '{"age": 21, "state": "CA"}\n{"age": \n{"age": 30, "n": 2, "vip": null}')
    page.type("#explained", "young-west")
    page.click("#events button")
    wait_until(lambda: len(page.all("#answers article")) == 3)
    first, bad, last = (one.text for one in page.all("#answers article"))
    assert "Matches" in first
    assert "young-west: matches" in first
    assert "invalid JSON" in bad
    assert "young-west: does not match" in last
    truths = {one.get_attribute("class") for one in page.all("#answers .tree span")}
    assert {"true", "false", "unknown"} <= truths
    page.shoot(f"events-{theme}")
    page.check()

    page.tab("lint")
    page.click("#examine")
    page.wait("#examined", lambda text: "findings in 65 of 65" in text)
    told = page.find("#findings").text
    assert "again has the same expression as 'rule-5'" in told
    assert "always always matches" in told
    page.shoot(f"findings-{theme}")
    page.check()

    page.tab("charts")
    page.wait("#totals", lambda text: "events" in text)
    wait_until(lambda: page.find("#throughput path").get_attribute("d"))
    page.wait("#most", lambda text: "always: " in text)
    page.wait("#never", lambda text: "rule-" in text)
    page.shoot(f"charts-{theme}")
    page.check()


def test_the_keyboard_is_enough(owned: Running, driver: Any) -> None:
    page = Page(driver, owned.url)
    page.wait("#count", lambda text: text.startswith("50 shown"))
    page.find("body").send_keys("\ue004")  # tab
    assert driver.switch_to.active_element.text == "Skip to content"
    page.find("#tab-subscriptions").send_keys("\ue014")  # right
    assert driver.switch_to.active_element.get_attribute("id") == "tab-write"
    assert page.find("#write").is_displayed()
    assert not page.find("#subscriptions").is_displayed()
    page.find("#tab-write").send_keys("\ue010")  # end
    assert page.find("#charts").is_displayed()
    page.find("#tab-charts").send_keys("\ue014")
    assert page.find("#subscriptions").is_displayed()


def test_a_token_is_asked_for(tmp_path: Path, driver: Any) -> None:
    settings = Settings(own=True, tokens=f"write me {TOKEN}")
    with running(tmp_path / "index", settings) as server:
        page = Page(driver, server.url)
        wait_until(lambda: page.find("#token-form").is_displayed())
        assert "token" in page.find("#failure").text
        page.type("#token", "x" * 20)
        page.click("#token-form button")
        page.wait("#failure", lambda text: "not known" in text)
        page.type("#token", TOKEN)
        page.click("#token-form button")
        page.wait("#served", lambda text: text.startswith("0 subscriptions"))
        assert not page.find("#token-form").is_displayed()
        page.check()


def test_a_followed_folder_is_not_changed(folder: Path, driver: Any) -> None:
    with running(folder) as server:
        page = Page(driver, server.url)
        page.wait("#served", lambda text: text.endswith("follow"))
        page.tab("write")
        assert not page.find("#save").is_enabled()
        assert "not saved" in page.find("#saved").text
        time.sleep(0.1)
        page.check()


def test_nothing_comes_from_elsewhere(owned: Running) -> None:
    with owned.client() as client:
        response = client.get("/")
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for path in ("/", "/console.js", "/console.css"):
            text = client.get(path).text.replace("http://www.w3.org/2000/svg", "")
            assert "http:" not in text
            assert "https:" not in text
        assert "<script>" not in response.text
        assert "style=" not in response.text
        assert " on" not in response.text.replace(" one", "")
