# SPDX-License-Identifier: BSD-3-Clause
"""Makes the Fortran interfaces from lib/table/: the procedures of libmpifort_abi (fortran_code.py), mpif.h, and the
modules mpi and mpi_f08, these two with buffers by the compiler's own descriptors and by C's (fortran/descriptor.h).
usage: fortran.py procedures|mpif|types|mpi|mpi_f08|mpi_c|mpi_f08_c|list OUTPUT, and, for what Tutti has beyond MPI 5.0
(mpi-ext.h), extensions|mpif_ext|mpi_ext|mpi_f08_ext OUTPUT

The types of a kind of argument stand in table/kinds.tsv."""
import dataclasses
import pathlib
import sys
from typing import NamedTuple

import model
from fortran_code import extensions, procedures

CALLED = [p for p in model.procedures() if p.is_called]
CALLBACKS = [p for p in model.procedures() if p.callback]
EXTENSIONS = model.extension_procedures()
PREDEFINED = [p for p in model.procedures() if p.predefined]
HANDLES = [name for name in model.handles() if not name.startswith("T_")]

# kind -> its types in mpif.h and mpi, in mpi_f08, and there with large counts
TYPES = {name: kind.fortran for name, kind in model.kinds().items() if kind.fortran}
TYPES["WITH_CPTR"] = ("type(C_PTR)",) * 3

# ---------------------------------------------------------------- constants

class Value(NamedTuple):
    name: str
    fortran_type: str  # INTEGER, or a handle's TYPE(MPI_Comm)
    value: str


SPECIAL_INTEGERS = ["MPI_BOTTOM", "MPI_IN_PLACE", "MPI_BUFFER_AUTOMATIC", "MPI_UNWEIGHTED(1)", "MPI_WEIGHTS_EMPTY(1)",
                    "MPI_ERRCODES_IGNORE(1)"]


def constants():
    """All constants that are numbers or handles."""
    found = []
    for c in model.constants():
        if c.name.startswith("MPI_T_") and not c.name.startswith("MPI_T_ERR_") or c.name.startswith("MPI_F_"):
            continue
        value = c.value
        if c.type in ("enum", "macro"):
            if value in (v.name for v in found):  # another name of a datatype
                found.append(next(v for v in found if v.name == value)._replace(name=c.name))
                continue
            if not value.lstrip("-").replace("x", "0").isalnum() or value.startswith("MPI_"):
                continue
            number = int(value, 0)
            if c.name.startswith("MPI_MAX_"):
                number -= 1  # no zero at the end
            found.append(Value(c.name, "INTEGER", str(number)))
        elif c.type == "MPI_Offset":
            found.append(Value(c.name, "INTEGER(KIND=MPI_OFFSET_KIND)", f"{int(value, 0)}"))
        elif c.type.removeprefix("MPI_") in HANDLES:
            found.append(Value(c.name, f"TYPE({c.type})", str(int(value, 0))))
    return found


def fixed(text):
    """A line that fixed and free form read alike: 72 columns, continued by & in both places."""
    line = "      " + text
    if len(line) <= 72:
        return line
    parts, current = [], "      "
    for word in text.replace(",", ", ").split():
        if len(current) + len(word) + 1 > 70:
            parts.append(current.ljust(72) + "&")
            current = "     & "
        current += ("" if current.endswith(" ") else " ") + word
    return "\n".join(parts + [current])


SUPPORT_CONSTANTS = ("MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING")
SUPPORT = {"mpif": ("FALSE", "FALSE"), "mpi": ("FALSE", "FALSE"), "mpi_f08": ("TRUE", "TRUE")}

KIND_CONSTANTS = [("MPI_ADDRESS_KIND", "8"), ("MPI_COUNT_KIND", "8"), ("MPI_OFFSET_KIND", "8"), ("MPI_INTEGER_KIND", "4")]
STATUS_CONSTANTS = [("MPI_STATUS_SIZE", "8"), ("MPI_SOURCE", "1"), ("MPI_TAG", "2"), ("MPI_ERROR", "3")]


def common_block():
    names = [n.partition("(")[0] for n in SPECIAL_INTEGERS] + ["MPI_STATUS_IGNORE", "MPI_STATUSES_IGNORE"]
    return names


def used_constants():
    """Statements that mention every constant, so that no compiler warns of those that a program does not use, and the
    name of one that they end in, whose value is the size of a status."""
    names = [n for n, _ in KIND_CONSTANTS + STATUS_CONSTANTS] + list(SUPPORT_CONSTANTS) + [c.name for c in constants()]
    lines, last, each = [], "8", 30  # of which a statement of at most 19 continuation lines has room
    for at in range(0, len(names), each):
        name = f"TUTTI_USED_{at // each}"
        lines.append(fixed(f"INTEGER {name}"))
        kinds = ",".join(f"KIND({n})" for n in names[at:at + each])
        lines.append(fixed(f"PARAMETER ({name}={last}+0*MAX({kinds},0))"))
        last = name
    return last, lines


def mpif():
    text = ["! SPDX-License-Identifier: BSD-3-Clause", "! mpif.h: MPI 5.0 for Fortran, in fixed and in free form alike.",
            "! Made by lib/fortran.py from lib/table/."]

    def constant(name, kind, value):
        text.append(fixed(f"{kind} {name}"))
        text.append(fixed(f"PARAMETER ({name}={value})"))

    for name, value in KIND_CONSTANTS + STATUS_CONSTANTS:
        constant(name, "INTEGER", value)
    for name, value in zip(SUPPORT_CONSTANTS, SUPPORT["mpif"]):
        constant(name, "LOGICAL", f".{value}.")
    for c in constants():
        kind = "INTEGER(KIND=MPI_OFFSET_KIND)" if "OFFSET" in c.fortran_type else "INTEGER"
        constant(c.name, kind, c.value)
    all_of_them, lines = used_constants()
    text += lines
    for name in SPECIAL_INTEGERS:
        text.append(fixed(f"INTEGER {name}"))
    text.append(fixed("TARGET MPI_BUFFER_AUTOMATIC"))
    text += [fixed(f"INTEGER MPI_STATUS_IGNORE({all_of_them})"), fixed("INTEGER MPI_STATUSES_IGNORE(8,1)"),
             fixed("CHARACTER(LEN=1) MPI_ARGV_NULL(1)"), fixed("CHARACTER(LEN=1) MPI_ARGVS_NULL(1,1)")]
    text += [fixed(f"COMMON /TUTTI_FORTRAN_SPECIAL/ {','.join(common_block())}"),
             fixed("COMMON /TUTTI_FORTRAN_SPECIAL_TEXT/ MPI_ARGV_NULL,MPI_ARGVS_NULL")]
    for prefix in ("", "P"):
        for name in ("MPI_WTIME", "MPI_WTICK"):
            text += [fixed(f"DOUBLE PRECISION {prefix}{name}"), fixed(f"EXTERNAL {prefix}{name}")]
        for name in ("MPI_AINT_ADD", "MPI_AINT_DIFF"):
            text += [fixed(f"INTEGER(KIND=MPI_ADDRESS_KIND) {prefix}{name}"), fixed(f"EXTERNAL {prefix}{name}")]
    for p in PREDEFINED:
        text.append(fixed(f"EXTERNAL {p.name.upper()}"))
    return "\n".join(text) + "\n"


# ---------------------------------------------------------------- modules

def wrapped(text, indent=2):
    """A statement of free form in lines of at most 128 columns."""
    words, lines, current = text.replace(", ", ",\0").replace(" ", " \0").split("\0"), [], " " * indent
    for word in words:
        if len(current) + len(word) > 124:
            lines.append(current.rstrip() + " &")
            current = " " * (indent + 4)
        current += word
    return "\n".join(lines + [current.rstrip()])


def types():
    """The module that both mpi and mpi_f08 use: kinds, handle types, the status as a type."""
    text = ["! SPDX-License-Identifier: BSD-3-Clause", "! Made by lib/fortran.py from lib/table/.",
            "module tutti_mpi_types", "  implicit none", "  private"]

    def constant(kind, name, value):
        text.append(f"  {kind}, parameter, public :: {name} = {value}")

    for name, value in KIND_CONSTANTS + STATUS_CONSTANTS:
        constant("integer", name, value)
    for c in constants():
        if c.fortran_type == "INTEGER":
            constant("integer", c.name, c.value)
        elif "OFFSET" in c.fortran_type:
            constant("integer(MPI_OFFSET_KIND)", c.name, f"{c.value}_MPI_OFFSET_KIND")
    for name in HANDLES:
        text += [f"  type, bind(C), public :: MPI_{name}", "    integer :: MPI_VAL", f"  end type MPI_{name}"]
    text += ["  type, bind(C), public :: MPI_Status", "    integer :: MPI_SOURCE", "    integer :: MPI_TAG",
             "    integer :: MPI_ERROR", "    integer :: MPI_internal(5)", "  end type MPI_Status"]
    for operator, word in (("==", "equal"), ("/=", "differ")):
        text.append(f"  interface operator({operator})")
        for name in HANDLES:
            for way in ("", "_integer", "_to"):
                text.append(f"    module procedure {word}_{name}{way}")
        text += ["  end interface", f"  public :: operator({operator})"]
    text.append("contains")
    for operator, word in (("==", "equal"), ("/=", "differ")):
        for name in HANDLES:
            handle = f"type(MPI_{name}), intent(in)"
            for way, (a_type, b_type, a, b) in {
                    "": (handle, handle, "a%MPI_VAL", "b%MPI_VAL"),
                    "_integer": (handle, "integer, intent(in)", "a%MPI_VAL", "b"),
                    "_to": ("integer, intent(in)", handle, "a", "b%MPI_VAL")}.items():
                text += [f"  elemental logical function {word}_{name}{way}(a, b) result(answer)",
                         f"    {a_type} :: a", f"    {b_type} :: b", f"    answer = {a} {operator} {b}",
                         "  end function"]
    text.append("end module tutti_mpi_types")
    return "\n".join(text) + "\n"


def declare(p, a, form):
    """The declaration of an argument. form: 0 mpi, 1 mpi_f08, 2 mpi_f08 with large counts."""
    kind = TYPES[a.kind][form]
    attributes = []
    f08 = form > 0
    name = a.name
    in_callback = not p.is_called
    if a.kind == "F08_STATUS":
        kind = "TYPE(MPI_Status)"
    if a.is_function:
        interface = a.interface + ("_c" if form == 2 and a.kind == "POLYFUNCTION" else "")
        return [f"procedure({interface}) :: {name}"] if f08 else [f"external :: {name}"]
    if a.kind in ("C_BUFFER3", "C_BUFFER4") and f08:
        return [f"type(C_PTR), value :: {name}"]
    if a.kind == "BUFFER" or (not f08 and a.kind in ("C_BUFFER2", "C_BUFFER3", "C_BUFFER4")):
        if f08:
            intent = ", intent(in)" if a.direction == "in" and not a.no_intent else ""
            extra = ", asynchronous" if a.asynchronous else ""
            return [f"type(*), dimension(..){intent}{extra} :: {name}"]
        return [f"!DIR$ IGNORE_TKR {name}", f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}",
                f"type(*), dimension(*) :: {name}"]
    dimension = ""
    if a.is_array or a.kind in ("STRING_ARRAY", "STRING_2DARRAY") or (a.kind == "STATUS" and not f08) or (
            a.kind == "F90_STATUS"):
        dimension = array_shape(p, a, f08)
    if a.is_string:
        kind = "character(len=*)"
    if a.kind in ("STRING_ARRAY", "STRING_2DARRAY"):
        dimension = "(*)" if a.kind == "STRING_ARRAY" else "(count, *)"
    if f08 and not a.no_intent and not in_callback:
        if a.kind in ("STATUS", "F08_STATUS") and a.direction != "in":
            pass  # MPI_STATUS_IGNORE may be passed
        else:
            attributes.append(f"intent({a.direction})")
    if f08 and a.asynchronous:
        attributes.append("asynchronous")
    return [", ".join([kind] + attributes) + f" :: {name}{dimension}"]


def array_shape(p, a, f08):
    if a.kind in ("STATUS", "F90_STATUS") and not (f08 and a.kind == "STATUS"):
        return "(MPI_STATUS_SIZE, *)" if a.is_array else "(MPI_STATUS_SIZE)"
    if "3" in a.length.split(","):
        return "(3, *)"
    return "(*)" if a.length == "*" or not f08 or not length_is_earlier(p, a) else f"({a.length})"


def length_is_earlier(p, a):
    """gfortran checks an actual argument's length against a declared one, which an argument must give."""
    return False if a.length not in [x.name for x in p.arguments] else a.direction == "in" and a.length != "len"


def uses(p, form):
    text = []
    if any("C_PTR" in line for a in p.arguments for line in declare(p, a, form)):
        text.append("use, intrinsic :: iso_c_binding, only : C_PTR")
    return text + ["import", "implicit none"]


C_DESCRIPTORS = "bind(C)"


def interface_body(p, name, form, indent, described_by=""):
    """The interface of a procedure. Its buffers are described by C_DESCRIPTORS, or in the compiler's own way; its name
    for the linker is the same."""
    f08 = form > 0
    arguments = [a.name for a in p.arguments]
    has_ierror = not p.returns and not p.no_ierror
    pad = " " * indent
    word = "function" if p.returns and p.returns != "NOTHING" and not p.name.endswith("_function") and not \
        p.name.removesuffix("_c").endswith("_function") else "subroutine"
    if has_ierror:
        arguments.append("ierror")
    head = f"{word} {name}({', '.join(arguments)})" + (f" bind(C, name=\"{name.lower()}_\")" if described_by else "")
    text = [wrapped(head, indent)]
    text += [pad + "  " + line for line in uses(p, form)]
    # A length has to be declared before the array.
    ordered = sorted(p.arguments, key=lambda a: a.is_array or a.kind == "STRING_2DARRAY")
    for a in ordered:
        text += [line if line.startswith("!") else wrapped(line, indent + 2) for line in declare(p, a, form)]
    if word == "function":
        text.append(f"{pad}  {TYPES[p.returns][1 if f08 else 0].lower()} :: {name}")
    if has_ierror:
        text.append(pad + "  " + ("integer, optional, intent(out) :: ierror" if f08 and p.is_called
                                  else "integer :: ierror"))
    text.append(f"{pad}end {word} {name}")
    return text


def common_statements(f08):
    text = ["  integer, public :: MPI_BOTTOM, MPI_IN_PLACE",
            "  integer, public, target :: MPI_BUFFER_AUTOMATIC",  # for c_loc() (section 3.6)
            "  integer, public :: MPI_UNWEIGHTED(1), MPI_WEIGHTS_EMPTY(1), MPI_ERRCODES_IGNORE(1)"]
    if f08:
        text.append("  type(MPI_Status), public :: MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE(1)")
    else:
        text.append("  integer, public :: MPI_STATUS_IGNORE(MPI_STATUS_SIZE), MPI_STATUSES_IGNORE(MPI_STATUS_SIZE, 1)")
    text += ["  character(len=1), public :: MPI_ARGV_NULL(1), MPI_ARGVS_NULL(1, 1)",
             wrapped(f"common /tutti_fortran_special/ {', '.join(common_block())}"),
             "  common /tutti_fortran_special_text/ MPI_ARGV_NULL, MPI_ARGVS_NULL"]
    return text


def module_head(name, hide):
    return ["! SPDX-License-Identifier: BSD-3-Clause", "! Made by lib/fortran.py from lib/table/.",
            f"module {name}", "  use, intrinsic :: iso_c_binding, only : C_PTR", "  use tutti_mpi_types" + hide,
            "  implicit none", "  private :: C_PTR"]


def support_constants(name):
    return [f"  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .{SUPPORT[name][0].lower()}.",
            f"  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .{SUPPORT[name][1].lower()}."]


def with_kinds(p, changed):
    return dataclasses.replace(p, arguments=[dataclasses.replace(a, kind=changed(a.kind)) for a in p.arguments])


def with_pointers(p):
    """The form of mpi with a TYPE(C_PTR) in the place of an address."""
    return with_kinds(p, lambda kind: "WITH_CPTR" if kind == "C_BUFFER" else kind)


def module_mpi(described_by=""):
    text = module_head("mpi", "") + support_constants("mpi")
    for c in constants():
        if c.fortran_type.startswith("TYPE"):
            text.append(f"  integer, parameter :: {c.name} = {c.value}")
    text += [line.replace(", public", "") for line in common_statements(False)]
    for prefix in ("", "P"):
        for p in CALLED:
            name = prefix + p.name
            names = [name] + [prefix + "MPI_" + n for n in p.extra_names]
            if p.short == "sizeof":
                text += [f"  interface {name}", *interface_body(p, name + "_f08ts", 1, 4, described_by), "  end interface"]
                continue
            if p.large_in_mpi:
                large = with_kinds(p.with_large_counts, lambda kind: kind.removeprefix("POLY"))
                text += [f"  interface {name}", *interface_body(p, name, 0, 4),
                         *interface_body(large, prefix + large.name, 0, 4), "  end interface"]
                continue
            if len(names) > 1:
                text.append(f"  interface {name}")
                text += interface_body(p, name, 0, 4)
                text += interface_body(with_pointers(p), names[1], 0, 4)
                text.append("  end interface")
                continue
            text += ["  interface", *interface_body(p, name, 0, 4), "  end interface"]
    for p in PREDEFINED:
        text += ["  interface", *interface_body(p, p.name, 0, 4), "  end interface"]
    text.append("end module mpi")
    return "\n".join(text) + "\n"


def differ(procedure):
    """Whether a compiler can tell the form with large counts by its arguments: some were large ever since."""
    def declared(p, form):
        # These two kinds are one number.
        return [line.replace("MPI_ADDRESS_KIND", "MPI_COUNT_KIND") for a in p.arguments for line in declare(p, a, form)]

    return declared(procedure, 1) != declared(procedure.with_large_counts, 2)


def module_f08(described_by=""):
    text = module_head("mpi_f08", "") + support_constants("mpi_f08")
    for c in constants():
        if c.fortran_type.startswith("TYPE"):
            kind = c.fortran_type[5:-1]
            text.append(f"  type({kind}), parameter :: {c.name} = {kind}({c.value})")
    text += [line.replace(", public", "") for line in common_statements(True)]
    text.append("  abstract interface")
    for p in CALLBACKS:
        if p.old:
            continue
        text += interface_body(p, p.name, 1, 4)
        if p.large:
            text += interface_body(p, p.name + "_c", 2, 4)
    text.append("  end interface")
    for p in PREDEFINED:
        if p.old:
            continue
        text += ["  interface", *interface_body(p, p.name, 1, 4), "  end interface"]
        if p.name == "MPI_CONVERSION_FN_NULL":
            text += ["  interface", *interface_body(p, p.name + "_C", 2, 4), "  end interface"]
    for prefix in ("", "P"):
        for procedure in CALLED:
            if procedure.old:
                continue
            forms = [(procedure, 1)]
            own_name = []
            if procedure.large and differ(procedure):
                large = procedure.with_large_counts
                apart = procedure.large_has_own_name
                (own_name if apart else forms).append((large, 2))
            for generic, members in ((procedure.name, forms), (procedure.name + "_c", own_name)):
                if not members:
                    continue
                text.append(f"  interface {prefix}{generic}")
                for p, form in members:
                    if p.has_buffers:
                        text += interface_body(p, f"{prefix}{p.name}_f08ts", form, 4, described_by)
                    else:
                        text += interface_body(p, f"{prefix}{p.name}_f08", form, 4)
                text.append("  end interface")
    text.append("end module mpi_f08")
    return "\n".join(text) + "\n"


# ---------------------------------------------------------------- what is no part of the standard

EXTENSION_CONSTANTS = [c for _, section in model.extension_constants() for c in section]
EXTENSION_HANDLES = sorted({f"MPI_{a.handle}" for p in EXTENSIONS for a in p.arguments if a.handle})


def mpif_ext():
    text = ["! SPDX-License-Identifier: BSD-3-Clause",
            "! mpif-ext.h: what Tutti has beyond MPI 5.0, for inclusion after mpif.h.",
            "! Made by lib/fortran.py from lib/table/."]
    for name, value in EXTENSION_CONSTANTS:
        text += [fixed(f"INTEGER {name}"), fixed(f"PARAMETER ({name}={value})")]
    return "\n".join(text) + "\n"


def module_ext(name, form):
    text = ["! SPDX-License-Identifier: BSD-3-Clause", "! Made by lib/fortran.py from lib/table/.", f"module {name}"]
    if form > 0:
        text.append("  use tutti_mpi_types, only : " + ", ".join(EXTENSION_HANDLES))
    text.append("  implicit none")
    if form > 0:
        text.append("  private :: " + ", ".join(EXTENSION_HANDLES))
    text += [f"  integer, parameter :: {constant} = {value}" for constant, value in EXTENSION_CONSTANTS]
    for prefix in ("", "P"):
        for p in EXTENSIONS:
            generic = f" {prefix}{p.name}" if form > 0 else ""
            body = interface_body(p, prefix + p.name + ("_f08" if form > 0 else ""), form, 4)
            text += [f"  interface{generic}", *body, "  end interface"]
    return "\n".join(text + [f"end module {name}"]) + "\n"


# ---------------------------------------------------------------- what there is, for the tests

def listing():
    """One line for each procedure: its name, interface and symbol."""
    text = []
    for prefix in ("", "P"):
        for p in CALLED:
            symbols = [("mpi", f"mpi_{p.short}_{'f08ts_' if p.short == 'sizeof' else ''}")]
            if not p.modules_alone and p.short != "sizeof":
                symbols.append(("mpif.h", f"mpi_{p.short}_"))
            symbols += [("mpi", f"mpi_{n}_") for n in p.extra_names]
            symbols += [("mpi", f"mpi_{p.short}_c_")] if p.large_in_mpi else []
            if not p.old:
                symbols.append(("mpi_f08", f"mpi_{p.short}_{'f08ts' if p.has_buffers else 'f08'}_"))
            if p.large:
                symbols.append(("mpi_f08", f"mpi_{p.short}_c_{'f08ts' if p.has_buffers else 'f08'}_"))
            text += [f"{prefix}{p.name}\t{interface}\t{prefix.lower()}{symbol}" for interface, symbol in symbols]
        for p in EXTENSIONS:
            for interface, end in (("mpif-ext.h", ""), ("mpi_ext", ""), ("mpi_f08_ext", "f08_")):
                text.append(f"{prefix}{p.name}\t{interface}\t{prefix.lower()}mpix_{p.short}_{end}")
    return "\n".join(text) + "\n"


MAKERS = {"procedures": procedures, "mpif": mpif, "types": types, "mpi": module_mpi, "mpi_f08": module_f08,
          "mpi_c": lambda: module_mpi(C_DESCRIPTORS), "mpi_f08_c": lambda: module_f08(C_DESCRIPTORS), "list": listing,
          "extensions": extensions, "mpif_ext": mpif_ext, "mpi_ext": lambda: module_ext("mpi_ext", 0),
          "mpi_f08_ext": lambda: module_ext("mpi_f08_ext", 1)}

if __name__ == "__main__":
    output = pathlib.Path(sys.argv[2])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(MAKERS[sys.argv[1]]())
