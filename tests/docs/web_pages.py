# SPDX-License-Identifier: BSD-3-Clause
"""Makes the web pages and holds that they work: every link leads somewhere, every page is reached from the first one,
nothing is asked of another host; and in a browser without a screen, that a word which somebody looks for leads to its
page, also without a web server, that no page is wider than a phone, and that pages are dark where that is asked for.
usage: web_pages.py FOLDER, where the pages are made; or web_pages.py FOLDER --pictures PICTURES, where they have been
made, and pictures of some of them are left in PICTURES."""
import functools
import html.parser
import http.server
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PHONE = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
DESK = {"width": 1400, "height": 900, "deviceScaleFactor": 1, "mobile": False}
# What people look for, and the page that shall be among the first found; 1 is the first.
WORDS = [("mpirun", "man/mpirun.1.html", 1), ("MPI_Allreduce", "man/MPI_Allreduce.3.html", 1),
         ("allgatherv", "man/MPI_Allgatherv.3.html", 3), ("deadlock", "debugging.html", 5), ("lustre", "files.html", 3),
         ("mpi4py", "python.html", 2), ("firewall", "clusters.html", 3), ("hostfile", "man/mpirun.1.html", 5)]


# ---------------------------------------------------------------- without a browser

class Page(html.parser.HTMLParser):
    """What a page is called by, where it leads, and what a browser fetches for it."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.fetched = [], [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids += [found["id"]] if found.get("id") else []
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        elif tag in ("script", "img", "iframe", "source") and found.get("src"):
            self.fetched.append(found["src"])
        elif tag == "link" and found.get("rel") not in ("index", "search", "next", "prev"):
            self.fetched.append(found["href"])


def faults_of_links(site):
    """What is wrong with links; and which pages are reached from the first one."""
    pages = {path: Page(path) for path in site.rglob("*.html")}
    faults, reached, ahead, links = [], set(), [site / "index.html"], 0
    while ahead:
        path = ahead.pop()
        if path in reached:
            continue
        reached.add(path)
        page, name = pages[path], path.relative_to(site)
        faults += [f"{name}: the anchor {twice} stands there twice" for twice in set(page.ids)
                   if page.ids.count(twice) > 1]
        faults += [f"{name} fetches {url} from elsewhere" for url in page.fetched if re.match(r"\w+:(?!image)|//", url)]
        for url in page.links + page.fetched:
            target, _, anchor = urllib.parse.unquote(url).partition("#")
            if re.match(r"\w+:", url):
                continue
            links += 1
            target = pathlib.Path(os.path.normpath(path.parent / target.partition("?")[0])) if target else path
            if not target.is_file():
                faults.append(f"{name}: there is no {url}")
            elif target in pages:
                ahead.append(target)
                if anchor and anchor not in pages[target].ids:
                    faults.append(f"{name}: there is no anchor {url}")
    faults += [f"nothing leads to {path.relative_to(site)}" for path in pages.keys() - reached
               if path.name != "search.html"]
    for style in site.rglob("*.css"):
        faults += [f"{style.relative_to(site)} fetches {url} from elsewhere"
                   for url in re.findall(r"(?:url\(|@import )['\"]?(?!data:)((?:\w+:|/)[^'\")]*)", style.read_text())]
    print(f"{len(pages)} pages, {links} links")
    if links < 10000:
        faults.append("so few links cannot be all")
    return faults


# ---------------------------------------------------------------- in a browser

class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(site):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


class Browser:
    """Chromium without a window, which notes what it asks of whom, and what scripts complain about."""

    def __init__(self, base, pictures):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                         *(["--no-sandbox"] if os.geteuid() == 0 else [])):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.driver.set_page_load_timeout(60)
        self.base, self.pictures, self.faults = base, pictures, []

    def screen(self, size, colours="light"):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": colours}]})

    def open(self, page, base=None):
        self.driver.get((base or self.base) + page)

    def ask(self, script, *arguments):
        return self.driver.execute_script("return " + script, *arguments)

    def picture(self, name):
        if self.pictures:
            self.driver.save_screenshot(str(self.pictures / f"{name}.png"))

    def wait(self, script, what):
        """Until the page has come to it."""
        from selenium.common.exceptions import TimeoutException
        from selenium.webdriver.support.ui import WebDriverWait
        try:
            return WebDriverWait(self.driver, 60, 0.05).until(lambda _: self.ask(script))
        except TimeoutException:
            self.faults.append(f"{what}: not within a minute")

    def complaints(self):
        """What was asked of others, and what scripts said, since the last time."""
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith((self.base, "data:", "file:", "about:", "chrome:")):
                    self.faults.append(f"the browser asks for {url}")
        # From the disk a page may not read another one, so the search shows no lines of what it has found.
        self.faults += [f"a script says: {entry['message']}" for entry in self.driver.get_log("browser")
                        if entry["level"] == "SEVERE"
                        and not re.search(r"favicon\.ico|file:.*(fetch|ERR_FAILED)", entry["message"])]


def search(browser, base, how):
    """Looks for words as somebody does: types into the field of a page, and goes to what is found."""
    from selenium.webdriver.common.by import By
    for word, page, place in WORDS:
        browser.open("first-steps.html", base)
        field = browser.driver.find_element(By.CSS_SELECTOR, ".sidebar-search")
        field.send_keys(word + "\n")
        browser.wait("document.querySelector('#search-results p.search-summary')?.textContent.includes('found')",
                     f"{how}, {word}")
        links = "[...document.querySelectorAll('#search-results li > a')]"
        found = browser.ask(links + ".map(a => a.href.split(/[?#]/)[0])")
        if base + page not in found[:place]:
            first = [url.removeprefix(base) for url in found[:5]]
            browser.faults.append(f"{how}, {word}: {page} is not among the first {place}: {', '.join(first)}")
        if word == "deadlock":
            browser.picture("search-" + how.replace(" ", "-"))
    browser.driver.find_element(By.CSS_SELECTOR, "#search-results li > a").click()
    if word not in browser.ask("document.querySelector('article').textContent"):
        browser.faults.append(f"{how}: the page that a click leads to does not say {word}")
    browser.open("search.html?q=xyzzyq", base)
    if not browser.wait("document.querySelector('#search-results p')?.textContent.includes('did not match')", how):
        browser.faults.append(f"{how}: a word that stands nowhere is found")


def brightness(browser, of):
    """Of the text and of what it stands on, 0 to 255."""
    colours = browser.ask("(e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor])"
                          "(document.querySelector(arguments[0]))", of)
    return [sum(map(int, re.findall(r"\d+", colour)[:3])) / 3 for colour in colours]


def colours(browser):
    """Light and dark, as the machine says and as the switch says, which the next page remembers."""
    for asked, dark in (("light", False), ("dark", True)):
        browser.screen(DESK, asked)
        browser.open("debugging.html")
        for of in ("body", "article .highlight pre"):
            text, ground = brightness(browser, of)
            # A block of code may let through what it stands on.
            ground = ground or brightness(browser, ".highlight")[1]
            if (text > 150 and ground < 80) != dark or (text < 100 and ground > 200) == dark:
                browser.faults.append(f"asked for {asked}, {of} has text of brightness {text:.0f} on {ground:.0f}")
        browser.picture(f"debugging-{asked}")
    browser.screen(DESK)
    browser.open("index.html")
    browser.ask("[...document.querySelectorAll('.theme-toggle')].find(b => b.offsetParent)?.click()")
    for _ in range(2):
        if brightness(browser, "body")[1] > 80:
            browser.faults.append("the switch does not make pages dark")
        browser.open("first-steps.html")
    browser.ask("localStorage.clear()")


def narrow(browser, site):
    """No page is wider than a phone, and the menu opens."""
    browser.screen(PHONE)
    for path in sorted(site.rglob("*.html")):
        name = str(path.relative_to(site))
        browser.open(name)
        # What is too wide may make any of these scroll, or be cut; blocks of code and tables may scroll by themselves.
        width = browser.ask("Math.max(...[...document.querySelectorAll('html, body, .page, .main, .content, article')]"
                            ".map(e => e.getBoundingClientRect().left + e.scrollWidth))")
        if width > PHONE["width"]:
            wide = browser.ask("[...document.querySelectorAll('article *')]"
                               ".filter(e => e.getBoundingClientRect().right > arguments[0])"
                               ".map(e => e.tagName + ' ' + e.textContent.slice(0, 40))[0]", PHONE["width"])
            browser.faults.append(f"{name} is {width} pixels wide on a screen of {PHONE['width']}, by {wide}")
        browser.complaints()
    browser.open("first-steps.html")
    browser.ask("document.querySelector('.mobile-header .nav-overlay-icon').click()")
    browser.wait("document.querySelector('.sidebar-search').getBoundingClientRect().left >= 0", "the menu of a phone")
    browser.picture("phone-menu")


def photograph(browser):
    for size, name in ((DESK, "desk"), (PHONE, "phone")):
        for colour in ("light", "dark"):
            browser.screen(size, colour)
            for page in ("index", "first-steps", "from-another-mpi", "about", "performance", "man/mpirun.1",
                         "man/MPI_Allreduce.3", "man/tutti-functions.7"):
                browser.open(page + ".html")
                browser.picture(f"{name}-{colour}-{pathlib.PurePath(page).name}")


def main():
    if len(sys.argv) not in (2, 4) or sys.argv[2:3] not in ([], ["--pictures"]):
        sys.exit("usage: web_pages.py FOLDER [--pictures PICTURES]")
    folder = pathlib.Path(sys.argv[1]).absolute()
    pictures = pathlib.Path(sys.argv[3]) if sys.argv[2:] else None
    if os.environ.get("TUTTI_LONG") != "1":
        print("skipped: it takes minutes; TUTTI_LONG=1 runs it")
        return 77
    missing = [name for name in ("sphinx", "furo", "myst_parser", "selenium") if not importlib.util.find_spec(name)]
    missing += [name for name in ("mandoc", "chromium", "chromedriver") if not shutil.which(name)]
    if missing:
        print(f"skipped: {sys.executable} and the PATH lack {', '.join(missing)}; ./dev test --all installs that, for "
              "/usr/bin/python3")
        return 77
    site = folder / "html"
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    else:
        subprocess.run([sys.executable, SOURCE / "docs" / "html" / "make.py", folder], check=True)
    faults = faults_of_links(site)
    browser = Browser(serve(site), pictures)
    try:
        if pictures:
            photograph(browser)
        browser.screen(DESK)
        search(browser, browser.base, "by a server")
        search(browser, site.as_uri() + "/", "from the disk")
        browser.complaints()
        colours(browser)
        narrow(browser, site)
        faults += browser.faults
    finally:
        browser.driver.quit()
    print("\n".join(faults) or "all of it works")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
