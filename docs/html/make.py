# SPDX-License-Identifier: BSD-3-Clause
"""Makes the web pages of the repository's Markdown and of the manual.   usage: make.py FOLDER, which gets html/, for
any web server; what Sphinx reads stands beside it, in pages/. `./dev docs` installs what this needs, and calls it.

The pages for people stay plain Markdown; here they get what only a web site needs. A page has the name that PAGES gives
it, or keeps that of docs/. Its links to other pages follow; other files that it links to come along; a manual page or a
function of MPI that its text names, as mpirun(1) or `MPI_Send`, becomes a link. A manual page becomes a page
man/NAME.SECTION by mandoc. What cannot be found ends with a sentence."""
import html
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
PAGES = {"docs/README.md": "index", "README.md": "about", "CHANGELOG.md": "changes", "CONTRIBUTING.md": "contributing",
         "packaging/README.md": "packaging"}
# The menu. Users get each page of docs/ that stands nowhere else; of the manual only what is no function of MPI's.
GROUPS = {
    "For users": [],
    "For administrators": ["clusters", "operation", "containers", "upgrading", "promises", "packaging"],
    "Manual pages": ["MPI's functions <man/tutti-functions.7>"],
    "For developers": ["design", "scale", "Contributing <contributing>"],
    "About Tutti": ["Overview <about>", "limits", "performance", "changes"],
}


def fail(sentence):
    sys.exit(f"docs/html/make.py: {sentence}")


# ---------------------------------------------------------------- the manual

def read_manual(made):
    """Name of a page, as mpirun.1, -> its text, or the name of the page that it stands on (mpiexec.1 on mpirun.1)."""
    subprocess.run([sys.executable, SOURCE / "man" / "functions.py", made], check=True)
    files = [*(SOURCE / "man").glob("*.[1-8]"), *made.glob("man?/*")]
    texts = {path.name: path.read_text() for path in sorted(files)}
    return {name: pathlib.PurePath(text.split()[1]).name if text.startswith(".so ") else text
            for name, text in texts.items()}


class Names:
    """Finds which page of the site something stands on."""

    def __init__(self, manual):
        self.manual = manual
        self.pages = {f"docs/{path.name}": path.stem for path in (SOURCE / "docs").glob("*.md")} | PAGES

    def manual_page(self, name, section, where):
        """mpirun, 1 -> man/mpirun.1. Of pages that are not Tutti's there is none."""
        page = f"{name}.{section}"
        text = self.manual.get(page)
        if text is None:
            if re.match("(mpi|tutti|MPI_)", name):
                fail(f"{where} names {name}({section}), and there is no such manual page")
            return None
        return "man/" + (text if text in self.manual else page)

    def function(self, name):
        return self.manual_page(name, 3, "") if f"{name}.3" in self.manual else None

    def code(self, text):
        """MPI_Send, or man mpirun."""
        if not text.startswith("man "):
            return self.function(text)
        return next((self.manual_page(text[4:], section, "") for section in range(1, 9)
                     if f"{text[4:]}.{section}" in self.manual), None)


NAMED = r"\b(?P<page>[a-zA-Z][\w.-]*)\((?P<section>[1-8])\)|\b(?P<function>MPI_[A-Z]\w+)\b(?!\()"


def mandoc(name, text):
    """The HTML of a page, without its head and foot."""
    # In an example mandoc begins a paragraph at a line that begins with a space, and leaves out one that is empty.
    def example(match):
        return match[1] + re.sub("^(?= )", r"\\&", re.sub("^$", r"\\~", match[2][:-1], flags=re.M), flags=re.M) + "\n"

    text = re.sub(r"(^\.(?:nf|EX)\n)(.*?)(?=^\.(?:fi|EE)$)", example, text, flags=re.M | re.S)
    made = subprocess.run(["mandoc", "-K", "utf-8", "-T", "html", "-O", "fragment"], input=text, capture_output=True,
                          text=True)
    body = re.search(r'<div class="manual-text">\n(.*)</div>\n<table class="foot">', made.stdout, re.S)
    if made.returncode or not body:
        fail(f"mandoc cannot read {name}: {made.stderr.strip() or 'it prints no page'}")
    # Nor does it leave out what is empty.
    return re.sub(r'<p class="Pp"></p>\n|<pre>\s*</pre>\n|<dt></dt>', "", body[1])


def coloured(example):
    """An example as Sphinx would show it, in the language that it looks like."""
    from pygments import formatters, highlight, lexers  # here, for main() has seen that they are there
    code = textwrap.dedent(html.unescape(re.sub("<.*?>", "", example)).replace("\n\u00a0\n", "\n\n").strip("\n"))
    language = ("c" if "#include" in code or re.search(r"^int MPI_", code, re.M) else "console" if code.startswith("$ ")
                else "fortran" if " :: " in code else "text")
    made = highlight(code, lexers.get_lexer_by_name(language), formatters.HtmlFormatter(cssclass="highlight"))
    return f'<div class="highlight-{language}">{made}</div>'


def linked_manual(name, fragment, names):
    """Examples of a fragment get colours, and the names of pages and of MPI's functions elsewhere become links."""
    def link(match):
        page = names.manual_page(match[1], match[2], name) if match[1] else names.function(match[3])
        if not page or page == f"man/{name}":
            return match[0]
        return f'<a href="{page.removeprefix("man/")}.html">{match[0]}</a>'

    def term(match):
        """What a list explains is no link to itself, as mandoc has it, for it may be one to another page; nor is it
        called by its name alone, for a heading may have the same."""
        return (f'<dt id="term-{match[1]}">{match[2]}'
                f'<a class="headerlink" href="#term-{match[1]}" title="Link to this">#</a></dt>')

    fragment = fragment.replace('<dl class="Bl-tag">', '<dl class="simple">')  # other classes are Furo's for interfaces
    fragment = re.sub(r"<dt>(?=\d+\.</dt>)", '<dt class="mark">', fragment)
    fragment = re.sub(r'<dt id="(.*?)"><a class="permalink" href=".*?">(.*?)</a></dt>', term, fragment, flags=re.S)
    parts = re.split(r"<pre>(.*?)</pre>", fragment, flags=re.S)
    for i, part in enumerate(parts):
        parts[i] = (coloured(part) if i % 2 else
                    re.sub(r"<b>(?:([\w.-]+)</b>\(([1-8])\)|(?=MPI_)(\w+)</b>(?!\())", link, part))
    return "".join(parts)


def manual_page(name, text, names):
    """A page of reStructuredText: a heading for each of the manual's, so that Sphinx knows them, and HTML below it."""
    page, _, section = name.rpartition(".")
    lines = [":orphan:", ""] if section == "3" else []
    title = f"{page}({section})"
    lines += [title, "=" * len(title), ""]
    for level, heading, fragment in re.findall(
            r'<(h[12]) class="S[hs]" id=.*?>(.*?)</\1>\n(.*?)(?=<section|</section|\Z)', mandoc(name, text), re.S):
        heading = html.unescape(" ".join(re.sub("<.*?>", "", heading).split()))
        if heading != "NAME":
            lines += [heading.replace("*", "\\*"), ("-" if level == "h1" else "~") * len(heading), ""]
        if fragment.strip():
            lines += [".. raw:: html", "", '   <div class="manual">']
            lines += ["   " + line for line in linked_manual(name, fragment, names).splitlines()] + ["   </div>", ""]
    return "\n".join(lines)


# ---------------------------------------------------------------- Markdown

def markdown_page(path, names, folder):
    """The page of a file of the repository."""
    text = re.sub(r"^ *<!--.*?-->\n", "", (SOURCE / path).read_text(), flags=re.M | re.S)
    here = (SOURCE / path).parent

    def link(match):
        target, hash, anchor = match[2].partition("#")
        if re.match(r"\w+:", target) or not target:
            return match[0]
        file = (here / target).resolve()
        if file.is_dir() and not (file / "README.md").exists():
            return match[1][1:-1]  # a folder of files is nothing that a web page shows
        file = file / "README.md" if file.is_dir() else file
        if not file.exists() or SOURCE not in file.parents:
            fail(f"{path} links to {target}, and there is no such file")
        inside = str(file.relative_to(SOURCE))
        if inside in names.pages:
            return f"{match[1]}({names.pages[inside]}.md{hash}{anchor})"
        (folder / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, folder / inside)
        return f"{match[1]}({inside})"

    def name(match):
        page = (names.manual_page(match["page"], match["section"], path) if match["page"] else
                names.function(match["function"]))
        return f"[{match[0]}]({page}.rst)" if page else match[0]

    def code(text):
        """`MPI_Send` and `man mpirun` are links; a block that names its file has the name above it, and what our
        commands print is of a terminal."""
        if text.lstrip().startswith("```"):
            text = re.sub(r"\A```\n(?=tutti: |job )", "```console\n", text)
            return re.sub(r"\A( *)```(\w+) (\S+)\n", r"\1```{code-block} \2\n\1:caption: \3\n\n", text)
        page = names.code(text.strip("`"))
        return f"[{text}]({page}.rst)" if page else text

    parts = re.split(r"(^ *```.*?^ *```$|`[^`]+`|!?\[[^\]]*\]\([^)\s]+\)|^#.*?$)", text, flags=re.M | re.S)
    for i, part in enumerate(parts):
        if part.lstrip().startswith("`"):
            parts[i] = code(part)
        elif i % 2 == 0:
            parts[i] = re.sub(NAMED, name, part)
        elif not part.startswith("#"):
            parts[i] = re.sub(r"^(!?\[[^\]]*\])\((\S+)\)$", link, part, flags=re.S)
    return "".join(parts)


def menu(names):
    """Below the first page, for Sphinx alone: which pages there are, for whom."""
    listed = re.findall(r"\(([\w-]+)\.md\)", (SOURCE / "docs" / "README.md").read_text())
    groups = {caption: list(pages) for caption, pages in GROUPS.items()}
    elsewhere = {page.strip(">").rpartition("<")[2] for pages in GROUPS.values() for page in pages}
    groups["For users"] += [page for page in listed if page not in elsewhere]
    own = [name for name, text in names.manual.items() if not name.endswith(".3") and text not in names.manual]
    own.sort(key=lambda name: (name.rpartition(".")[2], name != "mpirun.1", name))
    groups["Manual pages"] += [f"man/{name}" for name in own if f"man/{name}" not in elsewhere]
    return "\n" + "\n".join("\n".join(["```{toctree}", f":caption: {caption}", ":hidden:", "", *pages, "```", ""])
                            for caption, pages in groups.items())


def write_pages(folder):
    (folder / "man").mkdir(parents=True)
    names = Names(read_manual(folder.with_name("manual")))
    for path, page in names.pages.items():
        text = markdown_page(path, names, folder)
        if page == "index":
            text = f"---\nhide-toc: true\n---\n{text}{menu(names)}"
        (folder / f"{page}.md").write_text(text)
    for name, text in names.manual.items():
        if text not in names.manual:
            (folder / "man" / f"{name}.rst").write_text(manual_page(name, text, names))


def main():
    if len(sys.argv) != 2:
        fail("one argument is wanted, the folder that gets the pages")
    missing = [name for name in ("sphinx", "myst_parser", "furo", "pygments") if not importlib.util.find_spec(name)]
    missing += [] if shutil.which("mandoc") else ["mandoc"]
    if missing:
        fail(f"{sys.executable} does not find {', '.join(missing)}; `./dev docs` installs what is needed, for "
             "/usr/bin/python3")
    folder = pathlib.Path(sys.argv[1]).absolute()
    for name in ("pages", "manual", "doctrees", "html"):
        shutil.rmtree(folder / name, ignore_errors=True)
    write_pages(folder / "pages")
    # A link to nothing is a warning of Sphinx's, and by -W an error.
    made = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", str(os.cpu_count()),
                           "-b", "html", "-c", HERE, "-d", folder / "doctrees", folder / "pages", folder / "html"])
    if made.returncode:
        fail("Sphinx has found something wrong with the pages; see its messages above, which name them in "
             f"{folder / 'pages'}")
    print(f"{len(list((folder / 'html').rglob('*.html')))} pages: {folder / 'html' / 'index.html'}")


main()
