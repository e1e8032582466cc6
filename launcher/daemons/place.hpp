// SPDX-License-Identifier: BSD-3-Clause
// A daemon's place in the tree: the link to the one above it, where both have proved to be of the job, and what it tells
// mpirun over that. Where the job goes on without nodes that fail it beats, comes to another place when the one above has
// gone, and keeps what it has told until mpirun has it (lineage.hpp); its end is the daemon's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/daemons/approach.hpp"
#include "launcher/daemons/correspondence.hpp"
#include "launcher/daemons/lineage.hpp"
#include "launcher/daemons/link.hpp"
#include "launcher/node/cleanup.hpp"

namespace tutti::launcher {

class Place {
 public:
  struct Events {
    std::function<Error()> proven;                                    // once, before any message
    std::function<Error(Message, std::string_view payload)> message;  // from above; from mpirun in the order there
    std::function<void(std::vector<int> way, const std::string& letter)> carry;  // to those below
    std::function<void()> again;  // to those below: what they told may be lost
    // `departs`: this daemon is not needed any more, nor are those below it. A reason: who is above is none of the job.
    std::function<void(bool departs, const std::string& distrusted)> ended;
  };
  // What is given outlives it.
  Place(Loop& loop, Cleanup& cleanup, const DaemonStart& start, int node, Events events);

  Error connect();  // to the first one above; waits for it
  void begin(const NodeShape& shape);
  void close();  // for good

  bool heals() const { return start_.heartbeat.count() > 0; }
  bool is_open() const { return link_ && link_->is_open(); }
  void heal();  // from now on
  bool has_lease() const { return tenure_ && tenure_->has_lease(std::chrono::steady_clock::now()); }
  // To the one above, as far as there is one.
  template <class... T>
  void send(Message type, const T&... fields) {
    send_packed(type, wire::pack(fields...));
  }
  void send_packed(Message type, const Parcel& payload) { send_with(type, {}, payload); }
  void send_with(Message type, std::string_view begin, const Parcel& end) {
    if (has_place_ && link_) link_->send_with(type, begin, end);
  }
  void write(Message type, std::string_view payload);  // a letter to mpirun

 private:
  void take(std::unique_ptr<Link> link);
  Error meet(Message type, std::string_view payload);
  Error hear(Message type, std::string_view payload);
  Error read(const std::string& letter);
  void tell_again();
  void closed(LinkEnd how, const std::string& reason);
  void look();
  void look_soon();
  void go_to(int ancestor);
  void end(bool departs, const std::string& distrusted = "");

  Loop& loop_;
  Cleanup& cleanup_;
  const DaemonStart& start_;
  const int node_;
  Events events_;
  NodeShape shape_;
  std::unique_ptr<Link> link_;
  std::vector<std::unique_ptr<Link>> former_;  // that still say that this daemon has left
  std::string challenge_, nonce_;              // of the link
  bool is_proven_ = false, has_place_ = false, has_ended_ = false;
  Watch proof_;
  std::optional<Tenure> tenure_;  // once it heals
  std::optional<Approach> approach_;
  Correspondence letters_;
  Watch look_, soon_;
};

}  // namespace tutti::launcher
