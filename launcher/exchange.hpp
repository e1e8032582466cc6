// SPDX-License-Identifier: BSD-3-Clause
// What ranks of different nodes tell each other through the launcher: fences, what they have published, the addresses of
// all, and events; and what they tell ranks of other jobs, or ask beyond their own, with the help of a Beyond. Each of
// these asks and answers by way of the ranks' nodes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "launcher/address_pieces.hpp"
#include "launcher/data/kin.hpp"
#include "launcher/job_nodes.hpp"

namespace tutti::launcher {

class Exchange {
 public:
  // `beyond`: null where nothing is.
  Exchange(JobNodes& nodes, Beyond* beyond) : nodes_(nodes), beyond_(beyond) {}
  void begin(const NodeTask& task);  // before the nodes launch it

  // The same of NodeEvents.
  void fence(int node, const std::string& key, const std::string& data, const Addresses& addresses);
  void modex_wanted(int node, uint64_t token, int rank);
  void modex_found(uint64_t token, int status, const std::string& data);
  void addresses_wanted(int node, const std::string& key);
  void event(int node, const std::string& packed);
  void asked(int node, uint64_t number, const Ask& ask);

  // From beyond: what the job has asked, met and is wanted for there, and another job that ranks may come to talk to.
  void replied(uint64_t number, const Reply& reply);
  void met(const std::string& key, int status, const std::string& data);
  // All ranks have met once, as they do in MPI_Init.
  bool have_met() const { return have_met_; }
  // Of these nodes no rank is left that could come to a meeting.
  void expect_nothing_of(const std::set<int>& nodes);
  // What it was asked for is not found.
  void node_lost(int node);
  void wanted(uint64_t number, int rank);
  void learn(const NodeTask& kin);

 private:
  struct Fence {
    std::set<int> missing;
    std::map<int, std::string> data;
    AddressPieces addresses;
  };
  static constexpr int kBeyond = -1;
  struct ModexQuestion {
    int node;  // kBeyond: another job asks
    uint64_t token;
    int holder = 0;  // the node that is asked
  };
  std::set<int> nodes_of_fence(const std::string& key) const;
  bool is_beyond(const std::string& key) const;
  void meet_if_complete(const std::string& key);

  JobNodes& nodes_;
  Beyond* beyond_;
  bool have_met_ = false;
  std::set<int> empty_;  // nodes without ranks
  std::map<std::string, Fence> fences_;
  std::map<uint64_t, ModexQuestion> modexes_;
  uint64_t next_modex_ = 1;
  AddressPieces published_;  // by the ranks of all nodes, for the latest fence with addresses ...
  std::string spread_;       // ... and the key of those that every node has been told
  std::string namespace_;
  std::vector<std::string> environment_;    // of the ranks
  std::map<uint64_t, ModexQuestion> asks_;  // beyond the job, by the number that they have there
  uint64_t next_ask_ = 1;
  std::vector<NodeTask> kin_;  // that nodes are still to learn of
};

}  // namespace tutti::launcher
