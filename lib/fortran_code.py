# SPDX-License-Identifier: BSD-3-Clause
"""The procedures of Fortran in C: what fortran/procedures.c includes. A kind of argument is a row of KINDS; a kind
without one is passed on: by value what C wants by value, else its address."""
import model
from model import What


class Code:
    """What becomes of one argument."""

    def __init__(self, declaration, value, before=(), after=(), on_success=()):
        self.declaration, self.value = declaration, value
        self.before, self.after, self.on_success = list(before), list(after), list(on_success)


def handle_code(p, a):
    c_type = a.handle
    word, null = c_type.lower(), f"MPI_{c_type.upper()}_NULL"
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
    # What C writes where the call fails, too, as the null handle of a duplicate, is written in Fortran: no handle is 0.
    if a.direction == "out" and not p.has_buffers:
        return Code(f"MPI_Fint *{n}", f"&{n}_", [f"MPI_{c_type} {n}_ = NULL;"],
                    [f"if ({n}_ || error_ == MPI_SUCCESS) *{n} = {word}_out({n}_ ? {n}_ : {null});"])
    if a.direction == "out":
        return Code(f"MPI_Fint *{n}", f"&{n}_", [f"MPI_{c_type} {n}_ = {null};"], [], [f"*{n} = {word}_out({n}_);"])
    return Code(f"MPI_Fint *{n}", f"&{n}_", [f"MPI_{c_type} {n}_ = {word}_in(*{n});"], [f"*{n} = {word}_out({n}_);"])


def array_length(p, a):
    if a.length != "*":
        return f"*{a.length}"
    on = next(x for x in p.arguments if x.kind == "COMMUNICATOR")
    which = "ranks_of" if not p.neighbors else "destinations_of" if "send" in a.name else "sources_of"
    length = f"{which}(comm_in(*{on.name}))"
    # With MPI_IN_PLACE these may be fewer, and stand for nothing (section 6.8).
    return f"is_in_place(sendbuf) ? 0 : {length}" if a.name == "sendtypes" else length


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
    size = a.length
    if not size.startswith("MPI_"):
        raise ValueError(f"{p.name}: how long may {n} be?")
    return Code(f"char *{n}", f"{n}_", [f"char {n}_[{size}] = \"\";"], [], [f"text_out({n}, {n}_length, {n}_);"])


def index_code(p, a):
    """C writes to variables of its own, which are set: a call that is refused writes to none, whatever its error handler
    leaves, and one that fails for a request counts from 0 like any other."""
    if not a.from_one:
        return passed_on(p, a)
    if not a.is_array:
        return Code(f"MPI_Fint *{a.name}", "&index_", ["int index_ = MPI_UNDEFINED;"], [f"*{a.name} = index_out(index_);"])
    return Code(f"MPI_Fint *{a.name}", a.name, [], [f"for (int i = 0; i < outcount_; i++) {a.name}[i] = index_out({a.name}[i]);"])


def outcount_code(p, a):
    return Code(f"MPI_Fint *{a.name}", f"&{a.name}_", [f"int {a.name}_ = 0;"], [f"*{a.name} = {a.name}_;"])


def address_out_code(p, a):
    """An address that C writes. That of a buffer which is detached may stand for an automatic one."""
    on_success = [f"detached_out({a.name});"] if "detach" in p.short else []
    return Code(f"void *{a.name}", a.name, [], [], on_success)


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
    "C_BUFFER": address_out_code,
    "C_BUFFER2": address_out_code,
    "ERROR_CODE": lambda p, a: Code(f"MPI_Fint *{a.name}", f"errcodes_in({a.name})") if a.is_array else passed_on(p, a),
    "INDEX": index_code,
    "LOGICAL": logical_code,
    "STATUS": status_code,
    "STRING": string_code,
    "WEIGHT": lambda p, a: Code(f"{'const ' if a.direction == 'in' else ''}MPI_Fint *{a.name}",
                                f"({'const ' if a.direction == 'in' else ''}MPI_Fint *)address_in({a.name})"),
    **{kind: handle_code for kind, k in model.kinds().items() if k.handle},
}


def code_of(p, a):
    if a.name == "outcount" and any(o.from_one for o in p.arguments):
        return outcount_code(p, a)
    return KINDS.get(a.kind, passed_on)(p, a)


def section_use(p, a):
    """How a buffer of mpi_f08 is used (fortran/section.h), and its count and datatype."""
    at = p.arguments.index(a)
    behind = []
    for other in p.arguments[at + 1:]:
        if other.kind == "BUFFER":
            break
        behind.append(other)
    count = next((o for o in behind if o.what is What.ELEMENTS and o.direction == "in"), None)
    datatype = next((o for o in behind if o.kind == "DATATYPE"), None)
    kinds = {o.kind for o in p.arguments}
    at_others = f"(!is_plain({a.name}) || is_judged()) && !is_at_root(comm_in(*comm), *root)" if any(
        o.name == "root" for o in p.arguments) else ""
    if "OPERATION" in kinds and "WINDOW" not in kinds:
        # Of what is scattered the count is that of a part, or of several.
        count = next((o for o in p.arguments if o.name == "count"), None)
        use = "kReduced" if count else "kCopy"
        if a.name == "recvbuf" and at_others:
            use = f"{at_others} ? kIgnored : {use}"
        return use, count, next(o for o in p.arguments if o.kind == "DATATYPE")
    # An attached buffer is measured in bytes as well, but stays in use.
    packed = any(o.what is What.BYTES for o in behind) and not a.asynchronous
    if packed or datatype and datatype.is_array:
        return "kCopy", None, None
    if "DATATYPE" in kinds and not any(o.what is What.ELEMENTS for o in p.arguments):
        return "kAddress", None, None  # one element is meant, the first
    if not count or not datatype:
        # The end of a split call means the buffer of its beginning, and an address is that of the first element.
        return ("kAddress" if a.address_only and "WINDOW" not in kinds else "kPlain"), None, None
    blocks = count.is_array or count.per_block
    if at_others and blocks:  # elsewhere its count and datatype may be anything
        return f"{at_others} ? kIgnored : kBlocks", count, datatype
    return ("kBlocks" if blocks else "kOnce"), count, datatype


def signature_of(p, codes, name):
    declarations = [c.declaration for c in codes] + ["MPI_Fint *ierror"]
    declarations += [f"size_t {a.name}_length" for a in p.arguments if a.kind == "STRING"]
    return f"void {name}({', '.join(declarations)})"


def body_of(p, codes):
    text = ["  ENTER();"]
    for c in codes:
        text += ["  " + line for line in c.before]
    # Another library of MPI's ABI does not have it.
    is_there = f"!C({p.bare}) ? MPI_ERR_UNSUPPORTED_OPERATION : " if p.is_extension else ""
    text.append(f"  const int error_ = {is_there}C({p.bare})({', '.join(c.value for c in codes)});")
    done = [line for c in codes for line in c.on_success]
    if done:
        text.append("  if (error_ == MPI_SUCCESS) {")
        text += ["    " + line for line in done]
        text.append("  }")
    for c in codes:
        text += ["  " + line for line in c.after]
    text.append("  if (ierror) *ierror = error_;")
    return text


def string_by_descriptor(a):
    """bind(C) passes a string by descriptor."""
    n = a.name
    return Code(f"CFI_cdesc_t *{n}_text", f"{n}_", [f"const char *{n} = (const char *){n}_text->base_addr;",
                                                   f"const size_t {n}_length = {n}_text->elem_len;",
                                                   f"TEXT_IN({n});"], [f"TEXT_END({n});"])


def string_beside_descriptors(p, a):
    """Otherwise by an argument behind all others, which an object of a former time does not pass."""
    code = code_of(p, a)
    buffer = next(b.name for b in p.arguments if b.kind == "BUFFER")
    code.before.insert(0, f"if (UNLIKELY(is_former({buffer}))) {a.name}_length = 0;")
    return code


def code_by_descriptor(p, a, own):
    if a.kind == "STRING":
        return string_beside_descriptors(p, a) if own else string_by_descriptor(a)
    if a.kind == "BUFFER":
        return Code(f"descriptor *{a.name}", f"address_in({a.name}->base_addr)")
    code = code_of(p, a)
    code.before = [line.replace("is_in_place(sendbuf)", "is_in_place(sendbuf->base_addr)") for line in code.before]
    return code


def descriptors_body(p):
    """The form of mpi_f08 with descriptors, C's or the compiler's own."""
    if not any(a.kind == "STRING" for a in p.arguments):
        return descriptors_form(p, False)
    return ["#ifdef TUTTI_FORTRAN_OWN_DESCRIPTORS", *descriptors_form(p, True), "#else", *descriptors_form(p, False), "#endif"]


def descriptors_form(p, own):
    """What follows from a section with gaps is in a function of its own, for most calls have none and shall not pay
    for it."""
    codes = [code_by_descriptor(p, a, own) for a in p.arguments]
    lengths = [f"{a.name}_length" for a in p.arguments if own and a.kind == "STRING"]
    parameters = ", ".join([c.declaration for c in codes] + ["MPI_Fint *ierror"] + [f"size_t {n}" for n in lengths])
    names = [c.declaration.replace("(*", "").partition(")")[0].rpartition(" ")[2].lstrip("*") for c in codes] + [
        "ierror", *lengths]
    buffers = [a for a in p.arguments if a.kind == "BUFFER"]
    rare = " | ".join([f"may_be_copy({a.name})" for a in buffers if a.asynchronous and a.direction == "in"] +
                      [f"(!is_plain({a.name}))" for a in buffers] + ["is_judged()"])
    plain = body_of(p, codes)
    assert plain[0] == "  ENTER();"
    c_name = p.name.removeprefix("MPI_")
    return ["#ifdef SECTIONS_COME_FIRST /* once for both prefixes */",
            f"COLD void sections_{p.short}(__typeof__(MPI_{c_name}) *call, {parameters}) {{", *sections_body(p, own), "}", "#endif",
            f"void TS({p.short})({parameters}) {{", plain[0], f"  if (UNLIKELY({rare})) {{",
            f"    sections_{p.short}(C({c_name}), {', '.join(names)});", "    return;", "  }", *plain[1:], "}"]


def sections_body(p, own):
    """The call where a buffer is a section with gaps: buffers, their counts and datatypes are variables first."""
    codes, begins, ends = {}, [], []
    raising = {"COMMUNICATOR": "kOnComm, comm_in", "FILE": "kOnFile, file_in", "WINDOW": "kOnWin, win_in"}
    on = next((f"{raising[a.kind]}(*{a.name})" for a in p.arguments if a.kind in raising and a.direction != "out"),
              "kOnComm, MPI_COMM_SELF")
    # A request that a copy may belong to.
    request = next((a for a in p.arguments if a.kind == "REQUEST" and a.direction == "out"), None)
    is_persistent = int(p.is_persistent)
    window = next((a for a in p.arguments if a.kind == "WINDOW"), None)
    split = next((a for a in p.arguments if a.kind == "FILE"), None) if p.short.removesuffix("_c").endswith("_begin") else None
    for a in p.arguments:
        if a.kind != "BUFFER":
            codes.setdefault(a.name, code_by_descriptor(p, a, own))
            continue
        n = a.name
        use, count, datatype = section_use(p, a)
        # The standard calls the buffer of MPI_Precv_init an argument of direction IN.
        receives = p.is_partitioned and any(o.name == "source" for o in p.arguments)
        direction = "out" if receives else a.direction
        flow = {"in": "kIn", "out": "kOut", "inout": "kInOut"}[direction]
        if a.asynchronous:
            flow += " | kLater" + (" | kRequest" if request else " | kWindow" if window else " | kSplit" if split else "") + " | kAgain" * is_persistent
        before = [f"struct section {n}_;"]
        count_at = type_at = "NULL"
        if count and "kReduced" in use:
            before[1:] = [f"MPI_Count {n}_count_ = *{count.name};",
                          f"MPI_Datatype {n}_datatype_ = datatype_in(*{datatype.name});"]
            count_at, type_at = f"&{n}_count_", f"&{n}_datatype_"
        elif count:
            is_scalar = not count.is_array
            count_at = f"&{count.name}_count_"
            before.append(f"MPI_Count {count.name}_count_ = {'*' + count.name if is_scalar else '1'};")
            if is_scalar:
                c = passed_on(p, count)
                codes[count.name] = Code(c.declaration, f"({count.c_type}){count.name}_count_")
            type_at = f"&{datatype.name}_"
            before.append(f"MPI_Datatype {datatype.name}_ = datatype_in(*{datatype.name});")
            codes[datatype.name] = Code(f"const MPI_Fint *{datatype.name}", f"{datatype.name}_")
        codes[n] = Code(f"descriptor *{n}", f"{n}_.address", before)
        begins.append(f"section_begin(&{n}_, {n}, {count_at}, {type_at}, {use}, {flow}, (struct raised_on){{\"{p.name}\", {on}}})")
        ends.append(f"SECTION_END({n}_);")
    codes = [codes[a.name] for a in p.arguments]
    text = []
    for c in codes:
        text += ["  " + line for line in c.before]
    text.append(f"  int error_ = {begins[0]};")
    # All begin, so that all may end; the first error counts.
    for begin, a in zip(begins[1:], [a for a in p.arguments if a.kind == "BUFFER"][1:]):
        text.append(f"  const int error_of_{a.name} = {begin};")
        text.append(f"  if (error_ == MPI_SUCCESS) error_ = error_of_{a.name};")
    if p.is_partitioned:
        text.append("  if (error_ == MPI_SUCCESS)")
        text.append(f"    error_ = SECTION_PARTITIONS(buf_, *partitions, *count, datatype_in(*datatype), "
                    f"((struct raised_on){{\"{p.name}\", {on}}}));")
    refused = " | ".join(f"{a.name}_.is_refused" for a in p.arguments if a.kind == "BUFFER")
    text.append(f"  const int is_made_ = error_ == MPI_SUCCESS && !({refused});")
    text.append(f"  if (is_made_) error_ = call({', '.join(c.value for c in codes)});")
    succeeds = "  if (is_made_ && error_ == MPI_SUCCESS) {"
    if request:
        text.append(succeeds)
        text += [f"    SECTION_KEEP({a.name}_, {request.name}_, {is_persistent});" for a in p.arguments
                 if a.kind == "BUFFER" and a.asynchronous]
        text.append("  }")
    elif window or split:
        text.append(succeeds)
        text += [f"    SECTION_KEEP_FOR_WINDOW({a.name}_, win_in(*{window.name}), *target_rank);" if window else
                 f"    SECTION_KEEP_FOR_SPLIT({a.name}_, file_in(*{split.name}), {a.name});" for a in p.arguments
                 if a.kind == "BUFFER" and a.asynchronous and (split or any(x.name == "target_rank" for x in p.arguments))]
        text.append("  }")
    text += ["  " + line for line in ends]
    # A handle that comes out is written, as null, also where an error handler forgives a call that is not made: of what is
    # INTENT(OUT) the compiler need not keep what was there.
    made_or_null = [line for a, c in zip(p.arguments, codes) if a.handle and a.direction == "out" for line in c.on_success]
    rest = [line for c in codes for line in c.on_success if line not in made_or_null]
    for condition, lines in ((succeeds, rest), ("  if (error_ == MPI_SUCCESS) {", made_or_null)):
        if lines:
            text += [condition, *("    " + line for line in lines), "  }"]
    for c in codes:
        text += ["  " + line for line in c.after]
    text.append("  if (ierror) *ierror = error_;")
    return text


def alias(new, old):
    """Another name of a procedure, which is not replaced with it."""
    return f"void {new}(void) __attribute__((alias(NAME_OF({old}))));"


def made(p):
    """The procedure of mpif.h and mpi, and of mpi_f08 where it has no buffers."""
    codes = [code_of(p, a) for a in p.arguments]
    return [signature_of(p, codes, f"F({p.short})") + " {", *body_of(p, codes), "}"]


def extensions():
    weak = [f"extern __typeof__({prefix}{f.name}) {prefix}{f.name} __attribute__((weak));"
            for f in model.extensions() for prefix in ("", "P")]
    return procedures(model.extension_procedures(), weak)


def procedures(of=model.procedures(), head=()):
    text = ["/* Made by lib/fortran.py from lib/table/. */", *head]
    for p in of:
        if not p.is_called:
            continue
        by_hand = p.by_hand or p.each_by_hand
        if not by_hand:
            text += made(p)
        for name in p.extra_names:
            text.append(alias(f"F({name})", p.short))
        if not p.old and not p.each_by_hand:
            if not p.has_buffers:
                text.append(alias(f"F08({p.short})", p.short))
            elif not by_hand:
                text += descriptors_body(p)
        if p.large:
            text += large_form(p.with_large_counts)
    return "\n".join(text) + "\n"


def large_form(p):
    text = made(p) if p.large_in_mpi else []
    if p.by_hand:
        return text + [alias(f"F08({p.short})", p.short)]
    if p.has_buffers:
        return text + descriptors_body(p)
    codes = [code_of(p, a) for a in p.arguments]
    return text + [signature_of(p, codes, f"F08({p.short})") + " {", *body_of(p, codes), "}"]
