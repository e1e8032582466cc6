// SPDX-License-Identifier: BSD-3-Clause
// The nodes of a job as its launcher sees them, and which of the job's ranks live. It knows and counts; what follows
// from it the Job decides.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "launcher/data/node_contract.hpp"

namespace tutti::launcher {

class JobNodes {
 public:
  struct State {
    std::unique_ptr<Node> node;
    bool launched = false, finished = false, lost = false;
    bool silence_told = false;
    std::string unclean;  // why processes may be left there
  };

  void add(std::unique_ptr<Node> node) { all_.push_back({.node = std::move(node)}); }
  void take_map(const JobMap& map);  // all ranks live from now on
  const JobMap& map() const { return map_; }
  std::vector<State>& all() { return all_; }
  int count() const { return static_cast<int>(all_.size()); }
  State& operator[](int node) { return all_[static_cast<size_t>(node)]; }
  Node& node(int node) { return *(*this)[node].node; }
  const std::string& name(int node) const { return map_.nodes[static_cast<size_t>(node)]; }
  int node_of(int rank) const { return map_.ranks[static_cast<size_t>(rank)].node; }
  std::span<const int> ranks_on(int node) const { return ranks_.on(node); }  // ascending
  std::string rank_label(int rank, int pid) const;                           // "rank 1 on a (./prog, process 7)"

  std::set<int> to_ask() const;   // that have ranks to be looked at
  std::set<int> to_call() const;  // that are to answer
  bool are_launched() const;
  bool are_finished() const;
  std::string unclean() const;  // "a (why), b (why)"; empty: none is

  void signal_ranks(int signal);
  bool has_passed_on(int signal) const { return passed_on_.contains(signal); }
  // Nothing more is expected of this node, whose ranks are gone. False: that was known.
  bool lose(int node);

  void rank_gone(int rank);
  void ranks_gone(int node);  // those of this node
  std::vector<int> alive_on(int node) const;
  bool has_ranks() const { return alive_count_ > 0; }
  bool has_ranks(int node) const;
  std::set<int> without_ranks() const;  // nodes, whose ranks have all ended
  bool has_all_ranks() const { return alive_count_ == static_cast<int>(alive_.size()); }

 private:
  JobMap map_;
  RanksByNode ranks_;
  std::vector<State> all_;   // in the map's order
  std::vector<bool> alive_;  // by rank
  int alive_count_ = 0;
  std::set<int> passed_on_;  // signals
};

}  // namespace tutti::launcher
