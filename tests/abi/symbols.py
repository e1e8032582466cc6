# SPDX-License-Identifier: BSD-3-Clause
"""The library exports each PMPI_X and PMPIX_X strongly, MPI_X weakly at the same address, and nothing else of a name in MPI but
what the next version of the standard calls three of these; it
calls none of them itself.   usage: symbols.py LIB_FOLDER LIBRARY"""
import pathlib
import subprocess
import sys

sys.path.insert(0, sys.argv[1])
import model

library = pathlib.Path(sys.argv[2])
faults = []


def nm(which):
    out = subprocess.run(["nm", "-D", which, str(library)], check=True, capture_output=True, text=True).stdout
    return [line.split() for line in out.splitlines()]


exported = {name: (kind, address) for address, kind, name in nm("--defined-only")}
for f in model.extensions():
    for prefix in ("", "P") if f.also else ():
        if exported.pop(prefix + f.also, None) != exported.get(prefix + f.name, "neither"):
            faults.append(f"{prefix}{f.also} is not what {prefix}{f.name} is")
expected = {f.name for f in model.functions() + model.extensions()}
for name in sorted(expected):
    weak, strong = exported.pop(name, None), exported.pop("P" + name, None)
    if weak is None or strong is None:
        faults.append(f"{name} or P{name} is not exported")
    elif weak[0] != "W":
        faults.append(f"{name} is not weak: a tool's version would clash with it (nm says {weak[0]})")
    elif strong[0] != "T":
        faults.append(f"P{name} is not strong (nm says {strong[0]})")
    elif weak[1] != strong[1]:
        faults.append(f"{name} and P{name} are different functions")
for private in ("tutti_caller", "tutti_watch_request", "tutti_watch_window", "tutti_watch_split",
                "tutti_refuse", "tutti_strict", "tutti_judge_array", "tutti_note_array"):  # for libmpifort_abi alone
    exported.pop(private, None)
faults += [f"{name} is exported, but no function of the standard or of mpi-ext.h" for name in exported]
faults += [f"{fields[-1]} is called by the library through its public name"
           for fields in nm("--undefined-only") if fields[-1].startswith(("MPI_", "PMPI_", "MPIX_", "PMPIX_"))]
dynamic = subprocess.run(["readelf", "-d", str(library)], check=True, capture_output=True, text=True).stdout
if "[libmpi_abi.so.1]" not in dynamic:
    faults.append("the library's soname is not libmpi_abi.so.1")
if list(library.parent.glob("libmpi.so*")):
    faults.append("a libmpi.so lies beside it, which tools take for another ABI")
print(*faults, f"{len(expected)} functions, {len(faults)} faults", sep="\n")
sys.exit(bool(faults))
