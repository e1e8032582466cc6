// SPDX-License-Identifier: BSD-3-Clause
// Calls that are like earlier ones, in the v forms and the nonblocking ones: arrays that change
// where they are, others of the same values, several outstanding at once, completed in any order.
#include <array>
#include <numeric>

#include "check.hpp"

namespace {

int me, n;

double value(int round, int from, int to, int i) {
  return round * 1000 + from * 100 + to * 10 + i;
}

// The same arrays all the time; now and then they say something else.
struct Arrays {
  std::vector<int> counts, displs;
  int total = 0;
  void set(int shape) {
    counts.resize(n), displs.resize(n);
    total = 0;
    for (int r = 0; r < n; ++r) {
      counts[r] = shape == 0 ? 2 : (r + shape) % 4;
      displs[r] = total + (shape == 2);
      total = displs[r] + counts[r];
    }
  }
};

void check_blocks(const std::vector<double>& got, const Arrays& a, int round, int to, const char* what) {
  for (int r = 0; r < n; ++r)
    for (int i = 0; i < a.counts[r]; ++i)
      CHECK_EQ_IN(got[a.displs[r] + i], value(round, r, to, i), "%s, round %d, from %d", what, round, r);
}

std::vector<double> block(int round, int to, int count) {
  std::vector<double> data(count + 1);
  for (int i = 0; i < count; ++i) data[i] = value(round, me, to, i);
  return data;
}

void v_forms() {
  Arrays a, b;
  for (int round = 0; round < 120; ++round) {
    const int shape = round % 10 == 9 ? 1 + round / 10 % 2 : 0, root = round % 30 < 20 ? 0 : n - 1;
    Arrays& used = round % 7 == 3 ? b : a;  // other arrays of the same values are as good
    used.set(shape);
    const int mine = used.counts[me];
    std::vector<double> in = block(round, 0, mine), out(used.total + 1, -1);

    OK(MPI_Allgatherv(in.data(), mine, MPI_DOUBLE, out.data(), used.counts.data(), used.displs.data(), MPI_DOUBLE,
                      MPI_COMM_WORLD));
    check_blocks(out, used, round, 0, "allgatherv");

    std::fill(out.begin(), out.end(), -1);
    std::copy_n(in.begin(), mine, out.begin() + used.displs[me]);
    OK(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out.data(), used.counts.data(), used.displs.data(),
                      MPI_DOUBLE, MPI_COMM_WORLD));
    check_blocks(out, used, round, 0, "allgatherv in place");

    std::fill(out.begin(), out.end(), -1);
    OK(MPI_Gatherv(in.data(), mine, MPI_DOUBLE, me == root ? out.data() : nullptr,
                   me == root ? used.counts.data() : nullptr, me == root ? used.displs.data() : nullptr, MPI_DOUBLE,
                   root, MPI_COMM_WORLD));
    if (me == root) check_blocks(out, used, round, 0, "gatherv");
    std::vector<double> back(mine + 1, -1);
    OK(MPI_Scatterv(out.data(), used.counts.data(), used.displs.data(), MPI_DOUBLE, back.data(), mine, MPI_DOUBLE, root,
                    MPI_COMM_WORLD));
    for (int i = 0; i < mine; ++i) CHECK_EQ_IN(back[i], in[i], "scatterv, round %d", round);

    // What this rank sends each is as long as that one's block everywhere.
    std::vector<double> all(used.total + 1);
    for (int r = 0; r < n; ++r)
      for (int i = 0; i < used.counts[r]; ++i) all[used.displs[r] + i] = value(round, me, r, i);
    std::vector<int> equal(n, mine), places(n);
    for (int r = 0; r < n; ++r) places[r] = r * mine;
    std::vector<double> turned(mine * n + 1, -1);
    OK(MPI_Alltoallv(all.data(), used.counts.data(), used.displs.data(), MPI_DOUBLE, turned.data(), equal.data(),
                     places.data(), MPI_DOUBLE, MPI_COMM_WORLD));
    for (int r = 0; r < n; ++r)
      for (int i = 0; i < mine; ++i)
        CHECK_EQ_IN(turned[r * mine + i], value(round, r, me, i), "alltoallv, round %d", round);

    const int whole = std::accumulate(used.counts.begin(), used.counts.end(), 0);
    std::vector<double> vector(whole + 1), part(mine + 1, -1);
    for (int i = 0; i < whole; ++i) vector[i] = (me + 1) * (i + round);
    OK(MPI_Reduce_scatter(vector.data(), part.data(), used.counts.data(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    const int first = std::accumulate(used.counts.begin(), used.counts.begin() + me, 0);
    for (int i = 0; i < mine; ++i)
      CHECK_EQ_IN(part[i], n * (n + 1) / 2.0 * (first + i + round), "reduce_scatter, round %d", round);
  }
}

// The same counts and places all the time; now and then the types are others, by which a pair of ranks must
// go, and some of them the program's own, which it frees after the call. Blocking, in place, and some at once.
void w_forms() {
  constexpr int kCount = 3, kMost = 3;
  constexpr size_t kRoom = 2 * kCount * sizeof(double);  // of a block
  const MPI_Datatype kTypes[] = {MPI_INT, MPI_DOUBLE, MPI_FLOAT};
  // A pair's type; what is written is its first bytes, whatever they mean.
  const auto type = [&](int shape, int from, int to) { return kTypes[(from + to + shape) % 3]; };
  const auto bytes = [&](int shape, int from, int to) {
    return kCount * (type(shape, from, to) == MPI_DOUBLE ? sizeof(double) : sizeof(int));
  };
  const auto fill = [&](std::vector<unsigned char>& data, int shape, int round, int from, int to, int at) {
    for (size_t i = 0; i < bytes(shape, from, to); ++i)
      data[at * kRoom + i] = static_cast<unsigned char>(round * 7 + from * 31 + to * 17 + i);
  };
  std::vector<int> counts(n, kCount), places(n);
  for (int r = 0; r < n; ++r) places[r] = static_cast<int>(r * kRoom);
  std::vector<MPI_Datatype> types(n), other(n);
  for (int round = 0; round < 120; ++round) {
    const int shape = round % 10 == 9 ? 1 + round / 10 % 2 : 0, many = 1 + round % kMost;
    std::vector<MPI_Datatype>& used = round % 7 == 3 ? other : types;
    for (int r = 0; r < n; ++r) used[r] = type(shape, me, r);
    MPI_Datatype own = MPI_DATATYPE_NULL;
    if (round % 8 == 6) {
      OK(MPI_Type_contiguous(1, used[n - 1], &own));
      OK(MPI_Type_commit(&own));
      used[n - 1] = own;
    }
    std::vector<unsigned char> in(n * kRoom), expected(n * kRoom, 0xEE);
    for (int r = 0; r < n; ++r) {
      fill(in, shape, round, me, r, r);
      fill(expected, shape, round, r, me, r);
    }
    std::vector<unsigned char> out[1 + kMost];
    for (std::vector<unsigned char>& o : out) o.assign(n * kRoom, 0xEE);
    OK(MPI_Alltoallw(in.data(), counts.data(), places.data(), used.data(), out[0].data(), counts.data(), places.data(),
                     used.data(), MPI_COMM_WORLD));
    CHECK_EQ_IN(out[0] == expected, true, "alltoallw, round %d", round);
    std::fill(out[0].begin(), out[0].end(), 0xEE);
    for (int r = 0; r < n; ++r) fill(out[0], shape, round, me, r, r);
    OK(MPI_Alltoallw(MPI_IN_PLACE, nullptr, nullptr, nullptr, out[0].data(), counts.data(), places.data(), used.data(),
                     MPI_COMM_WORLD));
    CHECK_EQ_IN(out[0] == expected, true, "alltoallw in place, round %d", round);
    MPI_Request requests[kMost];
    for (int k = 0; k < many; ++k)
      OK(MPI_Ialltoallw(in.data(), counts.data(), places.data(), used.data(), out[1 + k].data(), counts.data(),
                        places.data(), used.data(), MPI_COMM_WORLD, &requests[k]));
    if (own != MPI_DATATYPE_NULL) OK(MPI_Type_free(&own));
    OK(MPI_Waitall(many, requests, MPI_STATUSES_IGNORE));
    for (int k = 0; k < many; ++k) CHECK_EQ_IN(out[1 + k] == expected, true, "ialltoallw %d, round %d", k, round);
  }
}

// Up to ten alike, and others between them; those that are over are taken for the next.
void outstanding() {
  constexpr int kMost = 10;
  for (int round = 0; round < 60; ++round) {
    const int count = 1 + round % 3, many = 1 + round % kMost;
    std::array<std::vector<double>, kMost> in, sum, all, scan;
    std::vector<MPI_Request> requests;
    for (int k = 0; k < many; ++k) {
      in[k].assign(count, me + k), sum[k].assign(count, -1), scan[k].assign(count, -1);
      all[k].assign(count * n, -1);
      MPI_Request r[4];
      OK(MPI_Iallreduce(in[k].data(), sum[k].data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r[0]));
      OK(MPI_Iallgather(in[k].data(), count, MPI_DOUBLE, all[k].data(), count, MPI_DOUBLE, MPI_COMM_WORLD, &r[1]));
      OK(MPI_Iscan(in[k].data(), scan[k].data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r[2]));
      OK(MPI_Ibarrier(MPI_COMM_WORLD, &r[3]));
      requests.insert(requests.end(), r, r + 4);
    }
    if (round % 2) std::reverse(requests.begin(), requests.end());
    if (round % 3 == 0) {
      for (size_t left = requests.size(); left > 0; --left) {
        int index;
        OK(MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, MPI_STATUS_IGNORE));
      }
    } else {
      OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    }
    for (int k = 0; k < many; ++k)
      for (int i = 0; i < count; ++i) {
        CHECK_EQ_IN(sum[k][i], n * (n - 1) / 2.0 + n * k, "iallreduce, round %d", round);
        CHECK_EQ_IN(scan[k][i], me * (me + 1) / 2.0 + (me + 1) * k, "iscan, round %d", round);
        for (int r = 0; r < n; ++r) CHECK_EQ_IN(all[k][r * count + i], r + k, "iallgather, round %d", round);
      }
  }
}

// A persistent one reads its buffers anew at each start, and two of one kind are two.
void persistent() {
  double in[2] = {}, out[2] = {};
  MPI_Request requests[2];
  for (int k = 0; k < 2; ++k)
    OK(MPI_Allreduce_init(&in[k], &out[k], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[k]));
  for (int round = 0; round < 20; ++round) {
    in[0] = me + round, in[1] = 2 * me - round;
    OK(MPI_Startall(2, requests));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(out[0], n * (n - 1) / 2.0 + n * round);
    CHECK_EQ(out[1], n * (n - 1) * 1.0 - n * round);
  }
  for (MPI_Request& request : requests) OK(MPI_Request_free(&request));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  me = world.rank(), n = world.size();
  v_forms();
  w_forms();
  outstanding();
#ifndef OTHER_MPI
  persistent();
#endif
}
