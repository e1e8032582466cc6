// SPDX-License-Identifier: BSD-3-Clause
// What ranks have published for ranks of other nodes: their addresses. Each node gives those of its ranks along with the
// fence that they meet in behind it. When the first rank of any node asks, each node is told the addresses of all ranks
// of the job, and writes them down for its ranks to map: N - 1 messages, and as many small ones at most by which a node
// says that it wants them, where each of P ranks asking each node for each of its ranks were P (N - 1).
// Questions for anything else go to the rank's node, one by one, and so do those of ranks that find no table.
#include <utility>

#include "base/address_key.hpp"
#include "base/address_table.hpp"
#include "base/log.hpp"
#include "launcher/data/wire.hpp"
#include "launcher/node/node_agent.hpp"

namespace tutti::launcher {
namespace {

constexpr int kNothing = -1;  // PMIx's word for a question that has no answer

std::vector<std::string> by_rank(const Addresses& addresses, size_t ranks) {
  std::vector<std::string> out(ranks);
  wire::Unpacker unpacker(addresses.packed);
  while (!unpacker.right()) {
    RankAddress address{-1, ""};
    unpacker(address);
    if (address.rank < 0 || static_cast<size_t>(address.rank) >= ranks) break;
    out[static_cast<size_t>(address.rank)] = std::move(address.data);
  }
  return out;
}

}  // namespace

void NodeAgent::modex_needed(uint64_t token, int rank, const std::string& table_of) {
  if (table_of.empty()) return job_.modex_wanted(task_.node, token, rank);
  if (tables_.contains(table_of)) return pmix_.finish_modex(token, kNothing, "");
  std::vector<uint64_t>& waiting = table_questions_[table_of];
  waiting.push_back(token);
  if (waiting.size() == 1) job_.addresses_wanted(task_.node, table_of);
}

void NodeAgent::fence_reached(const std::string& key, const std::string& data, const std::string& published) {
  Addresses own;
  if (!published.empty() && task_.map.nodes.size() > 1) {
    own.key = published;
    for (const int rank : task_.map.ranks_on(task_.node))
      if (std::string address = pmix_.published_by(rank, published); !address.empty())
        own.packed += wire::pack(RankAddress{rank, std::move(address)});
  }
  job_.fence(task_.node, key, data, own);
}

// Also when another node was the first to ask. No addresses: they have not come with a fence.
void NodeAgent::take_addresses(const Addresses& addresses) {
  if (!is_address_key(addresses.key)) return;
  if (tables_.insert(addresses.key).second && !addresses.packed.empty()) {
    const std::string file = cleanup_.folder() + "/" + addresses.key;
    if (Error e = write_address_table(file, by_rank(addresses, task_.map.ranks.size())))
      say(Level::debug, "the addresses of all ranks cannot be written to {}: {}", file, e.message());
  }
  const auto waiting = table_questions_.extract(addresses.key);
  if (waiting.empty()) return;
  for (const uint64_t token : waiting.mapped()) pmix_.finish_modex(token, kNothing, "");
}

void NodeAgent::modex_ready(uint64_t token, int status, const std::string& data) {
  job_.modex_found(task_.node, token, status, data);
}

}  // namespace tutti::launcher
