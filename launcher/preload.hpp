// SPDX-License-Identifier: BSD-3-Clause
// Files that go to the other nodes of a job before its ranks start (--preload-binary, --preload-files).
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/data/node_contract.hpp"

namespace tutti::launcher {

Error send_file(const std::string& path, const std::vector<Node*>& nodes);

}  // namespace tutti::launcher
