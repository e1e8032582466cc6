// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/letters.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>

#include "mpi/comm/collective_call.hpp"

namespace tutti::mpi {
namespace {

constexpr auto kBytes = static_cast<int64_t>(sizeof(Letter));

// From the rank so far before this one to the one so far behind it, around the end. Plans are found again by where edges
// stand, so these stand there as long as the communicator does.
const coll::Edges& edges_at_distance(Comm& comm, int bit) {
  while (std::ssize(comm.distances) <= bit) {
    const int64_t distance = int64_t{1} << comm.distances.size(), size = comm.size();
    const auto to = static_cast<int>((comm.rank() + distance) % size);
    const auto from = static_cast<int>((comm.rank() + size - distance) % size);
    comm.distances.push_back(std::make_unique<const coll::Edges>(coll::Edges{{to}, {from}, {0}}));
  }
  return *comm.distances[static_cast<size_t>(bit)];
}

// `outgoing` goes along the edge, and what comes along the other one is returned.
Result<std::vector<Letter>> exchange(Comm& comm, const coll::Edges& edges, const std::vector<Letter>& outgoing,
                                     contract::Word signature) {
  const int64_t sent = std::ssize(outgoing) * kBytes, nowhere = 0;
  int64_t received = 0;
  const coll::Call length{.kind = coll::Collective::neighbor_alltoall,
                          .in = &sent,
                          .out = &received,
                          .in_count = sizeof sent,
                          .out_count = sizeof received,
                          .in_layout = &Layout::bytes(),
                          .out_layout = &Layout::bytes(),
                          .edges = &edges,
                          .signature = signature};
  if (Error e = run(comm, length)) return e;
  std::vector<Letter> incoming(static_cast<size_t>(received / kBytes));
  const coll::Call letters{.kind = coll::Collective::neighbor_alltoallv,
                           .in = outgoing.data(),
                           .out = incoming.data(),
                           .in_layout = &Layout::bytes(),
                           .out_layout = &Layout::bytes(),
                           .in_counts = Ints(&sent),
                           .in_displacements = Ints(&nowhere),
                           .out_counts = Ints(&received),
                           .out_displacements = Ints(&nowhere),
                           .edges = &edges,
                           .signature = signature};
  if (Error e = run(comm, letters)) return e;
  return incoming;
}

}  // namespace

Result<std::vector<Letter>> deliver(Comm& comm, std::vector<Letter> letters, contract::Word signature) {
  const int64_t size = comm.size();
  for (int bit = 0; int64_t{1} << bit < size; ++bit) {
    const auto stays = [&](const Letter& letter) { return ((letter.to - comm.rank() + size) % size >> bit & 1) == 0; };
    const auto goes = std::stable_partition(letters.begin(), letters.end(), stays);
    const std::vector<Letter> outgoing(goes, letters.end());
    letters.erase(goes, letters.end());
    Result<std::vector<Letter>> incoming = exchange(comm, edges_at_distance(comm, bit), outgoing, signature);
    if (!incoming) return std::move(incoming).error();
    letters.insert(letters.end(), incoming->begin(), incoming->end());
  }
  std::ranges::sort(letters, {}, [](const Letter& letter) { return std::pair(letter.from, letter.number); });
  return letters;
}

}  // namespace tutti::mpi
