# SPDX-License-Identifier: BSD-3-Clause
"""The page of mpirun --profile=FILE.html in a browser without a screen, from the disk: it asks nobody for anything and
complains of nothing; zooming, moving, searching, choosing, keys, both themes, few ranks and a thousand.
usage: view.py MPIRUN PROFILED SAMPLE [FOLDER FOR PICTURES]"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MPIRUN, PROFILED, SAMPLE = sys.argv[1:4]
PICTURES = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None
try:
    from selenium import webdriver
    from selenium.webdriver import ActionChains
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    print("there is no python3-selenium")
    sys.exit(77)
MOST_BYTES = 20 << 20


class Page:
    def __init__(self, driver, path, colours="light", width=1400, height=1000):
        self.driver = driver
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                               {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                               {"features": [{"name": "prefers-color-scheme", "value": colours}]})
        driver.get(f"file://{path}")
        self.wait(lambda: self.timeline.get_attribute("data-drawn"))

    def wait(self, until):
        return WebDriverWait(self.driver, 60, 0.05).until(lambda _: until())

    def by(self, name):
        return self.driver.find_element(By.ID, name)

    @property
    def timeline(self):
        return self.by("timeline")

    @property
    def label(self):
        return self.timeline.get_attribute("aria-label")

    def range(self):
        """What the timeline shows, in seconds."""
        units = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
        found = re.search(r"from ([\d.]+) (\S+) to ([\d.]+) ([^\s:]+):", self.label)
        return float(found[1]) * units[found[2]], float(found[3]) * units[found[4]]

    def changed(self, act):
        """Until what is drawn is another."""
        before = self.label
        act()
        self.wait(lambda: self.label != before)

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def drawn(self, what):
        found = re.search(rf"(\d+) {what}", self.timeline.get_attribute("data-drawn"))
        return int(found[1]) if found else None

    def colours(self):
        """How many pixels of the timeline have which colour of the legend."""
        return self.driver.execute_script("""
          const canvas = document.getElementById("timeline"), style = getComputedStyle(document.documentElement), out = {};
          const pixels = canvas.getContext("2d").getImageData(70, 30, canvas.width - 80, canvas.height - 40).data;
          for (const name of ["computing", "moving", "waiting", "collectives", "files"]) {
            const hex = style.getPropertyValue("--" + name).trim(), rgb = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
            out[name] = 0;
            for (let at = 0; at < pixels.length; at += 4)
              out[name] += rgb.every((c, k) => Math.abs(c - pixels[at + k]) < 6);
          }
          return out;""")

    def picture(self, name):
        if PICTURES:
            self.driver.save_screenshot(str(PICTURES / f"{name}.png"))


def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     *(["--no-sandbox"] if os.geteuid() == 0 else [])):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)


def complaints(driver):
    out = [entry["message"] for entry in driver.get_log("browser")]
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            if not url.startswith(("file:", "data:", "about:", "chrome:")):
                out.append(f"the browser asks for {url}")
    return out


def sample(folder, ranks, steps):
    path = folder / f"sample{ranks}.html"
    subprocess.run([SAMPLE, str(ranks), str(steps), str(path)], check=True, timeout=120)
    size = path.stat().st_size
    print(f"{ranks} ranks, {steps} steps: {size / 2**20:.1f} MiB")
    assert size <= MOST_BYTES, size
    return path


def few_ranks(driver, folder):
    page = Page(driver, sample(folder, 4, 300))
    assert "stencil: 4 ranks" in page.by("title").text
    assert page.drawn("calls") > 50, page.label
    page.picture("4-ranks")
    first = page.range()
    page.changed(lambda: page.keys("+", "+", "+", "+", "+", "+", "+", "+", "+", "+", "+", "+"))
    page.wait(lambda: page.range()[1] - page.range()[0] < 0.05 * (first[1] - first[0]))
    page.picture("4-ranks-close")
    counts = page.colours()
    assert counts["waiting"] > 500 and counts["computing"] > 500, counts
    assert page.drawn("messages") > 0 and page.drawn("collectives") > 0, page.label
    begun = page.range()
    page.changed(lambda: page.keys(Keys.ARROW_RIGHT))
    assert page.range()[0] > begun[0]
    page.changed(lambda: page.keys("m"))
    assert page.drawn("messages") is None
    page.changed(lambda: page.keys("0"))
    assert page.range() == first
    # The wheel keeps what is under the mouse.
    box = page.timeline.rect
    origin = webdriver.common.actions.wheel_input.ScrollOrigin.from_element(page.timeline, int(box["width"] / 4), 0)
    page.changed(lambda: ActionChains(driver).scroll_from_origin(origin, 0, -600).perform())
    assert page.range()[0] > first[0] and page.range()[1] < first[1]
    page.changed(lambda: page.keys("0"))


def search_and_choose(driver, folder):
    page = Page(driver, folder / "sample4.html")
    page.keys("/")
    assert driver.switch_to.active_element.get_attribute("id") == "search"
    page.keys("file_write")
    page.wait(lambda: page.by("hits").text == "24 calls")
    page.changed(lambda: page.keys(Keys.ENTER))
    assert "MPI_File_write_at at stencil.c" in page.by("details").text, page.by("details").text
    page.picture("4-ranks-search")
    page.keys(Keys.ESCAPE)
    page.wait(lambda: page.by("hits").text == "")
    chosen = driver.find_elements(By.CSS_SELECTOR, "#places tr.chosen")
    assert len(chosen) == 1 and "MPI_File_write_at" in chosen[0].text
    page.by("search").send_keys("rank 2")
    page.wait(lambda: page.by("hits").text.endswith("calls"))
    page.keys(Keys.ENTER)
    page.wait(lambda: page.by("details").text.startswith("rank 2, "))
    assert "no such thing" not in page.by("hits").text


def tables(driver, folder):
    page = Page(driver, folder / "sample4.html")
    text = page.by("text").text
    places = [row.text for row in driver.find_elements(By.CSS_SELECTOR, "#places tbody tr")]
    for row in re.finditer(r"^\s+(\d+)\s+([\d.]+)\s+([\d.]+)  (\S+) at", text, re.M):
        same = [place for place in places if f" {row[4]} at" in place]
        assert same and same[0].split()[:3] == [row[1], row[2], row[3]], (row[0], same)
    steps = driver.find_elements(By.CSS_SELECTOR, "#steps tbody tr")
    assert "computing" in steps[0].text and steps[0].text.split()[3] == "2", steps[0].text
    steps[0].click()
    assert page.by("path").is_selected()
    page.picture("4-ranks-path")
    heads = driver.find_elements(By.CSS_SELECTOR, "#ranks th")
    heads[2].click()
    first = driver.find_element(By.CSS_SELECTOR, "#ranks tbody tr").text.split()
    assert first[0] == "2", first  # it computes longest
    matrix = page.by("matrix")
    driver.execute_script("document.getElementById('matrix').scrollIntoView({block: 'center'})")
    ActionChains(driver).move_to_element_with_offset(matrix, -int(matrix.rect["width"] / 8), -int(3 * matrix.rect["height"] / 8)).perform()
    page.picture("4-ranks-matrix")
    page.wait(lambda: "rank 0 to rank 1: 300 messages, 1.2 MiB" in page.by("cell").text)
    page.picture("4-ranks-tables")
    # Histograms: of the messages, and of the calls of a place, all of them.
    sums = lambda name: sum(int(n) for n in re.findall(r"(\d+) below ", page.by(name).get_attribute("aria-label")))
    assert sums("lengths") == int(re.search(r"^messages sent: (\d+)", text, re.M)[1]), page.by("lengths").get_attribute("aria-label")
    place = driver.find_elements(By.CSS_SELECTOR, "#places tbody tr")[0]
    place.click()
    assert re.search(r"MPI_\w+", place.text)[0] in page.by("durations-of").text, (place.text, page.by("durations-of").text)
    assert sums("durations") == int(place.text.split()[0]), page.by("durations").get_attribute("aria-label")


def themes(driver, folder):
    page = Page(driver, folder / "sample4.html", colours="dark")
    back = "return getComputedStyle(document.body).backgroundColor"
    dark = driver.execute_script(back)
    page.picture("4-ranks-dark")
    page.keys("t")
    page.wait(lambda: driver.execute_script(back) != dark)
    page.keys("t")
    page.wait(lambda: driver.execute_script(back) == dark)
    page.keys("?")
    assert page.by("keys").is_displayed()
    page.keys(Keys.ESCAPE)
    assert not page.by("keys").is_displayed()
    page = Page(driver, folder / "sample4.html", width=380, height=800)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 380
    page.picture("4-ranks-narrow")


def many_ranks(driver, folder):
    for ranks, steps in ((256, 400), (1000, 400)):
        page = Page(driver, sample(folder, ranks, steps))
        page.picture(f"{ranks}-ranks")
        assert "messages, as streams between parts of the ranks" in page.label, page.label
        for _ in range(3):
            page.changed(lambda: page.keys("*"))
        page.changed(lambda: page.keys("+", "+", "+", "+", "+", "+", "+", "+", "+", "+", "+", "+", "+", "+"))
        page.wait(lambda: page.drawn("messages") is not None)
        page.picture(f"{ranks}-ranks-close")
        assert complaints(driver) == []
    page.changed(lambda: page.keys("0"))
    page.keys("p")
    page.picture("1000-ranks-path")


def two_ranks(driver, folder):
    """Of a job that runs."""
    path = folder / "job.html"
    done = subprocess.run([MPIRUN, f"--profile={path}", "-n", "2", PROFILED, "late_sender"], capture_output=True, text=True,
                          timeout=100)
    assert done.returncode == 0, done.stderr
    page = Page(driver, path)
    page.picture("2-ranks")
    assert page.drawn("calls") >= 50 and page.drawn("messages") >= 49, page.label
    assert page.colours()["waiting"] > 5000, page.colours()
    assert "MPI_Recv" in page.by("places").text and "late sender: rank 0" in page.by("places").text
    trace = folder / "job.json"
    done = subprocess.run([MPIRUN, f"--profile={trace}", "-n", "2", PROFILED, "late_sender"], capture_output=True, text=True,
                          timeout=100)
    events = json.loads(trace.read_text())["traceEvents"]
    kinds = {kind: [e for e in events if e["ph"] == kind] for kind in "MXsf"}
    assert len(kinds["s"]) == len(kinds["f"]) == 50, len(kinds["s"])
    for sent, came in zip(kinds["s"], kinds["f"]):
        # Each end is within a call, or nobody would draw it.
        for end, name in ((sent, "MPI_Send"), (came, "MPI_Recv")):
            assert any(x["name"] == name and x["pid"] == end["pid"] and x["ts"] <= end["ts"] <= x["ts"] + x["dur"]
                       for x in kinds["X"]), (end, name)


def two_nodes(driver, folder):
    """Daemons of this machine: the page says how well the clocks are aligned."""
    shell, path = folder / "shell", folder / "nodes.html"
    shell.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    shell.chmod(0o755)
    done = subprocess.run([MPIRUN, f"--profile={path}", "--set", f"launch.rsh={shell}", "--host", "a.invalid:1,b.invalid:1", "-n", "2",
                           PROFILED, "late_sender"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    page = Page(driver, path)
    error = json.loads(driver.execute_script("return document.getElementById('data').textContent"))["clock_error"]
    said = re.search(r"The clocks of the nodes are aligned by collectives and messages, to ([\d.]+) (ns|µs|ms|s): what lies closer",
                     page.by("limits").text)
    assert said, page.by("limits").text
    unit = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[said[2]]
    assert 0 < error and abs(float(said[1]) * unit - error) <= 0.006 * unit, (error, said[0])
    assert re.search(r"^clocks of the nodes are compared to [\d.]+ (us|ms)$", page.by("text").text, re.M)


def main():
    if PICTURES:
        PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        driver = browser()
        try:
            for test in (few_ranks, search_and_choose, tables, themes, many_ranks, *([] if PROFILED == "-" else [two_ranks, two_nodes])):
                test(driver, pathlib.Path(name))
                assert (said := complaints(driver)) == [], said
                print(f"{test.__name__}: right", flush=True)
        finally:
            driver.quit()


main()
