// SPDX-License-Identifier: BSD-3-Clause
// How many messages of each kind have gone over the links between mpirun and its daemons, and between daemons, in both
// directions, and how many bytes of these links they were. A message that travels for several nodes at once counts once
// for each link, as what it carries. Pings, which count the seconds of a job, are left out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "launcher/data/wire.hpp"

namespace tutti::launcher {

class Traffic {
 public:
  void count(Message kind, size_t payload);
  // As packed() elsewhere. False, and nothing is added: it makes no sense.
  bool add(std::string_view packed);
  std::string packed() const;
  // "12 messages of 3456 bytes: launch 3 (2345 bytes), …", by kind in the order of the protocol.
  std::string text() const;

 private:
  struct Sum {
    uint64_t messages = 0, bytes = 0;
  };
  std::map<Message, Sum> sums_;
};

}  // namespace tutti::launcher
