# SPDX-License-Identifier: BSD-3-Clause
"""Makes the Fortran interfaces from lib/table/: the procedures of libmpifort_abi, mpif.h, the modules mpi and mpi_f08.
usage: fortran.py procedures|mpif|types|mpi|mpi_f08|list OUTPUT

A kind of argument is a row: its types in Fortran by table/fortran_kinds.tsv, its conversion in KINDS below. A kind
without one there is passed on: by value what C wants by value, else its address."""
import pathlib
import sys
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

# ---------------------------------------------------------------- the procedures, in C

# Written by hand in fortran/special.inc.
SPECIAL = {"init", "init_thread", "info_create_env", "pcontrol", "wtime", "wtick", "aint_add", "aint_diff",
           "f_sync_reg", "sizeof", "status_f2f08", "status_f082f", "buffer_detach", "attr_put", "attr_get",
           "keyval_create", "op_create", "op_create_c", "grequest_start", "register_datarep", "register_datarep_c",
           "comm_spawn", "comm_spawn_multiple", "info_get", "info_get_string", "session_get_nth_pset",
           "abi_get_fortran_booleans", "abi_set_fortran_booleans"}
SPECIAL |= {f"{o}_{what}" for o in ("comm", "type", "win") for what in ("set_attr", "get_attr", "create_keyval")}
SPECIAL |= {f"{o}_create_errhandler" for o in ("comm", "file", "win", "session")}

# Those whose f08 form differs from the older one by more than buffers.
F08_BY_HAND = {"buffer_detach"}

HANDLES = {"COMMUNICATOR": ("comm", "Comm", "MPI_COMM_NULL"), "DATATYPE": ("datatype", "Datatype", "MPI_DATATYPE_NULL"),
           "ERRHANDLER": ("errhandler", "Errhandler", "MPI_ERRHANDLER_NULL"), "FILE": ("file", "File", "MPI_FILE_NULL"),
           "GROUP": ("group", "Group", "MPI_GROUP_NULL"), "INFO": ("info", "Info", "MPI_INFO_NULL"),
           "MESSAGE": ("message", "Message", "MPI_MESSAGE_NULL"), "OPERATION": ("op", "Op", "MPI_OP_NULL"),
           "REQUEST": ("request", "Request", "MPI_REQUEST_NULL"), "SESSION": ("session", "Session", "MPI_SESSION_NULL"),
           "WINDOW": ("win", "Win", "MPI_WIN_NULL")}

# Arguments of kind INDEX that name an element of an array of the caller's, counted from 1 in Fortran.
INDICES = {"waitany": "index", "testany": "index", "request_get_status_any": "index",
           "waitsome": "array_of_indices", "testsome": "array_of_indices",
           "request_get_status_some": "array_of_indices"}

TEXT_SIZES = {"datarep": "MPI_MAX_DATAREP_STRING", "key": "MPI_MAX_INFO_KEY"}


class Code:
    """What becomes of one argument."""

    def __init__(self, declaration, value, before=(), after=(), on_success=()):
        self.declaration, self.value = declaration, value
        self.before, self.after, self.on_success = list(before), list(after), list(on_success)


def handle_code(p, a):
    word, c_type, null = HANDLES[a.kind]
    n = a.name
    if a.is_array:
        length = array_length(p, a)
        before = [f"HANDLES({c_type}, {n}, {length});"]
        if a.direction != "out":
            before.append(f"HANDLES_IN({n}, {word}_in);")
        out = [] if a.direction == "in" else [f"HANDLES_OUT({n}, {word}_out);"]
        end = [f"HANDLES_END({n});"]
        const = "const " if a.direction == "in" else ""
        if a.direction == "out":
            before.append(f"HANDLES_CLEAR({n});")
            return Code(f"{const}MPI_Fint *{n}", f"{n}_", before, [f"HANDLES_OUT_FILLED({n}, {word}_out);"] + end)
        return Code(f"{const}MPI_Fint *{n}", f"{n}_", before, out + end)
    by_address = a.c_type.endswith("*")
    if a.direction == "in" and not by_address:
        return Code(f"const MPI_Fint *{n}", f"{word}_in(*{n})")
    if a.direction == "out":
        return Code(f"MPI_Fint *{n}", f"&{n}_", [f"MPI_{c_type} {n}_ = {null};"], [], [f"*{n} = {word}_out({n}_);"])
    return Code(f"MPI_Fint *{n}", f"&{n}_", [f"MPI_{c_type} {n}_ = {word}_in(*{n});"], [f"*{n} = {word}_out({n}_);"])


def array_length(p, a):
    if a.length != "*":
        return f"*{a.length}"
    on = next(x for x in p.arguments if x.kind == "COMMUNICATOR")
    which = "ranks_of" if "neighbor" not in p.short else "destinations_of" if "send" in a.name else "sources_of"
    return f"{which}(comm_in(*{on.name}))"


def status_code(p, a):
    const = "const " if a.direction == "in" else ""
    return Code(f"{const}MPI_Fint *{a.name}", f"status_in({a.name})")


def logical_code(p, a):
    n = a.name
    if a.direction == "in":
        return Code(f"const MPI_Fint *{n}", n if a.is_array else f"logical_in(*{n})")
    length = "1" if not a.is_array else f"*{a.length}" if a.length != "*" else None
    if length is None:
        raise ValueError(f"{p.name}: how long is {n}?")
    if p.short == "cart_get":  # which fills as many as there are dimensions
        return Code(f"MPI_Fint *{n}", n, [], [], [f"logicals_out({n}, cart_dimensions(comm_in(*comm), *maxdims));"])
    return Code(f"MPI_Fint *{n}", n, [], [], [f"logicals_out({n}, {length});"])


def string_code(p, a):
    n = a.name
    if a.direction == "in":
        how = "TEXT_IN_STRIPPED" if p.short.startswith("info_") else "TEXT_IN"
        return Code(f"const char *{n}", f"{n}_", [f"{how}({n});"], [f"TEXT_END({n});"])
    size = TEXT_SIZES.get(n) or (a.length if a.length.startswith("MPI_") else None)
    if not size:
        raise ValueError(f"{p.name}: how long may {n} be?")
    return Code(f"char *{n}", f"{n}_", [f"char {n}_[{size}] = \"\";"], [], [f"text_out({n}, {n}_length, {n}_);"])


def index_code(p, a):
    if a.name != INDICES.get(p.short.removesuffix("_c")) or a.direction != "out":
        return passed_on(p, a)
    if not a.is_array:
        return Code(f"MPI_Fint *{a.name}", a.name, [], [], [f"index_out({a.name});"])
    return Code(f"MPI_Fint *{a.name}", a.name, [], [],
                [f"for (int i = 0; *outcount != MPI_UNDEFINED && i < *outcount; i++) index_out(&{a.name}[i]);"])


def passed_on(p, a):
    c_type = a.c_type
    if "[" in c_type:
        base, _, rest = c_type.partition("[")
        if "][3]" in c_type:
            return Code(f"MPI_Fint (*{a.name})[3]", a.name)
        return Code(f"{base.strip()} *{a.name}", a.name)
    if c_type.endswith("*"):
        return Code(f"{c_type}{a.name}", a.name)
    return Code(f"const {c_type} *{a.name}", f"*{a.name}")


KINDS = {
    "BUFFER": lambda p, a: Code(f"void *{a.name}", f"address_in({a.name})"),
    "C_BUFFER": lambda p, a: Code(f"void *{a.name}", a.name),
    "C_BUFFER2": lambda p, a: Code(f"void *{a.name}", a.name),
    "ERROR_CODE": lambda p, a: Code(f"MPI_Fint *{a.name}", f"errcodes_in({a.name})") if a.is_array else passed_on(p, a),
    "INDEX": index_code,
    "LOGICAL": logical_code,
    "STATUS": status_code,
    "STRING": string_code,
    "WEIGHT": lambda p, a: Code(f"{'const ' if a.direction == 'in' else ''}MPI_Fint *{a.name}",
                                f"({'const ' if a.direction == 'in' else ''}MPI_Fint *)address_in({a.name})"),
    **{kind: handle_code for kind in HANDLES},
}


def code_of(p, a):
    return KINDS.get(a.kind, passed_on)(p, a)


COUNTS = ("POLYXFER_NUM_ELEM_NNI", "POLYDTYPE_NUM_ELEM_NNI", "POLYXFER_NUM_ELEM", "POLYDTYPE_NUM_ELEM", "XFER_NUM_ELEM_NNI", "XFER_NUM_ELEM")
REDUCTIONS = ("reduce", "allreduce", "scan", "exscan")


def section_use(p, a):
    """How a buffer of mpi_f08 is used (fortran/section.h), and its count and datatype."""
    at = p.arguments.index(a)
    behind = []
    for other in p.arguments[at + 1:]:
        if other.kind == "BUFFER":
            break
        behind.append(other)
    count = next((o for o in behind if o.kind in COUNTS and o.direction == "in"), None)
    datatype = next((o for o in behind if o.kind == "DATATYPE"), None)
    base = p.short.removesuffix("_c").removesuffix("_init").removeprefix("ineighbor_").removeprefix("neighbor_")
    bare = base[1:] if base.startswith("i") else base
    if any(bare.startswith(r) for r in REDUCTIONS) or bare == "alltoallw":
        return "kCopy", None, None
    if not count or not datatype:
        # The end of a split call means the buffer of its beginning, and an address is that of the first element.
        return ("kAddress" if p.short == "get_address" or p.short.endswith("_end") else "kPlain"), None, None
    blocks = (a.name == "recvbuf" and bare in ("gather", "gatherv", "allgather", "allgatherv", "alltoall", "alltoallv")
              or a.name == "sendbuf" and bare in ("scatter", "scatterv", "alltoall", "alltoallv")
              or p.short in ("psend_init", "precv_init"))
    return ("kBlocks" if blocks else "kOnce"), count, datatype


def signature_of(p, codes, name):
    declarations = [c.declaration for c in codes] + ["MPI_Fint *ierror"]
    declarations += [f"size_t {a.name}_length" for a in p.arguments if a.kind == "STRING"]
    return f"void {name}({', '.join(declarations)})"


def body_of(p, codes):
    text = ["  ENTER();"]
    for c in codes:
        text += ["  " + line for line in c.before]
    text.append(f"  const int error_ = C({p.name.removeprefix('MPI_')})({', '.join(c.value for c in codes)});")
    done = [line for c in codes for line in c.on_success]
    if done:
        text.append("  if (error_ == MPI_SUCCESS) {")
        text += ["    " + line for line in done]
        text.append("  }")
    for c in codes:
        text += ["  " + line for line in c.after]
    text.append("  if (ierror) *ierror = error_;")
    return text


def sections_body(p):
    """The form of mpi_f08 with descriptors: buffers, their counts and datatypes are variables first."""
    codes, begins, ends = {}, [], []
    on = next((f"comm_in(*{a.name})" for a in p.arguments if a.kind == "COMMUNICATOR"), "MPI_COMM_SELF")
    for a in p.arguments:
        if a.kind != "BUFFER":
            codes.setdefault(a.name, code_of(p, a))
            if a.kind == "STRING":  # bind(C) passes it by descriptor
                codes[a.name] = Code(f"CFI_cdesc_t *{a.name}_text", f"{a.name}_",
                                     [f"const char *{a.name} = (const char *){a.name}_text->base_addr;",
                                      f"const size_t {a.name}_length = {a.name}_text->elem_len;",
                                      f"TEXT_IN({a.name});"], [f"TEXT_END({a.name});"])
            continue
        n = a.name
        use, count, datatype = section_use(p, a)
        flow = {"in": "kIn", "out": "kOut", "inout": "kInOut"}[a.direction]
        if a.flag("asynchronous"):
            flow += " | kLater"
        before = [f"struct section {n}_;"]
        count_at = type_at = "NULL"
        if count and use != "kCopy":
            is_scalar = not count.is_array
            count_at = f"&{count.name}_count_"
            before.append(f"MPI_Count {count.name}_count_ = {'*' + count.name if is_scalar else '1'};")
            if is_scalar:
                c = passed_on(p, count)
                codes[count.name] = Code(c.declaration, f"({count.c_type}){count.name}_count_")
            type_at = f"&{datatype.name}_"
            before.append(f"MPI_Datatype {datatype.name}_ = datatype_in(*{datatype.name});")
            codes[datatype.name] = Code(f"const MPI_Fint *{datatype.name}", f"{datatype.name}_")
        codes[n] = Code(f"CFI_cdesc_t *{n}", f"{n}_.address", before)
        begins.append(f"section_begin(&{n}_, {n}, {count_at}, {type_at}, {use}, {flow}, {on})")
        ends.append(f"SECTION_END({n}_);")
    codes = [codes[a.name] for a in p.arguments]
    text = ["  ENTER();"]
    for c in codes:
        text += ["  " + line for line in c.before]
    text.append(f"  int error_ = {begins[0]};")
    # All begin, so that all may end; the first error counts.
    for begin, a in zip(begins[1:], [a for a in p.arguments if a.kind == "BUFFER"][1:]):
        text.append(f"  const int error_of_{a.name} = {begin};")
        text.append(f"  if (error_ == MPI_SUCCESS) error_ = error_of_{a.name};")
    text.append("  if (error_ == MPI_SUCCESS)")
    text.append(f"    error_ = C({p.name.removeprefix('MPI_')})({', '.join(c.value for c in codes)});")
    text += ["  " + line for line in ends]
    done = [line for c in codes for line in c.on_success]
    if done:
        text.append("  if (error_ == MPI_SUCCESS) {")
        text += ["    " + line for line in done]
        text.append("  }")
    for c in codes:
        text += ["  " + line for line in c.after]
    text.append("  if (ierror) *ierror = error_;")
    head = f"void TS({p.short})({', '.join([c.declaration for c in codes] + ['MPI_Fint *ierror'])})"
    return [head + " {", *text, "}"]


def alias(new, old):
    """Another name of a procedure, which is not replaced with it."""
    return f"void {new}(void) __attribute__((alias(NAME_OF({old}))));"


def procedures():
    text = ["/* Made by lib/fortran.py from lib/table/. */"]
    for procedure in CALLED:
        p = form_of(procedure, False)
        if p.short not in SPECIAL:
            codes = [code_of(p, a) for a in p.arguments]
            text += [signature_of(p, codes, f"F({p.short})") + " {", *body_of(p, codes), "}"]
        for name in extra_names(p):
            text.append(alias(f"F({name})", p.short))
        if not p.flag("old") and p.short not in F08_BY_HAND:
            if not p.has_buffers:
                text.append(alias(f"F08({p.short})", p.short))
            elif p.short not in SPECIAL:
                text += sections_body(p)
        if p.flag("large"):
            p = form_of(procedure, True)
            if p.short in SPECIAL:
                text.append(alias(f"F08({p.short})", p.short))
            elif p.has_buffers:
                text += sections_body(p)
            else:
                codes = [code_of(p, a) for a in p.arguments]
                text += [signature_of(p, codes, f"F08({p.short})") + " {", *body_of(p, codes), "}"]
    return "\n".join(text) + "\n"


WITH_CPTR = {"alloc_mem", "win_allocate", "win_allocate_shared", "win_shared_query"}


def extra_names(p):
    return [p.short + "_cptr"] if p.short in WITH_CPTR else []


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
    for c in table.constants():
        if c.name.startswith("MPI_T_") and not c.name.startswith("MPI_T_ERR_") or c.name.startswith("MPI_F_"):
            continue
        value = c.value
        if c.type in ("enum", "macro"):
            if not value.lstrip("-").replace("x", "0").isalnum() or value.startswith("MPI_"):
                continue
            number = int(value, 0)
            if c.name.startswith("MPI_MAX_"):
                number -= 1  # no zero at the end
            found.append(Value(c.name, "INTEGER", str(number)))
        elif c.type == "MPI_Offset":
            found.append(Value(c.name, "INTEGER(KIND=MPI_OFFSET_KIND)", f"{int(value, 0)}"))
        elif c.type.removeprefix("MPI_") in {h[1] for h in HANDLES.values()}:
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


SUPPORT = {"mpif": ("FALSE", "FALSE"), "mpi": ("FALSE", "FALSE"), "mpi_f08": ("TRUE", "TRUE")}

KIND_CONSTANTS = [("MPI_ADDRESS_KIND", "8"), ("MPI_COUNT_KIND", "8"), ("MPI_OFFSET_KIND", "8"), ("MPI_INTEGER_KIND", "4")]
STATUS_CONSTANTS = [("MPI_STATUS_SIZE", "8"), ("MPI_SOURCE", "1"), ("MPI_TAG", "2"), ("MPI_ERROR", "3")]


def common_block():
    names = [n.partition("(")[0] for n in SPECIAL_INTEGERS] + ["MPI_STATUS_IGNORE", "MPI_STATUSES_IGNORE"]
    return names


def mpif():
    text = ["! SPDX-License-Identifier: BSD-3-Clause", "! mpif.h: MPI 5.0 for Fortran, in fixed and in free form alike.",
            "! Made by lib/fortran.py from lib/table/."]

    def constant(name, kind, value):
        text.append(fixed(f"{kind} {name}"))
        text.append(fixed(f"PARAMETER ({name}={value})"))

    for name, value in KIND_CONSTANTS + STATUS_CONSTANTS:
        constant(name, "INTEGER", value)
    for name, value in zip(("MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"), SUPPORT["mpif"]):
        constant(name, "LOGICAL", f".{value}.")
    for c in constants():
        kind = "INTEGER*8" if "OFFSET" in c.fortran_type else "INTEGER"
        constant(c.name, kind, c.value)
    for name in SPECIAL_INTEGERS:
        text.append(fixed(f"INTEGER {name}"))
    text += [fixed("INTEGER MPI_STATUS_IGNORE(8)"), fixed("INTEGER MPI_STATUSES_IGNORE(8,1)"),
             fixed("CHARACTER*1 MPI_ARGV_NULL(1)"), fixed("CHARACTER*1 MPI_ARGVS_NULL(1,1)")]
    for name in common_block():
        text.append(fixed(f"COMMON /TUTTI_FORTRAN_SPECIAL/ {name}"))
    for name in ("MPI_ARGV_NULL", "MPI_ARGVS_NULL"):
        text.append(fixed(f"COMMON /TUTTI_FORTRAN_SPECIAL_TEXT/ {name}"))
    for prefix in ("", "P"):
        for name in ("MPI_WTIME", "MPI_WTICK"):
            text += [fixed(f"DOUBLE PRECISION {prefix}{name}"), fixed(f"EXTERNAL {prefix}{name}")]
        for name in ("MPI_AINT_ADD", "MPI_AINT_DIFF"):
            text += [fixed(f"INTEGER*8 {prefix}{name}"), fixed(f"EXTERNAL {prefix}{name}")]
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


HANDLE_NAMES = [h[1] for h in HANDLES.values()]


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
    for name in HANDLE_NAMES:
        text += [f"  type, bind(C), public :: MPI_{name}", "    integer :: MPI_VAL", f"  end type MPI_{name}"]
    text += ["  type, bind(C), public :: MPI_Status", "    integer :: MPI_SOURCE", "    integer :: MPI_TAG",
             "    integer :: MPI_ERROR", "    integer :: MPI_internal(5)", "  end type MPI_Status"]
    for operator, word in (("==", "equal"), ("/=", "differ")):
        text.append(f"  interface operator({operator})")
        for name in HANDLE_NAMES:
            for way in ("", "_integer", "_to"):
                text.append(f"    module procedure {word}_{name}{way}")
        text += ["  end interface", f"  public :: operator({operator})"]
    text.append("contains")
    for operator, word in (("==", "equal"), ("/=", "differ")):
        for name in HANDLE_NAMES:
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
    in_callback = p.is_callback or p.is_predefined
    if a.kind == "F08_STATUS":
        kind = "TYPE(MPI_Status)"
    if a.kind in FUNCTIONS:
        interface = a.flag("is") + ("_c" if form == 2 and a.kind == "POLYFUNCTION" else "")
        return [f"procedure({interface}) :: {name}"] if f08 else [f"external :: {name}"]
    if a.kind in ("C_BUFFER3", "C_BUFFER4") and f08:
        return [f"type(C_PTR), value :: {name}"]
    if a.kind == "BUFFER" or (not f08 and a.kind in ("C_BUFFER2", "C_BUFFER3", "C_BUFFER4")):
        if f08:
            intent = ", intent(in)" if a.direction == "in" and not a.flag("nointent") else ""
            extra = ", asynchronous" if a.flag("asynchronous") else ""
            return [f"type(*), dimension(..){intent}{extra} :: {name}"]
        return [f"!DIR$ IGNORE_TKR {name}", f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}",
                f"type(*), dimension(*) :: {name}"]
    dimension = ""
    if a.is_array or a.kind in ("STRING_ARRAY", "STRING_2DARRAY") or (a.kind == "STATUS" and not f08) or (
            a.kind == "F90_STATUS"):
        dimension = array_shape(p, a, f08)
    if a.kind in STRINGS:
        kind = "character(len=*)"
    if a.kind in ("STRING_ARRAY", "STRING_2DARRAY"):
        dimension = "(*)" if a.kind == "STRING_ARRAY" else "(count, *)"
    if f08 and not a.flag("nointent") and not in_callback:
        if a.kind in ("STATUS", "F08_STATUS") and a.direction != "in":
            pass  # MPI_STATUS_IGNORE may be passed
        else:
            attributes.append(f"intent({a.direction})")
    if f08 and a.flag("asynchronous"):
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


def interface_body(p, name, form, indent, binding="", optional=None):
    """The interface of a procedure."""
    f08 = form > 0
    arguments = [a.name for a in p.arguments]
    has_ierror = not p.returns and p.short not in ("f_sync_reg", "pcontrol")
    pad = " " * indent
    word = "function" if p.returns and p.returns != "NOTHING" and not p.name.endswith("_function") and not \
        p.name.removesuffix("_c").endswith("_function") else "subroutine"
    if has_ierror:
        arguments.append("ierror")
    head = f"{word} {name}({', '.join(arguments)})" + (f" bind(C, name=\"{binding}\")" if binding else "")
    text = [wrapped(head, indent)]
    text += [pad + "  " + line for line in uses(p, form)]
    # A length has to be declared before the array.
    ordered = sorted(p.arguments, key=lambda a: a.is_array or a.kind == "STRING_2DARRAY")
    for a in ordered:
        text += [line if line.startswith("!") else wrapped(line, indent + 2) for line in declare(p, a, form)]
    if word == "function":
        text.append(f"{pad}  {TYPES[p.returns][1 if f08 else 0].lower()} :: {name}")
    if has_ierror:
        is_callback = p.is_callback or p.is_predefined
        text.append(pad + "  " + ("integer, optional, intent(out) :: ierror" if f08 and not is_callback
                                  else "integer :: ierror"))
    text.append(f"{pad}end {word} {name}")
    return text


def common_statements(f08):
    text = ["  integer, public :: MPI_BOTTOM, MPI_IN_PLACE, MPI_BUFFER_AUTOMATIC",
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


def module_mpi():
    text = module_head("mpi", "") + support_constants("mpi")
    for c in constants():
        if c.fortran_type.startswith("TYPE"):
            text.append(f"  integer, parameter :: {c.name} = {c.value}")
    text += [line.replace(", public", "") for line in common_statements(False)]
    for prefix in ("", "P"):
        for procedure in CALLED:
            p = form_of(procedure, False)
            name = prefix + p.name
            names = [name] + [prefix + "MPI_" + n for n in extra_names(p)]
            if p.short == "sizeof":
                text += [f"  interface {name}", *interface_body(p, name + "_f08ts", 1, 4,
                                                                 f"{prefix.lower()}mpi_sizeof_f08ts_"), "  end interface"]
                continue
            if len(names) > 1:
                text.append(f"  interface {name}")
                text += interface_body(p, name, 0, 4)
                pointer = p._replace(arguments=[a._replace(kind="WITH_CPTR") if a.kind == "C_BUFFER" else a
                                                for a in p.arguments])
                text += interface_body(pointer, names[1], 0, 4)
                text.append("  end interface")
                continue
            text += ["  interface", *interface_body(p, name, 0, 4), "  end interface"]
    for p in PREDEFINED:
        text += ["  interface", *interface_body(p, p.name, 0, 4), "  end interface"]
    text.append("end module mpi")
    return "\n".join(text) + "\n"


TYPES["WITH_CPTR"] = ("type(C_PTR)",) * 3


def differ(procedure):
    """Whether a compiler can tell the form with large counts by its arguments: some were large ever since."""
    def declared(p, form):
        # These two kinds are one number.
        return [line.replace("MPI_ADDRESS_KIND", "MPI_COUNT_KIND") for a in p.arguments for line in declare(p, a, form)]

    return declared(form_of(procedure, False), 1) != declared(form_of(procedure, True), 2)


def module_f08():
    text = module_head("mpi_f08", "") + support_constants("mpi_f08")
    for c in constants():
        if c.fortran_type.startswith("TYPE"):
            kind = c.fortran_type[5:-1]
            text.append(f"  type({kind}), parameter :: {c.name} = {kind}({c.value})")
    text += [line.replace(", public", "") for line in common_statements(True)]
    text.append("  abstract interface")
    for p in CALLBACKS:
        if p.flag("old"):
            continue
        text += interface_body(form_of(p, False), p.name, 1, 4)
        if p.flag("large"):
            text += interface_body(p, p.name + "_c", 2, 4)
    text.append("  end interface")
    for p in PREDEFINED:
        if p.flag("old"):
            continue
        text += ["  interface", *interface_body(p, p.name, 1, 4), "  end interface"]
        if p.name == "MPI_CONVERSION_FN_NULL":
            text += ["  interface", *interface_body(p, p.name + "_C", 2, 4), "  end interface"]
    for prefix in ("", "P"):
        for procedure in CALLED:
            if procedure.flag("old"):
                continue
            forms = [(form_of(procedure, False), 1)]
            own_name = []
            if procedure.flag("large") and differ(procedure):
                large = form_of(procedure, True)
                apart = procedure.short in ("op_create", "register_datarep")
                (own_name if apart else forms).append((large, 2))
            for generic, members in ((procedure.name, forms), (procedure.name + "_c", own_name)):
                if not members:
                    continue
                text.append(f"  interface {prefix}{generic}")
                for p, form in members:
                    if p.has_buffers:
                        text += interface_body(p, f"{prefix}{p.name}_f08ts", form, 4,
                                               f"{prefix.lower()}{p.name.lower()}_f08ts_")
                    else:
                        text += interface_body(p, f"{prefix}{p.name}_f08", form, 4)
                text.append("  end interface")
    text.append("end module mpi_f08")
    return "\n".join(text) + "\n"


# ---------------------------------------------------------------- what there is, for the tests

def listing():
    """One line for each procedure: its name, interface and symbol."""
    text = []
    for prefix in ("", "P"):
        for procedure in CALLED:
            p = form_of(procedure, False)
            symbols = [("mpi", f"mpi_{p.short}_{'f08ts_' if p.short == 'sizeof' else ''}")]
            if not p.flag("modules") and p.short != "sizeof":
                symbols.append(("mpif.h", f"mpi_{p.short}_"))
            symbols += [("mpi", f"mpi_{n}_") for n in extra_names(p)]
            if not p.flag("old"):
                symbols.append(("mpi_f08", f"mpi_{p.short}_{'f08ts' if p.has_buffers else 'f08'}_"))
            if p.flag("large"):
                symbols.append(("mpi_f08", f"mpi_{p.short}_c_{'f08ts' if p.has_buffers else 'f08'}_"))
            text += [f"{prefix}{p.name}\t{interface}\t{prefix.lower()}{symbol}" for interface, symbol in symbols]
    return "\n".join(text) + "\n"


MAKERS = {"procedures": procedures, "mpif": mpif, "types": types, "mpi": module_mpi, "mpi_f08": module_f08,
          "list": listing}

if __name__ == "__main__":
    output = pathlib.Path(sys.argv[2])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(MAKERS[sys.argv[1]]())
