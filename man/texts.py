# SPDX-License-Identifier: BSD-3-Clause
"""Reads the texts of the manual pages of MPI's functions, man/functions/, with what lib/model.py knows of the
functions, and tells what a reader would not find. man/functions.py writes the pages.

The texts of a chapter stand in functions/CHAPTER.txt. Its first line is `chapter: N Title`, where N sorts the index.
Then come records. One begins with `= MPI_Name ...`: each of these functions gets a page with the record's text, in
which {object} is what its name says that it is about (communicator of MPI_Comm_set_name), {Object} that of the name
(Comm). The forms with large counts, _c, are told of on the page of the function itself. Below it stand lines
`key: text`, continued by lines that begin with two spaces; @name stands for that text of functions/shared.txt, whose
lines are `name: text`.

  summary        one line, for NAME and apropos
  about          a paragraph; may come again
  alone          a paragraph that does not hold of the forms; may come again
  arg NAME       what an argument means, where functions/arguments.txt does not say it: its lines are `NAME KIND: text`,
                 where KIND is kinds of lib/table/kinds.tsv between commas, or *; in, out or inout may follow
  returns        what a function returns, if it is not an error code
  errors         `MPI_ERR_X: when`; may come again. What follows from the kinds of arguments goes without saying
  kind           local or not, collective, blocking or not, whether it may synchronise
  threads        only if it is not what the table says
  checks         what Tutti looks at by default
  strict         what --check=strict looks at beyond that
  section        of the standard (MPI 5.0)
  see            names of functions, and of pages as mpirun(1)
  example        a file in functions/examples/; `example MPI_Name`: of that function or form alone
  form NAME      `MPI_Name SECTION summary`: a function of which this text holds as well, with that of the record
                 `= NAME` in functions/forms.txt: its paragraphs, errors, checks and names to see come beside these, its
                 other keys in the place of these. Without a summary of its own it has the form's

{waiter} is this rank, and on the page of a form the call that completes it. In texts `name` is an argument or what is
typed; names of functions and constants are set by themselves."""
import collections
import functools
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "lib"))
import model  # noqa: E402

TEXTS = HERE / "functions"
NO_CHAPTERS = ("arguments", "shared", "forms")
REPEATED = ("about", "alone", "errors")
KEYS = ("summary", "about", "alone", "arg", "returns", "errors", "kind", "threads", "checks", "strict", "section",
        "see", "example", "form")
ABOUT = {"Comm": "communicator", "Type": "datatype", "Win": "window", "File": "file", "Session": "session",
         "Group": "group", "Op": "operation", "Request": "request", "Message": "message", "Info": "info object",
         "Errhandler": "error handler", "Datatype": "datatype", "Status": "status"}


def fail(where, what):
    sys.exit(f"man/functions/{where}: {what}")


# ---------------------------------------------------------------- functions

STATUS_CONVERSIONS = {"c2f": ("MPI_Status", "MPI_Fint"), "f2c": ("MPI_Fint", "MPI_Status"),
                      "c2f08": ("MPI_Status", "MPI_F08_status"), "f082c": ("MPI_F08_status", "MPI_Status"),
                      "f082f": ("MPI_F08_status", "MPI_Fint"), "f2f08": ("MPI_Fint", "MPI_F08_status")}


def procedures():
    return {p.name: p for p in model.procedures() if p.is_called}


def parameters_of(function):
    """Those of both forms: (parameter, whether the form with large counts alone has it)."""
    large = model.functions_by_name().get(function.name + "_c")
    if not large or len(large.parameters) == len(function.parameters):
        return [(p, False) for p in function.parameters]
    names = [p.name for p in function.parameters]
    return [(p, p.name not in names) for p in large.parameters]


def converters():
    """What mpi.h defines by itself: from C to Fortran and back (lib/header.py)."""
    def function(name, returns, *parameters):
        return model.Function(name, returns, "", model.When.ALWAYS, model.Record.NOTHING, parameters=parameters)

    for handle in (h for h in model.handles() if not h.startswith("T_")):
        name, kind = "Type" if handle == "Datatype" else handle, "HANDLE_INT"
        yield function(f"MPI_{name}_c2f", "MPI_Fint", model.Parameter("handle", f"MPI_{handle}", kind, "in"))
        yield function(f"MPI_{name}_f2c", f"MPI_{handle}", model.Parameter("handle", "MPI_Fint", kind, "in"))
    for name, (old, new) in STATUS_CONVERSIONS.items():
        yield function(f"MPI_Status_{name}", "int", model.Parameter("from", f"const {old} *", "STATUS", "in"),
                       model.Parameter("to", f"{new} *", "STATUS", "out"))


def of_fortran_alone():
    for p in procedures().values():
        if p.name not in model.functions_by_name() and not p.name.startswith("MPI_Status_"):
            parameters = tuple(model.Parameter(a.name, "", a.kind, a.direction) for a in p.arguments)
            yield model.Function(p.name, "", "", model.When.ALWAYS, model.Record.NOTHING, parameters=parameters)


@functools.cache
def known():
    """Name -> Function, of all that may have a page: of C, of mpi.h, and of Fortran alone (these return nothing)."""
    return model.functions_by_name() | {f.name: f for f in (*converters(), *of_fortran_alone())}


# ---------------------------------------------------------------- texts

def logical_lines(file):
    """(number, text) with continuations joined."""
    found = []
    for number, line in enumerate((TEXTS / file).read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if line.startswith("  "):
            if not found:
                fail(f"{file}:{number}", "continues nothing")
            found[-1] = (found[-1][0], found[-1][1] + " " + line.strip())
        else:
            found.append((number, line))
    return found


def shared():
    split = (line.partition(":") for _, line in logical_lines("shared.txt"))
    return {name: text.strip() for name, _, text in split}


class Record:
    def __init__(self, names, where):
        self.names, self.where = names, where
        self.keys, self.arguments, self.forms = collections.defaultdict(list), {}, {}
        self.examples = {}  # of single functions of the record, or of forms

    def one(self, key):
        return self.keys[key][0] if self.keys[key] else ""


def records(file, texts):
    """The chapter's number and title, and its records."""
    title, found = "", []
    for number, line in logical_lines(file):
        where = f"{file}:{number}"
        if line.startswith("chapter: "):
            title = line.removeprefix("chapter: ")
            continue
        if line.startswith("= "):
            found.append(Record(line[2:].split(), where))
            continue
        key, colon, text = line.partition(":")
        word, _, name = key.partition(" ")
        if not colon or not found or word not in KEYS or word != "example" and bool(name) != (word in ("arg", "form")):
            fail(where, f"no key is called {key}")
        def shared_text(m):
            return texts[m[1]] if m[1] in texts else fail(where, f"there is no text {m[0]}")

        text = re.sub(r"@([a-z][a-z-]*[a-z])", shared_text, text.strip())
        record = found[-1]
        if word == "arg":
            record.arguments[name] = text
        elif word == "example" and name:
            record.examples[name] = text
        elif word == "form":
            function, section, *summary = text.split(maxsplit=2)
            record.forms[function] = (name, section, *summary)
        elif record.keys[key] and key not in REPEATED:
            fail(where, f"a second {key}")
        else:
            record.keys[key].append(text)
    return title, found


class Page:
    """What is known of one function, with the keys of its record and of its form."""

    def __init__(self, name, chapter, record, form=None, section="", summary=""):
        self.name, self.chapter, self.record, self.form = name, chapter, record, form
        self.keys = {key: list(texts) for key, texts in record.keys.items()}
        self.arguments = dict(record.arguments)
        self.family = [n for n in (*record.names, *record.forms) if n != name]
        alone = self.keys.pop("alone", [])
        self.keys["about"] = self.keys.get("about", []) + ([] if form else alone)
        if form:
            of = record.names[0]
            for key, texts in form.keys.items():
                texts = [t.replace("{of}", of).replace("{summary}", self.one("summary")) for t in texts]
                if key in ("about", "errors"):
                    self.keys[key] = self.keys.get(key, []) + texts
                elif key == "see":
                    self.keys[key] = [of + " " + texts[0] + " " + self.one(key)]
                elif key in ("checks", "strict") and self.one(key):
                    self.keys[key] = [self.one(key).rstrip(".") + "; " + texts[0]]
                else:
                    self.keys[key] = texts
            self.arguments.update(form.arguments)
            self.keys["example"] = form.keys["example"]
            self.keys["section"] = [section]
            if summary:
                self.keys["summary"] = [summary]
        if name in record.examples:
            self.keys["example"] = [record.examples[name]]
        prefix = next((p for p in re.findall(r"^MPI_([A-Z][a-z]+)_", name) if p in ABOUT), "")
        for key, texts in self.keys.items():
            self.keys[key] = [self.filled(t, prefix) for t in texts]
        self.arguments = {n: self.filled(t, prefix) for n, t in self.arguments.items()}

    def filled(self, text, prefix):
        if "{object}" in text or "{Object}" in text:
            if not prefix:
                fail(self.record.where, f"{self.name} does not say what {{object}} is")
            text = text.replace("{object}", ABOUT[prefix]).replace("{Object}", prefix)
        return text.replace("{waiter}", "the call that completes it" if self.form else "this rank")

    def one(self, key):
        return (self.keys.get(key) or [""])[0]

    def all(self, key):
        return self.keys.get(key, [])


def pages():
    """(name -> Page, [(number, title, file)])"""
    texts = shared()
    forms = {r.names[0]: r for r in records("forms.txt", texts)[1]}
    found, chapters = {}, []
    for path in sorted(TEXTS.glob("*.txt")):
        if path.stem in NO_CHAPTERS:
            continue
        title, of_chapter = records(path.name, texts)
        number, _, title = title.partition(" ")
        if not number.isdigit():
            fail(path.name, "does not begin with `chapter: N Title`")
        chapters.append((int(number), title, path.stem))

        def add(name, *rest):
            if name in found:
                fail(rest[0].where, f"{name} is described twice")
            if name not in known():
                fail(rest[0].where, f"there is no function {name}")
            found[name] = Page(name, path.stem, *rest)

        for record in of_chapter:
            for name in record.names:
                add(name, record)
            for name, (form, *rest) in record.forms.items():
                if form not in forms:
                    fail(record.where, f"there is no form {form}")
                add(name, record, forms[form], *rest)
    return found, sorted(chapters)


def base_functions():
    return [f for f in known().values() if not f.is_large_form]


def argument_texts():
    """[(name, kinds or None, direction or None, text)]; those that say more come first."""
    found = []
    for number, line in logical_lines("arguments.txt"):
        key, _, text = line.partition(": ")
        name, kinds, *direction = key.split()
        if kinds != "*" and set(kinds.split(",")) - set(model.kinds()):
            fail(f"arguments.txt:{number}", f"no kinds are called {kinds}")
        found.append((name, None if kinds == "*" else kinds.split(","), (direction + [None])[0], text.strip()))
    return sorted(found, key=lambda r: (r[0] == "*", r[2] is None, r[1] is None))


def meaning(page, parameter, texts):
    if parameter.name in page.arguments:
        return page.arguments[parameter.name]
    for name, kinds, direction, text in texts:
        if name in ("*", parameter.name) and (not kinds or parameter.kind in kinds) and direction in (
                None, parameter.direction):
            prefix = next((p for p in re.findall(r"^MPI_([A-Z][a-z]+)_", page.name) if p in ABOUT), "")
            return page.filled(text, prefix)
    return ""


# ---------------------------------------------------------------- what is not there

def calls(example, name):
    path = TEXTS / "examples" / example
    return not path.exists() or re.search(rf"\b{name}\b", path.read_text())


def missing(found):
    """What a reader would not find: one line each; and examples that no page shows."""
    texts, out = argument_texts(), []
    shown = {page.one("example"): name for name, page in found.items() if page.one("example")}
    out += [f"{name} has no example {file}" for file, name in shown.items() if not (TEXTS / "examples" / file).exists()]
    out += [f"{name} is not called by its example {page.one('example')}" for name, page in found.items()
            if page.one("example") and not calls(page.one("example"), name)]
    out += [f"examples/{path.name} stands on no page" for path in sorted((TEXTS / "examples").glob("*.c")) if
            path.name not in shown]
    for function in base_functions():
        page = found.get(function.name)
        if not page:
            out.append(f"{function.name} is not described")
            continue
        for key in ("summary", "about", "kind", "section"):
            if not page.one(key):
                out.append(f"{function.name} has no {key}")
        parameters = [p for p, _ in parameters_of(function)]
        for p in parameters:
            if p.type != "..." and not meaning(page, p, texts):
                out.append(f"{function.name} does not say what {p.name} ({p.kind}, {p.direction}) means")
        names = [p.name for p in parameters]
        out += [f"{function.name} describes {name}, which is no argument of it" for name in page.arguments
                if name not in names and len(page.record.names) + len(page.record.forms) == 1]
        out += [f"{function.name} names {name}, which there is not" for name in page.one("see").split()
                if not (name in known() or re.fullmatch(r"(mpi|tutti)[\w.-]*\(\d\)", name))]
        for texts_of in (*page.keys.values(), list(page.arguments.values())):
            for name in re.findall(r"\bMPI_[A-Z][a-z]\w*[a-z]\b", " ".join(texts_of)):
                if name not in known() and name not in TYPES:
                    out.append(f"{function.name} speaks of {name}, which there is not")
    return out


TYPES = set(re.findall(r"MPI_\w+", " ".join(model.callbacks()))) | {"MPI_" + name for name in model.handles()} | {
    "MPI_F08_status", "MPI_Aint", "MPI_Count", "MPI_Offset", "MPI_Fint", "MPI_Status", "MPI_T_cb_safety",
    "MPI_T_source_order"}
