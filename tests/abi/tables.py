# SPDX-License-Identifier: BSD-3-Clause
"""The tables agree with themselves: what is said of a function is said of its form with large counts, and what does not
depend on when it completes is said of its nonblocking and its persistent form, too; lengths name parameters; differences
of Fortran are of functions and parameters that there are; each word has its meaning in the head of a table.
usage: tables.py LIB_FOLDER"""
import dataclasses
import sys

sys.path.insert(0, sys.argv[1])
import model

faults = []
there = model.functions_by_name()
# What may differ between forms.
OF_COUNTS = {"type"}
OF_COMPLETION = {"type", "asynchronous"}


def compare(one, other, fields, but):
    """Fields of both functions, and all of the parameters that both have but those of `but`."""
    for field in fields:
        if getattr(one, field) != getattr(other, field):
            faults.append(f"{one.name} and {other.name} differ in {field}")
    of_other = {p.name: p for p in other.parameters}
    for p in (p for p in one.parameters if p.name in of_other):
        faults.extend(f"{p.name} of {one.name} and {other.name} differs in {field.name}" for field in dataclasses.fields(p)
                      if field.name not in but and getattr(p, field.name) != getattr(of_other[p.name], field.name))


for f in there.values():
    if large := there.get(f.name + "_c"):
        compare(f, large, [field.name for field in dataclasses.fields(f) if field.name not in ("name", "parameters")], OF_COUNTS)
    if f.moves_data:
        for name in (f"MPI_I{f.name[4].lower()}{f.name[5:]}", f.name.removesuffix("_c") + "_init" + "_c" * f.is_large_form):
            if name in there:
                compare(f, there[name], ("when", "record", "errors_on", "one_group", "neighbors"), OF_COMPLETION)
    known = {p.name for p in f.parameters}
    if f.errors_on not in ("", "no file", "new communicator", "new session"):
        faults.append(f"{f.name}: errors on {f.errors_on}")
    for p in f.parameters:
        if p.kind not in model.kinds() or p.direction not in ("in", "out", "inout"):
            faults.append(f"{f.name}: {p.name} is of no known kind and direction: {p.kind}, {p.direction}")
        if p.significant.startswith("unless") and p.significant.partition(" ")[2] not in known:
            faults.append(f"{f.name}: {p.name} means something {p.significant}, which is no parameter")
        for word in p.length.split(","):
            if word and word not in known and word != "*" and not word.isdigit() and not word.startswith("MPI_MAX_"):
                faults.append(f"{f.name}: {p.name} is as long as {word}, which is no parameter")

of_fortran = there | {f.name: f for f in model.extensions()}
for name, parameter in model.differences():
    if name not in of_fortran or parameter and parameter not in (p.name for p in of_fortran[name].parameters):
        faults.append(f"fortran_differences.tsv: there is no {name} {parameter}")

heads = "".join(line for file in ("functions.tsv", "kinds.tsv", "fortran.tsv", "fortran_differences.tsv")
                for line in model.text(file).splitlines() if line.startswith("#"))
meant = {field.name for c in (model.Function, model.Parameter, model.Procedure, model.Argument)
         for field in dataclasses.fields(c) if field.type is bool}
meant |= {value.value for c in (model.When, model.Record, model.What) for value in c}
faults += [f"no table says what is meant by: {word}" for word in sorted(meant) if word.replace("_", " ") not in heads]

print(*faults, f"{len(there)} functions, {len(faults)} faults", sep="\n")
sys.exit(bool(faults))
