// SPDX-License-Identifier: BSD-3-Clause
// Each large-count constructor and packing function against its small form, which
// datatype/constructors judges: the same size, extents and packed bytes, and what is sent as the one
// is received as the other. NOT_OPENMPI: 4.1 lacks these forms.
#include <utility>

#include "check.hpp"

namespace {

struct Pair {
  const char* name;
  MPI_Datatype small, large;
};

constexpr int kCount = 3;
constexpr size_t kRoom = 4096;
using Bytes = std::vector<unsigned char>;

std::vector<Pair> pairs() {
  std::vector<Pair> result;
  // Makes both forms of one type.
  const auto add = [&](const char* name, auto small, auto large) {
    Pair pair{name, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    OK(small(&pair.small));
    OK(large(&pair.large));
    OK(MPI_Type_commit(&pair.small));
    OK(MPI_Type_commit(&pair.large));
    result.push_back(pair);
  };
#define FORMS(name, small, large)                                  \
  add(                                                             \
      #name, [&](MPI_Datatype* type) { return MPI_##name small; }, \
      [&](MPI_Datatype* type) { return MPI_##name##_c large; })

  const int lengths[] = {2, 0, 3}, places[] = {7, 1, 0};
  const MPI_Count long_lengths[] = {2, 0, 3}, long_places[] = {7, 1, 0};
  const MPI_Aint bytes[] = {61, 5, 8};
  const MPI_Count long_bytes[] = {61, 5, 8};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_SHORT};
  const int sizes[] = {4, 5, 6}, parts[] = {2, 3, 1}, starts[] = {1, 0, 4};
  const MPI_Count long_sizes[] = {4, 5, 6}, long_parts[] = {2, 3, 1}, long_starts[] = {1, 0, 4};
  FORMS(Type_contiguous, (5, MPI_INT, type), (5, MPI_INT, type));
  FORMS(Type_vector, (3, 2, 4, MPI_SHORT, type), (3, 2, 4, MPI_SHORT, type));
  FORMS(Type_create_hvector, (3, 2, 13, MPI_INT, type), (3, 2, 13, MPI_INT, type));
  FORMS(Type_indexed, (3, lengths, places, MPI_INT, type), (3, long_lengths, long_places, MPI_INT, type));
  FORMS(Type_create_hindexed, (3, lengths, bytes, MPI_INT, type), (3, long_lengths, long_bytes, MPI_INT, type));
  FORMS(Type_create_indexed_block, (2, 4, places, MPI_CHAR, type), (2, 4, long_places, MPI_CHAR, type));
  FORMS(Type_create_hindexed_block, (2, 4, bytes, MPI_DOUBLE, type), (2, 4, long_bytes, MPI_DOUBLE, type));
  FORMS(Type_create_struct, (3, lengths, bytes, types, type), (3, long_lengths, long_bytes, types, type));
  FORMS(Type_create_resized, (MPI_INT, -4, 20, type), (MPI_INT, -4, 20, type));
  for (int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
    FORMS(Type_create_subarray, (3, sizes, parts, starts, order, MPI_INT, type),
          (3, long_sizes, long_parts, long_starts, order, MPI_INT, type));
#undef FORMS
  return result;
}

void same_measures(const Pair& pair) {
  struct {
    MPI_Count size, lower, extent, true_lower, true_extent, packed;
  } small, large;
  const auto measure = [](MPI_Datatype type, auto& m) {
    OK(MPI_Type_size_c(type, &m.size));
    OK(MPI_Type_get_extent_c(type, &m.lower, &m.extent));
    OK(MPI_Type_get_true_extent_c(type, &m.true_lower, &m.true_extent));
    OK(MPI_Pack_size_c(kCount, type, MPI_COMM_WORLD, &m.packed));
  };
  measure(pair.small, small);
  measure(pair.large, large);
  CHECK_EQ_IN(large.size, small.size, "%s", pair.name);
  CHECK_EQ_IN(large.lower, small.lower, "%s", pair.name);
  CHECK_EQ_IN(large.extent, small.extent, "%s", pair.name);
  CHECK_EQ_IN(large.true_lower, small.true_lower, "%s", pair.name);
  CHECK_EQ_IN(large.true_extent, small.true_extent, "%s", pair.name);
  CHECK_EQ_IN(large.packed, small.packed, "%s", pair.name);
  int packed = -1;
  OK(MPI_Pack_size(kCount, pair.small, MPI_COMM_WORLD, &packed));
  CHECK_EQ_IN(large.packed, packed, "%s", pair.name);
  CHECK_EQ_IN(packed >= kCount * small.size, true, "%s", pair.name);
}

void same_bytes(const Pair& pair, int rank) {
  const Bytes data = check::pattern(kRoom, rank);
  Bytes small(kRoom, 0xee), large(kRoom, 0xee);
  int position = 5;  // packing goes on where it is told to
  MPI_Count long_position = 5, size = 0;
  OK(MPI_Pack(&data[64], kCount, pair.small, small.data(), kRoom, &position, MPI_COMM_WORLD));
  OK(MPI_Pack_c(&data[64], kCount, pair.large, large.data(), kRoom, &long_position, MPI_COMM_WORLD));
  OK(MPI_Type_size_c(pair.small, &size));
  CHECK_EQ_IN(position, 5 + kCount * size, "%s", pair.name);
  CHECK_EQ_IN(long_position, position, "%s", pair.name);
  CHECK_EQ_IN(large == small, true, "%s", pair.name);

  Bytes unpacked(kRoom, 0xdd), long_unpacked(kRoom, 0xdd);
  position = 5;
  long_position = 5;
  OK(MPI_Unpack(small.data(), kRoom, &position, &unpacked[64], kCount, pair.small, MPI_COMM_WORLD));
  OK(MPI_Unpack_c(large.data(), kRoom, &long_position, &long_unpacked[64], kCount, pair.large, MPI_COMM_WORLD));
  CHECK_EQ_IN(long_position, position, "%s", pair.name);
  CHECK_EQ_IN(long_unpacked == unpacked, true, "%s", pair.name);
  // What was written is the data, at its place.
  for (size_t i = 0; i < kRoom; ++i)
    if (unpacked[i] != 0xdd) CHECK_EQ_IN(unpacked[i], data[i], "byte %zu of %s", i, pair.name);
}

void sent_as_received_as(const Pair& pair, const check::Program& world) {
  const int rank = world.rank(), size = world.size(), from = (rank + size - 1) % size;
  const Bytes mine = check::pattern(kRoom, rank), theirs = check::pattern(kRoom, from);
  for (const auto& [sent, received] : {std::pair(pair.small, pair.large), std::pair(pair.large, pair.small)}) {
    Bytes packed(kRoom), expected(kRoom, 0xdd), in(kRoom, 0xdd);
    int end = 0, position = 0;
    OK(MPI_Pack(&theirs[64], kCount, pair.small, packed.data(), kRoom, &end, MPI_COMM_WORLD));
    OK(MPI_Unpack(packed.data(), end, &position, &expected[64], kCount, pair.small, MPI_COMM_WORLD));
    OK(MPI_Sendrecv(&mine[64], kCount, sent, (rank + 1) % size, 0, &in[64], kCount, received, from, 0, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    CHECK_EQ_IN(in == expected, true, "%s", pair.name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  for (Pair& pair : pairs()) {
    same_measures(pair);
    same_bytes(pair, world.rank());
    sent_as_received_as(pair, world);
    OK(MPI_Type_free(&pair.small));
    OK(MPI_Type_free(&pair.large));
  }
}
