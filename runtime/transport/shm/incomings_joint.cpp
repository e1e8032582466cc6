// SPDX-License-Identifier: BSD-3-Clause
// Long messages that both sides copy: the receiver reads pieces from the front, and a sender that
// is there writes pieces from the back into the receiver's memory. Each takes the next one when it
// is done with its last, so that neither waits for the other but for one piece at the end; a sender
// that is away takes none. One message at a time from one peer, by the Joint of its ring.
#include <algorithm>

#include "base/fault_point.hpp"
#include "transport/shm/incomings.hpp"
#include "transport/shm/joint_words.hpp"

namespace tutti::transport {
namespace {

constexpr int64_t kLeastJointPiece = 32 << 10, kMostJointPiece = 64 << 10;

// Passes that the sender's last piece may take before this counts as a wait in which to rest: it is
// at work on it, unless its core has been taken away.
constexpr int kShortWait = 2000;

JointCut cut(int64_t bytes) {
  const int64_t eighth = bytes / 8 & ~int64_t{4095};
  // As many as Share has room for, at most.
  const int64_t least = std::max(kLeastJointPiece, (bytes >> 23 & ~int64_t{4095}) + 4096);
  return {bytes, std::max(least, std::min(eighth, kMostJointPiece))};
}

}  // namespace

void Incomings::begin_joint(Incoming& incoming) {
  Peer& from = *incoming.peer;
  from.in.joint = &incoming;
  const JointCut pieces = cut(incoming.bytes);
  const auto message = static_cast<uint16_t>(1 + from.in.joints++ % 0xffff);
  Joint& joint = from.in.ring.joint();
  // Of no message while it changes: who has looked at the last one shall not take a piece of this
  // one.
  joint.taken.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  joint.written.store(0, std::memory_order_relaxed);
  joint.into.store(reinterpret_cast<uintptr_t>(incoming.fetch->into.data()), std::memory_order_relaxed);
  joint.bytes.store(static_cast<uint64_t>(incoming.bytes), std::memory_order_relaxed);
  joint.piece.store(static_cast<uint64_t>(pieces.piece), std::memory_order_relaxed);
  joint.taken.store(Share{message, 1, 0}.packed(), std::memory_order_release);
  // Who sleeps, or is about to, is not woken for this.
  TUTTI_FAULT_POINT("joint.begun");
  if (from.desk->asleep.load(std::memory_order_relaxed) == 0)
    outbox_.control(from, RecordType::join, 0, incoming.outgoing, message, incoming.address);
}

// The receiver's side.
Incomings::Read Incomings::join_on(Incoming& incoming) {
  Peer& from = *incoming.peer;
  Joint& joint = from.in.ring.joint();
  const JointCut pieces = cut(incoming.bytes);
  const auto give_up = [&](uint32_t piece) TUTTI_ENGINE_OWNED {
    // No more pieces for anybody; what the sender is writing at this moment it has written before
    // it sees that it is to send all from here on.
    joint.taken.store(0, std::memory_order_release);
    from.in.joint = nullptr;
    incoming.joins = incoming.has_choice = false;
    incoming.asked = incoming.arrived = pieces.begin(piece);
    streams_.ask(incoming, 0);
    return Read::done;
  };
  const auto end = [&]() TUTTI_ENGINE_OWNED {
    from.in.joint = nullptr;
    incoming.arrived = incoming.bytes;
    finish_read(incoming);
    return Read::done;
  };

  uint32_t mine = 0;
  if (!from.in.joint) {
    begin_joint(incoming);  // and takes the first
  } else if (from.in.joint != &incoming) {
    return Read::waits;
  } else {
    uint64_t packed = joint.taken.load(std::memory_order_acquire);
    for (;;) {
      Share taken = Share::of(packed);
      if (taken.front + taken.back == pieces.count()) {
        if (taken.back == 0) return end();
        const Written written = Written::of(joint.written.load(std::memory_order_acquire));
        if (written.message != taken.message || written.pieces < taken.back)
          return incoming.idle < kShortWait && ++incoming.idle ? Read::goes_on : Read::waits;
        if (!written.failed) return end();
        const uint32_t failed = pieces.count() - taken.back;
        if (!read_piece(incoming, pieces.begin(failed), pieces.size(failed))) return give_up(0);
        return end();
      }
      mine = taken.front++;
      if (joint.taken.compare_exchange_weak(packed, taken.packed(), std::memory_order_acq_rel)) break;
    }
  }
  TUTTI_FAULT_POINT("joint.front_taken");
  if (!read_piece(incoming, pieces.begin(mine), pieces.size(mine))) return give_up(mine);
  return Read::goes_on;
}

}  // namespace tutti::transport
