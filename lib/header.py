# SPDX-License-Identifier: BSD-3-Clause
"""Makes mpi.h, the MPI 5.0 ABI for C and C++, from lib/table/, and mpi-ext.h, what Tutti has beyond it.
usage: header.py VERSION MPI_H, or header.py --extensions MPI_EXT_H"""
import itertools
import pathlib
import sys
import textwrap

import model

# Enumerations that the standard names; its other integers stand in enumerations without a name.
NAMED_ENUMS = {"Safety that a callback of the tool information interface needs": "MPI_T_cb_safety",
               "Order of events of a source": "MPI_T_source_order"}

TOP = """\
/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi.h: the ABI of the MPI standard, version 5.0, for C and C++. Made by lib/header.py from
 * lib/table/. A program compiled with this file runs with any library that provides this ABI. */
#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Integers that hold addresses, positions in files, and counts of anything */
typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;

/* Fortran's default INTEGER; a program whose Fortran compiler has another may define MPI_ABI_Fint */
#if defined(MPI_ABI_Fint)
typedef MPI_ABI_Fint MPI_Fint;
#else
typedef int MPI_Fint;
#endif
"""

STATUS = """
typedef struct MPI_Status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int MPI_internal[5];
} MPI_Status;
"""

# Functions that no library exports are inline, and each file has its own: a symbol of that name in a
# program would stand in the way of a library that does export it.
INLINE = """
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define MPI_ABI_INLINE inline
#elif defined(__GNUC__)
#define MPI_ABI_INLINE __inline__
#else
#define MPI_ABI_INLINE
#endif
"""

REMOVED = """
/* What MPI 3.0 removed. -DMPI_COMPATIBILITY=1 gives it back; otherwise its use is an error that says
 * what to use instead. A name that the program has made a macro is the program's own. */
#if defined(MPI_COMPATIBILITY) && MPI_COMPATIBILITY
#if defined(__cplusplus)
}
#endif
#include <stdlib.h>
#if defined(__cplusplus)
extern "C" {
#endif
"""

UNAVAILABLE = """
#else
#if defined(__has_attribute)
#if __has_attribute(unavailable)
#define MPI_ABI_REMOVED(instead) \\
  __attribute__((unavailable("MPI 3.0 removed it; use " instead ", or compile with -DMPI_COMPATIBILITY=1")))
#endif
#endif
#if defined(MPI_ABI_REMOVED)"""

# clang compares types as written and knows no exception: it also accuses a matrix, a struct, or bytes that stand for
# numbers. So a program asks for it. Types of which C has several names for one representation (long and long long) have
# no tag, nor have characters, which stand for anything.
TAGS = """
/* With -DMPI_ABI_TYPE_TAGS=1 clang compares the type of each buffer with the datatype beside it (-Wtype-safety). */
#if defined(MPI_ABI_TYPE_TAGS) && MPI_ABI_TYPE_TAGS && defined(__has_attribute)
#if __has_attribute(pointer_with_type_tag) && __has_attribute(type_tag_for_datatype)
#if defined(__clang_major__) && __clang_major__ >= 19 /* older ones take const for another type either way */
#define MPI_ABI_TAG(type) __attribute__((unused, type_tag_for_datatype(mpi, type, layout_compatible)))
#else
#define MPI_ABI_TAG(type) __attribute__((unused, type_tag_for_datatype(mpi, type)))
#endif
#define MPI_ABI_TYPED(buffer, datatype) __attribute__((pointer_with_type_tag(mpi, buffer, datatype)))
#if defined(__cplusplus)
extern "C" {
#endif"""
TAGGED = {"SHORT": "short", "INT": "int", "UNSIGNED_SHORT": "unsigned short", "UNSIGNED": "unsigned", "FLOAT": "float",
          "DOUBLE": "double", "LONG_DOUBLE": "long double", "INT16_T": "int16_t", "UINT16_T": "uint16_t",
          "INT32_T": "int32_t", "UINT32_T": "uint32_t"}
END_OF_TAGS = """\
#if defined(__cplusplus)
}
#endif
#undef MPI_ABI_TAG
#undef MPI_ABI_TYPED
#endif
#endif
"""

# The names are Tutti's own, and stand behind all that the standard has.
VERSION = """
/* The version of Tutti that this file came with, for the preprocessor. The program may run with another one, or with
 * another MPI of this ABI: which, MPI_Get_library_version says. */
#define TUTTI_VERSION "{0}.{1}.{2}"
#define TUTTI_VERSION_MAJOR {0}
#define TUTTI_VERSION_MINOR {1}
#define TUTTI_VERSION_PATCH {2}

#endif
"""

BOTTOM = """
#undef MPI_ABI_INLINE

#if defined(__cplusplus)
}
#endif
"""


def enumeration(constants, name):
    width = max(len(c.name) for c in constants)
    rows = ",\n".join(f"  {c.name:{width}} = {c.value}" for c in constants)
    tag = f" {name}" if name else ""
    return f"{'typedef ' if name else ''}enum{tag} {{\n{rows}\n}}{tag};"


def definition(constant):
    if constant.type == "macro":
        return f"#define {constant.name} {constant.value}"
    return f"#define {constant.name} (({constant.type}){constant.value})"


def constants():
    """Two texts: constants with named enumerations, which callbacks mention, and all the others."""
    early, late = [], []
    for section, members in itertools.groupby(model.constants(), lambda c: c.section):
        name = NAMED_ENUMS.get(section)
        text = [f"\n/* {section} */"]
        for is_enum, run in itertools.groupby(members, lambda c: c.type == "enum"):
            text += [enumeration(list(run), name)] if is_enum else map(definition, run)
        (early if name else late).extend(text)
    return early, late


def inline(name, returns, parameters, body):
    return f"static MPI_ABI_INLINE {returns} {name}({parameters}) {{\n  {body}\n}}"


def fortran():
    """Conversions between the handles and statuses of C and those of Fortran, with both prefixes."""
    text = [INLINE, model.text("fortran.h")]
    statuses = {"c": ("MPI_Status", "->MPI_{}"), "f08": ("MPI_F08_status", "->MPI_{}"), "f": ("MPI_Fint", "[MPI_F_{}]")}
    for prefix in ("", "P"):
        for handle in model.handles():
            if handle.startswith("T_"):
                continue
            name = prefix + "MPI_" + {"Datatype": "Type"}.get(handle, handle)
            text.append(inline(f"{name}_c2f", "MPI_Fint", f"MPI_{handle} handle", f"return {name}_toint(handle);"))
            text.append(inline(f"{name}_f2c", f"MPI_{handle}", "MPI_Fint handle", f"return {name}_fromint(handle);"))
        for (a, (a_type, a_field)), (b, (b_type, b_field)) in itertools.permutations(statuses.items(), 2):
            rest = {"f": "[3 + i]"}
            none = {"c": "", "f": "F_", "f08": "F08_"}[a]
            body = ["int i;", "if (!from || !to) return MPI_ERR_ARG;"]
            body += [f"if (from == MPI_{none}STATUS_IGNORE || from == MPI_{none}STATUSES_IGNORE) return MPI_ERR_ARG;"] if none else []
            body += [f"to{b_field.format(f)} = from{a_field.format(f)};" for f in ("SOURCE", "TAG", "ERROR")]
            body += [f"for (i = 0; i < 5; i++) to{rest.get(b, '->MPI_internal[i]')} = "
                     f"from{rest.get(a, '->MPI_internal[i]')};", "return MPI_SUCCESS;"]
            text.append(inline(f"{prefix}MPI_Status_{a}2{b}", "int", f"const {a_type} *from, {b_type} *to",
                               "\n  ".join(body)))
    return text


def removed():
    """What was removed: given back, or else declared so that its use is an error."""
    back, gone, macros = [], [], []
    for r in model.removed():
        if r.name == "MPI_Type_struct":
            back.append(model.text("removed_struct.h"))
        for name, prefix in ((r.name, "MPI_"), ("P" + r.name, "PMPI_")):
            if r.parameters == "type":
                given = f"typedef {r.body} {name};"
                lost = f"typedef {r.body} {name}"
            elif r.parameters == "constant":
                given = f"#define {name} (({r.body}){r.value})"
                lost = f"extern {r.body} {name}"
            else:
                given = inline(name, "int", r.parameters, r.body.replace("@", prefix).replace("; ", ";\n  "))
                lost = f"int {name}({r.parameters})"
            guard = f"#if !defined({name})"
            back += [guard, given, "#endif"]
            gone += [guard, f'{lost}\n    MPI_ABI_REMOVED("{r.instead}");', "#endif"]
            macros += [guard, f"#define {name} {name}_was_removed_use_{r.instead}_or_DMPI_COMPATIBILITY_1", "#endif"]
            if r.parameters in ("type", "constant"):
                break
    return [REMOVED, *back, UNAVAILABLE, *gone, "#undef MPI_ABI_REMOVED",
            "#else /* a compiler without that attribute finds a name without a declaration, which says the same */",
            *macros, "#endif\n#endif"]


def typed(function):
    """The numbers of its buffers that have a datatype, each with that one's."""
    parameters = function.parameters
    pairs = []
    for i, buffer in enumerate(parameters):
        if buffer.kind != "BUFFER" or buffer.address_only:
            continue
        between = ("BUFFER", "PARTITION", "POLYDISPLACEMENT")
        rest = itertools.dropwhile(lambda p: p.what == model.What.ELEMENTS or p.kind in between, parameters[i + 1:])
        datatype = next(rest, None)
        if datatype and datatype.type == "MPI_Datatype":
            pairs.append((i + 1, parameters.index(datatype) + 1))
    return pairs


def tags():
    values = {c.name: c.value for c in model.constants()}
    text = [TAGS]
    text += [f"static const int MPI_ABI_tag_{name} MPI_ABI_TAG({type}) = {values['MPI_' + name]};"
             for name, type in TAGGED.items()]
    for prefix in ("", "P"):
        for f in model.functions():
            if pairs := typed(f):
                attributes = " ".join(f"MPI_ABI_TYPED({buffer}, {datatype})" for buffer, datatype in pairs)
                text.append(f"{f.signature(prefix + f.name)} {attributes};")
    return text + [END_OF_TAGS]


def header(version):
    early, late = constants()
    text = [TOP, "/* Handles: pointers to what only the library knows */"]
    text += [f"typedef struct MPI_ABI_{h}* MPI_{h};" for h in model.handles()]
    text += [STATUS.rstrip("\n"), *early, "\n/* Functions that a program hands to MPI */"]
    text += model.callbacks() + late
    for prefix, remark in (("", "The functions"), ("P", "The same functions for tools that replace the former")):
        text.append(f"\n/* {remark} */")
        text += [f.signature(prefix + f.name) + ";" for f in model.functions()]
    text += fortran() + removed()
    return "\n".join(text) + "\n" + BOTTOM + "\n".join(tags()) + VERSION.format(*version.split("."))


EXTENSIONS = """\
/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi-ext.h: what Tutti has beyond MPI 5.0, for C and C++: how a program goes on after the failure of a process. Made by
 * lib/header.py from lib/table/. None of it is part of the ABI of the standard, and all of it may change: the MPI Forum
 * has accepted revoke, get_failed and ack_failed for the next version, and discusses the rest. */
#ifndef MPI_EXT_H_TUTTI
#define MPI_EXT_H_TUTTI

#include <mpi.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* What programs ask for before they use it, by the names that Open MPI has given */
#define OMPI_HAVE_MPI_EXT_FTMPI 1
#define OMPI_HAVE_MPIX_COMM_GET_FAILED 1
#define OMPI_HAVE_MPIX_COMM_ACK_FAILED 1
#define OMPI_HAVE_MPIX_COMM_ISHRINK 1

"""


def extensions():
    text = []
    for remark, constants_here in model.extension_constants():
        text += [*textwrap.wrap(remark + " */", 120, initial_indent="/* ", subsequent_indent=" * "), "enum {",
                 ",\n".join(f"  {name.ljust(max(len(n) for n, _ in constants_here))} = {value}"
                           for name, value in constants_here), "};", ""]
    text += [f.signature(prefix + f.name) + ";" for prefix in ("", "P") for f in model.extensions()]
    text += ["", "/* Those that the next version of MPI has, under its names */"]
    text += [f.signature(prefix + f.also) + ";" for prefix in ("", "P") for f in model.extensions() if f.also]
    return EXTENSIONS + "\n".join(text) + "\n\n#if defined(__cplusplus)\n}\n#endif\n\n#endif\n"


if __name__ == "__main__":
    output = pathlib.Path(sys.argv[-1])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(extensions() if sys.argv[1] == "--extensions" else header(sys.argv[1]))
