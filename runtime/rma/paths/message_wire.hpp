// SPDX-License-Identifier: BSD-3-Clause
// What the active messages of one-sided communication say. In the header, `ticket` is the window's
// context, `source` the sender's rank in it, `tag` a WindowMessage and what that brings beside, `serial` the operation's
// number at its origin, `signature` of an operation its mark, for the witness. Short data travel with the message;
// long ones follow as ordinary messages on the window's context, under the operation's serial and the tag
// that data_tag() gives.
#pragma once

#include <cstdint>

#include "rma/operation.hpp"

namespace tutti::rma {

enum class WindowMessage : int32_t {
  operation,  // OperationHead, the layout, the data of the origin's unless they follow. What brings data back is
              // answered by `reply`, or by data that follow
  reply,      // the data
  failed,     // signature: the error class; bytes: the sentence. Of the operation `serial`
  flush,      // are all operations before this one complete? Answered by `flushed` when they are
  flushed,    // signature: the address of the sender's memory, where the kernel may copy that; else 0
  post,       // the sender exposes its memory to the receiver
  complete,   // the sender's operations in this exposure epoch are before this one
  lock,       // signature: kExclusive, kLazy, kPasses; answered by `granted` when it is its turn, unless it is lazy
  granted,
  unlock,    // answered by `unlocked` when all operations before it are complete
  unlocked,  // signature: that address times 2, and 1 if others wait for the lock
  who,       // of one that waits long for a lock: tell me of whom I wait for, from now on
  holders,   // bytes: the ranks that hold it or come before, 32 bits each
  witness,   // of one witness to another (witness.hpp)
};

// Of a lock: one holder alone. Who asks does not wait until it is his turn, and sends what belongs to the epoch behind it,
// which waits here. And he passes those who wait (LockWish).
inline constexpr uint64_t kExclusive = 1, kLazy = 2, kPasses = 4;

// What a message brings beside, above the WindowMessage in the tag: the lock, which comes before it (of the flags there are
// as many as of a lock's signature), and what its origin says behind it, which are messages of their own elsewhere.
inline constexpr int32_t kMessageMask = 0xFF, kLockBefore = 1 << 8, kFlushBehind = 1 << 9, kCompleteBehind = 1 << 10,
                         kUnlockBehind = 1 << 11;
inline constexpr int kLockFlagsAt = 16;
inline constexpr int32_t lock_before(uint64_t flags) {
  return kLockBefore | static_cast<int32_t>(flags) << kLockFlagsAt;
}
inline constexpr uint64_t lock_flags_of(int32_t tag) {
  return static_cast<uint64_t>(tag >> kLockFlagsAt);
}
inline constexpr WindowMessage message_of(int32_t tag) {
  return static_cast<WindowMessage>(tag & kMessageMask);
}
// 0: it cannot come so.
inline constexpr int32_t behind(WindowMessage message) {
  return message == WindowMessage::flush      ? kFlushBehind
         : message == WindowMessage::complete ? kCompleteBehind
         : message == WindowMessage::unlock   ? kUnlockBehind
                                              : 0;
}

struct OperationHead {
  int64_t displacement = 0;   // bytes from the start of the window; in a dynamic one an address
  int64_t count = 0;          // elements of the layout, or bytes if there is none
  int64_t bytes = 0;          // of the target's data, packed
  uint32_t layout_bytes = 0;  // 0: one run of `count` bytes
  Act act;
};
static_assert(sizeof(OperationHead) == 32, "most operations are as short as this");

// There is data of the origin's. MPI_Compare_and_swap has two elements: one to compare with, and one to put in its place.
inline bool carries(const Act& act) {
  return !is_read(act);
}

// Data longer than this come and go by themselves.
inline constexpr int64_t kLongestInline = 2 << 10;
inline bool follows(const OperationHead& head) {
  return head.bytes > kLongestInline;
}
// Those of long updates in pieces of about this length, each a whole number of elements.
inline constexpr int64_t kPiece = 128 << 10;

inline int32_t data_tag(int64_t piece, bool to_origin) {
  return static_cast<int32_t>(2 * piece + to_origin);
}

}  // namespace tutti::rma
