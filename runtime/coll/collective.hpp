// SPDX-License-Identifier: BSD-3-Clause
// The collectives, and what distinguishes one from another: a row each, which all who treat them
// differently read. A new collective begins here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tutti {

enum class Function : uint16_t;  // functions.hpp

namespace coll {

struct Algorithm;

enum class Collective : uint8_t {
  barrier,
  bcast,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  reduce,
  allreduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
};
inline constexpr int kCollectives = 22;
inline constexpr int kCollectivesOverRanks = 17;  // the first ones; the others move blocks along edges

// What a rank has as its input, or as its output.
enum class Holds : uint8_t {
  nothing,
  block,         // so many elements: one block, or a vector
  blocks,        // a block for each rank, or for each edge, all equally long and one behind the other
  arrays,        // for each a count and a displacement of its own, in arrays …
  typed_arrays,  // … and a type
};
constexpr bool has_arrays(Holds what) {
  return what >= Holds::arrays;
}

// Whose the input or the output is alone. In place is then the root's, in the other one of the two.
enum class Root : uint8_t {
  none,
  gives,  // the root alone has an input
  gets,   // the root alone has an output
};

// Among whom the vector that comes out of a reduction is divided.
enum class Divided : uint8_t { no, equally, by_counts };

// Whose vectors a rank's result is made of: all ranks' …
enum class Prefix : uint8_t {
  no,
  inclusive,  // … those of the ranks up to itself …
  exclusive,  // … those of the ranks before it: the first one has no result
};

// Who knows how long a block, or the vector, is.
enum class KnownTo : uint8_t {
  nobody,  // there are no data
  all,     // every rank, alike: rules may choose by it, and it is compared among all
  pairs,   // the two ranks between which it goes: they compare it
};

// MPI_IN_PLACE is given …
enum class InPlace : uint8_t {
  by_each,        // … by each rank as it likes, by the root alone, or by nobody
  by_all,         // … by all ranks or by none, says the standard; but what the others send does not depend on it
  by_all_or_none  // … by all ranks or by none, or else messages do not meet
};

struct CollectiveRow {
  Collective kind;
  std::string_view name;  // in rules, logs and tests: "allreduce"
  Function function;      // the standard's, in the blocking form
  Holds input = Holds::nothing;
  Holds output = Holds::nothing;  // of bcast the one buffer, also at the root
  Root root = Root::none;
  KnownTo known_to = KnownTo::all;
  InPlace in_place = InPlace::by_each;
  bool over_edges = false;  // moves a block along each edge of a topology, or the same one, not to each rank
  bool reduces = false;
  Divided divided = Divided::no;
  Prefix prefix = Prefix::no;
  std::span<const Algorithm> (*algorithms)() = nullptr;  // the first one needs nothing
  const Algorithm* between = nullptr;                    // two groups (between.hpp); nullptr: it is for one

  constexpr bool rooted() const { return root != Root::none; }
  // Whether the input, or the output, means something at a rank. MPI_IN_PLACE replaces one of them: the output where
  // the root gives, else the input.
  constexpr bool has_input(bool at_root, bool given_in_place) const {
    return input != Holds::nothing && (root == Root::gives ? at_root : !given_in_place);
  }
  constexpr bool has_output(bool at_root, bool given_in_place) const {
    return output != Holds::nothing && (root == Root::none || (root == Root::gets ? at_root : !given_in_place));
  }
  // Where this rank's input, not its output, says how long the block is that all ranks know alike. The root of a
  // gather may have its own block in place, as the root of a scatter may.
  constexpr bool is_told_by_input(bool at_root) const {
    return !reduces && input != Holds::nothing && rooted() && at_root == (root == Root::gives);
  }
};

// The tables of algorithms, each in the file of its collective.
std::span<const Algorithm> barrier_algorithms();
std::span<const Algorithm> bcast_algorithms();
std::span<const Algorithm> gather_algorithms();
std::span<const Algorithm> gatherv_algorithms();
std::span<const Algorithm> scatter_algorithms();
std::span<const Algorithm> scatterv_algorithms();
std::span<const Algorithm> allgather_algorithms();
std::span<const Algorithm> allgatherv_algorithms();
std::span<const Algorithm> alltoall_algorithms();
std::span<const Algorithm> alltoallv_algorithms();
std::span<const Algorithm> reduce_algorithms();
std::span<const Algorithm> allreduce_algorithms();
std::span<const Algorithm> reduce_scatter_algorithms();
std::span<const Algorithm> scan_algorithms();
std::span<const Algorithm> exscan_algorithms();
std::span<const Algorithm> neighbor_algorithms();

const CollectiveRow& row_of(Collective kind);
inline std::string_view name_of(Collective kind) {
  return row_of(kind).name;
}

}  // namespace coll
}  // namespace tutti
