# SPDX-License-Identifier: BSD-3-Clause
"""Makes the manual pages of MPI's functions, MPI_*.3, and their index, tutti-functions.7, of what lib/model.py knows
and of the texts in man/functions/, which man/texts.py reads; it also says how one looks.
usage: functions.py FOLDER, which gets man3/ and man7/; or functions.py --missing, which tells what is not described,
and fails if something is not."""
import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "lib"))
import fortran  # noqa: E402
import model  # noqa: E402
from texts import (ABOUT, TEXTS, argument_texts, fail, known, meaning, missing, pages, parameters_of,  # noqa: E402
                   procedures)

# What a bad argument of a kind of handle, or of a name, gives (lib/entry.hpp).
HANDLE_ERRORS = {"Comm": "MPI_ERR_COMM", "Datatype": "MPI_ERR_TYPE", "Op": "MPI_ERR_OP", "Group": "MPI_ERR_GROUP",
                 "Errhandler": "MPI_ERR_ERRHANDLER", "Info": "MPI_ERR_INFO", "Request": "MPI_ERR_REQUEST",
                 "Message": "MPI_ERR_REQUEST", "Win": "MPI_ERR_WIN", "File": "MPI_ERR_FILE",
                 "Session": "MPI_ERR_SESSION"}


# ---------------------------------------------------------------- roff

def escaped(text):
    return text.replace("\\", "\\\\").replace("-", "\\-")


def rich(text):
    """A text with functions, constants and what stands between ` set."""
    out = []
    for number, part in enumerate(text.split("`")):
        if number % 2:
            is_name = re.fullmatch(r"[a-z_0-9]+", part)
            out.append(("\\fI" if is_name else "\\fB") + escaped(part) + "\\fP")
            continue
        part = escaped(part)
        part = re.sub(r"\bMPI_(?:[A-Z][a-z]\w*|T_[a-z]\w*)\b(?!\()", lambda m: "\\fB" + m[0] + "\\fP(3)" if
                      m[0].removesuffix("_c") in known() else "\\fB" + m[0] + "\\fP", part)
        part = re.sub(r"\bMPI_[A-Z0-9_]{2,}\b", lambda m: "\\fB" + m[0] + "\\fP", part)
        part = re.sub(r"\b(mpirun|mpicc|mpifort|tutti(?:\\-[a-z]+|\.yaml)?)\((\d)\)", r"\\fB\1\\fP(\2)", part)
        part = re.sub(r"(\\-\\-[a-z][\w=\\-]*)", r"\\fB\1\\fP", part)
        out.append(part)
    text = "".join(out)
    return "\\&" + text if text.startswith((".", "'")) else text


def wrapped(text, width=100):
    """Lines of roff: none may begin with a dot by chance."""
    lines, current = [], ""
    for word in text.split():
        if current and len(current) + len(word) + 1 > width:
            lines.append(current)
            current = ("\\&" if word.startswith((".", "'")) else "") + word
        else:
            current += (" " if current else "") + word
    return lines + ([current] if current else [])


def code(lines):
    return [".nf", *("\\&" + escaped(line) if line.startswith((".", "'")) else escaped(line) for line in lines), ".fi"]


def c_signature(function):
    head = f"{function.returns} {function.name}("
    line, lines = head, []
    declarations = [p.declaration() for p in function.parameters] or ["void"]
    for number, text in enumerate(declarations):
        text += ");" if number + 1 == len(declarations) else ", "
        if len(line) + len(text) > 80 and line.strip() and number:
            lines.append(line.rstrip())
            line = "    "
        line += text
    return lines + [line]


def fortran_signature(procedure, form):
    name = procedure.name
    arguments = [a.name for a in procedure.arguments]
    ierror = not procedure.returns and not procedure.no_ierror
    call = f"{name}({', '.join(arguments + (['ierror'] if ierror else []))})"
    lines, line = [], ""
    for word in call.replace(", ", ",\0").split("\0"):
        if len(line) + len(word) > 78:
            lines.append(line.rstrip())
            line = "    "
        line += word + (" " if word.endswith(",") else "")
    lines.append(line)
    grouped = collections.OrderedDict()
    for a in procedure.arguments:
        for text in fortran.declare(procedure, a, form):
            if text.startswith("!"):
                continue
            kind, _, declared = text.partition(" :: ")
            kind = kind.replace("type(*), dimension(*)", "<type>") if form == 0 else kind
            declared += "(*)" if kind == "<type>" else ""
            grouped.setdefault(kind.replace("integer(KIND", "INTEGER(KIND"), []).append(declared)
    for kind, names in grouped.items():
        words = "type|dimension|intent|in|out|inout|asynchronous|procedure|external|character|len|value"
        kind = re.sub(rf"\b({words})\b(?!>)", lambda m: m[0].upper(), kind)
        declared = f"    {kind} :: "
        line = declared + ", ".join(names)
        if len(line) > 84:
            line, rest = declared, list(names)
            for number, n in enumerate(rest):
                n += "" if number + 1 == len(rest) else ", "
                if len(line) + len(n) > 84:
                    lines.append(line.rstrip() + " &")
                    line = "        "
                line += n
        lines.append(line)
    if procedure.returns and procedure.returns != "NOTHING":
        lines.append(f"    {fortran.TYPES[procedure.returns][1 if form else 0]} :: {name}")
    if ierror:
        lines.append("    INTEGER, OPTIONAL, INTENT(OUT) :: ierror" if form else "    INTEGER :: ierror")
    return lines


# ---------------------------------------------------------------- a page

SIGNIFICANT = {"at root": "It means something on the root alone.",
               "at leader": "It means something on the leader alone.",
               "behind rank 0": "It means something on all ranks but 0, unless `sendbuf` is MPI_IN_PLACE there.",
               "unless op": "It means nothing where `op` is MPI_NO_OP."}


def facts(function, p, said, is_persistent):
    """Sentences about an argument that the table knows, beside what is said of it."""
    found = []
    if p.or_null and p.kind.startswith("RANK") and "MPI_PROC_NULL" not in said:
        found.append("MPI_PROC_NULL is nobody: then nothing is transferred, and the call succeeds.")
    elif p.or_null and p.handle and "_NULL" not in said:
        found.append(f"MPI_{p.handle.upper()}_NULL may be given.")
    elif p.or_null and "NULL" not in said:
        found.append("It may be NULL where there is nothing to give or to get.")
    if p.or_any:
        found.append("MPI_ANY_SOURCE is any rank." if p.kind.startswith("RANK") else "MPI_ANY_TAG is any tag.")
    if any(q.significant == f"unless {p.name}" for q in function.parameters) and p.kind == "BUFFER":
        found.append("The root may give MPI_IN_PLACE." if function.is_rooted else "It may be MPI_IN_PLACE.")
    if p.significant in SIGNIFICANT:
        found.append(SIGNIFICANT[p.significant])
    elif p.significant.startswith("unless ") and p.significant != f"unless {p.name}":
        found.append(f"It means nothing where `{p.significant.split()[1]}` is MPI_IN_PLACE.")
    if p.type.endswith("]") and p.length and p.length not in ("*",):
        lengths = p.length.split(",")
        if all(re.fullmatch(r"\w+", n) for n in lengths):
            what = " times ".join(n if n.isdigit() else f"`{n}`" for n in lengths)
            found.append(f"An array of length {what}." if len(lengths) == 1 else f"An array of {what} values.")
    fortran_name = model.differences().get((function.name, p.name), {}).get("name")
    if fortran_name and fortran_name not in said:
        found.append(f"In Fortran it is called `{fortran_name}`.")
    if p.asynchronous and is_persistent and p.kind != "BUFFER":
        found.append("It must not change until the request is freed.")
    elif p.asynchronous:
        when = "while the request is active" if is_persistent else "until the operation is complete"
        found.append(f"It must not change {when}." if p.direction == "in" else f"It is in use {when}.")
    return found


def arguments(page, function, texts):
    out = []
    is_persistent = function.name in procedures() and procedures()[function.name].is_persistent
    for p, is_extra in parameters_of(function):
        if p.type == "...":
            continue
        text = meaning(page, p, texts)
        said = " ".join([text[:1].upper() + text[1:].rstrip(".") + "."] + facts(function, p, text, is_persistent))
        alone = f", of {function.name}_c alone" if is_extra else ""
        out += [".TP", f"\\fI{p.name}\\fP ({p.direction}{alone})", *wrapped(rich(said))]
    return out


def wrong(function, p):
    """(class, when) of an argument that is no good at all, as the entry points judge it (lib/entries.py)."""
    on_window = any(q.type == "MPI_Win" for q in function.parameters)
    on_comm = any(q.type == "MPI_Comm" for q in function.parameters)
    is_array = p.type.endswith("]")
    given = p.direction != "out"
    if given and p.handle in HANDLE_ERRORS:
        if p.may_be_freed or is_array and p.handle in ("Request", "Info"):  # the records say it
            return None
        uncommitted = p.handle == "Datatype" and function.moves_data and p.direction == "in"
        return HANDLE_ERRORS[p.handle], (f"an entry of `{p.name}`" if is_array else f"`{p.name}`") + \
            f" is no {ABOUT[p.handle]}" + (", or is not committed" if uncommitted else "")
    if given and p.what.value in ("elements", "bytes", "length") and not p.may_be_negative:
        if is_array:
            return ("MPI_ERR_COUNT", f"`{p.name}` has a negative number") if function.moves_data else None
        return "MPI_ERR_COUNT", f"`{p.name}` is negative"
    if p.kind == "TAG" and p.type == "int" and given and on_comm:
        return "MPI_ERR_TAG", f"`{p.name}` is negative" + (" and not MPI_ANY_TAG" if p.or_any else "")
    if p.name == "root" and on_comm:
        return "MPI_ERR_ROOT", "`root` is no rank of the communicator"
    if p.kind.startswith("RANK") and p.type == "int" and given and (p.or_null or on_window):
        others = (", nor MPI_PROC_NULL" if p.or_null else "") + (", nor MPI_ANY_SOURCE" if p.or_any else "")
        return "MPI_ERR_RANK", f"`{p.name}` is no rank of the {'window' if on_window else 'communicator'}{others}"
    if p.kind == "BUFFER" and function.moves_data and not function.neighbors and not p.address_only:
        is_collective = any(q.name in ("sendbuf", "buffer") for q in function.parameters) and on_comm and not any(
            q.name == "dest" for q in function.parameters)
        if p.name == "base":  # what NULL means, the record says
            return "MPI_ERR_BUFFER", "`base` is MPI_IN_PLACE"
        return "MPI_ERR_BUFFER", f"`{p.name}` is NULL though it is not empty" + (
            "" if is_collective else ", or is MPI_IN_PLACE")
    is_own = p.what.value == "own" and not p.kind.startswith("ATTRIBUTE_VAL") or p.kind == "STATUS" and not given
    if p.type.endswith("*") and not is_own and not p.or_null and p.kind != "BUFFER":
        return "MPI_ERR_ARG", f"`{p.name}` is NULL"
    return None


def errors(page, function):
    """[(class, when)]: what follows from the arguments, and behind that what the record says."""
    if function.is_tool:
        return [tuple(text.split(": ", 1)) for text in page.all("errors")]
    implied = collections.defaultdict(list)
    for name, when in filter(None, (wrong(function, p) for p in function.parameters)):
        implied[name].append(when)
    found = {name: [", or ".join(when)] for name, when in implied.items()}
    for text in page.all("errors"):
        name, colon, when = text.partition(": ")
        if not colon:
            fail(page.record.where, f"errors: {text} says no class, or not when")
        if when not in found.setdefault(name, []):
            found[name].append(when)
    return sorted((name, "; ".join(when)) for name, when in found.items())


RAISED_ON = (("MPI_Comm", "the communicator"), ("MPI_Win", "the window"), ("MPI_File", "the file"),
             ("MPI_Session", "the session"))


def raised(function):
    if function.is_tool:
        return "Errors of the tool information interface are returned, and never raised on an error handler."
    if function.errors_on.startswith("new"):
        return "Errors are raised on the error handler that the call is given."
    if function.errors_on == "no file":
        return "Errors are raised on the error handler of MPI_FILE_NULL, which returns them unless the program sets " \
               "another one."
    for kind, what in RAISED_ON:
        if any(p.type in (kind, kind + " *") and p.direction != "out" for p in function.parameters):
            return f"Errors are raised on the error handler of {what}" + (
                ", which returns them unless the program sets another one." if kind == "MPI_File" else
                "; unless the program sets another one, that ends the job.")
    if any(p.kind == "REQUEST" for p in function.parameters):
        return "Errors are raised on the error handler of what the operation is on; unless the program sets another " \
               "one, that ends the job."
    return "Errors are raised on the error handler of MPI_COMM_SELF; unless the program sets another one, that ends " \
           "the job."


def threads(page, function):
    if page.one("threads"):
        return page.one("threads")
    if function.is_tool:
        return "It may be called at any time between MPI_T_init_thread and MPI_T_finalize, also before MPI_Init and " \
               "after MPI_Finalize, and by any thread."
    if function.when is model.When.ALWAYS or function.to_int or function.from_int:
        return "It may be called at any time, also before MPI_Init and after MPI_Finalize, and by any thread."
    if function.when is model.When.ANY_THREAD:
        return "It may be called by any thread, whatever the level of thread support."
    return "It may be called by the threads that the level of thread support admits (MPI_Init_thread)."


def see_also(page):
    names = [n for n in dict.fromkeys(page.one("see").split()) if n != page.name]
    names += [n for n in page.family if n not in names]
    names += [n for n in ("tutti-check(7)", "tutti-functions(7)") if n not in names]
    return names


def example(page):
    """The program, what it is for before it, and behind it what it prints, as its last comment says."""
    name = page.one("example")
    if not name:
        return []
    path = TEXTS / "examples" / name
    text = path.read_text() if path.exists() else fail(page.record.where, f"there is no example {name}")
    parts = re.fullmatch(r"/\* SPDX[^\n]*\n/\* (.*?) \*/\n(.*)\n/\* (.*):\n(.*?) \*/\n", text, re.S)
    if not parts:
        fail(f"examples/{name}", "does not begin with two comments, or does not end in one with what it prints")
    purpose, program, command, printed = parts.groups()
    said = re.sub(r"^(mpirun.*) prints", r"`\1 program` prints", command) + ":"
    return [".SH EXAMPLE", *wrapped(rich(purpose)), ".PP", *code(program.splitlines()), ".PP", *wrapped(rich(said)),
            ".PP", *code(printed.splitlines())]


def roff(page, texts):
    function = known()[page.name]
    large = model.functions_by_name().get(page.name + "_c")
    names = [page.name] + ([large.name] if large else [])
    out = [f'.TH {page.name} 3 "" "Tutti" "MPI"', ".SH NAME",
           f"{', '.join(names)} \\- {escaped(page.one('summary').rstrip('.'))}", ".SH SYNOPSIS"]
    if function.returns:
        lines = ["#include <mpi.h>", "", *c_signature(function), *(["", *c_signature(large)] if large else [])]
        out += [".SS C", *code(lines)]
    procedure = procedures().get(page.name)
    if procedure:
        if not procedure.old:
            lines = ["use mpi_f08", "", *fortran_signature(procedure, 1)]
            if procedure.large and (fortran.differ(procedure) or procedure.large_has_own_name):
                with_large = procedure.with_large_counts
                lines += ["", *(["! with large counts, by the same name" if not procedure.large_has_own_name else
                                 "! with large counts"]), *fortran_signature(with_large, 2)]
                if not procedure.large_has_own_name:
                    lines = [line.replace(with_large.name + "(", page.name + "(") for line in lines]
            out += [".SS Fortran with mpi_f08", *code(lines)]
        which = "use mpi" if procedure.modules_alone else "use mpi, or include 'mpif.h'"
        out += [".SS Fortran with mpi or mpif.h", *code(["! " + which, "", *fortran_signature(procedure, 0)])]
    out += [".SH DESCRIPTION"]
    if function.deprecated:
        instead = f": {page.name.removesuffix('_x')}_c has taken its place" if function.is_old_large else ""
        out += wrapped(rich(f"Deprecated since {function.deprecated.replace('-', ' ')}{instead}.")) + [".PP"]
    for number, text in enumerate(page.all("about")):
        out += ([".PP"] if number else []) + wrapped(rich(text))
    if large:
        one_name = procedure and not procedure.large_has_own_name
        out += [".PP", *wrapped(rich(f"{large.name} is the same with counts and sizes of 64 bits" + (
            "; in Fortran `use mpi_f08` has it under the one name." if one_name else ".")))]
    for old in (r.name for r in model.removed() if r.instead == page.name and "," in r.parameters):
        out += [".PP", *wrapped(rich(f"`{old}`, which MPI 3.0 removed, is its old name, or an old form of it. "
                                     "mpi.h has it with `-DMPI_COMPATIBILITY=1`."))]
    if any(p.type != "..." for p in function.parameters):
        out += [".SH ARGUMENTS", *arguments(page, function, texts)]
    out += [".SH RETURN VALUE"]
    if page.one("returns"):
        out += wrapped(rich(page.one("returns")))
    else:
        out += wrapped(rich("MPI_SUCCESS, or the code of an error (MPI_Error_class)." + (
            " In Fortran `ierror` gets it." if procedure and not procedure.no_ierror else "")))
    if not page.one("returns"):
        out += [".SH ERRORS", *wrapped(rich(raised(function)))]
        for name, when in errors(page, function):
            out += [".TP", f".B {name}", *wrapped(rich(when[:1].upper() + when[1:].rstrip(".") + "."))]
    out += [".SH KIND", *wrapped(rich(page.one("kind"))), *wrapped(rich(threads(page, function)))]
    out += [".SH WHAT TUTTI CHECKS"]
    out += wrapped(rich(page.one("checks") or "The arguments of each call."))
    if page.one("strict"):
        out += [".PP", *wrapped(rich("With `--check=strict`: " + page.one("strict")))]
    section = page.one("section")
    deprecated = f"MPI 5.0, sections {section} and 16.4."  # where those of 4.1 are
    out += [".SH STANDARD", *wrapped(deprecated if function.is_old_large else f"MPI 5.0, section {section}.")]
    out += example(page)
    out += [".SH SEE ALSO"]
    names = see_also(page)
    for number, name in enumerate(names):
        base, _, section = name.partition("(")
        out.append(f".BR {escaped(base)} ({section.rstrip(')') or 3})" + ("" if number + 1 == len(names) else ","))
    return "\n".join(out) + "\n"


INTRODUCTION = """Each function of MPI has a page in section 3, such as MPI_Send: how it is called from C and Fortran,
what its arguments mean, what it returns, its errors, whether it waits for others, and what Tutti checks. The forms with
large counts, whose names end in `_c`, stand on the page of the function without it. Each function can also be called by
its name with a P before it, such as `PMPI_Send`: so does a tool that has put itself in the place of the function."""

WHERE = """They stand in Tutti's own prefix, so that they hide no other MPI's: man finds them where Tutti's `bin` is on
the PATH, or by `man -M PREFIX/share/man MPI_Send`. For `apropos`, and `man -k`, somebody who may write there runs
`mandb PREFIX/share/man` once: they look in the index that it makes."""


def index(found, chapters):
    out = ['.TH TUTTI\\-FUNCTIONS 7 "" "Tutti" "Tutti"', ".SH NAME",
           "tutti\\-functions \\- the functions of MPI, by chapter", ".SH DESCRIPTION",
           *wrapped(rich(INTRODUCTION)), ".PP", *wrapped(rich(WHERE))]
    for _, title, chapter in chapters:
        out.append(f".SH {escaped(title.upper())}")
        for name in sorted(n for n, page in found.items() if page.chapter == chapter):
            out += [".TP", f".BR {name} (3)", *wrapped(rich(found[name].one("summary")))]
    out += [".SH SEE ALSO", ".BR mpicc (1),", ".BR mpifort (1),", ".BR mpirun (1),", ".BR tutti\\-check (7)"]
    return "\n".join(out) + "\n"


def main():
    found, chapters = pages()
    lacks = missing(found)
    if sys.argv[1] == "--missing":
        print("\n".join(lacks) or f"{len(found)} functions are described")
        return bool(lacks)
    output, texts = pathlib.Path(sys.argv[1]), argument_texts()
    (output / "man3").mkdir(parents=True, exist_ok=True)
    (output / "man7").mkdir(parents=True, exist_ok=True)
    made = {output / "man3" / f"{name}.3": roff(page, texts) for name, page in found.items()}
    leads = {f.name: f.name.removesuffix("_c") for f in model.functions() if f.is_large_form}
    leads |= {r.name: r.instead for r in model.removed() if "," in r.parameters}  # functions
    for name, to in leads.items():
        if to in found:
            made[output / "man3" / f"{name}.3"] = f".so man3/{to}.3\n"
    made[output / "man7" / "tutti-functions.7"] = index(found, chapters)
    for old in (output / "man3").glob("MPI_*.3"):
        if old not in made:
            old.unlink()
    for path, text in made.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
