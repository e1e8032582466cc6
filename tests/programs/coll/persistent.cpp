// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives: each one's results over many starts with other data, started in another order
// by each rank, between blocking ones on the same communicator, completed with messages; a thousand of
// them at once, with more scratch than is kept; and errors, which are those of the communicator that they
// are on.
#include <algorithm>
#include <memory>
#include <numeric>

#include "check.hpp"

namespace {

constexpr int kRounds = 12;
int rank, size;

// What rank r puts into element i in a round.
int value(int r, int round, int i) {
  return 1000 * r + 31 * round + i;
}

// A collective with its data. fill() before a start, judge() after it is complete.
class Each {
 public:
  Each(const char* name, int in, int out) : name(name), in(in), out(out) {}
  virtual ~Each() = default;
  void fill(int round) {
    for (size_t i = 0; i < in.size(); ++i) in[i] = value(rank, round, static_cast<int>(i));
    std::fill(out.begin(), out.end(), -1);
  }
  virtual void init(MPI_Comm comm) = 0;
  virtual void judge(int round) const = 0;

  const char* name;
  std::vector<int> in, out;
  MPI_Request request = MPI_REQUEST_NULL;
};

// init: MPI_X_init(this, comm); expected: what out[i] is, or -1 for what stays.
template <class Init, class Expected>
class Simple final : public Each {
 public:
  Simple(const char* name, int in, int out, Init init, Expected expected)
      : Each(name, in, out), init_(init), wanted_(expected) {}
  void init(MPI_Comm comm) override { OK(init_(*this, comm)); }
  void judge(int round) const override {
    for (size_t i = 0; i < out.size(); ++i) CHECK_EQ(out[i], wanted_(round, static_cast<int>(i)));
  }

 private:
  Init init_;
  Expected wanted_;
};
template <class Init, class Expected>
std::unique_ptr<Each> each(const char* name, int in, int out, Init init, Expected expected) {
  return std::make_unique<Simple<Init, Expected>>(name, in, out, init, expected);
}

int sum_of(int first, int end, int round, int i) {
  int sum = 0;
  for (int r = first; r < end; ++r) sum += value(r, round, i);
  return sum;
}

constexpr int kCount = 3;
const MPI_Datatype kInt = MPI_INT;

std::vector<std::unique_ptr<Each>> all_of_them() {
  std::vector<std::unique_ptr<Each>> all;
  const int n = kCount, last = size - 1;
  static std::vector<int> counts, places, bytes;
  static std::vector<MPI_Datatype> types;
  counts.assign(static_cast<size_t>(size), kCount);
  types.assign(static_cast<size_t>(size), MPI_INT);
  for (int i = 0; i < size; ++i) {
    places.push_back(i * n);
    bytes.push_back(i * n * static_cast<int>(sizeof(int)));
  }
  const auto from_all = [=](int round, int i) { return value(i / n, round, i % n); };
  const auto my_part_of_all = [=](int round, int i) { return value(i / n, round, rank * n + i % n); };
  const auto at = [](int root, auto expected) {
    return [=](int round, int i) { return rank == root ? expected(round, i) : -1; };
  };
  // clang-format off
  all.push_back(each("barrier", 0, 0, [](Each& e, MPI_Comm c) { return MPI_Barrier_init(c, MPI_INFO_NULL, &e.request); },
                     [](int, int) { return -1; }));
  all.push_back(each("gather", n, n * size, [=](Each& e, MPI_Comm c) {
    return MPI_Gather_init(e.in.data(), n, kInt, e.out.data(), n, kInt, last, c, MPI_INFO_NULL, &e.request);
  }, at(last, from_all)));
  all.push_back(each("gatherv", n, n * size, [=](Each& e, MPI_Comm c) {
    return MPI_Gatherv_init(e.in.data(), n, kInt, e.out.data(), counts.data(), places.data(), kInt, 0, c, MPI_INFO_NULL,
                            &e.request);
  }, at(0, from_all)));
  all.push_back(each("scatter", n * size, n, [=](Each& e, MPI_Comm c) {
    return MPI_Scatter_init(e.in.data(), n, kInt, e.out.data(), n, kInt, last, c, MPI_INFO_NULL, &e.request);
  }, [=](int round, int i) { return value(last, round, rank * n + i); }));
  all.push_back(each("scatterv", n * size, n, [=](Each& e, MPI_Comm c) {
    return MPI_Scatterv_init(e.in.data(), counts.data(), places.data(), kInt, e.out.data(), n, kInt, 0, c,
                             MPI_INFO_NULL, &e.request);
  }, [=](int round, int i) { return value(0, round, rank * n + i); }));
  all.push_back(each("allgather", n, n * size, [=](Each& e, MPI_Comm c) {
    return MPI_Allgather_init(e.in.data(), n, kInt, e.out.data(), n, kInt, c, MPI_INFO_NULL, &e.request);
  }, from_all));
  all.push_back(each("allgatherv", n, n * size, [=](Each& e, MPI_Comm c) {
    return MPI_Allgatherv_init(e.in.data(), n, kInt, e.out.data(), counts.data(), places.data(), kInt, c, MPI_INFO_NULL,
                               &e.request);
  }, from_all));
  all.push_back(each("alltoall", n * size, n * size, [=](Each& e, MPI_Comm c) {
    return MPI_Alltoall_init(e.in.data(), n, kInt, e.out.data(), n, kInt, c, MPI_INFO_NULL, &e.request);
  }, my_part_of_all));
  all.push_back(each("alltoallv", n * size, n * size, [=](Each& e, MPI_Comm c) {
    return MPI_Alltoallv_init(e.in.data(), counts.data(), places.data(), kInt, e.out.data(), counts.data(),
                              places.data(), kInt, c, MPI_INFO_NULL, &e.request);
  }, my_part_of_all));
  all.push_back(each("alltoallw", n * size, n * size, [=](Each& e, MPI_Comm c) {
    return MPI_Alltoallw_init(e.in.data(), counts.data(), bytes.data(), types.data(), e.out.data(), counts.data(),
                              bytes.data(), types.data(), c, MPI_INFO_NULL, &e.request);
  }, my_part_of_all));
  all.push_back(each("reduce", n, n, [=](Each& e, MPI_Comm c) {
    return MPI_Reduce_init(e.in.data(), e.out.data(), n, kInt, MPI_SUM, last, c, MPI_INFO_NULL, &e.request);
  }, at(last, [](int round, int i) { return sum_of(0, size, round, i); })));
  all.push_back(each("allreduce", n, n, [=](Each& e, MPI_Comm c) {
    return MPI_Allreduce_init_c(e.in.data(), e.out.data(), n, kInt, MPI_SUM, c, MPI_INFO_NULL, &e.request);
  }, [](int round, int i) { return sum_of(0, size, round, i); }));
  all.push_back(each("reduce_scatter", n * size, n, [=](Each& e, MPI_Comm c) {
    return MPI_Reduce_scatter_init(e.in.data(), e.out.data(), counts.data(), kInt, MPI_SUM, c, MPI_INFO_NULL,
                                   &e.request);
  }, [=](int round, int i) { return sum_of(0, size, round, rank * n + i); }));
  all.push_back(each("reduce_scatter_block", n * size, n, [=](Each& e, MPI_Comm c) {
    return MPI_Reduce_scatter_block_init(e.in.data(), e.out.data(), n, kInt, MPI_SUM, c, MPI_INFO_NULL, &e.request);
  }, [=](int round, int i) { return sum_of(0, size, round, rank * n + i); }));
  all.push_back(each("scan", n, n, [=](Each& e, MPI_Comm c) {
    return MPI_Scan_init(e.in.data(), e.out.data(), n, kInt, MPI_SUM, c, MPI_INFO_NULL, &e.request);
  }, [](int round, int i) { return sum_of(0, rank + 1, round, i); }));
  all.push_back(each("exscan", n, n, [=](Each& e, MPI_Comm c) {
    return MPI_Exscan_init(e.in.data(), e.out.data(), n, kInt, MPI_SUM, c, MPI_INFO_NULL, &e.request);
  }, [](int round, int i) { return rank == 0 ? -1 : sum_of(0, rank, round, i); }));
  // clang-format on
  return all;
}

void starts_in_any_order() {
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  auto all = all_of_them();
  for (auto& each : all) each->init(comm);
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int round = 0; round < kRounds; ++round) {
    std::rotate(order.begin(), order.begin() + (rank + round) % static_cast<int>(order.size()), order.end());
    int out = value(rank, round, 0), in = -1, sum = -1;
    std::vector<MPI_Request> requests(2);
    OK(MPI_Irecv(&in, 1, MPI_INT, from, round, comm, &requests[0]));
    for (size_t i : order) {
      all[i]->fill(round);
      OK(MPI_Start(&all[i]->request));
      requests.push_back(all[i]->request);
    }
    OK(MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, sum_of(0, size, round, 0));
    OK(MPI_Isend(&out, 1, MPI_INT, to, round, comm, &requests[1]));
    OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    CHECK_EQ(in, value(from, round, 0));
    for (auto& each : all) each->judge(round);
  }
  // The communicator may be freed before them.
  OK(MPI_Comm_free(&comm));
  std::vector<MPI_Request> requests;
  for (auto& each : all) {
    each->fill(kRounds);
    requests.push_back(each->request);
  }
  OK(MPI_Startall(static_cast<int>(requests.size()), requests.data()));
  OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  for (auto& each : all) {
    each->judge(kRounds);
    OK(MPI_Request_free(&each->request));
  }
}

// The buffer of a broadcast and MPI_IN_PLACE; long ones; the type and the operation are freed before.
void add_up(void* a, void* b, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) static_cast<int*>(b)[i] += static_cast<int*>(a)[i];
}
void buffers() {
  constexpr int kLong = 100'000;
  std::vector<int> spread(kLong), sums(kLong);
  MPI_Request bcast, allreduce;
  MPI_Datatype ten;
  MPI_Op op;
  OK(MPI_Type_contiguous(10, MPI_INT, &ten));
  OK(MPI_Type_commit(&ten));
  OK(MPI_Op_create(add_up, 1, &op));
  OK(MPI_Bcast_init(spread.data(), kLong / 10, ten, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &bcast));
  OK(MPI_Allreduce_init(MPI_IN_PLACE, sums.data(), kLong, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &allreduce));
  OK(MPI_Type_free(&ten));
  OK(MPI_Op_free(&op));
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kLong; ++i) {
      spread[i] = rank == size - 1 ? value(rank, round, i) : -1;
      sums[i] = value(rank, round, i);
    }
    OK(MPI_Start(&allreduce));
    OK(MPI_Start(&bcast));
    OK(MPI_Wait(&bcast, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&allreduce, MPI_STATUS_IGNORE));
    for (int i = 0; i < kLong; ++i) {
      CHECK_EQ(spread[i], value(size - 1, round, i));
      CHECK_EQ(sums[i], sum_of(0, size, round, i));
    }
  }
  OK(MPI_Request_free(&bcast));
  OK(MPI_Request_free(&allreduce));
}

// Made and freed in a loop: nothing runs out.
void many() {
  for (int i = 0; i < 2000; ++i) {
    MPI_Request request;
    OK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    if (i % 100 == 0) {
      OK(MPI_Start(&request));
      FAILS(MPI_Request_free(&request), MPI_ERR_REQUEST);
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    OK(MPI_Request_free(&request));
  }
}

// A thousand at once on one communicator, all under way together, which each rank starts in an order of its
// own. Some are so long that what they need between two starts is not kept for all of them.
void crowd() {
  constexpr int kAll = 1000, kLong = 65536;
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  std::vector<std::vector<int>> in(kAll), out(kAll);
  std::vector<MPI_Request> requests(kAll);
  const auto length = [](int i) { return static_cast<size_t>(i % 25 == 4 ? kLong : 1 + i % 7); };
  for (int i = 0; i < kAll; ++i) {
    const int count = static_cast<int>(length(i));
    in[i].resize(length(i));
    out[i].resize(length(i) * (i % 3 == 2 ? size : 1));
    if (i % 3 == 0)
      OK(MPI_Allreduce_init(in[i].data(), out[i].data(), count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[i]));
    else if (i % 3 == 1)
      OK(MPI_Bcast_init(out[i].data(), count, MPI_INT, i % size, comm, MPI_INFO_NULL, &requests[i]));
    else
      OK(MPI_Allgather_init(in[i].data(), count, MPI_INT, out[i].data(), count, MPI_INT, comm, MPI_INFO_NULL,
                            &requests[i]));
  }
  std::vector<int> order(kAll);
  std::iota(order.begin(), order.end(), 0);
  for (int round = 0; round < 3; ++round) {
    std::rotate(order.begin(), order.begin() + (rank * 97 + round * 31 + 1) % kAll, order.end());
    if (rank % 2) std::reverse(order.begin(), order.end());
    for (const int i : order) {
      for (size_t k = 0; k < length(i); ++k) in[i][k] = value(rank, round, i + static_cast<int>(k));
      std::fill(out[i].begin(), out[i].end(), -1);
      if (i % 3 == 1 && i % size == rank) out[i] = in[i];
      OK(MPI_Start(&requests[i]));
    }
    OK(MPI_Waitall(kAll, requests.data(), MPI_STATUSES_IGNORE));
    for (int i = 0; i < kAll; ++i)
      for (size_t k = 0; k < out[i].size(); ++k) {
        const int at = i + static_cast<int>(k % length(i));
        const int expected = i % 3 == 0   ? sum_of(0, size, round, at)
                             : i % 3 == 1 ? value(i % size, round, at)
                                          : value(static_cast<int>(k / length(i)), round, at);
        CHECK_EQ_IN(out[i][k], expected, "collective %d, round %d, element %zu", i, round, k);
      }
  }
  // Half of them go, and the others are what they were.
  for (int i = 0; i < kAll; i += 2) OK(MPI_Request_free(&requests[i]));
  for (int i = 1; i < kAll; i += 6) {
    out[i].assign(length(i), rank == i % size ? i : -1);
    if (i % 3 == 1) OK(MPI_Start(&requests[i]));
  }
  for (int i = 1; i < kAll; i += 6) {
    if (i % 3 != 1) continue;
    OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    for (const int each : out[i]) CHECK_EQ(each, i);
  }
  for (int i = 1; i < kAll; i += 2) OK(MPI_Request_free(&requests[i]));
  OK(MPI_Comm_free(&comm));
}

// What a start meets is raised on the program's communicator, by the handler that it has then.
MPI_Comm raised_on = MPI_COMM_NULL;
int raised = 0;
void note(MPI_Comm* comm, int*, ...) {
  raised_on = *comm;
  ++raised;
}
void errors() {
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Request request;
  int one = 1, sum = 0;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
  OK(MPI_Comm_create_errhandler(note, &handler));
  OK(MPI_Comm_set_errhandler(comm, handler));
  OK(MPI_Start(&request));
  FAILS(MPI_Start(&request), MPI_ERR_REQUEST);
  CHECK_EQ(raised, 1);
  CHECK(raised_on == comm);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(sum, size);
  OK(MPI_Request_free(&request));
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  rank = world.rank(), size = world.size();
  starts_in_any_order();
  buffers();
  many();
  crowd();
  errors();
}
