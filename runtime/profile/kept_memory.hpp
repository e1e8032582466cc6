// SPDX-License-Identifier: BSD-3-Clause
// Memory that outlives its process: a file of the job's folder on its node, which goes with that folder; where no launcher
// has made one, of a folder that is the user's.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace tutti::profile {

// A new file of so many bytes, mapped for as long as the process lives, all zero. `own`: the folder without a launcher,
// which is made; empty: there is none. An error: there is nowhere to keep it, or no room.
Result<void*> kept_memory(const std::string& name, size_t bytes, const std::string& own);

}  // namespace tutti::profile
