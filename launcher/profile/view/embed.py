# SPDX-License-Identifier: BSD-3-Clause
"""Makes a header of the page that `mpirun --profile=FILE.html` leaves: its markup, style and scripts as one text, with a
place for the data.
usage: embed.py HEADER"""
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
SCRIPTS = ("data.js", "timeline.js", "control.js", "tables.js")
MOST = 8000  # of a literal: compilers need not take long ones


def page():
    scripts = "".join((HERE / name).read_text() for name in SCRIPTS)
    text = (HERE / "page.html").read_text()
    text = text.replace("@css@", "\n" + (HERE / "page.css").read_text())
    return text.replace("@js@", "\n(() => {\n" + scripts + "})();\n")


def literals(text):
    """As literals of C++ that stand one behind the other."""
    assert ')page"' not in text
    return "\n".join(f'    R"page({text[at:at + MOST]})page"' for at in range(0, len(text), MOST))


def main():
    before, after = page().split("@data@")
    pathlib.Path(sys.argv[1]).write_text(
        "// Made by launcher/profile/view/embed.py.\n#pragma once\n\nnamespace tutti::launcher {\n\n"
        f"inline constexpr char kPageBefore[] =\n{literals(before)};\n"
        f"inline constexpr char kPageAfter[] =\n{literals(after)};\n\n}}  // namespace tutti::launcher\n")


main()
