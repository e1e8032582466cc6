// SPDX-License-Identifier: BSD-3-Clause
// A long message of a type with gaps is never copied as a whole on the side: it is gathered and
// scattered in pieces. Two ranks send 128 MiB of a vector both ways, to a vector and to a run of
// bytes and from one; meanwhile neither process may come to hold more than 24 MiB beyond what it
// held before. The kernel says so: the peak of its resident memory, set back before each transfer.
#include "datatype/peak.hpp"

namespace {

constexpr int kBlocks = 128 << 10, kBlock = 128, kStride = 192;  // of 8 bytes: 1 KiB, then a gap
constexpr size_t kPayload = static_cast<size_t>(kBlocks) * kBlock;
constexpr size_t kExtent = static_cast<size_t>(kBlocks) * kStride;
constexpr long kBound = 24 << 10;  // KiB
constexpr uint64_t kUntouched = 0x5555555555555555;

size_t place(size_t i, bool gaps) {
  return gaps ? i / kBlock * kStride + i % kBlock : i;
}
uint64_t value(size_t i, int seed) {
  return (i + 1) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(seed);
}

// One message; the peak of both sides is checked, and all data with the gaps between.
void transfer(int rank, int sender, bool from_gaps, bool to_gaps, MPI_Datatype vector, std::vector<uint64_t>& data) {
  const int seed = sender * 4 + from_gaps * 2 + to_gaps;
  const bool gaps = rank == sender ? from_gaps : to_gaps;
  std::fill(data.begin(), data.end(), kUntouched);
  if (rank == sender)
    for (size_t i = 0; i < kPayload; ++i) data[place(i, gaps)] = value(i, seed);
  const int count = gaps ? 1 : static_cast<int>(kPayload);
  const MPI_Datatype type = gaps ? vector : MPI_UINT64_T;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(set_peak_back());
  const long before = peak();
  if (rank == sender)
    OK(MPI_Send(data.data(), count, type, 1 - rank, seed, MPI_COMM_WORLD));
  else
    OK(MPI_Recv(data.data(), count, type, sender, seed, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  const long growth = peak() - before;
  const std::string what = std::string(rank == sender ? "sending" : "receiving") + " from " +
                           (from_gaps ? "a vector" : "a run") + " to " + (to_gaps ? "a vector" : "a run");
  std::printf("rank %d, %s: %ld KiB more\n", rank, what.c_str(), growth);
  if (growth > kBound)
    check::fail(__FILE__, __LINE__,
                what + " this process came to hold " + std::to_string(growth) + " KiB more, of a message of " +
                    std::to_string(kPayload / 128) + " KiB");
  for (size_t i = 0; i < kPayload; ++i) CHECK_EQ_IN(data[place(i, gaps)], value(i, seed), "element %zu", i);
  for (size_t i = gaps ? 0 : kPayload; i < kExtent; ++i)
    if (!gaps || i % kStride >= kBlock) CHECK_EQ_IN(data[i], kUntouched, "the gap at %zu", i);
}

int run(int argc, char** argv) {
  const check::Program world(&argc, &argv);
  CHECK_EQ(world.size(), 2);
  if (!peaks_are_seen_by_all(kBound)) return kSkipped;
  MPI_Datatype vector;
  OK(MPI_Type_vector(kBlocks, kBlock, kStride, MPI_UINT64_T, &vector));
  OK(MPI_Type_commit(&vector));
  std::vector<uint64_t> data(kExtent);
  for (int sender = 0; sender < 2; ++sender) {
    transfer(world.rank(), sender, true, true, vector, data);
    transfer(world.rank(), sender, true, false, vector, data);
    transfer(world.rank(), sender, false, true, vector, data);
  }
  OK(MPI_Type_free(&vector));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv);
}
