// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/address_tables.hpp"

#include <utility>

#include "base/address_key.hpp"
#include "base/address_table.hpp"
#include "base/log.hpp"
#include "launcher/data/wire.hpp"

namespace tutti::launcher {
namespace {

constexpr int kNothing = -1;  // PMIx's word for a question that has no answer

// Each as it lies in its piece.
std::vector<std::string_view> by_rank(const std::vector<std::string>& pieces, size_t ranks) {
  std::vector<std::string_view> out(ranks);
  for (const std::string& piece : pieces) {
    wire::Unpacker unpacker(piece);
    while (!unpacker.right()) {
      int rank = -1;
      std::string_view data;
      unpacker(rank);
      unpacker(data);
      if (rank < 0 || static_cast<size_t>(rank) >= ranks) break;
      out[static_cast<size_t>(rank)] = data;
    }
  }
  return out;
}

}  // namespace

void AddressTables::needed(const NodeTask& task, uint64_t token, int rank, const std::string& table_of) {
  if (table_of.empty()) return job_.modex_wanted(task.node, token, rank);
  if (written_.contains(table_of)) return pmix_.finish_modex(token, kNothing, "");
  std::vector<uint64_t>& waiting = questions_[table_of];
  waiting.push_back(token);
  if (waiting.size() == 1) job_.addresses_wanted(task.node, table_of);
}

Addresses AddressTables::own(const NodeTask& task, const std::string& published) const {
  Addresses own;
  if (published.empty() || task.map.nodes.size() == 1) return own;
  own.key = published;
  for (const int rank : task.map.ranks_on(task.node))
    if (std::string address = pmix_.published_by(rank, published); !address.empty())
      own.packed += wire::pack(RankAddress{rank, std::move(address)});
  return own;
}

void AddressTables::take(const NodeTask& task, const Addresses& addresses) {
  if (!is_address_key(addresses.key)) return;
  if (!addresses.packed.empty() && !written_.contains(addresses.key))
    pieces_[addresses.key].push_back(addresses.packed);
  if (addresses.more) return;
  const auto pieces = pieces_.extract(addresses.key);
  if (written_.insert(addresses.key).second && !pieces.empty()) {
    const std::string file = folder_ + "/" + addresses.key;
    if (Error e = write_address_table(file, by_rank(pieces.mapped(), task.map.ranks.size())))
      say(Level::debug, "the addresses of all ranks cannot be written to {}: {}", file, e.message());
  }
  const auto waiting = questions_.extract(addresses.key);
  if (waiting.empty()) return;
  for (const uint64_t token : waiting.mapped()) pmix_.finish_modex(token, kNothing, "");
}

}  // namespace tutti::launcher
