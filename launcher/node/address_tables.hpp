// SPDX-License-Identifier: BSD-3-Clause
// What ranks have published for ranks of other nodes: their addresses. Each node gives those of its ranks along with the
// fence that they meet in behind it. When the first rank of any node asks, each node is told the addresses of all ranks
// of the job, and writes them down for its ranks to map: N - 1 messages, and as many small ones at most by which a node
// says that it wants them, where each of P ranks asking each node for each of its ranks were P (N - 1).
// Questions for anything else go to the rank's node, one by one, and so do those of ranks that find no table.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "launcher/data/node_contract.hpp"
#include "launcher/pmix/pmix_server.hpp"

namespace tutti::launcher {

class AddressTables {
 public:
  AddressTables(PmixServer& pmix, NodeEvents& job, std::string folder)
      : pmix_(pmix), job_(job), folder_(std::move(folder)) {}

  void needed(const NodeTask& task, uint64_t token, int rank, const std::string& table_of);
  // Those of this node's ranks, for a fence behind which they are asked for.
  Addresses own(const NodeTask& task, const std::string& published) const;
  // A piece of the table, also when another node was the first to ask. No addresses: they have not come with a fence.
  void take(const NodeTask& task, const Addresses& addresses);

 private:
  PmixServer& pmix_;
  NodeEvents& job_;
  std::string folder_;                                      // the job's
  std::map<std::string, std::vector<uint64_t>> questions_;  // that wait, by the key of the addresses
  std::map<std::string, std::vector<std::string>> pieces_;  // of tables that have not all come, by their keys
  std::set<std::string> written_;                           // or do not come: by the key of the addresses
};

}  // namespace tutti::launcher
