// SPDX-License-Identifier: BSD-3-Clause
// Where the daemons of a job report: listens, asks whoever comes for a proof of being the daemon of a node that is
// awaited, and hands on those that have one. Any other newcomer is dropped. A daemon says as well which of its places in
// the tree it comes for (lineage.hpp); the one that it has from the start is number 0.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/os/peer_owner.hpp"
#include "launcher/daemons/daemon_start.hpp"
#include "launcher/daemons/link.hpp"
#include "launcher/daemons/traffic.hpp"
#include "launcher/loop/acceptor.hpp"

namespace tutti::launcher {

class Reception {
 public:
  struct Events {
    std::function<bool(int node, int epoch)> is_awaited;
    // Attaches its own handlers to the link: the daemon's next message may have come with its proof.
    std::function<void(int node, int epoch, std::unique_ptr<Link> link, const NodeShape& shape)> proven;
  };
  Reception(Loop& loop, const Secret& secret, std::chrono::nanoseconds node_timeout, Traffic& traffic, Events events)
      : loop_(loop), secret_(secret), node_timeout_(node_timeout), traffic_(traffic), events_(std::move(events)) {}

  Error open();
  int port() const { return port_; }
  void close();

 private:
  struct Guest {
    explicit Guest(int fd) : who(fd) {}
    Newcomer who;
    std::unique_ptr<Link> link;
    std::string challenge;
    Watch patience;
  };
  void accepted(int fd);
  bool make_room();
  Error greet(int number, Message type, std::string_view payload);

  Loop& loop_;
  const Secret& secret_;
  std::chrono::nanoseconds node_timeout_;
  Traffic& traffic_;
  Events events_;
  int port_ = 0;
  std::unique_ptr<Acceptor> acceptor_;  // until all daemons are there
  std::map<int, Guest> guests_;
  int next_guest_ = 0;
};

}  // namespace tutti::launcher
