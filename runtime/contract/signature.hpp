// SPDX-License-Identifier: BSD-3-Clause
// The signature of a collective call: one word that travels with its messages, so that a rank sees
// at the price of one comparison whether the others are in the same call. Which function, which
// form and root can be read from it; what the data are is hashed. Two words that differ need not
// contradict each other: compare() knows what the standard leaves to each rank.
#pragma once

#include <cstdint>
#include <string>

#include "base/function.hpp"
#include "base/sides.hpp"

namespace tutti::contract {

//  63     54 53  52 51     40 39   34 33     14 13      0
// | function | form |  root  |  op   |  type   |  bytes  |
//
// function: the blocking form's; one row of functions.hpp stands for all forms (MPI_Comm_dup also
// for those with an info). root: 1 more than the root, folded; 0: the call has none. Between two groups the
// root is a rank of their union; its highest bit says in which of the groups it is, and 0 below that
// that this rank, which gave MPI_PROC_NULL, does not know who. op: the ABI's
// number of a predefined operation, one of the two of a user's, or 0; where ranks must agree whether they give
// MPI_IN_PLACE, its highest bit is turned over if they do. type and bytes: of the data that must agree, each
// hashed; 0: nothing that could be compared. The whole word is 0 where nothing is checked.
using Word = uint64_t;

enum class Form : uint8_t { blocking, nonblocking, persistent };

inline constexpr int kUserOp = 0x3f, kUserOpInOrder = 0x3e;  // the second one does not commute
inline constexpr int kInPlaceBit = 0x20;                     // the numbers of operations have it, and no one is 0x20
inline constexpr int kFormShift = 52, kRootShift = 40, kOpShift = 34;
inline constexpr int kRootMask = 0x7ff;
inline constexpr Word kRootInSecondGroup = Word{0x800} << kRootShift;

// `type` and `bytes` of a word. `type_hash`: 0 if the type cannot be compared (MPI_BYTE, MPI_PACKED).
constexpr Word data_of(uint64_t type_hash, uint64_t bytes) {
  const uint64_t type = type_hash ? ((type_hash * 0x9e3779b97f4a7c15u) >> 44 | 1) : 0;
  const uint64_t folded = (bytes * 0xd6e8feb86659fd93u >> 50) | 1;
  return type << 14 | folded;
}

constexpr Word word_of(Function function, int root = -1, int op = 0, Word data = 0) {
  return static_cast<Word>(function) << 54 | static_cast<Word>(root < 0 ? 0 : root % kRootMask + 1) << kRootShift |
         static_cast<Word>(op & 0x3f) << 34 | data;
}
constexpr Word in_form(Word word, Form form) {
  return word ? word | static_cast<Word>(form) << kFormShift : 0;
}

constexpr Word in_place(Word word) {
  return word ^ static_cast<Word>(kInPlaceBit) << kOpShift;
}

// clang-format off
constexpr uint16_t function_of(Word word) { return static_cast<uint16_t>(word >> 54); }
constexpr Form form_of(Word word) { return static_cast<Form>(word >> kFormShift & 3); }
constexpr int root_of(Word word) { return static_cast<int>(word >> kRootShift & kRootMask) - 1; }
constexpr bool root_is_in_second(Word word) { return (word & kRootInSecondGroup) != 0; }
// clang-format on
// The bits as they are, and what they say.
constexpr int op_bits_of(Word word) {
  return static_cast<int>(word >> kOpShift & 0x3f);
}
constexpr bool is_in_place(Word word) {
  const int bits = op_bits_of(word);
  return (bits & ~kInPlaceBit) != 0 ? (bits & kInPlaceBit) == 0 : bits != 0;
}
// clang-format off
constexpr int op_of(Word word) { return op_bits_of(is_in_place(word) ? in_place(word) : word); }
constexpr uint32_t type_of(Word word) { return static_cast<uint32_t>(word >> 14 & 0xfffff); }
constexpr uint32_t bytes_of(Word word) { return static_cast<uint32_t>(word & 0x3fff); }
// clang-format on

// What two ranks disagree about, the gravest first.
enum class Difference : uint8_t { none, function, form, root, op, in_place, type, count };

Difference compare(Word mine, Word theirs);
// The same of two ranks that are known, -1 if not: between two groups (`sides` is not empty) one that stands
// beside the root may be whom the other one calls the root.
Difference compare(const Sides& sides, Word mine, int my_rank, Word theirs, int their_rank);

std::string name_of(Word word);  // "MPI_Ibarrier"

}  // namespace tutti::contract
