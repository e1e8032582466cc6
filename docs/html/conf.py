# SPDX-License-Identifier: BSD-3-Clause
# How Sphinx makes the web pages: `./dev docs`. What it reads is made by make.py.
import pathlib
import re

SOURCE = pathlib.Path(__file__).parents[2]

project = "Tutti"
version = re.search(r"^project\(tutti VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
extensions = ["myst_parser"]
root_doc = "index"
myst_heading_anchors = 4  # headings have the names that they have where the repository is shown
smartquotes = False  # two dashes are an option's
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]  # … in an example is no C++

pygments_style = "default"
pygments_dark_style = "github-dark"  # comments are readable in both

html_theme = "furo"
html_theme_options = {"footer_icons": []}
html_title = f"Tutti {version}"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_permalinks_icon = "#"
html_copy_source = html_use_index = html_show_sphinx = html_show_copyright = False


def mend_theme(app, error):
    """Debian's Furo comes in parts that no browser puts together, and without a rule that its source has."""
    if error:
        return
    static = pathlib.Path(app.outdir, "_static")

    # A script that is no module may not import another one.
    script = static / "scripts" / "furo.js"
    text, imports = re.subn(r"^import .*\n", "", script.read_text(), flags=re.MULTILINE)
    if imports:
        script.write_text((static / "scripts" / "gumshoe-patched.js").read_text() + text)

    # The style asks for a folder that a web server of Debian's alone has.
    style = static / "styles" / "furo.css"
    text = re.sub(r"^@import url\(/javascript/(.*?)\);",
                  lambda match: pathlib.Path("/usr/share/javascript", match[1]).read_text(), style.read_text())
    # What is dark by the switch is not dark where the machine asks for it.
    dark = re.search(r'body\[data-theme="dark"\] (\{[^}]*\})', text)
    if dark and "body:not([data-theme" not in text:
        text += '@media screen and (prefers-color-scheme: dark) { body:not([data-theme="light"]) %s }\n' % dark[1]
    style.write_text(text)


def setup(app):
    app.connect("build-finished", mend_theme)
