// SPDX-License-Identifier: BSD-3-Clause
// Runs of short messages alike but for their lengths, which may travel together, among others that
// may not: other tags and communicators, synchronous ones, longer ones, answers in between; more at a
// time than any queue between two ranks holds. Each comes whole and in its order.
#include <utility>

#include "check.hpp"

namespace {

constexpr int kRounds = 60;

struct Run {
  Run(int from, int to, int round) : seed(check::mix(from, to, round)) {
    static const int lengths[] = {1, 2, 3, 7, 20, 64, 130, 200};
    messages = round % 20 == 19 ? 5000 : lengths[seed % 8];
    tag = static_cast<int>(seed / 8 % 2);
    kind = seed / 16 % 6;
    posted_first = seed / 128 % 2;
  }
  // Of message `i`: in bytes.
  int length(int i) const {
    const unsigned chance = check::mix(seed, i);
    switch (kind) {
        // clang-format off
      case 0: return 8;
      case 1: return static_cast<int>(chance % 10);
      case 2: return static_cast<int>(chance % 34);      // about half a line
      case 3: return static_cast<int>(20 + chance % 9);  // at the limit
      case 4: return chance % 16 ? 8 : 300;
      default: return 0;
        // clang-format on
    }
  }
  // In between the tag changes: for one message, or to and fro.
  int tag_of(int i) const { return kind == 1 && i % 11 == 10 ? 1 - tag : kind == 5 ? i % 2 : tag; }
  bool synchronous(int i) const { return kind == 2 && i % 13 == 12; }

  unsigned seed;
  int messages, tag;
  unsigned kind;
  bool posted_first;
};

unsigned char byte(const Run& run, int i, int k) {
  return static_cast<unsigned char>(check::mix(run.seed, i, 77) + static_cast<unsigned>(k));
}

class Traffic {
 public:
  Traffic(const Run& run, int peer, MPI_Comm comm) : run_(run), peer_(peer), comm_(comm) {
    for (int i = 0; i < run.messages; ++i) {
      at_.push_back(data_.size());
      data_.resize(data_.size() + static_cast<size_t>(run.length(i)));
    }
    data_.push_back(0);
    requests_.resize(static_cast<size_t>(run.messages), MPI_REQUEST_NULL);
  }
  void send() {
    for (int i = 0; i < run_.messages; ++i) {
      for (int k = 0; k < run_.length(i); ++k) into(i)[k] = byte(run_, i, k);
      OK((run_.synchronous(i) ? MPI_Issend : MPI_Isend)(into(i), run_.length(i), MPI_BYTE, peer_, run_.tag_of(i), comm_,
                                                        &requests_[i]));
    }
  }
  void post() {
    for (int i = 0; i < run_.messages; ++i)
      OK(MPI_Irecv(into(i), run_.length(i), MPI_BYTE, peer_, run_.tag_of(i), comm_, &requests_[i]));
  }
  void wait() {
    std::vector<MPI_Status> statuses(requests_.size());
    OK(MPI_Waitall(run_.messages, requests_.data(), statuses.data()));
    statuses_ = std::move(statuses);
  }
  void check() {
    for (int i = 0; i < run_.messages; ++i) {
      int count = -1;
      OK(MPI_Get_count(&statuses_[i], MPI_BYTE, &count));
      CHECK_EQ_IN(count, run_.length(i), "message %d", i);
      for (int k = 0; k < count; ++k) CHECK_EQ_IN(into(i)[k], byte(run_, i, k), "message %d", i);
    }
  }

 private:
  unsigned char* into(int i) { return data_.data() + at_[static_cast<size_t>(i)]; }
  const Run run_;
  const int peer_;
  const MPI_Comm comm_;
  std::vector<unsigned char> data_;
  std::vector<size_t> at_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
};

// To all others and from all others at once.
void everybody(const check::Program& world, int round, MPI_Comm comm) {
  std::vector<Traffic> out, in;
  std::vector<bool> first;
  for (int peer = 0; peer < world.size(); ++peer) {
    if (peer == world.rank()) continue;
    out.emplace_back(Run(world.rank(), peer, round), peer, comm);
    in.emplace_back(Run(peer, world.rank(), round), peer, comm);
    first.push_back(Run(peer, world.rank(), round).posted_first);
  }
  for (size_t i = 0; i < in.size(); ++i)
    if (first[i]) in[i].post();
  for (Traffic& each : out) each.send();
  for (size_t i = 0; i < in.size(); ++i)
    if (!first[i]) in[i].post();
  for (Traffic& each : in) each.wait();
  for (Traffic& each : out) each.wait();
  for (Traffic& each : in) each.check();
}

// One message at a time to the neighbour and back, in between a few that are not answered.
void to_and_fro(const check::Program& world, int round, MPI_Comm comm) {
  const int peer = world.rank() ^ 1;
  if (peer >= world.size()) return;
  for (int i = 0; i < 40; ++i) {
    const int several = i % 5 == 0 ? 1 + i % 7 : 1;
    for (int turn = 0; turn < 2; ++turn)
      for (int k = 0; k < several; ++k) {
        int64_t number = round * 1000 + i * 10 + k, got = -1;
        if ((world.rank() + turn) % 2) {
          OK(MPI_Send(&number, 1, MPI_INT64_T, peer, 0, comm));
        } else {
          OK(MPI_Recv(&got, 1, MPI_INT64_T, peer, 0, comm, MPI_STATUS_IGNORE));
          CHECK_EQ(got, number);
        }
      }
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  MPI_Comm other;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
  for (int round = 0; round < kRounds; ++round) {
    const MPI_Comm comm = round % 3 ? MPI_COMM_WORLD : other;
    everybody(world, round, comm);
    to_and_fro(world, round, comm);
  }
  OK(MPI_Comm_free(&other));
}
