# SPDX-License-Identifier: BSD-3-Clause
"""Makes a program that calls every function that moves data with all that may be NULL being NULL: buffers of no
elements, statuses, infos; with MPI_IN_PLACE in the place of such a buffer, where it has no meaning; and with datatypes
of absolute addresses at MPI_BOTTOM, which is NULL. Each call must succeed. And one that asks each predefined datatype for its name. What
cannot be derived from the table stands in legal_arguments.h.   usage: legal_arguments.py LIB_FOLDER API.tsv OUTPUT.c"""
import pathlib
import re
import sys

sys.path.insert(0, sys.argv[1])
import model

VALUE = {"MPI_Datatype": "MPI_INT", "MPI_Op": "MPI_SUM", "MPI_Info": "MPI_INFO_NULL", "MPI_Comm": "MPI_COMM_SELF",
         "MPI_Win": "win", "MPI_File": "file", "const MPI_Datatype[]": "types", "MPI_Message *": "&message", "MPI_Request *": "&request",
         "MPI_Status *": "MPI_STATUS_IGNORE", "const char *": '"external32"', "const char[]": '"external32"'}
# One of two names that the standard calls a synonym of the other.
SYNONYM = {"MPI_LONG_LONG": "MPI_LONG_LONG_INT", "MPI_C_FLOAT_COMPLEX": "MPI_C_COMPLEX"}


def is_by_hand(function):
    """Of one element by definition, about the memory itself, or the first half of a call."""
    counts = any(p.what is model.What.ELEMENTS for p in function.parameters)
    return function.stem.endswith("_begin") or not counts and function.name != "MPI_Get_address"


def is_typed(function, p):
    """A buffer whose datatype stands behind it, with as many elements as a scalar or an array says."""
    after = [q for q in function.parameters[function.parameters.index(p) + 1:] if q.kind not in ("BUFFER", "PARTITION")]
    return len(after) > 1 and "NUM_ELEM" in after[0].kind and any(
        q.type in ("MPI_Datatype", "const MPI_Datatype[]") for q in after[1:3])


def argument(function, p, buffer, elements):
    if p.kind == "BUFFER":
        return buffer if is_typed(function, p) or not elements else "box"
    if p.name == "partitions":
        return "1"
    if elements:
        if "NUM_ELEM" in p.kind and p.direction == "in":
            return {"const int[]": "one_ints", "const MPI_Count[]": "one_counts"}.get(p.type, "1")
        if p.type in ("MPI_Datatype", "const MPI_Datatype[]") and not p.name.startswith("target"):
            received = p.name.startswith(("recv", "result"))
            return f"{'to' if received else 'from'}_{'absolutes' if p.type.endswith(']') else 'absolute'}"
        if p.direction == "in" and re.search("NUM_BYTES|SIZE", p.kind):
            return "64"
    if p.type in VALUE:
        return VALUE[p.type]
    if p.type.endswith(("*", "]")):
        return "(void *)zeros"
    return "0"


def call(function, buffer="NULL", elements=0):
    names = {p.name for p in function.parameters}
    start = ""
    if "dest" in names and "source" not in names:
        start = "expect_message(); "
    elif "source" in names and "dest" not in names or function.name.startswith(("MPI_Mrecv", "MPI_Imrecv")):
        start = "send_message(); "
        if "source" not in names:
            start += "match_message(); "
    partitioned = function.name.startswith(("MPI_Psend", "MPI_Precv"))
    if partitioned:
        start = ""
    made = any(p.type == "MPI_Request *" and p.direction == "out" for p in function.parameters)
    end = "" if not made else " run_init();" if "_init" in function.name else " run_request();"
    if partitioned:
        end = f" run_partitioned({int('send' in function.name)});"
    arguments = (argument(function, p, buffer, elements) for p in function.parameters)
    text = f"{function.name}({', '.join(arguments)})"
    if "neighbor" in function.name.lower():
        text = text.replace("MPI_COMM_SELF", "ring")
    return f"  clear({elements}); {start}LEGAL({text});{end}{' run_other();' if start else ''}"


def is_collective(function):
    names = {p.name for p in function.parameters}
    return any(p.type == "MPI_Comm" for p in function.parameters) and not names & {"dest", "source", "position"}


def has_absolute(function):
    """Reductions are not defined on derived datatypes; accumulates are, of one predefined one."""
    reduces = any(p.type == "MPI_Op" for p in function.parameters) and not any(
        p.type == "MPI_Win" for p in function.parameters)
    return not reduces and any(p.kind == "BUFFER" and is_typed(function, p) for p in function.parameters)


def names():
    for constant in model.constants():
        known = constant.type == "MPI_Datatype" or constant.name in ("MPI_LONG_LONG_INT", "MPI_C_COMPLEX")
        if known:
            yield f'  NAME({constant.name}, "{SYNONYM.get(constant.name, constant.name)}");'


def main(api, output):
    done = {name for name, state in (l.split("\t") for l in pathlib.Path(api).read_text().splitlines())
            if state == "implemented"}
    moving = [f for f in model.functions() if f.name in done and not is_by_hand(f)
              and any(p.kind == "BUFFER" for p in f.parameters)]
    pathlib.Path(output).write_text("\n".join(
        ['#include "legal_arguments.h"', "static void call_all(void) {", *map(call, moving),
         *(call(f, "MPI_IN_PLACE") for f in moving if not is_collective(f)),
         *(call(f, "NULL", 1) for f in moving if has_absolute(f)), "}",
         "static void name_all(void) {", *names(), "}", ""]))


main(*sys.argv[2:])
