// SPDX-License-Identifier: BSD-3-Clause
// Every pair of ranks, itself among them, exchanges short and long messages, so that all ways
// between ranks are open at once: several of each length, from nothing to megabytes, all on their
// way together.
#include "check.hpp"

namespace {

constexpr int kOfEach = 6;

// In bytes. What all ranks hold at once does not grow with them.
std::vector<int> lengths(int ranks) {
  const int longest = std::min(4 << 20, (8 << 20) / ranks);
  return {0, 1, 37, 512, 2049, 9000, 40000, std::min(200000, longest), longest};
}

unsigned seed(int from, int to, int length, int i) {
  return check::mix(check::mix(from, to), length, i);
}

using Bytes = std::vector<unsigned char>;

// To the rank `distance` above me, and from the one as far below.
void exchange(const check::Program& world, int distance, bool receives_first) {
  const int me = world.rank(), size = world.size();
  const int to = (me + distance) % size, from = (me + size - distance) % size;
  std::vector<Bytes> out, in, expected;
  for (const int length : lengths(size))
    for (int i = 0; i < (length > 50000 ? 1 : kOfEach); ++i) {
      out.push_back(check::pattern(length, seed(me, to, length, i)));
      expected.push_back(check::pattern(length, seed(from, me, length, i)));
      in.emplace_back(length + 1, 0xa5);
    }
  const int messages = static_cast<int>(out.size());
  std::vector<MPI_Request> sends(messages), receives(messages);
  std::vector<MPI_Status> statuses(messages);
  const auto post = [&] {
    for (int i = 0; i < messages; ++i)
      OK(MPI_Irecv(in[i].data(), static_cast<int>(in[i].size()), MPI_BYTE, from, 3, MPI_COMM_WORLD, &receives[i]));
  };
  if (receives_first) post();
  for (int i = 0; i < messages; ++i)
    OK(MPI_Isend(out[i].data(), static_cast<int>(out[i].size()), MPI_BYTE, to, 3, MPI_COMM_WORLD, &sends[i]));
  if (!receives_first) post();
  OK(MPI_Waitall(messages, receives.data(), statuses.data()));
  OK(MPI_Waitall(messages, sends.data(), MPI_STATUSES_IGNORE));
  for (int i = 0; i < messages; ++i) {
    int count = -1;
    OK(MPI_Get_count(&statuses[i], MPI_BYTE, &count));
    CHECK_EQ_IN(count, expected[i].size(), "message %d from %d", i, from);
    expected[i].push_back(0xa5);  // behind the message nothing has changed
    const auto wrong = std::mismatch(in[i].begin(), in[i].end(), expected[i].begin()).first;
    CHECK_EQ_IN(wrong - in[i].begin(), in[i].size(), "message %d from %d", i, from);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  for (int distance = 0; distance < world.size(); ++distance)
    for (const bool receives_first : {false, true}) exchange(world, distance, receives_first);
}
