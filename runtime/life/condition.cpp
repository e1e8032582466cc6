// SPDX-License-Identifier: BSD-3-Clause
#include "life/condition.hpp"

#include "base/bytes.hpp"

namespace tutti::life {
namespace {

constexpr uint32_t kMostProcesses = 1u << 30;

bool is_group(const Condition::Node& node) {
  return node.kind == Condition::Kind::all || node.kind == Condition::Kind::any;
}

}  // namespace

Condition Condition::spelled_out() const {
  Condition copy;
  copy.lacking_ = lacking_;
  copy.awaited_ = awaited_;
  copy.awaited_count_ = awaited_count_;
  std::vector<uint32_t> ends;  // of the open groups, here
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    for (; !ends.empty() && ends.back() == i; ends.pop_back()) copy.end();
    if (is_group(node)) {
      copy.open(node.kind);
      ends.push_back(node.end);
    } else if (node.kind == Kind::actor) {
      copy.add(node.actor);
    } else {
      copy.any();
      for (uint32_t at = 0; at < node.count; ++at) copy.process(node.process(at));
      copy.end();
    }
  }
  for (; !ends.empty(); ends.pop_back()) copy.end();
  return copy;
}

void Condition::write(Bytes& to) const {
  put(to, static_cast<uint32_t>(nodes_.size()));
  for (const Node& node : nodes_) {
    const bool of_collective = node.kind == Kind::actor && !node.actor.is_process();
    put(to, static_cast<uint8_t>(static_cast<uint8_t>(node.kind) | (of_collective ? 4 : 0)));
    if (is_group(node)) {
      put(to, node.end);
      continue;
    }
    put(to, node.actor.process);
    if (node.kind == Kind::some) {
      put(to, node.count);
      put(to, node.stride);
    }
    if (!of_collective) continue;
    put(to, node.actor.context);
    put(to, node.actor.serial);
  }
  put_text(to, lacking_);
  put_text(to, awaited_);
  put(to, awaited_count_);
}

bool Condition::read(std::span<const std::byte>& from) {
  uint32_t count;
  if (!get(from, count) || count > from.size()) return false;
  nodes_.assign(count, {});
  open_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    Node& node = nodes_[i];
    uint8_t kind;
    if (!get(from, kind)) return false;
    node.kind = static_cast<Kind>(kind & 3);
    node.end = i + 1;
    if (is_group(node)) {
      if (!get(from, node.end) || node.end <= i || node.end > count) return false;
      continue;
    }
    if (!get(from, node.actor.process)) return false;
    if (node.kind == Kind::some && (!get(from, node.count) || !get(from, node.stride) || node.count > kMostProcesses))
      return false;
    if ((kind & 4) && (!get(from, node.actor.context) || !get(from, node.actor.serial))) return false;
  }
  return get_text(from, lacking_) && get_text(from, awaited_) && get(from, awaited_count_);
}

}  // namespace tutti::life
