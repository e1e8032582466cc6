// SPDX-License-Identifier: BSD-3-Clause
// A long broadcast by messages of types with gaps makes no packed copy of the whole on any rank,
// whatever it is cut into: 64 MiB from a vector and from a run of bytes, to vectors, to other
// vectors and to runs. Meanwhile no process may come to hold more than 12 MiB beyond what it held
// before.
#include "datatype/peak.hpp"

namespace {

constexpr size_t kPayload = 8 << 20;  // of 8 bytes
constexpr long kBound = 12 << 10;     // KiB

// How a rank lays it out: blocks of so many, one every so many.
struct Kind {
  size_t block, stride;
  size_t place(size_t i) const { return i / block * stride + i % block; }
  size_t extent() const { return kPayload / block * stride; }
};
constexpr Kind kRun{kPayload, kPayload}, kVector{128, 192}, kOther{32, 40};

uint64_t value(size_t i, int seed) {
  return (i + 1) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(seed);
}
constexpr uint64_t kUntouched = 0x5555555555555555;

void broadcast(int rank, int root, const Kind& kind, int seed, std::vector<uint64_t>& data) {
  MPI_Datatype type;
  OK(MPI_Type_vector(static_cast<int>(kPayload / kind.block), static_cast<int>(kind.block),
                     static_cast<int>(kind.stride), MPI_UINT64_T, &type));
  OK(MPI_Type_commit(&type));
  std::fill(data.begin(), data.end(), kUntouched);
  if (rank == root)
    for (size_t i = 0; i < kPayload; ++i) data[kind.place(i)] = value(i, seed);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(set_peak_back());
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const long before = peak();
  OK(MPI_Bcast(data.data(), 1, type, root, MPI_COMM_WORLD));
  const long growth = peak() - before;
  std::printf("rank %d of %d, blocks of %zu: %ld KiB more\n", rank, root, kind.block, growth);
  if (growth > kBound)
    check::fail(__FILE__, __LINE__,
                "this process came to hold " + std::to_string(growth) + " KiB more, of a broadcast of " +
                    std::to_string(kPayload / 128) + " KiB in blocks of " + std::to_string(kind.block));
  for (size_t i = 0; i < kPayload; ++i) CHECK_EQ_IN(data[kind.place(i)], value(i, seed), "element %zu", i);
  for (size_t i = 0; i < kind.extent(); ++i)
    if (i % kind.stride >= kind.block) CHECK_EQ_IN(data[i], kUntouched, "the gap at %zu", i);
  OK(MPI_Type_free(&type));
}

int run(int argc, char** argv) {
  const check::Program world(&argc, &argv);
  if (!peaks_are_seen_by_all(kBound)) return kSkipped;
  std::vector<uint64_t> data(kVector.extent());
  const int rank = world.rank(), last = world.size() - 1;
  broadcast(rank, 0, kVector, 1, data);
  broadcast(rank, last, rank == last ? kRun : rank % 2 ? kOther : kVector, 2, data);
  broadcast(rank, 0, rank == 0 ? kOther : kRun, 3, data);
  broadcast(rank, last, rank % 3 == 0 ? kVector : rank % 3 == 1 ? kRun : kOther, 4, data);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv);
}
