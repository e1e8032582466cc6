// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication (the standard, chapter 4): other numbers of partitions on both sides, types with gaps,
// rounds that follow each other closely, several operations with one peer and tag, partitions that are readied
// one by one, as ranges, as lists and by several threads, what arrives before the others are ready, and what is
// refused.
#include <atomic>
#include <thread>

#include "check.hpp"

namespace {

int next_of(const check::Program& p) {
  return (p.rank() + 1) % p.size();
}
int before(const check::Program& p) {
  return (p.rank() + p.size() - 1) % p.size();
}

enum class How { one_by_one, backwards, range, list, threads };

void make_ready(How how, int partitions, MPI_Request request) {
  if (how == How::range) return void(MPI_Pready_range(0, partitions - 1, request));
  std::vector<int> order(static_cast<size_t>(partitions));
  std::iota(order.begin(), order.end(), 0);
  if (how == How::backwards) std::reverse(order.begin(), order.end());
  if (how == How::list) {
    std::rotate(order.begin(), order.begin() + partitions / 2, order.end());
    OK(MPI_Pready_list(partitions, order.data(), request));
    return;
  }
  if (how != How::threads) {
    for (const int i : order) OK(MPI_Pready(i, request));
    return;
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([=] {
      for (int i = t; i < partitions; i += 3) OK(MPI_Pready(i, request));
    });
  for (std::thread& thread : threads) thread.join();
}

// `all` ints, cut differently on both sides, in three rounds.
void exchange(const check::Program& program, How how, int all, int sent_in, int received_in) {
  std::vector<int> out(static_cast<size_t>(all)), in(static_cast<size_t>(all));
  MPI_Request requests[2];
  OK(MPI_Psend_init(out.data(), sent_in, all / sent_in, MPI_INT, next_of(program), 7, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &requests[0]));
  OK(MPI_Precv_init(in.data(), received_in, all / received_in, MPI_INT, before(program), 7, MPI_COMM_WORLD,
                    MPI_INFO_NULL, &requests[1]));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < all; ++i)
      out[static_cast<size_t>(i)] = static_cast<int>(
          check::mix(static_cast<unsigned>(program.rank()), static_cast<unsigned>(i), static_cast<unsigned>(round)));
    std::fill(in.begin(), in.end(), -1);
    if (round == 2) {
      OK(MPI_Start(&requests[0]));
      make_ready(how, sent_in, requests[0]);  // before the other side has begun
      OK(MPI_Start(&requests[1]));
    } else {
      OK(MPI_Startall(2, requests));
      make_ready(how, sent_in, requests[0]);
    }
    if (round == 1)
      for (int i = 0; i < received_in; ++i)
        for (int flag = 0; !flag;) {
          OK(MPI_Parrived(requests[1], i, &flag));
          if (!flag) continue;
          const int first = i * (all / received_in);
          CHECK_EQ(in[static_cast<size_t>(first)], static_cast<int>(check::mix(static_cast<unsigned>(before(program)),
                                                                               static_cast<unsigned>(first), 1u)));
        }
    MPI_Status statuses[2];
    OK(MPI_Waitall(2, requests, statuses));
    CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
    int count = -1;
    OK(MPI_Get_count(&statuses[1], MPI_INT, &count));
    CHECK_EQ(count, all);
    CHECK_EQ(statuses[1].MPI_SOURCE, before(program));
    CHECK_EQ(statuses[1].MPI_TAG, 7);
    for (int i = 0; i < all; ++i)
      CHECK_EQ_IN(in[static_cast<size_t>(i)],
                  static_cast<int>(check::mix(static_cast<unsigned>(before(program)), static_cast<unsigned>(i),
                                              static_cast<unsigned>(round))),
                  "element %d, round %d, %d by %d", i, round, sent_in, received_in);
    int flag = 0;
    OK(MPI_Parrived(requests[1], 0, &flag));  // inactive
    CHECK(flag);
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
}

// The receiver's type has gaps, and the sender's partitions end within its elements.
void with_gaps(const check::Program& program, int sent_in) {
  constexpr int kAll = 24;
  MPI_Datatype triples;
  OK(MPI_Type_vector(3, 1, 2, MPI_INT, &triples));
  MPI_Datatype resized;
  OK(MPI_Type_create_resized(triples, 0, 6 * sizeof(int), &resized));
  OK(MPI_Type_commit(&resized));
  std::vector<int> out(kAll), in(2 * kAll, -1);
  MPI_Request send, receive;
  OK(MPI_Psend_init(out.data(), sent_in, kAll / sent_in, MPI_INT, next_of(program), 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &send));
  OK(MPI_Precv_init(in.data(), 4, 2, resized, before(program), 1, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  OK(MPI_Type_free(&triples));
  OK(MPI_Type_free(&resized));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kAll; ++i) out[static_cast<size_t>(i)] = 1000 * program.rank() + 100 * round + i;
    OK(MPI_Start(&receive));
    OK(MPI_Start(&send));
    make_ready(How::backwards, sent_in, send);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2 * kAll; ++i)
      CHECK_EQ_IN(in[static_cast<size_t>(i)], i % 2 ? -1 : 1000 * before(program) + 100 * round + i / 2, "element %d",
                  i);
  }
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&receive));
}

// A partition arrives while the others are not ready: the sender waits for the answer to it.
void travels_when_ready(const check::Program& program) {
  if (program.size() < 2 || program.rank() > 1) return;
  const int other = 1 - program.rank();
  for (const int count : {1, 100'000}) {
    std::vector<int> data(static_cast<size_t>(2 * count), program.rank());
    int word = 0, flag = 0;
    MPI_Request request;
    if (program.rank() == 0) {
      OK(MPI_Psend_init(data.data(), 2, count, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
      OK(MPI_Start(&request));
      OK(MPI_Pready(1, request));
      OK(MPI_Recv(&word, 1, MPI_INT, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
      CHECK(!flag);
      OK(MPI_Pready(0, request));
    } else {
      OK(MPI_Precv_init(data.data(), 2, count, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
      OK(MPI_Start(&request));
      while (!flag) OK(MPI_Parrived(request, 1, &flag));
      for (int i = count; i < 2 * count; ++i) CHECK_EQ(data[static_cast<size_t>(i)], 0);
      OK(MPI_Parrived(request, 0, &flag));
      CHECK(!flag);
      OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
      CHECK(!flag);
      OK(MPI_Send(&word, 1, MPI_INT, other, 5, MPI_COMM_WORLD));
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
  }
}

// Same peer, same tag: the order of the calls that make them matches, whatever starts first; and messages with
// that tag are another matter.
void order(const check::Program& program) {
  int out[3] = {10, 20, 30}, in[3] = {}, plain_out = 99, plain_in = 0;
  MPI_Request sends[3], receives[3], plain;
  OK(MPI_Irecv(&plain_in, 1, MPI_INT, before(program), MPI_ANY_TAG, MPI_COMM_WORLD, &plain));
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Psend_init(&out[i], 1, 1, MPI_INT, next_of(program), 3, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]));
    OK(MPI_Precv_init(&in[i], 1, 1, MPI_INT, before(program), 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[i]));
  }
  for (const int i : {2, 0, 1}) {
    OK(MPI_Start(&sends[i]));
    OK(MPI_Pready(0, sends[i]));
  }
  for (const int i : {1, 2, 0}) OK(MPI_Start(&receives[i]));
  OK(MPI_Waitall(3, receives, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(3, sends, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 3; ++i) CHECK_EQ(in[i], out[i]);
  int flag = 1;
  OK(MPI_Test(&plain, &flag, MPI_STATUS_IGNORE));
  CHECK(!flag);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Send(&plain_out, 1, MPI_INT, next_of(program), 3, MPI_COMM_WORLD));
  OK(MPI_Wait(&plain, MPI_STATUS_IGNORE));
  CHECK_EQ(plain_in, 99);
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Request_free(&sends[i]));
    OK(MPI_Request_free(&receives[i]));
  }
}

void nobody_and_nothing(const check::Program& program) {
  int data[4] = {1, 2, 3, 4}, flag = 0;
  MPI_Request requests[2];
  OK(MPI_Psend_init(data, 2, 2, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(data, 2, 2, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  for (int round = 0; round < 2; ++round) {
    OK(MPI_Startall(2, requests));
    OK(MPI_Pready_range(0, 1, requests[0]));
    OK(MPI_Parrived(requests[1], 1, &flag));
    CHECK(flag);
    MPI_Status statuses[2];
    OK(MPI_Waitall(2, requests, statuses));
    CHECK_EQ(statuses[1].MPI_SOURCE, MPI_PROC_NULL);
  }
  for (MPI_Request& request : requests) OK(MPI_Request_free(&request));

  OK(MPI_Psend_init(data, 3, 0, MPI_INT, next_of(program), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(data, 2, 0, MPI_INT, before(program), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  OK(MPI_Startall(2, requests));
  OK(MPI_Pready_range(0, 2, requests[0]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (MPI_Request& request : requests) OK(MPI_Request_free(&request));
}

// No partitions at one side or both: an operation of no bytes, with nothing to be made ready.
void no_partitions(const check::Program& program) {
#ifndef OTHER_MPI
  int data[4] = {1, 2, 3, 4}, got[4] = {};
  for (const bool sends_none : {true, false})
    for (const bool receives_none : {true, false}) {
      MPI_Request requests[2];
      OK(MPI_Psend_init(data, sends_none ? 0 : 3, sends_none ? 1 : 0, MPI_INT, next_of(program), 5, MPI_COMM_WORLD,
                        MPI_INFO_NULL, &requests[0]));
      OK(MPI_Precv_init(got, receives_none ? 0 : 2, receives_none ? 1 : 0, MPI_INT, before(program), 5, MPI_COMM_WORLD,
                        MPI_INFO_NULL, &requests[1]));
      for (int round = 0; round < 3; ++round) {
        OK(MPI_Startall(2, requests));
        if (sends_none)
          OK(MPI_Pready_list(0, nullptr, requests[0]));
        else
          OK(MPI_Pready_range(0, 2, requests[0]));
        MPI_Status statuses[2];
        OK(MPI_Waitall(2, requests, statuses));
        int count = -1;
        OK(MPI_Get_count(&statuses[1], MPI_INT, &count));
        CHECK_EQ(count, 0);
        CHECK_EQ(got[0], 0);
      }
      if (sends_none) CHECK_EQ(check::error_class(MPI_Pready(0, requests[0])), MPI_ERR_ARG);
      for (MPI_Request& request : requests) OK(MPI_Request_free(&request));
    }
#endif
}

void refused(const check::Program& program) {
#ifndef OTHER_MPI
  int data[4] = {}, flag = 0;
  MPI_Request request = MPI_REQUEST_NULL, receive;
  const auto class_of = [](int code) { return check::error_class(code); };
  CHECK_EQ(class_of(MPI_Precv_init(data, 2, 2, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request)),
           MPI_ERR_RANK);
  CHECK_EQ(class_of(MPI_Precv_init(data, 2, 2, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request)),
           MPI_ERR_TAG);
  CHECK_EQ(class_of(MPI_Psend_init(data, -1, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request)), MPI_ERR_ARG);
  OK(MPI_Psend_init(data, 2, 2, MPI_INT, program.rank(), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  OK(MPI_Precv_init(data + 2, 1, 2, MPI_INT, program.rank(), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  CHECK_EQ(class_of(MPI_Pready(0, request)), MPI_ERR_REQUEST);  // inactive
  OK(MPI_Start(&request));
  CHECK_EQ(class_of(MPI_Pready(2, request)), MPI_ERR_ARG);
  CHECK_EQ(class_of(MPI_Pready(-1, request)), MPI_ERR_ARG);
  OK(MPI_Pready(1, request));
  CHECK_EQ(class_of(MPI_Pready(1, request)), MPI_ERR_ARG);  // again
  CHECK_EQ(class_of(MPI_Pready_range(0, 1, request)), MPI_ERR_ARG);
  CHECK_EQ(class_of(MPI_Pready(0, receive)), MPI_ERR_REQUEST);
  CHECK_EQ(class_of(MPI_Parrived(request, 0, &flag)), MPI_ERR_REQUEST);
  CHECK_EQ(class_of(MPI_Cancel(&request)), MPI_ERR_REQUEST);
  OK(MPI_Pready(0, request));
  // Twice as many bytes are sent as are expected.
  OK(MPI_Start(&receive));
  CHECK_EQ(class_of(MPI_Wait(&receive, MPI_STATUS_IGNORE)), MPI_ERR_TRUNCATE);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(data[2], 0);
  OK(MPI_Request_free(&request));
  OK(MPI_Request_free(&receive));
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const check::Program program(&argc, &argv, MPI_THREAD_MULTIPLE);
  for (const How how : {How::one_by_one, How::backwards, How::range, How::list, How::threads}) {
    exchange(program, how, 24, 1, 1);
    exchange(program, how, 24, 4, 4);
    exchange(program, how, 24, 3, 8);
    exchange(program, how, 24, 8, 3);
    exchange(program, how, 360'000, 9, 5);
  }
  exchange(program, How::range, 300'000, 1000, 10);
  for (const int partitions : {1, 4, 8, 12, 24}) with_gaps(program, partitions);
  travels_when_ready(program);
#ifndef OTHER_MPI
  int flag = 0;
  OK(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag));  // as of an inactive one
  CHECK(flag);
#endif
  order(program);
  nobody_and_nothing(program);
  no_partitions(program);
  refused(program);
}
