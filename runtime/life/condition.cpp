// SPDX-License-Identifier: BSD-3-Clause
#include "life/condition.hpp"

#include "base/bytes.hpp"

namespace tutti::life {

void Condition::write(Bytes& to) const {
  put(to, static_cast<uint32_t>(nodes_.size()));
  for (const Node& node : nodes_) {
    const bool of_collective = node.kind == Kind::actor && !node.actor.is_process();
    put(to, static_cast<uint8_t>(static_cast<uint8_t>(node.kind) | (of_collective ? 4 : 0)));
    if (node.kind != Kind::actor) {
      put(to, node.end);
      continue;
    }
    put(to, node.actor.process);
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
    if (!get(from, kind) || (kind & 3) > 2) return false;
    node.kind = static_cast<Kind>(kind & 3);
    node.end = i + 1;
    if (node.kind != Kind::actor) {
      if (!get(from, node.end) || node.end <= i || node.end > count) return false;
      continue;
    }
    if (!get(from, node.actor.process)) return false;
    if ((kind & 4) && (!get(from, node.actor.context) || !get(from, node.actor.serial))) return false;
  }
  return get_text(from, lacking_) && get_text(from, awaited_) && get(from, awaited_count_);
}

}  // namespace tutti::life
