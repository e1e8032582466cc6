// SPDX-License-Identifier: BSD-3-Clause
// What makes messages few in a tree of daemons: what is told to many nodes in a row, or said by many of them
// alike, travels a link once, with the numbers of the nodes; and what each node says of a fence over the whole job,
// with the addresses of its ranks, waits in each daemon for that of the nodes below it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/data/node_contract.hpp"
#include "launcher/data/spans.hpp"
#include "launcher/data/wire.hpp"
#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

// A message for these nodes, or of theirs, that others pass on (Message::relay, relayed): what is in front of its payload.
struct Relayed {
  std::vector<int> nodes;
  Message type = Message::ping;
  std::string_view payload;  // of the message that it is in
};
std::optional<Relayed> read_relayed(std::string_view message);
std::string relay_begin(const std::vector<int>& nodes, Message type, const Parcel& payload);

// Collects while the same is put for one node after the other, each of a higher number than the one before; sends
// when something else is put, and when the loop has nothing else to do. What is put for one node leaves in order, and
// as often as it was put.
class Bundle {
 public:
  using Send = std::function<void(const std::vector<int>& nodes, Message, const Parcel& payload)>;
  Bundle(Loop& loop, Send send) : loop_(loop), send_(std::move(send)) {}
  void put(int node, Message type, const Parcel& payload);
  void flush();

 private:
  Loop& loop_;
  Send send_;
  std::vector<int> nodes_;
  Message type_ = Message::ping;
  Parcel payload_;
  Watch soon_;
};

// What every node of a job says of a fence that all take part in, as far as these words have come to one of the job's
// daemons.
class Gatherer {
 public:
  struct Words {
    std::vector<int> nodes;
    std::string key, data;
    Addresses addresses;
  };
  void add_member(int node) { members_.insert(node); }
  // A fence that is not over the whole job, or anything else: nothing is kept (false).
  bool keeps(Message type, std::string_view payload) const;
  // A node's words, which keeps() has judged; those of all members when the last has come.
  std::optional<Words> add(int node, std::string_view payload);

 private:
  std::set<int> members_;
  std::map<std::string, Words> open_;  // by key
};

}  // namespace tutti::launcher
