// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/address_pieces.hpp"

#include <utility>

#include "launcher/data/wire.hpp"

namespace tutti::launcher {
namespace {

// How many bytes from the beginning hold whole addresses and are no more than `longest`; of one that is longer itself, that
// one. What is no address ends in a piece of its own, where its readers stop.
size_t whole_addresses(std::string_view packed, size_t longest) {
  wire::Unpacker unpacker(packed);
  size_t fit = 0;
  while (unpacker.left() > 0) {
    int rank = -1;
    std::string_view data;
    unpacker(rank);
    unpacker(data);
    const size_t end = packed.size() - unpacker.left();
    if (fit > 0 && end > longest) return fit;
    fit = end;
  }
  return fit;
}

}  // namespace

void AddressPieces::append(std::string_view packed) {
  if (pieces_.empty() || pieces_.back().size() + packed.size() > longest_) {
    if (!pieces_.empty()) pieces_.back().shrink_to_fit();
    pieces_.emplace_back();
  }
  pieces_.back() += packed;
}

void AddressPieces::add(const Addresses& addresses) {
  if (!addresses.key.empty()) key_ = addresses.key;
  for (std::string_view rest = addresses.packed; !rest.empty();) {
    const size_t size = rest.size() <= longest_ ? rest.size() : whole_addresses(rest, longest_);
    append(rest.substr(0, size));
    rest.remove_prefix(size);
  }
}

std::vector<Addresses> AddressPieces::take() {
  std::vector<Addresses> out;
  for (std::string& piece : pieces_) out.push_back({.key = key_, .packed = std::move(piece), .more = true});
  if (out.empty()) out.push_back({.key = key_, .packed = {}});
  out.back().more = false;
  pieces_.clear();
  key_.clear();
  return out;
}

}  // namespace tutti::launcher
