# SPDX-License-Identifier: BSD-3-Clause
"""Makes mpi.h, the MPI 5.0 ABI for C and C++, from lib/table/.   usage: header.py OUTPUT"""
import itertools
import pathlib
import sys

import table

HANDLES = ["Comm", "Datatype", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request",
           "Session", "Win", "T_cvar_handle", "T_enum", "T_event_instance", "T_event_registration",
           "T_pvar_handle", "T_pvar_session"]

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

BOTTOM = """
#if defined(__cplusplus)
}
#endif

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
    for section, members in itertools.groupby(table.constants(), lambda c: c.section):
        name = NAMED_ENUMS.get(section)
        text = [f"\n/* {section} */"]
        for is_enum, run in itertools.groupby(members, lambda c: c.type == "enum"):
            text += [enumeration(list(run), name)] if is_enum else map(definition, run)
        (early if name else late).extend(text)
    return early, late


def header():
    early, late = constants()
    text = [TOP, "/* Handles: pointers to what only the library knows */"]
    text += [f"typedef struct MPI_ABI_{h}* MPI_{h};" for h in HANDLES]
    text += [STATUS.rstrip("\n"), *early, "\n/* Functions that a program hands to MPI */"]
    text += table.callbacks() + late
    for prefix, remark in (("", "The functions"), ("P", "The same functions for tools that replace the former")):
        text.append(f"\n/* {remark} */")
        text += [f.signature(prefix + f.name) + ";" for f in table.functions()]
    return "\n".join(text) + "\n" + BOTTOM


if __name__ == "__main__":
    output = pathlib.Path(sys.argv[1])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(header())
