# SPDX-License-Identifier: BSD-3-Clause
"""Makes the entry points, one for each function of lib/table/functions.tsv, and the list of what is
implemented.   usage: entries.py OUTPUT.cpp API.tsv IMPLEMENTATION.hpp…

MPI_Xxx_yyy is implemented exactly if one of the given headers declares, at the start of a line,
  Error xxx_yyy(            called after the argument checks; an error is raised (lib/raise.hpp), or
  inline Arguments xxx_yyy_of(   a collective: MPI_Xxx_yyy runs what it returns on its communicator, MPI_Ixxx_yyy
                            starts it, MPI_Xxx_yyy_init prepares it, or
  type xxx_yyy(             only in lib/direct.hpp: returned as it is, nothing is checked.
MPI_X, its large-count form MPI_X_c and the old MPI_X_x call the same x, unless there is an x_c.

What an implementation receives, which the compiler's overload resolution checks:
  MPI_Comm, MPI_Datatype, MPI_Op,     Comm&, Datatype&, … the live object; const Datatype* for the
  MPI_Group, MPI_Errhandler, MPI_Win  arguments in lib/table/significance.tsv
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

import table

OBJECTS = {"MPI_Comm": "Comm", "MPI_Datatype": "Datatype", "MPI_Op": "Op", "MPI_Group": "Group",
           "MPI_Errhandler": "Errhandler", "MPI_Info": "Info", "MPI_Win": "Window",
           "MPI_Session": "Session", "MPI_File": "File"}
NULL = {handle: handle.upper() + "_NULL" for handle in OBJECTS}

# May be called before MPI_Init and after MPI_Finalize (the standard, section 11.4).
ANY_TIME = re.compile(r"MPI_(Init|Init_thread|Initialized|Finalized|Get_version|Get_library_version|"
                      r"Info_.*|Session_.*|T_.*|Abi_.*|Error_class|Error_string|Add_error_.*|"
                      r"Remove_error_.*|Errhandler_free|(Comm|Win|File)_create_errhandler|Get_address|Status_[gs]et_(source|tag|error))")

# May be called by any thread whatever the thread level (section 11.6.2), as all of the above may.
ANY_THREAD = re.compile(r"MPI_(Query_thread|Is_thread_main|Pcontrol)")

# Addresses that may be NULL though they are no arrays, buffers or statuses.
MAY_BE_NULL = {("MPI_Init", "argc"), ("MPI_Init", "argv"), ("MPI_Init_thread", "argc"),
               ("MPI_Init_thread", "argv"), ("MPI_Info_get_string", "value"), ("MPI_Session_get_nth_pset", "pset_name")}

# Kinds whose value is the program's own: nothing is read or written through the address.
ANY_VALUE = {"BUFFER", "EXTRA_STATE", "EXTRA_STATE2", "ATTRIBUTE_VAL", "ATTRIBUTE_VAL_10", "FUNCTION", "POLYFUNCTION",
             "TOOL_MPI_OBJ"}

# Their errors go to the error handler that they are given for what they make, of the named kind.
HANDLER_OF_NEW = {"MPI_Comm_create_from_group": "communicator", "MPI_Intercomm_create_from_groups": "communicator",
                  "MPI_Session_init": "session"}

# Of a null handle these give the name, too (the standard, section 7.8 and its like). They take a pointer to
# the object, nullptr for a null handle.
NAME_NULL = {"MPI_Comm_get_name", "MPI_Type_get_name", "MPI_Win_get_name"}

# Errors are raised on MPI_FILE_NULL, whatever communicator is given.
ON_NO_FILE = {"MPI_File_open", "MPI_File_delete", "MPI_Register_datarep", "MPI_Register_datarep_c"}
# Take a file or MPI_FILE_NULL, and get what both are, a HasErrhandler&.
FILE_OR_NULL = {"MPI_File_set_errhandler", "MPI_File_get_errhandler", "MPI_File_call_errhandler"}

# What the flight record knows of (base/flight.hpp): calls that communicate, wait or make and free
# what is shared. Those that only look whether something has happened come by thousands.
RECORDED = re.compile(r"MPI_(Init|Init_thread|Finalize|Abort|I?[Bb]arrier.*|Wait.*|Start|Startall|Cancel|"
                      r"Request_free|Probe|Mprobe|Mrecv|Imrecv|Buffer_.*detach|Buffer_.*flush|"
                      r"Comm_(free|disconnect|i?dup.*|split.*|create.*|spawn.*|accept|connect|join|agree|shrink)|"
                      r"Intercomm_(create|merge).*|Cart_(create|sub)|Graph_create|Dist_graph_create.*|"
                      r"I?[Nn]eighbor_.*|Win_.*|File_.*|Session_(init|finalize)|(Comm|Session)_(detach|flush)_buffer.*)")
LOOKS = re.compile(r"MPI_(Test|Testall|Testany|Testsome|Iprobe|Improbe|Request_get_status.*)")

# Not for intercommunicators: prefix operations, topologies, and what makes a communicator out of one group.
ONE_GROUP = re.compile(r"MPI_(I?scan.*|I?exscan.*|I?neighbor_.*|Cart_.*|Cartdim_get|Graph_.*|Graphdims_get|"
                       r"Dist_graph_.*|Comm_create_group|Intercomm_create)", re.I)

# Collectives with a root, of whose arguments only comm and root mean something where root is MPI_PROC_NULL.
ROOTED = {"Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Reduce"}

# Of their buffers the address alone is looked at.
NOT_TOUCHED = re.compile(r"MPI_(Get_address|Win_detach|File_.*_end)")

COUNT = re.compile(r".*NUM_ELEM.*|POLYNUM_BYTES_NNI|POLYDTYPE_PACK_SIZE|ARRAY_LENGTH.*|"
                   r"POLYNUM_PARAM_VALUES")


def implementations(headers):
    """Name in lower case -> how to call it: ("mpi::x" or "direct::x", does it return an Error?)."""
    found = {}
    for header in headers:
        space = "direct" if header.endswith("direct.hpp") else "mpi"
        pattern = r"^(?:inline )?(Error|double|int|MPI_Aint) (\w+)\(" if space == "direct" else r"^(Error) (\w+)\("
        for returns, name in re.findall(pattern, pathlib.Path(header).read_text(), re.M):
            call = (f"{space}::{name}", returns == "Error")
            if found.setdefault(name, call) != call:
                sys.exit(f"entries.py: {name} is declared both as {found[name][0]} and in {header}")
        for name in re.findall(r"^inline Arguments (\w+)_of\(", pathlib.Path(header).read_text(), re.M):
            for form, function in (("run", name), ("start", f"i{name}"), ("prepare_to_start", f"{name}_init")):
                found[function] = (f"mpi::{form}(mpi::{name}_of", True)
    known = {re.sub(r"_[cx]$", "", f.name.removeprefix("MPI_").lower()) for f in table.functions()}
    strange = [name for name, (call, _) in found.items()
               if call.startswith("mpi::") and re.sub(r"_[cx]$", "", name) not in known]
    if strange:
        sys.exit(f"entries.py: declared for MPI, but no function of the standard: {', '.join(strange)}")
    return found


def base_name(function):
    """MPI_Igather_init_c -> Gather: the row of significance.tsv that speaks of it."""
    name = re.sub(r"(_init)?(_c)?$", "", function.name.removeprefix("MPI_"))
    return name[1:].capitalize() if re.match(r"I(?!ntercomm)[a-z]", name) else name


def significance():
    rows = (line.split("\t") for line in table.lines("significance.tsv"))
    return {(collective, parameter): where for collective, parameter, where in rows}


def is_recorded(function):
    if "create_errhandler" in function.name:  # of any thread, at any time, and shared with nobody
        return False
    moves = any(p.kind == "BUFFER" for p in function.parameters) and \
        any(p.type in ("MPI_Comm", "MPI_Win") for p in function.parameters) and "ack" not in function.name
    return bool(moves or RECORDED.fullmatch(function.name))


def makes(function):
    """Makes or frees objects: of these the contract checker may want to know where."""
    return any(p.direction in ("out", "inout") and re.fullmatch(r"MPI_\w+ (\*|\[\])", p.type)
               and p.type.split()[0] in [*OBJECTS, "MPI_Message"] for p in function.parameters)


class Call:
    """The body of one implemented entry point, gathered parameter by parameter."""

    def __init__(self, function, call, where):
        self.function, self.call = function, call
        self.where = {p.name: where.get((base_name(function), p.name)) for p in function.parameters}
        self.names = {p.name for p in function.parameters}
        self.rooted = base_name(function) in ROOTED
        self.moves_data = any(p.kind == "BUFFER" for p in function.parameters)
        self.comm = next((p for p in function.parameters if p.type == "MPI_Comm"), None)
        self.win = next((p for p in function.parameters if p.type == "MPI_Win"), None)
        self.file = next((p for p in function.parameters if p.type == "MPI_File"), None)
        self.locals, self.checks, self.arguments, self.loads, self.stores = [], [], [], [], []
        self.recorded = is_recorded(function)
        # Its wildcards are refused by the implementation, whose sentence says more.
        self.is_precv = function.name.startswith("MPI_Precv_init")
        if function.name.startswith("MPI_T_"):  # has rules and error classes of its own
            self.arguments = [p.name for p in function.parameters]
            return
        if not ANY_TIME.fullmatch(function.name):
            # Of what the flight record knows, it judges the thread itself.
            judged = self.recorded or LOOKS.fullmatch(function.name) or ANY_THREAD.fullmatch(function.name)
            self.checks.append("entry.ready()" if judged else "entry.ready_to_ask()")
        if function.name in ON_NO_FILE:
            self.checks.append("entry.no_file()")
        file_kind = "file_or_null" if function.name in FILE_OR_NULL else "file"
        for kind, p in (("comm", self.comm), ("win", self.win), (file_kind, self.file)):
            if p:  # first: the other errors are raised on it, and ranks are counted in it
                self.checks.append(self.or_null(p, f'entry.{kind}({p.name}_, {p.name}, "{p.name}")'))
        if self.comm and ONE_GROUP.fullmatch(function.name):
            self.checks.append(f'entry.one_group(*{self.comm.name}_, "{self.comm.name}")')
        if "root" in self.names and self.comm:
            self.root()
        first = len(self.checks)
        for p in function.parameters:
            self.arguments.append(self.argument(p))
            if function.name in HANDLER_OF_NEW and p.type == "MPI_Errhandler":  # before all other arguments
                self.checks.insert(first, self.checks.pop())
        for p in function.parameters:  # after their types and ranks are known to be good
            if p.kind == "BUFFER":
                self.check_buffer(p)

    def check(self, p, text):
        """Adds a check of `p`, made only where `p` is significant."""
        where = self.where[p.name]
        if where == "root":
            text = f"(!at_root || {text})"
        elif where == "leader":
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
        return f"({p.name} == {NULL[p.type]} || {text})" if self.function.name in NAME_NULL else text

    def meaningless(self, where):
        word = where.split()[1]
        text = "op == MPI_NO_OP" if word == "op" else f"{word} == MPI_IN_PLACE"
        return f"(root == MPI_ROOT || {text})" if self.rooted else text

    def root(self):
        comm = f"*{self.comm.name}_"
        self.checks.append(f'entry.root(root, {comm}, "root")')
        if any(self.where.values()):
            self.locals.append("bool at_root = false;")
            self.checks.append(f"entry.set(at_root, Entry::at_root(root, {comm}))")

    def argument(self, p):
        """Adds the checks of `p`; returns what to hand to the implementation."""
        quoted = f'{p.name}, "{p.name}"'
        if p.type in OBJECTS:
            return self.handle(p, quoted)
        if self.function.name == "MPI_Grequest_complete":
            pass  # its handle may be freed: the implementation looks at it
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
        if self.function.name in FILE_OR_NULL and p is self.file:
            kind = "HasErrhandler"
        self.locals.append(f"mpi::{kind}* {p.name}_ = nullptr;")
        filled = f"{p.name}_, {quoted}"
        if kind == "Info":
            about_infos = self.function.name.startswith("MPI_Info_")
            self.check(p, f"entry.handle<mpi::Info>({filled})" if about_infos else f"entry.info({filled})")
            return f"{p.name}_"
        if kind == "Datatype" and self.moves_data:
            self.check(p, f"entry.committed({filled})")
        elif p not in (self.comm, self.win, self.file):
            self.check(p, self.or_null(p, f"entry.handle<mpi::{kind}>({filled})"))
        by_pointer = self.where[p.name] or self.function.name in NAME_NULL or (self.rooted and p is not self.comm)
        return f"{p.name}_" if by_pointer else f"*{p.name}_"

    def address(self, p, quoted):
        given_out = p.direction == "out" and p.kind.startswith("ATTRIBUTE_VAL")
        if (p.kind in ANY_VALUE and not given_out) or (p.kind == "STATUS" and p.direction == "out") \
                or (self.function.name, p.name) in MAY_BE_NULL:
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
        old = self.function.name.endswith("_x") and p.type == "MPI_Count *"
        return p.kind.startswith("POLY") or old or (p.kind == "DISPLACEMENT" and p.type.endswith("[]"))

    def value(self, p, quoted):
        if COUNT.fullmatch(p.kind) and p.name != "stride":
            self.check(p, f"entry.count({quoted})")
        elif p.kind == "TAG" and self.comm:
            any_tag = p.name == "recvtag" or (p.name == "tag" and "source" in self.names) or self.is_precv
            self.check(p, f"entry.{'tag_or_any' if any_tag else 'tag'}({quoted})")
        elif p.kind.startswith("RANK") and p.name in ("rank", "target_rank") and self.win:
            or_null = "true" if p.name == "target_rank" or "shared_query" in self.function.name else "false"
            self.check(p, f'entry.target({p.name}, *{self.win.name}_, {or_null}, "{p.name}")')
        elif p.kind.startswith("RANK") and p.name in ("dest", "source") and self.comm:
            kind = "source" if self.is_precv else p.name
            self.check(p, f'entry.{kind}({p.name}, *{self.comm.name}_, "{p.name}")')

    def check_buffer(self, p):
        """Buffers stand before the count, type and rank that speak of them."""
        if re.match(r"MPI_I?neighbor_", self.function.name, re.I):
            return  # there may be no neighbour for whom it would be read or written
        if NOT_TOUCHED.fullmatch(self.function.name):
            return
        after = self.function.parameters[self.function.parameters.index(p) + 1:]
        after = [q for q in after if q.kind != "BUFFER"]
        collective = "(" in self.call[0]
        counts, behind = [], after
        while behind and re.search("NUM_ELEM|PARTITION|NUM_BYTES|SIZE", behind[0].kind):
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
        where = self.where.get(p.name)
        if where == "root":
            return f"at_root ? {value} : {otherwise}"
        unless = [self.meaningless(where)] if where else []
        unless += ["root == MPI_PROC_NULL"] if self.rooted else []
        return f"{' || '.join(unless)} ? {otherwise} : {value}" if unless else value

    def notes(self):
        """What the flight record learns of the arguments: (mark, what to call)."""
        if not self.recorded or self.function.name in NAME_NULL:  # of what may be nothing
            return []
        notes = [("", f"entry.note_comm(*{self.comm.name}_);")] if self.comm else []
        if self.file and self.function.name not in FILE_OR_NULL:
            notes.append(("", f"entry.note_file(*{self.file.name}_);"))
        if self.win:
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
            count = next((q for q in reversed(before) if "NUM_ELEM" in q.kind), None)
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
        elif makes(self.function):
            kind = ", Entry::making"
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
        if kind := HANDLER_OF_NEW.get(self.function.name):
            failed = f"entry.failed_to_make(errhandler_, mpi::Errhandler::On::{kind})"
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


def body(function, found, where):
    """The body of an entry point and whether it is implemented."""
    name = function.name.removeprefix("MPI_").lower()
    names = [p.name for p in function.parameters if p.type != "..."]
    if name.endswith("_toint"):
        return f"  return direct::number_of({names[0]});\n", True
    if name.endswith("_fromint"):
        null = f"{function.returns.upper()}_NULL"
        return f"  return static_cast<{function.returns}>(direct::handle_numbered({names[0]}, {null}));\n", True
    call = found.get(name) or found.get(re.sub(r"_[cx]$", "", name))
    if call and not call[1]:
        return f"  return {call[0]}({', '.join(names)});\n", True
    if call:
        look = "  flight::look(kNumber, caller_);\n" if LOOKS.fullmatch(function.name) else ""
        return look + Call(function, call, where).body(), True
    if function.returns != "int":
        sys.exit(f"entries.py: {function.name} returns {function.returns}; declare it in lib/direct.hpp")
    comm = next((p.name for p in function.parameters if p.type == "MPI_Comm"), "")
    return f"  return Entry(kNumber, caller_).unsupported({comm});\n", False


def entry(number, function, text):
    count = "" if "Entry" in text else f"  count_call({number});\n"
    # mpi.h cannot declare the functions noexcept, for C++ would want the same of tools' versions.
    # Outside of the lambda, which may or may not be a frame of its own.
    caller = "const void* caller_ = caller_of(__builtin_return_address(0)); " if "caller_" in text else ""
    return (f"{function.signature('P' + function.name)} {{ {caller}return [&]() noexcept -> {function.returns} {{\n"
            f"{count}{text.replace('kNumber', str(number))}}}(); }}\n"
            f'{function.signature(function.name)} __attribute__((weak, alias("P{function.name}")));\n')


def main(output, api, headers):
    functions, found, where = table.functions(), implementations(headers), significance()
    bodies = [body(f, found, where) for f in functions]
    includes = "".join(f'#include "{h.rpartition("/runtime/")[2]}"\n'
                       for h in headers if not h.endswith("direct.hpp"))
    text = ["// Made by lib/entries.py from lib/table/functions.tsv.\n"
            f'#include "direct.hpp"\n#include "entry.hpp"\n{includes}\n'
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
        f"{f.name}\t{'implemented' if done else 'unsupported'}\n" for f, (_, done) in zip(functions, bodies)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
