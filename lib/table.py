# SPDX-License-Identifier: BSD-3-Clause
"""Reads the project's table of the MPI standard (lib/table/) for the generators beside this file."""
import pathlib
import re
from typing import NamedTuple

TABLE = pathlib.Path(__file__).parent / "table"


class Parameter(NamedTuple):
    name: str
    type: str  # C type; arrays as "const int[]"
    kind: str  # the standard's parameter kind
    direction: str  # in, out, inout

    def declaration(self):
        if self.type == "...":
            return "..."
        match = re.fullmatch(r"(.*?)((?:\[\d*\])+)", self.type)
        # Of an array compilers think that it is read, and warn of MPI_UNWEIGHTED, which is none.
        if match and self.name.endswith("weights"):
            return f"{match[1]} *{self.name}"
        if match:
            return f"{match[1]}{'' if match[1].endswith('*') else ' '}{self.name}{match[2]}"
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}"


class Function(NamedTuple):
    name: str
    returns: str
    deprecated: str
    parameters: list

    def signature(self, name):
        return f"{self.returns} {name}({', '.join(p.declaration() for p in self.parameters) or 'void'})"


class Constant(NamedTuple):
    name: str
    type: str
    value: str
    section: str


class Removed(NamedTuple):
    name: str
    instead: str
    parameters: str  # or "type", "constant"
    body: str  # or the type that it stands for, or is of
    value: str = ""  # of a constant


def lines(file):
    text = (TABLE / file).read_text()
    return [l for l in text.splitlines() if l and (not l.startswith("#") or l.startswith("## "))]


def functions():
    found = []
    for line in lines("functions.tsv"):
        fields = line.split("\t")
        if fields[0]:
            found.append(Function(fields[0], fields[1], (fields + [""])[2], []))
        else:
            found[-1].parameters.append(Parameter(*fields[1:5]))
    return found


def constants():
    found, section = [], ""
    for line in lines("constants.tsv"):
        if line.startswith("## "):
            section = line[3:]
        else:
            found.append(Constant(*line.split("\t")[:3], section))
    return found


def callbacks():
    return lines("callbacks.h")


def removed():
    return [Removed(*line.split("\t")) for line in lines("removed.tsv")]


def text(file):
    return (TABLE / file).read_text()
