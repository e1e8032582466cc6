// SPDX-License-Identifier: BSD-3-Clause
// The version of hwloc's interface that this was compiled with; that of the library which is loaded is Topology::hwloc_name().
#pragma once

#include <string>

namespace tutti::launcher {

std::string compiled_hwloc();  // "2.8.0"

}  // namespace tutti::launcher
