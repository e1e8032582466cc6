// SPDX-License-Identifier: BSD-3-Clause
// Where on its node each rank of it runs: the processors that it is bound to, the GPUs that it is given, and the other
// ranks on its socket.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/data/node_contract.hpp"
#include "launcher/place/gpus.hpp"
#include "launcher/place/topology.hpp"

namespace tutti::launcher {

class RankPlaces {
 public:
  explicit RankPlaces(const Topology& machine) : machine_(machine) {}

  Error choose(const NodeTask& task);
  const Topology& topology() const { return narrowed_ ? *narrowed_ : machine_; }
  const Topology::Binding& binding() const { return binding_; }
  // Of the index-th rank of this node. No processors: all that we may use.
  const std::vector<int>& processors(size_t index) const { return binding_.processors[index]; }
  std::vector<std::string> variables(size_t index) const;
  std::vector<std::string> report(const NodeTask& task) const;  // --report-bindings: a line for each

 private:
  Error narrow(const NodeTask& task);
  Error bind(const NodeTask& task);
  void find_socket_ranks();

  const Topology& machine_;
  std::optional<Topology> narrowed_;  // by --cpu-set, or with its GPUs
  std::vector<int> ranks_;            // all of this node
  Topology::Binding binding_;
  std::vector<Gpu> gpus_;                    // of the node, where ranks are given some
  std::vector<std::vector<int>> rank_gpus_;  // of each rank
  std::vector<std::string> socket_ranks_;    // of each rank, those on its socket; empty: it has none
  std::string no_lock_;                      // claim_processors()
  std::string places_;                       // kNodePlacesVariable of all; empty: nothing tells any two apart
};

}  // namespace tutti::launcher
