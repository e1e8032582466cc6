// SPDX-License-Identifier: BSD-3-Clause
// What `tutti doctor` finds on a node, and how it asks the other nodes of an allocation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/place/hosts.hpp"

namespace tutti::launcher {

enum class Health { good, note, bad };
struct Finding {
  Health health;
  std::string what, text;
  std::string advice{};  // where it is bad
};
using Findings = std::vector<Finding>;

struct NodeFindings {
  std::string node;
  Findings findings;
};

// A finding as a line of text with tabs, in which nodes tell each other; and what such a line says. Nothing: it is none.
std::string as_line(const Finding& finding);
bool read_line(std::string_view line, Finding& finding);

// All hosts of this allocation but this machine, asked at the same time, each by the remote shell that jobs would use.
std::vector<NodeFindings> ask_other_nodes(const Allocation& allocation);

// Listens at a free port for as long as it lives, for nodes that try to connect.
class Listener {
 public:
  Listener();
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  const std::string& target() const { return target_; }  // "ADDRESS,…:PORT"

 private:
  int fd_;
  std::string target_;
};

// In the node that is asked: whether it reaches the target where the asking doctor listens.
Finding look_at_way_back(const std::string& target);
// Likewise: says on standard output where it listens itself, reads "NAME TARGET" of another node that does so, or an
// empty line, says whether that is reached, and ends when its input does.
void meet_other_nodes();

}  // namespace tutti::launcher
