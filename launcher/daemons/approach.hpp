// SPDX-License-Identifier: BSD-3-Clause
// A connection to an ancestor in the tree of daemons, by the first of its addresses that takes it, without holding up the
// loop. What is said on it is not its affair.
#pragma once

#include <functional>
#include <string>

#include "launcher/daemons/daemon_start.hpp"
#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

class Approach {
 public:
  struct Events {
    std::function<void(int fd)> connected;  // whose descriptor it is from now on
    // `nobody_there`: each address has refused, as where the process that listened is gone.
    std::function<void(bool nobody_there)> failed;
  };
  // `to` outlives it. Calls none of these at once.
  Approach(Loop& loop, const DaemonStart::Ancestor& to, Events events);
  ~Approach();
  Approach(const Approach&) = delete;
  Approach& operator=(const Approach&) = delete;

 private:
  void try_next();
  void look();
  void close();

  Loop& loop_;
  const DaemonStart::Ancestor& to_;
  Events events_;
  size_t next_ = 0;  // of the addresses
  bool all_refused_ = true;
  int fd_ = -1;
  Watch writable_;
};

// The descriptor of a connection that is under way; -1, and why not.
int begin_to_connect(const std::string& address, int port, int& problem);
int error_of(int fd);  // that has become writable; 0: it is connected

}  // namespace tutti::launcher
