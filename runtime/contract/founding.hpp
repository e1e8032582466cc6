// SPDX-License-Identifier: BSD-3-Clause
// What the members of a group tell each other where they make a communicator by messages of their own, because no
// communicator has just them as its ranks: MPI_Comm_create_group, MPI_Comm_create_from_group and, of the two leaders,
// MPI_Intercomm_create. These messages are found by their tags, so that members that give different ones never meet:
// the report of their deadlock says it by what stands here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace tutti::contract {

// Serials on the hidden channel of the communicator that all of them are in, which no collective call reaches before
// 2^32 of them. Messages of groups without such a communicator have a context of their own (engine/context.hpp).
inline constexpr uint32_t kCreateGroupSerial = std::numeric_limits<uint32_t>::max();
inline constexpr uint32_t kLeadersSerial = kCreateGroupSerial - 1;
// Likewise, but these messages belong to a collective call: they are found by its number, and nobody gives a tag.
inline constexpr uint32_t kDividedSerial = kLeadersSerial - 1;

// What the first of a group tells the others: plain, for messages. Its bytes begin with a mark, by which it is known
// among the messages that nobody has received.
struct Founding {
  static constexpr uint64_t kMark = 0x666f756e64696e67;
  uint64_t mark = kMark;
  uint64_t context = 0;     // of what they make; 0: none is left
  uint64_t group_hash = 0;  // of the members, in order
  char group[88] = {};      // "ranks 1, 0"; may be cut
  char tag[48] = {};        // "tag 5", "the stringtag 'solver'"; may be cut

  template <size_t N>
  static void put(char (&to)[N], std::string_view text) {
    to[text.copy(to, N - 1)] = 0;
  }
};

}  // namespace tutti::contract
