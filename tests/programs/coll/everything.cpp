// SPDX-License-Identifier: BSD-3-Clause
// everything [DIVISIONS]
// All that takes memory on a node at once: messages of all lengths between all pairs of ranks, and meanwhile
// collectives of every kind on the world, a copy and parts of it, on each of them blocking and nonblocking
// ones, short and long. With a number, by so many ways to divide the world. All data are checked.
#include <utility>

#include "coll/kinds.hpp"

namespace {

using namespace check::coll;

constexpr int kKindsInAll = std::size(kKinds);

// The last two make many.
std::vector<Arena> arenas(const check::Program& world, size_t divisions) {
  const int rank = world.rank();
  int columns = 1;
  while ((columns + 1) * (columns + 1) <= world.size()) ++columns;
  const int colours[] = {0, rank % 2, check::mix(rank) % 3 == 0 ? MPI_UNDEFINED : 0, 0, rank % columns, rank / columns};
  std::vector<Arena> all(std::min(divisions, std::size(colours)));
  for (size_t i = 0; i < all.size(); ++i) {
    Arena& a = all[i];
    OK(MPI_Comm_split(MPI_COMM_WORLD, colours[i], 0, &a.comm));
    if (a.comm == MPI_COMM_NULL) continue;
    OK(MPI_Comm_size(a.comm, &a.size));
    OK(MPI_Comm_rank(a.comm, &a.rank));
  }
  return all;
}

// With every rank, also the own one.
struct Messages {
  std::vector<std::vector<unsigned char>> out, in, expected;
  std::vector<MPI_Request> requests;

  Messages(const check::Program& world, int round) {
    constexpr int kLengths[] = {0, 3, 900, 9000, 70000};
    const auto pattern = [&](int from, int to) {
      return check::pattern(kLengths[(from + to + round) % std::size(kLengths)], check::mix(from, to, round));
    };
    const int me = world.rank(), size = world.size();
    requests.resize(2 * size);
    for (int peer = 0; peer < size; ++peer) {
      out.push_back(pattern(me, peer));
      expected.push_back(pattern(peer, me));
      in.emplace_back(expected.back().size());
      OK(MPI_Irecv(in[peer].data(), in[peer].size(), MPI_BYTE, peer, round, MPI_COMM_WORLD, &requests[peer]));
      OK(MPI_Isend(out[peer].data(), out[peer].size(), MPI_BYTE, peer, round, MPI_COMM_WORLD, &requests[size + peer]));
    }
  }
  void finish() {
    OK(MPI_Waitall(requests.size(), requests.data(), MPI_STATUSES_IGNORE));
    for (size_t peer = 0; peer < in.size(); ++peer)
      CHECK_EQ_IN(in[peer] == expected[peer], true, "the message of %zu bytes from %zu", in[peer].size(), peer);
  }
};

enum class Length { few, many };

Operation start(const Arena& a, int kind, Length length, bool blocking, unsigned seed) {
  const auto& [begin, name, each] = kKinds[kind % kKindsInAll];
  constexpr int kMany = 40000;
  const int count = length == Length::few ? 1 + seed % 60 : kMany / (each ? a.size : 1);
  Operation op;
  op.blocking = blocking;
  op.what = std::string(blocking ? "blocking " : "") + name + " of " + std::to_string(count) + " among " +
            std::to_string(a.size);
  begin(a, op, count, seed % a.size, seed);
  return op;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  std::vector<Arena> places = arenas(world, argc > 1 ? std::atoi(argv[1]) : SIZE_MAX);
  std::mt19937 order(world.rank());
  for (int round = 0; round < kKindsInAll; ++round) {
    Messages messages(world, round);
    std::vector<Operation> under_way;
    // Each kind in each form everywhere, after as many rounds as there are kinds; next to each other others.
    const auto all_start = [&](Length length, bool blocking, int ahead) {
      for (size_t i = 0; i < places.size(); ++i) {
        if (places[i].comm == MPI_COMM_NULL) continue;
        Operation op =
            start(places[i], round + static_cast<int>(i) + ahead, length, blocking, check::mix(round, i, ahead));
        blocking ? finish(op) : under_way.push_back(std::move(op));
      }
    };
    all_start(Length::many, false, 0);
    all_start(Length::few, false, 5);
    all_start(Length::few, true, 9);
    all_start(Length::many, true, 13);
    std::shuffle(under_way.begin(), under_way.end(), order);
    for (Operation& op : under_way) finish(op);
    messages.finish();
  }
  for (Arena& a : places)
    if (a.comm != MPI_COMM_NULL) OK(MPI_Comm_free(&a.comm));
}
