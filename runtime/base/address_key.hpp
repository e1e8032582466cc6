// SPDX-License-Identifier: BSD-3-Clause
// Names that ranks and Tutti's launcher share where they exchange addresses over PMIx.
#pragma once

#include <string_view>

namespace tutti {

// Under the first, followed by a dot and a number, a rank publishes its address. The fence behind that is told this
// name as the value of the second: the launcher on each node gives the addresses of its ranks along with the fence.
inline constexpr char kAddressKey[] = "tutti.ucx", kPublishedKey[] = "tutti.published";
// Whoever asks for a value by the third, followed by a dot and that name, is answered, without one, when all ranks'
// addresses are in the file of that name (base/address_table.hpp) in the job's folder on this node, or when it is
// certain that they do not come.
inline constexpr char kTableKey[] = "tutti.table";

// A rank's variable: the job's folder on its node. It tells the ranks of a job apart by the daemon that has started them,
// too.
inline constexpr char kJobFolderVariable[] = "TUTTI_JOB_FOLDER";

// It may name a file, too.
constexpr bool is_address_key(std::string_view key) {
  return key.starts_with(kAddressKey) && key.find('/') == std::string_view::npos;
}

}  // namespace tutti
