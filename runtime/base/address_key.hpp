// SPDX-License-Identifier: BSD-3-Clause
// Names that ranks and Tutti's launcher share where they exchange addresses over PMIx.
#pragma once

#include <string_view>

namespace tutti {

// Under the first, followed by a dot and a number, a rank publishes its address. The fence behind that is told this
// name as the value of the second: the launcher on each node gives the addresses of its ranks along with the fence.
inline constexpr char kAddressKey[] = "tutti.ucx", kPublishedKey[] = "tutti.published";
// Whoever asks for a value by the third, followed by a dot and that name, is answered, without one, when all ranks'
// addresses are in the file of that name (base/address_table.hpp) in the folder that the variable names; or when it is
// certain that they do not come.
inline constexpr char kTableKey[] = "tutti.table", kTableFolderVariable[] = "TUTTI_ADDRESSES";

// It may name a file, too.
constexpr bool is_address_key(std::string_view key) {
  return key.starts_with(kAddressKey) && key.find('/') == std::string_view::npos;
}

}  // namespace tutti
