# SPDX-License-Identifier: BSD-3-Clause
"""Makes a program that calls every function with each bad argument in turn, all others being good,
and expects the error class that the standard has for it. What is not implemented is called too and
must say so.   usage: bad_arguments.py LIB_FOLDER API.tsv OUTPUT.c

Knows nothing of the generator of the entry points; both read the same tables, but what stands there of single functions
(may be null, address only, …) is said here anew, so that a wrong word there fails here."""
import pathlib
import re
import sys

sys.path.insert(0, sys.argv[1])
import model

# Good values by type or kind, for a job of one rank.
GOOD = {"MPI_Comm": "MPI_COMM_WORLD", "MPI_Datatype": "MPI_INT", "MPI_Op": "MPI_SUM",
        "MPI_Group": "MPI_GROUP_EMPTY", "MPI_Errhandler": "MPI_ERRORS_RETURN", "MPI_Info": "info",
        "MPI_Request": "MPI_REQUEST_NULL", "MPI_Win": "win", "MPI_File": "file",
        "MPI_Session": "session", "const char *": '"x"', "const char[]": '"external32"'}
CLASS = {"MPI_Comm": "COMM", "MPI_Datatype": "TYPE", "MPI_Op": "OP", "MPI_Group": "GROUP",
         "MPI_Errhandler": "ERRHANDLER", "MPI_Info": "INFO", "MPI_Request": "REQUEST", "MPI_Win": "WIN",
         "MPI_File": "FILE", "MPI_Session": "SESSION"}
NULL = {t: t.upper() + "_NULL" for t in CLASS} | {"MPI_Datatype": "MPI_DATATYPE_NULL"}
FILLED = {"MPI_Request *": "&no_request", "MPI_Message *": "&no_proc", "MPI_Status *": "MPI_STATUS_IGNORE"}

# Cannot be called with good values and one bad, or end the job by design.
SKIPPED = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort", "MPI_Pcontrol"}
# Of a null handle they give the name.
NAMES_NULL = {"MPI_Comm_get_name", "MPI_Type_get_name", "MPI_Win_get_name"}
# MPI_FILE_NULL has an error handler.
HANDLED_NULL = {"MPI_File_set_errhandler", "MPI_File_get_errhandler", "MPI_File_call_errhandler"}
# Addresses that may be NULL by the standard, or that lead to one of several types.
OPTIONAL = {("MPI_Info_get_string", "value"), ("MPI_Alloc_mem", "info"),
            ("MPI_Session_get_nth_pset", "pset_name"),  # of a length of 0
            ("MPI_Intercomm_create_from_groups", "remote_group")}  # the empty group is no good local one


NULL_IS_GOOD = {"MPI_Free_mem", "MPI_Win_attach"}  # the window has another flavor, whatever is attached
NULL_CLASS = {"MPI_Win_create": "ARG", "MPI_Win_create_c": "ARG"}
# Collectives where a buffer may be MPI_IN_PLACE, with all whose names go on like that; on one rank, which is the root.
IN_PLACE = {"sendbuf": ("gather", "allgather", "alltoall", "reduce", "allreduce", "scan", "exscan"),
            "recvbuf": ("scatter",)}


def may_be_in_place(function, p):
    return function.stem.removeprefix("i").startswith(IN_PLACE.get(p.name, ()))


def is_not_touched(function):
    """The address alone is looked at, or not even that, since nothing comes with MPI_MESSAGE_NO_PROC."""
    return function.name in ("MPI_Get_address", "MPI_Win_detach") or function.stem.endswith(("_end", "mrecv"))


def receives_nothing(function, p):  # on rank 0
    return "exscan" in function.name.lower() and p.name == "recvbuf"


def moves_data(function):
    return any(q.kind == "BUFFER" for q in function.parameters)


def good(function, p):
    if moves_data(function):
        if p.type == "MPI_Comm" and "neighbor" in function.name.lower():
            return "ring"
        if p.type in ("const int[]", "const MPI_Count[]", "const MPI_Aint[]"):
            of = {"const int[]": "int", "const MPI_Count[]": "count", "const MPI_Aint[]": "aint"}[p.type]
            return f"{'one' if 'NUM_ELEM' in p.kind else 'no'}_{of}s"
        if p.type == "const MPI_Datatype[]":
            return "ints"
        if p.direction == "in" and re.search("NUM_BYTES|SIZE", p.kind):
            return "64"
        if p.name in ("partitions", "disp_unit"):
            return "1"
        if p.name == "datarep":
            return '"external32"'
    if p.type in GOOD:
        return GOOD[p.type]
    if p.type in FILLED and (p.kind == "STATUS") == (p.direction == "out"):
        return FILLED[p.type]
    if p.type.endswith(("*", "]")) and p.kind not in ("FUNCTION", "POLYFUNCTION"):
        return "space"
    if "NUM_ELEM" in p.kind:
        return "1"
    return "0"


def bad(function, p):
    """Pairs of a bad value and the class to expect."""
    names = {q.name for q in function.parameters}
    has_comm = any(q.type == "MPI_Comm" for q in function.parameters)
    if p.type in CLASS and (function.name, p.name) not in OPTIONAL:
        null = function.name in NAMES_NULL or (p.type == "MPI_File" and function.name in HANDLED_NULL)
        if not null and p.type != "MPI_Request" and (p.type != "MPI_Info" or function.name.startswith("MPI_Info_")):
            yield NULL[p.type], CLASS[p.type]
        foreign = "MPI_SUM" if p.type == "MPI_Comm" else "MPI_COMM_WORLD"
        yield f"({p.type}){foreign}", CLASS[p.type]
        yield f"({p.type}){'type' if p.type == 'MPI_Comm' else 'comm'}", CLASS[p.type]
        if p.type == "MPI_Datatype" and moves_data(function):
            yield "type", "TYPE"  # not committed
    elif p.kind == "BUFFER":
        if receives_nothing(function, p) or is_not_touched(function):
            return
        if function.name not in NULL_IS_GOOD:
            yield "NULL", NULL_CLASS.get(function.name, "BUFFER")
        if not may_be_in_place(function, p):
            yield "MPI_IN_PLACE", "BUFFER"
    elif p.direction == "inout" and p.type.removesuffix(" *") in CLASS and p.kind != "STATUS":
        handle = p.type.removesuffix(" *")
        yield "NULL", "ARG"
        yield f"({p.type})&foreign_{'op' if handle == 'MPI_Comm' else 'comm'}", CLASS[handle]
        if handle != "MPI_Request":
            yield f"({p.type})&null_{handle}", CLASS[handle]
    elif p.type == "MPI_Message *" and p.direction == "inout":
        yield "NULL", "ARG"
        yield from ((v, "REQUEST") for v in ("&null_message", "(MPI_Message *)&foreign_comm"))
    elif p.type.endswith("*") and p.direction in ("out", "inout") and "..." not in p.type:
        status_ignored = p.kind == "STATUS" and p.direction == "out"
        if not status_ignored and (function.name, p.name) not in OPTIONAL and "ATTRIBUTE" not in p.kind:
            yield "NULL", "ARG"
    elif p.type in ("const char *", "const MPI_Status *") and p.kind in ("STRING", "STATUS"):
        yield "NULL", "ARG"
    elif p.type in ("int", "MPI_Count", "MPI_Aint"):
        if p.direction == "in" and ("NUM_ELEM" in p.kind or "ARRAY_LENGTH" in p.kind) and p.name != "stride":
            yield "-1", "COUNT"
        elif p.kind == "RANK" and p.name == "root" and has_comm:
            yield from ((v, "ROOT") for v in ("1", "-1", "MPI_PROC_NULL"))
        elif p.kind == "RANK" and p.name in ("dest", "source") and has_comm:
            yield from ((v, "RANK") for v in ("1", "-9") + (("MPI_ANY_SOURCE",) if p.name == "dest" else ()))
        elif p.name in ("rank", "target_rank") and any(q.type == "MPI_Win" for q in function.parameters):
            null = p.name == "target_rank" or function.name.startswith("MPI_Win_shared_query")
            yield from ((v, "RANK") for v in ("1", "-9") + (() if null else ("MPI_PROC_NULL",)))
        elif p.kind == "TAG" and has_comm:
            receives = p.name == "recvtag" or (p.name == "tag" and "source" in names)
            yield from ((v, "TAG") for v in ("-1", "-9") + (() if receives else ("MPI_ANY_TAG",)))


def calls(function, implemented):
    if function.returns != "int" or function.name in SKIPPED or function.name.endswith("_toint"):
        return
    arguments = [good(function, p) for p in function.parameters if p.type != "..."]
    if not implemented:
        yield f"{function.name}({', '.join(arguments)})", "UNSUPPORTED_OPERATION", "", ""
        return
    if function.name.startswith("MPI_T_"):  # an interface that nobody has initialised: its arguments are tool/'s matter
        if function.name != "MPI_T_init_thread":
            yield f"{function.name}({', '.join(arguments)})", "T_ERR_NOT_INITIALIZED", "", ""
        return
    for i, p in enumerate(function.parameters):
        for value, error_class in bad(function, p):
            spoiled = arguments[:i] + [value] + arguments[i + 1:]
            yield f"{function.name}({', '.join(spoiled)})", error_class, p.name, value


def main(api, output):
    state = dict(line.split("\t") for line in pathlib.Path(api).read_text().splitlines())
    text = ['#include "bad_arguments.h"', "static void call_all(void) {"]
    for function in model.functions():
        for call, error_class, argument, value in calls(function, state[function.name] == "implemented"):
            error = f"MPI_{error_class}" if error_class.startswith("T_") else f"MPI_ERR_{error_class}"
            text.append(f'  EXPECT({call}, {error}, "{function.name}", "{argument}");')
    pathlib.Path(output).write_text("\n".join(text + ["}", ""]))


main(*sys.argv[2:])
