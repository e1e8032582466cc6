// SPDX-License-Identifier: BSD-3-Clause
// What the active messages of one-sided communication say. In the header, `ticket` is the window's
// context, `source` the sender's rank in it, `tag` a WindowMessage, `serial` the operation's number at
// its origin, `signature` of an operation its mark, for the witness. Short data travel with the message; long ones follow as ordinary messages on the
// window's context, under the operation's serial and the tag that data_tag() gives.
#pragma once

#include <cstdint>

namespace tutti::rma {

enum class WindowMessage : int32_t {
  put,      // OperationHead, the layout, the data unless they follow
  get,      // OperationHead, the layout; answered by `reply`, or by data that follow
  update,   // the same as of both; without kFetches there is no answer
  compare,  // OperationHead, an element to compare with, one to put in its place; answered by
            // `reply`
  reply,    // the data
  failed,   // signature: the error class; bytes: the sentence. Of the operation `serial`
  flush,    // are all operations before this one complete? Answered by `flushed` when they are
  flushed,
  post,      // the sender exposes its memory to the receiver
  complete,  // the sender's operations in this exposure epoch are before this one
  lock,      // signature: 1 if exclusive; answered by `granted` when it is the sender's turn
  granted,
  unlock,  // answered by `unlocked` when all operations before it are complete
  unlocked,
  who,      // of one that waits long for a lock: tell me of whom I wait for, from now on
  holders,  // bytes: the ranks that hold it or come before, 32 bits each
  witness,  // of one witness to another (witness.hpp)
};

struct OperationHead {
  int64_t displacement = 0;   // bytes from the start of the window; in a dynamic one an address
  int64_t count = 0;          // elements of the layout, or bytes if there is none
  int64_t bytes = 0;          // of the target's data, packed
  uint32_t layout_bytes = 0;  // 0: one run of `count` bytes
  uint8_t operation = 0;      // of an update: the ABI's number of it, less that of MPI_OP_NULL
  uint8_t element = 0;        // of an update: how the elements are represented
  uint8_t flags = 0;
  uint8_t reserved = 0;
};
inline constexpr uint8_t kFetches = 1;  // what the target held before is wanted
inline constexpr uint8_t kFollows = 2;  // data come and go by themselves
inline constexpr uint8_t kCarries = 4;  // there is data of the origin's

// Longer data follow.
inline constexpr int64_t kLongestInline = 2 << 10;
// Long updates are carried in pieces of about this length, each a whole number of elements.
inline constexpr int64_t kPiece = 128 << 10;

inline int32_t data_tag(int64_t piece, bool to_origin) {
  return static_cast<int32_t>(2 * piece + to_origin);
}

}  // namespace tutti::rma
