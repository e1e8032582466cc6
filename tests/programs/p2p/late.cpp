// SPDX-License-Identifier: BSD-3-Clause
// Receives that are posted when their messages are there already, in all the ways to complete them;
// and long messages that come one after the other, from one neighbour and from both.
// NOT_OPENMPI: 4.1 writes behind a posted receive that is too short, and calls it success.
#include "check.hpp"

namespace {

int next, previous;
volatile int freed;  // of a receive whose request is freed

// Sends to the next rank: all are under way, or there, before anybody posts a receive.
class Sends {
 public:
  void start(const int* values, int count, int tag) {
    requests_.emplace_back();
    OK(MPI_Isend(values, count, MPI_INT, next, tag, MPI_COMM_WORLD, &requests_.back()));
  }
  void everybody_has() { OK(MPI_Barrier(MPI_COMM_WORLD)); }
  void complete() { OK(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE)); }

 private:
  std::vector<MPI_Request> requests_;
};

void expect(const MPI_Status& status, int tag, int count) {
  int got = -1, cancelled = -1;
  CHECK_EQ(status.MPI_SOURCE, previous);
  CHECK_EQ(status.MPI_TAG, tag);
  OK(MPI_Get_count(&status, MPI_INT, &got));
  CHECK_EQ(got, count);
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 0);
}

void all_at_once() {
  constexpr int kMessages = 40;
  int out[kMessages];
  std::iota(out, out + kMessages, check::world_rank * 100);
  Sends sends;
  for (int i = 0; i < kMessages; ++i) sends.start(out, i, i);
  sends.everybody_has();
  std::vector<std::vector<int>> rows(kMessages, std::vector<int>(kMessages, -1));
  MPI_Request requests[kMessages];
  MPI_Status statuses[kMessages];
  for (int i = 0; i < kMessages; ++i)
    OK(MPI_Irecv(rows[i].data(), kMessages, MPI_INT, previous, i, MPI_COMM_WORLD, &requests[i]));
  OK(MPI_Waitall(kMessages, requests, statuses));
  for (int i = 0; i < kMessages; ++i) {
    expect(statuses[i], i, i);
    for (int k = 0; k < kMessages; ++k) CHECK_EQ(rows[i][k], k < i ? previous * 100 + k : -1);
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
  sends.complete();
}

// The second first, then one that takes any, then what is too long, then what is left.
void one_by_one() {
  const int out[] = {11, 12, 13, 14};
  Sends sends;
  sends.start(out, 1, 1);
  sends.start(out + 1, 1, 2);
  sends.start(out, 4, 3);
  for (int tag = 4; tag <= 9; ++tag) sends.start(out + 3, 1, tag);
  sends.everybody_has();
  int in[4] = {}, flag = 0, index = -1;
  MPI_Status status;
  MPI_Request request, two[2];
  OK(MPI_Irecv(in, 1, MPI_INT, previous, 2, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, &status));
  expect(status, 2, 1);
  CHECK_EQ(in[0], 12);
  OK(MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, &status));
  expect(status, 1, 1);
  CHECK_EQ(in[0], 11);
  in[2] = 7;
  OK(MPI_Irecv(in, 2, MPI_INT, previous, 3, MPI_COMM_WORLD, &request));
  CHECK_EQ(check::error_class(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_TRUNCATE);
  CHECK_EQ(in[2], 7);

  OK(MPI_Irecv(in, 1, MPI_INT, previous, 4, MPI_COMM_WORLD, &request));
  while (!flag) OK(MPI_Test(&request, &flag, &status));
  expect(status, 4, 1);
  OK(MPI_Irecv(in, 1, MPI_INT, previous, 5, MPI_COMM_WORLD, &two[1]));
  two[0] = MPI_REQUEST_NULL;
  OK(MPI_Waitany(2, two, &index, &status));
  CHECK_EQ(index, 1);
  expect(status, 5, 1);
  OK(MPI_Irecv(in, 1, MPI_INT, previous, 6, MPI_COMM_WORLD, &request));
  for (flag = 0; !flag;) OK(MPI_Request_get_status(request, &flag, &status));
  expect(status, 6, 1);
  OK(MPI_Wait(&request, &status));
  OK(MPI_Irecv(in, 1, MPI_INT, previous, 7, MPI_COMM_WORLD, &request));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  if (flag) OK(MPI_Recv(in, 1, MPI_INT, previous, 7, MPI_COMM_WORLD, &status));
  expect(status, 7, 1);
  in[1] = 0;
  freed = 0;
  OK(MPI_Irecv(const_cast<int*>(&freed), 1, MPI_INT, previous, 8, MPI_COMM_WORLD, &request));
  OK(MPI_Request_free(&request));
  OK(MPI_Recv_init(in + 1, 1, MPI_INT, previous, 9, MPI_COMM_WORLD, &request));
  OK(MPI_Start(&request));
  OK(MPI_Wait(&request, &status));
  expect(status, 9, 1);
  CHECK_EQ(in[1], 14);
  OK(MPI_Request_free(&request));
  while (freed != 14) OK(MPI_Iprobe(previous, 10, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  sends.complete();
}

// `both`: to the previous rank as well. Early or late receives, of runs and of every other element.
void long_ones(int messages, int count, bool both, bool late, bool gaps) {
  MPI_Datatype type;
  OK(MPI_Type_vector(count, 1, gaps ? 2 : 1, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  const size_t room = static_cast<size_t>(count) * (gaps ? 2 : 1);
  const auto value = [](int from, int message, size_t i) {
    return from * 10000000 + message * 100000 + static_cast<int>(i % 99991);
  };
  const int peers[][2] = {{next, previous}, {previous, next}};
  std::vector<std::vector<int>> out, in;
  std::vector<MPI_Request> sends, receives;
  const auto post = [&] {
    for (int way = 0; way <= both; ++way)
      for (int m = 0; m < messages; ++m) {
        receives.emplace_back();
        OK(MPI_Irecv(in[static_cast<size_t>(way * messages + m)].data(), 1, type, peers[way][1], way * messages + m,
                     MPI_COMM_WORLD, &receives.back()));
      }
  };
  in.assign(static_cast<size_t>(2 * messages), std::vector<int>(room, -1));
  for (int m = 0; m < 2 * messages; ++m) {
    out.emplace_back(room);
    for (size_t i = 0; i < room; ++i) out.back()[i] = value(check::world_rank, m, i);
  }
  if (!late) post();
  for (int way = 0; way <= both; ++way)
    for (int m = way * messages; m < (way + 1) * messages; ++m) {
      sends.emplace_back();
      OK(MPI_Isend(out[static_cast<size_t>(m)].data(), 1, type, peers[way][0], m, MPI_COMM_WORLD, &sends.back()));
    }
  if (late) post();
  OK(MPI_Waitall(static_cast<int>(receives.size()), receives.data(), MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE));
  for (int way = 0; way <= both; ++way)
    for (int m = way * messages; m < (way + 1) * messages; ++m)
      for (size_t i = 0; i < room; ++i)
        CHECK_EQ(in[static_cast<size_t>(m)][i], gaps && i % 2 ? -1 : value(peers[way][1], m, i));
  OK(MPI_Type_free(&type));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Program program(&argc, &argv);
  next = (program.rank() + 1) % program.size();
  previous = (program.rank() + program.size() - 1) % program.size();
  for (int round = 0; round < 20; ++round) {
    all_at_once();
    one_by_one();
  }
  for (int round = 0; round < 2; ++round)
    for (const bool both : {false, true})
      for (const bool late : {false, true})
        for (const bool gaps : {false, true}) {
          // More than comes by itself, and no whole number of pieces.
          long_ones(7, 90001, both, late, gaps);
          long_ones(40, 9001, both, late, gaps);
        }
}
