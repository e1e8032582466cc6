# SPDX-License-Identifier: BSD-3-Clause
"""Makes the entry points, one for each function of lib/table/functions.tsv and extensions.tsv, and the list of what is
implemented of the former.   usage: entries.py OUTPUT.cpp API.tsv IMPLEMENTATION.hpp…

MPI_Xxx_yyy is implemented exactly if one of the given headers declares, at the start of a line,
  Error xxx_yyy(            called after the argument checks; an error is raised (lib/raise.hpp), or
  inline Arguments xxx_yyy_of(   a collective: MPI_Xxx_yyy runs what it returns on its communicator, MPI_Ixxx_yyy
                            starts it, MPI_Xxx_yyy_init prepares it, or
  type xxx_yyy(             only in lib/direct.hpp: returned as it is, nothing is checked.
MPI_X, its large-count form MPI_X_c and the old MPI_X_x call the same x, unless there is an x_c.

What an implementation receives, which the compiler's overload resolution checks:
  MPI_Comm, MPI_Datatype, MPI_Op,     Comm&, Datatype&, … the live object; const Datatype*, null, where
  MPI_Group, MPI_Errhandler, MPI_Win  they mean nothing (Parameter.significant)
  MPI_Info                            Info*, nullptr for MPI_INFO_NULL
  MPI_Request, pointers to handles,   themselves
  arrays of handles and statuses
  counts, displacements, sizes        int64_t; arrays of them Ints; results int64_t& (a result that
                                      does not fit the caller's int becomes MPI_UNDEFINED)
  buffers, strings, callbacks, the rest   themselves
The checks are those of lib/entry.hpp.
"""
import pathlib
import re
import sys

import model
from model import Record, What, When

# What the implementation calls the objects behind handles; requests and messages it gets as they are.
OBJECTS = {"MPI_Comm": "Comm", "MPI_Datatype": "Datatype", "MPI_Op": "Op", "MPI_Group": "Group",
           "MPI_Errhandler": "Errhandler", "MPI_Info": "Info", "MPI_Win": "Window",
           "MPI_Session": "Session", "MPI_File": "File"}
NULL = {handle: handle.upper() + "_NULL" for handle in OBJECTS}

# What may stand between a buffer and its datatype.
MEASURES = (What.ELEMENTS, What.BYTES, What.SIZE)


def implementations(headers):
    """Name in lower case -> how to call it: ("mpi::x", "mpi::chapter::x" or "direct::x", does it return an Error?)."""
    found = {}
    for header in headers:
        text = pathlib.Path(header).read_text()
        space = "direct" if header.endswith("direct.hpp") else re.search(r"^namespace tutti::(mpi\S*) {$", text, re.M)[1]
        pattern = r"^(?:inline )?(Error|double|int|MPI_Aint) (\w+)\(" if space == "direct" else r"^(Error) (\w+)\("
        for returns, name in re.findall(pattern, text, re.M):
            call = (f"{space}::{name}", returns == "Error")
            if found.setdefault(name, call) != call:
                sys.exit(f"entries.py: {name} is declared both as {found[name][0]} and in {header}")
        for name in re.findall(r"^inline Arguments (\w+)_of\(", text, re.M):
            for form, function in (("run", name), ("start", f"i{name}"), ("make_persistent", f"{name}_init")):
                found[function] = (f"mpi::{form}(mpi::{name}_of", True)
    known = {f.stem for f in model.functions() + model.extensions()}
    strange = [name for name, (call, _) in found.items()
               if call.startswith("mpi::") and model.stem(name) not in known]
    if strange:
        sys.exit(f"entries.py: declared for MPI, but no function of the standard: {', '.join(strange)}")
    return found


def makes(function):
    """Makes or frees objects: of these the contract checker may want to know where."""
    made = [f"{handle} *" for handle in (*OBJECTS, "MPI_Message")]
    return any(p.direction in ("out", "inout") and p.type in made for p in function.parameters)


def reduces(function):
    """Combines data: of that the contract checker says where the standard does not define it."""
    return function.moves_data and any(p.type == "MPI_Op" for p in function.parameters)


class Call:
    """The body of one implemented entry point, gathered parameter by parameter."""

    def __init__(self, function, call):
        self.function, self.call = function, call
        self.names = {p.name for p in function.parameters}
        self.rooted = function.is_rooted
        self.moves_data = function.moves_data
        self.comm = next((p for p in function.parameters if p.type == "MPI_Comm"), None)
        self.win = next((p for p in function.parameters if p.type == "MPI_Win"), None)
        self.file = next((p for p in function.parameters if p.type == "MPI_File"), None)
        self.locals, self.checks, self.arguments, self.loads, self.stores = [], [], [], [], []
        self.recorded = function.record is Record.CALL
        if function.is_tool:
            self.arguments = [p.name for p in function.parameters]
            return
        if function.when is not When.ALWAYS:
            # Of what the flight record knows, it judges the thread itself.
            judged = function.record is not Record.NOTHING or function.when is When.ANY_THREAD
            self.checks.append("entry.ready()" if judged else "entry.ready_to_ask()")
        if function.errors_on == "no file":
            self.checks.append("entry.no_file()")
        file_kind = "file_or_null" if self.file and self.file.or_null else "file"
        for kind, p in (("comm", self.comm), ("win", self.win), (file_kind, self.file)):
            if p:  # first: the other errors are raised on it, and ranks are counted in it
                text = f'entry.{kind}({p.name}_, {p.name}, "{p.name}")'
                self.checks.append(text if p is self.file else self.or_null(p, text))
        if function.one_group:
            self.checks.append(f'entry.one_group(*{self.comm.name}_, "{self.comm.name}")')
        if "root" in self.names and self.comm:
            self.root()
        first = len(self.checks)
        for p in function.parameters:
            self.arguments.append(self.argument(p))
            if function.errors_on.startswith("new") and p.type == "MPI_Errhandler":  # before all other arguments
                self.checks.insert(first, self.checks.pop())
        for p in function.parameters:  # after their types and ranks are known to be good
            if p.kind == "BUFFER":
                self.check_buffer(p)

    def check(self, p, text):
        """Adds a check of `p`, made only where `p` is significant."""
        where = p.significant
        if where == "at root":
            text = f"(!at_root || {text})"
        elif where == "at leader":
            rank = f"{self.comm.name}_->rank()" if self.comm else "local_group_->rank"
            text = f"(local_leader != {rank} || {text})"
        elif where == "behind rank 0":
            text = f"(({self.comm.name}_->rank() == 0 && sendbuf != MPI_IN_PLACE) || {text})"
        elif where:  # of a rooted collective, only the root's own data may be in place
            in_place = self.meaningless(where)
            text = f"({f'(at_root && {in_place})' if self.rooted else in_place} || {text})"
        if self.rooted and p.name not in ("comm", "root", "info", "request"):
            text = f"(root == MPI_PROC_NULL || {text})"
        self.checks.append(text)

    def or_null(self, p, text):
        return f"({p.name} == {NULL[p.type]} || {text})" if p.or_null else text

    def meaningless(self, where):
        word = where.split()[1]
        text = "op == MPI_NO_OP" if word == "op" else f"{word} == MPI_IN_PLACE"
        return f"(root == MPI_ROOT || {text})" if self.rooted else text

    def root(self):
        comm = f"*{self.comm.name}_"
        self.checks.append(f'entry.root(root, {comm}, "root")')
        if any(p.significant for p in self.function.parameters):
            self.locals.append("bool at_root = false;")
            self.checks.append(f"entry.set(at_root, Entry::at_root(root, {comm}))")

    def argument(self, p):
        """Adds the checks of `p`; returns what to hand to the implementation."""
        quoted = f'{p.name}, "{p.name}"'
        if p.type in OBJECTS:
            return self.handle(p, quoted)
        if p.may_be_freed:
            pass  # the implementation looks at it
        elif p.type == "MPI_Request" or (p.kind == "REQUEST" and p.type == "MPI_Request *" and p.direction != "out"):
            self.check(p, f"entry.request({quoted})")
        elif p.kind == "MESSAGE" and p.direction == "inout":
            self.check(p, f"entry.message({quoted})")
        elif p.type == "MPI_Win *" and p.direction == "inout":
            self.check(p, f"entry.held_win({quoted})")
        elif p.type == "MPI_File *" and p.direction == "inout":
            self.check(p, f"entry.held_file({quoted})")
        elif p.direction == "inout" and p.type.removesuffix(" *") in OBJECTS:
            self.check(p, f"entry.held<mpi::{OBJECTS[p.type.removesuffix(' *')]}>({quoted})")
        elif p.type.endswith("*"):
            return self.address(p, quoted)
        elif p.type in ("int", "MPI_Count", "MPI_Aint"):
            self.value(p, quoted)
        elif self.is_count(p) and p.direction == "in":
            return f"Ints({p.name})"
        return p.name

    def handle(self, p, quoted):
        kind = OBJECTS[p.type]
        if p is self.file and p.or_null:
            kind = "HasErrhandler"  # which MPI_FILE_NULL has, too
        self.locals.append(f"mpi::{kind}* {p.name}_ = nullptr;")
        filled = f"{p.name}_, {quoted}"
        if kind == "Info":
            self.check(p, f"entry.info({filled})" if p.or_null else f"entry.handle<mpi::Info>({filled})")
            return f"{p.name}_"
        if kind == "Datatype" and self.moves_data:
            self.check(p, f"entry.committed({filled})")
        elif p not in (self.comm, self.win, self.file):
            self.check(p, self.or_null(p, f"entry.handle<mpi::{kind}>({filled})"))
        by_pointer = p.significant or p.or_null and p is not self.file or self.rooted and p is not self.comm
        return f"{p.name}_" if by_pointer else f"*{p.name}_"

    def address(self, p, quoted):
        given_out = p.direction == "out" and p.kind.startswith("ATTRIBUTE_VAL")
        if (p.what is What.OWN and not given_out) or (p.kind == "STATUS" and p.direction == "out") or p.or_null:
            return p.name
        self.check(p, f"entry.pointer({quoted})")
        if not self.is_count(p):
            return p.name
        self.locals.append(f"int64_t {p.name}_ = 0;")
        if p.direction == "inout":
            self.loads.append(f"{p.name}_ = *{p.name};")
        self.stores.append(f"store({p.name}, {p.name}_);")
        return f"{p.name}_"

    def is_count(self, p):
        old = self.function.is_old_large and p.type == "MPI_Count *"
        return p.is_large or old or (p.kind == "DISPLACEMENT" and p.type.endswith("[]"))

    def value(self, p, quoted):
        if p.what in (What.ELEMENTS, What.BYTES, What.LENGTH) and not p.may_be_negative:
            self.check(p, f"entry.count({quoted})")
        elif p.kind == "TAG" and self.comm:
            self.check(p, f"entry.{'tag_or_any' if p.or_any else 'tag'}({quoted})")
        elif p.kind.startswith("RANK") and self.win:
            or_null = "true" if p.or_null else "false"
            self.check(p, f'entry.target({p.name}, *{self.win.name}_, {or_null}, "{p.name}")')
        elif p.kind.startswith("RANK") and p.or_null:
            kind = "source" if p.or_any else "dest"
            self.check(p, f'entry.{kind}({p.name}, *{self.comm.name}_, "{p.name}")')

    def check_buffer(self, p):
        """Buffers stand before the count, type and rank that speak of them."""
        if self.function.neighbors or p.address_only:
            return  # there may be no neighbour for whom it would be read or written
        after = self.function.parameters[self.function.parameters.index(p) + 1:]
        after = [q for q in after if q.kind != "BUFFER"]
        collective = "(" in self.call[0]
        counts, behind = [], after
        while behind and behind[0].what in MEASURES:
            counts.append(behind[0])
            behind = behind[1:]
        if any(q.type.endswith("]") for q in counts):
            return  # blocks, which the implementation counts
        typed = bool(counts) and bool(behind) and behind[0].type == "MPI_Datatype"
        if collective and not typed:
            return
        # Without a count it is one element, whose address the implementation judges.
        count = " * ".join([f"int64_t{{{q.name}}}" for q in counts] if len(counts) > 1 else [q.name for q in counts])
        text = (f'entry.{"buffer" if collective else "own_buffer"}({p.name}, {count or 1}, '
                f'{behind[0].name + "_" if typed else "nullptr"}, "{p.name}")')
        rank = next((q.name for q in behind[1:2] if q.name in ("dest", "source", "target_rank")), None)
        if self.win:  # the one target of all buffers
            rank = "target_rank" if "target_rank" in self.names else None
        # Data that goes nowhere, or comes from nowhere, is not touched.
        nowhere = f"{rank} == MPI_PROC_NULL" if rank else None
        message = next((q.name for q in after if q.kind == "MESSAGE"), None)
        if message:
            nowhere = f"*{message} == MPI_MESSAGE_NO_PROC"
        self.check(p, f"({nowhere} || {text})" if nowhere else text)

    def significant(self, p, value, otherwise):
        """`value` of the parameter where it means something."""
        where = p.significant
        if where == "at root":
            return f"at_root ? {value} : {otherwise}"
        unless = [self.meaningless(where)] if where else []
        unless += ["root == MPI_PROC_NULL"] if self.rooted else []
        return f"{' || '.join(unless)} ? {otherwise} : {value}" if unless else value

    def notes(self):
        """What the flight record learns of the arguments: (mark, what to call)."""
        if not self.recorded:
            return []
        notes = [("", f"entry.note_comm(*{self.comm.name}_);")] if self.comm and not self.comm.or_null else []
        if self.file and not self.file.or_null:
            notes.append(("", f"entry.note_file(*{self.file.name}_);"))
        if self.win and not self.win.or_null:
            notes.append(("", f"entry.note_win(*{self.win.name}_);"))
            rank = next((n for n in ("target_rank", "rank") if n in self.names), None)
            notes += [("Entry::peer(flight::PeerIs::target)", f"entry.note_peer({rank});")] if rank else []
        peer = next((n for n in ("root", "dest", "source") if n in self.names), None)
        tag = next((n for n in ("tag", "sendtag") if n in self.names), None)
        if peer and self.comm:
            notes.append((f"Entry::peer(flight::PeerIs::{peer})",
                          f"entry.note_peer({peer}{', ' + tag if tag and peer != 'root' else ''});"))
        parameters = self.function.parameters
        types = [p for p in parameters if p.type == "MPI_Datatype" and p.kind == "DATATYPE" and p.direction == "in"]
        marks = (("note_data", "Entry::kData"), ("note_other_data", "Entry::kOtherData"))
        for (note, mark), p in zip(marks, types if self.moves_data else []):
            before = parameters[:parameters.index(p)]
            count = next((q for q in reversed(before) if q.what is What.ELEMENTS), None)
            single = count and count.type in ("int", "MPI_Count")
            text = self.significant(count, count.name, "-1") if single else "-1"
            notes.append((mark, f"entry.{note}({text}, {self.significant(p, p.name, 'MPI_DATATYPE_NULL')});"))
        op = next((p.name for p in parameters if p.type == "MPI_Op"), None)
        return notes + ([("Entry::kOp", f"entry.note_op({op});")] if op and self.moves_data else [])

    def body(self):
        kind = ""
        # What the record can know before the checks, errors tell.
        notes = self.notes()
        early = [(mark, text) for mark, text in notes if mark and "at_root" not in text]
        if self.recorded:
            kind = f", Entry::Recorded{{{' | '.join(mark for mark, _ in early)}}}"
        elif makes(self.function) or reduces(self.function):
            kind = ", Entry::making"
        elif any(p.or_any for p in self.function.parameters):
            kind = ", Entry::choosing"
        return f"  Entry entry(kNumber, caller_{kind});\n" + self.rest(notes, early)

    def invocation(self):
        if "(" not in self.call[0]:
            return f"{self.call[0]}({', '.join(self.arguments)})"
        # A collective: its arguments become one, and where and how it runs stand behind them.
        how = ("MPI_Comm", "MPI_Info", "MPI_Request *")
        pairs = list(zip(self.function.parameters, self.arguments))
        own = ", ".join(argument for p, argument in pairs if p.type not in how)
        rest = ", ".join(argument for p, argument in pairs if p.type in how)
        return f"{self.call[0]}({own}), {rest})"

    def rest(self, notes, early):
        call = self.invocation()
        joined = " &&\n      ".join(self.checks)
        failed = "entry.failed()"
        if self.function.errors_on.startswith("new "):
            made = self.function.errors_on.removeprefix("new ")
            failed = f"entry.failed_to_make(errhandler_, mpi::Errhandler::On::{made})"
        guard = f"  if (!({joined}))\n    return {failed};\n" if self.checks else ""
        locals_ = "".join(f"  {text}\n" for text in self.locals)
        locals_ += "".join(f"  {text}\n" for _, text in early)
        for mark, text in notes:
            if (mark, text) not in early:
                guard += f"  {text}\n" + (f"  entry.mark({mark});\n" if mark else "")
        if not self.stores:
            return f"{locals_}{guard}  return entry.done({call});\n"
        loads, stores = ("".join(f"  {text}\n" for text in part) for part in (self.loads, self.stores))
        return (f"{locals_}{guard}{loads}  if (Error error = {call})\n    return entry.done(std::move(error));\n"
                f"{stores}  return MPI_SUCCESS;\n")


def body(function, found):
    """The body of an entry point and whether it is implemented."""
    name = function.lower
    names = [p.name for p in function.parameters if p.type != "..."]
    if function.to_int:
        return f"  return direct::number_of({names[0]});\n", True
    if function.from_int:
        return f"  return static_cast<{function.returns}>(direct::handle_numbered({names[0]}));\n", True
    call = found.get(name) or found.get(function.stem)
    if call and function.parameters and function.parameters[-1].type == "...":
        names.append("more_")
    if call and not call[1]:
        return f"  return {call[0]}({', '.join(names)});\n", True
    if call:
        look = "  flight::look(kNumber, caller_);\n" if function.record is Record.LOOK else ""
        return look + Call(function, call).body(), True
    if function.returns != "int":
        sys.exit(f"entries.py: {function.name} returns {function.returns}; declare it in lib/direct.hpp")
    comm = next((p.name for p in function.parameters if p.type == "MPI_Comm"), "")
    return f"  return Entry(kNumber, caller_).unsupported({comm});\n", False


# Of arrays that are filled whose length only the standard's text says.
LENGTHS = {"array_of_errcodes": {"MPI_Comm_spawn": "maxprocs",
                                 "MPI_Comm_spawn_multiple": "initialised::sum_of(count, array_of_maxprocs)"},
           "sourceweights": {"MPI_Dist_graph_neighbors": "maxindegree"},
           "destweights": {"MPI_Dist_graph_neighbors": "maxoutdegree"}}


def length_of(p, function):
    """Of an array or string that is filled, as an expression; nothing: it is one value."""
    if p.type == "char *":
        if p.length:
            return p.length if p.length.startswith("MPI_") else f"{p.length} + 1"
        behind = function.parameters[function.parameters.index(p):]
        before = function.parameters[:function.parameters.index(p)]
        numbers = [q for q in [*behind, *reversed(before)] if q.type == "int *"]
        return f"initialised::number_at({numbers[0].name})"
    if p.length != "*":
        is_told = any(q.name == p.length and q.type == "int *" for q in function.parameters)
        return f"initialised::number_at({p.length})" if is_told else p.length
    count = next((q.name for q in function.parameters if q.kind.startswith("ARRAY_LENGTH") and q.direction == "in"), None)
    return LENGTHS[p.name][function.name] if p.name in LENGTHS else count


def written(function):
    """Tells MemorySanitizer what the call has written at its arguments, buffers apart."""
    told = []
    for p in function.parameters:
        if p.direction == "in" or p.kind == "BUFFER" or not p.type.endswith(("*", "]")):
            continue
        if p.kind == "ARGUMENT_LIST" or p.type == "char *[]":
            continue  # of the program's own
        if p.kind == "ATTRIBUTE_VAL":
            key = next(q.name for q in function.parameters if q.kind == "KEYVAL")
            told.append(f"initialised::attribute_at({p.name}, {key}, flag)")
            continue
        length = length_of(p, function)
        told.append(f"initialised::at({p.name}{', ' + length if length else ''})")
    return told


# What others have put into the memory of a window is there when these return.
SYNCHRONISE = re.compile(r"MPI_Win_(fence|wait|test|lock|lock_all|unlock|unlock_all|sync|flush.*|free)$")


def entry(number, function, text):
    count = "" if "Entry" in text else f"  count_call({number});\n"
    # mpi.h cannot declare the functions noexcept, for C++ would want the same of tools' versions.
    # Outside of the lambda, which may or may not be a frame of its own.
    caller = "const void* caller_ = caller_of(__builtin_return_address(0)); " if "caller_" in text else ""
    before, after = "return ", ""
    if "more_" in text:  # arguments behind the named ones are the entry point's own
        before = f"std::va_list more_; va_start(more_, {function.parameters[-2].name}); const {function.returns} result_ = "
        after = " va_end(more_); return result_;"
    names = [(function.name, "weak, ")]
    names += [(function.also, "weak, "), ("P" + function.also, "")] if function.also else []
    aliases = "".join(f'{function.signature(name)} __attribute__(({weak}alias("P{function.name}")));\n'
                      for name, weak in names)
    told = written(function) if function.returns == "int" else []
    if told and not after:
        before = "const int result_ = "
        after = f" if (initialised::looks_on()) [[unlikely]] {{ {'; '.join(told)}; }} return result_;"
    if SYNCHRONISE.match(function.name):
        window = next(p for p in function.parameters if p.type.startswith("MPI_Win"))
        caller += f"const initialised::OfWindow memory_({'' if window.type.endswith('*') else '&'}{window.name}); "
    return (f"{function.signature('P' + function.name)} {{ {caller}{before}[&]() noexcept -> {function.returns} {{\n"
            f"{count}{text.replace('kNumber', str(number))}}}();{after} }}\n"
            f"{aliases}")


def main(output, api, headers):
    functions, found = model.functions() + model.extensions(), implementations(headers)
    bodies = [body(f, found) for f in functions]
    includes = "".join(f'#include "{h.rpartition("/runtime/")[2]}"\n'
                       for h in headers if not h.endswith("direct.hpp"))
    text = ["// Made by lib/entries.py from lib/table/functions.tsv.\n"
            f'#include <mpi-ext.h>\n#include "direct.hpp"\n#include "entry.hpp"\n#include "initialised.hpp"\n{includes}\n'
            "namespace tutti::lib {\n\n"
            f"std::atomic<uint64_t> counters[{len(functions)}];\n"
            "}  // namespace tutti::lib\n\n"
            "using namespace tutti;\nusing namespace tutti::lib;\n\n"
            '#pragma GCC diagnostic ignored "-Wunused-parameter"\n'
            'extern "C" {\n#pragma GCC visibility push(default)\n']
    text += [entry(i, f, b[0]) for i, (f, b) in enumerate(zip(functions, bodies))]
    text.append('#pragma GCC visibility pop\n}  // extern "C"\n')
    pathlib.Path(output).write_text("\n".join(text))
    pathlib.Path(api).write_text("".join(
        f"{f.name}\t{'implemented' if done else 'unsupported'}\n" for f, (_, done) in zip(model.functions(), bodies)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
