// SPDX-License-Identifier: BSD-3-Clause
// The addresses of a job's ranks as they come in, cut into pieces between two of them, so that the table of any number
// of ranks goes in messages of bounded length.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/data/node_contract.hpp"

namespace tutti::launcher {

class AddressPieces {
 public:
  static constexpr size_t kLongest = size_t{16} << 20;  // bytes of a piece, unless one address alone has more

  explicit AddressPieces(size_t longest = kLongest) : longest_(longest) {}
  void add(const Addresses& addresses);
  const std::string& key() const { return key_; }  // empty: nobody has given any
  // At least one, without addresses where there are none; all but the last say that there is more.
  std::vector<Addresses> take();

 private:
  void append(std::string_view packed);

  size_t longest_;
  std::string key_;
  std::vector<std::string> pieces_;
};

}  // namespace tutti::launcher
