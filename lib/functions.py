# SPDX-License-Identifier: BSD-3-Clause
"""Makes the header by which launcher and library name functions and predefined handles alike.
usage: functions.py OUTPUT.hpp"""
import pathlib
import sys

import model


def handles(kind):
    return "".join(f'    {{{c.value}, "{c.name}"}},\n' for c in model.constants()
                   if c.type == kind and not c.name.endswith("_NULL"))


def main(output):
    names = [f.name for f in model.functions()]
    pathlib.Path(output).write_text(f"""\
// Made by lib/functions.py from lib/table/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti {{

// The functions of MPI, numbered in the order of lib/table/functions.tsv.
enum class Function : uint16_t {{
{"".join(f"  {n.removeprefix('MPI_')},{chr(10)}" for n in names)}}};
inline constexpr size_t kFunctionCount = {len(names)};
inline constexpr const char* kFunctionNames[] = {{
{"".join(f'    "{n}",{chr(10)}' for n in names)}}};

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
    main(sys.argv[1])
