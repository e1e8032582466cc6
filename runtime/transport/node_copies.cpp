// SPDX-License-Identifier: BSD-3-Clause
#include "transport/node_copies.hpp"

#include <unistd.h>

namespace tutti::transport {

memory::KnownWord NodeCopies::known_word() {
  if (!shown_) shown_ = memory::value_to_know();
  return {getpid(), reinterpret_cast<uintptr_t>(shown_.get()), *shown_};
}

// nullptr: it is of the own job, or far away.
memory::PeerMemory* NodeCopies::memory_of(int peer) {
  const auto other = others_.find(peer);
  return other == others_.end() ? nullptr : &other->second.memory;
}

bool NodeCopies::can_copy(int peer) {
  if (memory::PeerMemory* const other = memory_of(peer)) return other->reach() == memory::Reach::kernel_copies;
  return own_ && own_->can_copy(peer);
}

bool NodeCopies::read(int peer, uint64_t address, const Payload& into) {
  if (memory::PeerMemory* const other = memory_of(peer)) return other->read(address, into, 0, into.bytes());
  return own_->read(peer, address, into);
}

bool NodeCopies::write(int peer, uint64_t address, const std::byte* from, int64_t bytes) {
  if (memory::PeerMemory* const other = memory_of(peer)) return other->write(address, from, bytes);
  return own_->write(peer, address, from, bytes);
}

// Messages to another job go over the loopback device.
bool NodeCopies::hears_late(int peer) {
  return memory_of(peer) || own_->hears_late(peer);
}

}  // namespace tutti::transport
