// SPDX-License-Identifier: BSD-3-Clause
// What the nodes behind a daemon say alike, each once, at about the same time: that its ranks run, have ended, that it has
// finished. It waits for the other nodes, and goes up once, with the numbers of all; if they do not say it, with the numbers
// of those that have after a moment.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "launcher/data/parcel.hpp"
#include "launcher/data/wire.hpp"
#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

class Chorus {
 public:
  using Send = std::function<void(const std::vector<int>& nodes, Message, const Parcel& payload)>;
  Chorus(Loop& loop, Send send) : loop_(loop), send_(std::move(send)) {}

  // What belongs to a job's life, and comes in order.
  static bool sings(Message type);
  void add_member(int node) { members_.insert(node); }
  void put(int node, Message type, const Parcel& payload);  // what it sings
  // Something else is said for this node, which is to come behind what it has said here.
  void before_other(int node) {
    if (latest_.contains(node)) flush();
  }
  void flush() { send_first(words_.size()); }

 private:
  struct Word {
    Message type = Message::ping;
    Parcel payload;
    std::vector<int> nodes;
  };
  void send_first(size_t count);  // of the words

  Loop& loop_;
  Send send_;
  std::set<int> members_;
  std::vector<Word> words_;       // in the order in which the first node has said them
  std::map<int, size_t> latest_;  // by node: the last of the words that it has said
  std::chrono::steady_clock::time_point first_;
  Watch timer_;
};

}  // namespace tutti::launcher
