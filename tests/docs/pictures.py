# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of a terminal: SVG of the commands that somebody has typed and of what they printed, light or dark as the reader's
screen is. run_pages.py makes one where a page asks for it, and holds it against the page; this file knows how one looks, and
nothing of pages. A picture needs no font of its own and nothing of a network, as pages that show it as an image want it.

The text of a picture stands in it as text: a group for each line that was printed, and in it what stands in each row of the
screen. A line that does not fit goes on in the next row, as in a terminal, but between two words and a little further right.
`lines_of` reads back what `draw` was given."""
import html
import re
import xml.etree.ElementTree

COLUMNS = 100
WIDTH, HEIGHT, BASELINE = 7.8, 18, 13  # of a letter; of a row; and where in a row the letters stand
EDGE = 14                              # around all of them
NO_BREAK = "\u00a0"
SVG = "{http://www.w3.org/2000/svg}"

STYLE = """\
.ground { fill: #f6f8fa; stroke: #d0d7de }
.mark { fill: #ffe58f }
text { fill: #1f2328 }
.prompt { fill: #1a7f37 }
.command { font-weight: bold }
@media (prefers-color-scheme: dark) {
  .ground { fill: #161b22; stroke: #3d444d }
  .mark { fill: #6b4f00 }
  text { fill: #e6edf3 }
  .prompt { fill: #3fb950 }
}"""


class Missing(Exception):
    """What is to be marked has not been printed."""


def rows_of(line):
    """Where in the line each row of it begins and ends, and at which column of the screen it begins."""
    indent = len(line) - len(line.lstrip())
    rows, begin, column = [], 0, 0
    while len(line) - begin > COLUMNS - column:
        end = line.rfind(" ", begin + indent, begin + COLUMNS - column) + 1 or begin + COLUMNS - column
        rows.append((begin, end, column))
        begin, column = end, indent + 4
    return [*rows, (begin, len(line), column)]


def stretches(line, phrases):
    """Of a line, what is marked: begin and end of each."""
    patterns = [".*?".join(re.escape(part) for part in phrase.split("…")) for phrase in phrases]
    return [match.span() for pattern in patterns for match in re.finditer(pattern, line)]


def row_of_screen(line, begin, end, column, y, marked):
    """One row, upon the grounds of what is marked in it. Its length is told, since the reader's font may be narrower or wider
    than ours; and a blank is one that no reader of SVG leaves out."""
    grounds, edge = [], len(line[:end].rstrip())
    for first, last in ((max(first, begin), min(last, edge)) for first, last in marked):
        if first < last:
            grounds.append(f'<rect class="mark" x="{EDGE + (column + first - begin) * WIDTH:.1f}" y="{y}" '
                           f'width="{(last - first) * WIDTH:.1f}" height="{HEIGHT}"/>')
    shown = html.escape(line[begin:end], quote=False).replace(" ", NO_BREAK)
    if line.startswith("$ "):
        prompt = '<tspan class="prompt">$</tspan>' if begin == 0 else ""
        shown = f'{prompt}<tspan class="command">{shown[1 if prompt else 0:]}</tspan>'
    return "".join(grounds) + (f'<text x="{EDGE + column * WIDTH:.1f}" y="{y + BASELINE:.1f}" '
                               f'textLength="{(end - begin) * WIDTH:.1f}">{shown}</text>' if shown else "")


def draw(lines, phrases=()):
    """The picture of these lines, of which those that begin with '$ ' are commands. Each of `phrases`, in which … stands for any
    text, is marked wherever it stands, and must stand somewhere."""
    for phrase in phrases:
        if not any(stretches(line, [phrase]) for line in lines):
            raise Missing(phrase)
    groups, y = [], EDGE
    for line in lines:
        shown, marked = "", stretches(line, phrases)
        for begin, end, column in rows_of(line):
            shown += row_of_screen(line, begin, end, column, y, marked)
            y += HEIGHT
        groups.append(f"<g>{shown}</g>")
    width, height = round(2 * EDGE + COLUMNS * WIDTH), y + EDGE
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-size="13" '
        "font-family=\"ui-monospace, 'DejaVu Sans Mono', 'Liberation Mono', Menlo, Consolas, monospace\">",
        f"<style>\n{STYLE}\n</style>",
        f'<rect class="ground" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="6"/>',
        *groups, "</svg>", ""])


def lines_of(picture):
    """The lines of which a picture was drawn."""
    root = xml.etree.ElementTree.fromstring(picture)
    return ["".join(group.itertext()).replace(NO_BREAK, " ") for group in root.iter(SVG + "g")]
