# SPDX-License-Identifier: BSD-3-Clause
"""Reads what lib/table/ has of Fortran, for the generators beside this file."""
from typing import NamedTuple

import table


class Argument(NamedTuple):
    name: str
    kind: str
    direction: str
    length: str
    flags: tuple
    c_type: str  # of the C function's parameter

    @property
    def is_array(self):
        return bool(self.length) and self.kind not in STRINGS

    def flag(self, name):
        """The text behind name= among the flags, if it is there."""
        return next((f.partition("=")[2] or f for f in self.flags if f.partition("=")[0] == name), "")


class Procedure(NamedTuple):
    name: str  # as in the standard: MPI_Send
    returns: str  # the kind of a function's result
    flags: tuple
    arguments: list

    @property
    def short(self):
        return self.name.removeprefix("MPI_").lower()

    @property
    def has_buffers(self):
        return any(a.kind == "BUFFER" for a in self.arguments)

    def flag(self, name):
        return next((f.partition("=")[2] or f for f in self.flags if f.partition("=")[0] == name), "")

    @property
    def is_callback(self):
        return bool(self.flag("callback"))

    @property
    def is_predefined(self):
        return bool(self.flag("is"))


STRINGS = ("STRING", "STRING_ARRAY", "STRING_2DARRAY")
FUNCTIONS = ("FUNCTION", "POLYFUNCTION")
C_FUNCTIONS = {f.name: f for f in table.functions()}


def read_kinds():
    """kind -> its types in mpi, in mpi_f08, and in mpi_f08 with large counts."""
    found = {}
    for line in table.lines("fortran_kinds.tsv"):
        kind, f90, f08, large = line.split("\t")[:4]
        found[kind] = (f90, f08, f08 if large == "-" else large)
    return found


TYPES = read_kinds()


def read_procedures():
    found = []
    for line in table.lines("fortran.tsv"):
        fields = line.split("\t") + [""] * 5
        if fields[0]:
            found.append(Procedure(fields[0], fields[1], tuple(fields[2].split(",")), []))
        else:
            found[-1].arguments.append(Argument(*fields[1:5], tuple(fields[5].split(",")), ""))
    return found


def form_of(procedure, large):
    """The procedure with large counts, or without: its arguments with the types of the C function's."""
    name = procedure.name + ("_c" if large else "")
    arguments = [a for a in procedure.arguments if large or not a.flag("large_only")]
    c = C_FUNCTIONS.get(name)
    if c:
        parameters = [p for p in c.parameters if p.kind not in ("ARGUMENT_COUNT", "ARGUMENT_LIST", "VARARGS")]
        assert len(parameters) == len(arguments), name
        arguments = [a._replace(c_type=p.type) for a, p in zip(arguments, parameters)]
    return procedure._replace(name=name, arguments=arguments)


PROCEDURES = read_procedures()
CALLED = [p for p in PROCEDURES if not p.is_callback and not p.is_predefined]
CALLBACKS = [p for p in PROCEDURES if p.is_callback]
PREDEFINED = [p for p in PROCEDURES if p.is_predefined]

HANDLES = {"COMMUNICATOR": ("comm", "Comm", "MPI_COMM_NULL"), "DATATYPE": ("datatype", "Datatype", "MPI_DATATYPE_NULL"),
           "ERRHANDLER": ("errhandler", "Errhandler", "MPI_ERRHANDLER_NULL"), "FILE": ("file", "File", "MPI_FILE_NULL"),
           "GROUP": ("group", "Group", "MPI_GROUP_NULL"), "INFO": ("info", "Info", "MPI_INFO_NULL"),
           "MESSAGE": ("message", "Message", "MPI_MESSAGE_NULL"), "OPERATION": ("op", "Op", "MPI_OP_NULL"),
           "REQUEST": ("request", "Request", "MPI_REQUEST_NULL"), "SESSION": ("session", "Session", "MPI_SESSION_NULL"),
           "WINDOW": ("win", "Win", "MPI_WIN_NULL")}

# The older module has their counts as INTEGER(KIND=MPI_COUNT_KIND), and as INTEGER, which was there first.
COUNTS_OF_BOTH_KINDS = {"psend_init", "precv_init"}

# Procedures that have a form of another name, with a TYPE(C_PTR).
WITH_CPTR = {"alloc_mem", "win_allocate", "win_allocate_shared", "win_shared_query"}


def extra_names(p):
    return [p.short + "_cptr"] if p.short in WITH_CPTR else []
