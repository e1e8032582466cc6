# SPDX-License-Identifier: BSD-3-Clause
"""Makes a Fortran program that calls each procedure of an interface, with arguments as the standard types them. It
is compiled and linked, which is what it tests; of its calls it makes none.
usage: calls.py LIB mpif|mpi|mpi_f08 PREFIX OUTPUT   (PREFIX: nothing or P), or calls.py LIB stubs OUTPUT"""
import pathlib
import sys

sys.path.insert(0, sys.argv[1])
import fortran

# An external procedure of no interface can stand for any; its own file keeps the compiler from comparing.
STUBS = sorted({a.interface for p in fortran.CALLED for a in p.arguments if a.is_function})


def stub_name(interface, large):
    return "stub_" + interface.removeprefix("MPI_").lower() + ("_c" if large else "")


def stubs():
    names = [stub_name(s, large) for s in STUBS for large in (False, True)]
    return "".join(f"subroutine {n}()\nend subroutine\n" for n in names)


class Program:
    def __init__(self, interface, prefix):
        self.interface, self.prefix = interface, prefix
        self.variables, self.calls, self.count = [], [], 0

    def new(self, declaration, shape=""):
        self.count += 1
        self.variables.append(f"  {declaration} :: x{self.count}{shape}")
        return f"x{self.count}"

    def argument(self, p, a, form):
        if a.is_function:
            return stub_name(a.interface, form == 2 and a.kind == "POLYFUNCTION")
        kind = fortran.TYPES[a.kind][form]
        if a.kind == "BUFFER":
            return self.new("real", "(10)")
        if a.kind == "C_BUFFER2" and form == 0:
            return self.new("real", "(10)")
        if a.kind == "F08_STATUS":
            kind = "type(MPI_Status)"
        if a.is_string:
            shape = {"STRING": "", "STRING_ARRAY": "(3)", "STRING_2DARRAY": "(3, 3)"}[a.kind]
            return self.new("character(len=100)", shape)
        if a.kind == "F90_STATUS" or a.kind == "STATUS" and form == 0:
            return self.new("integer", "(MPI_STATUS_SIZE, 3)" if a.is_array else "(MPI_STATUS_SIZE)")
        if "3" in a.length.split(","):
            return self.new(kind, "(3, 4)")
        return self.new(kind, "(20)" if a.is_array else "")

    def call(self, p, name, form, with_ierror):
        arguments = [self.argument(p, a, form) for a in p.arguments]
        has_ierror = not p.returns and not p.no_ierror
        if has_ierror and with_ierror:
            arguments.append("ierror")
        if p.returns:
            result = self.new(fortran.TYPES[p.returns][min(form, 1)])
            self.calls.append(fortran.wrapped(f"{result} = {name}({', '.join(arguments)})", 4))
        else:
            self.calls.append(fortran.wrapped(f"call {name}({', '.join(arguments)})", 4))

    def text(self):
        for p in fortran.CALLED + fortran.EXTENSIONS:
            if self.interface == "mpif" and (p.modules_alone or p.short == "sizeof"):
                continue
            if self.interface != "mpi_f08":
                self.call(p, self.prefix + p.name, 0, True)
                if self.interface == "mpi" and p.large_in_mpi:
                    large = fortran.with_kinds(p, lambda kind: kind.removeprefix("POLY"))
                    self.call(large, self.prefix + p.name, 0, True)
                if self.interface == "mpi" and p.pointers_too:
                    self.call(fortran.with_pointers(p), self.prefix + p.name, 0, True)
                continue
            if p.old:
                continue
            self.call(p, self.prefix + p.name, 1, False)
            self.call(p, self.prefix + p.name, 1, True)
            if p.large and fortran.differ(p):
                self.call(p.with_large_counts, self.prefix + p.name + "_c" * p.large_has_own_name, 2, True)
        head = ["program calls", "  use, intrinsic :: iso_c_binding, only : C_PTR"]
        head += ["  implicit none", "  include 'mpif.h'", "  include 'mpif-ext.h'"] if self.interface == "mpif" else [
            f"  use {self.interface}", f"  use {self.interface}_ext", "  implicit none"]
        if self.interface == "mpi_f08":
            for s in STUBS:
                for large in (False, True):
                    callback = next(c for c in fortran.CALLBACKS if c.name == s)
                    if not callback.old and (not large or callback.large):
                        head.append(f"  procedure({s}{'_c' if large else ''}) :: {stub_name(s, large)}")
        else:
            head += [f"  external :: {stub_name(s, False)}" for s in STUBS]
        return "\n".join(head + ["  integer :: ierror"] + self.variables +
                         ["  ierror = 0", "  if (command_argument_count() > 99) then", *self.calls, "  end if",
                          f"  print '(i0, a)', {len(self.calls)}, ' calls'", "end program calls"]) + "\n"


if sys.argv[2] == "stubs":
    pathlib.Path(sys.argv[3]).write_text(stubs())
else:
    pathlib.Path(sys.argv[4]).write_text(Program(sys.argv[2], sys.argv[3]).text())
