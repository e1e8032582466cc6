// SPDX-License-Identifier: BSD-3-Clause
// The addresses of a job's ranks in a file, which the launcher on a node writes once and which the node's ranks map: so
// a node holds them once, and whoever looks for one asks nobody.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace tutti {

// `addresses`: by rank; an empty one belongs to a rank that has published none. The file appears with all of its
// content. The error says why it does not, and leaves its name to the caller.
Error write_address_table(const std::string& file, const std::vector<std::string_view>& addresses);

class AddressTable {
 public:
  // Nothing: there is no such file, or it is no such table.
  static std::optional<AddressTable> open(const std::string& file);
  ~AddressTable();
  AddressTable(AddressTable&& from) noexcept : bytes_(std::exchange(from.bytes_, {})) {}
  AddressTable& operator=(AddressTable&& from) noexcept {
    std::swap(bytes_, from.bytes_);
    return *this;
  }

  // As long as the table is there. Empty: the rank has published none, or the job has no such rank.
  std::string_view of(int rank) const;

 private:
  explicit AddressTable(std::string_view bytes) : bytes_(bytes) {}
  std::string_view bytes_;  // mapped
};

}  // namespace tutti
