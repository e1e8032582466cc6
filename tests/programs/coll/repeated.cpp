// SPDX-License-Identifier: BSD-3-Clause
// The same blocking calls again and again with other buffers, between others that differ from them
// in one argument only: each has its own result, and its own errors.
#include "check.hpp"

namespace {

int me, n;

struct Turn {
  int round, count, root;
  double of(int rank, int i) const { return (rank + 1) * 3 + i + round * 7; }
};

std::vector<double> mine(const Turn& t, int blocks = 1) {
  std::vector<double> data(static_cast<size_t>(t.count * blocks));
  for (int i = 0; i < t.count * blocks; ++i) data[static_cast<size_t>(i)] = t.of(me, i);
  return data;
}
double folded(const Turn& t, int i, MPI_Op op) {
  double sum = t.of(0, i);
  for (int r = 1; r < n; ++r)
    sum = op == MPI_SUM ? sum + t.of(r, i) : op == MPI_MAX ? std::max(sum, t.of(r, i)) : std::min(sum, t.of(r, i));
  return sum;
}

void reductions(const Turn& t) {
  const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN};
  const MPI_Op op = ops[t.round % 3];
  const std::vector<double> in = mine(t);
  std::vector<double> out(in.size(), -1);
  if (t.round % 4 == 3) {
    out = in;
    OK(MPI_Allreduce(MPI_IN_PLACE, out.data(), t.count, MPI_DOUBLE, op, MPI_COMM_WORLD));
  } else {
    OK(MPI_Allreduce(in.data(), out.data(), t.count, MPI_DOUBLE, op, MPI_COMM_WORLD));
  }
  for (int i = 0; i < t.count; ++i)
    CHECK_EQ_IN(out[i], folded(t, i, op), "allreduce, round %d, element %d", t.round, i);

  std::vector<double> result(in.size(), -1);
  if (me == t.root && t.round % 4 == 2) {
    result = in;
    OK(MPI_Reduce(MPI_IN_PLACE, result.data(), t.count, MPI_DOUBLE, op, t.root, MPI_COMM_WORLD));
  } else {
    OK(MPI_Reduce(in.data(), me == t.root ? result.data() : nullptr, t.count, MPI_DOUBLE, op, t.root, MPI_COMM_WORLD));
  }
  for (int i = 0; i < t.count; ++i)
    CHECK_EQ_IN(result[i], me == t.root ? folded(t, i, op) : -1, "reduce, round %d", t.round);
}

void data(const Turn& t) {
  std::vector<double> whole(static_cast<size_t>(t.count), -1);
  for (int i = 0; me == t.root && i < t.count; ++i) whole[i] = t.of(t.root, i);
  OK(MPI_Bcast(whole.data(), t.count, MPI_DOUBLE, t.root, MPI_COMM_WORLD));
  for (int i = 0; i < t.count; ++i) CHECK_EQ_IN(whole[i], t.of(t.root, i), "bcast, round %d", t.round);

  const std::vector<double> one = mine(t), all = mine(t, n);
  std::vector<double> gathered(all.size(), -1);
  if (t.round % 4 == 1) {
    std::copy(one.begin(), one.end(), gathered.begin() + me * t.count);
    OK(MPI_Allgather(MPI_IN_PLACE, t.round, MPI_DATATYPE_NULL, gathered.data(), t.count, MPI_DOUBLE, MPI_COMM_WORLD));
  } else {
    OK(MPI_Allgather(one.data(), t.count, MPI_DOUBLE, gathered.data(), t.count, MPI_DOUBLE, MPI_COMM_WORLD));
  }
  for (int r = 0; r < n; ++r)
    for (int i = 0; i < t.count; ++i)
      CHECK_EQ_IN(gathered[r * t.count + i], t.of(r, i), "allgather, round %d", t.round);

  std::vector<double> turned(all.size(), -1);
  OK(MPI_Alltoall(all.data(), t.count, MPI_DOUBLE, turned.data(), t.count, MPI_DOUBLE, MPI_COMM_WORLD));
  for (int r = 0; r < n; ++r)
    for (int i = 0; i < t.count; ++i)
      CHECK_EQ_IN(turned[r * t.count + i], t.of(r, me * t.count + i), "alltoall, round %d", t.round);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

void append(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i)
    static_cast<double*>(inout)[i] = static_cast<double*>(in)[i] * 100 + static_cast<double*>(inout)[i];
}

// Types and operations that are gone when the next one of their kind takes their place.
void passing(int round) {
  MPI_Datatype pair;
  OK(MPI_Type_vector(2, 1, 1 + round % 3, MPI_INT, &pair));
  OK(MPI_Type_commit(&pair));
  int data[8] = {};
  if (me == 0) data[0] = round + 1, data[1 + round % 3] = round + 2;
  OK(MPI_Bcast(data, 1, pair, 0, MPI_COMM_WORLD));
  CHECK_EQ(data[0], round + 1);
  CHECK_EQ(data[1 + round % 3], round + 2);
  OK(MPI_Type_free(&pair));

  MPI_Op op;
  OK(MPI_Op_create(append, round % 2, &op));
  const double one = 1;
  double sum = 0;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, op, MPI_COMM_WORLD));
  CHECK(sum >= (n > 1 ? 101 : 1));
  OK(MPI_Op_free(&op));
}

// What was wrong stays wrong after a call that was right.
void mistakes() {
  double one = 1, two[64] = {};
  OK(MPI_Allreduce(&one, two, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  FAILS(MPI_Allreduce(&one, &one, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  FAILS(MPI_Allreduce(&one, MPI_IN_PLACE, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  FAILS(MPI_Allreduce(&one, two, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
  OK(MPI_Allgather(&one, 1, MPI_DOUBLE, two, 1, MPI_DOUBLE, MPI_COMM_WORLD));
  FAILS(MPI_Allgather(two, 1, MPI_DOUBLE, two, 1, MPI_DOUBLE, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  OK(MPI_Bcast(&one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
  FAILS(MPI_Bcast(MPI_IN_PLACE, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_EQ(one, 1.0);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  me = world.rank(), n = world.size();
  for (int round = 0; round < 300; ++round) {
    // Few shapes come back all the time, many others now and then.
    const unsigned chance = check::mix(5, round);
    const Turn turn{round, chance % 3 ? 1 : static_cast<int>(chance / 8 % 40),
                    chance / 512 % 4 ? 0 : static_cast<int>(chance / 4096 % n)};
    reductions(turn);
    data(turn);
    if (chance % 16 == 5) passing(round);
  }
#ifndef OTHER_MPI
  mistakes();
#endif
}
