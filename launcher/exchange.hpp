// SPDX-License-Identifier: BSD-3-Clause
// What ranks of different nodes tell each other through the launcher: fences, what they have published, the addresses of
// all, and events. Each of these asks and answers by way of the ranks' nodes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "launcher/job_nodes.hpp"

namespace tutti::launcher {

class Exchange {
 public:
  explicit Exchange(JobNodes& nodes) : nodes_(nodes) {}

  // The same of NodeEvents.
  void fence(int node, const std::string& key, const std::string& data, const Addresses& addresses);
  void modex_wanted(int node, uint64_t token, int rank);
  void modex_found(uint64_t token, int status, const std::string& data);
  void addresses_wanted(int node, const std::string& key);
  void event(int node, const std::string& packed);

 private:
  struct Fence {
    std::set<int> missing;
    std::map<int, std::string> data;
    Addresses addresses;
  };
  struct ModexQuestion {
    int node;
    uint64_t token;
  };
  std::set<int> nodes_of_fence(const std::string& key) const;

  JobNodes& nodes_;
  std::map<std::string, Fence> fences_;
  std::map<uint64_t, ModexQuestion> modexes_;
  uint64_t next_modex_ = 1;
  Addresses published_;  // by the ranks of all nodes, for the latest fence with addresses ...
  std::string spread_;   // ... and the key of those that every node has been told
};

}  // namespace tutti::launcher
