// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/bundle.hpp"

#include <cstdlib>
#include <limits>
#include <utility>

namespace tutti::launcher {
namespace {

// A key is "namespace:rank " for each member, and a number. A rank that no job has stands for all.
bool is_over_whole_job(std::string_view key) {
  const size_t space = key.find(' ');
  if (space == key.npos || key.substr(space + 1, 1) != "#") return false;
  const size_t colon = key.rfind(':', space);
  if (colon == key.npos) return false;
  const std::string rank(key.substr(colon + 1, space - colon - 1));
  return std::strtoull(rank.c_str(), nullptr, 10) > std::numeric_limits<int>::max();
}

}  // namespace

std::optional<Relayed> read_relayed(std::string_view message) {
  std::vector<Span> spans;
  Relayed out;
  if (!wire::unpack(message, spans, out.type, out.payload)) return std::nullopt;
  std::optional<std::vector<int>> nodes = nodes_in(spans);
  if (!nodes) return std::nullopt;
  out.nodes = std::move(*nodes);
  return out;
}

std::string relay_begin(const std::vector<int>& nodes, Message type, const Parcel& payload) {
  return wire::pack(spans_of(nodes), type, payload.size());
}

void Bundle::put(int node, Message type, const Parcel& payload) {
  // What a node is told twice it hears twice, such as how much of its output has been taken.
  if (!nodes_.empty() && nodes_.back() < node && type == type_ && payload == payload_) return nodes_.push_back(node);
  flush();
  nodes_.push_back(node);
  type_ = type;
  payload_ = payload;
  soon_ = loop_.after(std::chrono::nanoseconds(0), [this] { flush(); });
}

void Bundle::flush() {
  if (nodes_.empty()) return;
  soon_.reset();
  const std::vector<int> nodes = std::exchange(nodes_, {});
  const Parcel payload = std::exchange(payload_, {});
  send_(nodes, type_, payload);
}

bool Gatherer::keeps(Message type, std::string_view payload) const {
  std::string key, data;
  Addresses addresses;
  return type == Message::fence && wire::unpack(payload, key, data, addresses) && is_over_whole_job(key);
}

std::optional<Gatherer::Words> Gatherer::add(int node, std::string_view payload) {
  std::string key, data;
  Addresses addresses;
  if (!wire::unpack(payload, key, data, addresses)) return std::nullopt;
  Words& words = open_[key];
  words.key = key;
  words.nodes.push_back(node);
  words.data += data;
  words.addresses.key = addresses.key;
  words.addresses.packed += addresses.packed;
  if (words.nodes.size() < members_.size()) return std::nullopt;
  Words all = std::move(words);
  open_.erase(key);
  return all;
}

}  // namespace tutti::launcher
