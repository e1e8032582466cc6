# SPDX-License-Identifier: BSD-3-Clause
"""The one model of the MPI standard. It reads lib/table/ for the generators beside this file and for the tests; none of
them reads a table by itself, or knows a function of MPI by a pattern of its name.

  functions()   a Function for each function of C, in the order of functions.tsv, with its Parameters
  extensions()  the same of those that are no part of the standard, MPIX_…, and their procedures and constants
  kinds()       name -> Kind: what the kinds of parameters are, with their types in Fortran
  handles()     the types of handles without MPI_: Comm, Datatype, …, and the tools' T_enum, … behind them
  constants()   a Constant for each one, in the sections of mpi.h
  callbacks()   the lines of callbacks.h; text() is a file as it is
  removed()     what MPI 3.0 removed, which mpi.h can give back
  procedures()  a Procedure for each procedure and callback of Fortran: what C has, but for fortran_differences.tsv, and
                what Fortran has alone, by fortran.tsv

What the columns of a table mean, and the words that may stand in them, says the head of its file. A word that is none
of a class's fields ends the generator."""
import dataclasses
import enum
import functools
import pathlib
import sys
from dataclasses import dataclass

TABLE = pathlib.Path(__file__).parent / "table"


# ---------------------------------------------------------------- what there is

class What(enum.Enum):
    """What a number or an address is to a check of arguments."""
    ANYTHING = ""
    ELEMENTS = "elements"
    BYTES = "bytes"
    SIZE = "size"
    LENGTH = "length"
    OWN = "own"


@dataclass(frozen=True)
class Kind:
    """A kind of parameter, by the standard's own name of it: a row of kinds.tsv."""
    name: str
    handle: str  # Comm: its values are MPI_Comm
    what: What
    fortran: tuple  # types in mpif.h and mpi, in mpi_f08, in mpi_f08 with large counts; none where Fortran has no such kind


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function of C."""
    name: str
    type: str  # C type; arrays as "const int[]"
    kind: str
    direction: str  # in, out, inout
    length: str = ""  # of an array or a string that is filled
    significant: str = ""  # where it means something, if not everywhere
    or_null: bool = False
    or_any: bool = False
    per_block: bool = False
    address_only: bool = False
    asynchronous: bool = False
    may_be_freed: bool = False
    may_be_negative: bool = False

    @property
    def what(self):
        return kinds()[self.kind].what

    @property
    def handle(self):
        """Comm for an MPI_Comm and what points to some of them; nothing for what is no handle."""
        return kinds()[self.kind].handle

    @property
    def is_large(self):
        """A number that is int, or was, and wider in the form with large counts."""
        return self.kind.startswith("POLY")

    def declaration(self):
        if self.type == "...":
            return "..."
        element, bracket, rest = self.type.partition("[")
        # Of an array compilers think that it is read, and warn of MPI_UNWEIGHTED, which is none.
        if bracket and self.name.endswith("weights"):
            return f"{element} *{self.name}"
        space = "" if element.endswith("*") else " "
        return f"{element}{space}{self.name}{bracket}{rest}"


class When(enum.Enum):
    """When a function may be called."""
    RUNNING = ""  # from MPI_Init to MPI_Finalize, by the threads that the thread level admits
    ANY_THREAD = "any thread"
    ALWAYS = "always"


class Record(enum.Enum):
    """What the flight record keeps of a call."""
    NOTHING = ""
    LOOK = "look"
    CALL = "call"


@dataclass(frozen=True)
class Function:
    """A function of C."""
    name: str
    returns: str
    deprecated: str  # the version of MPI that deprecated it
    when: When
    record: Record
    errors_on: str = ""  # what they are raised on, where no argument says it
    one_group: bool = False
    neighbors: bool = False
    to_int: bool = False
    from_int: bool = False
    also: str = ""  # another name, which the next version of the standard has
    parameters: tuple = ()

    @property
    def stem(self):
        """send of MPI_Send and of MPI_Send_c: the name of what implements both."""
        return stem(self.lower)

    @property
    def lower(self):
        """send_c of MPI_Send_c."""
        return self.name.removeprefix("MPIX_").removeprefix("MPI_").lower()

    @property
    def is_tool(self):
        """Of the tool information interface, which has rules and error classes of its own."""
        return self.name.startswith("MPI_T_")

    @property
    def is_large_form(self):
        return self.name.endswith("_c")

    @property
    def is_old_large(self):
        """One of those that had large counts before there were forms for that: MPI_Type_size_x."""
        return self.name.endswith("_x")

    @property
    def in_fortran(self):
        return not self.is_tool and not self.to_int and not self.from_int

    @property
    def moves_data(self):
        return any(p.kind == "BUFFER" for p in self.parameters)

    @property
    def is_rooted(self):
        """A collective with a root, of whose arguments only comm and root mean something where root is MPI_PROC_NULL."""
        return self.moves_data and any(p.name == "root" for p in self.parameters)

    def signature(self, name):
        return f"{self.returns} {name}({', '.join(p.declaration() for p in self.parameters) or 'void'})"


@dataclass(frozen=True)
class Constant:
    name: str
    type: str
    value: str
    section: str


@dataclass(frozen=True)
class Removed:
    name: str
    instead: str
    parameters: str  # or "type", "constant"
    body: str  # or the type that it stands for, or is of
    value: str = ""  # of a constant


@dataclass(frozen=True)
class Argument:
    """An argument of a procedure of Fortran."""
    name: str
    kind: str
    direction: str
    length: str = ""  # of an array: arguments that say it, or * where only the standard's text does
    per_block: bool = False
    address_only: bool = False
    asynchronous: bool = False
    no_intent: bool = False
    from_one: bool = False
    c_type: str = ""  # of the C function's parameter

    @property
    def what(self):
        return kinds()[self.kind].what

    @property
    def handle(self):
        return kinds()[self.kind].handle

    @property
    def is_string(self):
        return self.kind in ("STRING", "STRING_ARRAY", "STRING_2DARRAY")

    @property
    def is_array(self):
        return bool(self.length) and not self.is_string

    @property
    def is_function(self):
        return self.kind in ("FUNCTION", "POLYFUNCTION")

    @property
    def interface(self):
        """The abstract interface of a function."""
        return self.c_type.removesuffix(" *").removesuffix("_c") if self.is_function else ""


@dataclass(frozen=True)
class Procedure:
    """A procedure of Fortran, or a callback."""
    name: str  # as in the standard: MPI_Send
    returns: str = ""  # the kind of a function's result
    callback: bool = False
    predefined: str = ""  # a predefined callback: its abstract interface
    large: bool = False
    neighbors: bool = False
    old: bool = False
    modules_alone: bool = False
    by_hand: bool = False
    each_by_hand: bool = False
    no_ierror: bool = False
    pointers_too: bool = False
    large_in_mpi: bool = False
    arguments: tuple = ()

    @property
    def bare(self):
        return self.name.removeprefix("MPIX_").removeprefix("MPI_")

    @property
    def is_extension(self):
        return self.name.startswith("MPIX_")

    @property
    def short(self):
        return self.bare.lower()

    @property
    def has_buffers(self):
        return any(a.kind == "BUFFER" for a in self.arguments)

    @property
    def is_partitioned(self):
        return any(a.kind == "PARTITION" for a in self.arguments) and self.has_buffers

    @property
    def is_persistent(self):
        return "_init" in self.short

    @property
    def is_called(self):
        """By programs, and not by the library."""
        return not self.callback and not self.predefined

    @property
    def large_has_own_name(self):
        """Compilers cannot tell two procedures by the interfaces of functions that they are given."""
        return any(a.kind == "POLYFUNCTION" for a in self.arguments)

    @property
    def extra_names(self):
        """Those of a form with a TYPE(C_PTR) in the place of an address."""
        return [self.short + "_cptr"] if self.pointers_too else []

    @property
    def with_large_counts(self):
        """The form of mpi_f08 for which C has a function of its own."""
        return procedure_of(functions_by_name()[self.name + "_c"])


# ---------------------------------------------------------------- how it is read

def stem(name):
    return name.removesuffix("_c").removesuffix("_x")


def text(file):
    return (TABLE / file).read_text()


def lines(file):
    return [l for l in text(file).splitlines() if l and (not l.startswith("#") or l.startswith("## "))]


def rows(file, columns):
    """The fields of each line, as many as there are columns."""
    found = [line.split("\t") for line in lines(file)]
    return [fields + [""] * (columns - len(fields)) for fields in found]


SIGNIFICANT = ("at root", "at leader", "behind rank 0", "unless ")


def words(column, of):
    """The fields of a class that a column of words sets: "or null,kind=RANK" -> {"or_null": True, "kind": "RANK"}."""
    found = {}
    for word in filter(None, column.split(",")):
        name, equals, value = word.partition("=")
        if word.startswith(SIGNIFICANT):
            name, equals, value = "significant", "=", word
        name = name.replace(" ", "_")
        if name not in of.__dataclass_fields__:
            sys.exit(f"lib/table: {word} is no word for a {of.__name__}")
        found[name] = value if equals else True
    return found


@functools.cache
def kinds():
    found = {}
    for name, handle, what, mpi, f08, large in rows("kinds.tsv", 6):
        found[name] = Kind(name, handle, What(what), (mpi, f08, f08 if large == "-" else large) if mpi else ())
    return found


def handles():
    names = (kind.handle for kind in kinds().values() if kind.handle)
    return sorted(names, key=lambda name: (name.startswith("T_"), name))


def functions_of(file):
    found = []
    for first, *rest in rows(file, 7):
        if first:
            returns, deprecated, when, record, special, _ = rest
            found.append((Function(first, returns, deprecated, When(when), Record(record), **words(special, Function)), []))
        else:
            *fields, special = rest
            found[-1][1].append(Parameter(*fields, **words(special, Parameter)))
    return tuple(dataclasses.replace(f, parameters=tuple(parameters)) for f, parameters in found)


@functools.cache
def functions():
    return functions_of("functions.tsv")


@functools.cache
def extensions():
    return functions_of("extensions.tsv")


def extension_constants():
    """The sections of extension_constants.tsv: a remark, and names with values."""
    found = []
    for line in lines("extension_constants.tsv"):
        if line.startswith("## "):
            found.append((line[3:], []))
        else:
            found[-1][1].append(tuple(line.split("\t")))
    return found


@functools.cache
def functions_by_name():
    return {f.name: f for f in functions()}


@functools.cache
def constants():
    found, section = [], ""
    for line in lines("constants.tsv"):
        if line.startswith("## "):
            section = line[3:]
        else:
            found.append(Constant(*line.split("\t")[:3], section))
    return tuple(found)


def callbacks():
    return lines("callbacks.h")


def removed():
    return [Removed(*line.split("\t")) for line in lines("removed.tsv")]


# ---------------------------------------------------------------- Fortran

@functools.cache
def differences():
    """(function, parameter, or nothing for the procedure itself) -> fields that are otherwise than in C."""
    return {(function, parameter): words(what, Argument if parameter else Procedure)
            for function, parameter, what in rows("fortran_differences.tsv", 3)}


def procedure_of(function):
    """What Fortran has of a function of C, in either form: differences stand with the one that has no large counts."""
    base = function.name.removesuffix("_c")
    arguments = []
    for p in function.parameters:
        if kinds()[p.kind].fortran:
            argument = Argument(p.name, p.kind, p.direction, p.length, p.per_block, p.address_only, p.asynchronous,
                                c_type=p.type)
            arguments.append(dataclasses.replace(argument, **differences().get((base, p.name), {})))
    large = base + "_c" in functions_by_name()
    return Procedure(function.name, large=large, neighbors=function.neighbors, arguments=tuple(arguments),
                     **differences().get((base, ""), {}))


def of_fortran_alone():
    found = []
    for first, *rest in rows("fortran.tsv", 6):
        if first:
            found.append((Procedure(first, rest[0], **words(rest[1], Procedure)), []))
        else:
            *fields, special = rest
            found[-1][1].append(Argument(*fields, **words(special, Argument)))
    return [dataclasses.replace(p, arguments=tuple(arguments)) for p, arguments in found]


@functools.cache
def procedures():
    """In the order of their names. Those with large counts stand behind Procedure.with_large_counts."""
    from_c = [procedure_of(f) for f in functions() if f.in_fortran and not f.is_large_form]
    return tuple(sorted(from_c + of_fortran_alone(), key=lambda p: p.name.lower()))


def extension_procedures():
    return [procedure_of(f) for f in extensions()]
