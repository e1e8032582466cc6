// SPDX-License-Identifier: BSD-3-Clause
// Long messages that both sides copy: the receiver reads pieces from the front, and a sender that
// is there writes pieces from the back into the receiver's memory. Each takes the next one when it
// is done with its last, so that neither waits for the other but for one piece at the end; a sender
// that is away takes none. One message at a time from one peer, by the Joint of its ring.
#include <algorithm>

#include "transport/shm/shared_memory_inside.hpp"

namespace tutti::transport {
namespace {

constexpr int64_t kLeastJointPiece = 32 << 10, kMostJointPiece = 64 << 10;

// Passes that the sender's last piece may take before this counts as a wait in which to rest: it is
// at work on it, unless its core has been taken away.
constexpr int kShortWait = 2000;

// What Joint::taken says.
struct Share {
  uint16_t message = 0;
  uint32_t front = 0, back = 0;  // pieces; 24 bits each

  static Share of(uint64_t packed) {
    return {static_cast<uint16_t>(packed >> 48), static_cast<uint32_t>(packed >> 24) & 0xffffff,
            static_cast<uint32_t>(packed) & 0xffffff};
  }
  uint64_t packed() const { return uint64_t{message} << 48 | uint64_t{front} << 24 | uint64_t{back}; }
};
// And Joint::written.
struct Written {
  uint16_t message = 0;
  bool failed = false;  // the last one; there are no more
  uint32_t pieces = 0;

  static Written of(uint64_t packed) {
    return {static_cast<uint16_t>(packed >> 48), (packed >> 32 & 1) != 0, static_cast<uint32_t>(packed)};
  }
  uint64_t packed() const { return uint64_t{message} << 48 | uint64_t{failed} << 32 | uint64_t{pieces}; }
};

// How a message is cut. Pieces begin on cache lines of the message.
struct JointCut {
  int64_t bytes, piece;
  uint32_t count() const { return static_cast<uint32_t>((bytes + piece - 1) / piece); }
  int64_t begin(uint32_t i) const { return i * piece; }
  int64_t size(uint32_t i) const { return std::min(piece, bytes - begin(i)); }
};
JointCut cut(int64_t bytes) {
  const int64_t eighth = bytes / 8 & ~int64_t{4095};
  // As many as Share has room for, at most.
  const int64_t least = std::max(kLeastJointPiece, (bytes >> 23 & ~int64_t{4095}) + 4096);
  return {bytes, std::max(least, std::min(eighth, kMostJointPiece))};
}

}  // namespace

void SharedMemoryTransport::begin_joint(Incoming& incoming) {
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
  if (from.desk->asleep.load(std::memory_order_relaxed) == 0)
    control(from, RecordType::join, 0, incoming.outgoing, message, incoming.address);
}

// The receiver's side.
SharedMemoryTransport::Read SharedMemoryTransport::join_on(Incoming& incoming) {
  Peer& from = *incoming.peer;
  Joint& joint = from.in.ring.joint();
  const JointCut pieces = cut(incoming.bytes);
  const auto give_up = [&](uint32_t piece) TUTTI_ENGINE_OWNED {
    // No more pieces for anybody; what the sender is writing at this moment it has written before
    // it sees that it is to send all from here on.
    joint.taken.store(0, std::memory_order_release);
    from.in.joint = nullptr;
    incoming.joins = false;
    incoming.asked = incoming.arrived = pieces.begin(piece);
    ask(incoming, 0);
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
  if (!read_piece(incoming, pieces.begin(mine), pieces.size(mine))) return give_up(mine);
  return Read::goes_on;
}

// ---- the sender's side

void SharedMemoryTransport::start_help(Peer& to, const std::byte* body) {
  uint64_t words[3];
  std::memcpy(words, body, sizeof words);
  if (!to.out.helping.message) ++held_;
  to.out.helping = {words[1], reinterpret_cast<const std::byte*>(words[2])};
  help_on(to);
}

// Writes a piece. Of a message that is over, or that its receiver has copied to the end, there is
// none.
bool SharedMemoryTransport::help_on(Peer& to) {
  if (!to.out.helping.message) return false;
  Joint& joint = to.out.ring.joint();
  uint64_t packed = joint.taken.load(std::memory_order_acquire);
  const auto leave = [&] {
    to.out.helping.message = 0;
    --held_;
  };
  for (;;) {
    Share taken = Share::of(packed);
    // What else is read here is of this message if `taken` has not changed at the end.
    const JointCut pieces{static_cast<int64_t>(joint.bytes.load(std::memory_order_relaxed)),
                          static_cast<int64_t>(joint.piece.load(std::memory_order_relaxed))};
    const uint64_t into = joint.into.load(std::memory_order_relaxed);
    if (taken.message != static_cast<uint16_t>(to.out.helping.message) || taken.front + taken.back >= pieces.count()) {
      leave();
      return false;
    }
    const uint32_t mine = pieces.count() - ++taken.back;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!joint.taken.compare_exchange_weak(packed, taken.packed(), std::memory_order_acq_rel)) continue;
    const bool fine = to.memory.write(into + static_cast<uint64_t>(pieces.begin(mine)),
                                      to.out.helping.from + pieces.begin(mine), pieces.size(mine));
    joint.written.store(Written{taken.message, !fine, taken.back}.packed(), std::memory_order_release);
    if (!fine) leave();
    return true;
  }
}

}  // namespace tutti::transport
