// SPDX-License-Identifier: BSD-3-Clause
// Short blocks of gatherv, scatterv and alltoallv make no allocation, once such calls have been made
// before: over and over with the same counts, and with others each time of a type that has gaps; alltoallw
// with the same counts and types. (What is kept of calls on predefined types notes their counts, and
// allocates when these change.) Counted is what the calling thread does, by a malloc of our own. Whom the
// kernel keeps waiting for long notes what it waits for: so the calls come in batches, and most of these must
// be free of allocations, as one that the calls make would be in each of them.
#include "check.hpp"
#include "count_allocations.hpp"

namespace {

constexpr int kBatches = 40, kTurns = 26;

struct Blocks {
  std::vector<int> in, out, counts, places, byte_places;
  std::vector<MPI_Datatype> types;
};

// Counts up to 12 elements, the same both ways and on all ranks.
int length(int turn, int a, int b) {
  return (turn * 5 + a + b) % 13;
}

// One turn of each form; `turn` tells the counts.
void calls(const check::Program& world, Blocks& b, MPI_Datatype type, int turn) {
  const int size = world.size(), rank = world.rank(), root = size - 1;
  for (int r = 0; r < size; ++r) b.counts[r] = length(turn, r, r);
  const int own = b.counts[rank];
  OK(MPI_Gatherv(b.in.data(), own, type, b.out.data(), b.counts.data(), b.places.data(), type, root, MPI_COMM_WORLD));
  OK(MPI_Scatterv(b.in.data(), b.counts.data(), b.places.data(), type, b.out.data(), own, type, root, MPI_COMM_WORLD));
  for (int r = 0; r < size; ++r) b.counts[r] = length(turn, rank, r);
  OK(MPI_Alltoallv(b.in.data(), b.counts.data(), b.places.data(), type, b.out.data(), b.counts.data(), b.places.data(),
                   type, MPI_COMM_WORLD));
  if (type == MPI_INT)
    OK(MPI_Alltoallw(b.in.data(), b.counts.data(), b.byte_places.data(), b.types.data(), b.out.data(), b.counts.data(),
                     b.byte_places.data(), b.types.data(), MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Program world(&argc, &argv);
  const long before = allocations;
  delete new std::string(100, 'x');
  CHECK(allocations > before);  // the counting works

  MPI_Datatype gaps;
  OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps));
  OK(MPI_Type_commit(&gaps));
  Blocks b;
  b.in.assign(32 * world.size(), world.rank());
  b.out.assign(32 * world.size(), -1);
  b.counts.resize(world.size());
  for (int r = 0; r < world.size(); ++r) {
    b.places.push_back(16 * r);
    b.byte_places.push_back(16 * r * static_cast<int>(sizeof(int)));
    b.types.push_back(MPI_INT);
  }
  for (const bool with_gaps : {false, true}) {
    int free = 0;
    for (int batch = 0; batch < kBatches; ++batch) {
      const long so_far = allocations;
      for (int turn = 0; turn < kTurns; ++turn) calls(world, b, with_gaps ? gaps : MPI_INT, with_gaps ? turn : 1);
      free += allocations == so_far;
    }
    if (2 * free <= kBatches)
      std::fprintf(stderr, "%s: %d of %d batches\n", with_gaps ? "a type with gaps" : "the same counts", free,
                   kBatches);
    CHECK(2 * free > kBatches);
  }
  OK(MPI_Type_free(&gaps));
}
