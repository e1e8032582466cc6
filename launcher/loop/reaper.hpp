// SPDX-License-Identifier: BSD-3-Clause
// Ends of child processes, told to whoever started them. We are also the adopter of orphans (the
// children that ranks left behind), which are reaped in silence.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

class Reaper {
 public:
  // `peak`: the most memory that the process had at a time, or one of those that it has waited for; bytes.
  using Ended = std::function<void(int wait_status, int64_t peak)>;
  explicit Reaper(Loop& loop);
  void expect(int pid, Ended ended);
  // Children that nobody expects the end of: what ranks left behind.
  std::vector<int> strangers() const;

 private:
  void reap() TUTTI_ON_LOOP;
  void tell(int pid, int status, int64_t peak) TUTTI_ON_LOOP;
  Loop& loop_;
  std::map<int, Ended> expected_;
  Watch watch_;
};

}  // namespace tutti::launcher
