// SPDX-License-Identifier: BSD-3-Clause
// What ranks have published for ranks of other nodes: their addresses. Each node gives those of its ranks along with the
// fence that they meet in behind it; the first question of a node's ranks is answered with the addresses of all ranks of
// the job, which each node is told once: N - 1 messages, and as many small ones at most by which a node says that it wants
// them, where each of P ranks asking each node for each of its ranks were P (N - 1).
// Questions for anything else go to the rank's node, one by one, and so do those for what no node has given.
#include <utility>

#include "launcher/node_agent.hpp"
#include "launcher/wire.hpp"

namespace tutti::launcher {
namespace {

// Apart from the job's questions, whose numbers are counted up.
constexpr uint64_t kForAll = uint64_t{1} << 62;

}  // namespace

void NodeAgent::modex_needed(uint64_t token, int rank, const std::string& address_key) {
  if (address_key.empty()) return job_.modex_wanted(task_.node, token, rank);
  const bool fresh = asked_key_ != address_key;
  if (fresh && !questions_.empty()) return job_.modex_wanted(task_.node, token, rank);
  if (!fresh && addresses_known_) {
    const auto known = addresses_.find(rank);
    if (known == addresses_.end()) return job_.modex_wanted(task_.node, token, rank);
    return pmix_.finish_modex(token, 0, known->second);
  }
  questions_.push_back({token, rank});
  if (!fresh) return;
  addresses_.clear();
  addresses_known_ = false;
  asked_key_ = address_key;
  job_.addresses_wanted(task_.node, address_key);
}

void NodeAgent::fence_reached(const std::string& key, const std::string& data, const std::string& published) {
  if (published.empty() || publishing_ || task_.map.nodes.size() < 2) return job_.fence(task_.node, key, data, {});
  publishing_ = PublishingFence{key, data, published, {}};
  const std::vector<int> ranks = task_.map.ranks_on(task_.node);
  for (const int rank : ranks) {
    const Rank* known = find(rank);
    if (known && known->alive)
      pmix_.find_modex(kForAll + static_cast<uint64_t>(rank), rank);
    else
      add_address(rank, "");
  }
}

// No data: the rank is gone, or has none.
void NodeAgent::add_address(int rank, const std::string& data) {
  if (!publishing_ || !publishing_->addresses.try_emplace(rank, data).second) return;
  if (publishing_->addresses.size() < static_cast<size_t>(task_.map.ranks.count_on(task_.node))) return;
  const PublishingFence all = *std::exchange(publishing_, std::nullopt);
  Addresses own{all.published, ""};
  for (const auto& [number, bytes] : all.addresses)
    if (!bytes.empty()) own.packed += wire::pack(RankAddress{number, bytes});
  job_.fence(task_.node, all.key, all.data, own);
}

void NodeAgent::take_addresses(const Addresses& addresses) {
  if (addresses.key != asked_key_) {
    if (!questions_.empty()) return;  // about what a later program has published
    asked_key_ = addresses.key;       // another node was the first to ask
    addresses_.clear();
    addresses_known_ = false;
  }
  if (std::exchange(addresses_known_, true)) return;
  wire::Unpacker unpacker(addresses.packed);
  while (!unpacker.right()) {
    RankAddress address{-1, ""};
    unpacker(address);
    if (address.rank < 0 || address.data.empty()) break;
    addresses_[address.rank] = std::move(address.data);
  }
  for (const AddressQuestion& question : std::exchange(questions_, {})) {
    const auto known = addresses_.find(question.rank);
    if (known == addresses_.end())
      job_.modex_wanted(task_.node, question.token, question.rank);
    else
      pmix_.finish_modex(question.token, 0, known->second);
  }
}

void NodeAgent::modex_ready(uint64_t token, int status, const std::string& data) {
  if (token < kForAll) return job_.modex_found(task_.node, token, status, data);
  add_address(static_cast<int>(token - kForAll), status == 0 ? data : "");
}

}  // namespace tutti::launcher
