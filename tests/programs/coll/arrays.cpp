// SPDX-License-Identifier: BSD-3-Clause
// The arrays of counts, displacements and types of persistent and nonblocking collectives, and the
// types themselves, are the program's again when the call has returned: they are overwritten and
// freed before anything can have been carried. The standard asks a program to leave the arrays
// alone until then (6.12, 6.13); many do not, and other MPIs bear with it. With an argument it leaves them
// alone, as --check=strict wants it. NOT_OPENMPI: 4.1 has no MPI_X_init.
#include <memory>

#include "check.hpp"

namespace {

int rank, size;
bool leaves_alone;
std::vector<std::shared_ptr<const void>> left_alone;

// An array that is worth nothing after the call.
template <class T>
class Passing {
 public:
  template <class Value>
  explicit Passing(Value&& value) : data_(new T[static_cast<size_t>(size)]) {
    for (int i = 0; i < size; ++i) data_[static_cast<size_t>(i)] = value(i);
  }
  ~Passing() {
    if (leaves_alone)
      left_alone.push_back(data_);
    else
      std::memset(static_cast<void*>(data_.get()), 0x5a, sizeof(T) * static_cast<size_t>(size));
  }
  operator const T*() const { return data_.get(); }

 private:
  const std::shared_ptr<T[]> data_;
};

MPI_Datatype made_type() {
  MPI_Datatype type;
  OK(MPI_Type_contiguous(1, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  return type;
}

// Rank a has a + b + 1 ints for rank b, or as many as b has where all are given the same.
int count(int a, int b) {
  return (a + b) % 4;
}
int one(int a) {
  return a % 3 + 1;
}
int before(int a, int b) {  // in a's row
  int sum = 0;
  for (int i = 0; i < b; ++i) sum += count(a, i);
  return sum;
}
int ones(int a) {
  int sum = 0;
  for (int i = 0; i < a; ++i) sum += one(i);
  return sum;
}
int value(int a, int b, int i, int round) {
  return 10'000 * a + 100 * b + i + 1'000'000 * round;
}

enum What { gatherv, scatterv, allgatherv, alltoallv, alltoallw, reduce_scatter, kWhats };
const char* const kNames[] = {"gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw", "reduce_scatter"};

// Of `Int` and `Place` they are int and int, or MPI_Count and MPI_Aint. `made`: the types are
// derived ones, freed at once.
template <class Int, class Place>
void begin(What what, bool persistent, bool made, int* in, int* out, MPI_Comm comm, MPI_Request* request) {
  constexpr bool large = sizeof(Int) == 8;
  MPI_Datatype type = made ? made_type() : MPI_INT;
  const int root = size - 1, n = one(rank);
  const Passing<Int> each(one), there([](int i) { return count(rank, i); }), here([](int i) { return count(i, rank); });
  const Passing<Place> at_each(ones), at_there([](int i) { return before(rank, i); });
  const Passing<Place> at_here([](int i) { return before(rank, i); });  // count() is symmetric
  const Passing<Place> bytes_there([](int i) { return 4 * before(rank, i); });
  const Passing<Place> bytes_here([](int i) { return 4 * before(rank, i); });
  const Passing<MPI_Datatype> types([&](int) { return type; });
#define BEGIN(name, ...)                                                    \
  do {                                                                      \
    if constexpr (large) {                                                  \
      if (persistent)                                                       \
        OK(MPI_##name##_init_c(__VA_ARGS__, comm, MPI_INFO_NULL, request)); \
      else                                                                  \
        OK(MPI_I##name##_of_c(__VA_ARGS__, comm, request));                 \
    } else {                                                                \
      if (persistent)                                                       \
        OK(MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, request));   \
      else                                                                  \
        OK(MPI_I##name##_of(__VA_ARGS__, comm, request));                   \
    }                                                                       \
  } while (false)
#define MPI_IGatherv_of MPI_Igatherv
#define MPI_IGatherv_of_c MPI_Igatherv_c
#define MPI_IScatterv_of MPI_Iscatterv
#define MPI_IScatterv_of_c MPI_Iscatterv_c
#define MPI_IAllgatherv_of MPI_Iallgatherv
#define MPI_IAllgatherv_of_c MPI_Iallgatherv_c
#define MPI_IAlltoallv_of MPI_Ialltoallv
#define MPI_IAlltoallv_of_c MPI_Ialltoallv_c
#define MPI_IAlltoallw_of MPI_Ialltoallw
#define MPI_IAlltoallw_of_c MPI_Ialltoallw_c
#define MPI_IReduce_scatter_of MPI_Ireduce_scatter
#define MPI_IReduce_scatter_of_c MPI_Ireduce_scatter_c
  switch (what) {
    case gatherv:
      BEGIN(Gatherv, in, n, type, out, each, at_each, type, root);
      break;
    case scatterv:
      BEGIN(Scatterv, in, each, at_each, type, out, n, type, root);
      break;
    case allgatherv:
      BEGIN(Allgatherv, in, n, type, out, each, at_each, type);
      break;
    case alltoallv:
      BEGIN(Alltoallv, in, there, at_there, type, out, here, at_here, type);
      break;
    case alltoallw:
      BEGIN(Alltoallw, in, there, bytes_there, types, out, here, bytes_here, types);
      break;
    case reduce_scatter:
      BEGIN(Reduce_scatter, in, out, each, MPI_INT, MPI_SUM);
      break;
    case kWhats:
      break;
  }
  if (made) OK(MPI_Type_free(&type));
}

struct Data {
  std::vector<int> in, out, expected;
};

Data data_of(What what, int round) {
  Data data;
  const int root = size - 1;
  const auto mine = [&](int from, int n) {
    for (int i = 0; i < n; ++i) data.in.push_back(value(rank, from, i, round));
  };
  const auto want = [&](int from, int to, int n) {
    for (int i = 0; i < n; ++i) data.expected.push_back(value(from, to, i, round));
  };
  switch (what) {
    case gatherv:
    case allgatherv:
      mine(0, one(rank));
      if (what == allgatherv || rank == root)
        for (int r = 0; r < size; ++r) want(r, 0, one(r));
      break;
    case scatterv:
      if (rank == root)
        for (int r = 0; r < size; ++r) mine(r, one(r));
      want(root, rank, one(rank));
      break;
    case alltoallv:
    case alltoallw:
      for (int r = 0; r < size; ++r) {
        mine(r, count(rank, r));
        want(r, rank, count(r, rank));
      }
      break;
    case reduce_scatter:
      for (int i = 0; i < ones(size); ++i) data.in.push_back(value(rank, 0, i, round));
      for (int i = 0; i < one(rank); ++i) {
        int sum = 0;
        for (int r = 0; r < size; ++r) sum += value(r, 0, ones(rank) + i, round);
        data.expected.push_back(sum);
      }
      break;
    case kWhats:
      break;
  }
  data.out.assign(data.expected.size() + 1, -1);
  data.in.push_back(-1);
  return data;
}

void judge(const Data& data, What what, int round) {
  for (size_t i = 0; i < data.expected.size(); ++i)
    CHECK_EQ_IN(data.out[i], data.expected[i], "%s, round %d, int %zu", kNames[what], round, i);
  CHECK_EQ(data.out.back(), -1);
}

// The late rank comes when all others have made the call and overwritten their arrays.
void wait_for_others(int late) {
  int nothing = 0;
  if (rank != late) {
    OK(MPI_Send(&nothing, 1, MPI_INT, late, 77, MPI_COMM_WORLD));
    return;
  }
  for (int r = 0; r < size; ++r)
    if (r != late) OK(MPI_Recv(&nothing, 1, MPI_INT, r, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

template <class Int, class Place>
void persistent(What what, bool made, MPI_Comm comm) {
  Data data = data_of(what, 0);
  MPI_Request request;
  begin<Int, Place>(what, true, made, data.in.data(), data.out.data(), comm, &request);
  for (int round = 0; round < 5; ++round) {
    const Data now = data_of(what, round);
    data.expected = now.expected;
    std::ranges::copy(now.in, data.in.begin());
    std::ranges::copy(now.out, data.out.begin());
    const int late = round % 2 ? 0 : size - 1;
    if (rank == late) wait_for_others(late);
    OK(MPI_Start(&request));
    if (rank != late) wait_for_others(late);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    judge(data, what, round);
  }
  OK(MPI_Request_free(&request));
}

template <class Int, class Place>
void nonblocking(What what, bool made, MPI_Comm comm) {
  for (int round = 0; round < 5; ++round) {
    Data first = data_of(what, round), second = data_of(what, round + 10);
    MPI_Request requests[2];
    const int late = round % 2 ? 0 : size - 1;
    if (rank == late) wait_for_others(late);
    begin<Int, Place>(what, false, made, first.in.data(), first.out.data(), comm, &requests[0]);
    begin<Int, Place>(what, false, made, second.in.data(), second.out.data(), comm, &requests[1]);
    if (rank != late) wait_for_others(late);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    judge(first, what, round);
    judge(second, what, round);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  rank = mpi.rank();
  size = mpi.size();
  leaves_alone = argc > 1;
  for (int what = 0; what < kWhats; ++what)
    for (const bool made : {false, true}) {
      nonblocking<int, int>(static_cast<What>(what), made, MPI_COMM_WORLD);
      nonblocking<MPI_Count, MPI_Aint>(static_cast<What>(what), made, MPI_COMM_WORLD);
      persistent<int, int>(static_cast<What>(what), made, MPI_COMM_WORLD);
      persistent<MPI_Count, MPI_Aint>(static_cast<What>(what), made, MPI_COMM_WORLD);
    }
}
