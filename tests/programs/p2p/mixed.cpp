// SPDX-License-Identifier: BSD-3-Clause
// Blocking receives among everything that they must queue behind or look past: receives posted
// before them, wildcards, probes, messages that came unexpected, synchronous sends, gaps, messages
// longer than the buffer. Whatever way each message takes, those that match alike keep their order.
#include "check.hpp"

namespace {

constexpr int kMessages = 1500, kTags = 3;
constexpr size_t kRoom = 12000;  // ints

struct Message {
  Message(int from, int i) : seed(check::mix(from, i)) {
    static const size_t lengths[] = {1, 2, 1, 8, 300, 1, 1500, 0, 1, kRoom};
    ints = lengths[seed % 10];
    tag = static_cast<int>(seed / 16 % kTags);
    synchronous = seed / 64 % 8 == 0;
    waits = seed / 512 % 4 == 0;
  }
  unsigned seed;
  size_t ints;
  int tag;
  bool synchronous, waits;
};

void send_all(int to, int me) {
  std::vector<std::vector<unsigned>> data;
  std::vector<MPI_Request> requests;
  for (int i = 0; i < kMessages; ++i) {
    const Message m(me, i);
    data.emplace_back(m.ints, m.seed);
    const int count = static_cast<int>(m.ints);
    MPI_Request request;
    OK((m.synchronous ? MPI_Issend : MPI_Isend)(data.back().data(), count, MPI_UNSIGNED, to, m.tag, MPI_COMM_WORLD,
                                                &request));
    requests.push_back(request);
    // Now and then the receiver sees each message as it comes, not a heap of them.
    int flag;
    for (int looks = m.waits ? 50 : 0; looks > 0; --looks) OK(MPI_Test(&requests.back(), &flag, MPI_STATUS_IGNORE));
  }
  OK(MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE));
}

class Receiver {
 public:
  explicit Receiver(int from) : from_(from), into_(kRoom) {
    for (int i = 0; i < kMessages; ++i) by_tag_[Message(from, i).tag].push_back(i);
  }
  void run() {
    while (left() > 0) {
      const unsigned choice = check::mix(77, from_, ++turn_);
      const int tag = static_cast<int>(choice % kTags);
      if (next_[tag] == by_tag_[tag].size()) continue;
      switch (choice / 8 % 8) {
          // clang-format off
        case 0: receive(MPI_ANY_SOURCE, tag, tag); break;
        case 1: posted_first(tag); break;
        case 2: probed(tag); break;
        case 3: with_gaps(tag); break;
        case 4: too_long(tag); break;
        default: receive(from_, tag, tag);
          // clang-format on
      }
    }
  }

 private:
  size_t left() const {
    size_t sum = 0;
    for (int t = 0; t < kTags; ++t) sum += by_tag_[t].size() - next_[t];
    return sum;
  }
  Message take(int tag) { return Message(from_, by_tag_[tag][next_[tag]++]); }
  void verify(const Message& m, const unsigned* data, size_t stride, const MPI_Status& status) {
    int count = -1;
    OK(MPI_Get_count(&status, MPI_UNSIGNED, &count));
    CHECK_EQ_IN(count, m.ints, "turn %d", turn_);
    CHECK_EQ(status.MPI_SOURCE, from_);
    CHECK_EQ(status.MPI_TAG, m.tag);
    for (size_t i = 0; i < m.ints; ++i) CHECK_EQ_IN(data[i * stride], m.seed, "turn %d", turn_);
  }
  void receive(int source, int wanted, int tag) {
    MPI_Status status;
    OK(MPI_Recv(into_.data(), kRoom, MPI_UNSIGNED, source, wanted, MPI_COMM_WORLD, &status));
    verify(take(tag), into_.data(), 1, status);
  }
  // A receive posted before takes the earlier message, with or without a wildcard.
  void posted_first(int tag) {
    if (by_tag_[tag].size() - next_[tag] < 2) return receive(from_, tag, tag);
    std::vector<unsigned> first(kRoom);
    MPI_Request request;
    OK(MPI_Irecv(first.data(), kRoom, MPI_UNSIGNED, turn_ % 2 ? from_ : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request));
    const Message m = take(tag);
    receive(from_, tag, tag);
    MPI_Status status;
    OK(MPI_Wait(&request, &status));
    verify(m, first.data(), 1, status);
  }
  void probed(int tag) {
    MPI_Status status;
    OK(MPI_Probe(from_, tag, MPI_COMM_WORLD, &status));
    int count = -1;
    OK(MPI_Get_count(&status, MPI_UNSIGNED, &count));
    CHECK_EQ(count, Message(from_, by_tag_[tag][next_[tag]]).ints);
    receive(from_, tag, tag);
  }
  void with_gaps(int tag) {
    MPI_Datatype every_other;
    OK(MPI_Type_vector(kRoom, 1, 2, MPI_UNSIGNED, &every_other));
    OK(MPI_Type_commit(&every_other));
    std::vector<unsigned> wide(kRoom * 2);
    MPI_Status status;
    OK(MPI_Recv(wide.data(), 1, every_other, from_, tag, MPI_COMM_WORLD, &status));
    verify(take(tag), wide.data(), 2, status);
    OK(MPI_Type_free(&every_other));
  }
  void too_long(int tag) {
    const size_t ints = Message(from_, by_tag_[tag][next_[tag]]).ints;
    if (ints == 0) return receive(from_, tag, tag);
    into_[ints - 1] = 4711;
    FAILS(
        MPI_Recv(into_.data(), static_cast<int>(ints - 1), MPI_UNSIGNED, from_, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        MPI_ERR_TRUNCATE);
    CHECK_EQ(into_[ints - 1], 4711u);
    take(tag);
  }

  const int from_;
  int turn_ = 0;
  std::vector<unsigned> into_;
  std::vector<int> by_tag_[kTags];
  size_t next_[kTags] = {};
};

// One after the other, so that nothing but the messages lies between the ranks.
void to_and_fro(int to, int from, int me) {
  for (int i = 0; i < 2000; ++i) {
    const unsigned out = check::mix(me, i);
    unsigned in = 0;
    if (me % 2 == 0) OK(MPI_Send(&out, 1, MPI_UNSIGNED, to, i % 5, MPI_COMM_WORLD));
    MPI_Status status;
    OK(MPI_Recv(&in, 1, MPI_UNSIGNED, from, i % 5, MPI_COMM_WORLD, &status));
    CHECK_EQ_IN(in, check::mix(from, i), "round %d", i);
    CHECK_EQ(status.MPI_SOURCE, from);
    CHECK_EQ(status.MPI_TAG, i % 5);
    if (me % 2 == 1) OK(MPI_Send(&out, 1, MPI_UNSIGNED, to, i % 5, MPI_COMM_WORLD));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int me = world.rank(), n = world.size();
  const int partner = me ^ 1;
  if (partner < n) {
    to_and_fro(partner, partner, me);
    for (int turn = 0; turn < 2; ++turn) {
      if (me % 2 == turn)
        send_all(partner, me);
      else
        Receiver(partner).run();
    }
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));                            // a wildcard is not for what follows
  if (n > 1) to_and_fro((me + 1) % n, (me + n - 1) % n, me);  // also of an odd number of ranks
}
