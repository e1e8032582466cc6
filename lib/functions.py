# SPDX-License-Identifier: BSD-3-Clause
"""Makes two headers: the numbers of functions, and the names by which launcher and library call functions and
predefined handles alike.
usage: functions.py NUMBERS.hpp NAMES.hpp"""
import pathlib
import sys

import model


def handles(kind):
    return "".join(f'    {{{c.value}, "{c.name}"}},\n' for c in model.constants()
                   if c.type == kind and not c.name.endswith("_NULL"))


def main(numbers_hpp, names_hpp):
    names = [f.name for f in model.functions()]
    extensions = [f.name for f in model.extensions()]
    pathlib.Path(numbers_hpp).write_text(f"""\
// Made by lib/functions.py from lib/table/.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/function.hpp"

namespace tutti {{

// The functions of MPI, numbered in the order of lib/table/functions.tsv.
enum class Function : uint16_t {{
{"".join(f"  {n.removeprefix('MPI_')},{chr(10)}" for n in names)}}};
inline constexpr size_t kFunctionCount = {len(names)};
// The extensions of mpi-ext.h have the numbers from there on.
inline constexpr size_t kWithExtensions = {len(names + extensions)};

}}  // namespace tutti
""")
    pathlib.Path(names_hpp).write_text(f"""\
// Made by lib/functions.py from lib/table/.
#pragma once

#include <cstdint>

namespace tutti {{

// By number (functions.hpp); behind those of the standard the extensions of mpi-ext.h.
inline constexpr const char* kFunctionNames[] = {{
{"".join(f'    "{n}",{chr(10)}' for n in names + extensions)}}};

struct NamedHandle {{
  uintptr_t value;
  const char* name;
}};
inline constexpr NamedHandle kDatatypeNames[] = {{
{handles("MPI_Datatype")}}};
inline constexpr NamedHandle kOpNames[] = {{
{handles("MPI_Op")}}};

}}  // namespace tutti
""")


if __name__ == "__main__":
    main(*sys.argv[1:])
