// SPDX-License-Identifier: BSD-3-Clause
// Windows of long messages one way between ever other ranks, so that pairs begin and end to stream all
// the time, more of them at once than a node has large rings for: senders that stay, and some that go
// away meanwhile, receivers that are early and late.
#include <thread>

#include "check.hpp"

namespace {

// What one rank sends to another in a round: nothing, or some messages.
struct Window {
  Window(int from, int to, int round) : seed(check::mix(check::mix(from, to), round, 5)) {
    if (from != to && seed % 3 == 0) messages = 1 + static_cast<int>(seed / 4 % 6);
  }
  int length(int i) const {
    static constexpr int kLengths[] = {3000, 33000, 40000, 70000, 262144, 300001, 700000};
    return kLengths[check::mix(seed, i) % 7];
  }
  std::vector<unsigned char> data(int i) const { return check::pattern(length(i), check::mix(seed, i, 9)); }
  unsigned seed;
  int messages = 0;
};

struct Round {
  std::vector<std::vector<unsigned char>> in, out, expected;
  std::vector<MPI_Request> requests;
};

void post(Round& round, const Window& window, int from) {
  for (int i = 0; i < window.messages; ++i) {
    round.expected.push_back(window.data(i));
    round.in.emplace_back(window.length(i));
    round.requests.emplace_back();
    OK(MPI_Irecv(round.in.back().data(), window.length(i), MPI_BYTE, from, i, MPI_COMM_WORLD, &round.requests.back()));
  }
}

void send(Round& round, const Window& window, int to) {
  for (int i = 0; i < window.messages; ++i) {
    round.out.push_back(window.data(i));
    round.requests.emplace_back();
    OK(MPI_Isend(round.out.back().data(), window.length(i), MPI_BYTE, to, i, MPI_COMM_WORLD, &round.requests.back()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int me = world.rank(), rounds = std::min(40, 320 / world.size());
  for (int number = 0; number < rounds; ++number) {
    Round round;
    const unsigned chance = check::mix(me, number, 1);
    const auto each_peer = [&](auto&& visit) {
      for (int peer = 0; peer < world.size(); ++peer) visit(peer);
    };
    const auto post_all = [&] { each_peer([&](int from) { post(round, Window(from, me, number), from); }); };
    if (chance % 2) post_all();
    each_peer([&](int to) { send(round, Window(me, to, number), to); });
    if (chance % 2 == 0) post_all();
    if (chance % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(chance % 7));
    OK(MPI_Waitall(static_cast<int>(round.requests.size()), round.requests.data(), MPI_STATUSES_IGNORE));
    for (size_t i = 0; i < round.in.size(); ++i) {
      const auto wrong = std::ranges::mismatch(round.in[i], round.expected[i]).in1;
      CHECK_EQ_IN(wrong - round.in[i].begin(), round.in[i].size(), "message %zu of round %d", i, number);
    }
  }
}
