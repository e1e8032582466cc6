# SPDX-License-Identifier: BSD-3-Clause
"""Compares the procedures of the standard with the symbols of libmpifort_abi.   usage: symbols.py LIB LIBRARY"""
import collections
import subprocess
import sys

sys.path.insert(0, sys.argv[1])
import fortran
import model

rows = [line.split("\t") for line in fortran.listing().splitlines()]
there = {line.split()[-1].partition("@")[0] for line in
         subprocess.run(["nm", "-D", "--defined-only", sys.argv[2]], check=True, capture_output=True,
                        text=True).stdout.splitlines()}
missing = sorted({symbol for _, _, symbol in rows} - there)
count = collections.Counter((interface, name.startswith("P")) for name, interface, symbol in rows
                            if not symbol.endswith("_cptr_"))
for (interface, is_profiling), n in sorted(count.items()):
    print(f"{interface}: {n} {'PMPI' if is_profiling else 'MPI'} procedures")
# Of the C functions, those of no other language stay out of Fortran: the tools, and what is of handles as integers.
c = {f.name for f in model.functions() if not f.name.startswith("MPI_T_") and not f.name.endswith(("_toint", "_fromint", "_c"))}
left_out = sorted(c - {p.name for p in fortran.CALLED})
extra = sorted(s for s in there if s.startswith(("MPI_", "PMPI_")))
for what, names in (("missing", missing), ("C functions without a procedure", left_out), ("exported as C's", extra)):
    if names:
        print(f"{what}:", *names)
sys.exit(bool(missing or left_out or extra))
