// SPDX-License-Identifier: BSD-3-Clause
// What a daemon with others below it says to the one above: its node's words and those of the nodes below, few where many
// say the same. A fence of all waits for the words of all, what is said alike for others to say it (chorus.hpp), and what
// ranks are doing for the other nodes that have been asked, as groups of ranks; the first abort of ranks, and the first
// wish for addresses, speaks for all.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/daemons/bundle.hpp"
#include "launcher/daemons/chorus.hpp"
#include "launcher/data/rank_groups.hpp"
#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

class Upward {
 public:
  struct Means {
    std::function<void(Message, std::string_view begin, const Parcel& end)> send;  // as Link::send_with()
    std::function<std::string()> traffic_below;                                    // Traffic::packed()
  };
  // `own`: this daemon's node.
  Upward(Loop& loop, int own, Means means);

  void takes_part(int node);                                 // in the job: it is told to launch
  void is_asked(int node, std::string_view question);        // Message::look
  void tell(int node, Message type, const Parcel& payload);  // from this node, or from others
  void send_now() { said_.flush(); }                         // what has been told, and waits for nobody
  void flush();                                              // … and what waits for others

 private:
  // The latest question.
  struct Look {
    uint64_t number = 0;
    std::set<int> missing;
    std::vector<int> seen;
    RankGroups groups;
    bool is_late = false;  // nobody is waited for any more
    Watch patience;
  };
  void send(const std::vector<int>& nodes, Message type, const Parcel& payload);
  void send_groups();
  bool keeps_groups(int node, const Parcel& payload);
  bool is_said_before(Message type, const Parcel& payload);

  Loop& loop_;
  const int own_;
  Means means_;
  Gatherer gatherer_;
  Chorus chorus_, answers_;  // answers to calls come in no order with anything else
  Bundle said_;
  std::string wanted_;  // addresses: what has been said of them
  bool abort_said_ = false;
  std::set<int> unfinished_;  // nodes that take part
  Look look_;
};

}  // namespace tutti::launcher
